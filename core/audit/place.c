/* SPDX-License-Identifier: MIT */
/* The end of the log and the one place that writes to it. The head is what makes deletion and
 * truncation visible: a log that is longer than its head was left by a crash or is being synced
 * right now; one that is shorter, missing or another file was tampered with, and nothing is
 * written until somebody looks (`hcp audit recover`). This file never starts a chain anew where
 * there was one. */
#include "audit/place.h"

#include "audit/lines.h"
#include "audit/record.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int truncated(struct hcp_err *err)
{
	return hcp_fail(err, HCP_E_INVALID, "log truncated");
}

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* After a short write the rest is tried once, for the errno alone. */
static void write_line(int fd, const char *line, size_t len, int *cause)
{
	ssize_t n, more;

	do
		n = write(fd, line, len);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)len) {
		*cause = 0;
		return;
	}
	if (n >= 0) {
		more = write(fd, line + n, len - (size_t)n);
		if (more >= 0)
			errno = EIO;
	}
	*cause = errno;
}

int place_add(struct audit *a, struct place *p, const char *body, size_t len,
	      struct hcp_err *err)
{
	struct chain_tip next = p->tip;
	int fd = a->log->file.fd, cause;
	size_t line_len;

	if (chain_line(&next, now_us(), body, len, a->line, &line_len, err) < 0)
		return -1;
	write_line(fd, a->line, line_len, &cause);
	if (cause != 0) {
		/* what can't be taken back lacks its newline, and the next append sees that */
		if (ftruncate(fd, (off_t)p->size) < 0)
			hcp_fail(err, HCP_E_SYS,
				 "%s/%s: half a record was written and can't be cut off",
				 a->shown, a->log_name);
		errno = cause;
		return hcp_fail_errno(err, "%s/%s", a->shown, a->log_name);
	}
	p->tip = next;
	p->size += line_len;
	place_copy(a, a->line, line_len);
	return 0;
}

int place_note(struct audit *a, struct place *p, enum audit_kind kind, const char *detail,
	       struct hcp_err *err)
{
	const struct audit_record r = {
	    .kind = kind,
	    .uid = geteuid(),
	    .pid = getpid(),
	    .step = -1,
	    .exit_code = -1,
	    .signal = -1,
	    .duration_us = -1,
	    .bytes_out = -1,
	    .detail = detail,
	};
	AUTO_BUF body = {0};

	if (record_body(&r, AUDIT_ARGS_NONE, &body, err) < 0)
		return -1;
	return place_add(a, p, body.data, body.len, err);
}

void place_head(const struct audit *a, const struct place *p, struct chain_head *out)
{
	memset(out, 0, sizeof(*out));
	out->inode = a->log->file.ino;
	out->size = p->size;
	out->tip = p->tip;
}

int place_settle(struct audit *a, const struct place *p, struct hcp_err *err)
{
	struct chain_head head;

	place_head(a, p, &head);
	if (fdatasync(a->log->file.fd) < 0)
		return hcp_fail_errno(err, "%s/%s: fdatasync", a->shown, a->log_name);
	return store_write_head(a, &head, true, err);
}

int place_forward(struct audit *a, const struct chain_head *to, struct hcp_err *err)
{
	struct chain_head now;
	bool there;

	if (store_read_head(a, &now, &there, err) < 0)
		return -1;
	if (!there)
		return truncated(err);
	if (now.tip.seq >= to->tip.seq)
		return 0;
	/* the record went into a file that was replaced meanwhile */
	if (now.inode != 0 && now.inode != to->inode)
		return truncated(err);
	return store_write_head(a, to, false, err);
}

/* No head: the first record ever, unless anything says that there were others. The head comes
 * first, so that a crash right here leaves a head that knows of nothing. */
static int start(struct audit *a, struct store_state *s, struct hcp_err *err)
{
	uint64_t *segments;
	size_t count;

	if (s->have_log || a->seen)
		return truncated(err);
	if (store_segments(a, &segments, &count, err) < 0)
		return -1;
	ptr_free(&segments);
	if (count > 0)
		return truncated(err);
	memset(&s->head, 0, sizeof(s->head));
	chain_start(&s->head.tip);
	if (store_write_head(a, &s->head, true, err) < 0)
		return -1;
	s->have_head = true;
	return store_sync_dir(a, err);
}

/* The log is missing. Right after a rotation moved it away that is as it should be: the segment
 * with the head's last record is the head's file. */
