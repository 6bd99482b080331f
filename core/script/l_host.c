/* SPDX-License-Identifier: MIT */
/* `host`: what auth providers and mint hooks may ask of the runtime. */
#include "script/modules.h"

void l_host_push(lua_State *L)
{
	lua_newtable(L);
	script_fill(L, IN_HOST);
}
