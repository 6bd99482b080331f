/* SPDX-License-Identifier: MIT */
/* Verification tells the kinds of damage apart, each with its place. */
#include "audit/chain.h"
#include "audit/inspect.h"
#include "audit_log.h"

#define RECORDS 10 /* genesis and nine more */

struct seen {
	char text[4000]; /* "<kind>@<seq>;" each */
	struct audit_verdict verdict;
};

static void note(void *user, const struct audit_finding *f)
{
	struct seen *s = user;
	size_t used = strlen(s->text);

	snprintf(s->text + used, sizeof(s->text) - used, "%s%s@%llu;", f->known ? "known " : "",
		 audit_damage_name(f->damage), (unsigned long long)f->seq);
	assert_non_null(f->text);
}

static void verify_against(struct log *l, const struct audit_checkpoint *known, struct seen *s)
{
	struct hcp_err err = {0};
	struct audit *a = log_open(l);

	memset(s, 0, sizeof(*s));
	if (audit_verify(a, known, note, s, &s->verdict, &err) < 0)
		fail_msg("audit_verify: %s", err.text);
	audit_close(a);
}

static void verdict_is(struct log *l, const char *wanted)
{
	struct seen s;

	verify_against(l, NULL, &s);
	if (strcmp(s.text, wanted) != 0)
		fail_msg("wanted: %s\ngot: %s", wanted, s.text);
	assert_int_equal(s.verdict.intact, s.verdict.damages == 0);
}

/* The log as lines that can be moved about. */
struct lines {
	char *text, *line[32];
	size_t len[32], count;
};

static void load(struct log *l, struct lines *t)
{
	size_t len;
	char *p, *nl;

	memset(t, 0, sizeof(*t));
	p = t->text = log_read(l, "audit.jsonl", &len);
	for (; *p; p = nl + 1) {
		nl = strchr(p, '\n');
		assert_non_null(nl);
		t->line[t->count] = p;
		t->len[t->count++] = (size_t)(nl + 1 - p);
	}
}

/* The inode stays: only the bytes change. */
static void store(struct log *l, struct lines *t)
{
	FILE *f = fopen(log_path(l, "audit.jsonl"), "we");

	assert_non_null(f);
	for (size_t i = 0; i < t->count; i++)
		assert_int_equal(fwrite(t->line[i], 1, t->len[i], f), t->len[i]);
	fclose(f);
	free(t->text);
}

static void drop(struct lines *t, size_t i)
{
	t->count--;
	memmove(&t->line[i], &t->line[i + 1], (t->count - i) * sizeof(t->line[0]));
	memmove(&t->len[i], &t->len[i + 1], (t->count - i) * sizeof(t->len[0]));
}

static void insert(struct lines *t, size_t i, char *line, size_t len)
{
	memmove(&t->line[i + 1], &t->line[i], (t->count - i) * sizeof(t->line[0]));
	memmove(&t->len[i + 1], &t->len[i], (t->count - i) * sizeof(t->len[0]));
	t->line[i] = line;
	t->len[i] = len;
	t->count++;
}

static int ten_records(void **state)
{
	struct log *l;
	struct audit *a;

	if (log_setup(state) < 0)
		return -1;
	l = *state;
	a = log_open(l);
	for (int i = 1; i < RECORDS; i++)
		log_add(a, AUDIT_DENY);
	audit_close(a);
	return 0;
}
#define DAMAGE_TEST(name) cmocka_unit_test_setup_teardown(name, ten_records, log_teardown)

static void an_intact_log(void **state)
{
	struct log *l = *state;
	struct seen s;
	json_t *all;

	verify_against(l, NULL, &s);
	assert_string_equal(s.text, "");
	assert_true(s.verdict.intact);
	assert_int_equal(s.verdict.records, RECORDS);
	assert_int_equal(s.verdict.first_seq, 1);
	assert_int_equal(s.verdict.last_seq, RECORDS);
	all = log_records(l, "audit.jsonl");
	assert_string_equal(s.verdict.last_hash,
			    log_text(json_array_get(all, RECORDS - 1), "hash"));
	json_decref(all);
}

