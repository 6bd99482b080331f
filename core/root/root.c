/* SPDX-License-Identifier: MIT */
/* Which root is believed, and what is read from it. A root that was named is the root or an
 * error; a default that is there but can't be trusted is an error, too: looking on would let
 * whoever breaks one root choose the next. */
#include "root/settings.h"

#include "base/fd.h"
#include "base/str.h"
#include "base/trust.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What /etc/hcp/hcp.yaml demands of this process. */
struct lock {
	bool on;
	dev_t dev;
	ino_t ino;
	const char *state; /* NULL: the default one */
};

const char *root_join(struct arena *a, const char *base, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (path[0] == '/')
		return arena_strndup(a, path, len);
	return arena_printf(a, "%s/%.*s", strcmp(base, "/") == 0 ? "" : base, (int)len, path);
}

static int from_cwd(struct arena *a, const char *path, const char **out, struct hcp_err *err)
{
	char cwd[PATH_MAX];

	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return hcp_fail_errno(err, "the current folder");
	*out = root_join(a, cwd, path);
	return *out ? 0 : hcp_fail_nomem(err);
}

/* The longest part that exists is resolved; ".." behind it would mean something else once it
 * exists. */
int root_resolve(struct arena *a, const char *path, const char **out, struct hcp_err *err)
{
	char head[PATH_MAX], real[PATH_MAX];
	size_t len = strlen(path);
	const char *tail;

	*out = NULL;
	if (path[0] != '/' || len >= sizeof(head))
		return hcp_fail(err, HCP_E_CONFIG, "%s: not a path that can be used", path);
	memcpy(head, path, len + 1);
	while (!realpath(len ? head : "/", real)) {
		if (errno != ENOENT || !len)
			return hcp_fail_errno(err, "%s", path);
		while (len && head[len - 1] != '/')
			len--;
		while (len && head[len - 1] == '/')
			len--;
		head[len] = '\0';
	}
	tail = path + len;
	for (const char *p = tail; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || !p[3])
			return hcp_fail(err, HCP_E_CONFIG,
					"%s: \"..\" in a path that isn't there", path);
	*out = arena_printf(a, "%s%s", strcmp(real, "/") == 0 && *tail ? "" : real, tail);
	return *out ? 0 : hcp_fail_nomem(err);
}

/* $XDG_CONFIG_HOME and its like: NULL in *out where neither variable leads anywhere. A relative
 * value can't be what somebody meant; taking the default instead would believe another root. */
static int xdg(struct arena *a, const char *value, const char *variable, const char *home,
	       const char *below, const char **out, struct hcp_err *err)
{
	bool given = value && *value;

	*out = NULL;
	if (!given && !(home && *home))
		return 0;
	if ((given ? value : home)[0] != '/')
		return hcp_fail(err, HCP_E_CONFIG, "$%s is not an absolute path",
				given ? variable : "HOME");
	*out = given ? arena_printf(a, "%s/hcp", value)
		     : arena_printf(a, "%s/%s/hcp", home, below);
	return *out ? 0 : hcp_fail_nomem(err);
}

/* 1: something is there, be it what it may; 0: nothing is. */
static int is_there(const char *path, struct hcp_err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return 1;
	return errno == ENOENT ? 0 : hcp_fail_errno(err, "%s", path);
}

static int find_default(struct root *root, const struct root_request *req, const char *system,
			struct hcp_err *err)
{
	const char *candidates[3] = {NULL, system, req->data};

	if (xdg(&root->arena, req->xdg_config_home, "XDG_CONFIG_HOME", req->home, ".config",
		&candidates[0], err) < 0)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		int there = candidates[i] ? is_there(candidates[i], err) : 0;

		if (there < 0)
			return -1;
		if (there) {
			root->path = candidates[i];
			return 0;
		}
	}
	return hcp_fail(err, HCP_E_CONFIG, "no root folder: give --root or make %s",
			candidates[0] ? candidates[0] : system);
}

static int find_root(struct root *root, const struct root_request *req, const char *system,
		     struct hcp_err *err)
{
	root->path = req->root ? req->root : req->env_root;
	if (!root->path && find_default(root, req, system, err) < 0)
		return -1;
	if (!*root->path)
		return hcp_fail(err, HCP_E_CONFIG, "%s is empty: it must name a folder",
				req->root ? "--root" : "$HCP_ROOT");
	root->path = arena_strdup(&root->arena, root->path);
	return root->path ? 0 : hcp_fail_nomem(err);
}

/* The descriptor is what was judged; its path must be the same folder's. */
static int find_real(struct root *root, struct hcp_err *err)
{
	char real[PATH_MAX];
	struct stat here, there;

	if (!realpath(root->path, real) || stat(real, &there) < 0 || fstat(root->fd, &here) < 0)
		return hcp_fail_errno(err, "%s", root->path);
	if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
		return hcp_fail(err, HCP_E_CONFIG, "%s changed while it was opened",
				root->path);
	root->real = arena_strdup(&root->arena, real);
	return root->real ? 0 : hcp_fail_nomem(err);
}

