/* SPDX-License-Identifier: MIT */
/* The Lua module for hosts: require "hcp". A border and nothing more: it checks arguments,
 * calls the public library and pushes. An envelope that comes as a table is answered by tables,
 * one that comes as JSON text by JSON text, in which nothing changes on the way. */
#include "include/hcp.h"

#include "lua/options.h"
#include "lua/tables.h"

#define RUNTIME "hcp.runtime"
#define RESULT  "hcp.result"

static int gc_call(lua_State *L)
{
	hcp_call **p = luaL_checkudata(L, 1, CALL);

	hcp_call_free(*p);
	*p = NULL;
	return 0;
}

static int gc_result(lua_State *L)
{
	hcp_result **p = luaL_checkudata(L, 1, RESULT);

	hcp_result_free(*p);
	*p = NULL;
	return 0;
}

static int close_runtime(lua_State *L)
{
	hcp_runtime **p = luaL_checkudata(L, 1, RUNTIME);

	hcp_close(*p);
	*p = NULL;
	return 0;
}

/* The first of `count` arguments; those that weren't given are nil. */
static hcp_runtime *check_runtime(lua_State *L, int count)
{
	hcp_runtime **p = luaL_checkudata(L, 1, RUNTIME);

	luaL_argcheck(L, *p, 1, "the runtime is closed");
	lua_settop(L, count);
	return *p;
}

/* ---- answers ---- */

/* As the envelopes of runs that it refuses say it: `<file>:<line>: <why> (column <n>)`. */
static void push_error(lua_State *L, const hcp_error *err)
{
	if (!err->file[0])
		lua_pushstring(L, err->text);
	else if (err->line <= 0)
		lua_pushfstring(L, "%s: %s", err->file, err->text);
	else if (err->column <= 0)
		lua_pushfstring(L, "%s:%d: %s", err->file, err->line, err->text);
	else
		lua_pushfstring(L, "%s:%d: %s (column %d)", err->file, err->line, err->text,
				err->column);
}

static int fail(lua_State *L, hcp_status status, const hcp_error *err)
{
	lua_pushnil(L);
	if (err && err->text[0])
		push_error(L, err);
	else
		lua_pushstring(L, hcp_status_text(status));
	return 2;
}

static int done(lua_State *L, hcp_status status, const hcp_error *err)
{
	if (status != HCP_OK)
		return fail(L, status, err);
	lua_pushboolean(L, 1);
	return 1;
}

static void push_text(lua_State *L, hcp_str text)
{
	lua_pushlstring(L, text.data, text.len);
}

/* The JSON text as a table, or nil, why and the text where Lua can't hold it. */
static int push_table(lua_State *L, hcp_str json)
{
	if (tables_push(L, json.data, json.len))
		return 1;
	lua_pushnil(L);
	lua_insert(L, -2);
	push_text(L, json);
	return 3;
}

static int give(lua_State *L, hcp_status status, const hcp_result *res, const hcp_error *err)
{
	return status == HCP_OK ? push_table(L, hcp_result_json(res)) : fail(L, status, err);
}

/* On the stack before there is one: a Lua error between two lines leaks nothing. */
static hcp_result **new_result(lua_State *L)
{
	hcp_result **p = lua_newuserdatauv(L, sizeof(*p), 0);

	*p = NULL;
	luaL_setmetatable(L, RESULT);
	return p;
}

static void push_info(lua_State *L, const hcp_result *res)
{
	lua_createtable(L, 0, 5);
	lua_pushboolean(L, hcp_result_ok(res));
	lua_setfield(L, -2, "ok");
	lua_pushinteger(L, hcp_result_step(res));
	lua_setfield(L, -2, "step");
	lua_pushinteger(L, hcp_result_exit(res));
	lua_setfield(L, -2, "exit");
	push_text(L, hcp_result_error(res));
	lua_setfield(L, -2, "error");
	push_text(L, hcp_result_run_id(res));
	lua_setfield(L, -2, "run_id");
}

/* ---- runtimes ---- */

static hcp_status set_options(hcp_options *o, const char *root, const char *state)
{
	hcp_status s = root ? hcp_options_root(o, root) : HCP_OK;

	return s == HCP_OK && state ? hcp_options_state(o, state) : s;
}

/* open([{root=, state=}]) -> runtime | nil, message */
static int open_runtime(lua_State *L)
{
	static const char *const known[] = {"root", "state", NULL};
	const char *root, *state;
	hcp_error err = {.size = sizeof(err)};
	hcp_options *o;
	hcp_status status;
	hcp_runtime **p;

	lua_settop(L, 1);
	options_check(L, 1, known);
	root = options_field(L, 1, "root");
	state = options_field(L, 1, "state");
	p = lua_newuserdatauv(L, sizeof(*p), 0);
	*p = NULL;
	luaL_setmetatable(L, RUNTIME);
	o = hcp_options_new();
	status = o ? set_options(o, root, state) : HCP_ENOMEM;
	if (status == HCP_OK)
		status = hcp_open(o, p, &err);
	hcp_options_free(o);
	return status == HCP_OK ? 1 : fail(L, status, &err);
}

