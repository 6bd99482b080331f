/* SPDX-License-Identifier: MIT */
/* A run's own folder beneath the state folder, for the tiers that mount nothing. It is locked
 * while the run lives; what a killed runtime left is swept by the next such run. */
#include "exec/wrap.h"

#include "base/fd.h"
#include "base/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SCRATCH "scratch"

static void remove_scratch(int all, const char *name)
{
	struct hcp_err err = {0};

	/* what can't be removed now is swept by a later run */
	if (tree_remove(all, name, &err) < 0)
		return;
}

void wrap_scratch_close(struct job *j)
{
	AUTO_FD all = -1;
	struct hcp_err err = {0};

	if (j->scratch_fd < 0)
		return;
	if (root_state_dir(&j->r->snap->root, SCRATCH, &all, &err) == 0)
		remove_scratch(all, j->r->id);
	fd_close(&j->scratch_fd);
}

/* A folder that nobody locks is of a runtime that was killed, or was made a moment ago: whoever
 * makes one shares the lock of the folder that all are in until it has locked its own. */
static void sweep(int all)
{
	int copy;
	DIR *d;
	struct dirent *e;

	if (flock(all, LOCK_EX | LOCK_NB) < 0)
		return; /* somebody makes one or sweeps */
	copy = openat(all, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	while (d && (e = readdir(d))) {
		AUTO_FD fd = -1;

		if (e->d_name[0] == '.')
			continue;
		fd = openat(all, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_scratch(all, e->d_name);
	}
	if (d)
		closedir(d);
}

static int make_locked(struct job *j, int all, const char *rel, struct hcp_err *err)
{
	/* after the sweep's own lock, which this replaces; held until `all` is closed */
	if (flock(all, LOCK_SH) < 0)
		return hcp_fail_errno(err, SCRATCH);
	if (root_state_dir(&j->r->snap->root, rel, &j->scratch_fd, err) < 0)
		return -1;
	if (flock(j->scratch_fd, LOCK_EX | LOCK_NB) < 0)
		return hcp_fail_errno(err, "%s", rel);
	return 0;
}

int wrap_scratch_open(struct job *j)
{
	struct run *r = j->r;
	const struct root *root = &r->snap->root;
	struct hcp_err err = {0};
	AUTO_FD all = -1;
	const char *rel = arena_printf(&r->arena, SCRATCH "/%s", r->id);
	const char *path = arena_printf(&r->arena, "%s/" SCRATCH "/%s", root->state, r->id);

	if (!box_needs_scratch(&j->spec) && !j->folder)
		return 0;
	if (!rel || !path)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	if (j->spec.only_shown && j->folder && wrap_files_folder(j, rel, path) < 0)
		return -1;
	if (j->spec.only_shown)
		return box_scratch_names(&j->spec, path, &r->arena, &err) < 0
			   ? run_refuse_err(r, EXIT_ADAPTER, "", &err)
			   : 0;
	if (root_state_dir(root, SCRATCH, &all, &err) < 0)
		return run_refuse_err(r, EXIT_ADAPTER, "sandbox: scratch unavailable: ", &err);
	sweep(all);
	/* the last slash makes the run's own folder one to pass through, too */
	if (make_locked(j, all, rel, &err) < 0)
		return run_refuse_err(r, EXIT_ADAPTER, "sandbox: scratch unavailable: ", &err);
	if (j->folder && wrap_files_folder(j, rel, path) < 0)
		return -1;
	if (!box_needs_scratch(&j->spec))
		return 0;
	if (root_state_passage(root, arena_printf(&r->arena, "%s/", rel), &err) < 0 ||
	    (j->jail_rel && root_state_passage(root, j->jail_rel, &err) < 0))
		return run_refuse_err(r, EXIT_ADAPTER, "sandbox: scratch unavailable: ", &err);
	if (box_scratch(&j->spec, j->scratch_fd, path, &r->arena, &err) < 0)
		return run_refuse_err(r, EXIT_ADAPTER, "", &err);
	return 0;
}
