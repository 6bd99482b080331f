/* SPDX-License-Identifier: MIT */
#include "pack/stage.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/tree.h"
#include "base/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

#define PREFIX ".new-"

void stage_sweep(int parent)
{
	int fd = fd_above_stdio(openat(parent, ".", OPEN_FOLDER));
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir))) {
		const char *hex = e->d_name + sizeof(PREFIX) - 1;
		struct hcp_err ignored = {0};

		if (!str_starts(e->d_name, PREFIX) || strlen(hex) != 16 ||
		    strspn(hex, "0123456789abcdef") != 16)
			continue;
		if (tree_remove(parent, e->d_name, &ignored) < 0)
			continue;
	}
	closedir(dir);
}

int stage_begin(struct stage *s, int parent, struct hcp_err *err)
{
	unsigned char random[8];
	char hex[2 * sizeof(random) + 1];

	memset(s, 0, sizeof(*s));
	s->parent = parent;
	s->fd = -1;
	if (sodium_init() < 0)
		return hcp_fail(err, HCP_E_SYS, "libsodium doesn't start");
	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(hex, sizeof(hex), random, sizeof(random));
	snprintf(s->name, sizeof(s->name), PREFIX "%s", hex);
	if (mkdirat(parent, s->name, 0700) < 0) {
		s->name[0] = '\0';
		return hcp_fail_errno(err, "a folder beside the packs");
	}
	s->fd = fd_above_stdio(openat(parent, s->name, OPEN_FOLDER));
	return s->fd < 0 ? hcp_fail_errno(err, "%s", s->name) : 0;
}

void stage_end(struct stage *s)
{
	struct hcp_err ignored = {0};

	fd_close(&s->fd);
	if (s->name[0] && tree_remove(s->parent, s->name, &ignored) < 0)
		return; /* it is no pack, whatever is left of it */
	s->name[0] = '\0';
}

int stage_take(struct stage *s, const char *id, struct hcp_err *err)
{
	if (fchmod(s->fd, 0755) < 0 ||
	    renameat2(s->parent, s->name, s->parent, id, RENAME_NOREPLACE) < 0)
		return hcp_fail_errno(err, "%s", id);
	s->name[0] = '\0';
	return fsync(s->parent) < 0 ? hcp_fail_errno(err, "%s", id) : 0;
}

static int refuse(const char *path, const char *why, struct hcp_err *err)
{
	char shown[YAML_QUOTE];

	yaml_quote(path, shown);
	return hcp_fail(err, HCP_E_INVALID, "%s %s", shown, why);
}

/* A part of a path that is a plain name: no way up, nothing that a terminal would obey. */
static bool is_plain(const char *part, size_t len)
{
	if (!len || len > NAME_MAX ||
	    (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.'))))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)part[i] < 0x20 || part[i] == 0x7f || part[i] == '\\')
			return false;
	return true;
}

static int check_path(struct stage *s, const char *path, struct hcp_err *err)
{
	const char *part = path;
	unsigned depth = 0;
	size_t len;

	for (;; part += len + 1, depth++) {
		len = strcspn(part, "/");
		if (!is_plain(part, len))
			return refuse(path, "is no path inside of a pack", err);
		if (!part[len])
			break;
	}
	if (depth > LIMIT_PACK_DEPTH)
		return refuse(path, "lies too deep", err);
	return ++s->count > LIMIT_PACK_FILES
		   ? hcp_fail(err, HCP_E_LIMIT, "it holds more than %d files", LIMIT_PACK_FILES)
		   : 0;
}

static int fail_add(const char *path, struct hcp_err *err)
{
	if (errno == EEXIST)
		return refuse(path, "is there twice", err);
	return refuse(path, strerrordesc_np(errno), err);
}

/* Opens the folder that `path` lies in; *name is its last part. */
static int open_above(const struct stage *s, const char *path, const char **name,
		      struct hcp_err *err)
{
	int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3), next;
	char part[NAME_MAX + 1];
	size_t len;

	for (*name = path; fd >= 0; *name += len + 1) {
		len = strcspn(*name, "/");
		if (!(*name)[len])
			return fd;
		memcpy(part, *name, len);
		part[len] = '\0';
		next = mkdirat(fd, part, 0755) < 0 && errno != EEXIST
			   ? -1
			   : openat(fd, part, OPEN_FOLDER);
		if (next >= 0 && fchmod(next, 0755) < 0)
			fd_close(&next);
		fd_close(&fd);
		fd = next;
	}
	return refuse(path, strerrordesc_np(errno), err);
}

int stage_folder(struct stage *s, const char *path, struct hcp_err *err)
{
	const char *name;
	AUTO_FD above = -1;

	if (check_path(s, path, err) < 0)
		return -1;
	above = open_above(s, path, &name, err);
	if (above < 0)
		return -1;
	if (mkdirat(above, name, 0755) < 0 || fchmodat(above, name, 0755, 0) < 0)
		return fail_add(path, err);
	return 0;
}

int stage_file(struct stage *s, const char *path, bool executable, const char *data, size_t len,
	       struct hcp_err *err)
{
	AUTO_FD above = -1, fd = -1;
	const char *name;

	if (check_path(s, path, err) < 0)
		return -1;
	if (len > (size_t)LIMIT_PACK_BYTES - s->bytes)
		return hcp_fail(err, HCP_E_LIMIT, "it holds more than %ldM",
				LIMIT_PACK_BYTES >> 20);
	s->bytes += len;
	above = open_above(s, path, &name, err);
	if (above < 0)
		return -1;
	fd = fd_above_stdio(
	    openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return fail_add(path, err);
	if (fd_write_all(fd, data, len, err) < 0)
		return -1;
	return fchmod(fd, executable ? 0755 : 0644) < 0 ? fail_add(path, err) : 0;
}
