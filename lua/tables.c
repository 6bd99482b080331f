/* SPDX-License-Identifier: MIT */
/* Between JSON and a host's tables. Only raw access is used, so no code of the host's runs in
 * between, and what must be freed hangs in userdata: Lua may leave at any push. */
#include "lua/tables.h"

#include "base/json.h"
#include "base/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY "hcp.array"
#define VALUE "hcp.value"
#define TEXT  "hcp.text"

static int gc_value(lua_State *L)
{
	json_t **v = luaL_checkudata(L, 1, VALUE);

	json_decref(*v);
	*v = NULL;
	return 0;
}

static int gc_text(lua_State *L)
{
	buf_free(luaL_checkudata(L, 1, TEXT));
	return 0;
}

static void add_type(lua_State *L, const char *name, lua_CFunction gc)
{
	luaL_newmetatable(L, name);
	lua_pushcfunction(L, gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
}

void tables_open(lua_State *L)
{
	add_type(L, VALUE, gc_value);
	add_type(L, TEXT, gc_text);
	luaL_newmetatable(L, ARRAY);
	lua_pop(L, 1);
}

int tables_array(lua_State *L)
{
	if (lua_isnoneornil(L, 1)) {
		lua_settop(L, 0);
		lua_newtable(L);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	if (lua_getmetatable(L, 1)) {
		luaL_getmetatable(L, ARRAY);
		luaL_argcheck(L, lua_rawequal(L, -1, -2), 1, "the table has a metatable");
	}
	lua_settop(L, 1);
	luaL_setmetatable(L, ARRAY);
	return 1;
}

/* ---- from JSON ---- */

static void push(lua_State *L, json_t *v);

static void push_array(lua_State *L, const json_t *v)
{
	size_t count = json_array_size(v);

	lua_newtable(L);
	luaL_setmetatable(L, ARRAY);
	for (size_t i = 0; i < count; i++) {
		push(L, json_array_get(v, i));
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_object(lua_State *L, json_t *v)
{
	const char *key;
	json_t *member;

	lua_newtable(L);
	json_object_foreach(v, key, member)
	{
		lua_pushstring(L, key); /* jansson takes no NUL in a key */
		push(L, member);
		lua_rawset(L, -3);
	}
}

static void push(lua_State *L, json_t *v)
{
	luaL_checkstack(L, 8, NULL);
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		push_object(L, v);
		return;
	case JSON_ARRAY:
		push_array(L, v);
		return;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(v), json_string_length(v));
		return;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(v));
		return;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(v));
		return;
	case JSON_TRUE:
	case JSON_FALSE:
		lua_pushboolean(L, json_is_true(v));
		return;
	case JSON_NULL:
		break;
	}
	lua_pushlightuserdata(L, NULL);
}

bool tables_push(lua_State *L, const char *text, size_t len)
{
	struct hcp_err err = {0};
	json_t **v = lua_newuserdatauv(L, sizeof(json_t *), 0);

	*v = NULL;
	luaL_setmetatable(L, VALUE);
	/* a program's result may be so deep, and stands in an envelope */
	*v = json_parse(text, len, LIMIT_STDOUT_DEPTH + 1, &err);
	if (*v)
		push(L, *v);
	else
		lua_pushstring(L, err.text);
	lua_remove(L, -2);
	return err.text[0] == '\0';
}

/* ---- to JSON ---- */

/* Where a value stands, so that errors can name it. */
struct place {
	const struct place *up;
	const char *key; /* NULL: it has an index */
	lua_Integer index;
	int depth;
};

static void push_place(lua_State *L, const struct place *at)
{
	luaL_checkstack(L, 8, NULL);
	if (!at->up) {
		lua_pushstring(L, at->key);
		return;
	}
	push_place(L, at->up);
	if (at->key)
		lua_pushfstring(L, ".%s", at->key);
	else
		lua_pushfstring(L, "[%I]", (LUAI_UACINT)at->index);
	lua_concat(L, 2);
}

static int refuse(lua_State *L, const struct place *at, const char *what)
{
	push_place(L, at);
	return luaL_error(L, "%s: %s", lua_tostring(L, -1), what);
}

static void write(lua_State *L, const struct place *at, struct buf *out);

static struct place into(lua_State *L, const struct place *at)
{
	if (at->depth >= LIMIT_ENVELOPE_DEPTH) /* and so no circle goes on */
		refuse(L, at, "nested over 64 levels");
	luaL_checkstack(L, 8, NULL);
	return (struct place){.up = at, .depth = at->depth + 1};
}

/* Raises for a key of the table on the top that isn't one of 1 to count. */
static void check_indices(lua_State *L, const struct place *at, lua_Integer count)
{
	lua_Integer keys = 0;

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1), keys++)
		if (!lua_isinteger(L, -2))
			refuse(L, at, "a list with a key that is no index");
	if (keys != count)
		refuse(L, at, "a list with a hole");
}

