/* SPDX-License-Identifier: MIT */
/* Where a pack comes from: an id is judged, looked for in the settings' folders, and the first
 * folder of that name is the pack, sound or not. A broken one is an error and never a reason to
 * look on, and what isn't a legal id never becomes part of a path. */
#include "pack/pack.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trust.h"
#include "pack/lockfile.h"
#include "pack/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_SHOWN (LIMIT_ID * 4 + 1)

/* A stranger's id as a message may show it: one line of UTF-8, 64 characters at most. */
static void show_id(const char *id, char out[ID_SHOWN])
{
	size_t used = 0, left = strlen(id);

	for (unsigned n = 0; left && n < LIMIT_ID; n++) {
		size_t len = utf8_len(id, left);

		if (len > 1)
			memcpy(out + used, id, len);
		else
			out[used] = len && *id >= 0x20 && *id < 0x7f ? *id : '?';
		len = len ? len : 1;
		used += len;
		id += len;
		left -= len;
	}
	out[used] = '\0';
}

/* `why` NULL or unset: there is no such pack. Memory running out is no verdict on the pack. */
static int fail_unknown(const char *id, const struct hcp_err *why, struct hcp_err *err)
{
	char shown[ID_SHOWN], text[sizeof(why->file) + sizeof(why->text) + 64];

	show_id(id, shown);
	if (!why || why->code == HCP_E_NONE)
		return hcp_fail(err, HCP_E_DENIED, "unknown pack %s", shown);
	if (why->code == HCP_E_NOMEM)
		return hcp_fail_nomem(err);
	hcp_err_format(why, text, sizeof(text));
	return hcp_fail(err, HCP_E_DENIED, "unknown pack %s: %s", shown, text);
}

static bool is_missing(const struct hcp_err *err, int error)
{
	return err->code == HCP_E_SYS && error == ENOENT;
}

int pack_open_parent(const struct root *root, const char *dir, int *out, struct hcp_err *err)
{
	struct hcp_err why = {0};
	int rc;

	if (dir[0] == '/')
		rc = trust_open_top(dir, out, &why);
	else
		rc = trust_open_dir(root->fd, dir, root->path, out, &why);
	if (rc == 0)
		return 1;
	if (is_missing(&why, errno))
		return 0;
	return hcp_fail(err, why.code, "%s", why.text);
}

