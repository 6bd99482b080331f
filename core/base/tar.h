/* SPDX-License-Identifier: MIT */
/* A tar archive in memory (POSIX ustar, and what GNU tar and git write of it), member by
 * member. Strict: files and folders alone, no links, devices or long names, nothing that
 * two readers could read in two ways. What a name may lead to is for the caller to judge. */
#ifndef HCP_BASE_TAR_H
#define HCP_BASE_TAR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct tar {
	const char *data;
	size_t len, at;
};
struct tar_member {
	char name[257]; /* as it stands there, a folder's "/" and a "./" in front left out */
	bool folder, executable;
	const char *data; /* a file's, within the archive */
	size_t size;
};
/* 1: *m is the next one; 0: the archive ended as one must; -1: it is cut short, damaged or
 * holds what isn't taken (HCP_E_INVALID). */
int tar_next(struct tar *t, struct tar_member *m, struct hcp_err *err) HCP_MUST_CHECK;

#endif
