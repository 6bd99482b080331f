/* SPDX-License-Identifier: MIT */
/* The module `hcp`: what tables are in JSON, failing with a message of one's own, the log. */
#include "script/modules.h"
#include "script/value.h"

#include <stdio.h>
#include <string.h>

static void table_or_new(lua_State *L)
{
	lua_settop(L, 1);
	if (lua_isnil(L, 1)) {
		lua_newtable(L);
		lua_replace(L, 1);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
}

int l_hcp_array(lua_State *L)
{
	table_or_new(L);
	script_mark_array(L, 1);
	return 1;
}

/* An object keeps what is known of the order of its keys. */
int l_hcp_object(lua_State *L)
{
	table_or_new(L);
	if (script_push_mark(L, 1) != LUA_TTABLE)
		script_mark_object(L, 1);
	lua_settop(L, 1);
	return 1;
}

int l_hcp_fail(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TSTRING);
	lua_settop(L, 1);
	return script_raise_own(L);
}

void script_log(lua_State *L, int level)
{
	struct script_state *s = script_state_of(L);
	const struct script_host *host = &s->call->host;
	size_t max = s->meter.max->log, len;
	const char *line = lua_tolstring(L, -1, &len);
	char note[96];

	if (!host->log || s->logged > max)
		return;
	s->logged += len + 1;
	if (s->logged <= max) {
		host->log(host->user, level, line, len);
		return;
	}
	snprintf(note, sizeof(note), "%.40s: log limit of %zu bytes reached", s->call->name,
		 max);
	host->log(host->user, 2, note, strlen(note));
	s->logged = max + 1;
}

static int log_all(lua_State *L, int level)
{
	int count = lua_gettop(L);
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	for (int i = 1; i <= count; i++) {
		if (i > 1)
			luaL_addchar(&b, '\t');
		l_text(L, i, NULL);
		luaL_addvalue(&b);
	}
	luaL_pushresult(&b);
	script_log(L, level);
	return 0;
}

int l_print(lua_State *L)
{
	return log_all(L, 1);
}

int l_hcp_debug(lua_State *L)
{
	return log_all(L, 0);
}

int l_hcp_info(lua_State *L)
{
	return log_all(L, 1);
}

int l_hcp_warn(lua_State *L)
{
	return log_all(L, 2);
}
