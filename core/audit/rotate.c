/* SPDX-License-Identifier: MIT */
/* `hcp audit rotate`, and rotation by size and age. The file is renamed to what its last record
 * says, so that after a crash between any two steps the head still tells which segment the
 * chain goes on from: nothing is ever taken for a first start. */
#include "audit/place.h"

#include "audit/inspect.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int move_aside(struct audit *a, const char *segment, struct hcp_err *err)
{
	struct stat st;

	/* under the lock, in a folder of our own: nobody makes it between these two */
	if (fstatat(a->dir, segment, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return hcp_fail(err, HCP_E_INVALID, "%s/%s is there already", a->shown,
				segment);
	if (errno != ENOENT || renameat(a->dir, a->log_name, a->dir, segment) < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, segment);
	/* against a slip of the hand; whoever may write here may change it back */
	if (fchmod(a->log->file.fd, 0400) < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, segment);
	return store_sync_dir(a, err);
}

int place_rotate(struct audit *a, struct place *p, char segment[NAME_MAX + 1],
		 struct hcp_err *err)
{
	store_segment_name(a, p->tip.seq, segment);
	if (place_settle(a, p, err) < 0 || move_aside(a, segment, err) < 0)
		return -1;
	/* finds the log gone and the head's file under its new name, and goes on from there */
	if (place_find(a, p, err) < 0)
		return -1;
	return place_settle(a, p, err);
}

/* The file's first record says how old it is; a time of the file system may be anybody's. One
 * that says nothing is older than any. */
static int is_old(struct audit *a, bool *old, struct hcp_err *err)
{
	char before[CHAIN_TIME_SIZE], first[64];
	struct timespec now;
	ssize_t n;

	*old = false;
	if (a->rotate_us == 0)
		return 0;
	if (!a->log->since[0]) {
		n = pread(a->log->file.fd, first, sizeof(first), 0);
		if (n < 0)
			return hcp_fail_errno(err, "%s/%s: read", a->shown, a->log_name);
		if (!chain_parse_time(first, (size_t)n, a->log->since))
			a->log->since[0] = '\0';
	}
	clock_gettime(CLOCK_REALTIME, &now);
	chain_format_time((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - a->rotate_us,
			  before);
	*old = strcmp(a->log->since, before) < 0;
	return 0;
}

int place_rotate_due(struct audit *a, struct place *p, struct hcp_err *err)
{
	char segment[NAME_MAX + 1];
	bool old;

	if (is_old(a, &old, err) < 0)
		return -1;
	if (old || (a->rotate_bytes > 0 && p->size >= a->rotate_bytes))
		return place_rotate(a, p, segment, err);
	return 0;
}

static int rotate_locked(struct audit *a, uint64_t min_bytes, char *segment,
			 struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	struct place p;

	if (place_find(a, &p, err) < 0)
		return -1;
	if (p.size < min_bytes)
		return place_settle(a, &p, err);
	if (place_rotate(a, &p, name, err) < 0)
		return -1;
	snprintf(segment, NAME_MAX + 1, "%s", name);
	return 0;
}

int audit_rotate(struct audit *a, uint64_t min_bytes, char segment[NAME_MAX + 1],
		 struct hcp_err *err)
{
	struct store_hold hold;

	segment[0] = '\0';
	if (store_lock(a, &hold, err) < 0)
		return -1;
	return store_unlock(a, &hold, rotate_locked(a, min_bytes, segment, err));
}
