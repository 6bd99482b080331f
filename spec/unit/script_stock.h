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

static inline int stock_stopped(lua_State *L)
{
	lua_pushboolean(L, script_state_of(L)->meter.killed != SCRIPT_ALIVE);
	return 1;
}

/* Globals: Lua's, and `ours` with find, match, gmatch, gsub, rep and the table functions. */
static inline lua_State *stock_open(struct stock *s)
{
	static const luaL_Reg ours[] = {
	    {"find", l_string_find},    {"match", l_string_match},  {"gmatch", l_string_gmatch},
	    {"gsub", l_string_gsub},    {"rep", l_string_rep},      {"insert", l_table_insert},
	    {"remove", l_table_remove}, {"move", l_table_move},     {"sort", l_table_sort},
	    {"pcall", l_pcall},         {"stopped", stock_stopped}, {NULL, NULL},
	};

	memset(s, 0, sizeof(*s));
	script_limits_default(&s->call.limits);
	s->call.limits.memory = 1 << 30;
	s->call.limits.instructions = INT64_MAX;
	s->call.limits.script_ms = INT32_MAX;
	s->state.call = &s->call;
	s->state.out = &s->result;
	script_meter_start(&s->state.meter, &s->call.limits, "stock");
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

/* both(name, ...) and both_gmatch(...) raise where the two differ. Ours goes first: where it
 * was stopped, the other might never end. */
static const char stock_compare[] =
    "local function show(...)\n"
    "  local t = table.pack(...)\n"
    "  for i = 1, t.n do t[i] = math.type(t[i]) or ('%s %q'):format(type(t[i]), t[i]) end\n"
    "  for i = 1, t.n do local v = select(i, ...) t[i] = t[i] .. tostring(v) end\n"
    "  return table.concat(t, ' | ')\n"
    "end\n"
    /* what Lua calls a function depends on where it finds it */
    "local function clean(s) return (s:gsub(\"to '[%w.?]+'\", '')) end\n"
    "function both(name, ...)\n"
    "  local b = show(pcall(ours[name], ...))\n"
    "  if ours.stopped() then return end\n"
    "  local a = show(pcall(string[name], ...))\n"
    "  if clean(a) ~= clean(b) then\n"
    "    error(('%s(%s)\\n stock %s\\n ours  %s'):format(name, show(...), a, b))\n"
    "  end\n"
    "  return a:sub(1, 12) == 'boolean true'\n"
    "end\n"
    "local function all(f, s, p, ...)\n"
    "  local t = {}\n"
    "  for a, b, c in f(s, p, ...) do\n"
    "    t[#t + 1] = show(a, b, c)\n"
    "    if #t > 100 then break end\n"
    "  end\n"
    "  return table.concat(t, ';')\n"
    "end\n"
    "function both_gmatch(...)\n"
    "  local b = show(pcall(all, ours.gmatch, ...))\n"
    "  if ours.stopped() then return end\n"
    "  local a = show(pcall(all, string.gmatch, ...))\n"
    "  if clean(a) ~= clean(b) then\n"
    "    error(('gmatch(%s)\\n stock %s\\n ours  %s'):format(show(...), a, b))\n"
    "  end\n"
    "end\n";

#endif
