/* SPDX-License-Identifier: MIT */
/* The chain as bytes: what is a record, what its hash covers, what a head may look like. */
#include "audit/chain.h"
#include "audit_log.h"
#include "base/limits.h"

#include <time.h>

static size_t make(struct chain_tip *tip, int64_t us, const char *body,
		   char line[LIMIT_AUDIT_LINE])
{
	struct hcp_err err = {0};
	size_t len;

	if (chain_line(tip, us, body, strlen(body), line, &len, &err) < 0)
		fail_msg("chain_line: %s", err.text);
	assert_int_equal(line[len - 1], '\n');
	return len - 1;
}

static void times(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} rows[] = {
	    {0, "1970-01-01T00:00:00.000000Z"},
	    {951782399999999, "2000-02-28T23:59:59.999999Z"},
	    {951782400000000, "2000-02-29T00:00:00.000000Z"},
	    {1709251199000001, "2024-02-29T23:59:59.000001Z"},
	    {4107542400000000, "2100-03-01T00:00:00.000000Z"},
	    {253402300799999999, "9999-12-31T23:59:59.999999Z"},
	    {INT64_MAX, "9999-12-31T23:59:59.999999Z"},
	    {-1, "1970-01-01T00:00:00.000000Z"},
	};
	char out[CHAIN_TIME_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		chain_format_time(rows[i].us, out);
		assert_string_equal(out, rows[i].text);
	}
}

/* Against the C library, across every day of four centuries. */
static void times_agree_with_gmtime(void **state)
{
	char out[CHAIN_TIME_SIZE], wanted[40];
	struct tm tm;

	(void)state;
	for (time_t t = 0; t < 12622780800 + 86400; t += 86399) {
		gmtime_r(&t, &tm);
		strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S.000000Z", &tm);
		chain_format_time((int64_t)t * 1000000, out);
		assert_string_equal(out, wanted);
	}
}

static void a_line_links_to_the_one_before(void **state)
{
	char line[LIMIT_AUDIT_LINE];
	struct chain_tip tip, before;
	struct chain_link link;
	size_t len;

	(void)state;
	chain_start(&tip);
	for (uint64_t i = 1; i <= 12; i++) {
		before = tip;
		len = make(&tip, 1000000, "\"kind\":\"begin\",\"verb\":\"x\"", line);
		assert_true(chain_parse(line, len, &link));
		assert_true(chain_hash_holds(line, len, &link));
		assert_true(chain_follows(&before, &link));
		assert_false(chain_follows(&tip, &link));
		assert_int_equal(link.seq, i);
		assert_string_equal(link.kind, "begin");
		assert_string_equal(link.prev, before.hash);
		assert_string_equal(link.hash, tip.hash);
	}
}

static void time_never_goes_back(void **state)
{
	char line[LIMIT_AUDIT_LINE];
	struct chain_tip tip;

	(void)state;
	chain_start(&tip);
	make(&tip, 2000000, "\"kind\":\"begin\"", line);
	make(&tip, 1000000, "\"kind\":\"begin\"", line);
	assert_string_equal(tip.time, "1970-01-01T00:00:02.000000Z");
	make(&tip, 3000000, "\"kind\":\"begin\"", line);
	assert_string_equal(tip.time, "1970-01-01T00:00:03.000000Z");
}

/* Whatever single byte changes, the line is no record or its hash doesn't hold. */
static void every_byte_counts(void **state)
{
	char line[LIMIT_AUDIT_LINE];
	struct chain_tip tip;
	struct chain_link link;
	size_t len;

	(void)state;
	chain_start(&tip);
	make(&tip, 1000000, "\"kind\":\"genesis\"", line);
	len = make(&tip, 1000000, "\"kind\":\"begin\",\"verb\":\"transfer\"", line);
	for (size_t i = 0; i < len; i++)
		for (int bit = 0; bit < 8; bit++) {
			line[i] = (char)(line[i] ^ 1 << bit);
			if (chain_parse(line, len, &link) && chain_hash_holds(line, len, &link))
				fail_msg("byte %zu, bit %d: %.*s", i, bit, (int)len, line);
			line[i] = (char)(line[i] ^ 1 << bit);
		}
	for (size_t cut = 0; cut < len; cut++)
		assert_false(chain_parse(line, cut, &link));
}