int pack_find(const struct root *root, const struct settings *set, const char *id, int *fd,
	      const char **dir, struct hcp_err *err)
{
	for (size_t i = 0; i < set->packs.count; i++) {
		struct hcp_err why = {0};
		AUTO_FD packs = -1;
		int rc;

		*dir = set->packs.items[i];
		rc = pack_open_parent(root, *dir, &packs, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		if (trust_open_dir(packs, id, *dir, fd, &why) == 0)
			return 1;
		if (!is_missing(&why, errno))
			return hcp_fail(err, why.code, "%s", why.text);
	}
	return 0;
}

/* Asks the kernel instead of joining strings: the root may have been given as "." and links may
 * lie on the way. */
static int set_path(struct pack *p, struct hcp_err *err)
{
	char proc[64], path[PATH_MAX];
	struct stat by_path, by_fd;
	ssize_t n;

	snprintf(proc, sizeof(proc), FD_NAME, p->fd);
	n = readlink(proc, path, sizeof(path) - 1);
	if (n < 0)
		return hcp_fail_errno(err, "%s: %s", p->shown, proc);
	path[n] = '\0';
	if (fstat(p->fd, &by_fd) < 0 || stat(path, &by_path) < 0)
		return hcp_fail_errno(err, "%s", p->shown);
	if (by_fd.st_dev != by_path.st_dev || by_fd.st_ino != by_path.st_ino)
		return hcp_fail(err, HCP_E_CONFIG, "%s was moved while it was read", p->shown);
	p->path = arena_strdup(&p->arena, path);
	return p->path ? 0 : hcp_fail_nomem(err);
}

/* 1: read, 0: there is no such pack, -1: error. */
static int find_and_read(const struct root *root, const struct settings *set, struct pack *p,
			 struct hcp_err *err)
{
	const char *dir;
	int rc = pack_find(root, set, p->id, &p->fd, &dir, err);
	struct stat st;

	if (rc <= 0)
		return rc;
	p->shown = arena_printf(&p->arena, "%s/%s", dir, p->id);
	if (!p->shown)
		return hcp_fail_nomem(err);
	if (fstatat(p->fd, "pack.yaml", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return hcp_fail_errno(err, "%s/pack.yaml", p->shown);
	if (set_path(p, err) < 0 || pack_read(p, err) < 0)
		return -1;
	if (fstatat(root->fd, LOCKFILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		pack_mark(&st, &p->lock);
	return lockfile_check(root, p, err) < 0 ? -1 : 1;
}

static int read_pack(const struct root *root, const struct settings *set, const char *id,
		     struct pack **out, struct hcp_err *err)
{
	struct pack *p;

	*out = NULL;
	if (!name_is_id(id))
		return -1;
	p = calloc(1, sizeof(*p));
	if (!p)
		return hcp_fail_nomem(err);
	p->fd = -1;
	p->id = arena_strdup(&p->arena, id);
	if (!p->id)
		hcp_fail_nomem(err);
	else if (find_and_read(root, set, p, err) == 1)
		*out = p;
	if (*out)
		return 0;
	pack_close(p);
	return -1;
}

/* The manifest is read for its id alone here; pack_load judges all of it. */
static int take_id(struct pack *p, struct hcp_err *err)
{
	const struct pack_file *f = pack_file(p, "pack.yaml");
	const char *shown = arena_printf(&p->arena, "%s/pack.yaml", p->shown);
	const struct yaml_node *top, *id;

	if (!shown)
		return hcp_fail_nomem(err);
	if (!f || !f->text)
		return hcp_fail(err, HCP_E_CONFIG, "%s is missing", shown);
	if (yaml_parse(&p->arena, shown, f->text, f->size, &top, err) < 0)
		return -1;
	id = yaml_get(top, "pack_id");
	if (!id || id->kind != YAML_STR || !name_is_id(id->text))
		return hcp_fail(err, HCP_E_CONFIG, "%s: its pack_id can't be one", shown);
	p->id = id->text;
	return 0;
}

int pack_open_folder(int fd, const char *shown, struct pack **out, struct hcp_err *err)
{
	struct pack *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p) {
		fd_close(&fd);
		return hcp_fail_nomem(err);
	}
	p->fd = fd;
	p->shown = arena_strdup(&p->arena, shown);
	if (!p->shown)
		hcp_fail_nomem(err);
	else if (pack_read(p, err) == 0 && take_id(p, err) == 0 && pack_load(p, NULL, err) == 0)
		*out = p;
	if (*out)
		return 0;
	pack_close(p);
	return -1;
}

int pack_try(struct root *root, const struct settings *set, const char *id, struct pack **out,
	     struct hcp_err *err)
{
	if (read_pack(root, set, id, out, err) < 0)
		return -1;
	if (pack_load(*out, NULL, err) == 0)
		return 0;
	pack_close(*out);
	*out = NULL;
	return -1;
}

int pack_inspect(struct root *root, const struct settings *set, const char *id,
		 struct conf_faults *all, struct pack **out, struct hcp_err *err)
{
	struct hcp_err why = {0};
	size_t before = all->count;

	if (read_pack(root, set, id, out, err) < 0)
		return -1;
	if (pack_load(*out, all, &why) < 0 && all->count == before)
		conf_faults_add(all, &why);
	return 0;
}

int pack_open(struct root *root, const struct settings *set, const char *id, struct pack **out,
	      struct hcp_err *err)
{
	struct hcp_err why = {0};

	if (pack_try(root, set, id, out, &why) == 0)
		return 0;
	return why.code == HCP_E_DENIED ? hcp_fail(err, HCP_E_DENIED, "%s", why.text)
					: fail_unknown(id, &why, err);
}

void pack_close(struct pack *p)
{
	if (!p || atomic_fetch_sub(&p->shared, 1) > 0)
		return;
	for (size_t i = 0; i < p->command_count; i++) {
		if (p->commands[i].args)
			schema_free(p->commands[i].args);
		if (p->commands[i].output)
			schema_free(p->commands[i].output);
	}
	if (p->defs)
		schema_defs_free(p->defs);
	fd_close(&p->fd);
	arena_free(&p->arena);
	free(p);
}

const struct pack_command *pack_command(const struct pack *p, const char *verb_key)
{
	for (size_t i = 0; i < p->command_count; i++)
		if (str_eq(p->commands[i].key, verb_key))
			return &p->commands[i];
	return NULL;
}

static int path_against(const void *key, const void *file)
{
	const struct pack_file *f = file;

	return strcmp(key, f->path);
}

const struct pack_file *pack_file(const struct pack *p, const char *path)
{
	if (!p->file_count)
		return NULL;
	return bsearch(path, p->files, p->file_count, sizeof(*p->files), path_against);
}
