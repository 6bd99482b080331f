/* SPDX-License-Identifier: MIT */
/* Reading a pack is hashing every byte of it, which a runtime that goes on need not do for each
 * run. A pack that was read is given again while stat(2) says of the folder, of everything in
 * it and of hcp.lock what it said before they were read. It must never give what may have
 * changed: objects that were changed just before they were read aren't believed, and the way to
 * the folder is walked and judged each time. */
#include "pack/manifest.h"

#include "base/fd.h"
#include "base/str.h"
#include "pack/lockfile.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

/* A file system's clock may stand still for a while: two changes within it look like one. */
#define SETTLE_SECONDS 2
/* Texts of one pack, bytes; beyond that it isn't worth its memory. */
#define TEXT_MAX (1u << 20)

void pack_cache_init(struct pack_cache *c)
{
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
}

void pack_cache_free(struct pack_cache *c)
{
	for (size_t i = 0; i < PACK_CACHE_SIZE; i++)
		pack_close(c->packs[i]);
	pthread_mutex_destroy(&c->lock);
}

/* ---- whether it is what it was ---- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct pack_mark *a, const struct pack_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->mode == b->mode && a->uid == b->uid &&
	       a->gid == b->gid && a->size == b->size && same_time(&a->mtime, &b->mtime) &&
	       same_time(&a->ctime, &b->ctime);
}

static bool is_same(int dirfd, const char *name, const struct pack_mark *was)
{
	struct pack_mark now = {0};
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0)
		pack_mark(&st, &now);
	return same(&now, was);
}

/* The same folder in the same place, and its path still the one that jails show. */
static bool is_in_place(const struct root *root, const struct settings *set,
			const struct pack *p)
{
	struct hcp_err ignored = {0};
	const char *dir;
	struct stat st;
	AUTO_FD fd = -1;

	return pack_find(root, set, p->id, &fd, &dir, &ignored) == 1 &&
	       is_same(fd, "", &p->top) && stat(p->path, &st) == 0 && st.st_dev == p->top.dev &&
	       st.st_ino == p->top.ino;
}

static bool is_current(const struct root *root, const struct settings *set,
		       const struct pack *p)
{
	if (!is_in_place(root, set, p) || !is_same(root->fd, LOCKFILE, &p->lock))
		return false;
	for (size_t i = 0; i < p->file_count; i++)
		if (!is_same(p->fd, p->files[i].path, &p->files[i].mark))
			return false;
	return true;
}

/* ---- what is kept ---- */

/* `began`: seconds, before the pack was read. */
static bool is_worth_keeping(const struct pack *p, int64_t began)
{
	int64_t newest = p->top.ctime.tv_sec;
	size_t bytes = 0;

	if (p->lock.ctime.tv_sec > newest)
		newest = p->lock.ctime.tv_sec;
	for (size_t i = 0; i < p->file_count; i++) {
		if (p->files[i].mark.ctime.tv_sec > newest)
			newest = p->files[i].mark.ctime.tv_sec;
		bytes += p->files[i].text ? p->files[i].size : 0;
	}
	return newest + SETTLE_SECONDS < began && bytes <= TEXT_MAX && fd_leaves_room(p->fd);
}

/* A reference; NULL: there is none. */
static struct pack *take(struct pack_cache *c, const char *id)
{
	struct pack *found = NULL;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; !found && i < PACK_CACHE_SIZE; i++)
		if (c->packs[i] && str_eq(c->packs[i]->id, id))
			found = c->packs[i];
	if (found)
		atomic_fetch_add(&found->shared, 1);
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* In the place of one of the same id, or of the one that has been there longest. */
static void keep(struct pack_cache *c, struct pack *p)
{
	struct pack *old;
	unsigned at;

	atomic_fetch_add(&p->shared, 1);
	pthread_mutex_lock(&c->lock);
	for (at = 0; at < PACK_CACHE_SIZE; at++)
		if (c->packs[at] && str_eq(c->packs[at]->id, p->id))
			break;
	if (at == PACK_CACHE_SIZE)
		at = c->next++ % PACK_CACHE_SIZE;
	old = c->packs[at];
	c->packs[at] = p;
	pthread_mutex_unlock(&c->lock);
	pack_close(old);
}

int pack_cache_open(struct pack_cache *c, struct root *root, const struct settings *set,
		    const char *id, struct pack **out, struct hcp_err *err)
{
	int64_t began = (int64_t)time(NULL);

	*out = take(c, id);
	if (*out && is_current(root, set, *out))
		return 0;
	pack_close(*out);
	if (pack_open(root, set, id, out, err) < 0)
		return -1;
	if (is_worth_keeping(*out, began))
		keep(c, *out);
	return 0;
}
