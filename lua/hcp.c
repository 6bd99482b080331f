/* SPDX-License-Identifier: MIT */
/* The Lua module for hosts: require "hcp". A border and nothing more: it checks arguments,
 * calls the public library and pushes. Envelopes cross as JSON text, so no number changes on
 * the way. */
#include "include/hcp.h"

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#define RUNTIME "hcp.runtime"
#define CALL    "hcp.call"
#define RESULT  "hcp.result"

/* Handles live in userdata from the moment they exist: a Lua error between two lines leaks
 * nothing. */
static void **box(lua_State *L, const char *type)
{
	void **p = lua_newuserdatauv(L, sizeof(*p), 0);

	*p = NULL;
	luaL_setmetatable(L, type);
	return p;
}

static int gc_call(lua_State *L)
{
	void **p = luaL_checkudata(L, 1, CALL);

	hcp_call_free(*p);
	*p = NULL;
	return 0;
}

static int gc_result(lua_State *L)
{
	void **p = luaL_checkudata(L, 1, RESULT);

	hcp_result_free(*p);
	*p = NULL;
	return 0;
}

static int close_runtime(lua_State *L)
{
	void **p = luaL_checkudata(L, 1, RUNTIME);

	hcp_close(*p);
	*p = NULL;
	return 0;
}

static hcp_runtime *check_runtime(lua_State *L)
{
	void **p = luaL_checkudata(L, 1, RUNTIME);

	luaL_argcheck(L, *p, 1, "the runtime is closed");
	return *p;
}

/* C strings end at a NUL: what stands behind one must not be dropped. */
static const char *check_text(lua_State *L, int index, const char *what)
{
	size_t len = 0;
	const char *s =
	    lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &len) : NULL;

	if (!s || strlen(s) != len)
		luaL_error(L, "%s must be a string without NUL bytes", what);
	return s;
}

static const char *opt_field(lua_State *L, int table, const char *name)
{
	const char *s = NULL;

	if (lua_istable(L, table)) {
		lua_getfield(L, table, name);
		if (!lua_isnil(L, -1))
			s = check_text(L, -1, name); /* the table keeps it alive */
		lua_pop(L, 1);
	}
	return s;
}

/* A misspelt option would mean the default root, or another session. `known` ends with NULL. */
static void check_options(lua_State *L, int table, const char *const *known)
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

static int fail(lua_State *L, hcp_status status, const hcp_error *err)
{
	lua_pushnil(L);
	lua_pushstring(L, err && err->text[0] ? err->text : hcp_status_text(status));
	return 2;
}

static hcp_status set_options(hcp_options *o, const char *root, const char *state)
{
	hcp_status s = root ? hcp_options_root(o, root) : HCP_OK;

	return s == HCP_OK && state ? hcp_options_state(o, state) : s;
}

/* open{root=, state=} -> runtime | nil, message */
static int open_runtime(lua_State *L)
{
	static const char *const known[] = {"root", "state", NULL};
	const char *root, *state;
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = NULL;
	hcp_options *o;
	hcp_status status;
	void **p;

	check_options(L, 1, known);
	root = opt_field(L, 1, "root");
	state = opt_field(L, 1, "state");
	p = box(L, RUNTIME);
	o = hcp_options_new();
	status = o ? set_options(o, root, state) : HCP_ENOMEM;
	if (status == HCP_OK)
		status = hcp_open(o, &rt, &err);
	hcp_options_free(o);
	if (status != HCP_OK)
		return fail(L, status, &err);
	*p = rt;
	return 1;
}

