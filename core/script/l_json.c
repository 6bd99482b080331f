/* SPDX-License-Identifier: MIT */
/* The module `cjson`: the names of lua-cjson, with a bridge that keeps integers, empty arrays
 * and the order of keys, and refuses what JSON doesn't know. */
#include "script/modules.h"
#include "script/value.h"

int l_json_encode(lua_State *L)
{
	struct script_state *s = script_state_of(L);
	int64_t memory = s->meter.max->memory;

	luaL_checkany(L, 1);
	s->scratch.len = 0;
	/* built outside of Lua's memory, so bounded by it all the same */
	script_write_json(L, 1, "value", memory > 0 ? (size_t)memory / 2 : 0, &s->scratch);
	lua_pushlstring(L, s->scratch.data, s->scratch.len);
	if (s->scratch.cap > 1 << 20)
		buf_free(&s->scratch);
	return 1;
}

int l_json_decode(lua_State *L)
{
	size_t len;
	const char *text;

	luaL_checktype(L, 1, LUA_TSTRING);
	text = lua_tolstring(L, 1, &len);
	script_read_json(L, text, len, "value");
	return 1;
}
