/* SPDX-License-Identifier: MIT */
#include "exec/workspace.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/tree.h"
#include "exec/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_MAX 10000 /* entries of one answer */

struct visit {
	struct run *r;
	const struct workspace_task *t;
	struct job job; /* what a wrap's jail is opened, locked and measured by */
	int parent;     /* the folder that the path's last part is in */
	const char *last;
};

static int fail(struct visit *v, const char *what)
{
	return wrap_path_fail(v->r, what);
}

static int open_parent(struct visit *v)
{
	const char *path = v->t->path, *slash = strrchr(path, '/');
	char *dir = slash ? arena_strndup(&v->r->arena, path, (size_t)(slash - path)) : NULL;

	v->last = slash ? slash + 1 : path;
	if (slash && !dir)
		return run_refuse_text(v->r, EXIT_RUNTIME, NULL);
	if (strcmp(v->last, "..") == 0 || (slash && !*dir))
		return run_refuse(v->r, EXIT_ADAPTER, "sandbox: path escapes workspace");
	if (!*v->last || strcmp(v->last, ".") == 0)
		return run_refuse(v->r, EXIT_ADAPTER, "%s: names no file", path);
	v->parent = wrap_open_beneath(v->job.jail_fd, dir ? dir : ".", O_PATH | O_DIRECTORY);
	return v->parent < 0 ? fail(v, path) : 0;
}

/* ---- ls ---- */

static const char *kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return "file";
	if (S_ISDIR(mode))
		return "folder";
	return S_ISLNK(mode) ? "link" : "other";
}

static int add_entry(struct visit *v, int dirfd, const char *name)
{
	struct buf *out = &v->r->result;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(v, v->t->path);
	buf_puts(out, out->len > 1 ? ",{\"name\":" : "{\"name\":");
	json_add_cstring(out, name);
	buf_printf(out, ",\"kind\":\"%s\",\"size\":%lld,\"modified\":%lld}",
		   kind_of(st.st_mode), (long long)st.st_size, (long long)st.st_mtime);
	return 0;
}

