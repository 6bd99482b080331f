/* SPDX-License-Identifier: MIT */
/* A Lua state with everything of Lua's own, and our functions of the same names beside it, for
 * comparing the two. Only tests have one. */
#ifndef HCP_SPEC_SCRIPT_STOCK_H
#define HCP_SPEC_SCRIPT_STOCK_H

#include "script/modules.h"

#include <lualib.h>
#include <string.h>

struct stock {
	struct script_call call;
	struct script_result result;
	struct script_state state;
	lua_State *L;
};

/* Globals: Lua's, and `ours` with find, match, gmatch, gsub, rep and the table functions. */
static inline lua_State *stock_open(struct stock *s)
{
	static const luaL_Reg ours[] = {
	    {"find", l_string_find},
	    {"match", l_string_match},
	    {"gmatch", l_string_gmatch},
	    {"gsub", l_string_gsub},
	    {"rep", l_string_rep},
	    {"insert", l_table_insert},
	    {"remove", l_table_remove},
	    {"move", l_table_move},
	    {"sort", l_table_sort},
	    {"pcall", l_pcall},
	    {NULL, NULL},
	};

	memset(s, 0, sizeof(*s));
	script_limits_default(&s->call.limits);
	s->call.limits.memory = 1 << 30;
	s->call.limits.instructions = INT64_MAX;
	s->call.limits.script_ms = INT32_MAX;
	s->state.call = &s->call;
	s->state.out = &s->result;
	script_meter_start(&s->state.meter, &s->call.limits);
	s->L = lua_newstate(script_alloc, &s->state.meter);
	if (!s->L)
		return NULL;
	*(struct script_state **)lua_getextraspace(s->L) = &s->state;
	luaL_openlibs(s->L);
	luaL_newlib(s->L, ours);
	lua_setglobal(s->L, "ours");
	return s->L;
}

static inline void stock_close(struct stock *s)
{
	lua_close(s->L);
}

#endif