static int go_on(struct audit *a, struct store_state *s, struct hcp_err *err)
{
	char segment[NAME_MAX + 1];
	struct stat st;

	if (s->head.inode != 0) {
		store_segment_name(a, s->head.tip.seq, segment);
		if (fstatat(a->dir, segment, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)
				return hcp_fail_errno(err, "%s/%s", a->shown, segment);
			return truncated(err);
		}
		if (st.st_ino != s->head.inode || (uint64_t)st.st_size != s->head.size)
			return truncated(err);
		s->head.inode = 0;
		s->head.size = 0;
		if (store_write_head(a, &s->head, true, err) < 0)
			return -1;
	}
	if (store_create_log(a, err) < 0)
		return -1;
	s->have_log = true;
	return 0;
}

/* The record that ends where the head says carries the head's hash. A disk that can't be read
 * is no truncation: nobody needs to recover from it. */
static int check_head(const struct audit *a, const struct store_state *s, struct hcp_err *err)
{
	char stored[CHAIN_END_SIZE], wanted[CHAIN_END_SIZE + 1];
	uint64_t size = s->head.size;
	ssize_t n;

	if (s->size < size || (size > 0 && size < CHAIN_END_SIZE))
		return truncated(err);
	if (size == 0)
		return 0;
	chain_end(s->head.tip.hash, wanted);
	do
		n = pread(a->log->file.fd, stored, sizeof(stored),
			  (off_t)(size - CHAIN_END_SIZE));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return hcp_fail_errno(err, "%s/%s: read", a->shown, a->log_name);
	if (n != (ssize_t)sizeof(stored) || memcmp(stored, wanted, sizeof(stored)) != 0)
		return truncated(err);
	return 0;
}

/* The last line, where it has the form of a record. Others' records between the head and the
 * end need no second check: whoever wrote after a crash has mended first. */
static bool read_tail(struct audit *a, uint64_t from, uint64_t size, struct place *p)
{
	size_t len = size - from < sizeof(a->line) ? (size_t)(size - from) : sizeof(a->line);
	struct chain_link link;
	const char *nl;

	if (pread(a->log->file.fd, a->line, len, (off_t)(size - len)) != (ssize_t)len ||
	    a->line[len - 1] != '\n')
		return false;
	nl = memrchr(a->line, '\n', len - 1);
	if (!nl && len < size - from)
		return false;
	nl = nl ? nl + 1 : a->line;
	if (!chain_parse(nl, (size_t)(a->line + len - 1 - nl), &link) || link.seq <= p->tip.seq)
		return false;
	chain_advance(&p->tip, &link);
	p->size = size;
	return true;
}

static int find_end(struct audit *a, const struct store_state *s, struct place *p,
		    struct hcp_err *err)
{
	int fd = a->log->file.fd;

	if (s->head.inode != 0 && s->head.inode != a->log->file.ino)
		return truncated(err);
	if (check_head(a, s, err) < 0)
		return -1;
	p->tip = s->head.tip;
	p->size = s->head.size;
	if (s->size > p->size &&
	    !(a->log->followed && read_tail(a, s->head.size, s->size, p))) {
		if (lines_follow(fd, s->head.size, s->size, &p->tip, &p->size, err) < 0)
			return -1;
		if (p->size < s->size && place_mend(a, p, s->size, err) < 0)
			return -1;
	}
	a->log->followed = true;
	return 0;
}

/* The first record of each file says where the chain comes from. */
static int open_file(struct audit *a, struct place *p, struct hcp_err *err)
{
	char segment[NAME_MAX + 1], detail[NAME_MAX + 32];

	if (p->size > 0)
		return 0;
	if (p->tip.seq == 0)
		return place_note(a, p, AUDIT_GENESIS, "hcp audit log, format 1", err);
	store_segment_name(a, p->tip.seq, segment);
	snprintf(detail, sizeof(detail), "continues %s", segment);
	return place_note(a, p, AUDIT_ROTATE, detail, err);
}

int place_find(struct audit *a, struct place *p, struct hcp_err *err)
{
	struct store_state s;

	memset(p, 0, sizeof(*p));
	if (store_look(a, &s, err) < 0)
		return -1;
	if (!s.have_head && start(a, &s, err) < 0)
		return -1;
	if (!s.have_log && go_on(a, &s, err) < 0)
		return -1;
	if (find_end(a, &s, p, err) < 0)
		return -1;
	return open_file(a, p, err);
}
