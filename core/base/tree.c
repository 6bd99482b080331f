/* SPDX-License-Identifier: MIT */
#include "base/tree.h"

#include "base/fd.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Takes fd. */
static DIR *list(int fd, struct hcp_err *err)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		hcp_fail_errno(err, "a folder can't be read");
		fd_close(&fd);
	}
	return d;
}

/* ---- measuring ---- */

struct measure {
	int64_t bytes, limit;
};

static int measure_folder(struct measure *m, int fd, unsigned depth, struct hcp_err *err);

static int measure_entry(struct measure *m, int dirfd, const char *name, unsigned depth,
			 struct hcp_err *err)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : hcp_fail_errno(err, "a folder can't be read");
	m->bytes += st.st_blocks > 0 ? (int64_t)st.st_blocks * 512 : 512;
	if (!S_ISDIR(st.st_mode) || m->bytes > m->limit)
		return 0;
	if (depth >= LIMIT_TREE_DEPTH) {
		m->bytes = INT64_MAX;
		return 0;
	}
	return measure_folder(m, openat(dirfd, name, OPEN_DIR), depth + 1, err);
}

static int measure_folder(struct measure *m, int fd, unsigned depth, struct hcp_err *err)
{
	DIR *d = list(fd, err);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return -1;
	while (rc == 0 && m->bytes <= m->limit && (e = readdir(d)))
		if (!is_dots(e->d_name))
			rc = measure_entry(m, dirfd(d), e->d_name, depth, err);
	closedir(d);
	return rc;
}

int tree_measure(int fd, int64_t limit, int64_t *bytes, struct hcp_err *err)
{
	struct measure m = {.limit = limit};
	int rc = measure_folder(&m, openat(fd, ".", OPEN_DIR), 0, err);

	*bytes = m.bytes;
	return rc;
}

/* ---- removing ---- */

/* What lies too deep is moved to the top and taken in the next round, so that no depth uses up
 * stack or descriptors. */
struct removal {
	int top;
	unsigned moved;
	bool again;
};

static int remove_entry(struct removal *r, int dirfd, const char *name, unsigned depth,
			struct hcp_err *err);

static int empty_folder(struct removal *r, int fd, unsigned depth, struct hcp_err *err)
{
	DIR *d = list(fd, err);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return -1;
	while (rc == 0 && (e = readdir(d)))
		if (!is_dots(e->d_name))
			rc = remove_entry(r, dirfd(d), e->d_name, depth, err);
	closedir(d);
	return rc;
}

/* A program may have taken its own permissions away. By descriptor: chmod(2) follows links. */
static int open_anyhow(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, OPEN_DIR);

	if (fd >= 0 || errno != EACCES || fd_chmod_folder(dirfd, name, 0700) < 0)
		return fd;
	return openat(dirfd, name, OPEN_DIR);
}

static int move_up(struct removal *r, int dirfd, const char *name, struct hcp_err *err)
{
	char fresh[32];

	do {
		snprintf(fresh, sizeof(fresh), ".hcp-%u", r->moved++);
	} while (faccessat(r->top, fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	if (renameat(dirfd, name, r->top, fresh) < 0)
		return hcp_fail_errno(err, "a folder can't be removed");
	r->again = true;
	return 0;
}

static int remove_entry(struct removal *r, int dirfd, const char *name, unsigned depth,
			struct hcp_err *err)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	/* a folder that its owner made read-only */
	if (errno == EACCES && fchmod(dirfd, 0700) == 0 && unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return hcp_fail_errno(err, "a file can't be removed");
	if (depth >= LIMIT_TREE_DEPTH)
		return move_up(r, dirfd, name, err);
	if (empty_folder(r, open_anyhow(dirfd, name), depth + 1, err) < 0)
		return -1;
	/* ENOTEMPTY: something was moved to where it is, the next round takes it */
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT && !r->again)
		return hcp_fail_errno(err, "a folder can't be removed");
	return 0;
}

int tree_remove(int dirfd, const char *name, struct hcp_err *err)
{
	struct removal r = {0};
	AUTO_FD top = -1;
	int rc;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	top = open_anyhow(dirfd, name);
	if (top < 0)
		return hcp_fail_errno(err, "a folder can't be removed");
	r.top = top;
	do {
		r.again = false;
		rc = empty_folder(&r, openat(top, ".", OPEN_DIR), 0, err);
	} while (rc == 0 && r.again);
	if (rc == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
		return hcp_fail_errno(err, "a folder can't be removed");
	return rc;
}
