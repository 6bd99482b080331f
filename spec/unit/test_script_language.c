/* SPDX-License-Identifier: MIT */
/* The language that scripts get: exactly the listed globals, text only, no to-be-closed
 * variables, no addresses, nothing left from an earlier call, modules from their own folder. */
#include "script_world.h"

/* ---- what there is ---- */

static void test_methods_of_strings_are_ours(void **state)
{
	(void)state;
	assert_verb("return function() return ('').dump == nil and string.dump == nil end",
		    "true");
	assert_verb("return function() return ('').find == string.find end", "true");
	assert_verb("return function() return ('').__index == nil end", "true");
	assert_verb("return function() return pcall(function() return ('x'):dump() end) end",
		    "false");
	assert_verb("return function() string.find = nil return ('x').find == nil end", "true");
	assert_verb("return function() return {'10' + 5, '3' * '4', -'2', 10 .. 20} end",
		    "[15,12,-2,\"1020\"]");
}

static void test_missing_globals_are_named(void **state)
{
	static const char *const gone[] = {
	    "io",       "debug",        "package",    "coroutine",      "load",
	    "loadfile", "dofile",       "loadstring", "setmetatable",   "warn",
	    "_G",       "getmetatable", "rawthing",   "collectgarbage",
	};
	char source[100], expected[200];

	(void)state;
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		snprintf(source, sizeof(source), "\nreturn %s", gone[i]);
		snprintf(expected, sizeof(expected),
			 "! script: verbs/month.lua:2: pack ledger has no global '%s'",
			 gone[i]);
		assert_verb(source, expected);
	}
	assert_verb("local f = io.open", "! script: verbs/month.lua:1: pack ledger has no "
					 "global 'io'");
	assert_verb("return function() x = 1 return x + math.abs(-1) end", "2");
	assert_verb("return function() local _ENV = {} return a == nil end", "true");
	assert_verb("return function() return os.getenv == nil and os.exit == nil and "
		    "os.execute == nil and os.remove == nil end",
		    "true");
	assert_verb("return function() return math.randomseed == nil end", "true");
}

static void test_no_addresses(void **state)
{
	(void)state;
	assert_verb("return function() return {tostring({}), tostring(print), "
		    "tostring(hcp.null), tostring(function() end)} end",
		    "[\"table\",\"function\",\"null\",\"function\"]");
	assert_verb(
	    "return function() return ('%s %p %p %10s|%-3p|'):format({}, {}, 'x', print, "
	    "print) end",
	    "\"table (null) (null)   function|(null)|\"");
	assert_verb("return function() return ('\\0%p%s'):format({}, {}) end",
		    "\"\\u0000(null)table\"");
	assert_verb("return function() return ('%%p %5.1f %q %i'):format(1.25, 'a', 3) end",
		    "\"%p   1.2 \\\"a\\\" 3\"");
	assert_verb("return function() return not tostring(print):find('0x') and "
		    "not select(2, pcall(error, {})) == nil end",
		    "false");
	assert_verb("error(setmetatable)", "! script: verbs/month.lua:1: pack ledger has no "
					   "global 'setmetatable'");
	assert_verb("error({})", "! script: the error is a table value, not a message");
	assert_verb("error()", "! script: the error is a nil value, not a message");
	assert_verb("error(12)", "! script: 12");
	assert_verb("local t = {} t.x.y = 1", "! script: verbs/month.lua:1: attempt to index a "
					      "nil value (field 'x')");
}

static void test_random_is_seeded(void **state)
{
	char first[64];
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	snprintf(first, sizeof(first), "%.60s",
		 world_says(&w, "return function() return math.random(0) end"));
	assert_string_not_equal(first,
				world_says(&w, "return function() return math.random(0) end"));
	world_close(&w);
}

/* ---- what a source may be ---- */

