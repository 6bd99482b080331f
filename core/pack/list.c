/* SPDX-License-Identifier: MIT */
/* Which packs there are, by name alone: no manifest is opened, so a broken pack is listed, too.
 * Agrees with pack_open about which folder an id means: the first of that name, even where it
 * holds no pack. */
#include "pack/manifest.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct found {
	const char *id;
	size_t rank; /* of its parent among the settings' folders */
	bool is_pack;
};
struct listing {
	struct arena *arena;
	struct found *found; /* malloc'ed, grows */
	size_t count, cap;
};

static bool has_manifest(int parent, const char *name)
{
	AUTO_FD fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstatat(fd, "pack.yaml", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int add(struct listing *l, int parent, const char *name, size_t rank,
	       struct hcp_err *err)
{
	size_t cap = l->cap ? l->cap * 2 : 32;
	struct found *bigger;

	if (l->count >= LIMIT_PACK_FILES)
		return hcp_fail(err, HCP_E_LIMIT, "more than %d packs", LIMIT_PACK_FILES);
	if (l->count == l->cap) {
		bigger = realloc(l->found, cap * sizeof(*bigger));
		if (!bigger)
			return hcp_fail_nomem(err);
		l->found = bigger;
		l->cap = cap;
	}
	l->found[l->count].id = arena_strdup(l->arena, name);
	l->found[l->count].rank = rank;
	l->found[l->count].is_pack = has_manifest(parent, name);
	return l->found[l->count++].id ? 0 : hcp_fail_nomem(err);
}

/* Takes the descriptor. */
static int add_folder(struct listing *l, int fd, const char *shown, size_t rank,
		      struct hcp_err *err)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *e;
	int rc = 0;

	if (!dir) {
		hcp_fail_errno(err, "%s", shown);
		fd_close(&fd);
		return -1;
	}
	while (rc == 0) {
		errno = 0;
		e = readdir(dir);
		if (!e && errno)
			rc = hcp_fail_errno(err, "%s", shown);
		if (!e)
			break;
		if (name_is_id(e->d_name))
			rc = add(l, dirfd(dir), e->d_name, rank, err);
	}
	closedir(dir);
	return rc;
}

static int by_id_and_rank(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int pick(struct listing *l, struct conf_strings *out, struct hcp_err *err)
{
	out->items = arena_array(l->arena, l->count + 1, sizeof(*out->items));
	if (!out->items)
		return hcp_fail_nomem(err);
	if (l->count)
		qsort(l->found, l->count, sizeof(*l->found), by_id_and_rank);
	for (size_t i = 0; i < l->count; i++) {
		bool first = !i || !str_eq(l->found[i - 1].id, l->found[i].id);

		if (first && l->found[i].is_pack)
			out->items[out->count++] = l->found[i].id;
	}
	return 0;
}

int pack_list(struct root *root, const struct settings *set, struct arena *a,
	      struct conf_strings *out, struct hcp_err *err)
{
	struct listing l = {.arena = a};
	int rc = 0, fd;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; rc == 0 && i < set->packs.count; i++) {
		rc = pack_open_parent(root, set->packs.items[i], &fd, err);
		if (rc == 1)
			rc = add_folder(&l, fd, set->packs.items[i], i, err);
	}
	if (rc == 0)
		rc = pick(&l, out, err);
	free(l.found);
	return rc;
}
