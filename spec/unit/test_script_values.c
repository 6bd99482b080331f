/* SPDX-License-Identifier: MIT */
/* Values on their way into a script and out of it: exact, in order, or an error with its path.
 */
#include "script_world.h"

/* args in, the script's own text of them out */
static void assert_passes(const char *in, const char *source, const char *out)
{
	struct world w;

	world_open(&w, SCRIPT_VERB);
	w.call.args[0] = world_json(&w, in);
	assert_string_equal(world_says(&w, source), out);
	world_close(&w);
}

static void test_untouched(void **state)
{
	static const char *const same[] = {
	    "{\"zeta\":1,\"alpha\":2,\"mid\":{\"b\":[],\"a\":{}}}",
	    "{\"a\":9007199254740993,\"b\":9223372036854775807,\"c\":-9223372036854775808}",
	    "{\"a\":0.1,\"b\":1e+300,\"c\":2.5,\"d\":-0.0}",
	    "{\"a\":[],\"b\":{},\"c\":[[],{},[[]]]}",
	    "{\"a\":null,\"b\":[null,null],\"c\":true,\"d\":false}",
	    "{\"\":\"\",\"a b\":\"\\u0000x\",\"\xc3\xa9\":\"\xf0\x9f\x98\x80\"}",
	    "{\"1\":\"a key of digits stays text\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		assert_passes(same[i], "return function(args) return args end", same[i]);
		assert_passes(
		    same[i],
		    "return function(args) return cjson.decode(cjson.encode(args)) end",
		    same[i]);
	}
}

static void test_order_of_keys(void **state)
{
	(void)state;
	assert_passes("{\"z\":1,\"y\":2,\"x\":3}",
		      "return function(a) a.y = nil a.b = 1 a.a = 2 return a end",
		      "{\"z\":1,\"x\":3,\"a\":2,\"b\":1}");
	assert_passes("{\"z\":1,\"y\":2}", "return function(a) a.z = nil a.z = 5 return a end",
		      "{\"z\":5,\"y\":2}");
	assert_verb("return function() return {b=1, a=2, [\"a a\"]=3, c={z=1, y=2}} end",
		    "{\"a\":2,\"a a\":3,\"b\":1,\"c\":{\"y\":2,\"z\":1}}");
}

static void test_numbers(void **state)
{
	(void)state;
	assert_verb("return function() return {1, 1.0, 1e15, 1e16, 2^53, 1/3, -0.0} end",
		    "[1,1.0,1000000000000000.0,10000000000000000.0,9007199254740992.0,0."
		    "3333333333333333,-0.0]");
	assert_verb("return function() return math.mininteger end", "-9223372036854775808");
	assert_verb("return function() return math.type(cjson.decode('10')) end",
		    "\"integer\"");
	assert_verb("return function() return math.type(cjson.decode('10.0')) end",
		    "\"float\"");
	assert_verb("return function() return cjson.decode('[1.5e3,-0,1E2]') end",
		    "[1500.0,0,100.0]");
}

