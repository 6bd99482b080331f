/* SPDX-License-Identifier: MIT */
/* Names, units, UTF-8 and errors: what is let through and what is told. */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

static char a64[65], a65[66];

static void ids_are_a_closed_set(void **state)
{
	static const char *const good[] = {"a", "ledger", "A1", "a.b", "a-b_c.d", "1", a64};
	static const char *const bad[] = {"",         ".",   "..",   ".a",  "a..b",
					  "a/b",      "a b", "-a",   "_a",  "a\n",
					  "\xc3\xa9", "a%",  "../x", "a..", a65};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(name_is_id(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(name_is_id(bad[i]));
}

static void sessions_are_a_closed_set(void **state)
{
	static const char *const good[] = {"default", "_x", "-x", ".x", "a..b", "..", a64};
	static const char *const bad[] = {"", "a/b", "a b", "a\n", a65};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(name_is_session(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(name_is_session(bad[i]));
}

static void verbs_are_words_joined_by_one_sign(void **state)
{
	static const char *const good[] = {"transfer", "report month", "a.b c", "a-b_c", "1"};
	static const char *const bad[] = {"",    " a",   "a ", "a  b", "a. b",    "*",
					  "a/b", "a\tb", ".a", "a.",   "\xc3\xa9"};
	char long_key[130];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(name_is_verb(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(name_is_verb(bad[i]));
	memset(long_key, 'a', 129);
	long_key[129] = '\0';
	assert_false(name_is_verb(long_key));
	long_key[128] = '\0';
	assert_true(name_is_verb(long_key));
}

static void units_read_and_print(void **state)
{
	static const struct {
		const char *text;
		int64_t ms, bytes;
	} rows[] = {
	    {"500ms", 500, -1},
	    {"10s", 10000, -1},
	    {"15m", 900000, -1},
	    {"1h", 3600000, -1},
	    {"64K", -1, 65536},
	    {"256M", -1, 268435456},
	    {"1G", -1, 1073741824},
	    {"77", -1, 77},
	    {"", -1, -1},
	    {"s", -1, -1},
	    {"-1s", -1, -1},
	    {"+1s", -1, -1},
	    {" 1s", -1, -1},
	    {"1.5s", -1, -1},
	    {"1k", -1, -1},
	    {"1s ", -1, -1},
	    {"9223372036854775807h", -1, -1},
	    {"8784h", 31622400000, -1},
	    {"31622400001ms", -1, -1},
	    {"99999999999999999999", -1, -1},
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(unit_duration_ms(rows[i].text), rows[i].ms);
		assert_int_equal(unit_size(rows[i].text), rows[i].bytes);
	}
	unit_format_duration(10000, out);
	assert_string_equal(out, "10s");
	unit_format_duration(1500, out);
	assert_string_equal(out, "1500ms");
	unit_format_duration(0, out);
	assert_string_equal(out, "0ms");
	unit_format_size(8 << 20, out);
	assert_string_equal(out, "8M");
	unit_format_count(100000000, out);
	assert_string_equal(out, "100M");
	unit_format_count(1500, out);
	assert_string_equal(out, "1500");
	unit_format_count(2000, out);
	assert_string_equal(out, "2K");
	unit_format_size(1000, out);
	assert_string_equal(out, "1000");
}

static void what_is_no_utf8_is_replaced_byte_by_byte(void **state)
{
	static const char *const rows[][2] = {
	    {"abc", "abc"},
	    {"\xff", "\xef\xbf\xbd"},
	    {"a\xc3", "a\xef\xbf\xbd"},
	    {"\xc3\xa9\x80z", "\xc3\xa9\xef\xbf\xbdz"},
	    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	    {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO_BUF out = {0};

		utf8_clean(&out, rows[i][0], strlen(rows[i][0]));
		assert_string_equal(out.data, rows[i][1]);
		assert_true(utf8_valid(out.data, out.len));
	}
}

static void distance_counts_edits(void **state)
{
	(void)state;
	assert_int_equal(str_distance("transfer", "transfer"), 0);
	assert_int_equal(str_distance("transfer", "tranfser"), 1);
	assert_int_equal(str_distance("a", ""), 1);
	assert_int_equal(str_distance("kitten", "sitting"), 3);
	assert_true(str_distance(a65, "a") > 64);
}

static void a_buffer_grows_and_ends_with_nul(void **state)
{
	AUTO_BUF b = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	assert_int_equal(b.len, 3890);
	assert_int_equal(b.data[b.len], '\0');
	assert_false(b.failed);
	buf_add(&b, "x", SIZE_MAX - 2);
	assert_true(b.failed);
}

static void an_error_keeps_the_end_of_a_long_path(void **state)
{
	struct hcp_err err = {0}, whole = {0};
	char path[300];

	(void)state;
	memset(path, 'd', sizeof(path));
	strcpy(path + sizeof(path) - 7, "/x.yml");
	assert_int_equal(hcp_fail_at(&err, path, 3, 0, "wrong"), -1);
	assert_int_equal(strlen(err.file), sizeof(err.file) - 1);
	assert_memory_equal(err.file, "...ddd", 6);
	assert_string_equal(err.file + sizeof(err.file) - 7, "/x.yml");
	hcp_fail_at(&whole, path + sizeof(path) - sizeof(whole.file), 3, 0, "wrong");
	assert_string_equal(whole.file, path + sizeof(path) - sizeof(whole.file));
}

static void an_error_of_the_system_is_in_english(void **state)
{
	struct hcp_err err = {0}, odd = {0};

	(void)state;
	errno = ENOENT;
	assert_int_equal(hcp_fail_errno(&err, "%s", "f"), -1);
	assert_string_equal(err.text, "f: No such file or directory");
	errno = 100000;
	hcp_fail_errno(&odd, "f");
	assert_string_equal(odd.text, "f: unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ids_are_a_closed_set),
	    cmocka_unit_test(sessions_are_a_closed_set),
	    cmocka_unit_test(verbs_are_words_joined_by_one_sign),
	    cmocka_unit_test(units_read_and_print),
	    cmocka_unit_test(what_is_no_utf8_is_replaced_byte_by_byte),
	    cmocka_unit_test(distance_counts_edits),
	    cmocka_unit_test(a_buffer_grows_and_ends_with_nul),
	    cmocka_unit_test(an_error_keeps_the_end_of_a_long_path),
	    cmocka_unit_test(an_error_of_the_system_is_in_english),
	};

	memset(a64, 'a', 64);
	memset(a65, 'a', 65);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
