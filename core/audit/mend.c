/* SPDX-License-Identifier: MIT */
/* The half record that a crash leaves at the end. It was never answered for (nobody was told
 * that it is durable: it lies behind the head), so it is cut off; but it is evidence, so it is
 * kept aside, and the log says so. Nothing that looks like anything else is ever cut here. */
#include "audit/place.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK        4096
#define MAX_SIBLINGS 100

/* A name that isn't taken: an earlier repair may have been interrupted, or its own record torn.
 */
static int make_aside(struct audit *a, uint64_t seq, char name[NAME_MAX + 1], int *out,
		      struct hcp_err *err)
{
	int n = snprintf(name, NAME_MAX + 1, "%s.torn-%" PRIu64, a->stem, seq);

	*out = -1;
	for (int i = 2; n > 0 && i < MAX_SIBLINGS; i++) {
		*out = fd_above_stdio(openat(
		    a->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
		if (*out >= 0)
			return 0;
		if (errno != EEXIST)
			break;
		snprintf(name + n, NAME_MAX + 1 - (size_t)n, ".%d", i);
	}
	return hcp_fail_errno(err, "%s/%s", a->shown, name);
}

static int copy(const struct audit *a, int to, uint64_t from, uint64_t end, const char *name,
		struct hcp_err *err)
{
	struct hcp_err why = {0};
	char chunk[CHUNK];
	size_t want;
	ssize_t n;

	while (from < end) {
		want = end - from < sizeof(chunk) ? (size_t)(end - from) : sizeof(chunk);
		n = pread(a->log->file.fd, chunk, want, (off_t)from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return hcp_fail_errno(err, "%s/%s: read", a->shown, a->log_name);
		if (fd_write_all(to, chunk, (size_t)n, &why) < 0)
			return hcp_fail(err, why.code, "%s/%s: %s", a->shown, name, why.text);
		from += (uint64_t)n;
	}
	if (fsync(to) < 0)
		return hcp_fail_errno(err, "%s/%s: fsync", a->shown, name);
	return 0;
}

int place_cut(struct audit *a, const struct place *p, uint64_t end, char kept[NAME_MAX + 1],
	      struct hcp_err *err)
{
	AUTO_FD to = -1;

	if (make_aside(a, p->tip.seq + 1, kept, &to, err) < 0)
		return -1;
	if (copy(a, to, p->size, end, kept, err) < 0) {
		unlinkat(a->dir, kept, 0);
		return -1;
	}
	if (store_sync_dir(a, err) < 0)
		return -1;
	if (ftruncate(a->log->file.fd, (off_t)p->size) < 0)
		return hcp_fail_errno(err, "%s/%s: cutting off a torn record", a->shown,
				      a->log_name);
	return 0;
}

/* A killed writer leaves a beginning without its newline; a machine that lost power may leave
 * zeros where pages were never written, and then whatever came later. */
static int looks_torn(const struct audit *a, uint64_t from, uint64_t end, bool *torn,
		      struct hcp_err *err)
{
	bool newline = false, zero = false;
	char chunk[CHUNK];
	size_t want;
	ssize_t n;

	*torn = false;
	while (from < end && !zero) {
		want = end - from < sizeof(chunk) ? (size_t)(end - from) : sizeof(chunk);
		n = pread(a->log->file.fd, chunk, want, (off_t)from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return hcp_fail_errno(err, "%s/%s: read", a->shown, a->log_name);
		newline = newline || memchr(chunk, '\n', (size_t)n);
		zero = memchr(chunk, '\0', (size_t)n);
		from += (uint64_t)n;
	}
	*torn = zero || !newline;
	return 0;
}

int place_mend(struct audit *a, struct place *p, uint64_t end, struct hcp_err *err)
{
	char kept[NAME_MAX + 1], detail[NAME_MAX + 96];
	uint64_t size = end - p->size;
	bool torn;

	if (looks_torn(a, p->size, end, &torn, err) < 0)
		return -1;
	if (!torn)
		return hcp_fail(err, HCP_E_INVALID, "log damaged after record %" PRIu64,
				p->tip.seq);
	if (place_cut(a, p, end, kept, err) < 0)
		return -1;
	snprintf(detail, sizeof(detail),
		 "a torn record of %" PRIu64 " bytes was cut off and kept as %s", size, kept);
	return place_note(a, p, AUDIT_RECOVER, detail, err);
}