static int find_state(struct root *root, const struct settings *set,
		      const struct root_request *req, struct hcp_err *err)
{
	const char *named = req->state ? req->state : req->env_state;
	const char *path;

	if (named && !*named)
		return hcp_fail(err, HCP_E_CONFIG, "%s is empty: it must name a folder",
				req->state ? "--state" : "$HCP_STATE");
	if (named)
		return from_cwd(&root->arena, named, &root->state, err);
	root->state = set->state;
	if (root->state)
		return 0;
	if (xdg(&root->arena, req->xdg_state_home, "XDG_STATE_HOME", req->home, ".local/state",
		&path, err) < 0)
		return -1;
	if (!path)
		return hcp_fail(err, HCP_E_CONFIG,
				"no state folder: give --state, or set $HOME");
	root->state = root_join(&root->arena, "/", path);
	return root->state ? 0 : hcp_fail_nomem(err);
}

static int read_lock(struct arena *a, const char *system, struct lock *lock,
		     struct hcp_err *err)
{
	char real[PATH_MAX];
	struct settings set;
	AUTO_FD fd = -1;
	struct stat st;
	int there = is_there(system, err);

	memset(lock, 0, sizeof(*lock));
	if (there <= 0)
		return there;
	if (trust_open_top(system, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !realpath(system, real))
		return hcp_fail_errno(err, "%s", system);
	if (root_settings_read(a, fd, system, real, NULL, &set, err) < 0)
		return -1;
	*lock =
	    (struct lock){set.lock && st.st_uid != geteuid(), st.st_dev, st.st_ino, set.state};
	return 0;
}

/* The state folder that nothing the caller says has a part in: $HOME is the caller's word, the
 * password database isn't. */
static int locked_state(struct arena *a, const struct lock *lock, const char **out,
			struct hcp_err *err)
{
	struct passwd pw, *found = NULL;
	char room[4096];

	*out = lock->state;
	if (*out)
		return 0;
	if (getpwuid_r(geteuid(), &pw, room, sizeof(room), &found) != 0 || !found)
		return hcp_fail(err, HCP_E_CONFIG, "uid %u has no home folder for its state",
				(unsigned)geteuid());
	*out = arena_printf(a, "%s/.local/state/hcp", pw.pw_dir);
	return *out ? 0 : hcp_fail_nomem(err);
}

static int obey_lock_root(const struct root *root, const struct lock *lock, const char *system,
			  struct hcp_err *err)
{
	struct stat st;

	if (!lock->on)
		return 0;
	if (fstat(root->fd, &st) < 0)
		return hcp_fail_errno(err, "%s", root->path);
	if (st.st_dev == lock->dev && st.st_ino == lock->ino)
		return 0;
	return hcp_fail(err, HCP_E_CONFIG,
			"%s/hcp.yaml says lock: true, so %s can't be the root", system,
			root->path);
}

static int obey_lock_state(struct root *root, const struct lock *lock, const char *system,
			   struct hcp_err *err)
{
	const char *state;

	if (!lock->on)
		return 0;
	if (locked_state(&root->arena, lock, &state, err) < 0)
		return -1;
	if (strcmp(root->state, state) == 0)
		return 0;
	return hcp_fail(err, HCP_E_CONFIG,
			"%s/hcp.yaml says lock: true, so the state folder is %s, not %s",
			system, state, root->state);
}

static int open_data(struct root *root, const struct root_request *req, struct hcp_err *err)
{
	if (!req->data)
		return 0;
	root->data = arena_strdup(&root->arena, req->data);
	if (!root->data)
		return hcp_fail_nomem(err);
	return trust_open_top(root->data, &root->data_fd, err);
}

static int open_all(struct root *root, struct settings *set, const struct root_request *req,
		    const char *system, struct hcp_err *err)
{
	struct lock lock;

	if (read_lock(&root->arena, system, &lock, err) < 0 ||
	    find_root(root, req, system, err) < 0 ||
	    trust_open_top(root->path, &root->fd, err) < 0 ||
	    obey_lock_root(root, &lock, system, err) < 0 || find_real(root, err) < 0)
		return -1;
	/* who wants all faults gets those behind this one, too */
	if (root_settings_read(&root->arena, root->fd, root->path, root->real, req->faults, set,
			       err) < 0 &&
	    !req->faults)
		return -1;
	if (find_state(root, set, req, err) < 0 ||
	    obey_lock_state(root, &lock, system, err) < 0)
		return -1;
	return open_data(root, req, err);
}

int root_open_with(struct root *root, struct settings *set, const struct root_request *req,
		   const char *system, struct hcp_err *err)
{
	struct hcp_err why = {0};

	memset(root, 0, sizeof(*root));
	memset(set, 0, sizeof(*set));
	root->fd = root->state_fd = root->data_fd = -1;
	root->brings_provider = req->brings_provider;
	root->host = req->host;
	if (open_all(root, set, req, system, &why) == 0)
		return 0;
	/* whatever it was, what is wrong is the configuration */
	if (why.code != HCP_E_NOMEM)
		why.code = HCP_E_CONFIG;
	if (err && err->code == HCP_E_NONE)
		*err = why;
	return -1;
}

int root_open(struct root *root, struct settings *set, const struct root_request *req,
	      struct hcp_err *err)
{
	return root_open_with(root, set, req, ROOT_SYSTEM, err);
}

bool root_is_ours(const struct root *root)
{
	struct stat st;

	return root->fd >= 0 && fstat(root->fd, &st) == 0 && st.st_uid == geteuid();
}

void root_close(struct root *root)
{
	fd_close(&root->fd);
	fd_close(&root->state_fd);
	fd_close(&root->data_fd);
	arena_free(&root->arena);
	memset(root, 0, sizeof(*root));
	root->fd = root->state_fd = root->data_fd = -1;
}
