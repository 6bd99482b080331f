/* SPDX-License-Identifier: MIT */
/* Values become text as JavaScript writes them, each in its own element and never read again;
 * what could pass for an option, or has no text, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argv_call.h"

#include <stdlib.h>

struct row {
	const char *yaml, *json, *want;
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void expect_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_CALL c = {0};

		call_expect(&c, rows[i].yaml, rows[i].json, rows[i].want);
	}
}

static void refuse_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_CALL c = {0};

		call_refuse(&c, rows[i].yaml, rows[i].json, rows[i].want);
	}
}

static void values_as_javascript_writes_them(void **state)
{
	static const struct row rows[] = {
	    {"[\"{{a}}\"]", "{\"a\":\"x\"}", "[x]"},
	    {"[\"{{a}}\"]", "{\"a\":10}", "[10]"},
	    {"[\"{{a}}\"]", "{\"a\":1.5}", "[1.5]"},
	    {"[\"{{a}}\"]", "{\"a\":1.0}", "[1]"},
	    {"[\"{{a}}\"]", "{\"a\":0.1}", "[0.1]"},
	    {"[\"{{a}}\"]", "{\"a\":1e21}", "[1e+21]"},
	    {"[\"{{a}}\"]", "{\"a\":1e20}", "[100000000000000000000]"},
	    {"[\"{{a}}\"]", "{\"a\":1e-7}", "[1e-7]"},
	    {"[\"{{a}}\"]", "{\"a\":-0}", "[0]"},
	    {"[\"{{a}}\"]", "{\"a\":-0.0}", "[0]"},
	    {"[\"{{a}}\"]", "{\"a\":0}", "[0]"},
	    {"[\"{{a}}\"]", "{\"a\":9007199254740993}", "[9007199254740993]"},
	    {"[\"{{a}}\"]", "{\"a\":9223372036854775807}", "[9223372036854775807]"},
	    {"[\"{{a}}\"]", "{\"a\":-9223372036854775808}", "[-9223372036854775808]"},
	    {"[\"{{a}}\"]", "{\"a\":true}", "[true]"},
	    {"[\"{{a}}\"]", "{\"a\":false}", "[false]"},
	    {"[\"{{a}}\", b]", "{\"a\":null}", "[b]"},
	    {"[\"{{a}}\", b]", "{}", "[b]"},
	    {"[\"{{a}}\", b]", "{\"a\":\"\"}", "[b]"},
	    {"[\"{{a}}\"]", "{\"a\":[1,\"x\",true,null,2.0]}", "[1,x,true,,2]"},
	    {"[\"{{a}}\"]", "{\"a\":[1,[2,[3,\"b c\"]],[]]}", "[1,2,3,b c,]"},
	    {"[\"{{a}}\", b]", "{\"a\":[]}", "[b]"},
	    {"[\"{{a}}\", b]", "{\"a\":[null]}", "[b]"},
	    {"[\"x{{a}}y{{ b }}z\"]", "{\"a\":1,\"b\":\"-\"}", "[x1y-z]"},
	    {"[\"{{a}}{{a}}\"]", "{\"a\":\"k\"}", "[kk]"},
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void one_value_stays_one_element(void **state)
{
	static const struct row rows[] = {
	    {"[\"{{a}}\"]", "{\"a\":\"a b  c\"}", "[a b  c]"},
	    {"[\"{{a}}\"]", "{\"a\":\"$(touch x)`id`\"}", "[$(touch x)`id`]"},
	    {"[\"{{a}}\"]", "{\"a\":\"a\\\"b'c\\\\d\"}", "[a\"b'c\\d]"},
	    {"[\"{{a}}\"]", "{\"a\":\"x;y|z&w>v\\n*?~\"}", "[x;y|z&w>v\n*?~]"},
	    {"[\"{{a}}\"]", "{\"a\":\"\\u00e9\\ud83d\\ude00\"}", "[\xc3\xa9\xf0\x9f\x98\x80]"},
	    {"[\"{{a}}\"]", "{\"a\":\" \"}", "[ ]"},
	    {"[\"{{a}}\"]", "{\"a\":\"{{b}}\",\"b\":\"no\"}", "[{{b}}]"},
	    {"[\"{{a}}{{b}}\"]", "{\"a\":\"{{\",\"b\":\"a}}\"}", "[{{a}}]"},
	    {"[\"--x={{a}}\"]", "{\"a\":\"{{verb}} {{a}}\"}", "[--x={{verb}} {{a}}]"},
	    {"[\"{ {a}}\", \"}}{\"]", "{\"a\":1}", "[{ {a}}][}}{]"},
	    {"[\"--x={{a}}\"]", "{\"a\":\"-y --z\"}", "[--x=-y --z]"},
	    {"[\"--x={{a}}\"]", "{\"a\":\"=\"}", "[--x==]"},
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void empty_tokens_are_removed(void **state)
{
	static const struct row rows[] = {
	    {"[a, \"\", b]", "{}", "[a][b]"},
	    {"[\"{{a}}{{b}}\", c]", "{\"b\":null}", "[c]"},
	    {"[\"--flag={{a}}\", c]", "{}", "[c]"},
	    {"[\"--flag={{a}}\", c]", "{\"a\":\"\"}", "[c]"},
	    {"[\"-f={{a}}\", c]", "{\"a\":[]}", "[c]"},
	    {"[\"--flag={{a}}\"]", "{\"a\":0}", "[--flag=0]"},
	    {"[\"--flag={{a}}\"]", "{\"a\":false}", "[--flag=false]"},
	    {"[\"--flag=\"]", "{}", "[--flag=]"},
	    {"[\"--flag={{a}}{{b}}\"]", "{}", "[--flag=]"},
	    {"[\"--flag=x{{a}}\"]", "{}", "[--flag=x]"},
	    {"[\"key={{a}}\"]", "{}", "[key=]"},
	    {"[\"{{a}}\"]", "{}", ""},
	    {"[]", "{}", ""},
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

static void the_verb_is_its_words(void **state)
{
	static const struct {
		const char *verb, *want;
	} rows[] = {
	    {"a", "[a][t]"},
	    {"a b", "[a][b][t]"},
	    {"a.b c", "[b][c][t]"},
	    {"a.b.c", "[b.c][t]"},
	    {"a b.c", "[c][t]"},
	    {"a-b_c", "[a-b_c][t]"},
	    {"a.b \t c ", "[b][c][t]"},
	    {"*", "[*][t]"},
	    {"a.", "[t]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		AUTO_CALL c = {.verb = rows[i].verb};

		call_expect(&c, "[\"{{ verb }}\", t]", "{\"verb\":\"no\"}", rows[i].want);
	}
}

static void the_default_template_is_the_verb(void **state)
{
	AUTO_CALL c = {0};
	const struct conf_ctx ctx = {&c.arena, "pack.yaml"};
	const struct argv_command cmd = {.verb_key = "x.report month"};

	(void)state;
	assert_int_equal(argv_compile_default(&ctx, &cmd, &c.t, &c.err), 0);
	assert_int_equal(call_render(&c, "{\"month\":1}"), 0);
	assert_string_equal(call_text(&c), "[report][month][--json]");
	assert_int_equal(c.argc, 4);
}

static void a_cli_drops_its_first_token(void **state)
{
	AUTO_CALL c = {.is_cli = true};

	(void)state;
	call_expect(&c, "[ledger, transfer, \"--from={{from}}\", \"{{verb}}\"]",
		    "{\"from\":\"cash\",\"verb\":\"mine\"}", "[transfer][--from=cash][mine]");
	call_expect(&c, "[ledger]", "{}", "");
}

static void the_json_flag_stands_last(void **state)
{
	static const char *two[] = {"--format", "json"};
	AUTO_CALL c = {0};

	(void)state;
	assert_int_equal(call_compile(&c, "[a, \"{{b}}\"]"), 0);
	assert_int_equal(call_render(&c, "{}"), 0);
	assert_string_equal(call_text(&c), "[a][--json]");
	c.json = (struct conf_strings){.count = 2, .items = two, .given = true};
	assert_int_equal(call_render(&c, "{\"b\":\"--\\u006a\"}"), -1);
	assert_int_equal(call_render(&c, "{\"b\":\"c\"}"), 0);
	assert_string_equal(call_text(&c), "[a][c][--format][json]");
	c.json.count = 0;
	assert_int_equal(call_render(&c, "{}"), 0);
	assert_string_equal(call_text(&c), "[a]");
	assert_int_equal(c.argc, 2);
}

static void what_has_no_text_is_refused(void **state)
{
	static const struct row rows[] = {
	    {"[\"{{a}}\"]", "{\"a\":{}}", "invalid args: a: an object can't be an argument"},
	    {"[\"--x={{a}}\"]", "{\"a\":[1,{\"b\":2}]}",
	     "invalid args: a: an object can't be an argument"},
	    {"[{each: a, then: [\"{{a}}\"]}]", "{\"a\":[{}]}",
	     "invalid args: a: an object can't be an argument"},
	    {"[\"{{a}}\"]", "{\"a\":\"x\\u0000y\"}", "invalid args: a: holds a NUL byte"},
	    {"[\"{{a}}\"]", "{\"a\":[\"\\u0000\"]}", "invalid args: a: holds a NUL byte"},
	    {"[\"--x={{ a }}\"]", "{\"a\":\"\\u0000\"}", "invalid args: a: holds a NUL byte"},
	};

	(void)state;
	refuse_rows(rows, COUNT(rows));
}

static void an_option_can_t_be_smuggled_in(void **state)
{
	static const struct row bad[] = {
	    {"[\"{{a}}\"]", "{\"a\":\"-x\"}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}\"]", "{\"a\":\"-\"}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}\"]", "{\"a\":\"--\"}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}\"]", "{\"a\":\"-1\"}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}\"]", "{\"a\":[\"-x\"]}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}\"]", "{\"a\":[-1,2]}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}=1\"]", "{\"a\":\"-x\"}", "invalid args: a: may not start with \"-\""},
	    {"[\"{{a}}{{b}}\"]", "{\"a\":\"\",\"b\":\"-x\"}",
	     "invalid args: b: may not start with \"-\""},
	    {"[{each: a, then: [\"{{a}}\"]}]", "{\"a\":[\"x\",\"-x\"]}",
	     "invalid args: a: may not start with \"-\""},
	    {"[{when: a, then: [\"{{a}}\"]}]", "{\"a\":\"-x\"}",
	     "invalid args: a: may not start with \"-\""},
	};
	static const struct row good[] = {
	    {"[\"{{a}}\"]", "{\"a\":-1}", "[-1]"},
	    {"[\"{{a}}\"]", "{\"a\":-1.5}", "[-1.5]"},
	    {"[{each: a, then: [\"{{a}}\"]}]", "{\"a\":[-1]}", "[-1]"},
	    {"[\"-{{a}}\"]", "{\"a\":\"-x\"}", "[--x]"},
	    {"[\"{{a}}-x\"]", "{}", "[-x]"},
	    {"[\"{{a}}\"]", "{\"a\":\" -x\"}", "[ -x]"},
	    {"[\"{{a}}\"]", "{\"a\":\"\\u2212x\"}", "[\xe2\x88\x92x]"},
	    {"[\"{{a}}\"]", "{\"a\":\"@x\"}", "[@x]"},
	};

	(void)state;
	refuse_rows(bad, COUNT(bad));
	expect_rows(good, COUNT(good));
}

static void deny_prefix_is_the_pack_s(void **state)
{
	static const char *items[] = {"@", "ext::"};
	AUTO_CALL c = {.deny = {.count = 2, .items = items, .given = true}};

	(void)state;
	call_refuse(&c, "[\"{{a}}\"]", "{\"a\":\"@file\"}",
		    "invalid args: a: may not start with \"@\"");
	call_refuse(&c, "[\"{{a}}{{b}}\"]", "{\"a\":\"ext:\",\"b\":\":sh\"}",
		    "invalid args: a: may not start with \"ext::\"");
	call_expect(&c, "[\"{{a}}\", \"@{{a}}\"]", "{\"a\":\"-x\"}", "[-x][@-x]");
	call_expect(&c, "[\"{{a}}\"]", "{\"a\":\"ext:\"}", "[ext:]");
	c.deny.count = 0;
	call_expect(&c, "[\"{{a}}\"]", "{\"a\":\"@x\"}", "[@x]");
}

static void when_and_each(void **state)
{
	static const char when[] = "[{when: a, then: [--a, \"{{a}}\", \"{{b}}\"]}, z]";
	static const char each[] = "[{each: a, then: [\"--a={{a}}\", \"{{b}}\"]}, \"{{a}}\"]";
	static const struct row rows[] = {
	    {when, "{}", "[z]"},
	    {when, "{\"a\":null,\"b\":1}", "[z]"},
	    {when, "{\"a\":false}", "[z]"},
	    {when, "{\"a\":\"\"}", "[z]"},
	    {when, "{\"a\":[]}", "[z]"},
	    {when, "{\"a\":true}", "[--a][true][z]"},
	    {when, "{\"a\":0}", "[--a][0][z]"},
	    {when, "{\"a\":0.0,\"b\":\"c\"}", "[--a][0][c][z]"},
	    {when, "{\"a\":[null]}", "[--a][z]"},
	    {"[{when: a, then: [--dry-run]}]", "{\"a\":{\"k\":1}}", "[--dry-run]"},
	    {"[{when: a, then: [--dry-run]}]", "{\"a\":{}}", ""},
	    {each, "{}", ""},
	    {each, "{\"a\":null}", ""},
	    {each, "{\"a\":[]}", ""},
	    {each, "{\"a\":[1,\"x y\",true]}", "[--a=1][--a=x y][--a=true][1,x y,true]"},
	    {each, "{\"a\":[\"\",null,2],\"b\":\"c\"}", "[c][c][--a=2][c][,,2]"},
	    {each, "{\"a\":\"one\"}", "[--a=one][one]"},
	    {each, "{\"a\":false}", "[--a=false][false]"},
	    {each, "{\"a\":[[1,2],[3]]}", "[--a=1,2][--a=3][1,2,3]"},
	    {each, "{\"a\":[\"{{b}}\"],\"b\":\"c\"}", "[--a={{b}}][c][{{b}}]"},
	};

	(void)state;
	expect_rows(rows, COUNT(rows));
}

/* {"a": <open><n times `fill`><close>} */
static char *large(const char *open, const char *fill, size_t n, const char *close)
{
	AUTO_BUF b = {0};
	char *text;

	buf_printf(&b, "{\"a\":%s", open);
	for (size_t i = 0; i < n; i++)
		buf_puts(&b, fill);
	buf_printf(&b, "%s}", close);
	assert_false(b.failed);
	text = strdup(b.data);
	assert_non_null(text);
	return text;
}

