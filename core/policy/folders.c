/* SPDX-License-Identifier: MIT */
/* Which host folders an operator may let a pack into. A path must be written as the file system
 * spells it, so that what was reviewed is what is mounted, and must stay clear of the root, the
 * state and what else the runtime believes: a program that can write there writes its own
 * policy. */
#include "policy/load.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int keep(struct policy_loader *l, const char *path, const char *what, bool write_only,
		struct hcp_err *err)
{
	struct policy_kept *k = &l->kept[l->kept_count];

	if (root_resolve(&l->policy->arena, path, &k->path, err) < 0)
		return -1;
	k->what = what;
	k->write_only = write_only;
	l->kept_count++;
	return 0;
}

/* secrets/ lies beneath the root, links in the way are refused where it is opened. */
int policy_keep_folders(struct policy_loader *l, struct hcp_err *err)
{
	struct arena *a = &l->policy->arena;
	const struct conf_strings *packs = &l->set->packs;

	l->kept_count = 0;
	l->kept = arena_array(a, packs->count + 4, sizeof(*l->kept));
	if (!l->kept)
		return hcp_fail_nomem(err);
	if (keep(l, l->root->real, "the root folder", false, err) < 0 ||
	    keep(l, l->root->state, "the state folder", false, err) < 0)
		return -1;
	if (l->set->audit_path && keep(l, l->set->audit_path, "the audit log", false, err) < 0)
		return -1;
	if (l->root->data && keep(l, l->root->data, "the installed data folder", true, err) < 0)
		return -1;
	for (size_t i = 0; i < packs->count; i++)
		if (packs->items[i][0] == '/' &&
		    keep(l, packs->items[i], "a folder of packs", true, err) < 0)
			return -1;
	return 0;
}

static bool covers(const char *upper, const char *lower)
{
	size_t len = strlen(upper);

	if (strcmp(upper, "/") == 0)
		return true;
	return strncmp(upper, lower, len) == 0 && (lower[len] == '/' || !lower[len]);
}

static int check_kept(const struct policy_loader *l, const struct yaml_node *at,
		      const char *path, bool write, struct hcp_err *err)
{
	for (size_t i = 0; i < l->kept_count; i++) {
		const struct policy_kept *k = &l->kept[i];
		const char *how;

		if (k->write_only && !write)
			continue;
		if (strcmp(path, k->path) == 0)
			how = "is";
		else if (covers(path, k->path))
			how = "covers";
		else if (covers(k->path, path))
			how = "lies beneath";
		else
			continue;
		return conf_fail(&l->ctx, at, err, "%s %s %s: no pack may be let in there",
				 path, how, k->what);
	}
	return 0;
}

int policy_check_folder(const struct policy_loader *l, const struct yaml_node *at,
			const char *path, bool write, bool folder, struct hcp_err *err)
{
	char real[PATH_MAX];
	struct stat st;

	if (path[0] != '/')
		return conf_fail(&l->ctx, at, err, "%s must be an absolute path", path);
	if (!realpath(path, real) || stat(real, &st) < 0)
		return conf_fail(&l->ctx, at, err, "%s: %s", path, strerrordesc_np(errno));
	if (strcmp(path, real) != 0)
		return conf_fail(&l->ctx, at, err, "%s leads to %s: write that path", path,
				 real);
	if (strcmp(real, "/") == 0)
		return conf_fail(&l->ctx, at, err, "/ is the whole host: name folders of it");
	if (folder && !S_ISDIR(st.st_mode))
		return conf_fail(&l->ctx, at, err, "%s is not a folder", path);
	/* a socket is a door to whoever listens, a device to the kernel */
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return conf_fail(&l->ctx, at, err, "%s is neither a folder nor a regular file",
				 path);
	return check_kept(l, at, path, write, err);
}