static void no_log_at_all(void **state)
{
	verdict_is(*state, "");
}

/* Any byte of any place: in the middle, in a hash, in the first and the last record. */
static void edited_bytes(void **state)
{
	static const struct {
		size_t line;
		const char *at;
		const char *wanted;
	} rows[] = {
	    {4, "\"verb\":\"t", "edited@5;"},   {4, "\"hash\":\"", "edited@5;"},
	    {4, "\"prev\":\"", "edited@5;"},    {0, "\"detail\":\"", "edited@1;"},
	    {9, "\"verb\":\"t", "edited@10;"},  {9, "\"hash\":\"", "edited@10;"},
	    {4, "{\"seq\":", "edited@5;"},      {4, "\"kind\":\"", "edited@5;"},
	    {4, "\"time\":\"202", "edited@5;"},
	};
	struct log *l = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lines t;
		char *p, old;

		load(l, &t);
		p = strstr(t.line[rows[i].line], rows[i].at) + strlen(rows[i].at);
		old = *p;
		*p = old == '7' ? '8' : old == '8' ? '9' : old > '9' ? 'b' : '7';
		if (*p == old)
			*p = 'c';
		store(l, &t);
		verdict_is(l, rows[i].wanted);
		load(l, &t);
		*(strstr(t.line[rows[i].line], rows[i].at) + strlen(rows[i].at)) = old;
		store(l, &t);
		verdict_is(l, "");
	}
}

/* Somebody who recomputes the hash of what he changed is given away by the next record. */
static void edited_with_a_new_hash(void **state)
{
	char hash[CHAIN_HASH_SIZE];
	struct log *l = *state;
	struct lines t;

	load(l, &t);
	memcpy(strstr(t.line[4], "transfer"), "TRANSFER", 8);
	chain_hash(t.line[4], t.len[4] - 1, hash);
	memcpy(strstr(t.line[4], ",\"hash\":\"") + 9, hash, 64);
	store(l, &t);
	verdict_is(l, "edited@5;");
	/* of the last one only the head knows better */
	load(l, &t);
	memcpy(strstr(t.line[9], "transfer"), "TRANSFER", 8);
	chain_hash(t.line[9], t.len[9] - 1, hash);
	memcpy(strstr(t.line[9], ",\"hash\":\"") + 9, hash, 64);
	store(l, &t);
	verdict_is(l, "edited@5;edited@10;");
}

static void not_a_record(void **state)
{
	struct log *l = *state;
	struct lines t;
	static char junk[] = "hello\n";

	load(l, &t);
	insert(&t, 5, junk, 6);
	store(l, &t);
	verdict_is(l, "edited@0;");
	/* in place of one, it is one damage and not two */
	load(l, &t);
	drop(&t, 6);
	store(l, &t);
	verdict_is(l, "edited@0;");
}

static void missing_records(void **state)
{
	struct log *l = *state;
	struct lines t;

	load(l, &t);
	drop(&t, 4);
	drop(&t, 4);
	drop(&t, 6);
	store(l, &t);
	verdict_is(l, "missing@5;missing@9;");
}

static void missing_first_record(void **state)
{
	struct log *l = *state;
	struct lines t;

	load(l, &t);
	drop(&t, 0);
	store(l, &t);
	verdict_is(l, "missing segment@1;");
}

static void truncated_by_records_and_bytes(void **state)
{
	struct log *l = *state;
	struct lines t;

	load(l, &t);
	t.count -= 2;
	store(l, &t);
	verdict_is(l, "truncated@10;");
	load(l, &t);
	t.len[t.count - 1] -= 20;
	store(l, &t);
	verdict_is(l, "torn@0;truncated@10;");
	assert_int_equal(truncate(log_path(l, "audit.jsonl"), 0), 0);
	verdict_is(l, "truncated@10;");
	assert_int_equal(unlink(log_path(l, "audit.jsonl")), 0);
	verdict_is(l, "truncated@10;truncated@10;");
}

