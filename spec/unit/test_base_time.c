/* SPDX-License-Identifier: MIT */
/* Times as text: what is written reads back, and what is no RFC 3339 is refused. */
#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text;
	int64_t seconds;
} both_ways[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"1969-12-31T23:59:59Z", -1},
    {"2000-02-29T12:34:56Z", 951827696},
    {"2024-02-29T23:59:59Z", 1709251199},
    {"2024-03-01T00:00:00Z", 1709251200},
    {"1900-03-01T00:00:00Z", -2203891200},
    {"2038-01-19T03:14:08Z", 2147483648},
    {"0001-01-01T00:00:00Z", -62135596800},
    {"9999-12-31T23:59:59Z", 253402300799},
};

static void test_both_ways(void **state)
{
	char text[TIME_TEXT_SIZE];
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(both_ways) / sizeof(both_ways[0]); i++) {
		assert_int_equal(time_format(both_ways[i].seconds, text), 0);
		assert_string_equal(text, both_ways[i].text);
		assert_int_equal(time_parse(text, strlen(text), &us), 0);
		assert_int_equal(us, both_ways[i].seconds * 1000000);
	}
	assert_int_equal(time_format(253402300800, text), -1);
	assert_string_equal(text, "");
	assert_int_equal(time_format(-62135596801, text), -1);
	assert_int_equal(time_format(INT64_MAX, text), -1);
	assert_int_equal(time_format(INT64_MIN, text), -1);
}

static void test_every_day(void **state)
{
	char text[TIME_TEXT_SIZE];
	int64_t us;

	(void)state;
	for (int64_t day = -719162; day <= 2932896; day += 13) {
		assert_int_equal(time_format(day * 86400, text), 0);
		assert_int_equal(time_parse(text, strlen(text), &us), 0);
		assert_int_equal(us, day * 86400 * 1000000);
	}
}

static void test_other_spellings(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} rows[] = {
	    {"1970-01-01T01:00:00+01:00", 0},   {"1969-12-31T19:00:00-05:00", 0},
	    {"1970-01-01t00:00:00z", 0},        {"1970-01-01T00:00:00.5Z", 500000},
	    {"1970-01-01T00:00:00.000001Z", 1}, {"1970-01-01T00:00:00.0000019Z", 1},
	    {"1970-01-01T00:00:00-00:00", 0},   {"2016-12-31T23:59:60Z", 1483228800000000},
	};
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(time_parse(rows[i].text, strlen(rows[i].text), &us), 0);
		assert_int_equal(us, rows[i].us);
	}
}

static void test_what_is_none(void **state)
{
	static const char *const rows[] = {
	    "",
	    "2024",
	    "2024-02-30T00:00:00Z",
	    "2023-02-29T00:00:00Z",
	    "1900-02-29T00:00:00Z",
	    "2024-04-31T00:00:00Z",
	    "2024-00-01T00:00:00Z",
	    "2024-13-01T00:00:00Z",
	    "2024-01-00T00:00:00Z",
	    "2024-01-01T24:00:00Z",
	    "2024-01-01T00:60:00Z",
	    "2024-01-01T00:00:61Z",
	    "2024-01-01T00:00:00",
	    "2024-01-01T00:00:00.Z",
	    "2024-01-01T00:00:00+1:00",
	    "2024-01-01T00:00:00+01",
	    "2024-01-01T00:00:00+24:00",
	    "2024-01-01T00:00:00Z ",
	    " 2024-01-01T00:00:00Z",
	    "2024-01-01 00:00:00Z",
	    "2024-1-1T00:00:00Z",
	    "0000-01-01T00:00:00Z",
	    "-001-01-01T00:00:00Z",
	    "+024-01-01T00:00:00Z",
	};
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(time_parse(rows[i], strlen(rows[i]), &us), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_both_ways),
	    cmocka_unit_test(test_every_day),
	    cmocka_unit_test(test_other_spellings),
	    cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
