/* SPDX-License-Identifier: MIT */
/* Taking up a log that was tampered with, and starting a new segment: the chain never begins
 * anew, and what is missing keeps its numbers. */
#include "audit/chain.h"
#include "audit/inspect.h"
#include "audit_log.h"

static int five_records(void **state)
{
	struct log *l;
	struct audit *a;

	if (log_setup(state) < 0)
		return -1;
	l = *state;
	a = log_open(l);
	for (int i = 1; i < 5; i++)
		log_add(a, AUDIT_DENY);
	audit_close(a);
	return 0;
}
#define FIVE_TEST(name) cmocka_unit_test_setup_teardown(name, five_records, log_teardown)

static void recover(struct log *l, bool needed, const char *text)
{
	struct audit_recovery r;
	struct hcp_err err = {0};
	struct audit *a = log_open(l);

	if (audit_recover(a, &r, &err) < 0)
		fail_msg("audit_recover: %s", err.text);
	assert_int_equal(r.needed, needed);
	assert_string_equal(r.text, text);
	/* and now everybody goes on, the one that is open and a new one */
	log_add(a, AUDIT_DENY);
	audit_close(a);
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
}

struct seen {
	char text[1000];
};

static void note(void *user, const struct audit_finding *f)
{
	struct seen *s = user;
	size_t used = strlen(s->text);

	snprintf(s->text + used, sizeof(s->text) - used, "%s%s@%llu;", f->known ? "known " : "",
		 audit_damage_name(f->damage), (unsigned long long)f->seq);
}

static struct audit_verdict verdict_is(struct log *l, const char *wanted)
{
	struct audit *a = log_open(l);
	struct audit_verdict v;
	struct hcp_err err = {0};
	struct seen s = {0};

	if (audit_verify(a, NULL, note, &s, &v, &err) < 0)
		fail_msg("audit_verify: %s", err.text);
	audit_close(a);
	if (strcmp(s.text, wanted) != 0)
		fail_msg("wanted: %s\ngot: %s", wanted, s.text);
	return v;
}

static void cut_last_records(struct log *l, size_t count)
{
	size_t len;
	char *text = log_read(l, "audit.jsonl", &len);

	for (; count > 0; count--)
		len = (size_t)((char *)memrchr(text, '\n', len - 1) + 1 - text);
	free(text);
	assert_int_equal(truncate(log_path(l, "audit.jsonl"), (off_t)len), 0);
}

static void a_log_that_is_fine(void **state)
{
	recover(*state, false, "");
	verdict_is(*state, "");
	assert_int_equal(log_check_dense(*state), 7);
}

static void no_log_yet(void **state)
{
	recover(*state, false, "");
	assert_int_equal(log_check_dense(*state), 3);
}

static void truncated(void **state)
{
	struct log *l = *state;
	json_t *all;

	cut_last_records(l, 2);
	recover(l, true, "goes on after record 5; records 4 to 5 are missing");
	assert_int_equal(verdict_is(l, "known missing@4;").known, 1);
	all = log_records(l, "audit.jsonl");
	assert_string_equal(log_text(json_array_get(all, 3), "kind"), "recover");
	assert_int_equal(log_number(json_array_get(all, 3), "seq"), 6);
	json_decref(all);
}

static void truncated_in_a_record(void **state)
{
	struct log *l = *state;
	size_t len;
	char *text = log_read(l, "audit.jsonl", &len), wanted[200];
	size_t rest = (size_t)(text + len - 100 - (char *)memrchr(text, '\n', len - 1) - 1);

	free(text);
	assert_int_equal(truncate(log_path(l, "audit.jsonl"), (off_t)len - 100), 0);
	snprintf(wanted, sizeof(wanted),
		 "goes on after record 5; record 5 is missing; %zu bytes that are no record "
		 "are in audit.torn-6",
		 rest);
	recover(l, true, wanted);
	verdict_is(l, "known missing@5;");
}

