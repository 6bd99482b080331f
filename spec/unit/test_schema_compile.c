/* SPDX-License-Identifier: MIT */
/* Schemas that don't load, with the reason and its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pack/pattern.h"
#include "schema_text.h"

#include <stdio.h>

struct bad {
	int line;
	const char *why, *yaml;
};

static void refuse(const struct bad *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_TEXT t = {0};

		if (text_compile(&t, rows[i].yaml) == 0)
			fail_msg("%s loads", rows[i].yaml);
		assert_null(t.s);
		assert_string_equal(t.err.text, rows[i].why);
		assert_int_equal(t.err.code, HCP_E_CONFIG);
		assert_string_equal(t.err.file, "pack.yaml");
		assert_int_equal(t.err.line, rows[i].line);
		assert_true(t.err.column > 0);
	}
}

static void what_is_no_schema(void **state)
{
	static const struct bad rows[] = {
	    {1, "a schema must be a mapping, not a list", "args: []\n"},
	    {2, "a schema must be a mapping, not a string",
	     "args: { properties: {\n  a: x } }\n"},
	    {2, "a schema must be a mapping, not a boolean",
	     "args: { properties: {\n  a: true } }\n"},
	    {3, "unknown key \"patern\" in a schema (did you mean \"pattern\"?)",
	     "args:\n  properties:\n    a: { patern: x }\n"},
	    {1, "unknown key \"oneOf\" in a schema", "output: { oneOf: [] }\n"},
	    {1, "unknown key \"patternProperties\" in a schema",
	     "output: { patternProperties: {} }\n"},
	    {1, "unknown key \"$defs\" in a schema (did you mean \"$ref\"?)",
	     "args: { $defs: {} }\n"},
	    {2, "unknown key \"if\" in a schema", "output:\n  items: { if: {} }\n"},
	    {2, "unknown key \"not\" in a schema",
	     "output:\n  additionalProperties: { not: {} }\n"},
	};

	(void)state;
	refuse(rows, COUNT(rows));
}

static void keywords_of_a_wrong_type(void **state)
{
#define TYPES                                                                                  \
	"\"type\" must be null (in quotes), boolean, integer, number, string, array or "       \
	"object, not "
	static const struct bad rows[] = {
	    {2, TYPES "\"strin\"", "output:\n  type: strin\n"},
	    {2, TYPES "null", "output:\n  type: null\n"},
	    {2, TYPES "a number", "output:\n  type: [string, 7]\n"},
	    {2, TYPES "a mapping", "output:\n  type: {}\n"},
	    {2, "\"type\" must hold at least one", "output:\n  type: []\n"},
	    {1, "\"enum\" must be a list, not a string", "output: { enum: a }\n"},
	    {1, "\"enum\" must hold at least one value", "output: { enum: [] }\n"},
	    {1, "\"properties\" must be a mapping, not a list", "output: { properties: [] }\n"},
	    {1, "\"required\" must be a list of strings, not a string",
	     "output: { required: a }\n"},
	    {1, "\"additionalProperties\" must be true, false or a schema",
	     "output: { additionalProperties: no }\n"},
	    {1, "\"items\" must be a mapping, not a list", "output: { items: [] }\n"},
	    {1, "\"minItems\" can't be negative", "output: { minItems: -1 }\n"},
	    {1, "\"maxItems\" must be a whole number", "output: { maxItems: 1.5 }\n"},
	    {1, "\"minLength\" must be a whole number, not a string",
	     "output: { minLength: \"1\" }\n"},
	    {1, "\"maxLength\" must be a whole number, not null",
	     "output: { maxLength: null }\n"},
	    {1, "\"uniqueItems\" must be true or false, not a string",
	     "output: { uniqueItems: yes }\n"},
	    {1, "\"writeOnly\" must be true or false, not a number",
	     "output: { writeOnly: 1 }\n"},
	    {1, "\"minimum\" must be a number, not a string", "output: { minimum: a }\n"},
	    {1, "\"maximum\" must be a number, not null", "output: { maximum: null }\n"},
	    {1, "\"exclusiveMinimum\" must be a number, not a boolean",
	     "output: { exclusiveMinimum: true }\n"},
	    {1, "\"exclusiveMaximum\" must be a number, not a list",
	     "output: { exclusiveMaximum: [] }\n"},
	    {1, "\"multipleOf\" must be a number, not a string",
	     "output: { multipleOf: \"0.1\" }\n"},
	    {1, "\"multipleOf\" must be more than 0", "output: { multipleOf: 0 }\n"},
	    {1, "\"multipleOf\" must be more than 0", "output: { multipleOf: -0.1 }\n"},
	    {1, "\"title\" must be a string, not a number: quote it", "output: { title: 7 }\n"},
	    {1, "\"examples\" must be a list, not a string", "output: { examples: a }\n"},
	};

	(void)state;
	refuse(rows, COUNT(rows));
}

static void an_args_object(void **state)
{
	static const struct bad rows[] = {
	    {2, "\"args\" are an object: \"type\" can be nothing else",
	     "args:\n  type: string\n"},
	    {2, "\"args\" are an object: \"type\" can be nothing else",
	     "args:\n  type: [object, \"null\"]\n"},
	    {2, "\"confirm\" is hcp's own and can't be a property",
	     "args:\n  properties: { confirm: {} }\n"},
	    {2, "\"apply\" is hcp's own and can't be a property",
	     "args:\n  properties: { apply: {} }\n"},
	    {2, "\"mode\" is hcp's own and can't be a property",
	     "args:\n  properties: { a: {}, mode: {} }\n"},
	    {3, "\"mode\" is hcp's own and can't be a property",
	     "$defs: { a: { properties: { mode: {} } } }\nargs:\n  $ref: \"#/$defs/a\"\n"},
	    {3, "\"required\" names \"b\", which is no declared property",
	     "args:\n  properties: { a: {} }\n  required: [a, b]\n"},
	    {1, "\"required\" names \"b\", which is no declared property",
	     "output: { additionalProperties: false, required: [b] }\n"},
	};
	static const char *const good[] = {
	    "args: { properties: { a: { properties: { mode: {}, confirm: {} } } } }",
	    "output: { properties: { mode: {} } }",
	    "output: { required: [b] }",
	    "args: { additionalProperties: true, required: [b] }",
	    "args: { type: object }",
	    "args: {}",
	    "$defs: { d: { properties: { b: {} } } }\n"
	    "args: { $ref: \"#/$defs/d\", required: [b] }",
	};

	(void)state;
	refuse(rows, COUNT(rows));
	for (size_t i = 0; i < COUNT(good); i++) {
		AUTO_TEXT t = {0};

		text_load(&t, good[i]);
		assert_non_null(t.s);
	}
}

static void references(void **state)
{
	static const struct bad rows[] = {
	    {1, "\"$ref\" must be \"#/$defs/<name>\", not \"#/$defs/\"",
	     "output: { $ref: \"#/$defs/\" }\n"},
	    {1, "\"$ref\" must be \"#/$defs/<name>\", not \"other.yaml#/x\"",
	     "output: { $ref: \"other.yaml#/x\" }\n"},
	    {1, "\"$ref\" must be \"#/$defs/<name>\", not \"#\"", "output: { $ref: \"#\" }\n"},
	    {1, "the pack's $defs has nothing for \"#/$defs/x\"",
	     "output: { $ref: \"#/$defs/x\" }\n"},
	    {2, "the pack's $defs has nothing for \"#/$defs/x\"",
	     "$defs:\n  a: { items: { $ref: \"#/$defs/x\" } }\n"},
	    {1, "\"$defs\" must be a mapping, not a list", "$defs: []\n"},
	    {2, "\"a b\" in \"$defs\" must be of letters, digits, \"_\", \".\" and \"-\"",
	     "$defs:\n  a b: {}\n"},
	    {2, "\"\" in \"$defs\" must be of letters, digits, \"_\", \".\" and \"-\"",
	     "$defs:\n  \"\": {}\n"},
	    {2, "a schema must be a mapping, not a string", "$defs:\n  a: x\n"},
	    {2, "\"a\" in \"$defs\" refers to itself and nothing else",
	     "$defs:\n  a: { $ref: \"#/$defs/a\" }\n"},
	    {2, "\"a\" in \"$defs\" refers to itself and nothing else",
	     "$defs:\n  a: { $ref: \"#/$defs/b\" }\n  b: { $ref: \"#/$defs/a\", type: string "
	     "}\n"},
	    {2, "\"a\" in \"$defs\" refers to itself and nothing else",
	     "$defs:\n  a: { $ref: \"#/$defs/b\" }\n  b: { $ref: \"#/$defs/c\" }\n"
	     "  c: { $ref: \"#/$defs/b\" }\n"},
	};

	(void)state;
	refuse(rows, COUNT(rows));
}

static void a_default_fits(void **state)
{
	static const struct bad rows[] = {
	    {2, "the default doesn't fit: default: must be an integer, not a string",
	     "args: { properties: { a: { type: integer,\n  default: x } } }\n"},
	    {2, "the default doesn't fit: [0]: must be a string, not a number",
	     "output: { items: { type: string },\n  default: [1] }\n"},
	    {2, "the default doesn't fit: default: must be one of \"a\", \"b\"",
	     "$defs:\n  d: { enum: [a, b], default: c }\n"},
	    {2, "the default doesn't fit: a: is required",
	     "output: { required: [a],\n  default: {} }\n"},
	    /* the definition's default, filled in where more is asked for */
	    {2, "the default doesn't fit: default: must be at least 10",
	     "$defs: { d: { type: integer, default: 5 } }\n"
	     "args: { properties: { a: { $ref: \"#/$defs/d\", minimum: 10 } } }\n"},
	};
	AUTO_TEXT t = {0};

	(void)state;
	refuse(rows, COUNT(rows));
	/* the nearer one wins, so only it must fit */
	text_load(&t, "$defs: { d: { type: integer, default: 5 } }\n"
		      "args: { properties: { a: { $ref: \"#/$defs/d\", minimum: 10, "
		      "default: 12 } } }\n");
}

