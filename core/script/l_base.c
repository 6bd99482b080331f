/* SPDX-License-Identifier: MIT */
/* The base functions that differ from Lua's: protected calls that can't hold up a killed script
 * and text that shows no address; and a charge for those of any library that read each of their
 * arguments. */
#include "script/modules.h"

const char *l_text(lua_State *L, int index, size_t *len)
{
	switch (lua_type(L, index)) {
	case LUA_TNIL:
	case LUA_TBOOLEAN:
	case LUA_TNUMBER:
	case LUA_TSTRING:
		return luaL_tolstring(L, index, len);
	case LUA_TLIGHTUSERDATA:
		lua_pushliteral(L, "null");
		break;
	case LUA_TUSERDATA:
		luaL_error(L, "a secret has no text");
		break;
	default:
		lua_pushstring(L, luaL_typename(L, index));
		break;
	}
	return lua_tolstring(L, -1, len);
}

int l_tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	l_text(L, 1, NULL);
	return 1;
}

/* One long string may stand among the arguments many times, so what a function reads isn't
 * bounded by the memory that they take. */
void l_charge_arguments(lua_State *L)
{
	size_t max = (size_t)script_state_of(L)->meter.max->memory, total = 0, len;

	for (int i = lua_gettop(L); i > 0; i--) {
		if (lua_type(L, i) != LUA_TSTRING)
			continue;
		len = lua_rawlen(L, i);
		script_work(L, 1 + len / 16);
		if (__builtin_add_overflow(total, len, &total) || total > max)
			luaL_error(L, "arguments too long");
	}
}

int l_charged(lua_State *L)
{
	l_charge_arguments(L);
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static void stay_dead(lua_State *L)
{
	if (script_state_of(L)->meter.killed != SCRIPT_ALIVE)
		script_raise_killed(L);
}

int l_pcall(lua_State *L)
{
	int status;

	luaL_checkany(L, 1);
	lua_pushboolean(L, 1);
	lua_insert(L, 1);
	status = script_protect(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
	stay_dead(L);
	if (status == LUA_OK)
		return lua_gettop(L);
	lua_pushboolean(L, 0);
	lua_insert(L, -2);
	return 2;
}

/* Lua calls a message handler while its hook is off and C is deep. This one is called after
 * the error has unwound, as any other function, and an error of its own is the answer. */
int l_xpcall(lua_State *L)
{
	int status;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushvalue(L, 2); /* handler, true, f, arguments */
	lua_pushboolean(L, 1);
	lua_pushvalue(L, 1);
	lua_rotate(L, 3, 3);
	lua_remove(L, 1);
	lua_remove(L, 1);
	status = script_protect(L, lua_gettop(L) - 3, LUA_MULTRET, 0);
	stay_dead(L);
	if (status == LUA_OK)
		return lua_gettop(L) - 1;
	lua_pushvalue(L, 1);
	lua_insert(L, -2); /* handler, error */
	script_protect(L, 1, LUA_MULTRET, 0);
	stay_dead(L);
	lua_pushboolean(L, 0);
	lua_replace(L, 2);
	return lua_gettop(L) - 1;
}
