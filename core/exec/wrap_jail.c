/* SPDX-License-Identifier: MIT */
/* The folder that a program works in: which one it is, whose turn it is, how much is in it. */
#include "exec/wrap.h"

#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

static int open_named_folder(struct job *j)
{
	struct run *r = j->r;

	for (size_t i = 0; i < r->granted->workspace_count; i++) {
		const struct policy_folder *f = &r->granted->workspaces[i];

		if (strcmp(f->name, j->wrap->workspace_name) != 0)
			continue;
		j->jail_fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (j->jail_fd < 0)
			return run_refuse(r, EXIT_ADAPTER, "sandbox: workspace \"%s\": %s",
					  f->name, strerrordesc_np(errno));
		j->spec.jail_path = f->path;
		j->spec.jail_write = f->write;
		return 0;
	}
	return run_refuse(r, EXIT_ADAPTER,
			  "sandbox: no workspace: the operator names no folder \"%s\"",
			  j->wrap->workspace_name);
}

/* <state>/workspaces/<tenant>/<project or ->/<pack>: every part is a judged name. */
static int open_kept_jail(struct job *j)
{
	struct run *r = j->r;
	const struct principal *p = &r->principal;
	struct hcp_err err = {0};
	const char *rel = arena_printf(&r->arena, "workspaces/%s/%s/%s", p->tenant,
				       p->project ? p->project : "-", r->pack->id);

	if (!rel)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	if (j->spec.only_shown) {
		if (root_state_find(&r->snap->root, rel, &j->jail_fd, &err) < 0)
			return run_refuse_err(r, EXIT_ADAPTER, "sandbox: workspace: ", &err);
	} else if (root_state_dir(&r->snap->root, rel, &j->jail_fd, &err) < 0)
		return run_refuse_err(r, EXIT_ADAPTER, "sandbox: workspace: ", &err);
	j->spec.jail_path = arena_printf(&r->arena, "%s/%s", r->snap->root.state, rel);
	j->jail_rel = rel;
	j->spec.jail_write = j->spec.jail_ours = true;
	return j->spec.jail_path ? 0 : run_refuse_text(r, EXIT_RUNTIME, NULL);
}

int wrap_jail_open(struct job *j)
{
	int rc = 0;

	switch (j->wrap->workspace) {
	case PACK_WS_PACK:
		return 0;
	case PACK_WS_EPHEMERAL:
		j->folder = wrap_files_wanted(j->r);
		j->spec.jail = j->folder ? BOX_JAIL_FOLDER : BOX_JAIL_TMPFS;
		j->spec.jail_write = true;
		j->spec.jail_ours = j->folder;
		break;
	case PACK_WS_WORKSPACE:
		j->spec.jail = BOX_JAIL_FOLDER;
		rc = j->wrap->workspace_name ? open_named_folder(j) : open_kept_jail(j);
		break;
	}
	j->spec.cwd_jail = true;
	j->spec.jail_fd = j->jail_fd;
	return rc;
}

int wrap_jail_lock(struct job *j)
{
	struct run *r = j->r;
	int how = r->command->lock == PACK_LOCK_SHARED ? LOCK_SH : LOCK_EX;
	struct timespec pause = {.tv_nsec = 1000000};

	if (j->jail_fd < 0 || r->command->lock == PACK_LOCK_NONE)
		return 0;
	while (flock(j->jail_fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return run_refuse(r, EXIT_ADAPTER, "sandbox: workspace lock: %s",
					  strerrordesc_np(errno));
		if (__atomic_load_n(&r->call->cancelled, __ATOMIC_RELAXED))
			return run_refuse(r, EXIT_CANCELLED, "sandbox: cancelled");
		if (run_now_ns() >= r->deadline_ns)
			return run_refuse(r, EXIT_TIMEOUT, "sandbox: workspace busy");
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 16000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}

/* A kept jail alone: an operator's folder is the operator's to watch. */
int wrap_jail_check_usage(struct job *j)
{
	struct run *r = j->r;
	struct hcp_err err = {0};
	char limit[32];
	int64_t bytes;

	if (!j->jail_rel || j->jail_fd < 0)
		return 0;
	if (tree_measure(j->jail_fd, r->limits.workspace, &bytes, &err) < 0)
		return run_refuse_err(r, EXIT_ADAPTER, "sandbox: workspace: ", &err);
	unit_format_size(r->limits.workspace, limit);
	if (bytes > r->limits.workspace)
		return run_refuse(r, EXIT_ADAPTER, "sandbox: workspace over %s", limit);
	return 0;
}