static void patterns_that_are_none(void **state)
{
#define NOT   "\"pattern\" is no regular expression: "
#define ORDER NOT "\"(*\" and \"(?C\" are not for schemas; a plain parenthesis is \"\\(\""
	static const struct bad rows[] = {
	    {2, NOT "missing closing parenthesis at character 3", "output:\n  pattern: (a\n"},
	    {1, NOT "missing terminating ] for character class at character 3",
	     "output: { pattern: \"[a\" }\n"},
	    {1, NOT "quantifier does not follow a repeatable item at character 1",
	     "output: { pattern: \"*\" }\n"},
	    {1, NOT "using \\C is disabled by the application at character 4",
	     "output: { pattern: 'a\\C' }\n"},
	    {2, ORDER, "$defs:\n  a: { pattern: '(*ACCEPT)' }\n"},
	    {1, ORDER, "output: { pattern: '(*UTF)a' }\n"},
	    {1, ORDER, "output: { pattern: 'a(?C1)' }\n"},
	    {1, ORDER, "output: { pattern: 'a(?C\"x\")' }\n"},
	    {1, ORDER, "output: { pattern: '\\\\(*ACCEPT)' }\n"},
	    /* what only looks as if it stood in a class or behind a backslash */
	    {1, ORDER, "output: { pattern: '\\Q[\\E(*ACCEPT)z' }\n"},
	    {1, ORDER, "output: { pattern: '(?#[)(*ACCEPT)z' }\n"},
	    {1, ORDER, "output: { pattern: '(?#\\)(*ACCEPT)z' }\n"},
	    {1, ORDER, "output: { pattern: '\\c\\(*ACCEPT)z' }\n"},
	    {1, ORDER, "output: { pattern: \"(?x)#[\\n(*ACCEPT)z\" }\n"},
	    {1, ORDER, "output: { pattern: '[(*]' }\n"},
	};
	struct hcp_err err = {0};
	char text[LIMIT_PATTERN + 2];
	struct pattern *p;

	(void)state;
	refuse(rows, COUNT(rows));
	memset(text, 'a', sizeof(text));
	text[LIMIT_PATTERN] = '\0';
	p = pattern_compile(text, &err);
	assert_non_null(p);
	pattern_free(p);
	text[LIMIT_PATTERN] = 'a';
	text[LIMIT_PATTERN + 1] = '\0';
	assert_null(pattern_compile(text, &err));
	assert_int_equal(err.code, HCP_E_INVALID);
	assert_string_equal(err.text, "it is too long");
}

