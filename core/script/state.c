/* SPDX-License-Identifier: MIT */
/* Builds what a script can see, by adding from this table to nothing: what has no row doesn't
 * exist. The stock libraries are opened on the side and only their listed functions are kept;
 * the rest goes to the collector before the script begins, with no way left to reach it. */
#include "script/state.h"

#include "include/hcp.h"
#include "script/modules.h"
#include "script/value.h"

#include <lualib.h>
#include <sodium.h>
#include <string.h>

#define BIT(role) (1U << (role))
enum {
	VERB = BIT(SCRIPT_VERB),
	ADAPTER = BIT(SCRIPT_ADAPTER),
	AUTH = BIT(SCRIPT_AUTH),
	MINT = BIT(SCRIPT_MINT),
	ALL = VERB | ADAPTER | AUTH | MINT | BIT(SCRIPT_GUARD)
};

enum source {
	STOCK, /* the value of that name in Lua's own library */
	OURS,
	OVER /* ours, with the stock function as its upvalue */
};
struct row {
	enum script_library library;
	const char *name;
	unsigned roles;
	enum source source;
	lua_CFunction fn;
};

/* Not here, and why: collectgarbage (costs what no limit sees), load, loadfile, dofile
 * (bytecode, files), getmetatable, setmetatable (finalizers, re-entry; docs/lua.md),
 * coroutine (fresh hooks), debug, io, package, string.dump, math.randomseed, and of os what
 * touches the host. */