static void what_is_no_record(void **state)
{
#define H   "0000000000000000000000000000000000000000000000000000000000000000"
#define END ",\"prev\":\"" H "\",\"hash\":\"" H "\"}"
#define T   "\"time\":\"2026-01-02T03:04:05.678901Z\""
	static const char *const bad[] = {
	    "",
	    "{}",
	    "{\"seq\":01," T ",\"kind\":\"begin\"" END,
	    "{\"seq\":-1," T ",\"kind\":\"begin\"" END,
	    "{\"seq\":," T ",\"kind\":\"begin\"" END,
	    "{\"seq\":99999999999999999999," T ",\"kind\":\"begin\"" END,
	    "{\"seq\":1,\"time\":\"2026-01-02 03:04:05.678901Z\",\"kind\":\"begin\"" END,
	    "{\"seq\":1," T ",\"kind\":\"\"" END,
	    "{\"seq\":1," T ",\"kind\":\"BEGIN\"" END,
	    "{\"seq\":1," T ",\"kind\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa\"" END,
	    "{\"seq\":1," T ",\"kind\":\"begin" END,
	    " {\"seq\":1," T ",\"kind\":\"begin\"" END,
	    "{\"seq\":1," T ",\"kind\":\"begin\"" END " ",
	};
	struct chain_link link;
	const char *good = "{\"seq\":1," T ",\"kind\":\"begin\"" END;

	(void)state;
	assert_true(chain_parse(good, strlen(good), &link));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (chain_parse(bad[i], strlen(bad[i]), &link))
			fail_msg("taken for a record: %s", bad[i]);
}

static void too_long_is_refused(void **state)
{
	static char body[LIMIT_AUDIT_LINE + 1], line[LIMIT_AUDIT_LINE];
	struct hcp_err err = {0};
	struct chain_tip tip;
	size_t len;

	(void)state;
	memset(body, 'x', LIMIT_AUDIT_LINE);
	chain_start(&tip);
	tip.seq = UINT64_MAX - 1;
	assert_int_equal(
	    chain_line(&tip, 0, body, LIMIT_AUDIT_LINE - CHAIN_OVERHEAD, line, &len, &err), 0);
	assert_int_equal(len, LIMIT_AUDIT_LINE);
	assert_int_equal(chain_line(&tip, 0, "", 0, line, &len, &err), -1);
	chain_start(&tip);
	assert_int_equal(
	    chain_line(&tip, 0, body, LIMIT_AUDIT_LINE - CHAIN_OVERHEAD + 1, line, &len, &err),
	    -1);
	assert_int_equal(tip.seq, 0);
	assert_int_equal(len, 0);
}

static void heads(void **state)
{
	char text[CHAIN_HEAD_SIZE], line[LIMIT_AUDIT_LINE];
	struct chain_head h = {UINT64_MAX, UINT64_MAX, {0}}, back;

	(void)state;
	chain_start(&h.tip);
	chain_head_format(&h, text);
	assert_true(chain_head_parse(text, sizeof(text), &back));
	assert_int_equal(back.tip.seq, 0);
	make(&h.tip, 1, "\"kind\":\"begin\"", line);
	h.tip.seq = UINT64_MAX;
	chain_head_format(&h, text);
	assert_int_equal(text[sizeof(text) - 1], '\n');
	assert_null(memchr(text, '\0', sizeof(text)));
	assert_true(chain_head_parse(text, sizeof(text), &back));
	assert_true(back.inode == h.inode && back.size == h.size && back.tip.seq == h.tip.seq);
	assert_string_equal(back.tip.time, h.tip.time);
	assert_string_equal(back.tip.hash, h.tip.hash);
	assert_false(chain_head_parse(text, sizeof(text) - 1, &back));
	text[200] = 'x';
	assert_false(chain_head_parse(text, sizeof(text), &back));
	memset(text, 0, sizeof(text));
	assert_false(chain_head_parse(text, sizeof(text), &back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times),
	    cmocka_unit_test(times_agree_with_gmtime),
	    cmocka_unit_test(a_line_links_to_the_one_before),
	    cmocka_unit_test(time_never_goes_back),
	    cmocka_unit_test(every_byte_counts),
	    cmocka_unit_test(what_is_no_record),
	    cmocka_unit_test(too_long_is_refused),
	    cmocka_unit_test(heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
