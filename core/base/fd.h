/* SPDX-License-Identifier: MIT */
/* Descriptors: automatic closing, whole reads and writes. */
#ifndef HCP_BASE_FD_H
#define HCP_BASE_FD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

void fd_close(int *fd); /* closes *fd where it is >= 0 and sets it to -1; keeps errno */
#define AUTO_FD __attribute__((cleanup(fd_close))) int
static inline int fd_steal(int *fd)
{
	int f = *fd;

	*fd = -1;
	return f;
}

void ptr_free(void *pp); /* frees *(void **)pp */
#define AUTO_FREE __attribute__((cleanup(ptr_free)))

/* The whole file from its start, at most `limit` bytes (more: HCP_E_LIMIT). *out is malloc'ed
 * with a NUL behind it; the caller frees. */
int fd_read_all(int fd, size_t limit, char **out, size_t *len,
		struct hcp_err *err) HCP_MUST_CHECK;
/* All bytes, EINTR and short writes handled; a limit of file size is an error, not a signal. */
int fd_write_all(int fd, const void *data, size_t len, struct hcp_err *err) HCP_MUST_CHECK;
/* The file `name` anew, with this mode whatever the umask, and on disk. What a writer that was
 * killed left of it goes first: the caller sees to it that nobody else writes it. */
int fd_write_fresh(int dirfd, const char *name, mode_t mode, const void *data, size_t len,
		   struct hcp_err *err) HCP_MUST_CHECK;
/* The descriptor itself, or a copy of it above 2, so that a host that closed 0 to 2 loses
 * nothing. */
int fd_above_stdio(int fd);
/* Whether a descriptor (or -1, none) may be kept for later: half of those that the process may
 * have stay free of such. */
bool fd_leaves_room(int fd);

/* An open file's name in /proc. The thread's, not the process's: a program whose first thread
 * has ended has no /proc/self/fd. */
#define FD_NAME "/proc/thread-self/fd/%d"
/* chmod(2) of a folder that may not be a link and need not be readable; -1 with errno. */
int fd_chmod_folder(int dirfd, const char *name, mode_t mode);

#endif
