/* SPDX-License-Identifier: MIT */
/* `hcp audit verify`: every line of every segment, then the head against what was read. It says
 * nothing of a log that it couldn't read whole. */
#include "audit/verify.h"

#include "audit/files.h"
#include "base/fd.h"

#include <inttypes.h>
#include <string.h>

static int verify_file(struct verify *v, const struct files *f, size_t i, struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	AUTO_LINES lines = {0};
	struct line line;
	AUTO_FD fd = -1;
	uint64_t size;
	int more;

	if (files_get(f, i, name, &fd, &size, err) < 0 ||
	    lines_open(&lines, fd, 0, size, err) < 0)
		return -1;
	v->file = name;
	while ((more = lines_next(&lines, &line, err)) > 0) {
		v->line = lines.number;
		v->offset = line.offset;
		verify_line(v, &line, i == f->segment_count);
	}
	v->file = NULL;
	return more;
}

/* Between the two steps of a rotation there is no current file, and the head names the last
 * segment. */
static bool rotation_goes_on(const struct files *f)
{
	return f->segment_count > 0 && f->segments[f->segment_count - 1] == f->head.tip.seq;
}

static void verify_head(struct verify *v, const struct files *f)
{
	v->file = f->audit->head_name;
	v->line = v->offset = 0;
	if (f->head_damaged)
		verify_report(v, AUDIT_REPLACED, false, 0, "the head is damaged");
	else if (!f->have_head && files_count(f) > 0)
		verify_report(v, AUDIT_REPLACED, false, 0, "the head is missing");
	if (!f->have_head || f->head.inode == 0)
		return;
	v->file = f->audit->log_name;
	if (f->log < 0 && !rotation_goes_on(f))
		verify_report(v, AUDIT_TRUNCATED, false, f->head.tip.seq, "the log is missing");
	else if (f->log >= 0 && f->log_inode != f->head.inode)
		verify_report(v, AUDIT_REPLACED, false, 0,
			      "the log is another file than the one that was written");
}

int audit_verify(struct audit *a, const struct audit_checkpoint *known, audit_finding_fn *fn,
		 void *user, struct audit_verdict *out, struct hcp_err *err)
{
	struct verify v = {.fn = fn, .user = user, .out = out};
	AUTO_FILES f = {.log = -1};
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (files_open(a, &f, err) < 0 || verify_start(&v, err) < 0)
		return -1;
	if (f.have_head)
		v.head = (struct verify_known){.seq = f.head.tip.seq, .hash = f.head.tip.hash};
	if (known)
		v.known = (struct verify_known){.seq = known->seq, .hash = known->hash};
	out->segments = files_count(&f);
	for (size_t i = 0; rc == 0 && i < files_count(&f); i++)
		rc = verify_file(&v, &f, i, err);
	if (rc == 0) {
		verify_head(&v, &f);
		verify_end(&v);
	}
	if (rc == 0 && v.failed)
		rc = hcp_fail_nomem(err);
	verify_free(&v);
	if (rc < 0)
		return -1;
	out->intact = out->damages == 0;
	return 0;
}
