/* SPDX-License-Identifier: MIT */
/* Reading a log. Bytes are taken as they are stored; a line that is no record is given out like
 * any other, and whoever asked judges it. */
#include "audit/lines.h"

#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (4 * LIMIT_AUDIT_LINE)

int lines_open(struct lines *l, int fd, uint64_t from, uint64_t end, struct hcp_err *err)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
	l->at = from;
	l->end = end;
	l->buf = malloc(BUFFER);
	if (!l->buf)
		return hcp_fail_nomem(err);
	return 0;
}

void lines_close(struct lines *l)
{
	free(l->buf);
	memset(l, 0, sizeof(*l));
}

/* More bytes behind those that are left. 0: there are none. */
static int fill(struct lines *l, struct hcp_err *err)
{
	uint64_t next = l->at + (l->have - l->used);
	size_t want;
	ssize_t n;

	if (l->used > 0) {
		memmove(l->buf, l->buf + l->used, l->have - l->used);
		l->have -= l->used;
		l->used = 0;
	}
	want = BUFFER - l->have;
	if (next >= l->end || want == 0)
		return 0;
	if (want > l->end - next)
		want = (size_t)(l->end - next);
	do
		n = pread(l->fd, l->buf + l->have, want, (off_t)next);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return hcp_fail_errno(err, "read");
	l->have += (size_t)n;
	return n > 0;
}

static void consume(struct lines *l, size_t n)
{
	l->used += n;
	l->at += n;
}

/* The rest of a line that was too long for the buffer. */
static int skip_rest(struct lines *l, struct hcp_err *err)
{
	const char *nl;
	int more;

	for (;;) {
		nl = memchr(l->buf + l->used, '\n', l->have - l->used);
		if (nl) {
			consume(l, (size_t)(nl + 1 - (l->buf + l->used)));
			return 0;
		}
		consume(l, l->have - l->used);
		more = fill(l, err);
		if (more <= 0)
			return more;
	}
}

int lines_next(struct lines *l, struct line *out, struct hcp_err *err)
{
	const char *nl;
	int more;

	memset(out, 0, sizeof(*out));
	if (l->cut && skip_rest(l, err) < 0)
		return -1;
	l->cut = false;
	while (!(nl = memchr(l->buf + l->used, '\n', l->have - l->used))) {
		more = fill(l, err);
		if (more < 0)
			return -1;
		if (more == 0)
			break;
	}
	if (!nl && l->used == l->have)
		return 0;
	out->text = l->buf + l->used;
	out->len = nl ? (size_t)(nl - out->text) : l->have - l->used;
	out->offset = l->at;
	out->whole = nl && out->len < LIMIT_AUDIT_LINE;
	l->cut = !nl && out->len == BUFFER;
	l->number++;
	consume(l, out->len + (nl ? 1 : 0));
	return 1;
}

int lines_follow(int fd, uint64_t from, uint64_t end, struct chain_tip *tip, uint64_t *good,
		 struct hcp_err *err)
{
	AUTO_LINES l = {0};
	struct chain_link link;
	struct line line;
	int more;

	*good = from;
	if (from >= end)
		return 0;
	if (lines_open(&l, fd, from, end, err) < 0)
		return -1;
	while ((more = lines_next(&l, &line, err)) > 0) {
		if (!line.whole || !chain_parse(line.text, line.len, &link) ||
		    !chain_hash_holds(line.text, line.len, &link) || !chain_follows(tip, &link))
			return 0;
		chain_advance(tip, &link);
		*good = line.offset + line.len + 1;
	}
	return more;
}