/* JSON in, the Lua value that it must be, JSON out. */
static void test_numbers_both_ways(void **state)
{
	static const char *const rows[][3] = {
	    {"9223372036854775807", "math.maxinteger", "9223372036854775807"},
	    {"-9223372036854775808", "math.mininteger", "-9223372036854775808"},
	    {"9223372036854775806", "math.maxinteger - 1", "9223372036854775806"},
	    {"9007199254740993", "9007199254740993", "9007199254740993"},
	    {"-9007199254740993", "-9007199254740993", "-9007199254740993"},
	    {"123456789012345", "123456789012345", "123456789012345"},
	    {"0", "0", "0"},
	    {"-0", "0", "0"},
	    {"0.0", "0.0", "0.0"},
	    {"-0.0", "-0.0", "-0.0"},
	    {"1.0", "1.0", "1.0"},
	    {"1.10", "1.1", "1.1"},
	    {"1E2", "100.0", "100.0"},
	    {"0.1", "0.1", "0.1"},
	    {"0.30000000000000004", "0.1 + 0.2", "0.30000000000000004"},
	    {"5e-324", "0x1p-1074", "5e-324"},
	    {"2.2250738585072014e-308", "0x1p-1022", "2.2250738585072014e-308"},
	    {"1.7976931348623157e308", "0x1.fffffffffffffp1023", "1.7976931348623157e+308"},
	    {"9223372036854775808.0", "0x1p63", "9223372036854776000.0"},
	    {"1e21", "1e21", "1e+21"},
	    {"123456789.125", "123456789.125", "123456789.125"},
	};
	char in[64], source[300], out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(in, sizeof(in), "{\"n\":%s}", rows[i][0]);
		snprintf(source, sizeof(source),
			 "return function(a) local n, want = a.n, %s\n"
			 "if math.type(n) ~= math.type(want) or n ~= want or\n"
			 "  string.format('%%q', n) ~= string.format('%%q', want) then\n"
			 "  return 'not ' .. n end\n"
			 "assert(cjson.encode(want) == cjson.encode(n))\n"
			 "return cjson.decode(cjson.encode(n)) end",
			 rows[i][1]);
		snprintf(out, sizeof(out), "%s", rows[i][2]);
		assert_passes(in, source, out);
	}
}

static void test_arrays(void **state)
{
	(void)state;
	assert_verb("return function() return {} end", "{}");
	assert_verb("return function() return hcp.array() end", "[]");
	assert_verb("return function() return hcp.array({}) end", "[]");
	assert_verb("return function() return cjson.empty_array end", "[]");
	assert_verb("return function() return hcp.object() end", "{}");
	assert_verb("return function() local t = hcp.array() t[1] = 5 return t end", "[5]");
	assert_passes("{\"a\":[1]}", "return function(a) table.remove(a.a) return a end",
		      "{\"a\":[]}");
	assert_verb("return function() end", "null");
	assert_verb("return function() return hcp.null end", "null");
	assert_verb("return function() return cjson.null == hcp.null end", "true");
	assert_verb("return function() return {x = nil, y = hcp.null} end", "{\"y\":null}");
}

static void test_errors_name_the_path(void **state)
{
	static const char *const rows[][2] = {
	    {"{items={1,2,nil,4}}", "result.items[3]: nil in an array"},
	    {"{1, x=2}", "result: key \"x\" in an array"},
	    {"{[3]=1}", "result: key 3 in an object"},
	    {"{a={[1.5]=1}}", "result.a: a number as a key"},
	    {"{[true]=1}", "result: a boolean as a key"},
	    {"{1,[1.5]=2}", "result: a number as a key in an array"},
	    {"{a={b={print}}}", "result.a.b[1]: a function is no JSON value"},
	    {"0/0", "result: not a number"},
	    {"{x={1/0}}", "result.x[1]: infinite"},
	    {"{['a b']={-1/0}}", "result[\"a b\"][1]: infinite"},
	    {"{'\\xff'}", "result[1]: not UTF-8"},
	    {"{['\\xff']=1}", "result[\"\xff\"]: not UTF-8"},
	    {"{['a\\0b']=1}", "result[\"a?b\"]: NUL in a key"},
	    {"hcp.object({1})", "result: key 1 in an object"},
	    {"hcp.array({a=1})", "result: key \"a\" in an array"},
	    {"(function() local t = {} t.t = {t} return t end)()", "result.t[1]: a cycle"},
	    {"(function() local t = {} t[1] = t return {x=t} end)()", "result.x[1]: a cycle"},
	    {"(function() local t = {} for i = 1, 65 do t = {t} end return t end)()", NULL},
	};
	char source[300], expected[200];
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(source, sizeof(source), "return function() return %s end", rows[i][0]);
		world_open(&w, SCRIPT_VERB);
		world_run(&w, source);
		assert_int_equal(w.rc, -1);
		assert_int_equal(w.err.code, HCP_E_INVALID);
		snprintf(expected, sizeof(expected), "script: %s", rows[i][1]);
		if (rows[i][1])
			assert_string_equal(w.err.text, expected);
		else
			assert_non_null(strstr(w.err.text, "nested over 64 levels"));
		world_close(&w);
	}
	assert_verb("return function()\n  cjson.encode({a = print}) end",
		    "! script: verbs/month.lua:2: value.a: a function is no JSON value");
}

