/* SPDX-License-Identifier: MIT */
/* What a stage is filled from. An archive is read whole into memory, and a member that isn't
 * plainly a file or a folder beneath refuses all of it; a folder is walked like an installed
 * pack, by descriptor and without following a link. */
#include "pack/stage.h"

#include "base/fd.h"
#include "base/inflate.h"
#include "base/limits.h"
#include "base/tar.h"
#include "base/trust.h"
#include "pack/manifest.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* headers and padding of LIMIT_PACK_FILES members */
#define LIMIT_TAR (LIMIT_PACK_BYTES + LIMIT_PACK_FILES * 2048L)
#define TOP_SIZE  sizeof(((struct tar_member *)0)->name)

/* "ledger/pack.yaml" is pack.yaml of the pack: `top` is what stands in front, "ledger/". A pack
 * that lies in the archive without a folder around it has nothing there. */
static int find_top(const struct buf *all, char top[TOP_SIZE], struct hcp_err *err)
{
	struct tar t = {all->data, all->len, 0};
	struct tar_member m;
	const char *slash;
	int rc;

	while ((rc = tar_next(&t, &m, err)) > 0) {
		slash = strchr(m.name, '/');
		if (m.folder || (strcmp(m.name, "pack.yaml") != 0 &&
				 (!slash || strcmp(slash, "/pack.yaml") != 0)))
			continue;
		snprintf(top, TOP_SIZE, "%.*s", slash ? (int)(slash - m.name) + 1 : 0, m.name);
		return 0;
	}
	return rc < 0 ? -1 : hcp_fail(err, HCP_E_INVALID, "no pack.yaml is in it");
}

static int add_member(struct stage *s, const struct tar_member *m, const char *top,
		      struct hcp_err *err)
{
	size_t skip = strlen(top);
	const char *path = m->name + skip;

	/* the folder around it, or "./" */
	if (m->folder && strlen(m->name) == (skip ? skip - 1 : 0) &&
	    strncmp(m->name, top, strlen(m->name)) == 0)
		return 0;
	if (strncmp(m->name, top, skip) != 0)
		return hcp_fail(err, HCP_E_INVALID,
				"more than one folder is in it, or a file beside it");
	return m->folder ? stage_folder(s, path, err)
			 : stage_file(s, path, m->executable, m->data, m->size, err);
}

static int add_members(struct stage *s, const struct buf *all, struct hcp_err *err)
{
	struct tar t = {all->data, all->len, 0};
	struct tar_member m;
	char top[TOP_SIZE];
	int rc;

	if (find_top(all, top, err) < 0)
		return -1;
	while ((rc = tar_next(&t, &m, err)) > 0)
		if (add_member(s, &m, top, err) < 0)
			return -1;
	return rc;
}

int stage_unpack(struct stage *s, const char *data, size_t len, struct hcp_err *err)
{
	AUTO_BUF all = {0};

	if (inflate_gzip((const unsigned char *)data, len, LIMIT_TAR, &all, err) < 0)
		return -1;
	return add_members(s, &all, err);
}

static int copy_file(struct stage *s, int dir, const char *shown, const struct pack_file *f,
		     struct hcp_err *err)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (trust_read(dir, f->path, shown, LIMIT_PACK_BYTES, &text, &len, err) < 0)
		return -1;
	return stage_file(s, f->path, f->mode & 0111, text, len, err);
}

static int copy_folder(struct stage *s, int dir, const struct stat *st, const char *shown,
		       struct hcp_err *err)
{
	struct pack p = {.fd = dir, .shown = shown};
	int rc = trust_check(st, shown, err) < 0 ? -1 : pack_read(&p, err);

	for (size_t i = 0; rc == 0 && i < p.file_count; i++) {
		const struct pack_file *f = &p.files[i];

		if (S_ISDIR(f->mode))
			rc = stage_folder(s, f->path, err);
		else if (S_ISREG(f->mode))
			rc = copy_file(s, dir, shown, f, err);
		else
			rc = hcp_fail(err, HCP_E_INVALID,
				      "%s/%s is a link: only files and folders are added",
				      shown, f->path);
	}
	arena_free(&p.arena);
	return rc;
}

int stage_fill(struct stage *s, const char *path, struct hcp_err *err)
{
	AUTO_FREE char *data = NULL;
	struct hcp_err why = {0};
	AUTO_FD fd = -1;
	struct stat st;
	size_t len;
	int rc;

	fd = fd_above_stdio(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0 || fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s", path);
	if (S_ISDIR(st.st_mode))
		return copy_folder(s, fd, &st, path, err);
	if (!S_ISREG(st.st_mode))
		return hcp_fail(err, HCP_E_INVALID, "%s is neither a folder nor a .tar.gz",
				path);
	rc = fd_read_all(fd, LIMIT_PACK_BYTES, &data, &len, &why);
	if (rc == 0)
		rc = stage_unpack(s, data, len, &why);
	return rc == 0 ? 0 : hcp_fail(err, why.code, "%s: %s", path, why.text);
}
