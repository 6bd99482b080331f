/* SPDX-License-Identifier: MIT */
/* Folders that programs filled: measured and removed without following a link and without
 * trusting any name, depth or mode in them. */
#ifndef HCP_BASE_TREE_H
#define HCP_BASE_TREE_H

#include "base/err.h"

#include <stdint.h>

/* Bytes on disk of all that lies beneath a folder, 512 at least for each entry. Stops once it
 * is over `limit`; a tree nested over LIMIT_TREE_DEPTH counts as over. -1: it can't be read. */
int tree_measure(int fd, int64_t limit, int64_t *bytes, struct hcp_err *err) HCP_MUST_CHECK;
/* Removes a folder or a file with all that is in it. Nothing may be writing there. 0 where it
 * isn't there. */
int tree_remove(int dirfd, const char *name, struct hcp_err *err) HCP_MUST_CHECK;

#endif
