/* SPDX-License-Identifier: MIT */
/* Files of a caller for a jail that lives as long as the run: in before the program, out after
 * it. The jail is then a folder of the run's own in every tier, since nobody outside sees a
 * private tmpfs. No path and no link leads out of it, whatever the program left there. */
#include "exec/wrap.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT "kept"

int wrap_path_fail(struct run *r, const char *what)
{
	if (errno == EXDEV || errno == ELOOP)
		return run_refuse(r, EXIT_ADAPTER, "sandbox: path escapes workspace");
	return run_refuse(r, EXIT_ADAPTER, "%s: %s", what, strerrordesc_np(errno));
}

int wrap_open_beneath(int dirfd, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};

	return fd_above_stdio((int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
}

int wrap_copy(struct run *r, const char *what, int from, int to, int64_t limit, int64_t *sum)
{
	struct hcp_err err = {0};
	char block[65536], text[32];
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wrap_path_fail(r, what);
		*sum += n;
		unit_format_size(limit, text);
		if (*sum > limit)
			return run_refuse(r, EXIT_ADAPTER, "sandbox: workspace over %s", text);
		if (fd_write_all(to, block, (size_t)n, &err) < 0)
			return run_refuse_err(r, EXIT_ADAPTER, "", &err);
	}
	return 0;
}

int wrap_open_file(struct run *r, int dirfd, const char *path, int *out)
{
	AUTO_FD fd = wrap_open_beneath(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return wrap_path_fail(r, path);
	if (!S_ISREG(st.st_mode))
		return run_refuse(r, EXIT_ADAPTER, "%s is not a regular file", path);
	*out = fd_steal(&fd);
	return 0;
}

bool wrap_files_wanted(const struct run *r)
{
	return !r->parent && (r->call->file_count > 0 || r->call->keep);
}

int wrap_files_check(struct run *r)
{
	if (!wrap_files_wanted(r) || (strcmp(r->command->kind, "wrap") == 0 &&
				      r->command->wrap.workspace == PACK_WS_EPHEMERAL))
		return 0;
	return run_refuse(r, EXIT_DENIED,
			  "invalid args: files go into an ephemeral workspace, and this "
			  "command has none");
}

int wrap_files_folder(struct job *j, const char *rel, const char *path)
{
	struct run *r = j->r;

	j->jail_rel = arena_printf(&r->arena, "%s/jail", rel);
	j->spec.jail_path = arena_printf(&r->arena, "%s/jail", path);
	if (!j->jail_rel || !j->spec.jail_path)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	if (j->spec.only_shown)
		return 0;
	if (mkdirat(j->scratch_fd, "jail", 0700) < 0 ||
	    (j->jail_fd = wrap_open_beneath(j->scratch_fd, "jail", O_RDONLY | O_DIRECTORY)) < 0)
		return wrap_path_fail(r, "sandbox: workspace");
	j->spec.jail_fd = j->jail_fd;
	return 0;
}

static int put(struct job *j, const struct call_file *f, int64_t *sum)
{
	struct run *r = j->r;
	uid_t user = wrap_user(r);
	AUTO_FD fd = fd_above_stdio(openat(
	    j->jail_fd, f->name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));

	if (fd < 0 || (geteuid() == 0 && fchown(fd, user, (gid_t)user) < 0))
		return wrap_path_fail(r, f->name);
	return wrap_copy(r, f->name, f->fd, fd, r->limits.workspace, sum);
}

static int take(struct job *j, const struct call_file *f)
{
	AUTO_FD fd = -1;
	int64_t sum = 0;

	if (wrap_open_file(j->r, j->jail_fd, f->name, &fd) < 0)
		return -1;
	return wrap_copy(j->r, f->name, fd, f->fd, j->r->limits.workspace, &sum);
}

int wrap_files_put(struct job *j)
{
	const hcp_call *c = j->r->call;
	int64_t sum = 0;

	for (size_t i = 0; j->folder && i < c->file_count; i++)
		if (!c->files[i].out && put(j, &c->files[i], &sum) < 0)
			return -1;
	return 0;
}

int wrap_files_take(struct job *j)
{
	const hcp_call *c = j->r->call;

	for (size_t i = 0; j->folder && i < c->file_count; i++)
		if (c->files[i].out && take(j, &c->files[i]) < 0)
			return -1;
	return 0;
}

void wrap_files_keep(struct job *j)
{
	const struct run *r = j->r;
	const struct root *root = &r->snap->root;
	struct hcp_err err = {0};
	AUTO_FD kept = -1;

	if (!j->folder || !r->call->keep || j->jail_fd < 0)
		return;
	if (root_state_dir(root, KEPT, &kept, &err) < 0)
		run_log(r, HCP_LOG_WARN, "the workspace isn't kept: %s", err.text);
	else if (renameat(j->scratch_fd, "jail", kept, r->id) < 0)
		run_log(r, HCP_LOG_WARN, "the workspace isn't kept: %s",
			strerrordesc_np(errno));
	else
		run_log(r, HCP_LOG_WARN, "the workspace is kept: %s/" KEPT "/%s", root->state,
			r->id);
}