static void torn_at_the_end(void **state)
{
	struct log *l = *state;
	FILE *f = fopen(log_path(l, "audit.jsonl"), "ae");
	struct audit *a;

	fputs("{\"seq\":11,\"ti", f);
	fclose(f);
	verdict_is(l, "torn@0;");
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	verdict_is(l, "");
}

/* The same record twice is a slip of a copy; two records with one number and one predecessor
 * are two writers. Neither is an edit. */
static void duplicated_records(void **state)
{
	struct log *l = *state;
	struct lines t;

	load(l, &t);
	insert(&t, 5, t.line[4], t.len[4]);
	store(l, &t);
	verdict_is(l, "duplicated@5;");
}

/* Two hosts with one state folder each on a file system without locks, put together again. */
static void two_writers(void **state)
{
	struct log *l = *state;
	struct lines a, b, both;
	struct audit *log;
	size_t len;
	char *head = log_read(l, "audit.head", &len);

	/* records 11 and 12 twice, from the same record 10 */
	log = log_open(l);
	log_add(log, AUDIT_DENY);
	log_add(log, AUDIT_DENY);
	audit_close(log);
	load(l, &a);
	both = a;
	both.count = RECORDS;
	both.text = strdup("");
	store(l, &both);
	log_write(l, "audit.head", head, len);
	free(head);
	log = log_open(l);
	log_add(log, AUDIT_DENY);
	log_add(log, AUDIT_DENY);
	audit_close(log);
	load(l, &b);
	insert(&b, 10, a.line[10], a.len[10]);
	insert(&b, 12, a.line[11], a.len[11]);
	store(l, &b);
	free(a.text);
	verdict_is(l, "duplicated@11;duplicated@12;");
}

static void moved_records(void **state)
{
	struct log *l = *state;
	struct lines t;
	char *line;
	size_t len;

	load(l, &t);
	line = t.line[3];
	len = t.len[3];
	drop(&t, 3);
	insert(&t, 6, line, len);
	store(l, &t);
	verdict_is(l, "missing@4;misplaced@4;");
}

/* Lines of another log: its genesis and what follows it, or without. */
static void a_second_genesis(void **state)
{
	struct log *l = *state, *other;
	void *fresh = NULL;
	struct lines t, u;
	struct audit *a;

	assert_int_equal(log_setup(&fresh), 0);
	other = fresh;
	a = log_open(other);
	for (int i = 0; i < 3; i++)
		log_add(a, AUDIT_DENY);
	audit_close(a);
	load(other, &u);
	load(l, &t);
	insert(&t, RECORDS, u.line[3], u.len[3]);
	store(l, &t);
	verdict_is(l, "misplaced@4;");
	load(l, &t);
	drop(&t, RECORDS);
	for (size_t i = 0; i < 4; i++)
		insert(&t, RECORDS + i, u.line[i], u.len[i]);
	store(l, &t);
	free(u.text);
	verdict_is(l, "restarted@1;");
	log_teardown(&fresh);
}

static void orphaned_begins(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	struct hcp_err err = {0};
	struct audit_record r;
	struct seen s;

	for (int i = 0; i < 3; i++) {
		char id[AUDIT_RUN_ID_SIZE];

		audit_new_run_id(id);
		r = log_record(AUDIT_BEGIN, id);
		assert_int_equal(audit_append(a, &r, &err), 0);
		if (i == 1)
			continue;
		r = log_record(AUDIT_END, id);
		assert_int_equal(audit_append(a, &r, &err), 0);
	}
	audit_close(a);
	verify_against(l, NULL, &s);
	assert_string_equal(s.text, "orphaned begin@13;");
	assert_true(s.verdict.intact);
	assert_int_equal(s.verdict.orphans, 1);
}