static void more_than_the_kernel_takes_is_refused(void **state)
{
	static const char token[] = "[\"{{a}}\"]";
	static const char each[] = "[{each: a, then: [\"{{a}}\"]}]";
	static const char none[] = "[{each: a, then: [\"{{b}}\", \"{{b}}\"]}]";
	static const struct {
		const char *yaml, *open, *fill;
		size_t count;
		const char *close;
		size_t argc; /* 0: too long */
	} rows[] = {
	    {token, "\"", "x", LIMIT_ARGV_TOKEN, "\"", 3},
	    {token, "\"", "x", LIMIT_ARGV_TOKEN + 1, "\"", 0},
	    {each, "[", "1,", 65534, "1]", 65537},
	    {each, "[", "1,", 65535, "1]", 0},
	    {none, "[", "1,", 32767, "1]", 2},
	    {none, "[", "1,", 32768, "1]", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		AUTO_CALL c = {0};
		char *json = large(rows[i].open, rows[i].fill, rows[i].count, rows[i].close);

		if (rows[i].argc) {
			assert_int_equal(call_compile(&c, rows[i].yaml), 0);
			assert_int_equal(call_render(&c, json), 0);
			assert_int_equal(c.argc, rows[i].argc);
		} else {
			call_refuse(&c, rows[i].yaml, json, "invalid args: too long");
		}
		free(json);
	}
}

static void all_bytes_together_have_a_limit(void **state)
{
	static const char seven[] = "[\"{{a}}\", \"{{a}}\", \"{{a}}\", \"{{a}}\", \"{{a}}\", "
				    "\"{{a}}\", \"{{a}}\", \"{{a}}\"]";
	AUTO_CALL c = {0};
	char *json = large("\"", "x", LIMIT_ARGV_TOKEN, "\"");
	char twice[600];

	(void)state;
	assert_int_equal(call_compile(&c, seven), 0);
	assert_int_equal(call_render(&c, json), 0);
	assert_int_equal(c.argc, 10);
	/* 16 * 128 KiB are two megabytes: no room for --json */
	snprintf(twice, sizeof(twice), "%.*s, %s", (int)strlen(seven) - 1, seven, seven + 1);
	call_refuse(&c, twice, json, "invalid args: too long");
	c.json.given = true;
	assert_int_equal(call_render(&c, json), 0);
	assert_int_equal(c.argc, 17);
	free(json);
}

static void a_string_of_its_own(void **state)
{
	struct arena a = {0};
	struct hcp_err err = {0};
	const char *out;
	json_t *v = json_pack("[i,[f,b],n]", 1, 0.5, 1);

	(void)state;
	assert_int_equal(argv_string(v, "v", &a, &out, &err), 0);
	assert_string_equal(out, "1,0.5,true,");
	assert_int_equal(argv_string(NULL, "v", &a, &out, &err), 0);
	assert_string_equal(out, "");
	json_array_append_new(v, json_object());
	assert_int_equal(argv_string(v, "v", &a, &out, &err), -1);
	assert_null(out);
	assert_int_equal(err.code, HCP_E_INVALID);
	assert_string_equal(err.text, "invalid args: v: an object can't be an argument");
	json_decref(v);
	arena_free(&a);
}

static void a_list_has_a_depth(void **state)
{
	struct arena a = {0};
	const char *out;

	(void)state;
	for (unsigned depth = 64; depth <= 65; depth++) {
		struct hcp_err err = {0};
		json_t *v = json_integer(7);

		for (unsigned i = 0; i < depth; i++)
			v = json_pack("[o]", v);
		assert_int_equal(argv_string(v, "v", &a, &out, &err), depth == 64 ? 0 : -1);
		assert_string_equal(depth == 64 ? out : err.text,
				    depth == 64 ? "7" : "invalid args: v: nested too deeply");
		json_decref(v);
	}
	arena_free(&a);
}

/* One template, two calls: nothing of the first is in the second. */
static void a_template_keeps_nothing(void **state)
{
	AUTO_CALL c = {0};

	(void)state;
	call_expect(&c, "[{each: a, then: [\"{{a}}\"]}, \"{{b}}\"]",
		    "{\"a\":[1,2],\"b\":\"x\"}", "[1][2][x]");
	assert_int_equal(call_render(&c, "{\"a\":\"-\"}"), -1);
	assert_int_equal(call_render(&c, "{\"a\":[3]}"), 0);
	assert_string_equal(call_text(&c), "[3]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values_as_javascript_writes_them),
	    cmocka_unit_test(one_value_stays_one_element),
	    cmocka_unit_test(empty_tokens_are_removed),
	    cmocka_unit_test(the_verb_is_its_words),
	    cmocka_unit_test(the_default_template_is_the_verb),
	    cmocka_unit_test(a_cli_drops_its_first_token),
	    cmocka_unit_test(the_json_flag_stands_last),
	    cmocka_unit_test(what_has_no_text_is_refused),
	    cmocka_unit_test(an_option_can_t_be_smuggled_in),
	    cmocka_unit_test(deny_prefix_is_the_pack_s),
	    cmocka_unit_test(when_and_each),
	    cmocka_unit_test(more_than_the_kernel_takes_is_refused),
	    cmocka_unit_test(all_bytes_together_have_a_limit),
	    cmocka_unit_test(a_string_of_its_own),
	    cmocka_unit_test(a_list_has_a_depth),
	    cmocka_unit_test(a_template_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
