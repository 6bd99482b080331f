/* SPDX-License-Identifier: MIT */
/* The file that stands for a pack on the command line: `#!<hcp> linked`, then YAML. */
#ifndef HCP_CLI_LINK_H
#define HCP_CLI_LINK_H

#include "base/arena.h"

#include <stdbool.h>

struct link_file {
	const char *pack_id, *root, *state, *session; /* NULL: not said */
};

/* 1: read; 0: the file is no link of hcp's, or there is none; -1: it is one and can't be used.
 * Texts live in the arena. */
int link_read(int dirfd, const char *path, struct arena *a, struct link_file *out,
	      struct hcp_err *err) HCP_MUST_CHECK;
/* Appears under its name once it is whole; `fresh`: where there must be none yet. */
int link_write(int dirfd, const char *name, const struct link_file *l, bool fresh,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* Whether a link may have this name: it must be none of hcp's, of a shell or of an interpreter,
 * by its spelling and by the file that it finds in PATH. */
int link_judge_name(const char *name, struct hcp_err *err) HCP_MUST_CHECK;
/* Calls `fn` for each folder of `path` (colons between them); non-zero ends and is returned. */
int link_each_folder(const char *path, int (*fn)(void *user, const char *folder), void *user);

#endif
