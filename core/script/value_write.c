/* SPDX-License-Identifier: MIT */
/* The bridge out of Lua. What comes out depends on the value alone, never on the order in which
 * a hash table happens to lie: keys are written in the order in which they came in, new ones
 * behind them by their bytes. Only raw access is used, so no code of the script runs. */
#include "script/l_secret.h"
#include "script/value.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

struct writer {
	lua_State *L;
	struct script_state *s;
	const struct script_path *root;
	struct buf *out;
	size_t limit;
	void (*secret)(lua_State *L, struct secret *s, struct buf *out); /* NULL: raises */
};

static void write(struct writer *w, struct script_path *at);

static void check_room(const struct writer *w)
{
	char amount[32];

	if (w->out->failed)
		luaL_error(w->L, "out of memory");
	if (w->out->len <= w->limit)
		return;
	unit_format_size((int64_t)w->limit, amount);
	script_value_error(w->L, w->root, "over %s", amount);
}

static void write_string(struct writer *w, const struct script_path *at, const char *text,
			 size_t len)
{
	script_work(w->L, len / 16);
	if (len > w->limit) {
		w->out->len = w->limit + 1;
		check_room(w);
	}
	if (!utf8_valid(text, len))
		script_value_error(w->L, at, "not UTF-8");
	json_add_string(w->out, text, len);
}

static void write_number(struct writer *w, const struct script_path *at)
{
	char text[40];
	double d;

	if (lua_isinteger(w->L, -1)) {
		buf_printf(w->out, "%lld", (long long)lua_tointeger(w->L, -1));
		return;
	}
	d = lua_tonumber(w->L, -1);
	if (!isfinite(d))
		script_value_error(w->L, at, isnan(d) ? "not a number" : "infinite");
	json_format_real(d, text);
	buf_puts(w->out, text);
}

/* ---- arrays ---- */

/* Raises for a key of the table on the top that is not one of 1 to count. */
static void check_indices(struct writer *w, struct script_path *item, lua_Integer count)
{
	lua_State *L = w->L;
	lua_Integer keys = 0;

	lua_pushnil(L);
	while (lua_next(L, -2)) {
		lua_pop(L, 1);
		script_work(L, 1);
		if (lua_type(L, -1) == LUA_TSTRING)
			script_value_error(L, item->up, "key \"%.64s\" in an array",
					   lua_tostring(L, -1));
		if (!lua_isinteger(L, -1))
			script_value_error(L, item->up, "a %s as a key in an array",
					   luaL_typename(L, -1));
		keys++;
	}
	item->index = count + 1;
	if (keys != count)
		script_value_error(L, item, "nil in an array");
}

static void write_array(struct writer *w, struct script_path *at)
{
	struct script_path item = script_path_into(w->L, at);
	lua_Integer count = (lua_Integer)lua_rawlen(w->L, -1);

	buf_putc(w->out, '[');
	for (item.index = 1; item.index <= count; item.index++) {
		if (lua_rawgeti(w->L, -1, item.index) == LUA_TNIL)
			script_value_error(w->L, &item, "nil in an array");
		if (item.index > 1)
			buf_putc(w->out, ',');
		write(w, &item);
		lua_pop(w->L, 1);
	}
	check_indices(w, &item, count);
	buf_putc(w->out, ']');
}

/* ---- objects ---- */

/* Puts those keys on s->keys that `order`, on the top, lists and that the object beneath it
 * still has. */
static void add_known_keys(struct writer *w)
{
	lua_State *L = w->L;
	lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
	const char *text;
	size_t len;

	for (lua_Integer i = 1; i <= count; i++) {
		script_work(L, 1);
		lua_rawgeti(L, -1, i);
		text = lua_tolstring(L, -1, &len);
		lua_pushvalue(L, -1);
		if (lua_rawget(L, -4) != LUA_TNIL)
			script_key_add(L, text, len);
		lua_pop(L, 2);
	}
}