/* Put back where they were, the lost records fit. */
static void what_is_found_again_fits(void **state)
{
	struct log *l = *state;
	size_t len, new_len, kept;
	char *whole = log_read(l, "audit.jsonl", &len), *text, *both;

	cut_last_records(l, 2);
	text = log_read(l, "audit.jsonl", &kept);
	free(text);
	recover(l, true, "goes on after record 5; records 4 to 5 are missing");
	text = log_read(l, "audit.jsonl", &new_len);
	both = malloc(len + new_len - kept);
	assert_non_null(both);
	memcpy(both, whole, len);
	memcpy(both + len, text + kept, new_len - kept);
	log_write(l, "audit.jsonl", both, len + new_len - kept);
	verdict_is(l, "");
	free(whole);
	free(text);
	free(both);
}

static void deleted(void **state)
{
	struct log *l = *state;

	assert_int_equal(unlink(log_path(l, "audit.jsonl")), 0);
	recover(l, true,
		"goes on after record 5; the log was missing; records 1 to 5 are missing");
	verdict_is(l, "known missing@1;");
}

static void replaced_by_its_copy(void **state)
{
	struct log *l = *state;
	size_t len;
	char *text = log_read(l, "audit.jsonl", &len);

	log_write(l, "copy", text, len);
	free(text);
	assert_int_equal(rename(log_path(l, "copy"), log_path(l, "audit.jsonl")), 0);
	recover(l, true, "goes on after record 5; the log was another file");
	verdict_is(l, "");
}

static void head_missing_or_damaged(void **state)
{
	struct log *l = *state;
	char junk[1000] = {0};

	assert_int_equal(unlink(log_path(l, "audit.head")), 0);
	recover(l, true, "goes on after record 5; the head was missing");
	verdict_is(l, "");
	log_write(l, "audit.head", junk, sizeof(junk));
	recover(l, true, "goes on after record 8; the head was damaged");
	verdict_is(l, "");
}

static void everything_missing_under_a_running_host(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	struct audit_recovery r;
	struct hcp_err err = {0};

	log_add(a, AUDIT_DENY);
	unlink(log_path(l, "audit.jsonl"));
	unlink(log_path(l, "audit.head"));
	log_refused(a, "log truncated");
	assert_int_equal(audit_recover(a, &r, &err), 0);
	assert_string_equal(r.text, "goes on after record 0; the log was missing; the head was "
				    "missing");
	log_add(a, AUDIT_DENY);
	audit_close(a);
	verdict_is(l, "");
}

static void foreign_lines(void **state)
{
	struct log *l = *state;
	FILE *f = fopen(log_path(l, "audit.jsonl"), "ae");

	fputs("hello\nworld\n", f);
	fclose(f);
	recover(l, true,
		"goes on after record 5; 12 bytes that are no record are in audit.torn-6");
	verdict_is(l, "");
}

/* A running host's next record goes through once somebody else has recovered. */
static void hosts_go_on_by_themselves(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);

	log_add(a, AUDIT_DENY);
	assert_int_equal(unlink(log_path(l, "audit.jsonl")), 0);
	log_refused(a, "log truncated");
	recover(l, true,
		"goes on after record 6; the log was missing; records 1 to 6 are missing");
	log_add(a, AUDIT_DENY);
	audit_close(a);
	verdict_is(l, "known missing@1;");
}

