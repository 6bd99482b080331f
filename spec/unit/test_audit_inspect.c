/* SPDX-License-Identifier: MIT */
/* Reading, exporting and signing a log. */
#include "audit/inspect.h"
#include "audit_log.h"

struct got {
	char ids[4000]; /* "<seq>," of each line */
	size_t count, stop_after;
};

static int collect(void *user, const struct audit_line *line)
{
	struct got *g = user;
	size_t used = strlen(g->ids);

	assert_null(memchr(line->text, '\n', line->len));
	snprintf(g->ids + used, sizeof(g->ids) - used, "%lld,",
		 line->record ? log_number(line->record, "seq") : -1);
	return ++g->count == g->stop_after;
}

static void each_is(struct audit *a, const struct audit_filter *f, const char *wanted)
{
	struct got g = {0};
	struct hcp_err err = {0};

	assert_int_equal(audit_each(a, f, collect, &g, &err), 0);
	assert_string_equal(g.ids, wanted);
}

/* Pairs of key and value, NULL at the end. */
static void where(struct audit *a, const char *wanted, ...)
{
	struct audit_term terms[4];
	struct audit_filter f = {terms, 0};
	const char *key;
	va_list ap;

	va_start(ap, wanted);
	while ((key = va_arg(ap, const char *))) {
		assert_true(audit_term_known(key));
		terms[f.count++] = (struct audit_term){key, va_arg(ap, const char *)};
	}
	va_end(ap);
	each_is(a, &f, wanted);
}

static void tail_is(struct audit *a, size_t count, const char *wanted)
{
	struct got g = {0};
	struct hcp_err err = {0};

	assert_int_equal(audit_tail(a, count, collect, &g, &err), 0);
	assert_string_equal(g.ids, wanted);
}

static void rotate(struct audit *a)
{
	char name[NAME_MAX + 1];
	struct hcp_err err = {0};

	assert_int_equal(audit_rotate(a, 0, name, &err), 0);
}

static void nothing_to_read(void **state)
{
	struct audit *a = log_open(*state);

	each_is(a, NULL, "");
	tail_is(a, 10, "");
	/* looking starts no log */
	assert_int_equal(access(log_path(*state, "audit.jsonl"), F_OK), -1);
	audit_close(a);
}

static void the_last_lines(void **state)
{
	struct audit *a = log_open(*state);
	FILE *f;

	for (int i = 0; i < 4; i++)
		log_add(a, AUDIT_DENY);
	rotate(a);
	log_add(a, AUDIT_DENY);
	rotate(a);
	log_add(a, AUDIT_DENY);
	each_is(a, NULL, "1,2,3,4,5,6,7,8,9,");
	tail_is(a, 0, "");
	tail_is(a, 1, "9,");
	tail_is(a, 2, "8,9,");
	tail_is(a, 3, "7,8,9,");
	tail_is(a, 5, "5,6,7,8,9,");
	tail_is(a, 9, "1,2,3,4,5,6,7,8,9,");
	tail_is(a, 100, "1,2,3,4,5,6,7,8,9,");
	/* a torn line counts as one */
	f = fopen(log_path(*state, "audit.jsonl"), "ae");
	fputs("{\"seq\":10", f);
	fclose(f);
	tail_is(a, 2, "9,-1,");
	audit_close(a);
}

/* Longer than the blocks that it is read by. */
static void the_last_of_many_lines(void **state)
{
	struct audit *a = log_open(*state);
	struct got g = {0};
	struct hcp_err err = {0};

	for (int i = 0; i < 600; i++)
		log_add(a, AUDIT_DENY);
	assert_int_equal(audit_tail(a, 350, collect, &g, &err), 0);
	assert_int_equal(g.count, 350);
	assert_memory_equal(g.ids, "252,", 4);
	audit_close(a);
}

static void a_reader_may_stop(void **state)
{
	struct audit *a = log_open(*state);
	struct got g = {.stop_after = 2};
	struct hcp_err err = {0};

	for (int i = 0; i < 4; i++)
		log_add(a, AUDIT_DENY);
	assert_int_equal(audit_each(a, NULL, collect, &g, &err), 0);
	assert_string_equal(g.ids, "1,2,");
	audit_close(a);
}

