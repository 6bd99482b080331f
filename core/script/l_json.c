/* SPDX-License-Identifier: MIT */
/* The module `cjson`: the names of lua-cjson, with a bridge that keeps integers, empty arrays
 * and the order of keys, and refuses what JSON doesn't know. */
#include "script/modules.h"
#include "script/value.h"

int l_json_encode(lua_State *L)
{
	struct script_state *s = script_state_of(L);

	luaL_checkany(L, 1);
	s->scratch.len = 0;
	/* outside of Lua's memory for now: half of what is left, for the string takes as much
	 */
	script_write_json(L, 1, "value", script_memory_left(&s->meter) / 2, &s->scratch);
	lua_pushlstring(L, s->scratch.data, s->scratch.len);
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
