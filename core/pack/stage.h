/* SPDX-License-Identifier: MIT */
/* Where a pack comes to lie before it is one: a folder of hcp's own beside the packs, whose
 * name is no pack's id, filled by descriptor from an archive or from a folder. Nothing is
 * written outside of it, nothing over anything, and nothing in it counts before it was read
 * again and judged like any installed pack. */
#ifndef HCP_PACK_STAGE_H
#define HCP_PACK_STAGE_H

#include "base/str.h"

struct stage {
	int parent; /* borrowed: the folder that packs lie in */
	char name[32];
	int fd;
	size_t count, bytes;
};

/* Removes what additions that were killed left in `parent`. Only for who holds the lock that
 * all additions take. What can't be removed stays: it is no pack. */
void stage_sweep(int parent);
int stage_begin(struct stage *s, int parent, struct hcp_err *err) HCP_MUST_CHECK;
/* Closes it, and removes what stage_take hasn't taken. Also after a failed begin. */
void stage_end(struct stage *s);
/* What is in it gets the name `id` in its parent, where nothing may be. */
int stage_take(struct stage *s, const char *id, struct hcp_err *err) HCP_MUST_CHECK;

/* `path` is relative, of parts that are plain names; each may be added once. Folders on the way
 * are made. HCP_E_INVALID names the path. */
int stage_folder(struct stage *s, const char *path, struct hcp_err *err) HCP_MUST_CHECK;
int stage_file(struct stage *s, const char *path, bool executable, const char *data, size_t len,
	       struct hcp_err *err) HCP_MUST_CHECK;

/* A folder, or a .tar.gz of one: what is in it, or in the one folder that is in it. */
int stage_fill(struct stage *s, const char *path, struct hcp_err *err) HCP_MUST_CHECK;
/* A .tar.gz in memory. */
int stage_unpack(struct stage *s, const char *data, size_t len,
		 struct hcp_err *err) HCP_MUST_CHECK;

#endif
