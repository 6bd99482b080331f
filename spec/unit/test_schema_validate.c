/* SPDX-License-Identifier: MIT */
/* Every keyword judges what it says and nothing else; all faults are told with their paths, and
 * no value ever is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schema_text.h"

#include <stdio.h>

struct row {
	const char *schema, *value, *faults;
};

static void judge(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_BUF yaml = {0};
		AUTO_TEXT t = {0};

		buf_printf(&yaml, "output: { %s }\n", rows[i].schema);
		text_load(&t, yaml.data);
		expect_faults(&t, rows[i].value, rows[i].faults);
	}
}

static void types(void **state)
{
	static const struct row rows[] = {
	    {"type: \"null\"", "null", ""},
	    {"type: \"null\"", "0", "args: must be null, not a number"},
	    {"type: boolean", "true", ""},
	    {"type: boolean", "false", ""},
	    {"type: boolean", "\"true\"", "args: must be a boolean, not a string"},
	    {"type: integer", "1", ""},
	    {"type: integer", "1.0", ""},
	    {"type: integer", "-0.0", ""},
	    {"type: integer", "1e300", ""},
	    {"type: integer", "1.5", "args: must be an integer, not a number"},
	    {"type: integer", "true", "args: must be an integer, not a boolean"},
	    {"type: number", "1", ""},
	    {"type: number", "1.5", ""},
	    {"type: number", "null", "args: must be a number, not null"},
	    {"type: string", "\"\"", ""},
	    {"type: string", "7", "args: must be a string, not a number"},
	    {"type: array", "[]", ""},
	    {"type: array", "{}", "args: must be a list, not an object"},
	    {"type: object", "{}", ""},
	    {"type: object", "[]", "args: must be an object, not a list"},
	    {"type: [string, \"null\"]", "null", ""},
	    {"type: [string, \"null\"]", "\"x\"", ""},
	    {"type: [string, \"null\"]", "1", "args: must be null or a string, not a number"},
	    {"type: [integer, number]", "1.5", ""},
	    {"title: any", "[1]", ""},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

static void enum_and_const(void **state)
{
	static const struct row rows[] = {
	    {"enum: [a, 1, null]", "\"a\"", ""},
	    {"enum: [a, 1, null]", "1.0", ""},
	    {"enum: [a, 1, null]", "null", ""},
	    {"enum: [a, 1, null]", "false", "args: must be one of \"a\", 1, null"},
	    {"enum: [a, 1, null]", "\"1\"", "args: must be one of \"a\", 1, null"},
	    {"enum: [1.0]", "1", ""},
	    {"enum: [9007199254740993]", "9007199254740992.0",
	     "args: must be one of 9007199254740993"},
	    {"enum: [[1, {a: 2.0}]]", "[1.0,{\"a\":2}]", ""},
	    {"enum: [\"no\", yes]", "\"yes\"", ""},
	    {"const: {a: 1, b: 2}", "{\"b\":2,\"a\":1.0}", ""},
	    {"const: {a: 1}", "{\"a\":1,\"b\":2}", "args: must be {\"a\":1}"},
	    {"const: null", "null", ""},
	    {"const: null", "0", "args: must be null"},
	    {"const: 0", "-0.0", ""},
	    {"const: 0", "false", "args: must be 0"},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

static void numbers(void **state)
{
	static const struct row rows[] = {
	    {"minimum: 0", "0", ""},
	    {"minimum: 0", "-0.0", ""},
	    {"minimum: 0", "-1", "args: must be at least 0"},
	    {"minimum: 0.5", "0.49", "args: must be at least 0.5"},
	    {"exclusiveMinimum: 0", "5e-324", ""},
	    {"exclusiveMinimum: 0", "0.0", "args: must be more than 0"},
	    {"maximum: 10", "10.0", ""},
	    {"maximum: 10", "10.000001", "args: must be at most 10"},
	    {"exclusiveMaximum: 10", "9", ""},
	    {"exclusiveMaximum: 10", "10", "args: must be less than 10"},
	    {"maximum: 9007199254740992", "9007199254740993",
	     "args: must be at most 9007199254740992"},
	    {"maximum: 9007199254740992.0", "9007199254740993",
	     "args: must be at most 9007199254740992.0"},
	    {"maximum: 9223372036854775807", "9223372036854775808.0",
	     "args: must be at most 9223372036854775807"},
	    {"multipleOf: 0.01", "19.99", ""},
	    {"multipleOf: 0.01", "19.999", "args: must be a multiple of 0.01"},
	    {"multipleOf: 2", "1e21", ""},
	    {"minimum: 5, multipleOf: 2", "3",
	     "args: must be at least 5; args: must be a multiple of 2"},
	    {"minimum: 5", "\"x\"", ""},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

static void strings(void **state)
{
	static const struct row rows[] = {
	    {"minLength: 2", "\"ab\"", ""},
	    {"minLength: 2", "\"a\"", "args: must have at least 2 characters"},
	    {"minLength: 2", "\"\\ud83d\\ude00\"", "args: must have at least 2 characters"},
	    {"maxLength: 1", "\"\\ud83d\\ude00\"", ""},
	    {"maxLength: 0", "\"\"", ""},
	    {"maxLength: 1", "\"\\u00e9e\"", "args: must have at most 1 characters"},
	    {"maxLength: 3", "\"a\\u0000b\"", ""},
	    {"maxLength: 2", "\"a\\u0000b\"", "args: must have at most 2 characters"},
	    {"maxLength: 1", "12", ""},
	    {"format: email", "\"no\"", ""},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

static void patterns(void **state)
{
	static const struct row rows[] = {
	    {"pattern: 'b'", "\"abc\"", ""},
	    {"pattern: '^b'", "\"abc\"", "args: must match the pattern \"^b\""},
	    {"pattern: '^a$'", "\"a\"", ""},
	    /* JavaScript's $: no newline may stand behind it */
	    {"pattern: '^a$'", "\"a\\n\"", "args: must match the pattern \"^a$\""},
	    {"pattern: '^a'", "\"b\\na\"", "args: must match the pattern \"^a\""},
	    {"pattern: '^.$'", "\"\\u00e9\"", ""},
	    {"pattern: '^.$'", "\"\\ud83d\\ude00\"", ""},
	    {"pattern: '^\\u00e9$'", "\"\\u00e9\"", ""},
	    {"pattern: '^\\x41$'", "\"A\"", ""},
	    {"pattern: '^(a)?\\1b$'", "\"b\"", ""},
	    {"pattern: '^\\d{4}-\\d{2}$'", "\"2024-01\"", ""},
	    {"pattern: '^\\d{4}-\\d{2}$'", "\"2024-1\"",
	     "args: must match the pattern \"^\\d{4}-\\d{2}$\""},
	    {"pattern: '^\\d$'", "\"\\u0663\"", "args: must match the pattern \"^\\d$\""},
	    {"pattern: 'a.c'", "\"a\\u0000c\"", ""},
	    {"pattern: '\\(*'", "\"x\"", ""},
	    {"pattern: '(?=x)x(?!y)'", "\"xy\"",
	     "args: must match the pattern \"(?=x)x(?!y)\""},
	    {"pattern: x", "7", ""},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

