/* SPDX-License-Identifier: MIT */
/* Whether what a snapshot was read from has changed since. A stamp digests what stat(2) says of
 * every file and folder that counts. It must never call something unchanged that may have
 * changed: a stamp taken too soon after a change is not believed, and neither is that of a
 * configuration that didn't load, since what mends it may be any file. */
#include "runtime/runtime.h"

#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A file system's clock may stand still for a while: two changes within it look like one. */
#define SETTLE_SECONDS 2

struct stamper {
	crypto_generichash_state hash;
	int64_t newest; /* ctime, seconds */
};

static void add_stat(struct stamper *s, const struct stat *st)
{
	int64_t facts[] = {
	    (int64_t)st->st_dev, (int64_t)st->st_ino,
	    st->st_mode,         st->st_uid,
	    st->st_gid,          st->st_size,
	    st->st_mtim.tv_sec,  (int64_t)st->st_mtim.tv_nsec,
	    st->st_ctim.tv_sec,  st->st_ctim.tv_nsec,
	};

	crypto_generichash_update(&s->hash, (const unsigned char *)facts, sizeof(facts));
	if (st->st_ctim.tv_sec > s->newest)
		s->newest = st->st_ctim.tv_sec;
}

/* A file that isn't there counts, too: one may appear. */
static void add(struct stamper *s, int dirfd, const char *name, int flags)
{
	struct stat st = {0};

	crypto_generichash_update(&s->hash, (const unsigned char *)name, strlen(name) + 1);
	if (fstatat(dirfd, name, &st, flags) < 0)
		memset(&st, 0, sizeof(st));
	add_stat(s, &st);
}

/* A folder and what is in it. Its order is that of the folder, which stays while it does. */
static void add_folder(struct stamper *s, int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	add(s, dirfd, name, 0);
	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add(s, fd, entry->d_name, 0);
	closedir(dir);
}

static void add_scripts(struct stamper *s, int dirfd)
{
	static const char *const folders[] = {"policies/auth", "policies/guards",
					      "policies/mint", "adapters"};

	for (size_t i = 0; dirfd >= 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		add(s, dirfd, folders[i], 0);
}

void snapshot_stamp(const struct root *root, const struct settings *set, int64_t began,
		    struct stamp *out)
{
	struct stamper s = {.newest = 0};

	crypto_generichash_init(&s.hash, NULL, 0, sizeof(out->digest));
	add(&s, AT_FDCWD, root->path ? root->path : "", 0);
	add(&s, AT_FDCWD, "/etc/hcp", 0);
	add(&s, AT_FDCWD, "/etc/hcp/hcp.yaml", 0);
	if (root->fd >= 0) {
		add(&s, root->fd, "hcp.yaml", 0);
		add_folder(&s, root->fd, "policies");
		add(&s, root->fd, set->ca ? set->ca : "", 0);
	}
	add_scripts(&s, root->fd);
	add_scripts(&s, root->data_fd);
	crypto_generichash_final(&s.hash, out->digest, sizeof(out->digest));
	out->settled = s.newest + SETTLE_SECONDS < began;
}

static bool is_current(const struct snapshot *s)
{
	struct stamp now;

	if (s->broken.code != HCP_E_NONE || !s->stamp.settled)
		return false;
	snapshot_stamp(&s->root, &s->set, INT64_MAX, &now);
	return memcmp(now.digest, s->stamp.digest, sizeof(now.digest)) == 0;
}

hcp_status hcp_refresh(hcp_runtime *rt, hcp_error *err)
{
	struct snapshot *s;
	hcp_status status;
	bool current;

	if (!rt)
		return HCP_EINVAL;
	pthread_mutex_lock(&rt->refreshing);
	s = runtime_snapshot(rt);
	current = is_current(s);
	snapshot_put(s);
	status = current ? HCP_OK : hcp_reload(rt, err);
	pthread_mutex_unlock(&rt->refreshing);
	return status;
}
