/* SPDX-License-Identifier: MIT */
/* The tables of options that the module's functions take. Here a mistake of the host's program
 * raises; what the library refuses is for hcp.c to tell. */
#include "lua/options.h"

#include "lua/tables.h"

#include <string.h>

/* C strings end at a NUL: what stands behind one must not be dropped. */
const char *options_text(lua_State *L, int index, const char *what)
{
	size_t len = 0;
	const char *s =
	    lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &len) : NULL;

	if (!s || strlen(s) != len)
		luaL_error(L, "%s must be a string without NUL bytes", what);
	return s;
}

const char *options_field(lua_State *L, int table, const char *name)
{
	if (!lua_istable(L, table))
		return NULL;
	return lua_getfield(L, table, name) == LUA_TNIL ? NULL : options_text(L, -1, name);
}

void options_check(lua_State *L, int table, const char *const *known)
{
	size_t i;

	if (lua_isnoneornil(L, table))
		return;
	luaL_checktype(L, table, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

		for (i = 0; known[i] && strcmp(known[i], key) != 0; i++)
			;
		if (!known[i])
			luaL_error(L, "unknown option \"%s\"", key);
	}
}

/* A principal: a table, or text for the library to judge. */
static const char *principal_field(lua_State *L, int table)
{
	if (!lua_istable(L, table) || lua_getfield(L, table, "principal") == LUA_TNIL)
		return NULL;
	if (lua_istable(L, -1))
		tables_to_json(L, -1, "principal");
	return options_text(L, -1, "principal");
}

static uint64_t deadline_field(lua_State *L, int table)
{
	lua_Integer ms = 0;
	int is_integer = 1;

	if (lua_istable(L, table) && lua_getfield(L, table, "deadline_ms") != LUA_TNIL) {
		ms = lua_tointegerx(L, -1, &is_integer);
		if (!is_integer || ms < 1)
			luaL_error(L, "deadline_ms must be a positive integer");
	}
	return (uint64_t)ms;
}

static hcp_suppose suppose_field(lua_State *L, int index)
{
	static const char *const known[] = {"principal", "activated", NULL};
	hcp_suppose as = {.size = sizeof(as)};
	int table;

	if (!lua_istable(L, index) || lua_getfield(L, index, "suppose") == LUA_TNIL)
		return as;
	table = lua_gettop(L);
	options_check(L, table, known);
	lua_getfield(L, table, "activated");
	as.activated = lua_toboolean(L, -1);
	as.principal = principal_field(L, table); /* stays on the stack */
	return as;
}

static void need(lua_State *L, hcp_status status, const char *what)
{
	if (status == HCP_ENOMEM)
		luaL_error(L, "out of memory");
	if (status != HCP_OK)
		luaL_error(L, "%s", what);
}

hcp_call *options_call(lua_State *L, hcp_runtime *rt, int index, hcp_suppose *as)
{
	static const char *const known[] = {"suppose", "session",   "tenant",      "project",
					    "token",   "principal", "deadline_ms", NULL};
	const char *session, *tenant, *token, *principal;
	hcp_call **p = lua_newuserdatauv(L, sizeof(*p), 0);
	int top = lua_gettop(L);

	*p = NULL;
	luaL_setmetatable(L, CALL);
	options_check(L, index, as ? known : known + 1);
	*p = hcp_call_new(rt);
	need(L, *p ? HCP_OK : HCP_ENOMEM, "");
	session = options_field(L, index, "session");
	if (session)
		need(L, hcp_call_session(*p, session), "session: 1 to 64 of A-Z a-z 0-9 _ . -");
	tenant = options_field(L, index, "tenant");
	need(L, hcp_call_identity(*p, tenant, options_field(L, index, "project")), "");
	token = options_field(L, index, "token");
	if (token)
		need(L, hcp_call_token(*p, hcp_str_from(token)),
		     "token: 8 to 16384 visible ASCII characters");
	principal = principal_field(L, index);
	if (principal)
		need(L, hcp_call_principal(*p, principal), "");
	need(L, hcp_call_deadline_ms(*p, deadline_field(L, index)), "deadline_ms is too large");
	lua_settop(L, top);
	if (as)
		*as = suppose_field(L, index);
	return *p;
}