static int list(struct visit *v)
{
	int fd = wrap_open_beneath(v->job.jail_fd, v->t->path, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int rc = 0, count = 0;

	if (!d) {
		rc = fail(v, v->t->path);
		fd_close(&fd);
		return rc;
	}
	buf_putc(&v->r->result, '[');
	while (rc == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (count++ == LIST_MAX)
			rc = run_refuse(v->r, EXIT_ADAPTER, "%s holds more than %d entries",
					v->t->path, LIST_MAX);
		else
			rc = add_entry(v, dirfd(d), e->d_name);
	}
	closedir(d);
	buf_putc(&v->r->result, ']');
	return rc;
}

/* ---- get and put ---- */

static int copy(struct visit *v, int from, int to, int64_t limit)
{
	int64_t sum = 0;

	if (wrap_copy(v->r, v->t->path, from, to, limit, &sum) < 0)
		return -1;
	buf_printf(&v->r->result, "{\"bytes\":%lld}", (long long)sum);
	return 0;
}

static int get(struct visit *v)
{
	AUTO_FD fd = -1;

	if (wrap_open_file(v->r, v->job.jail_fd, v->t->path, &fd) < 0)
		return -1;
	return copy(v, fd, v->t->fd, INT64_MAX);
}

/* Belongs to the sandbox's user; appears under its name once it is whole. */
static int put_as(struct visit *v, const char *fresh)
{
	AUTO_FD fd = fd_above_stdio(
	    openat(v->parent, fresh, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));

	if (fd < 0)
		return fail(v, v->t->path);
	if (geteuid() == 0 && fchown(fd, wrap_user(v->r), (gid_t)wrap_user(v->r)) < 0)
		return fail(v, v->t->path);
	if (copy(v, v->t->fd, fd, v->r->limits.workspace) < 0 ||
	    wrap_jail_check_usage(&v->job) < 0)
		return -1;
	if (fsync(fd) < 0 || renameat(v->parent, fresh, v->parent, v->last) < 0)
		return fail(v, v->t->path);
	return 0;
}

static int put(struct visit *v)
{
	const char *fresh = arena_printf(&v->r->arena, ".hcp-%s", v->r->id);
	int rc;

	if (!fresh)
		return run_refuse_text(v->r, EXIT_RUNTIME, NULL);
	if (open_parent(v) < 0)
		return -1;
	rc = put_as(v, fresh);
	if (rc < 0)
		unlinkat(v->parent, fresh, 0);
	return rc;
}

/* ---- rm ---- */

static int empty(struct visit *v)
{
	int fd = openat(v->job.jail_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct hcp_err err = {0};
	struct dirent *e;
	int rc = 0;

	if (!d) {
		rc = fail(v, v->t->path);
		fd_close(&fd);
		return rc;
	}
	while (rc == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = tree_remove(dirfd(d), e->d_name, &err);
	closedir(d);
	return rc < 0 ? run_refuse_err(v->r, EXIT_ADAPTER, "", &err) : 0;
}

static int rm(struct visit *v)
{
	struct hcp_err err = {0};
	struct stat st;

	buf_puts(&v->r->result, "null");
	if (strcmp(v->t->path, ".") == 0)
		return empty(v);
	if (open_parent(v) < 0)
		return -1;
	if (fstatat(v->parent, v->last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(v, v->t->path);
	if (tree_remove(v->parent, v->last, &err) < 0)
		return run_refuse_err(v->r, EXIT_ADAPTER, "", &err);
	return 0;
}

/* ---- the walk ---- */

static const struct {
	const char *key;
	int (*run)(struct visit *);
	enum pack_lock lock;
} ops[] = {
    [HCP_WORKSPACE_LS] = {"workspace ls", list, PACK_LOCK_SHARED},
    [HCP_WORKSPACE_GET] = {"workspace get", get, PACK_LOCK_SHARED},
    [HCP_WORKSPACE_PUT] = {"workspace put", put, PACK_LOCK_EXCLUSIVE},
    [HCP_WORKSPACE_RM] = {"workspace rm", rm, PACK_LOCK_EXCLUSIVE},
};

/* Stands in for step 3: no pack declares these, so they ask for a capability of their own. */
static int declare(struct run *r, const struct workspace_task *t)
{
	struct pack_command *cmd = arena_alloc(&r->arena, sizeof(*cmd));
	struct pack_policy *policy = arena_alloc(&r->arena, sizeof(*policy));
	const char **capability = arena_array(&r->arena, 1, sizeof(*capability));

	if (!cmd || !policy || !capability)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	capability[0] = arena_printf(&r->arena, "%s.workspace", r->pack->id);
	if (!capability[0])
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	policy->verb_key = cmd->key = ops[t->op].key;
	policy->capabilities = (struct conf_strings){.count = 1, .items = capability};
	cmd->kind = "workspace";
	cmd->lock = ops[t->op].lock;
	cmd->wrap.workspace = PACK_WS_WORKSPACE;
	cmd->policy = policy;
	r->granted = policy_pack(r->snap->policy, r->pack->id);
	if (!r->granted)
		r->granted = policy_pack_default();
	r->command = cmd;
	policy_limits(r->granted, NULL, cmd, &r->limits);
	r->deadline_ns = r->started_ns + r->limits.timeout_ms * 1000000;
	return 0;
}

static int act(struct visit *v)
{
	struct job *j = &v->job;

	if (wrap_jail_open(j) < 0 || wrap_jail_lock(j) < 0 || ops[v->t->op].run(v) < 0)
		return -1;
	return v->r->result.failed ? run_refuse_text(v->r, EXIT_RUNTIME, NULL) : 0;
}

static int walk(struct run *r, const struct workspace_task *t)
{
	struct visit v = {.r = r, .t = t, .parent = -1};
	int rc;

	r->step = 1;
	if (step_pack(r) < 0)
		return -1;
	r->step = 2;
	if (step_session(r) < 0)
		return -1;
	r->step = 3;
	if (declare(r, t) < 0)
		return -1;
	r->step = 4;
	if (step_principal(r) < 0)
		return -1;
	r->step = 5;
	if (step_capability(r) < 0)
		return -1;
	r->consented = true; /* putting and removing is what was asked for, in these words */
	if (step_audit_begin(r) < 0)
		return -1;
	r->step = 8;
	v.job =
	    (struct job){.r = r, .wrap = &r->command->wrap, .jail_fd = -1, .scratch_fd = -1};
	rc = act(&v);
	fd_close(&v.parent);
	fd_close(&v.job.jail_fd);
	return rc;
}

void exec_workspace(struct run *r, const char *pack_id, const struct workspace_task *t)
{
	json_t *args = json_pack("{s:s}", "path", t->path);

	if (!args)
		run_refuse(r, EXIT_DENIED, "invalid envelope: the path is not UTF-8");
	else
		envelope_words(r, pack_id, ops[t->op].key, args);
	json_decref(args);
	r->ok = !r->error && walk(r, t) == 0;
	run_redact(r);
	step_audit(r);
}
