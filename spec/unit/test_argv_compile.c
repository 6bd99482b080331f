/* SPDX-License-Identifier: MIT */
/* Templates that don't compile, with the reason and its place, and the two warnings that a
 * compiled one gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argv_call.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *judge(void *user, const char *name)
{
	(void)user;
	if (strcmp(name, "pin") == 0)
		return "is writeOnly: argv shows in /proc; pass it by stdin or files";
	return strcmp(name, "a") == 0 || strcmp(name, "args") == 0 ? NULL
								   : "is no declared property";
}

struct bad {
	int line, column;
	const char *why, *yaml;
};

static void refuse(const struct bad *row, bool is_cli)
{
	AUTO_CALL c = {.is_cli = is_cli, .judge = judge};

	assert_int_equal(call_compile(&c, row->yaml), -1);
	assert_null(c.t);
	assert_string_equal(c.err.text, row->why);
	assert_int_equal(c.err.code, HCP_E_CONFIG);
	assert_string_equal(c.err.file, "pack.yaml");
	assert_int_equal(c.err.line, row->line);
	assert_int_equal(c.err.column, row->column);
}

static void what_is_no_template(void **state)
{
	static const char name_rule[] =
	    "letters, digits, \"_\" and \"-\", a letter or \"_\" first";
	static const struct bad rows[] = {
	    {1, 1, "a template must be a list, not a mapping", "a: b\n"},
	    {1, 1, "a template must be a list, not a string", "a\n"},
	    {2, 3, "a token must be a string, not a number: quote it", "- a\n- 1.5\n"},
	    {1, 5, "a token must be a string, not a boolean: quote it", "[a, true]"},
	    {1, 2, "a token must be a string, not a list", "[[a]]"},
	    {1, 5, "\"{{\" without its \"}}\"", "[a, \"x{{a\"]"},
	    {1, 2, "\"{{\" without its \"}}\"", "[\"{{a}}{{\"]"},
	    {1, 2, "a placeholder needs a name", "[\"{{}}\"]"},
	    {1, 2, "a placeholder needs a name", "[\"x{{ }}\"]"},
	    {3, 3, "{{b}} is no declared property", "- go\n- \"{{a}}\"\n- \"{{b}}\"\n"},
	    {1, 2, "{{b}} is no declared property", "[\"{{a}}{{b}}\"]"},
	    {1, 2, "{{pin}} is writeOnly: argv shows in /proc; pass it by stdin or files",
	     "[\"--pin={{pin}}\"]"},
	    {1, 2, "{{verb}} must be a token of its own", "[\"x{{verb}}\"]"},
	    {1, 2, "{{verb}} must be a token of its own", "[\"{{verb}}x\"]"},
	    {1, 2, "{{verb}} must be a token of its own", "[\"{{verb}}{{a}}\"]"},
	    {1, 3, "unknown key \"whem\" in a template entry (did you mean \"when\"?)",
	     "[{whem: a, then: [x]}]"},
	    {1, 2, "a template entry needs \"then\"", "[{when: a}]"},
	    {1, 2, "a template entry needs either \"when\" or \"each\"", "[{then: [x]}]"},
	    {1, 2, "a template entry needs either \"when\" or \"each\"",
	     "[{when: a, each: a, then: [x]}]"},
	    {2, 20, "\"then\" must hold at least one token", "- x\n- { when: a, then: [] }\n"},
	    {2, 19, "\"then\" must be a list, not a string", "- x\n- {when: a, then: x}\n"},
	    {1, 20, "\"then\" can hold only plain tokens",
	     "[{when: a, then: [ {when: a, then: [x]} ]}]"},
	    {1, 9, "{{b}} is no declared property", "[{when: b, then: [x]}]"},
	    {1, 9, "{{pin}} is writeOnly: argv shows in /proc; pass it by stdin or files",
	     "[{each: pin, then: [x]}]"},
	    {1, 9, "\"verb\" is the command's own words here, no argument",
	     "[{when: verb, then: [x]}]"},
	    {1, 9, "a placeholder needs a name", "[{when: \"\", then: [x]}]"},
	    {1, 19, "{{b}} is no declared property", "[{each: a, then: [\"{{b}}\"]}]"},
	};
	static const char *const names[] = {"1a", "-a", "a b", "a.b", "a{{b", "\xc3\xa9"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		refuse(&rows[i], false);
	for (size_t i = 0; i < COUNT(names); i++) {
		char yaml[64], why[200];
		const struct bad row = {1, 2, why, yaml};

		snprintf(yaml, sizeof(yaml), "[\"{{%s}}\"]", names[i]);
		snprintf(why, sizeof(why), "\"%s\" can't be a placeholder's name: %s", names[i],
			 name_rule);
		refuse(&row, false);
	}
}

static void a_cli_begins_with_the_bin(void **state)
{
	static const struct bad rows[] = {
	    {1, 1, "\"cli\" must begin with the bin's name, a plain string", "[]"},
	    {1, 2, "\"cli\" must begin with the bin's name, a plain string", "[\"{{a}}\", go]"},
	    {1, 2, "\"cli\" must begin with the bin's name, a plain string", "[\"\", go]"},
	    {1, 2, "\"cli\" must begin with the bin's name, a plain string", "[7]"},
	    {1, 2, "\"cli\" must begin with the bin's name, a plain string",
	     "[{when: a, then: [x]}]"},
	    {1, 7, "{{verb}} is no declared property", "[bin, \"{{verb}}\"]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		refuse(&rows[i], true);
}

static void without_a_judge_any_name_goes(void **state)
{
	AUTO_CALL c = {0};

	(void)state;
	assert_int_equal(call_compile(&c, "[\"{{_x-9}}\", {each: y, then: [\"{{z}}\"]}]"), 0);
	assert_int_equal(c.err.code, HCP_E_NONE);
}

static void pass_through(void **state)
{
	static const struct {
		bool pass, no_literal, is_cli;
		const char *yaml;
	} rows[] = {
	    {true, true, false, "[\"{{args}}\"]"},
	    {true, true, false, "[\"{{ argv }}\"]"},
	    {true, true, false, "[\"{{command}}\", \"{{args}}\"]"},
	    {true, true, true, "[bin, \"{{cmd}}\"]"},
	    {true, true, false, "[{each: words, then: [\"{{words}}\"]}]"},
	    {true, true, false, "[\"\", {when: args, then: [\"{{args}}\"]}]"},
	    {true, true, false, "[\"{{cmd}}{{x}}\"]"},
	    {false, true, false, "[\"{{x}}\"]"},
	    {false, true, true, "[bin, \"{{x}}\", \"{{args}}\"]"},
	    {false, true, false, "[{each: words, then: [\"{{x}}\"]}]"},
	    {false, false, false, "[go, \"{{args}}\"]"},
	    {false, false, false, "[\"{{args}}\", --]"},
	    {false, false, false, "[\"x{{args}}\"]"},
	    {false, false, false, "[\"{{verb}}\", \"{{args}}\"]"},
	    {false, false, false, "[\"{{verb}}\"]"},
	    {false, false, true, "[bin]"},
	    {false, false, false, "[]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		AUTO_CALL c = {.is_cli = rows[i].is_cli};

		assert_int_equal(call_compile(&c, rows[i].yaml), 0);
		if (argv_is_pass_through(c.t) != rows[i].pass ||
		    argv_has_no_literal(c.t) != rows[i].no_literal)
			fail_msg("%s", rows[i].yaml);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_no_template),
	    cmocka_unit_test(a_cli_begins_with_the_bin),
	    cmocka_unit_test(without_a_judge_any_name_goes),
	    cmocka_unit_test(pass_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