static void test_no_closed_variables(void **state)
{
	static const char *const refused[] = {
	    "local x <close> = nil",
	    "local x<close>=nil",
	    "local a, b <const>, c <close> = 1, 2, nil",
	    "local x --[[ ]] < --\n close > = nil",
	    "local x <const> = 1 local y <close> = nil",
	    "do local function f() local z <close> = nil end end",
	    "local s = [==[ ]] ]==] local x <close> = nil",
	    "local s = 'a\\'b' local x <close> = nil",
	    "local s = \"\\z\n  \" local x <close> = nil",
	    "--[==[ ]] --]==] local x <close> = nil",
	    "--[=x\nlocal x <close> = nil",
	    "local t = {[ [[k]] ] = 1} local x <close> = nil",
	    "local a = 3 - -1 -- 'x\nlocal x <close> = nil",
	    "local n = 0x1p-4 local x <close> = nil",
	    "local n = 1..2 local x <close> = nil",
	    "local x\t<\vclose\f>= nil",
	};
	static const char *const fine[] = {
	    "-- local x <close> = nil\nreturn function() end",
	    "--[[ local x <close> = nil ]] return function() end",
	    "--[==[ ]] local x <close> ]==] return function() end",
	    "local s = 'local x <close> = nil' return function() end",
	    "local s = \"local x <close> = \\\" nil\" return function() end",
	    "local s = [[local x <close> = nil]] return function() end",
	    "local close, a, b = 1, 2, 3 return function() return pcall(function() "
	    "return a <close> b end) and nil end",
	    "local close = 1 local x <const> = close return function() end",
	    "local t = {close = 1} t.close = 2 return function() end",
	    "local function close() end return function() end",
	    "local x = 'a\\\n local y <close> = nil' return function() end",
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		world_open(&w, SCRIPT_VERB);
		world_run(&w, refused[i]);
		if (!strstr(w.err.text, "to-be-closed variables are not part of hcp's Lua"))
			fail_msg("%s\n  %s", refused[i], w.err.text);
		world_close(&w);
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		world_open(&w, SCRIPT_VERB);
		world_run(&w, fine[i]);
		if (w.rc < 0)
			fail_msg("%s\n  %s", fine[i], w.err.text);
		world_close(&w);
	}
	assert_verb("\n\nlocal x <close> = nil", "! script: verbs/month.lua:3: to-be-closed "
						 "variables are not part of hcp's Lua");
}

static void test_text_only(void **state)
{
	static const char *const sources[] = {"\x1bLua", "\x1b",
					      "\x1bLuaT\0\x19\x93\r\n\x1a\n"};
	struct world w;
	char *large;

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		assert_verb(sources[i], "! script: verbs/month.lua: compiled Lua is refused");
	world_open(&w, SCRIPT_VERB);
	assert_string_equal(world_says(&w, "x = = 1"),
			    "! script: verbs/month.lua:1: unexpected symbol near '='");
	large = malloc((1 << 20) + 2);
	assert_non_null(large);
	memset(large, ' ', (1 << 20) + 1);
	large[(1 << 20) + 1] = '\0';
	assert_string_equal(world_says(&w, large),
			    "! script: verbs/month.lua: over 1048576 bytes");
	free(large);
	world_close(&w);
}

static void test_check_compiles(void **state)
{
	struct hcp_err err = {0};
	static const char good[] = "error('not run')", bad[] = "return +";

	(void)state;
	assert_int_equal(script_check(SCRIPT_VERB, "x.lua", good, strlen(good), &err), 0);
	assert_int_equal(script_check(SCRIPT_VERB, "x.lua", bad, strlen(bad), &err), -1);
	assert_string_equal(err.text, "script: x.lua:1: unexpected symbol near '+'");
}

/* ---- nothing stays ---- */

static void test_every_call_is_fresh(void **state)
{
	static const char *const leave[] = {
	    "x = 1 return function() return x end",
	    "string.x = 1 return function() return string.x end",
	    "math.x = 1 hcp.x = 1 cjson.null = 1 return function() return math.x end",
	    "require('m').x = 1 return function() return 1 end",
	    "cjson.empty_array[1] = 1 return function() return 1 end",
	    "string.find = nil pcall = nil return function() return 1 end",
	};
	static const char look[] =
	    "return function() return {rawget(_ENV, 'x') == nil, string.x == nil, math.x == "
	    "nil, "
	    "hcp.x == nil, cjson.null == hcp.null, require('m').x == nil, "
	    "#cjson.empty_array == 0, ('x'):find('x') == 1, pcall ~= nil} end";
	static const struct file files[] = {{"m.lua", "return {}", 0}, {NULL, NULL, 0}};
	struct script_pool *pool = script_pool_new();
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	w.files = files;
	w.call.pool = pool;
	for (size_t i = 0; i < sizeof(leave) / sizeof(leave[0]); i++) {
		assert_string_equal(world_says(&w, leave[i]), "1");
		assert_string_equal(world_says(&w, look),
				    "[true,true,true,true,true,true,true,true,true]");
	}
	world_close(&w);
	script_pool_free(pool);
}