typedef hcp_status settle_fn(hcp_runtime *rt, hcp_error *err);

static int settle(lua_State *L, settle_fn *fn)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_status status = fn(check_runtime(L, 1), &err);

	return done(L, status, &err);
}

/* rt:check(), rt:reload(), rt:refresh() -> true | nil, message */
static int check(lua_State *L)
{
	return settle(L, hcp_check);
}

static int reload(lua_State *L)
{
	return settle(L, hcp_reload);
}

static int refresh(lua_State *L)
{
	return settle(L, hcp_refresh);
}

/* ---- runs ---- */

/* The second argument. A table is replaced by its text, which *was_table tells. */
static hcp_str check_envelope(lua_State *L, int *was_table)
{
	hcp_str envelope;

	*was_table = lua_istable(L, 2);
	if (*was_table) {
		tables_to_json(L, 2, "envelope");
		lua_replace(L, 2);
	}
	luaL_checktype(L, 2, LUA_TSTRING);
	envelope.data = lua_tolstring(L, 2, &envelope.len);
	return envelope;
}

/* rt:exec(envelope [, options]) -> envelope, {ok, step, exit, error, run_id} | nil, message */
static int exec(lua_State *L)
{
	hcp_runtime *rt = check_runtime(L, 3);
	int was_table, count = 1;
	hcp_str envelope = check_envelope(L, &was_table);
	hcp_call *call = options_call(L, rt, 3, NULL);
	hcp_result **res = new_result(L);
	hcp_status status = hcp_exec(rt, call, envelope, res);

	if (status != HCP_OK)
		return fail(L, status, NULL);
	if (was_table)
		count = push_table(L, hcp_result_json(*res));
	else
		push_text(L, hcp_result_json(*res));
	if (count > 1)
		return count;
	push_info(L, *res);
	return 2;
}

/* rt:explain(envelope [, options]) -> explanation | nil, message */
static int explain(lua_State *L)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = check_runtime(L, 3);
	int was_table;
	hcp_str envelope = check_envelope(L, &was_table);
	hcp_suppose as;
	hcp_call *call = options_call(L, rt, 3, &as);
	hcp_result **res = new_result(L);
	hcp_status status = hcp_explain(rt, call, envelope, &as, res, &err);

	if (status != HCP_OK || was_table)
		return give(L, status, *res, &err);
	push_text(L, hcp_result_json(*res));
	return 1;
}

/* ---- what there is ---- */

/* rt:describe([pack [, options]]) -> description | nil, message */
static int describe(lua_State *L)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = check_runtime(L, 3);
	const char *pack = lua_isnoneornil(L, 2) ? NULL : options_text(L, 2, "pack");
	hcp_result **res = new_result(L);
	hcp_status status = hcp_describe(rt, options_call(L, rt, 3, NULL), pack, res, &err);

	return give(L, status, *res, &err);
}

/* rt:permitted([options]), rt:session([options]) -> table | nil, message */
static int permitted(lua_State *L)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = check_runtime(L, 2);
	hcp_result **res = new_result(L);
	hcp_status status = hcp_permitted(rt, options_call(L, rt, 2, NULL), res, &err);

	return give(L, status, *res, &err);
}

static int session(lua_State *L)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = check_runtime(L, 2);
	hcp_result **res = new_result(L);
	hcp_status status = hcp_session(rt, options_call(L, rt, 2, NULL), res, &err);

	return give(L, status, *res, &err);
}

static int turn(lua_State *L, int on)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = check_runtime(L, 3);
	const char *pack = options_text(L, 2, "pack");
	hcp_status status =
	    hcp_activate(rt, options_call(L, rt, 3, NULL), pack, on, NULL, &err);

	return done(L, status, &err);
}

/* rt:activate(pack [, options]), rt:deactivate(pack [, options]) -> true | nil, message */
static int activate(lua_State *L)
{
	return turn(L, 1);
}

static int deactivate(lua_State *L)
{
	return turn(L, 0);
}

/* ---- the module ---- */

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
	static const luaL_Reg methods[] = {{"exec", exec},
					   {"explain", explain},
					   {"describe", describe},
					   {"permitted", permitted},
					   {"session", session},
					   {"activate", activate},
					   {"deactivate", deactivate},
					   {"check", check},
					   {"reload", reload},
					   {"refresh", refresh},
					   {"close", close_runtime},
					   {NULL, NULL}};
	static const luaL_Reg functions[] = {
	    {"open", open_runtime}, {"array", tables_array}, {NULL, NULL}};

	tables_open(L);
	add_type(L, RUNTIME, close_runtime, methods);
	add_type(L, CALL, gc_call, NULL);
	add_type(L, RESULT, gc_result, NULL);
	luaL_newlib(L, functions);
	lua_pushlightuserdata(L, NULL);
	lua_setfield(L, -2, "null");
	lua_pushfstring(L, "%d.%d.%d", HCP_VERSION_MAJOR, HCP_VERSION_MINOR, HCP_VERSION_PATCH);
	lua_setfield(L, -2, "version");
	return 1;
}
