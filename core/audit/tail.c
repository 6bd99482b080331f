/* SPDX-License-Identifier: MIT */
/* `hcp audit tail`: the end of the log, and what is added to it while somebody looks. Following
 * looks at name and length now and then and takes the lock only when they changed; whoever
 * watches must not slow down who writes. */
#include "audit/read.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 100

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

/* The file and the byte in it where the last `count` lines begin. */
static int find_start(const struct files *f, size_t count, size_t *first, uint64_t *from,
		      struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	uint64_t size;

	*first = files_count(f);
	*from = 0;
	while (*first > 0 && count > 0) {
		AUTO_FD fd = -1;

		if (files_get(f, --*first, name, &fd, &size, err) < 0 ||
		    find_lines(fd, size, &count, from, err) < 0)
			return -1;
	}
	return 0;
}

int audit_tail(struct audit *a, size_t count, audit_line_fn *fn, void *user,
	       struct hcp_err *err)
{
	struct reading r = {.fn = fn, .user = user};
	AUTO_FILES files = {.log = -1};
	uint64_t from;
	size_t first;

	if (files_open(a, &files, err) < 0 || find_start(&files, count, &first, &from, err) < 0)
		return -1;
	for (size_t i = first; !r.stopped && i < files_count(&files); i++) {
		if (read_file(&r, &files, i, from, false, err) < 0)
			return -1;
		from = 0;
	}
	return 0;
}

/* Up to where everything was handed out. */
struct follow {
	struct audit *audit;
	audit_line_fn *fn;
	void *user;
	uint64_t inode, at, seq;
	bool quiet; /* only finding where the log ends */
	bool stopped;
};

/* Only whole lines: half a record is one that a writer is about to take back or cut off. */
static void hand_out(struct follow *w, const char *name, const struct line *line)
{
	const struct audit_line out = {name, 0, line->text, line->len, NULL};
	struct chain_link link;
	bool is_record = chain_parse(line->text, line->len, &link);

	w->at = line->offset + line->len + 1;
	/* what stands in a copy of the file that was handed out already */
	if (is_record && link.seq <= w->seq)
		return;
	if (is_record)
		w->seq = link.seq;
	if (!w->quiet)
		w->stopped = w->fn(w->user, &out) != 0;
}

static int follow_file(struct follow *w, const struct files *f, size_t i, uint64_t from,
		       struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	AUTO_LINES lines = {0};
	struct line line;
	struct stat st;
	AUTO_FD fd = -1;
	uint64_t size;
	int more = 0;

	if (files_get(f, i, name, &fd, &size, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s/%s", f->audit->shown, name);
	if (st.st_ino == w->inode)
		from = w->at;
	if (size < from)
		return hcp_fail(err, HCP_E_INVALID, "log truncated");
	w->inode = st.st_ino;
	w->at = from;
	if (lines_open(&lines, fd, from, size, err) < 0)
		return -1;
	while (!w->stopped && (more = lines_next(&lines, &line, err)) > 0 && line.whole)
		hand_out(w, name, &line);
	return more < 0 ? -1 : 0;
}

static int follow_on(struct follow *w, struct hcp_err *err)
{
	AUTO_FILES files = {.log = -1};
	size_t i = 0;

	if (files_open(w->audit, &files, err) < 0)
		return -1;
	/* a segment's name is the number of its last record */
	while (i < files.segment_count && files.segments[i] <= w->seq)
		i++;
	for (; !w->stopped && i < files_count(&files); i++)
		if (follow_file(w, &files, i, 0, err) < 0)
			return -1;
	return 0;
}

static int follow_start(struct follow *w, size_t count, struct hcp_err *err)
{
	AUTO_FILES files = {.log = -1};
	uint64_t from;
	size_t first;

	if (files_open(w->audit, &files, err) < 0 ||
	    find_start(&files, count ? count : 1, &first, &from, err) < 0)
		return -1;
	w->quiet = count == 0;
	for (size_t i = first; !w->stopped && i < files_count(&files); i++) {
		if (follow_file(w, &files, i, from, err) < 0)
			return -1;
		from = 0;
	}
	w->quiet = false;
	return 0;
}

static bool changed(const struct follow *w)
{
	const struct audit *a = w->audit;
	struct stat st;

	return fstatat(a->dir, a->log_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       st.st_ino != w->inode || (uint64_t)st.st_size != w->at;
}

int audit_follow(struct audit *a, size_t count, int stop_fd, audit_line_fn *fn, void *user,
		 struct hcp_err *err)
{
	struct follow w = {.audit = a, .fn = fn, .user = user};
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};

	if (follow_start(&w, count, err) < 0)
		return -1;
	while (!w.stopped) {
		if (poll(&stop, 1, LOOK_MS) > 0)
			return 0;
		if (changed(&w) && follow_on(&w, err) < 0)
			return -1;
	}
	return 0;
}
