/* SPDX-License-Identifier: MIT */
/* Descriptors. Everything opened elsewhere carries O_CLOEXEC from birth; what is opened
 * here is closed here. */
#include "base/fd.h"

#include "base/xfsz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

void ptr_free(void *pp)
{
	void *p;

	memcpy(&p, pp, sizeof(p));
	free(p);
}

bool fd_leaves_room(int fd)
{
	struct rlimit l;

	return fd < 0 || (getrlimit(RLIMIT_NOFILE, &l) == 0 && (rlim_t)fd < l.rlim_cur / 2);
}

int fd_above_stdio(int fd)
{
	int up;

	if (fd < 0 || fd > 2)
		return fd;
	up = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	fd_close(&fd);
	return up;
}

static size_t first_guess(int fd, size_t limit)
{
	struct stat st;
	size_t guess = 4096;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		guess = (size_t)st.st_size + 1;
	return guess < limit + 1 ? guess : limit + 1;
}

int fd_read_all(int fd, size_t limit, char **out, size_t *len, struct hcp_err *err)
{
	size_t cap = first_guess(fd, limit), used = 0;
	AUTO_FREE char *data = malloc(cap + 1);
	char *bigger;
	ssize_t n;

	*out = NULL;
	*len = 0;
	if (!data)
		return hcp_fail_nomem(err);
	for (;;) {
		n = read(fd, data + used, cap - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hcp_fail_errno(err, "read");
		used += (size_t)n;
		if (used > limit)
			return hcp_fail(err, HCP_E_LIMIT, "is over %zu bytes", limit);
		if (n == 0)
			break;
		if (used < cap)
			continue;
		cap = cap * 2 < limit + 1 ? cap * 2 : limit + 1;
		bigger = realloc(data, cap + 1);
		if (!bigger)
			return hcp_fail_nomem(err);
		data = bigger;
	}
	data[used] = '\0';
	*out = data;
	*len = used;
	data = NULL;
	return 0;
}

static int write_all(int fd, const char *p, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_write_all(int fd, const void *data, size_t len, struct hcp_err *err)
{
	struct xfsz hold;
	int rc;

	xfsz_hold(&hold);
	rc = write_all(fd, data, len);
	xfsz_release(&hold, rc < 0);
	return rc < 0 ? hcp_fail_errno(err, "write") : 0;
}

int fd_write_fresh(int dirfd, const char *name, mode_t mode, const void *data, size_t len,
		   struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FD fd = -1;

	if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
		return hcp_fail_errno(err, "%s", name);
	fd = fd_above_stdio(
	    openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
	if (fd < 0 || fchmod(fd, mode) < 0)
		return hcp_fail_errno(err, "%s", name);
	if (fd_write_all(fd, data, len, &why) < 0)
		return hcp_fail(err, why.code, "%s: %s", name, why.text);
	/* before a rename: else a crash could leave the new name on empty content */
	return fsync(fd) < 0 ? hcp_fail_errno(err, "%s", name) : 0;
}

/* fchmodat(2) in glibc goes by /proc/self, and fchmod(2) takes no O_PATH. */
int fd_chmod_folder(int dirfd, const char *name, mode_t mode)
{
	AUTO_FD fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[48];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), FD_NAME, fd);
	return chmod(path, mode);
}