/* A call with {session=, tenant=, project=, token=}; left on the stack. */
static hcp_call *make_call(lua_State *L, hcp_runtime *rt, int options)
{
	static const char *const known[] = {"session", "tenant", "project", "token", NULL};
	const char *session, *tenant, *project, *token;
	void **p;

	check_options(L, options, known);
	session = opt_field(L, options, "session");
	tenant = opt_field(L, options, "tenant");
	project = opt_field(L, options, "project");
	token = opt_field(L, options, "token");
	p = box(L, CALL);
	*p = hcp_call_new(rt);
	if (!*p || hcp_call_identity(*p, tenant, project) != HCP_OK)
		luaL_error(L, "out of memory");
	if (session && hcp_call_session(*p, session) != HCP_OK)
		luaL_error(L, "session: 1 to 64 of A-Z a-z 0-9 _ . -");
	if (token && hcp_call_token(*p, hcp_str_from(token)) != HCP_OK)
		luaL_error(L, "token: 8 to 16384 visible ASCII characters");
	return *p;
}

static void push_info(lua_State *L, const hcp_result *res)
{
	hcp_str error = hcp_result_error(res), id = hcp_result_run_id(res);

	lua_createtable(L, 0, 5);
	lua_pushboolean(L, hcp_result_ok(res));
	lua_setfield(L, -2, "ok");
	lua_pushinteger(L, hcp_result_step(res));
	lua_setfield(L, -2, "step");
	lua_pushinteger(L, hcp_result_exit(res));
	lua_setfield(L, -2, "exit");
	lua_pushlstring(L, error.data, error.len);
	lua_setfield(L, -2, "error");
	lua_pushlstring(L, id.data, id.len);
	lua_setfield(L, -2, "run_id");
}

/* rt:exec(envelope_json [, options]) -> result_json, {ok, step, exit, error, run_id} | nil,
 * message */
static int exec(lua_State *L)
{
	hcp_runtime *rt = check_runtime(L);
	hcp_str envelope;
	hcp_status status;
	hcp_call *call;
	hcp_result *res = NULL;
	void **p;

	envelope.data = luaL_checklstring(L, 2, &envelope.len);
	call = make_call(L, rt, 3);
	p = box(L, RESULT);
	status = hcp_exec(rt, call, envelope, &res);
	*p = res;
	if (status != HCP_OK)
		return fail(L, status, NULL);
	lua_pushlstring(L, hcp_result_json(res).data, hcp_result_json(res).len);
	push_info(L, res);
	return 2;
}

/* rt:activate(pack [, options [, false]]) -> true | nil, message */
static int activate(lua_State *L)
{
	hcp_runtime *rt = check_runtime(L);
	const char *pack = check_text(L, 2, "pack");
	int on = lua_isnoneornil(L, 4) || lua_toboolean(L, 4);
	hcp_error err = {.size = sizeof(err)};
	hcp_call *call = make_call(L, rt, 3);
	hcp_status status = hcp_activate(rt, call, pack, on, NULL, &err);

	if (status != HCP_OK)
		return fail(L, status, &err);
	lua_pushboolean(L, 1);
	return 1;
}

static void add_type(lua_State *L, const char *name, lua_CFunction gc, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	lua_pushcfunction(L, gc);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, gc);
	lua_setfield(L, -2, "__close");
	lua_pushliteral(L, "locked");
	lua_setfield(L, -2, "__metatable");
	if (methods) {
		lua_newtable(L);
		luaL_setfuncs(L, methods, 0);
		lua_setfield(L, -2, "__index");
	}
	lua_pop(L, 1);
}

__attribute__((visibility("default"))) int luaopen_hcp(lua_State *L);

int luaopen_hcp(lua_State *L)
{
	static const luaL_Reg methods[] = {
	    {"exec", exec}, {"activate", activate}, {"close", close_runtime}, {NULL, NULL}};
	static const luaL_Reg functions[] = {{"open", open_runtime}, {NULL, NULL}};

	add_type(L, RUNTIME, close_runtime, methods);
	add_type(L, CALL, gc_call, NULL);
	add_type(L, RESULT, gc_result, NULL);
	luaL_newlib(L, functions);
	lua_pushfstring(L, "%d.%d.%d", HCP_VERSION_MAJOR, HCP_VERSION_MINOR, HCP_VERSION_PATCH);
	lua_setfield(L, -2, "version");
	return 1;
}