static void rotation(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l), *other = log_open(l);
	char name[NAME_MAX + 1];
	struct hcp_err err = {0};
	struct audit_verdict v;
	struct stat st;
	json_t *all;

	log_add(other, AUDIT_DENY);
	assert_int_equal(audit_rotate(a, 1 << 20, name, &err), 0);
	assert_string_equal(name, "");
	assert_int_equal(audit_rotate(a, 100, name, &err), 0);
	assert_string_equal(name, "audit-000000000006.jsonl");
	assert_int_equal(stat(log_path(l, name), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	/* a host that had the old file open follows */
	log_add(other, AUDIT_DENY);
	log_add(a, AUDIT_DENY);
	all = log_records(l, "audit.jsonl");
	assert_int_equal(json_array_size(all), 3);
	assert_string_equal(log_text(json_array_get(all, 0), "kind"), "rotate");
	assert_string_equal(log_text(json_array_get(all, 0), "detail"),
			    "continues audit-000000000006.jsonl");
	assert_int_equal(log_number(json_array_get(all, 0), "seq"), 7);
	json_decref(all);
	audit_close(a);
	audit_close(other);
	v = verdict_is(l, "");
	assert_int_equal(v.records, 9);
	assert_int_equal(v.segments, 2);
}

/* The state between any two steps, made by hand from what is there before and after. */
static void interrupted_rotation(void **state)
{
	struct log *l = *state;
	struct chain_head head;
	char text[CHAIN_HEAD_SIZE];
	size_t len;
	char *now = log_read(l, "audit.head", &len);
	struct audit *a;

	assert_true(chain_head_parse(now, len, &head));
	free(now);
	/* renamed, and the head not told */
	assert_int_equal(
	    rename(log_path(l, "audit.jsonl"), log_path(l, "audit-000000000005.jsonl")), 0);
	verdict_is(l, "");
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	assert_int_equal(verdict_is(l, "").records, 7);
	/* the head told, and no new file */
	now = log_read(l, "audit.head", &len);
	assert_true(chain_head_parse(now, len, &head));
	free(now);
	assert_int_equal(
	    rename(log_path(l, "audit.jsonl"), log_path(l, "audit-000000000007.jsonl")), 0);
	head.inode = head.size = 0;
	chain_head_format(&head, text);
	log_write(l, "audit.head", text, sizeof(text));
	verdict_is(l, "");
	/* a new file with nothing in it */
	log_write(l, "audit.jsonl", "", 0);
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	assert_int_equal(verdict_is(l, "").records, 9);
}

/* Renaming it to something else than its last record isn't a rotation. */
static void a_rename_by_hand_is_noticed(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);

	assert_int_equal(
	    rename(log_path(l, "audit.jsonl"), log_path(l, "audit-000000000004.jsonl")), 0);
	log_refused(a, "log truncated");
	assert_int_equal(
	    rename(log_path(l, "audit-000000000004.jsonl"), log_path(l, "audit.jsonl")), 0);
	log_add(a, AUDIT_DENY);
	assert_int_equal(unlink(log_path(l, "audit.head")), 0);
	assert_int_equal(
	    rename(log_path(l, "audit.jsonl"), log_path(l, "audit-000000000006.jsonl")), 0);
	audit_close(a);
	a = log_open(l);
	log_refused(a, "log truncated");
	audit_close(a);
	recover(l, true, "goes on after record 6; the log was missing; the head was missing");
	verdict_is(l, "");
}

static void rotation_by_size(void **state)
{
	struct log *l = *state;
	struct audit *a, *other;
	struct stat st;
	struct audit_verdict v;

	l->set.audit_rotate_bytes = 4000;
	a = log_open(l);
	other = log_open(l);
	for (int i = 0; i < 20; i++)
		log_add(i % 2 ? a : other, AUDIT_DENY);
	audit_close(a);
	audit_close(other);
	v = verdict_is(l, "");
	assert_true(v.segments >= 3);
	assert_int_equal(v.records, 5 + 20 + v.segments - 1);
	/* no file is longer than the limit and one record */
	assert_int_equal(stat(log_path(l, "audit.jsonl"), &st), 0);
	assert_true(st.st_size < 4000 + 1000);
}

static void rotation_by_age(void **state)
{
	struct log *l = *state;
	struct audit *a;

	l->set.audit_rotate_ms = 3600 * 1000;
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	assert_int_equal(verdict_is(l, "").segments, 1);
	usleep(2000);
	l->set.audit_rotate_ms = 1;
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	assert_int_equal(verdict_is(l, "").segments, 2);
}

static void retain(struct log *l, size_t keep, size_t removed, size_t left)
{
	struct audit_removal r;
	struct hcp_err err = {0};
	struct audit *a;

	l->set.audit_keep = (int64_t)keep;
	a = log_open(l);
	if (audit_retain(a, &r, &err) < 0)
		fail_msg("audit_retain: %s", err.text);
	assert_int_equal(r.removed, removed);
	assert_int_equal(r.left, left);
	assert_int_equal(r.reason[0] != '\0', left > 0);
	audit_close(a);
}

/* Segments that end with records 6, 8, 10 and 12. */
static void four_segments(struct log *l)
{
	struct audit *a = log_open(l);
	char name[NAME_MAX + 1];
	struct hcp_err err = {0};

	log_add(a, AUDIT_DENY);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(audit_rotate(a, 0, name, &err), 0);
		log_add(a, AUDIT_DENY);
	}
	audit_close(a);
	assert_int_equal(verdict_is(l, "").segments, 5);
}

