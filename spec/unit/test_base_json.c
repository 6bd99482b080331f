/* SPDX-License-Identifier: MIT */
/* The scanner accepts what jansson accepts, apart from what is written here, and copies
 * byte for byte; numbers print as JavaScript prints them. */
#include "base/json.h"
#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static enum json_verdict scan(const char *text, size_t len)
{
	struct json_scan s;

	return json_scan(text, len, LIMIT_STDOUT_DEPTH, NULL, &s);
}

static void numbers_pass_byte_for_byte(void **state)
{
	static const char *const texts[][2] = {
	    {"9007199254740993", "9007199254740993"},
	    {" 1.10\n", "1.10"},
	    {"[ ]", "[]"},
	    {"{ }", "{}"},
	    {"123456789012345678901234567890", "123456789012345678901234567890"},
	    {"{ \"a\" : [ 1 , 2.50 , { \"b\" : \"x y\" } ] , \"a\" : 1e999 }",
	     "{\"a\":[1,2.50,{\"b\":\"x y\"}],\"a\":1e999}"},
	    {"\"\\u00e9\\ud83d\\ude00\"", "\"\\u00e9\\ud83d\\ude00\""},
	    {"-0", "-0"},
	    {"true", "true"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		AUTO_BUF out = {0};
		struct json_scan s;

		assert_int_equal(json_scan(texts[i][0], strlen(texts[i][0]), 64, &out, &s),
				 JSON_GOOD);
		assert_string_equal(out.data, texts[i][1]);
	}
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *why;
		size_t at;
	} rows[] = {
	    {"", "it ends too early", 0},
	    {"  ", "it ends too early", 2},
	    {"{", "it ends too early", 1},
	    {"[1,]", "not a value", 3},
	    {"{\"a\":1,}", "expected a key in quotes", 7},
	    {"{\"a\" 1}", "expected ':'", 5},
	    {"[1 2]", "expected ',' or ']'", 3},
	    {"[1}", "expected ',' or ']'", 2},
	    {"1 2", "text behind the value", 2},
	    {"01", "a number with a leading zero", 1},
	    {"1.", "a number that isn't one", 2},
	    {"1e", "a number that isn't one", 2},
	    {"+1", "not a value", 0},
	    {"-", "a number that isn't one", 1},
	    {"NaN", "not a value", 0},
	    {"nul", "not a value", 0},
	    {"'a'", "not a value", 0},
	    {"\"a", "a string without its end", 2},
	    {"\"\t\"", "a control character in a string", 1},
	    {"\"\\x\"", "an escape that isn't one", 2},
	    {"\"\\u12g4\"", "\\u needs four hex digits", 2},
	    {"\"\\ud800\"", "half a surrogate pair", 7},
	    {"\"\\udc00\"", "half a surrogate pair", 7},
	    {"\"\\ud800\\u0041\"", "half a surrogate pair", 7},
	    {"\"\xff\"", "invalid UTF-8", 1},
	    {"\"\xc0\x80\"", "invalid UTF-8", 1},
	    {"\"\xed\xa0\x80\"", "invalid UTF-8", 1},
	    {"\xef\xbb\xbf{}", "not a value", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_scan s;

		assert_int_equal(json_scan(rows[i].text, strlen(rows[i].text), 64, NULL, &s),
				 JSON_BAD);
		assert_string_equal(s.why, rows[i].why);
		assert_int_equal(s.at, rows[i].at);
	}
	assert_int_equal(scan("{}\0", 3), JSON_BAD);
}

static void depth_ends_where_it_is_told(void **state)
{
	char text[4096];

	(void)state;
	for (unsigned depth = 1; depth <= 65; depth++) {
		struct json_scan s;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(json_scan(text, 2 * (size_t)depth, 64, NULL, &s),
				 depth <= 64 ? JSON_GOOD : JSON_BAD);
	}
	memset(text, '[', sizeof(text));
	assert_int_equal(scan(text, sizeof(text)), JSON_BAD);
}

/* Texts grown from a fixed seed out of pieces that go wrong. */
static size_t grow(uint32_t *seed, char *out, size_t size)
{
	static const char *const pieces[] = {
	    "{",           "}",
	    "[",           "]",
	    ",",           ":",
	    "\"a\"",       "\"\\u0041\"",
	    "0",           "-1",
	    "1.5",         "1e3",
	    "true",        "false",
	    "null",        " ",
	    "\n",          "\"",
	    "-",           "1.",
	    "01",          "\\",
	    "\x01",        "\xc3\xa9",
	    "\xff",        "\"b\":",
	    "\"c\":1",     "{}",
	    "[1]",         "[]",
	    "\"\\n\"",     "E",
	    "tru",         "\"\\ud83d\\ude00\"",
	    "\"\\ud83d\"",
	};
	size_t len = 0, count = 1 + *seed % 7;

	for (size_t i = 0; i < count; i++) {
		const char *p;

		*seed = *seed * 1664525u + 1013904223u;
		p = pieces[(*seed >> 8) % (sizeof(pieces) / sizeof(pieces[0]))];
		if (len + strlen(p) >= size)
			break;
		memcpy(out + len, p, strlen(p));
		len += strlen(p);
	}
	return len;
}

static void agrees_with_jansson_on_a_generated_set(void **state)
{
	uint32_t seed = 1;
	unsigned good = 0;

	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		char text[128];
		size_t len = grow(&seed, text, sizeof(text));
		json_error_t why;
		json_t *v = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
		bool mine = scan(text, len) == JSON_GOOD;

		/* a number of more digits than a value holds is JSON all the same */
		if (!v && json_error_code(&why) == json_error_numeric_overflow)
			continue;
		if (mine != (v != NULL))
			fail_msg("%.*s: %s", (int)len, text, v ? "jansson takes it" : why.text);
		good += mine;
		json_decref(v);
	}
	assert_true(good > 3000);
}

