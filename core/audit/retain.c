/* SPDX-License-Identifier: MIT */
/* What may go of a log that grows for ever: only segments of a log that was just verified to
 * its end, oldest first, and only after the chain itself says which. A damaged log stays whole:
 * it is evidence. */
#include "audit/place.h"

#include "audit/inspect.h"
#include "audit/verify.h"
#include "base/fd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int last_hash(const struct audit *a, const char *name, char hash[CHAIN_HASH_SIZE],
		     struct hcp_err *err)
{
	char end[CHAIN_END_SIZE];
	struct stat st;
	AUTO_FD fd = -1;

	if (store_open(a, name, O_RDONLY, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, name);
	if (st.st_size < CHAIN_END_SIZE ||
	    pread(fd, end, sizeof(end), st.st_size - CHAIN_END_SIZE) != (ssize_t)sizeof(end) ||
	    !chain_parse_end(end, hash))
		return hcp_fail(err, HCP_E_INVALID, "%s/%s doesn't end in a record", a->shown,
				name);
	return 0;
}

static int remove_locked(struct audit *a, uint64_t seq, struct hcp_err *err)
{
	char name[NAME_MAX + 1], hash[CHAIN_HASH_SIZE], detail[VERIFY_REMOVED_SIZE];
	struct place p;

	store_segment_name(a, seq, name);
	if (last_hash(a, name, hash, err) < 0)
		return -1;
	verify_format_removed(seq, hash, detail);
	/* on the disk before the segment is gone from it */
	if (place_find(a, &p, err) < 0 || place_note(a, &p, AUDIT_REMOVE, detail, err) < 0 ||
	    place_settle(a, &p, err) < 0)
		return -1;
	if (unlinkat(a->dir, name, 0) < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, name);
	return store_sync_dir(a, err);
}

static int remove_one(struct audit *a, uint64_t seq, struct hcp_err *err)
{
	struct store_hold hold;

	if (store_lock(a, &hold, err) < 0)
		return -1;
	return store_unlock(a, &hold, remove_locked(a, seq, err));
}

static int list(struct audit *a, uint64_t **segments, size_t *count, struct hcp_err *err)
{
	struct store_hold hold;

	if (store_lock(a, &hold, err) < 0)
		return -1;
	return store_unlock(a, &hold, store_segments(a, segments, count, err));
}

int audit_retain(struct audit *a, struct audit_removal *out, struct hcp_err *err)
{
	AUTO_FREE uint64_t *segments = NULL;
	struct audit_verdict v;
	size_t count;

	memset(out, 0, sizeof(*out));
	/* listed first: what comes later isn't among those that go */
	if (list(a, &segments, &count, err) < 0)
		return -1;
	if (a->keep == 0 || count <= a->keep)
		return 0;
	out->left = count - a->keep;
	if (audit_verify(a, NULL, NULL, NULL, &v, err) < 0)
		return -1;
	if (v.damages > v.known) {
		snprintf(out->reason, sizeof(out->reason),
			 "the log is damaged, so nothing was removed: see `hcp audit verify`");
		return 0;
	}
	for (; out->left > 0; out->left--, out->removed++)
		if (remove_one(a, segments[out->removed], err) < 0)
			return -1;
	return 0;
}