static void old_segments_are_removed(void **state)
{
	struct log *l = *state;
	struct audit_verdict v;
	struct audit *a;

	four_segments(l);
	retain(l, 0, 0, 0);
	retain(l, 4, 0, 0);
	retain(l, 3, 1, 0);
	v = verdict_is(l, "");
	assert_int_equal(v.segments, 4);
	assert_int_equal(v.first_seq, 7);
	assert_int_equal(v.last_seq, 15);
	assert_int_equal(access(log_path(l, "audit-000000000006.jsonl"), F_OK), -1);
	retain(l, 1, 2, 0);
	v = verdict_is(l, "");
	assert_int_equal(v.segments, 2);
	assert_int_equal(v.first_seq, 11);
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	/* one that was removed by somebody else is missing all the same */
	assert_int_equal(unlink(log_path(l, "audit-000000000012.jsonl")), 0);
	verdict_is(l, "missing segment@1;");
}

static void a_damaged_log_stays_whole(void **state)
{
	struct log *l = *state;
	size_t len;
	char *text;

	four_segments(l);
	assert_int_equal(chmod(log_path(l, "audit-000000000008.jsonl"), 0600), 0);
	text = log_read(l, "audit-000000000008.jsonl", &len);
	*strstr(text, "alice") = 'A';
	log_write(l, "audit-000000000008.jsonl", text, len);
	free(text);
	verdict_is(l, "edited@8;");
	retain(l, 1, 0, 3);
	/* though it is another one that would go */
	retain(l, 3, 0, 1);
	assert_int_equal(verdict_is(l, "edited@8;").segments, 5);
}

/* Half of it done: recorded and not removed yet. */
static void an_interrupted_removal_goes_on(void **state)
{
	struct log *l = *state;
	size_t len;
	char *text;

	four_segments(l);
	text = log_read(l, "audit-000000000006.jsonl", &len);
	retain(l, 3, 1, 0);
	log_write(l, "audit-000000000006.jsonl", text, len);
	free(text);
	assert_int_equal(verdict_is(l, "").segments, 5);
	retain(l, 3, 1, 0);
	assert_int_equal(verdict_is(l, "").segments, 4);
}

/* Many hosts append while others rotate. */
static void rotation_under_load(void **state)
{
	struct log *l = *state;
	int status, failures = 0;
	struct audit_verdict v;

	l->set.audit_sync = AUDIT_SYNC_ALWAYS;
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			struct audit *a = log_open(l);
			char name[NAME_MAX + 1];
			struct hcp_err err = {0};

			for (int k = 0; k < 50; k++) {
				if (log_try(a, AUDIT_DENY, &err) < 0)
					_exit(1);
				if (k % 10 == i && audit_rotate(a, 0, name, &err) < 0)
					_exit(2);
			}
			_exit(0);
		}
	while (wait(&status) > 0)
		failures += status != 0;
	assert_int_equal(failures, 0);
	v = verdict_is(l, "");
	assert_int_equal(v.segments, 21);
	assert_int_equal(v.records, 5 + 200 + 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FIVE_TEST(a_log_that_is_fine),
	    LOG_TEST(no_log_yet),
	    FIVE_TEST(truncated),
	    FIVE_TEST(truncated_in_a_record),
	    FIVE_TEST(what_is_found_again_fits),
	    FIVE_TEST(deleted),
	    FIVE_TEST(replaced_by_its_copy),
	    FIVE_TEST(head_missing_or_damaged),
	    FIVE_TEST(everything_missing_under_a_running_host),
	    FIVE_TEST(foreign_lines),
	    FIVE_TEST(hosts_go_on_by_themselves),
	    FIVE_TEST(rotation),
	    FIVE_TEST(interrupted_rotation),
	    FIVE_TEST(a_rename_by_hand_is_noticed),
	    FIVE_TEST(rotation_by_size),
	    FIVE_TEST(rotation_by_age),
	    FIVE_TEST(old_segments_are_removed),
	    FIVE_TEST(a_damaged_log_stays_whole),
	    FIVE_TEST(an_interrupted_removal_goes_on),
	    FIVE_TEST(rotation_under_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