static void write_array(lua_State *L, const struct place *at, struct buf *out)
{
	struct place item = into(L, at);
	lua_Integer count = (lua_Integer)lua_rawlen(L, -1);

	check_indices(L, at, count);
	buf_putc(out, '[');
	for (item.index = 1; item.index <= count; item.index++) {
		if (item.index > 1)
			buf_putc(out, ',');
		lua_rawgeti(L, -1, item.index);
		write(L, &item, out);
		lua_pop(L, 1);
	}
	buf_putc(out, ']');
}

static int compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static const char *check_key(lua_State *L, const struct place *at)
{
	size_t len;
	const char *key;

	if (lua_type(L, -2) != LUA_TSTRING)
		refuse(L, at, "a key that is no string");
	key = lua_tolstring(L, -2, &len);
	if (strlen(key) != len)
		refuse(L, at, "a key with a NUL");
	if (!utf8_valid(key, len))
		refuse(L, at, "a key that is not UTF-8");
	return key;
}

/* Leaves the keys of the table on the top above it, sorted: what comes out depends on the value
 * alone. The table keeps the texts alive. */
static const char **push_keys(lua_State *L, const struct place *at, size_t *count)
{
	const char **keys;
	size_t i = 0;

	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		i++;
	*count = i;
	keys = lua_newuserdatauv(L, i * sizeof(*keys), 0);
	i = 0;
	for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1))
		keys[i++] = check_key(L, at);
	qsort(keys, i, sizeof(*keys), compare);
	return keys;
}

static void write_object(lua_State *L, const struct place *at, struct buf *out)
{
	struct place member = into(L, at);
	size_t count;
	const char **keys = push_keys(L, at, &count);

	buf_putc(out, '{');
	for (size_t i = 0; i < count; i++) {
		member.key = keys[i];
		if (i > 0)
			buf_putc(out, ',');
		json_add_cstring(out, keys[i]);
		buf_putc(out, ':');
		lua_pushstring(L, keys[i]);
		lua_rawget(L, -3);
		write(L, &member, out);
		lua_pop(L, 1);
	}
	buf_putc(out, '}');
	lua_pop(L, 1);
}

static void write_table(lua_State *L, const struct place *at, struct buf *out)
{
	bool list = lua_rawlen(L, -1) > 0;

	if (lua_getmetatable(L, -1)) {
		luaL_getmetatable(L, ARRAY);
		list = list || lua_rawequal(L, -1, -2);
		lua_pop(L, 2);
	}
	if (list)
		write_array(L, at, out);
	else
		write_object(L, at, out);
}

static void write_number(lua_State *L, const struct place *at, struct buf *out)
{
	char text[40];

	if (lua_isinteger(L, -1)) {
		buf_printf(out, "%lld", (long long)lua_tointeger(L, -1));
		return;
	}
	if (!isfinite(lua_tonumber(L, -1)))
		refuse(L, at, "not a finite number");
	json_format_real(lua_tonumber(L, -1), text);
	buf_puts(out, text);
}

static void write_string(lua_State *L, const struct place *at, struct buf *out)
{
	size_t len;
	const char *text = lua_tolstring(L, -1, &len);

	if (!utf8_valid(text, len))
		refuse(L, at, "not UTF-8");
	json_add_string(out, text, len);
}

/* The value on the top; leaves it there. */
static void write(lua_State *L, const struct place *at, struct buf *out)
{
	int type = lua_type(L, -1);

	if (out->failed || out->len > LIMIT_ENVELOPE)
		refuse(L, at, out->failed ? "out of memory" : "over 1M of JSON");
	if (type == LUA_TTABLE)
		write_table(L, at, out);
	else if (type == LUA_TSTRING)
		write_string(L, at, out);
	else if (type == LUA_TNUMBER)
		write_number(L, at, out);
	else if (type == LUA_TBOOLEAN)
		buf_puts(out, lua_toboolean(L, -1) ? "true" : "false");
	else if (type == LUA_TLIGHTUSERDATA && !lua_touserdata(L, -1))
		buf_puts(out, "null");
	else
		refuse(L, at, "neither table, string, number, boolean nor hcp.null");
}

void tables_to_json(lua_State *L, int index, const char *root)
{
	struct place at = {.key = root};
	struct buf *out;

	index = lua_absindex(L, index);
	out = lua_newuserdatauv(L, sizeof(*out), 0);
	memset(out, 0, sizeof(*out));
	luaL_setmetatable(L, TEXT);
	lua_pushvalue(L, index);
	write(L, &at, out);
	if (out->failed)
		refuse(L, &at, "out of memory");
	lua_pushlstring(L, out->data, out->len);
	lua_replace(L, -3); /* the buffer's place */
	lua_pop(L, 1);
}
