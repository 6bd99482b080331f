/* SPDX-License-Identifier: MIT */
/* `hcp audit tail|show|grep`: lines as they are stored, oldest first. Reading judges nothing: a
 * line that is no JSON is handed out like any other, without a record. */
#include "audit/inspect.h"

#include "audit/files.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool field_is(const json_t *record, const char *key, const char *wanted)
{
	return !wanted || str_eq(json_string_value(json_object_get(record, key)), wanted);
}

/* Times have one width and one form, so a beginning of one is less than all that it begins. */
static bool in_time(const json_t *record, const struct audit_filter *f)
{
	const char *time = json_string_value(json_object_get(record, "time"));

	if (!f->since && !f->until)
		return true;
	return time && (!f->since || strcmp(time, f->since) >= 0) &&
	       (!f->until || strncmp(time, f->until, strlen(f->until)) <= 0);
}

static bool matches(const struct audit_line *line, const struct audit_filter *f)
{
	const json_t *r = line->record;

	if (f->text && !memmem(line->text, line->len, f->text, strlen(f->text)))
		return false;
	return field_is(r, "kind", f->kind) && field_is(r, "run_id", f->run_id) &&
	       field_is(r, "principal", f->principal) && field_is(r, "tenant", f->tenant) &&
	       field_is(r, "project", f->project) && field_is(r, "pack", f->pack) &&
	       field_is(r, "verb", f->verb) && field_is(r, "face", f->face) && in_time(r, f);
}

struct reading {
	const struct audit_filter *filter; /* NULL: everything */
	audit_line_fn *fn;
	void *user;
	bool stopped;
};

static int hand_out(struct reading *r, const char *name, uint64_t number,
		    const struct line *line, struct hcp_err *err)
{
	struct hcp_err why = {0};
	json_t *record = json_parse(line->text, line->len, LIMIT_ENVELOPE_DEPTH + 2, &why);
	const struct audit_line out = {name, number, line->text, line->len, record};

	if (!record && why.code == HCP_E_NOMEM)
		return hcp_fail_nomem(err);
	if (!r->filter || matches(&out, r->filter))
		r->stopped = r->fn(r->user, &out) != 0;
	json_decref(record);
	return 0;
}

static int read_file(struct reading *r, const struct files *f, size_t i, uint64_t from,
		     bool count, struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	AUTO_LINES lines = {0};
	struct line line;
	AUTO_FD fd = -1;
	uint64_t size;
	int more = 0;

	if (files_get(f, i, name, &fd, &size, err) < 0 ||
	    lines_open(&lines, fd, from, size, err) < 0)
		return -1;
	while (!r->stopped && (more = lines_next(&lines, &line, err)) > 0)
		if (hand_out(r, name, count ? lines.number : 0, &line, err) < 0)
			return -1;
	return r->stopped ? 0 : more;
}

int audit_each(struct audit *a, const struct audit_filter *f, audit_line_fn *fn, void *user,
	       struct hcp_err *err)
{
	struct reading r = {.filter = f, .fn = fn, .user = user};
	AUTO_FILES files = {.log = -1};

	if (files_open(a, &files, err) < 0)
		return -1;
	for (size_t i = 0; !r.stopped && i < files_count(&files); i++)
		if (read_file(&r, &files, i, 0, true, err) < 0)
			return -1;
	return 0;
}

/* Where the last *want lines begin; *want becomes how many of them aren't in this file. */
static int find_lines(int fd, uint64_t size, size_t *want, uint64_t *from, struct hcp_err *err)
{
	const size_t chunk = 65536;
	AUTO_FREE char *buf = malloc(chunk);
	uint64_t at = size;
	ssize_t n;

	*from = 0;
	if (!buf)
		return hcp_fail_nomem(err);
	while (at > 0) {
		size_t len = at < chunk ? (size_t)at : chunk;

		n = pread(fd, buf, len, (off_t)(at - len));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)len)
			return hcp_fail_errno(err, "read");
		for (size_t i = len; i-- > 0;) {
			uint64_t after = at - len + i + 1;

			/* the newline that ends the file ends a line that is counted
			 * where it begins */
			if (buf[i] != '\n' || after == size)
				continue;
			if (--*want == 0) {
				*from = after;
				return 0;
			}
		}
		at -= len;
	}
	if (size > 0)
		--*want;
	return 0;
}

int audit_tail(struct audit *a, size_t count, audit_line_fn *fn, void *user,
	       struct hcp_err *err)
{
	struct reading r = {.fn = fn, .user = user};
	AUTO_FILES files = {.log = -1};
	char name[NAME_MAX + 1];
	uint64_t size, from = 0;
	size_t first;

	if (files_open(a, &files, err) < 0)
		return -1;
	for (first = files_count(&files); first > 0 && count > 0;) {
		AUTO_FD fd = -1;

		if (files_get(&files, --first, name, &fd, &size, err) < 0 ||
		    find_lines(fd, size, &count, &from, err) < 0)
			return -1;
	}
	for (size_t i = first; !r.stopped && i < files_count(&files); i++) {
		if (read_file(&r, &files, i, from, false, err) < 0)
			return -1;
		from = 0;
	}
	return 0;
}