static void filters(void **state)
{
	struct audit *a = log_open(*state);
	struct hcp_err err = {0};
	struct audit_record r = log_record(AUDIT_BEGIN, "RUN1");

	assert_int_equal(audit_append(a, &r, &err), 0);
	r.kind = AUDIT_END;
	r.error = "exit 3";
	r.exit_code = 3;
	assert_int_equal(audit_append(a, &r, &err), 0);
	r = log_record(AUDIT_DENY, "RUN2");
	r.principal = "user:bob";
	r.verb = "close";
	r.project = "p1";
	r.parent_run_id = "RUN1";
	r.exit_code = -1;
	assert_int_equal(audit_append(a, &r, &err), 0);
	where(a, "3,", "kind", "end", NULL);
	where(a, "2,3,", "run_id", "RUN1", NULL);
	where(a, "4,", "principal", "user:bob", NULL);
	where(a, "4,", "pack", "ledger", "verb", "close", NULL);
	where(a, "", "pack", "ledger", "verb", "x", NULL);
	where(a, "4,", "project", "p1", NULL);
	where(a, "2,3,4,", "tenant", "acme", "face", "library", NULL);
	where(a, "3,", "text", "exit 3", NULL);
	where(a, "1,2,3,4,", "since", "2020", NULL);
	where(a, "", "since", "9020", NULL);
	where(a, "", "until", "2020", NULL);
	where(a, "1,2,3,4,", "until", "9020-01", NULL);
	/* numbers in decimal, and never a part of a value */
	where(a, "3,", "exit_code", "3", NULL);
	where(a, "", "exit_code", "03", NULL);
	where(a, "3,", "seq", "3", "uid", "1000", NULL);
	where(a, "", "principal", "user:", NULL);
	where(a, "", "mode", "", NULL);
	/* a run, those that it asked for, and theirs */
	r.run_id = "RUN3";
	r.parent_run_id = "RUN2";
	assert_int_equal(audit_append(a, &r, &err), 0);
	where(a, "2,3,4,5,", "run", "RUN1", NULL);
	where(a, "4,5,", "run", "RUN2", NULL);
	where(a, "5,", "run", "RUN3", NULL);
	where(a, "", "run", "RUN", NULL);
	where(a, "5,", "seq", "5", "run", "RUN1", NULL);
	where(a, "5,", "run", "RUN1", "run_id", "RUN3", NULL);
	assert_false(audit_term_known("runs"));
	assert_false(audit_term_known(""));
	audit_close(a);
}

static void whole_days_are_in(void **state)
{
	struct audit *a = log_open(*state);
	char day[11] = "";
	json_t *all;

	log_add(a, AUDIT_DENY);
	all = log_records(*state, "audit.jsonl");
	snprintf(day, sizeof(day), "%.10s", log_text(json_array_get(all, 0), "time"));
	json_decref(all);
	where(a, "1,2,", "since", day, "until", day, NULL);
	audit_close(a);
}

static void csv(void **state)
{
	json_t *r = json_pack("{s:i,s:s,s:s,s:{s:s},s:s}", "seq", 7, "kind", "deny", "pack",
			      "=1+1", "args", "a", "say \"hi\"", "error", "x,y\nz");
	AUTO_BUF out = {0};

	(void)state;
	audit_csv_header(&out);
	assert_memory_equal(out.data, "seq,time,kind,run_id,", 21);
	out.len = 0;
	audit_csv_row(r, &out);
	assert_string_equal(out.data, "\"7\",,\"deny\",,,,,,,,,,\"'=1+1\",,,,,"
				      "\"{\"\"a\"\":\"\"say \\\"\"hi\\\"\"\"\"}\",,,"
				      "\"x,y\nz\",,,,,,,,,,,,,\r\n");
	json_decref(r);
}

static void otel(void **state)
{
	json_t *r = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:[s]}", "seq", 7, "time",
			      "2026-01-02T03:04:05.678901Z", "kind", "deny", "pack", "ledger",
			      "verb", "transfer", "error", "confirm required", "args", "to");
	AUTO_BUF out = {0};
	json_t *v, *record, *attribute;
	size_t i;

	(void)state;
	audit_otel_line(r, &out);
	assert_int_equal(out.data[out.len - 1], '\n');
	v = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(v);
	record =
	    json_object_get(json_array_get(json_object_get(v, "resourceLogs"), 0), "scopeLogs");
	record = json_array_get(json_object_get(json_array_get(record, 0), "logRecords"), 0);
	assert_string_equal(log_text(record, "timeUnixNano"), "1767323045678901000");
	assert_string_equal(log_text(record, "severityText"), "WARN");
	assert_string_equal(log_text(json_object_get(record, "body"), "stringValue"),
			    "deny ledger transfer: confirm required");
	json_array_foreach(json_object_get(record, "attributes"), i,
			   attribute) if (strcmp(log_text(attribute, "key"), "hcp.args") == 0)
	    assert_string_equal(log_text(json_object_get(attribute, "value"), "stringValue"),
				"[\"to\"]");
	json_decref(v);
	json_decref(r);
}

