/* SPDX-License-Identifier: MIT */
/* What a record says: order, absence, limits, levels, and that no value can break its line. */
#include "audit/chain.h"
#include "audit/record.h"
#include "base/limits.h"
#include "audit_log.h"

static void body(const struct audit_record *r, enum audit_args level, struct buf *out)
{
	struct hcp_err err = {0};

	if (record_body(r, level, out, &err) < 0)
		fail_msg("record_body: %s", err.text);
	assert_true(out->len <= LIMIT_AUDIT_LINE - CHAIN_OVERHEAD);
	assert_null(memchr(out->data, '\n', out->len));
}

static json_t *parse(const struct buf *b)
{
	char *text;
	json_t *v;

	assert_true(asprintf(&text, "{%s}", b->data) > 0);
	v = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!v)
		fail_msg("no JSON: %.300s", text);
	free(text);
	return v;
}

static void keys_stand_in_one_order(void **state)
{
	json_t *args = json_pack("{s:s,s:i}", "to", "rent", "amount", 10);
	struct audit_record r = log_record(AUDIT_END, "RUN");
	AUTO_BUF b = {0};

	(void)state;
	r.parent_run_id = "PARENT";
	r.pid = 77;
	r.project = "p1";
	r.pack_digest = "sha256:aa";
	r.policy_digest = "sha256:bb";
	r.args = args;
	r.mode = "mock";
	r.step = 9;
	r.error = "exit 3";
	r.exit_code = 3;
	r.signal = 9;
	r.duration_us = 1234;
	r.bytes_out = 5;
	r.tier = "strong";
	r.layers = "userns,landlock7";
	r.limits_held = "rlimit";
	r.because = "why";
	r.binding_id = "b1";
	r.revoke_error = "no";
	r.detail = "d";
	body(&r, AUDIT_ARGS_REDACTED, &b);
	assert_string_equal(
	    b.data,
	    "\"kind\":\"end\",\"run_id\":\"RUN\",\"parent_run_id\":\"PARENT\","
	    "\"face\":\"library\",\"uid\":1000,\"pid\":77,\"session\":\"default\","
	    "\"principal\":\"user:alice\",\"tenant\":\"acme\",\"project\":\"p1\","
	    "\"pack\":\"ledger\",\"pack_version\":\"1.0.0\",\"pack_digest\":\"sha256:aa\","
	    "\"policy_digest\":\"sha256:bb\",\"verb\":\"transfer\","
	    "\"args\":{\"to\":\"rent\",\"amount\":10},\"mode\":\"mock\",\"step\":9,"
	    "\"error\":\"exit 3\",\"exit_code\":3,\"signal\":9,\"duration_us\":1234,"
	    "\"bytes_out\":5,\"tier\":\"strong\",\"layers\":\"userns,landlock7\","
	    "\"limits_held\":\"rlimit\",\"because\":\"why\",\"binding_id\":\"b1\","
	    "\"revoke_error\":\"no\","
	    "\"detail\":\"d\"");
	json_decref(args);
}

static void what_is_unknown_is_left_out(void **state)
{
	const struct audit_record r = {.kind = AUDIT_DENY,
				       .uid = -1,
				       .pid = -1,
				       .step = 0,
				       .exit_code = -1,
				       .signal = -1,
				       .duration_us = -1,
				       .bytes_out = -1};
	AUTO_BUF b = {0};

	(void)state;
	body(&r, AUDIT_ARGS_REDACTED, &b);
	assert_string_equal(b.data, "\"kind\":\"deny\",\"step\":0");
}

static void a_kind_is_needed(void **state)
{
	static const enum audit_kind bad[] = {AUDIT_NONE, (enum audit_kind)99};
	struct audit_record r = log_record(AUDIT_NONE, "RUN");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		AUTO_BUF b = {0};
		struct hcp_err err = {0};

		r.kind = bad[i];
		assert_int_equal(record_body(&r, AUDIT_ARGS_REDACTED, &b, &err), -1);
		assert_int_equal(err.code, HCP_E_INVALID);
	}
}

static void levels_of_args(void **state)
{
	json_t *args = json_pack("{s:s,s:s}", "to", "rent", "a\"b", "x");
	struct audit_record r = log_record(AUDIT_BEGIN, "RUN");
	AUTO_BUF none = {0};
	AUTO_BUF keys = {0};

	(void)state;
	r.args = args;
	body(&r, AUDIT_ARGS_NONE, &none);
	assert_null(strstr(none.data, "args"));
	body(&r, AUDIT_ARGS_KEYS, &keys);
	assert_non_null(strstr(keys.data, "\"args\":[\"to\",\"a\\\"b\"]"));
	assert_null(strstr(keys.data, "rent"));
	json_decref(args);
}

/* A level that nobody defined shows nothing. */
static void an_unknown_level_shows_nothing(void **state)
{
	json_t *args = json_pack("{s:s}", "to", "rent");
	struct audit_record r = log_record(AUDIT_BEGIN, "RUN");
	AUTO_BUF b = {0};

	(void)state;
	r.args = args;
	body(&r, (enum audit_args)77, &b);
	assert_null(strstr(b.data, "rent"));
	json_decref(args);
}

