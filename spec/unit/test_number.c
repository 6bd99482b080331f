/* SPDX-License-Identifier: MIT */
/* Numbers by what they say: an integer of 64 bits against a real, decimals as they are written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "pack/number.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static json_t *number(const char *text)
{
	struct hcp_err err = {0};
	json_t *v = json_parse(text, strlen(text), 1, &err);

	assert_true(json_is_number(v));
	return v;
}

static void exact_order(void **state)
{
	/* each less than the next */
	static const char *const rows[] = {
	    "-1e300",
	    "-9223372036854777856.0",
	    "-9223372036854775808",
	    "-9223372036854775807",
	    "-9007199254740993",
	    "-9007199254740992.0",
	    "-2",
	    "-1.5",
	    "-1",
	    "-1e-300",
	    "0",
	    "5e-324",
	    "0.5",
	    "1",
	    "1.0000000000000002",
	    "9007199254740992",
	    "9007199254740993",
	    "9007199254740994.0",
	    "9223372036854774784.0",
	    "9223372036854775807",
	    "9223372036854775808.0",
	    "1e300",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t n = 0; n < COUNT(rows); n++) {
			json_t *a = number(rows[i]), *b = number(rows[n]);
			int got = number_compare(a, b);

			if ((got < 0) != (i < n) || (got > 0) != (i > n))
				fail_msg("%s against %s: %d", rows[i], rows[n], got);
			json_decref(a);
			json_decref(b);
		}
}

static void equal_across_kinds(void **state)
{
	static const char *const rows[][2] = {
	    {"0", "-0.0"},
	    {"0.0", "-0.0"},
	    {"1", "1.0"},
	    {"-1", "-1.0"},
	    {"9007199254740992", "9007199254740992.0"},
	    {"9007199254740992", "9007199254740993.0"},
	    {"-9223372036854775808", "-9223372036854775808.0"},
	    {"1e21", "1000000000000000000000.0"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *a = number(rows[i][0]), *b = number(rows[i][1]);

		assert_int_equal(number_compare(a, b), 0);
		assert_int_equal(number_compare(b, a), 0);
		json_decref(a);
		json_decref(b);
	}
}

static void whole(void **state)
{
	static const struct {
		const char *text;
		bool whole;
	} rows[] = {
	    {"1", true},       {"-9223372036854775808", true},
	    {"1.0", true},     {"-0.0", true},
	    {"1e300", true},   {"1e21", true},
	    {"1.5", false},    {"-0.1", false},
	    {"1e-300", false}, {"4503599627370495.5", false},
	};
	json_t *text = json_string("1");

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *v = number(rows[i].text);

		if (number_is_whole(v) != rows[i].whole)
			fail_msg("%s", rows[i].text);
		json_decref(v);
	}
	assert_false(number_is_whole(text));
	json_decref(text);
}

static void multiples_are_decimal(void **state)
{
	static const struct {
		const char *n, *of;
		bool multiple;
	} rows[] = {
	    {"0.3", "0.1", true},
	    {"0.35", "0.1", false},
	    {"19.99", "0.01", true},
	    {"19.999", "0.01", false},
	    {"1.1", "0.1", true},
	    {"4.35", "0.05", true},
	    {"0.30000000000000004", "0.1", false},
	    {"-0.3", "0.1", true},
	    {"0", "0.1", true},
	    {"-0.0", "7", true},
	    {"0.0", "1e300", true},
	    {"6", "3", true},
	    {"7", "3", false},
	    {"6.0", "3", true},
	    {"1.5", "1", false},
	    {"5", "2.5", true},
	    {"5", "10", false},
	    {"0.5", "0.25", true},
	    {"0.25", "0.5", false},
	    {"100", "10", true},
	    {"1e21", "7", false},
	    {"7e21", "7", true},
	    {"1e300", "3", false},
	    {"3e300", "3", true},
	    {"1e300", "1e-300", true},
	    {"1e-300", "1e300", false},
	    {"5e-324", "5e-324", true},
	    {"9007199254740993", "9007199254740993", true},
	    {"9007199254740994", "9007199254740993", false},
	    {"9223372036854775807", "7", true},
	    {"9223372036854775806", "7", false},
	    {"-9223372036854775808", "2", true},
	    {"-9223372036854775808", "3", false},
	    {"-9223372036854775808", "9223372036854775808.0", false},
	    {"1.7976931348623157e308", "0.01", true},
	    {"9223372036854775807", "0.0000001", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *n = number(rows[i].n), *of = number(rows[i].of);

		if (number_is_multiple(n, of) != rows[i].multiple)
			fail_msg("%s of %s", rows[i].n, rows[i].of);
		json_decref(n);
		json_decref(of);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exact_order),
	    cmocka_unit_test(equal_across_kinds),
	    cmocka_unit_test(whole),
	    cmocka_unit_test(multiples_are_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