/* A root of its own, beside the log. */
static void give_root(struct log *l, char path[96])
{
	snprintf(path, 96, "%s/root", l->state);
	assert_int_equal(mkdir(path, 0755), 0);
	l->root.path = path;
	l->root.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(l->root.fd >= 0);
}

static void checkpoints(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	char path[96], key[AUDIT_KEY_SIZE], again[AUDIT_KEY_SIZE], file[128];
	struct audit_checkpoint c;
	struct audit_verdict v;
	struct hcp_err err = {0};
	AUTO_BUF out = {0};
	struct stat st;
	char *digit;

	give_root(l, path);
	assert_int_equal(audit_sign(a, &l->root, &out, &err), -1);
	assert_non_null(strstr(err.text, "secrets"));
	/* no key, no record */
	assert_int_equal(access(log_path(l, "audit.jsonl"), F_OK), -1);
	memset(&err, 0, sizeof(err));
	assert_int_equal(audit_key_create(&l->root, key, &err), 0);
	snprintf(file, sizeof(file), "%s/secrets/audit_key", path);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(audit_key_public(&l->root, again, &err), 0);
	assert_string_equal(key, again);
	/* never over a key that is there */
	assert_int_equal(audit_key_create(&l->root, again, &err), -1);
	memset(&err, 0, sizeof(err));

	log_add(a, AUDIT_DENY);
	assert_int_equal(audit_sign(a, &l->root, &out, &err), 0);
	assert_int_equal(audit_checkpoint_read(out.data, out.len, key, &c, &err), 0);
	assert_int_equal(c.seq, 3);
	log_add(a, AUDIT_DENY);
	assert_int_equal(audit_verify(a, &c, NULL, NULL, &v, &err), 0);
	assert_true(v.intact);

	/* another number, another key, another form */
	digit = strstr(out.data, "\"seq\":3") + 6;
	*digit = '4';
	assert_int_equal(audit_checkpoint_read(out.data, out.len, key, &c, &err), -1);
	assert_int_equal(c.seq, 0);
	*digit = '3';
	memset(&err, 0, sizeof(err));
	strcpy(again, key);
	again[0] = again[0] == '0' ? '1' : '0';
	assert_int_equal(audit_checkpoint_read(out.data, out.len, again, &c, &err), -1);
	assert_non_null(strstr(err.text, "isn't signed by that key"));
	assert_int_equal(audit_checkpoint_read(out.data, out.len, "", &c, NULL), -1);
	assert_int_equal(audit_checkpoint_read("{}", 2, key, &c, NULL), -1);

	/* a key that others can read is no key */
	assert_int_equal(chmod(file, 0640), 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(audit_sign(a, &l->root, &out, &err), -1);
	assert_non_null(strstr(err.text, "is open to others"));
	fd_close(&l->root.fd);
	audit_close(a);
}

static void keys_of_the_wrong_form(void **state)
{
	static const char *const bad[] = {
	    "abc\n", "zz11223344556677889900112233445566778899001122334455667788990011\n",
	    "0011223344556677889900112233445566778899001122334455667788990011 \n"};
	struct log *l = *state;
	char path[96], key[AUDIT_KEY_SIZE], file[128];

	give_root(l, path);
	assert_int_equal(audit_key_create(&l->root, key, NULL), 0);
	snprintf(file, sizeof(file), "%s/secrets/audit_key", path);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hcp_err err = {0};
		FILE *f = fopen(file, "we");

		assert_non_null(f);
		fputs(bad[i], f);
		fclose(f);
		assert_int_equal(audit_key_public(&l->root, key, &err), -1);
		assert_string_equal(key, "");
		assert_non_null(strstr(err.text, "must be 64 hex digits"));
	}
	assert_int_equal(truncate(file, 0), 0);
	assert_int_equal(audit_key_public(&l->root, key, &(struct hcp_err){0}), -1);
	assert_string_equal(key, "");
	fd_close(&l->root.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    LOG_TEST(nothing_to_read),
	    LOG_TEST(the_last_lines),
	    LOG_TEST(the_last_of_many_lines),
	    LOG_TEST(a_reader_may_stop),
	    LOG_TEST(filters),
	    LOG_TEST(whole_days_are_in),
	    cmocka_unit_test(csv),
	    cmocka_unit_test(otel),
	    LOG_TEST(checkpoints),
	    LOG_TEST(keys_of_the_wrong_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
