/* SPDX-License-Identifier: MIT */
/* Clock and date. The clock is the script's own: the process's tells about the host. */
#include "script/modules.h"

int l_os_clock(lua_State *L)
{
	lua_pushnumber(L, script_seconds(&script_state_of(L)->meter));
	return 1;
}

#define FORMAT_MAX 256 /* each conversion is a strftime(3) that no hook interrupts */

int l_os_date(lua_State *L)
{
	size_t len;

	luaL_optlstring(L, 1, "", &len);
	luaL_argcheck(L, len <= FORMAT_MAX, 1, "format too long");
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}