static bool is_known(const struct script_state *s, size_t from, size_t to,
		     const struct script_key *key)
{
	size_t middle;
	int order;

	while (from < to) {
		middle = from + (to - from) / 2;
		order = script_key_compare(key, &s->keys[middle]);
		if (order == 0)
			return true;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

static void check_key(struct writer *w, const struct script_path *at)
{
	lua_State *L = w->L;

	if (lua_isinteger(L, -1))
		script_value_error(L, at, "key %lld in an object",
				   (long long)lua_tointeger(L, -1));
	if (lua_type(L, -1) != LUA_TSTRING)
		script_value_error(L, at, "a %s as a key", luaL_typename(L, -1));
}

/* Puts the keys of the object on the top that are not among the sorted s->keys[from..to). */
static void add_other_keys(struct writer *w, const struct script_path *at, size_t from,
			   size_t to)
{
	lua_State *L = w->L;
	struct script_key key;

	lua_pushnil(L);
	while (lua_next(L, -2)) {
		lua_pop(L, 1);
		script_work(L, 1);
		check_key(w, at);
		key.text = lua_tolstring(L, -1, &key.len);
		if (!is_known(w->s, from, to, &key))
			script_key_add(L, key.text, key.len);
	}
}

/* Leaves the keys of the object on the top in writing order on s->keys from *from on. */
static void list_keys(struct writer *w, const struct script_path *at, size_t *from)
{
	struct script_state *s = w->s;
	size_t base = s->key_count, known = 0, others;

	if (script_push_mark(w->L, -1) == LUA_TTABLE) {
		/* twice: sorted to look them up, then in their order */
		add_known_keys(w);
		known = s->key_count - base;
		script_key_sort(s, base);
		add_known_keys(w);
	}
	lua_pop(w->L, 1);
	*from = base + known;
	others = s->key_count;
	add_other_keys(w, at, base, *from);
	script_key_sort(s, others);
}

static void write_object(struct writer *w, struct script_path *at)
{
	struct script_path member = script_path_into(w->L, at);
	size_t base = w->s->key_count, from;

	list_keys(w, at, &from);
	buf_putc(w->out, '{');
	for (size_t i = from; i < w->s->key_count; i++) {
		member.key = w->s->keys[i].text;
		member.key_len = w->s->keys[i].len;
		if (memchr(member.key, '\0', member.key_len))
			script_value_error(w->L, &member, "NUL in a key");
		if (i > from)
			buf_putc(w->out, ',');
		write_string(w, &member, member.key, member.key_len);
		buf_putc(w->out, ':');
		lua_pushlstring(w->L, member.key, member.key_len);
		lua_rawget(w->L, -2);
		write(w, &member);
		lua_pop(w->L, 1);
	}
	buf_putc(w->out, '}');
	w->s->key_count = base;
}

static bool is_array(lua_State *L)
{
	int mark = script_push_mark(L, -1);
	bool marked = mark == LUA_TBOOLEAN && lua_toboolean(L, -1);

	lua_pop(L, 1);
	if (mark != LUA_TNIL)
		return marked;
	return lua_rawlen(L, -1) > 0;
}

static void write_table(struct writer *w, struct script_path *at)
{
	at->table = lua_topointer(w->L, -1);
	for (const struct script_path *p = at->up; p; p = p->up)
		if (p->table == at->table)
			script_value_error(w->L, at, "a cycle");
	if (is_array(w->L))
		write_array(w, at);
	else
		write_object(w, at);
}

/* The value on the top; leaves it there. */
static void write(struct writer *w, struct script_path *at)
{
	const char *text;
	size_t len;

	script_work(w->L, 1);
	check_room(w);
	switch (lua_type(w->L, -1)) {
	case LUA_TNIL:
		buf_puts(w->out, "null");
		return;
	case LUA_TBOOLEAN:
		buf_puts(w->out, lua_toboolean(w->L, -1) ? "true" : "false");
		return;
	case LUA_TNUMBER:
		write_number(w, at);
		return;
	case LUA_TSTRING:
		text = lua_tolstring(w->L, -1, &len);
		write_string(w, at, text, len);
		return;
	case LUA_TTABLE:
		write_table(w, at);
		return;
	case LUA_TLIGHTUSERDATA: /* hcp.null is the only one there is */
		buf_puts(w->out, "null");
		return;
	case LUA_TUSERDATA:
		if (!w->secret || !l_secret_of(w->L, -1))
			break;
		w->secret(w->L, l_secret_of(w->L, -1), w->out);
		return;
	default:
		break;
	}
	script_value_error(w->L, at, "a %s is no JSON value",
			   lua_isuserdata(w->L, -1) ? "secret" : luaL_typename(w->L, -1));
}

void script_write_json(lua_State *L, int index, const char *root, size_t limit, struct buf *out)
{
	script_write_json_with(L, index, root, limit, NULL, out);
}

void script_write_json_with(lua_State *L, int index, const char *root, size_t limit,
			    void (*secret)(lua_State *L, struct secret *s, struct buf *out),
			    struct buf *out)
{
	struct script_path at = {.root = root};
	struct writer w = {L, script_state_of(L), &at, out, limit, secret};

	luaL_checkstack(L, 10, NULL);
	w.s->key_count = 0;
	lua_pushvalue(L, index);
	write(&w, &at);
	check_room(&w);
	lua_pop(L, 1);
}