static json_t *args_of(size_t len)
{
	char *text = calloc(1, len + 1);
	json_t *args;

	assert_non_null(text);
	memset(text, 'x', len);
	args = json_pack("{s:s}", "text", text);
	free(text);
	return args;
}

/* At every length around the limit: whole or digest, never in between, never too long. */
static void long_args_become_their_digest(void **state)
{
	struct audit_record r = log_record(AUDIT_BEGIN, "RUN");
	bool cut = false;

	(void)state;
	for (size_t len = LIMIT_AUDIT_LINE - 700; len < LIMIT_AUDIT_LINE; len++) {
		AUTO_BUF b = {0};
		json_t *args = args_of(len), *v, *a;

		r.args = args;
		body(&r, AUDIT_ARGS_REDACTED, &b);
		v = parse(&b);
		a = json_object_get(v, "args");
		if (json_object_get(a, "digest")) {
			cut = true;
			assert_int_equal(log_number(a, "bytes"), len + 11);
			assert_int_equal(strlen(log_text(a, "digest")), 7 + 64);
		} else {
			assert_false(cut);
			assert_true(json_equal(a, args));
		}
		json_decref(v);
		json_decref(args);
	}
	assert_true(cut);
}

/* A megabyte in every field at once must not keep the record out of the log. */
static void every_field_at_its_worst_fits(void **state)
{
	static const char *const units[] = {
	    "x", "\"", "\x01", "\xe2\x80\xa8", "\xf0\x9f\x98\x80", "\xff"};
	struct audit_record r = log_record(AUDIT_DENY, NULL);
	size_t unit, n;
	char *text = malloc((1 << 20) + 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		AUTO_BUF b = {0};
		json_t *v, *args;

		unit = strlen(units[i]);
		for (n = 0; n + unit <= 1 << 20; n += unit)
			memcpy(text + n, units[i], unit);
		text[n] = '\0';
		args = args_of(1 << 20);
		r.run_id = r.parent_run_id = r.face = r.session = r.principal = text;
		r.tenant = r.project = r.pack = r.pack_version = r.pack_digest = text;
		r.policy_digest = r.verb = r.mode = r.error = r.tier = r.layers = text;
		r.because = r.binding_id = r.limits_held = r.detail = r.revoke_error = text;
		r.uid = r.pid = r.duration_us = r.bytes_out = INT64_MAX;
		r.step = r.exit_code = r.signal = INT32_MAX;
		r.args = args;
		body(&r, AUDIT_ARGS_REDACTED, &b);
		v = parse(&b);
		assert_non_null(strstr(log_text(v, "error"), "\u2026 (10485"));
		assert_non_null(strstr(log_text(v, "pack"), " bytes)"));
		assert_int_equal(strlen(log_text(json_object_get(v, "args"), "digest")), 71);
		json_decref(v);
		json_decref(args);
	}
	free(text);
}

/* Cut between characters, whatever stands at the limit. */
static void texts_are_cut_between_characters(void **state)
{
	struct audit_record r = log_record(AUDIT_DENY, NULL);
	char text[4096];

	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		AUTO_BUF b = {0};
		size_t n = shift;

		memset(text, 'a', shift);
		for (; n + 5 < sizeof(text); n += 4)
			memcpy(text + n, "\xf0\x9f\x98\x80", 4);
		text[n] = '\0';
		r.error = text;
		body(&r, AUDIT_ARGS_REDACTED, &b);
		assert_null(strstr(b.data, "\xef\xbf\xbd"));
	}
}

static void bytes_that_are_no_text_stay_on_one_line(void **state)
{
	struct audit_record r = log_record(AUDIT_DENY, NULL);
	AUTO_BUF b = {0};
	json_t *v;

	(void)state;
	r.error = "a\nb\r\x1b[31m\x7f\xff\xc0\xaf\xed\xa0\x80\xe2\x80\xa8\"\\";
	body(&r, AUDIT_ARGS_REDACTED, &b);
	v = parse(&b);
	for (const char *p = b.data; *p; p++)
		assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
	assert_null(strstr(b.data, "\xe2\x80\xa8"));
	json_decref(v);
}

static void run_ids_are_ulids(void **state)
{
	char id[2000][AUDIT_RUN_ID_SIZE];

	(void)state;
	for (size_t i = 0; i < 2000; i++) {
		audit_new_run_id(id[i]);
		assert_int_equal(strlen(id[i]), 26);
		assert_int_equal(strspn(id[i], "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
		assert_true(id[i][0] <= '7');
		/* time first, so ids sort by it */
		if (i > 0)
			assert_true(strncmp(id[i - 1], id[i], 10) <= 0);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(id[k], id[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_stand_in_one_order),
	    cmocka_unit_test(what_is_unknown_is_left_out),
	    cmocka_unit_test(a_kind_is_needed),
	    cmocka_unit_test(levels_of_args),
	    cmocka_unit_test(an_unknown_level_shows_nothing),
	    cmocka_unit_test(long_args_become_their_digest),
	    cmocka_unit_test(every_field_at_its_worst_fits),
	    cmocka_unit_test(texts_are_cut_between_characters),
	    cmocka_unit_test(bytes_that_are_no_text_stay_on_one_line),
	    cmocka_unit_test(run_ids_are_ulids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