static void across_segments(void **state)
{
	struct log *l = *state;
	struct hcp_err err = {0};
	char names[4][NAME_MAX + 1];
	struct audit *a = log_open(l);
	struct seen s;

	for (int i = 0; i < 4; i++) {
		assert_int_equal(audit_rotate(a, 0, names[i], &err), 0);
		log_add(a, AUDIT_DENY);
		log_add(a, AUDIT_DENY);
	}
	audit_close(a);
	verify_against(l, NULL, &s);
	assert_string_equal(s.text, "");
	assert_int_equal(s.verdict.segments, 5);
	assert_int_equal(s.verdict.records, RECORDS + 4 * 3);
	assert_int_equal(unlink(log_path(l, names[1])), 0);
	verdict_is(l, "missing segment@11;");
	assert_int_equal(unlink(log_path(l, names[2])), 0);
	verdict_is(l, "missing segment@11;");
}

static void checkpoints(void **state)
{
	struct log *l = *state;
	struct audit_checkpoint known = {.seq = 7};
	struct hcp_err err = {0};
	char name[NAME_MAX + 1];
	struct audit *a;
	struct seen s;
	json_t *all = log_records(l, "audit.jsonl");

	snprintf(known.hash, sizeof(known.hash), "%s",
		 log_text(json_array_get(all, 6), "hash"));
	verify_against(l, &known, &s);
	assert_string_equal(s.text, "");
	known.hash[0] = known.hash[0] == '0' ? '1' : '0';
	verify_against(l, &known, &s);
	assert_string_equal(s.text, "edited@7;");
	known.seq = 70;
	verify_against(l, &known, &s);
	assert_string_equal(s.text, "truncated@70;");
	/* segments that were archived up to a checkpoint may be gone */
	known.seq = RECORDS;
	snprintf(known.hash, sizeof(known.hash), "%s",
		 log_text(json_array_get(all, 9), "hash"));
	a = log_open(l);
	assert_int_equal(audit_rotate(a, 0, name, &err), 0);
	audit_close(a);
	assert_int_equal(unlink(log_path(l, name)), 0);
	verify_against(l, &known, &s);
	assert_string_equal(s.text, "");
	verify_against(l, NULL, &s);
	assert_string_equal(s.text, "missing segment@1;");
	json_decref(all);
}

static void another_file(void **state)
{
	struct log *l = *state;
	size_t len;
	char *text = log_read(l, "audit.jsonl", &len);

	log_write(l, "copy", text, len);
	free(text);
	assert_int_equal(rename(log_path(l, "copy"), log_path(l, "audit.jsonl")), 0);
	verdict_is(l, "replaced@0;");
	log_write(l, "audit.head", "x", 1);
	verdict_is(l, "replaced@0;");
	assert_int_equal(unlink(log_path(l, "audit.head")), 0);
	verdict_is(l, "replaced@0;");
}

static void lines_that_are_too_long(void **state)
{
	struct log *l = *state;
	struct lines t;
	size_t size = 1 << 20;
	char *junk = malloc(size);

	assert_non_null(junk);
	memset(junk, 'x', size);
	junk[size - 1] = '\n';
	load(l, &t);
	insert(&t, 5, junk, size);
	store(l, &t);
	free(junk);
	verdict_is(l, "edited@0;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    DAMAGE_TEST(an_intact_log),        LOG_TEST(no_log_at_all),
	    DAMAGE_TEST(edited_bytes),         DAMAGE_TEST(edited_with_a_new_hash),
	    DAMAGE_TEST(not_a_record),         DAMAGE_TEST(missing_records),
	    DAMAGE_TEST(missing_first_record), DAMAGE_TEST(truncated_by_records_and_bytes),
	    DAMAGE_TEST(torn_at_the_end),      DAMAGE_TEST(duplicated_records),
	    DAMAGE_TEST(two_writers),          DAMAGE_TEST(moved_records),
	    DAMAGE_TEST(a_second_genesis),     DAMAGE_TEST(orphaned_begins),
	    DAMAGE_TEST(across_segments),      DAMAGE_TEST(checkpoints),
	    DAMAGE_TEST(another_file),         DAMAGE_TEST(lines_that_are_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