static const struct row rows[] = {
    {IN_BASE, "_VERSION", ALL, STOCK, NULL},
    {IN_BASE, "assert", ALL, STOCK, NULL},
    {IN_BASE, "error", ALL, STOCK, NULL},
    {IN_BASE, "ipairs", ALL, STOCK, NULL},
    {IN_BASE, "next", ALL, STOCK, NULL},
    {IN_BASE, "pairs", ALL, STOCK, NULL},
    {IN_BASE, "pcall", ALL, OURS, l_pcall},
    {IN_BASE, "print", ALL, OURS, l_print},
    {IN_BASE, "rawequal", ALL, STOCK, NULL},
    {IN_BASE, "rawget", ALL, STOCK, NULL},
    {IN_BASE, "rawlen", ALL, STOCK, NULL},
    {IN_BASE, "rawset", ALL, STOCK, NULL},
    {IN_BASE, "require", ALL, OURS, l_require},
    {IN_BASE, "select", ALL, STOCK, NULL},
    {IN_BASE, "tonumber", ALL, STOCK, NULL},
    {IN_BASE, "tostring", ALL, OURS, l_tostring},
    {IN_BASE, "type", ALL, STOCK, NULL},
    {IN_BASE, "xpcall", ALL, OURS, l_xpcall},

    {IN_STRING, "byte", ALL, STOCK, NULL},
    {IN_STRING, "char", ALL, OVER, l_charged},
    {IN_STRING, "find", ALL, OURS, l_string_find},
    {IN_STRING, "format", ALL, OVER, l_string_format},
    {IN_STRING, "gmatch", ALL, OURS, l_string_gmatch},
    {IN_STRING, "gsub", ALL, OURS, l_string_gsub},
    {IN_STRING, "len", ALL, STOCK, NULL},
    {IN_STRING, "lower", ALL, STOCK, NULL},
    {IN_STRING, "match", ALL, OURS, l_string_match},
    {IN_STRING, "pack", ALL, OVER, l_charged},
    {IN_STRING, "packsize", ALL, STOCK, NULL},
    {IN_STRING, "rep", ALL, OURS, l_string_rep},
    {IN_STRING, "reverse", ALL, STOCK, NULL},
    {IN_STRING, "sub", ALL, STOCK, NULL},
    {IN_STRING, "unpack", ALL, STOCK, NULL},
    {IN_STRING, "upper", ALL, STOCK, NULL},

    {IN_TABLE, "concat", ALL, STOCK, NULL},
    {IN_TABLE, "insert", ALL, OURS, l_table_insert},
    {IN_TABLE, "move", ALL, OURS, l_table_move},
    {IN_TABLE, "pack", ALL, STOCK, NULL},
    {IN_TABLE, "remove", ALL, OURS, l_table_remove},
    {IN_TABLE, "sort", ALL, OURS, l_table_sort},
    {IN_TABLE, "unpack", ALL, STOCK, NULL},

    {IN_MATH, "abs", ALL, STOCK, NULL},
    {IN_MATH, "acos", ALL, STOCK, NULL},
    {IN_MATH, "asin", ALL, STOCK, NULL},
    {IN_MATH, "atan", ALL, STOCK, NULL},
    {IN_MATH, "ceil", ALL, STOCK, NULL},
    {IN_MATH, "cos", ALL, STOCK, NULL},
    {IN_MATH, "deg", ALL, STOCK, NULL},
    {IN_MATH, "exp", ALL, STOCK, NULL},
    {IN_MATH, "floor", ALL, STOCK, NULL},
    {IN_MATH, "fmod", ALL, STOCK, NULL},
    {IN_MATH, "huge", ALL, STOCK, NULL},
    {IN_MATH, "log", ALL, STOCK, NULL},
    {IN_MATH, "max", ALL, OVER, l_charged},
    {IN_MATH, "maxinteger", ALL, STOCK, NULL},
    {IN_MATH, "min", ALL, OVER, l_charged},
    {IN_MATH, "mininteger", ALL, STOCK, NULL},
    {IN_MATH, "modf", ALL, STOCK, NULL},
    {IN_MATH, "pi", ALL, STOCK, NULL},
    {IN_MATH, "rad", ALL, STOCK, NULL},
    {IN_MATH, "random", ALL, STOCK, NULL},
    {IN_MATH, "sin", ALL, STOCK, NULL},
    {IN_MATH, "sqrt", ALL, STOCK, NULL},
    {IN_MATH, "tan", ALL, STOCK, NULL},
    {IN_MATH, "tointeger", ALL, STOCK, NULL},
    {IN_MATH, "type", ALL, STOCK, NULL},
    {IN_MATH, "ult", ALL, STOCK, NULL},

    {IN_UTF8, "char", ALL, OVER, l_charged},
    {IN_UTF8, "charpattern", ALL, STOCK, NULL},
    {IN_UTF8, "codepoint", ALL, STOCK, NULL},
    {IN_UTF8, "codes", ALL, STOCK, NULL},
    {IN_UTF8, "len", ALL, STOCK, NULL},
    {IN_UTF8, "offset", ALL, STOCK, NULL},

    {IN_OS, "clock", ALL, OURS, l_os_clock},
    {IN_OS, "date", ALL, OVER, l_os_date},
    {IN_OS, "difftime", ALL, STOCK, NULL},
    {IN_OS, "time", ALL, STOCK, NULL},

    {IN_CJSON, "decode", ALL, OURS, l_json_decode},
    {IN_CJSON, "encode", ALL, OURS, l_json_encode},

    {IN_HCP, "array", ALL, OURS, l_hcp_array},
    {IN_HCP, "fail", ALL, OURS, l_hcp_fail},
    {IN_HCP, "object", ALL, OURS, l_hcp_object},
    {IN_HCP_LOG, "debug", ALL, OURS, l_hcp_debug},
    {IN_HCP_LOG, "info", ALL, OURS, l_hcp_info},
    {IN_HCP_LOG, "warn", ALL, OURS, l_hcp_warn},

    {IN_HOST, "base64", AUTH | MINT, OURS, l_host_base64},
    {IN_HOST, "base64url", AUTH | MINT, OURS, l_host_base64url},
    {IN_HOST, "concat", AUTH | MINT, OURS, l_host_concat},
    {IN_HOST, "equal", AUTH | MINT, OURS, l_host_equal},
    {IN_HOST, "hex", AUTH | MINT, OURS, l_host_hex},
    {IN_HOST, "hmac_sha256", AUTH | MINT, OURS, l_host_hmac_sha256},
    {IN_HOST, "http", AUTH | MINT, OURS, l_host_http},
    {IN_HOST, "iso8601", AUTH | MINT, OURS, l_host_iso8601},
    {IN_HOST, "jwks", AUTH | MINT, OURS, l_host_jwks},
    {IN_HOST, "now", AUTH | MINT, OURS, l_host_now},
    {IN_HOST, "parse_time", AUTH | MINT, OURS, l_host_parse_time},
    {IN_HOST, "random", AUTH | MINT, OURS, l_host_random},
    {IN_HOST, "secret", AUTH | MINT, OURS, l_host_secret},
    {IN_HOST, "sha256", AUTH | MINT, OURS, l_host_sha256},
    {IN_HOST, "sign", AUTH | MINT, OURS, l_host_sign},
    {IN_HOST, "sign_jwt", AUTH | MINT, OURS, l_host_sign_jwt},
    {IN_HOST, "uri", AUTH | MINT, OURS, l_host_uri},
    {IN_HOST, "verify_jwt", AUTH | MINT, OURS, l_host_verify_jwt},
    {IN_HOST, "verify_password", AUTH | MINT, OURS, l_host_verify_password},

    {IN_CTX, "base64", ADAPTER, OURS, l_host_base64},
    {IN_CTX, "base64url", ADAPTER, OURS, l_host_base64url},
    {IN_CTX, "concat", ADAPTER, OURS, l_host_concat},
    {IN_CTX, "exec", VERB | ADAPTER, OURS, l_ctx_exec},
    {IN_CTX, "exec_all", VERB | ADAPTER, OURS, l_ctx_exec_all},
    {IN_CTX, "hex", ADAPTER, OURS, l_host_hex},
    {IN_CTX, "http", ADAPTER, OURS, l_host_http},
    {IN_CTX, "script", ADAPTER, OURS, l_ctx_script},
    {IN_CTX, "try", VERB | ADAPTER, OURS, l_ctx_try},
    {IN_CTX, "uri", ADAPTER, OURS, l_host_uri},
};

