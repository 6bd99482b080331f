/* SPDX-License-Identifier: MIT */
/* The bridge into Lua from jansson's values, which the caller keeps alive: Lua may leave by a
 * longjmp at any push, so nothing here owns anything. */
#include "script/value.h"

#include <string.h>

static void push(lua_State *L, const json_t *v, const struct script_path *at);

static void push_array(lua_State *L, const json_t *v, const struct script_path *at)
{
	struct script_path item = script_path_into(L, at);
	size_t count = json_array_size(v);

	lua_createtable(L, count < INT32_MAX ? (int)count : 0, 0);
	script_mark_array(L, -1);
	for (size_t i = 0; i < count; i++) {
		item.index = (lua_Integer)i + 1;
		push(L, json_array_get(v, i), &item);
		lua_rawseti(L, -2, item.index);
	}
}

/* jansson's iterators take a json_t that isn't const, but only read. */
static json_t *readable(const json_t *v)
{
	union {
		const json_t *in;
		json_t *out;
	} u = {.in = v};

	return u.out;
}

static void push_object(lua_State *L, const json_t *v, const struct script_path *at)
{
	struct script_state *s = script_state_of(L);
	struct script_path member = script_path_into(L, at);
	size_t count = json_object_size(v), from = s->key_count;
	json_t *object = readable(v);

	lua_createtable(L, 0, count < INT32_MAX ? (int)count : 0);
	for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
		member.key = json_object_iter_key(it);
		member.key_len = strlen(member.key); /* jansson takes no NUL in a key */
		script_key_add(L, member.key, member.key_len);
		lua_pushlstring(L, member.key, member.key_len);
		push(L, json_object_iter_value(it), &member);
		lua_rawset(L, -3);
	}
	script_keep_order(L, from);
}

static void push(lua_State *L, const json_t *v, const struct script_path *at)
{
	script_work(L, 1);
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		push_object(L, v, at);
		return;
	case JSON_ARRAY:
		push_array(L, v, at);
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
		lua_pushboolean(L, json_typeof(v) == JSON_TRUE);
		return;
	case JSON_NULL:
		script_push_null(L);
		return;
	}
	script_value_error(L, at, "no JSON value");
}

void script_push_json(lua_State *L, const json_t *v, const char *root)
{
	struct script_path at = {.root = root};

	luaL_checkstack(L, 10, NULL);
	script_state_of(L)->key_count = 0;
	if (v)
		push(L, v, &at);
	else
		lua_pushnil(L);
}