static void test_depth(void **state)
{
	(void)state;
	assert_verb("return function() local t = {} for i = 1, 63 do t = {t} end "
		    "return #cjson.encode(t) end",
		    "128");
	assert_verb("return function() return pcall(cjson.decode, ('['):rep(64)..(']'):rep(64))"
		    " end",
		    "true");
	assert_verb("return function() return pcall(cjson.decode, ('['):rep(65)..(']'):rep(65))"
		    " end",
		    "false");
	assert_verb("return function() return pcall(cjson.decode, ('['):rep(1000000)) end",
		    "false");
}

static void test_the_same_table_twice_is_no_cycle(void **state)
{
	(void)state;
	assert_verb("return function() local t = {1} return {a=t, b=t, c={t}} end",
		    "{\"a\":[1],\"b\":[1],\"c\":[[1]]}");
}

static void test_bad_json(void **state)
{
	static const char *const bad[] = {
	    "",
	    " ",
	    "{",
	    "}",
	    "[1,]",
	    "{\"a\":1,}",
	    "{a:1}",
	    "01",
	    "1.",
	    ".5",
	    "+1",
	    "1e",
	    "--1",
	    "NaN",
	    "nul",
	    "tru",
	    "\"",
	    "\"\\x\"",
	    "\"\\u12\"",
	    "\"\\ud800\"",
	    "[1 2]",
	    "1 2",
	    "'a'",
	    "\"\t\"",
	    "[",
	    "{\"a\"}",
	    "\"\\udc00\"",
	    "// x",
	    "[1]x",
	    "\xef\xbb\xbf{}",
	    "\"\xff\"",
	    "{\"a\":1,\"a\":2}",
	    "{\"\\u0000\":1}",
	    "9223372036854775808",
	    "-9223372036854775809",
	    "1e999",
	    "[1,2",
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		world_open(&w, SCRIPT_VERB);
		w.owned[w.owned_count++] = json_string_nocheck(bad[i]);
		w.call.args[0] = w.owned[0];
		assert_string_equal(world_says(&w, "return function(a)\n"
						   "local ok, e = pcall(cjson.decode, a)\n"
						   "return {ok, type(e)} end"),
				    "[false,\"string\"]");
		world_close(&w);
	}
	assert_verb("cjson.decode('{\"a\":[0,18446744073709551616]}')",
		    "! script: verbs/month.lua:1: value.a[2]: 18446744073709551616 is beyond "
		    "64 bits");
	assert_verb("cjson.decode('[1,2,}')",
		    "! script: verbs/month.lua:1: value: not JSON: unexpected character at "
		    "byte 5");
}

static void test_strings(void **state)
{
	(void)state;
	assert_verb(
	    "return function() return cjson.decode([[\"\\u00e9\\ud83d\\ude00\\n\\/\"]]) "
	    "end",
	    "\"\xc3\xa9\xf0\x9f\x98\x80\\n/\"");
	assert_verb("return function() return #cjson.decode([[\"a\\u0000b\"]]) end", "3");
	assert_verb("return function() return '\\1\\127\\\"' end", "\"\\u0001\\u007f\\\"\"");
}

static void test_result_limit(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	w.call.limits.result = 1024;
	assert_string_equal(world_says(&w, "return function() return ('x'):rep(2000) end"),
			    "! script: result: over 1K");
	world_run(&w, "return function() return ('x'):rep(1022) end");
	assert_int_equal(w.rc, 0);
	assert_string_equal(
	    world_says(&w, "return function() local t = {} for i=1,2000 do t[i]=1 end "
			   "return t end"),
	    "! script: result: over 1K");
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_untouched),
	    cmocka_unit_test(test_order_of_keys),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_numbers_both_ways),
	    cmocka_unit_test(test_arrays),
	    cmocka_unit_test(test_errors_name_the_path),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_the_same_table_twice_is_no_cycle),
	    cmocka_unit_test(test_bad_json),
	    cmocka_unit_test(test_strings),
	    cmocka_unit_test(test_result_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
