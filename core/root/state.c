/* SPDX-License-Identifier: MIT */
/* The state folder: sessions, jails, the audit log. It belongs to the effective user and to
 * nobody else; one that others could have written to is refused, never repaired, because what
 * they wrote would stay. Root is no exception: a user's folder is not a place for root's log.
 */
#include "root/root.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int check_owner(int fd, const char *shown, struct hcp_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s", shown);
	if (st.st_uid != geteuid())
		return hcp_fail(err, HCP_E_CONFIG,
				"%s is owned by uid %u, not by the user hcp runs as (uid %u)",
				shown, (unsigned)st.st_uid, (unsigned)geteuid());
	/* to be passed through is no harm: the sandbox's user must reach its jail */
	if (st.st_mode & 066)
		return hcp_fail(err, HCP_E_CONFIG, "%s is open to others: chmod 700 %s", shown,
				shown);
	return 0;
}

/* open(2) with O_DIRECTORY says ENOTDIR of a link, too. */
static int fail_open(int dirfd, const char *name, const char *shown, struct hcp_err *err)
{
	int saved = errno;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return hcp_fail(err, HCP_E_CONFIG,
				"%s is a symbolic link: links are not followed here", shown);
	errno = saved;
	return hcp_fail_errno(err, "%s", shown);
}

/* 0700 whatever the umask takes away; what is there already stays as it is. */
static int make_folder(int dirfd, const char *name)
{
	if (mkdirat(dirfd, name, 0700) < 0)
		return errno == EEXIST ? 0 : -1;
	return fd_chmod_folder(dirfd, name, 0700);
}

/* Folders above the state folder are made for the user alone, as the XDG base directory
 * specification wants it; those that are there stay as they are. */
static int make_parents(const char *path, struct hcp_err *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return hcp_fail(err, HCP_E_CONFIG, "the path of the state folder is too long");
	for (size_t i = 1; i < len; i++) {
		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (make_folder(AT_FDCWD, part) == 0)
			continue;
		/* a read-only or foreign folder on the way is fine where the next one exists */
		if (access(part, F_OK) < 0)
			return hcp_fail_errno(err, "%s", part);
	}
	return 0;
}

static int open_existing(struct root *root, bool *there, struct hcp_err *err)
{
	AUTO_FD fd = fd_above_stdio(open(root->state, OPEN_DIR));

	*there = true;
	if (fd < 0 && errno == ENOENT)
		*there = false;
	if (fd < 0)
		return *there ? fail_open(AT_FDCWD, root->state, root->state, err) : 0;
	if (check_owner(fd, root->state, err) < 0)
		return -1;
	root->state_fd = fd_steal(&fd);
	return 0;
}

int root_find_state(struct root *root, struct hcp_err *err)
{
	bool there;

	return root->state_fd >= 0 ? 0 : open_existing(root, &there, err);
}

int root_open_state(struct root *root, struct hcp_err *err)
{
	bool there;

	if (root->state_fd >= 0)
		return 0;
	if (open_existing(root, &there, err) < 0)
		return -1;
	if (there)
		return 0;
	if (make_parents(root->state, err) < 0)
		return -1;
	if (make_folder(AT_FDCWD, root->state) < 0)
		return hcp_fail_errno(err, "%s", root->state);
	if (open_existing(root, &there, err) < 0)
		return -1;
	if (!there)
		return hcp_fail(err, HCP_E_CONFIG, "%s went away while it was made",
				root->state);
	return 0;
}

struct part {
	bool make, last;
	const char *shown;
};

/* *out is -1 where it isn't there and wasn't to be made. */
static int open_part(int dirfd, const char *name, const struct part *p, int *out,
		     struct hcp_err *err)
{
	const char *shown = p->shown;
	AUTO_FD fd = -1;

	*out = -1;
	if (p->make && make_folder(dirfd, name) < 0)
		return hcp_fail_errno(err, "%s", shown);
	fd = fd_above_stdio(openat(dirfd, name, OPEN_DIR));
	if (fd < 0 && !p->make && errno == ENOENT)
		return 0;
	if (fd < 0)
		return fail_open(dirfd, name, shown, err);
	if (!p->last && check_owner(fd, shown, err) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}

static int open_passage(int fd, const char *shown, struct hcp_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s", shown);
	if (!(st.st_mode & 1) && fchmod(fd, (st.st_mode & 0700) | 0711) < 0)
		return hcp_fail_errno(err, "%s", shown);
	return 0;
}

int root_state_passage(const struct root *root, const char *rel, struct hcp_err *err)
{
	char part[PATH_MAX];
	const char *p = rel;

	if (geteuid() != 0)
		return 0;
	if (open_passage(root->state_fd, root->state, err) < 0)
		return -1;
	while ((p = strchr(p, '/'))) {
		AUTO_FD fd = -1;

		snprintf(part, sizeof(part), "%.*s", (int)(p++ - rel), rel);
		if (root_state_dir(root, part, &fd, err) < 0 || open_passage(fd, part, err) < 0)
			return -1;
	}
	return 0;
}

static int walk(const struct root *root, const char *rel, bool make, int *out,
		struct hcp_err *err)
{
	char part[NAME_MAX + 1], shown[PATH_MAX + NAME_MAX];
	AUTO_FD at = -1;
	const char *p = rel;
	int next = -1;

	*out = -1;
	do {
		const char *end = strchrnul(p, '/');
		size_t len = (size_t)(end - p);
		struct part how = {make, !*end, shown};

		if (!len || len > NAME_MAX || strspn(p, ".") >= len)
			return hcp_fail(err, HCP_E_INVALID,
					"%s: not a path in the state folder", rel);
		memcpy(part, p, len);
		part[len] = '\0';
		snprintf(shown, sizeof(shown), "%s/%.*s", root->state, (int)(end - rel), rel);
		if (open_part(at >= 0 ? at : root->state_fd, part, &how, &next, err) < 0)
			return -1;
		fd_close(&at);
		at = next;
		p = *end ? end + 1 : NULL;
	} while (p && at >= 0);
	*out = fd_steal(&at);
	return 0;
}

int root_state_dir(const struct root *root, const char *rel, int *out, struct hcp_err *err)
{
	*out = -1;
	if (root->state_fd < 0)
		return hcp_fail(err, HCP_E_CONFIG, "the state folder is not open");
	return walk(root, rel, true, out, err);
}

int root_state_find(const struct root *root, const char *rel, int *out, struct hcp_err *err)
{
	*out = -1;
	return root->state_fd < 0 ? 0 : walk(root, rel, false, out, err);
}