/* A fault behind patterns, which own memory of their own. */
static void nothing_is_kept_of_what_fails(void **state)
{
	static const struct bad rows[] = {
	    {3, "\"minimum\" must be a number, not a string",
	     "args:\n  properties:\n    a: { pattern: a, items: { pattern: b }, minimum: x "
	     "}\n"},
	    {4, "\"minimum\" must be a number, not a string",
	     "args:\n  properties:\n    a: { pattern: a }\n    b: { minimum: x }\n"},
	    {2, "\"mode\" is hcp's own and can't be a property",
	     "args:\n  additionalProperties: { pattern: a }\n  properties: { mode: { pattern: "
	     "b } }\n"},
	};
	AUTO_TEXT t = {0};

	(void)state;
	refuse(rows, COUNT(rows));
	assert_int_equal(text_compile(&t, "$defs:\n  a: { pattern: a }\n  b: { type: x }\n"),
			 -1);
	assert_null(t.defs);
	assert_int_equal(t.err.line, 3);
	schema_free(NULL);
	schema_defs_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_no_schema),
	    cmocka_unit_test(keywords_of_a_wrong_type),
	    cmocka_unit_test(an_args_object),
	    cmocka_unit_test(references),
	    cmocka_unit_test(a_default_fits),
	    cmocka_unit_test(patterns_that_are_none),
	    cmocka_unit_test(nothing_is_kept_of_what_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
