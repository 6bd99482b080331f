/* SPDX-License-Identifier: MIT */
/* Keeping secrets. A value goes to a new file of its own and takes its name by rename(2), so
 * that a reader finds the old one or the new one. No error tells what a value is. */
#include "secret/secret.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_name(const char *name, struct hcp_err *err)
{
	if (name_is_id(name))
		return 0;
	return hcp_fail(err, HCP_E_INVALID,
			"a secret's name must be 1 to 64 of A-Z a-z 0-9 . _ -, begin with a "
			"letter or digit and hold no \"..\"");
}

static int make_folder(const struct root *root, int *out, struct hcp_err *err)
{
	if (mkdirat(root->fd, "secrets", 0700) < 0 && errno != EEXIST)
		return hcp_fail_errno(err, "%s/secrets", root->path);
	return secret_open_folder(root, out, err);
}

/* What secret_read would call empty. */
static bool is_empty(const unsigned char *bytes, size_t len)
{
	return !len || (len == 1 && bytes[0] == '\n') ||
	       (len == 2 && bytes[0] == '\r' && bytes[1] == '\n');
}

int secret_write(const struct root *root, const char *name, const unsigned char *bytes,
		 size_t len, struct hcp_err *err)
{
	char fresh[LIMIT_ID + 8];
	struct hcp_err why = {0};
	AUTO_FD dir = -1;

	if (check_name(name, err) < 0)
		return -1;
	if (is_empty(bytes, len) || len > LIMIT_SECRET)
		return hcp_fail(err, HCP_E_INVALID, "a secret is 1 to %d bytes", LIMIT_SECRET);
	if (make_folder(root, &dir, err) < 0)
		return -1;
	snprintf(fresh, sizeof(fresh), ".%s.new", name); /* no name begins so */
	if (fd_write_fresh(dir, fresh, 0600, bytes, len, &why) < 0) {
		unlinkat(dir, fresh, 0);
		return hcp_fail(err, why.code, "secrets/%s", why.text);
	}
	if (renameat(dir, fresh, dir, name) < 0) {
		hcp_fail_errno(err, "secrets/%s", name);
		unlinkat(dir, fresh, 0);
		return -1;
	}
	return fsync(dir) < 0 ? hcp_fail_errno(err, "%s/secrets", root->path) : 0;
}

/* *out is -1 where there is no folder, and so no secret. */
static int find_folder(const struct root *root, int *out, struct hcp_err *err)
{
	struct hcp_err why = {0};

	if (secret_open_folder(root, out, &why) == 0 ||
	    (why.code == HCP_E_SYS && errno == ENOENT))
		return 0;
	return hcp_fail(err, why.code, "%s", why.text);
}

int secret_remove(const struct root *root, const char *name, struct hcp_err *err)
{
	AUTO_FD dir = -1;

	if (check_name(name, err) < 0 || find_folder(root, &dir, err) < 0)
		return -1;
	errno = ENOENT;
	if (dir < 0 || unlinkat(dir, name, 0) < 0)
		return errno == ENOENT
			   ? hcp_fail(err, HCP_E_INVALID, "there is no secret %s", name)
			   : hcp_fail_errno(err, "secrets/%s", name);
	return fsync(dir) < 0 ? hcp_fail_errno(err, "%s/secrets", root->path) : 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_name(struct arena *a, struct conf_strings *out, const char *name)
{
	const char **items;

	if (!name_is_id(name))
		return 0;
	items = arena_array(a, out->count + 1, sizeof(*items));
	if (!items)
		return -1;
	if (out->count)
		memcpy(items, out->items, out->count * sizeof(*items));
	items[out->count] = arena_strdup(a, name);
	out->items = items;
	return items[out->count++] ? 0 : -1;
}

int secret_list(const struct root *root, struct arena *a, struct conf_strings *out,
		struct hcp_err *err)
{
	struct dirent *e;
	int dir = -1, rc = 0;
	DIR *d;

	memset(out, 0, sizeof(*out));
	if (find_folder(root, &dir, err) < 0)
		return -1;
	if (dir < 0)
		return 0;
	d = fdopendir(dir);
	if (!d) {
		fd_close(&dir);
		return hcp_fail_errno(err, "%s/secrets", root->path);
	}
	while (rc == 0 && (e = readdir(d)))
		rc = add_name(a, out, e->d_name);
	closedir(d);
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_name);
	return rc < 0 ? hcp_fail_nomem(err) : 0;
}
