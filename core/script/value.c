/* SPDX-License-Identifier: MIT */
/* What both directions of the JSON bridge share: paths for messages, what a table is known to
 * be, and the order of keys. Nothing here calls back into a script. */
#include "script/value.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char marks_key; /* registry: {table = mark}, weak keys */

void script_values_open(lua_State *L)
{
	lua_newtable(L);
	lua_createtable(L, 0, 1);
	lua_pushliteral(L, "k");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &marks_key);
}

/* ---- paths ---- */

struct text {
	char *at, *end;
};

static void put(struct text *t, const char *s, size_t len)
{
	size_t room = (size_t)(t->end - t->at);

	len = len < room ? len : room;
	memcpy(t->at, s, len);
	t->at += len;
}

static bool is_name(const char *s, size_t len)
{
	if (len == 0 || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
		      (s[i] >= '0' && s[i] <= '9') || s[i] == '_'))
			return false;
	return true;
}

#define SHOWN 64 /* bytes of a key */

static void put_key(struct text *t, const char *s, size_t len)
{
	size_t shown = len < SHOWN ? len : SHOWN;
	char c;

	if (is_name(s, shown)) {
		put(t, ".", 1);
		put(t, s, shown);
		return;
	}
	put(t, "[\"", 2);
	for (size_t i = 0; i < shown; i++) {
		c = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i];
		put(t, &c, 1);
	}
	put(t, "\"]", 2);
}

static void put_path(struct text *t, const struct script_path *path)
{
	char index[32];

	if (!path->up) {
		put(t, path->root, strlen(path->root));
		return;
	}
	put_path(t, path->up);
	if (path->key) {
		put_key(t, path->key, path->key_len);
	} else {
		snprintf(index, sizeof(index), "[%lld]", (long long)path->index);
		put(t, index, strlen(index));
	}
}

int script_value_error(lua_State *L, const struct script_path *path, const char *fmt, ...)
{
	char where[400], what[200];
	struct text t = {where, where + sizeof(where) - 1};
	va_list ap;

	put_path(&t, path);
	*t.at = '\0';
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return luaL_error(L, "%s: %s", where, what);
}

struct script_path script_path_into(lua_State *L, const struct script_path *at)
{
	if (at->depth >= LIMIT_ENVELOPE_DEPTH)
		script_value_error(L, at, "nested over %d levels", LIMIT_ENVELOPE_DEPTH);
	luaL_checkstack(L, 10, NULL);
	return (struct script_path){.up = at, .depth = at->depth + 1};
}

/* ---- marks ---- */

static void set_mark(lua_State *L, int table)
{
	table = lua_absindex(L, table);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &marks_key);
	lua_pushvalue(L, table);
	lua_pushvalue(L, -3);
	lua_rawset(L, -3);
	lua_pop(L, 2);
}

void script_mark_array(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	lua_pushboolean(L, 1);
	set_mark(L, index);
}

void script_mark_object(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	lua_pushboolean(L, 0);
	set_mark(L, index);
}

int script_push_mark(lua_State *L, int index)
{
	int type;

	index = lua_absindex(L, index);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &marks_key);
	lua_pushvalue(L, index);
	type = lua_rawget(L, -2);
	lua_remove(L, -2);
	return type;
}

void script_push_null(lua_State *L)
{
	lua_pushlightuserdata(L, NULL);
}

/* ---- keys ---- */

void script_key_add(lua_State *L, const char *text, size_t len)
{
	struct script_state *s = script_state_of(L);
	size_t cap = s->key_cap ? s->key_cap * 2 : 32;
	struct script_key *grown;

	if (s->key_count == s->key_cap) {
		grown = realloc(s->keys, cap * sizeof(*grown));
		if (!grown)
			luaL_error(L, "out of memory");
		s->keys = grown;
		s->key_cap = cap;
	}
	s->keys[s->key_count++] = (struct script_key){text, len};
}

int script_key_compare(const void *a, const void *b)
{
	const struct script_key *x = a, *y = b;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	if (order != 0)
		return order;
	return (x->len > y->len) - (x->len < y->len);
}

void script_key_sort(struct script_state *s, size_t from)
{
	if (s->key_count > from + 1)
		qsort(s->keys + from, s->key_count - from, sizeof(*s->keys),
		      script_key_compare);
}

void script_keep_order(lua_State *L, size_t from)
{
	struct script_state *s = script_state_of(L);
	bool sorted = true;

	for (size_t i = from + 1; i < s->key_count && sorted; i++)
		sorted = script_key_compare(&s->keys[i - 1], &s->keys[i]) < 0;
	if (!sorted) {
		lua_createtable(L, (int)(s->key_count - from), 0);
		for (size_t i = from; i < s->key_count; i++) {
			lua_pushlstring(L, s->keys[i].text, s->keys[i].len);
			lua_rawseti(L, -2, (lua_Integer)(i - from + 1));
		}
		set_mark(L, -2);
	} else if (s->key_count == from) {
		script_mark_object(L, -1);
	}
	s->key_count = from;
}