/* Undecided is a fault, and one is enough: no further pattern is begun. */
static void a_pattern_at_its_limit(void **state)
{
	AUTO_TEXT t = {0};
	char *got;

	(void)state;
	text_load(&t, "output: { items: { type: string, pattern: '^(a|a|aa)*(b|c)+$' } }");
	expect_faults(&t, "[\"ab\",\"aac\"]", "");
	got = faults_of(
	    &t, "[\"ab\",\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!bcbd\",\"ab\"]");
	assert_string_equal(got,
			    "[1]: can't be told from the pattern \"^(a|a|aa)*(b|c)+$\" within "
			    "the limits of a match; [2]: can't be told from the pattern "
			    "\"^(a|a|aa)*(b|c)+$\" within the limits of a match");
	free(got);
	/* the next value begins afresh */
	expect_faults(&t, "[\"ab\"]", "");
}

static void lists(void **state)
{
	static const struct row rows[] = {
	    {"minItems: 1", "[0]", ""},
	    {"minItems: 1", "[]", "args: must have at least 1 items"},
	    {"maxItems: 1", "[1,2]", "args: must have at most 1 items"},
	    {"items: { type: string }", "[\"a\",1,\"b\",[]]",
	     "[1]: must be a string, not a number; [3]: must be a string, not a list"},
	    {"uniqueItems: true", "[]", ""},
	    {"uniqueItems: true", "[1,2,\"1\",[1],{\"a\":1},true]", ""},
	    {"uniqueItems: true", "[1,\"a\",1.0]", "args: must not hold the same item twice"},
	    {"uniqueItems: true", "[0,-0.0]", "args: must not hold the same item twice"},
	    {"uniqueItems: true", "[{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1}]",
	     "args: must not hold the same item twice"},
	    {"uniqueItems: true", "[[1,2],[2,1]]", ""},
	    {"uniqueItems: true", "[\"a\\u0000b\",\"a\\u0000c\"]", ""},
	    {"uniqueItems: true", "[9007199254740993,9007199254740992.0]", ""},
	    {"uniqueItems: false", "[1,1]", ""},
	    {"minItems: 1", "{}", ""},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

static void objects(void **state)
{
	static const struct row rows[] = {
	    {"required: [a, b]", "{\"a\":null}", "b: is required"},
	    {"required: [a, b]", "{}", "a: is required; b: is required"},
	    {"properties: { a: { type: string } }", "{\"a\":1,\"b\":2}",
	     "a: must be a string, not a number"},
	    {"properties: { a: {} }, additionalProperties: false", "{\"b\":1}",
	     "b: unknown property"},
	    {"properties: { name: {} }, additionalProperties: false", "{\"nmae\":1}",
	     "nmae: unknown property (did you mean \"name\"?)"},
	    {"properties: { a: {} }, additionalProperties: { type: integer }",
	     "{\"a\":\"x\",\"b\":\"y\"}", "b: must be an integer, not a string"},
	    {"properties: { a: {} }, additionalProperties: true", "{\"b\":1}", ""},
	    {"properties: { o: { properties: { l: { items: { required: [n] } } } } }",
	     "{\"o\":{\"l\":[{\"n\":1},{}]}}", "o.l[1].n: is required"},
	    {"additionalProperties: { type: string }", "{\"a b\":1}",
	     "\"a b\": must be a string, not a number"},
	    {"additionalProperties: { type: string }", "{\"a.b\":1,\"\":2}",
	     "\"a.b\": must be a string, not a number; \"\": must be a string, not a number"},
	    {"additionalProperties: { type: string }", "{\"a\\nb\":1}",
	     "\"a\\x0ab\": must be a string, not a number"},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

static void an_args_object_is_closed(void **state)
{
	AUTO_TEXT closed = {0}, open = {0}, by_ref = {0};

	(void)state;
	text_load(&closed, "args: { properties: { month: {} } }");
	expect_faults(&closed, "{}", "");
	expect_faults(&closed, "{\"month\":1}", "");
	expect_faults(&closed, "{\"mnth\":1}",
		      "mnth: unknown argument (did you mean \"month\"?)");
	expect_faults(&closed, "{\"other\":1}", "other: unknown argument");
	expect_faults(&closed, "[]", "args: must be an object, not a list");
	text_load(&open, "args: { additionalProperties: true }");
	expect_faults(&open, "{\"x\":1}", "");
	text_load(&by_ref, "$defs: { d: { properties: { a: { type: string } } } }\n"
			   "args: { $ref: \"#/$defs/d\", properties: { b: {} } }");
	expect_faults(&by_ref, "{\"a\":\"x\",\"b\":1}", "");
	expect_faults(&by_ref, "{\"a\":1,\"c\":1}",
		      "c: unknown argument; "
		      "a: must be a string, not a number");
}

static void references(void **state)
{
	AUTO_TEXT t = {0}, tree = {0};

	(void)state;
	/* what stands beside $ref counts, too */
	text_load(
	    &t, "$defs: { low: { type: integer, minimum: 1 }, a.b-c: { $ref: \"#/$defs/low\", "
		"maximum: 9 } }\n"
		"output: { items: { $ref: \"#/$defs/a.b-c\", multipleOf: 2 } }");
	expect_faults(&t, "[2,8]", "");
	expect_faults(&t, "[3,10,0]",
		      "[0]: must be a multiple of 2; [1]: must be at most 9; "
		      "[2]: must be at least 1");
	text_load(&tree,
		  "$defs: { node: { type: object, required: [n], additionalProperties: false, "
		  "properties: { n: { type: integer }, sub: { items: "
		  "{ $ref: \"#/$defs/node\" } } } } }\n"
		  "output: { $ref: \"#/$defs/node\" }");
	expect_faults(&tree, "{\"n\":1,\"sub\":[{\"n\":2,\"sub\":[]},{\"n\":3}]}", "");
	expect_faults(&tree, "{\"n\":1,\"sub\":[{\"n\":2,\"sub\":[{},{\"n\":true,\"x\":1}]}]}",
		      "sub[0].sub[0].n: is required; "
		      "sub[0].sub[1].n: must be an integer, not a boolean; "
		      "sub[0].sub[1].x: unknown property");
}

static void many_faults_are_counted(void **state)
{
	AUTO_BUF list = {0}, want = {0};
	AUTO_TEXT t = {0};

	(void)state;
	text_load(&t, "output: { items: { type: string } }");
	for (int n = LIMIT_FAULTS - 1; n <= LIMIT_FAULTS + 3; n += 2) {
		list.len = want.len = 0;
		for (int i = 0; i < n; i++) {
			buf_puts(&list, i ? ",1" : "[1");
			if (i < LIMIT_FAULTS)
				buf_printf(&want, "%s[%d]: must be a string, not a number",
					   i ? "; " : "", i);
		}
		buf_puts(&list, "]");
		if (n > LIMIT_FAULTS)
			buf_printf(&want, "; and %d more", n - LIMIT_FAULTS);
		expect_faults(&t, list.data, want.data);
	}
}

static void the_number_of_faults_is_told(void **state)
{
	AUTO_BUF faults = {0};
	AUTO_TEXT t = {0};
	json_t *v = json_of("{\"a\":1,\"b\":1,\"c\":\"\"}");

	(void)state;
	text_load(&t, "output: { additionalProperties: { type: string, minLength: 1 } }");
	assert_int_equal(schema_validate(t.s, v, "result", &faults), 3);
	assert_string_equal(faults.data,
			    "a: must be a string, not a number; b: must be a string, "
			    "not a number; c: must have at least 1 characters");
	json_decref(v);
	v = json_of("7");
	assert_int_equal(schema_validate(t.s, v, "result", &faults), 0);
	json_decref(v);
}

/* Each value holds "hunter2" or the key "secret-key" within something writeOnly. */
static void secrets_stay_out_of_faults(void **state)
{
	static const char yaml[] =
	    "$defs:\n"
	    "  pin: { type: string, writeOnly: true, pattern: '^\\d+$', maxLength: 4 }\n"
	    "  box: { type: object, additionalProperties: { type: integer } }\n"
	    "args:\n"
	    "  properties:\n"
	    "    pin: { $ref: \"#/$defs/pin\" }\n"
	    "    one: { writeOnly: true, enum: [abc], const: abc }\n"
	    "    num: { writeOnly: true, type: integer, maximum: 3 }\n"
	    "    map: { writeOnly: true, $ref: \"#/$defs/box\" }\n"
	    "    shut: { writeOnly: true, properties: { known: {} }, additionalProperties: "
	    "false }\n"
	    "    list: { items: { $ref: \"#/$defs/pin\" } }\n";
	static const char *const rows[][2] = {
	    {"{\"pin\":\"hunter2\"}",
	     "pin: must have at most 4 characters; pin: must match the "
	     "pattern \"^\\d+$\""},
	    {"{\"pin\":[\"hunter2\"]}", "pin: must be a string, not a list"},
	    {"{\"one\":\"hunter2\"}", "one: isn't its one value; one: isn't one of its values"},
	    {"{\"num\":\"hunter2\"}", "num: must be an integer, not a string"},
	    {"{\"num\":1234567}", "num: must be at most 3"},
	    {"{\"map\":{\"secret-key\":\"hunter2\"}}",
	     "map.*: must be an integer, not a string"},
	    {"{\"shut\":{\"knowm\":\"hunter2\"}}", "shut.*: unknown property"},
	    {"{\"list\":[\"1\",\"hunter2\"]}",
	     "list[1]: must have at most 4 characters; list[1]: must match the pattern "
	     "\"^\\d+$\""},
	    {"{\"pim\":\"hunter2\"}", "pim: unknown argument (did you mean \"pin\"?)"},
	};
	AUTO_TEXT t = {0};

	(void)state;
	text_load(&t, yaml);
	for (size_t i = 0; i < COUNT(rows); i++)
		expect_faults(&t, rows[i][0], rows[i][1]);
}

/* Other values aren't told either: a secret may come under the wrong name. */
static void no_value_is_told(void **state)
{
	static const struct row rows[] = {
	    {"type: integer", "\"hunter2\"", "args: must be an integer, not a string"},
	    {"enum: [a]", "\"hunter2\"", "args: must be one of \"a\""},
	    {"pattern: '^x'", "\"hunter2\"", "args: must match the pattern \"^x\""},
	    {"uniqueItems: true", "[\"hunter2\",\"hunter2\"]",
	     "args: must not hold the same item twice"},
	};

	(void)state;
	judge(rows, COUNT(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(types),
	    cmocka_unit_test(enum_and_const),
	    cmocka_unit_test(numbers),
	    cmocka_unit_test(strings),
	    cmocka_unit_test(patterns),
	    cmocka_unit_test(a_pattern_at_its_limit),
	    cmocka_unit_test(lists),
	    cmocka_unit_test(objects),
	    cmocka_unit_test(an_args_object_is_closed),
	    cmocka_unit_test(references),
	    cmocka_unit_test(many_faults_are_counted),
	    cmocka_unit_test(the_number_of_faults_is_told),
	    cmocka_unit_test(secrets_stay_out_of_faults),
	    cmocka_unit_test(no_value_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
