/* SPDX-License-Identifier: MIT */
/* Where trust in a file comes from: its owner and mode, read from the opened descriptor, never
 * from a path (a path can be swapped between two looks). Nothing here ever repairs a mode. */
#include "base/trust.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A user-private group: named as the owner, with nobody else listed in it (umask 002 sites). */
static bool group_is_private(uid_t uid, gid_t gid)
{
	char pwbuf[4096], grbuf[4096];
	struct passwd pw, *pwp = NULL;
	struct group gr, *grp = NULL;

	if (getpwuid_r(uid, &pw, pwbuf, sizeof(pwbuf), &pwp) != 0 || !pwp)
		return false;
	if (getgrgid_r(gid, &gr, grbuf, sizeof(grbuf), &grp) != 0 || !grp)
		return false;
	if (strcmp(pw.pw_name, gr.gr_name) != 0)
		return false;
	for (char **m = gr.gr_mem; *m; m++)
		if (strcmp(*m, pw.pw_name) != 0)
			return false;
	return true;
}

int trust_check(const struct stat *st, const char *shown, struct hcp_err *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return hcp_fail(err, HCP_E_CONFIG,
				"%s is owned by uid %u, neither root nor the user hcp runs as: "
				"chown it",
				shown, (unsigned)st->st_uid);
	if (st->st_mode & S_IWOTH)
		return hcp_fail(err, HCP_E_CONFIG, "%s is writable by others: chmod go-w %s",
				shown, shown);
	if ((st->st_mode & S_IWGRP) && !group_is_private(st->st_uid, st->st_gid))
		return hcp_fail(
		    err, HCP_E_CONFIG,
		    "%s is writable by others: chmod g-w %s (its group %u is not the "
		    "owner's alone)",
		    shown, shown, (unsigned)st->st_gid);
	return 0;
}

static int check_opened(int fd, bool want_dir, const char *shown, struct hcp_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s", shown);
	if (want_dir && !S_ISDIR(st.st_mode))
		return hcp_fail(err, HCP_E_CONFIG, "%s is not a folder", shown);
	if (!want_dir && !S_ISREG(st.st_mode))
		return hcp_fail(err, HCP_E_CONFIG, "%s is not a regular file", shown);
	return trust_check(&st, shown, err);
}

/* open(2) with O_DIRECTORY says ENOTDIR of a link, too. */
static bool is_link(int dirfd, const char *name, int error)
{
	struct stat st;

	if (error != ELOOP && error != ENOTDIR)
		return false;
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* One component. O_NONBLOCK: a FIFO put in place of a file must not hang the runtime. */
static int open_one(int dirfd, const char *name, bool want_dir, const char *shown, int *out,
		    struct hcp_err *err)
{
	int flags =
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (want_dir ? O_DIRECTORY : 0);
	AUTO_FD fd = fd_above_stdio(openat(dirfd, name, flags));
	int saved;

	if (fd < 0) {
		saved = errno;
		if (is_link(dirfd, name, saved)) {
			hcp_fail(err, HCP_E_CONFIG,
				 "%s is a symbolic link: links are not followed here", shown);
		} else {
			errno = saved;
			hcp_fail_errno(err, "%s", shown);
		}
		errno = saved;
		return -1;
	}
	if (check_opened(fd, want_dir, shown, err) < 0) {
		errno = EPERM;
		return -1;
	}
	*out = fd_steal(&fd);
	return 0;
}

static int walk(int dirfd, const char *rel, const char *shown_dir, bool want_dir, int *out,
		struct hcp_err *err)
{
	char part[256], shown[4352];
	AUTO_FD at = -1;
	const char *p = rel, *end;
	int next;

	*out = -1;
	while (*p) {
		end = strchrnul(p, '/');
		if (end == p || (size_t)(end - p) >= sizeof(part) ||
		    (end - p == 2 && p[0] == '.' && p[1] == '.'))
			return hcp_fail(err, HCP_E_CONFIG, "%s: not a path that can be opened",
					rel);
		snprintf(part, sizeof(part), "%.*s", (int)(end - p), p);
		snprintf(shown, sizeof(shown), "%s/%.*s", shown_dir, (int)(end - rel), rel);
		if (open_one(at >= 0 ? at : dirfd, part, *end || want_dir, shown, &next, err) <
		    0)
			return -1;
		fd_close(&at);
		at = next;
		p = *end ? end + 1 : end;
	}
	if (at < 0)
		return hcp_fail(err, HCP_E_CONFIG, "an empty path can't be opened");
	*out = fd_steal(&at);
	return 0;
}

int trust_open_dir(int dirfd, const char *rel, const char *shown_dir, int *out,
		   struct hcp_err *err)
{
	return walk(dirfd, rel, shown_dir, true, out, err);
}

int trust_open_file(int dirfd, const char *rel, const char *shown_dir, int *out,
		    struct hcp_err *err)
{
	return walk(dirfd, rel, shown_dir, false, out, err);
}

int trust_open_top(const char *path, int *out, struct hcp_err *err)
{
	AUTO_FD fd =
	    fd_above_stdio(open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK));

	*out = -1;
	if (fd < 0)
		return hcp_fail_errno(err, "%s", path);
	if (check_opened(fd, true, path, err) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}

int trust_read(int dirfd, const char *rel, const char *shown_dir, size_t limit, char **out,
	       size_t *len, struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FD fd = -1;

	*out = NULL;
	*len = 0;
	if (trust_open_file(dirfd, rel, shown_dir, &fd, err) < 0)
		return -1;
	if (fd_read_all(fd, limit, out, len, &why) < 0)
		return hcp_fail(err, why.code, "%s/%s: %s", shown_dir, rel, why.text);
	return 0;
}