/* Adds a library's rows to the table below the stock library, which is on the top. */
static void fill(lua_State *L, enum script_library library)
{
	unsigned role = BIT(script_state_of(L)->call->role);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].library != library || !(rows[i].roles & role))
			continue;
		switch (rows[i].source) {
		case STOCK:
			lua_getfield(L, -1, rows[i].name);
			break;
		case OVER:
			lua_getfield(L, -1, rows[i].name);
			lua_pushcclosure(L, rows[i].fn, 1);
			break;
		case OURS:
			lua_pushcfunction(L, rows[i].fn);
			break;
		}
		lua_setfield(L, -3, rows[i].name);
	}
}

void script_fill(lua_State *L, enum script_library library)
{
	lua_pushnil(L); /* such a library has no stock rows */
	fill(L, library);
	lua_pop(L, 1);
}

/* Under the name where lauxlib looks for the names of functions in its messages. */
void script_push_loaded(lua_State *L)
{
	lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}

/* Strings find their methods in our `string`, the table below the stock one, which has dump.
 * Lua's own arithmetic on numerals stays. */
static void lock_strings(lua_State *L)
{
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1);
	lua_pushvalue(L, -4);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 2);
}

static void seed_random(lua_State *L)
{
	lua_Integer seed[2];

	randombytes_buf(seed, sizeof(seed));
	lua_getfield(L, -1, "randomseed");
	lua_pushinteger(L, seed[0]);
	lua_pushinteger(L, seed[1]);
	lua_call(L, 2, 0);
}

static int open_cjson(lua_State *L)
{
	lua_newtable(L);
	script_mark_array(L, -1);
	lua_setfield(L, 1, "empty_array");
	script_push_null(L);
	lua_setfield(L, 1, "null");
	return 0;
}

static int open_hcp(lua_State *L)
{
	script_push_null(L);
	lua_setfield(L, 1, "null");
	lua_pushfstring(L, "%d.%d.%d", HCP_VERSION_MAJOR, HCP_VERSION_MINOR, HCP_VERSION_PATCH);
	lua_setfield(L, 1, "version");
	script_push_library(L, "cjson");
	lua_setfield(L, 1, "json");
	lua_createtable(L, 0, 3);
	script_fill(L, IN_HCP_LOG);
	lua_setfield(L, 1, "log");
	return 0;
}

struct library {
	enum script_library id;
	const char *name;
	int size;
	lua_CFunction open;           /* returns the stock library; gets ours */
	void (*finish)(lua_State *L); /* ours below the stock one, or NULL */
};
static const struct library libraries[] = {
    {IN_STRING, LUA_STRLIBNAME, 16, luaopen_string, lock_strings},
    {IN_TABLE, LUA_TABLIBNAME, 8, luaopen_table, NULL},
    {IN_MATH, LUA_MATHLIBNAME, 32, luaopen_math, seed_random},
    {IN_UTF8, LUA_UTF8LIBNAME, 8, luaopen_utf8, NULL},
    {IN_OS, LUA_OSLIBNAME, 4, luaopen_os, NULL},
    {IN_HCP, "hcp", 8, open_hcp, NULL},
    {IN_CJSON, "cjson", 4, open_cjson, NULL},
};

static void open_library(lua_State *L, const struct library *lib)
{
	lua_createtable(L, 0, lib->size);
	lua_pushcfunction(L, lib->open);
	lua_pushvalue(L, -2);
	lua_call(L, 1, 1);
	fill(L, lib->id);
	if (lib->finish)
		lib->finish(L);
	lua_pop(L, 1);
}

/* Opened when it is first asked for: most scripts use few, and a call should cost little. */
bool script_push_library(lua_State *L, const char *name)
{
	const struct library *lib = NULL;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strcmp(libraries[i].name, name) == 0)
			lib = &libraries[i];
	if (!lib)
		return false;
	luaL_checkstack(L, 10, NULL);
	script_push_loaded(L);
	if (lua_getfield(L, -1, name) == LUA_TNIL) {
		lua_pop(L, 1);
		open_library(L, lib);
		lua_pushvalue(L, -1);
		lua_setfield(L, -3, name);
	}
	lua_remove(L, -2);
	return true;
}

/* __index of the environment: gets it and the name that it lacks. */
static int missing_global(lua_State *L)
{
	if (lua_type(L, 2) == LUA_TSTRING && script_push_library(L, lua_tostring(L, 2))) {
		lua_pushvalue(L, 2);
		lua_pushvalue(L, 3);
		lua_rawset(L, 1);
		return 1;
	}
	return luaL_error(L, "%s has no global '%s'", script_state_of(L)->call->owner,
			  l_text(L, 2, NULL));
}

void script_open(lua_State *L)
{
	lua_createtable(L, 0, 0);
	lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	script_values_open(L);

	lua_createtable(L, 0, 32);
	lua_pushcfunction(L, luaopen_base);
	lua_call(L, 0, 1);
	fill(L, IN_BASE);
	lua_pop(L, 1);
	lua_createtable(L, 0, 2);
	lua_pushcfunction(L, missing_global);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);

	/* not left for later: its methods are reached without its name */
	script_push_library(L, LUA_STRLIBNAME);
	lua_pop(L, 1);
}
