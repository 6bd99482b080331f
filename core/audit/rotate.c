/* SPDX-License-Identifier: MIT */
/* `hcp audit rotate`. The file is renamed to what its last record says, so that after a crash
 * between any two steps the head still tells which segment the chain goes on from: nothing is
 * ever taken for a first start. */
#include "audit/place.h"

#include "audit/inspect.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
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

static int rotate_locked(struct audit *a, uint64_t min_bytes, char *segment,
			 struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	struct place p;

	if (place_find(a, &p, err) < 0)
		return -1;
	if (p.size < min_bytes)
		return place_settle(a, &p, err);
	store_segment_name(a, p.tip.seq, name);
	if (place_settle(a, &p, err) < 0 || move_aside(a, name, err) < 0)
		return -1;
	/* finds the log gone and the head's file under its new name, and goes on from there */
	if (place_find(a, &p, err) < 0 || place_settle(a, &p, err) < 0)
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
