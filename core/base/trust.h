/* SPDX-License-Identifier: MIT */
/* Opening what the runtime believes. A file that decides something must be owned by root or the
 * effective user and not be writable by anybody else, and so must its folders from there up to
 * the root folder; all of it is checked on the opened descriptor and no link is followed. */
#ifndef HCP_BASE_TRUST_H
#define HCP_BASE_TRUST_H

#include "base/err.h"

#include <stddef.h>
#include <sys/stat.h>

/* Judges an opened object. `shown` is the path for the message: "<shown> is writable by others:
 * chmod o-w <shown>" or "<shown> is owned by uid <n>, ...". Code HCP_E_CONFIG, no file or line
 * set. */
int trust_check(const struct stat *st, const char *shown, struct hcp_err *err) HCP_MUST_CHECK;

/* Opens and judges a folder or file. `rel` is relative to dirfd, is walked component by
 * component with O_NOFOLLOW (each folder on the way is judged, too), and may not hold "..".
 * `shown_dir` is how dirfd is spelled in messages. The result has O_CLOEXEC; the caller closes.
 * A missing object is HCP_E_SYS with errno ENOENT kept in `errno`. trust_open_file accepts
 * regular files only. */
int trust_open_dir(int dirfd, const char *rel, const char *shown_dir, int *out,
		   struct hcp_err *err) HCP_MUST_CHECK;
int trust_open_file(int dirfd, const char *rel, const char *shown_dir, int *out,
		    struct hcp_err *err) HCP_MUST_CHECK;
/* The top folder itself (links in its path are resolved; what it names in the end is judged).
 */
int trust_open_top(const char *path, int *out, struct hcp_err *err) HCP_MUST_CHECK;
/* Opens, judges and reads a file. *out malloc'ed, NUL behind. */
int trust_read(int dirfd, const char *rel, const char *shown_dir, size_t limit, char **out,
	       size_t *len, struct hcp_err *err) HCP_MUST_CHECK;

#endif