/* ---- require ---- */

static const struct file modules[] = {
    {"lib/dates.lua", "return {name = ..., year = 2024}", 0},
    {"lib/init.lua", "return 'lib itself'", 0},
    {"counter.lua", "n = (rawget(_ENV, 'n') or 0) + 1 return {n}", 0},
    {"a.lua", "return require 'b'", 0},
    {"b.lua", "return require 'c'", 0},
    {"c.lua", "return require 'a'", 0},
    {"self.lua", "return require 'self'", 0},
    {"none.lua", "", 0},
    {"bad.lua", "return +", 0},
    {"raises.lua", "error('on loading')", 0},
    {"binary.lua", "\x1bLua", 0},
    {"closes.lua", "local x <close> = nil", 0},
    {"math.lua", "return 'not yours'", 0},
    {NULL, NULL, 0},
};

static void assert_module(const char *source, const char *expected)
{
	struct world w;

	world_open(&w, SCRIPT_VERB);
	w.files = modules;
	assert_string_equal(world_says(&w, source), expected);
	world_close(&w);
}

static void test_require(void **state)
{
	(void)state;
	assert_module("return function() return require('lib.dates').year end", "2024");
	assert_module("return function() return require 'lib' end", "\"lib itself\"");
	assert_module("return function() return require('counter') == require('counter') and n "
		      "end",
		      "1");
	assert_module("return function() return require 'none' end", "true");
	assert_module(
	    "return function() return require 'hcp' == hcp and require 'cjson' == cjson "
	    "and require 'math' == math end",
	    "true");
	assert_module("\nrequire 'lib.nothing'",
		      "! script: verbs/month.lua:2: module 'lib.nothing' not found: no "
		      "lib/nothing.lua, no lib/nothing/init.lua");
	assert_module("require 'a'", "! script: c.lua:1: module 'a' requires itself");
	assert_module("require 'self'", "! script: self.lua:1: module 'self' requires itself");
	assert_module("require 'bad'", "! script: bad.lua:1: unexpected symbol near '+'");
	assert_module("require 'raises'", "! script: raises.lua:1: on loading");
	assert_module("require 'binary'", "! script: binary.lua: compiled Lua is refused");
	assert_module("require 'closes'", "! script: closes.lua:1: to-be-closed variables are "
					  "not part of hcp's Lua");
}

static void test_require_bad_names(void **state)
{
	static const char *const names[] = {
	    "",      ".",    "..",         "...",    ".a",     "a.",        "a..b",
	    "../a",  "/etc", "a/b",        "a\\\\b", "a b",    "lib/dates", "a\\0b",
	    "a\\nb", "~",    "lib.dates.", "\\xff",  "%2e%2e", "a:b",       "C:a",
	};
	char source[200];
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(source, sizeof(source), "require '%s'", names[i]);
		world_open(&w, SCRIPT_VERB);
		w.files = modules;
		world_run(&w, source);
		if (!strstr(w.err.text, "bad module name"))
			fail_msg("%s: %s", names[i], w.err.text);
		world_close(&w);
	}
	assert_module(
	    "require(('a'):rep(129))",
	    "! script: verbs/month.lua:1: bad module name "
	    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_methods_of_strings_are_ours),
	    cmocka_unit_test(test_missing_globals_are_named),
	    cmocka_unit_test(test_no_addresses),
	    cmocka_unit_test(test_random_is_seeded),
	    cmocka_unit_test(test_no_closed_variables),
	    cmocka_unit_test(test_text_only),
	    cmocka_unit_test(test_check_compiles),
	    cmocka_unit_test(test_every_call_is_fresh),
	    cmocka_unit_test(test_require),
	    cmocka_unit_test(test_require_bad_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