/* The differences: numbers beyond what a value can hold. */
static void differs_from_jansson_where_a_value_could_not_hold_it(void **state)
{
	json_error_t why;

	(void)state;
	assert_int_equal(scan("1e999", 5), JSON_GOOD);
	assert_null(json_loads("1e999", JSON_DECODE_ANY, &why));
	assert_int_equal(scan("9223372036854775808", 19), JSON_GOOD);
	assert_null(json_loads("9223372036854775808", JSON_DECODE_ANY, &why));
}

static void strings_are_written_safe_for_lines_and_logs(void **state)
{
	AUTO_BUF out = {0};

	(void)state;
	json_add_string(&out, "a\"\\\n\x01\x7f\xe2\x80\xa8\xff\xc3\xa9\0z", 14);
	assert_string_equal(
	    out.data, "\"a\\\"\\\\\\n\\u0001\\u007f\\u2028\xef\xbf\xbd\xc3\xa9\\u0000z\"");
	assert_int_equal(scan(out.data, out.len), JSON_GOOD);
}

static void reals_print_as_javascript_prints_them(void **state)
{
	static const struct {
		double value;
		const char *js, *json;
	} rows[] = {
	    {0.0, "0", "0.0"},
	    {-0.0, "0", "-0.0"},
	    {0.1, "0.1", "0.1"},
	    {1000, "1000", "1000.0"},
	    {1.5, "1.5", "1.5"},
	    {-2.5, "-2.5", "-2.5"},
	    {1e21, "1e+21", "1e+21"},
	    {1e20, "100000000000000000000", "100000000000000000000.0"},
	    {123456789012345680000.0, "123456789012345680000", "123456789012345680000.0"},
	    {1e-6, "0.000001", "0.000001"},
	    {1e-7, "1e-7", "1e-7"},
	    {1.25e-7, "1.25e-7", "1.25e-7"},
	    {5e-324, "5e-324", "5e-324"},
	    {1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308"},
	    {-1.7976931348623157e308, "-1.7976931348623157e+308", "-1.7976931348623157e+308"},
	    {-2.2250738585072014e-308, "-2.2250738585072014e-308", "-2.2250738585072014e-308"},
	    {0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"},
	    {100.0 / 3, "33.333333333333336", "33.333333333333336"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char out[40];

		json_format_js(rows[i].value, out);
		assert_string_equal(out, rows[i].js);
		json_format_real(rows[i].value, out);
		assert_string_equal(out, rows[i].json);
	}
}

static void parse_refuses_what_could_be_read_two_ways(void **state)
{
	static const char *const bad[] = {"{\"a\":1,\"a\":2}", "1e999", "9223372036854775808",
					  "{\"a\\u0000\":1}", "[1"};
	struct hcp_err err = {0};
	json_t *v;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hcp_err e = {0};

		assert_null(json_parse(bad[i], strlen(bad[i]), 64, &e));
		assert_int_equal(e.code, HCP_E_INVALID);
		assert_non_null(strstr(e.text, " at byte "));
	}
	v = json_parse("{\"a\":\"x\\u0000y\"}", 16, 64, &err);
	assert_non_null(v);
	assert_int_equal(json_string_length(json_object_get(v, "a")), 3);
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_pass_byte_for_byte),
	    cmocka_unit_test(what_is_no_json_is_refused_with_its_place),
	    cmocka_unit_test(depth_ends_where_it_is_told),
	    cmocka_unit_test(agrees_with_jansson_on_a_generated_set),
	    cmocka_unit_test(differs_from_jansson_where_a_value_could_not_hold_it),
	    cmocka_unit_test(strings_are_written_safe_for_lines_and_logs),
	    cmocka_unit_test(reals_print_as_javascript_prints_them),
	    cmocka_unit_test(parse_refuses_what_could_be_read_two_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
