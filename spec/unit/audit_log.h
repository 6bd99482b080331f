/* SPDX-License-Identifier: MIT */
/* A log of its own in a fresh state folder for each test, and ways to look at its files. */
#ifndef SPEC_AUDIT_LOG_H
#define SPEC_AUDIT_LOG_H

#include "audit/audit.h"
#include "base/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct log {
	char state[64];
	struct root root;
	struct settings set;
};

static inline int log_setup(void **state)
{
	struct log *l = calloc(1, sizeof(*l));

	if (!l)
		return -1;
	snprintf(l->state, sizeof(l->state), "/tmp/hcp-audit-XXXXXX");
	if (!mkdtemp(l->state))
		return -1;
	l->root.state = l->state;
	l->root.fd = l->root.state_fd = l->root.data_fd = -1;
	/* most tests append a lot; those about durability say otherwise */
	l->set.audit_sync = AUDIT_SYNC_OS;
	l->set.audit_args = AUDIT_ARGS_REDACTED;
	*state = l;
	return 0;
}

static inline int log_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int log_teardown(void **state)
{
	struct log *l = *state;

	fd_close(&l->root.state_fd);
	nftw(l->state, log_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(l);
	return 0;
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, log_setup, log_teardown)

static inline struct audit *log_open(struct log *l)
{
	struct hcp_err err = {0};
	struct audit *a;

	if (audit_open(&l->root, &l->set, &a, &err) < 0)
		fail_msg("audit_open: %s", err.text);
	return a;
}

static inline const char *log_path(const struct log *l, const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/audit/%s", l->state, name);
	return p;
}

static inline struct audit_record log_record(enum audit_kind kind, const char *run_id)
{
	const struct audit_record r = {
	    .kind = kind,
	    .run_id = run_id,
	    .face = "library",
	    .session = "default",
	    .principal = "user:alice",
	    .tenant = "acme",
	    .pack = "ledger",
	    .pack_version = "1.0.0",
	    .verb = "transfer",
	    .uid = 1000,
	    .pid = -1,
	    .step = -1,
	    .exit_code = -1,
	    .signal = -1,
	    .duration_us = -1,
	    .bytes_out = -1,
	};

	return r;
}

static inline int log_try(struct audit *a, enum audit_kind kind, struct hcp_err *err)
{
	char id[AUDIT_RUN_ID_SIZE];
	struct audit_record r;

	audit_new_run_id(id);
	r = log_record(kind, id);
	return audit_append(a, &r, err);
}

static inline void log_add(struct audit *a, enum audit_kind kind)
{
	struct hcp_err err = {0};

	if (log_try(a, kind, &err) < 0)
		fail_msg("audit_append: %s", err.text);
}

static inline void log_refused(struct audit *a, const char *why)
{
	struct hcp_err err = {0};

	if (log_try(a, AUDIT_DENY, &err) == 0)
		fail_msg("appended, wanted: %s", why);
	if (!strstr(err.text, why))
		fail_msg("wanted: %s\ngot: %s", why, err.text);
}

/* The whole file, NUL behind; the caller frees. */
static inline char *log_read(const struct log *l, const char *name, size_t *len)
{
	struct hcp_err err = {0};
	AUTO_FD fd = open(log_path(l, name), O_RDONLY | O_CLOEXEC);
	char *text;

	assert_true(fd >= 0);
	assert_int_equal(fd_read_all(fd, 1UL << 30, &text, len, &err), 0);
	return text;
}

static inline void log_write(const struct log *l, const char *name, const char *text,
			     size_t len)
{
	struct hcp_err err = {0};
	AUTO_FD fd = open(log_path(l, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, len, &err), 0);
}

/* The lines as JSON, each checked to be one valid object; the caller frees the array. */
static inline json_t *log_records(const struct log *l, const char *name)
{
	size_t len;
	char *text = log_read(l, name, &len), *line = text, *nl;
	json_t *all = json_array(), *one;

	for (; *line; line = nl + 1) {
		nl = strchr(line, '\n');
		assert_non_null(nl);
		one = json_loadb(line, (size_t)(nl - line), JSON_REJECT_DUPLICATES, NULL);
		if (!one)
			fail_msg("no JSON: %.*s", (int)(nl - line), line);
		json_array_append_new(all, one);
	}
	free(text);
	return all;
}

static inline const char *log_text(const json_t *record, const char *key)
{
	const char *s = json_string_value(json_object_get(record, key));

	return s ? s : "";
}

static inline long long log_number(const json_t *record, const char *key)
{
	return json_integer_value(json_object_get(record, key));
}

/* Numbers without a gap from 1, links and times in order. Hashes are spec/audit_reader.py's and
 * verify's business. Returns the count. */
static inline size_t log_check_dense(const struct log *l)
{
	json_t *all = log_records(l, "audit.jsonl"), *r;
	const char *prev = "0000000000000000000000000000000000000000000000000000000000000000";
	const char *time = "";
	size_t i, count = json_array_size(all);

	json_array_foreach(all, i, r)
	{
		assert_int_equal(log_number(r, "seq"), (long long)i + 1);
		assert_string_equal(log_text(r, "prev"), prev);
		assert_true(strcmp(log_text(r, "time"), time) >= 0);
		prev = log_text(r, "hash");
		time = log_text(r, "time");
	}
	json_decref(all);
	return count;
}

#endif
