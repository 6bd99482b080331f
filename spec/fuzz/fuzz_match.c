/* SPDX-License-Identifier: MIT */
/* Any pattern on any subject: our matcher answers as Lua's own does, message and positions
 * included, or is stopped by its budget. The first byte is where to begin, the second how long
 * the pattern is; what follows is the pattern and then the subject. */
#include "script_stock.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char run[] = "local s, p, from = ...\n"
			  "both('find', s, p, from)\n"
			  "both('find', s, p, from, true)\n"
			  "both('match', s, p, from)\n"
			  "both('gsub', s, p, '<%0%1>')\n"
			  "both('gsub', s, p, p)\n"
			  "both_gmatch(s, p)\n";

/* One state for as long as nothing was stopped in it. */
static lua_State *state_to_use(void)
{
	static struct stock s;
	static lua_State *L;

	if (L && s.state.meter.killed != SCRIPT_ALIVE) {
		stock_close(&s);
		L = NULL;
	}
	if (!L) {
		L = stock_open(&s);
		if (!L || luaL_dostring(L, stock_compare) != LUA_OK ||
		    luaL_loadstring(L, run) != LUA_OK)
			abort();
		s.call.limits.instructions = 100000;
	}
	s.state.meter.instructions = 0;
	return L;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lua_State *L = state_to_use();
	size_t pattern;

	if (size < 2 || size > 512)
		return 0;
	pattern = data[1] < size - 2 ? data[1] : size - 2;
	lua_settop(L, 1);
	lua_pushvalue(L, 1);
	lua_pushlstring(L, (const char *)data + 2 + pattern, size - 2 - pattern);
	lua_pushlstring(L, (const char *)data + 2, pattern);
	lua_pushinteger(L, (signed char)data[0]);
	if (lua_pcall(L, 3, 0, 0) == LUA_OK)
		return 0;
	fprintf(stderr, "%s\n", lua_tostring(L, -1));
	abort();
}
