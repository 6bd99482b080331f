/* SPDX-License-Identifier: MIT */
/* Everything that is wrong with a root, at once. It reads with the loaders that runs use; what
 * they refuse is an error here, and nothing else is. Warnings are about what loads and is
 * probably not meant. It never changes or runs anything. */
#include "runtime/problems.h"

#include "base/fd.h"
#include "base/trust.h"
#include "script/script.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

struct lint {
	struct root root;
	struct settings set;
	struct policy *policy;
	struct problems found;
	struct arena arena;
};

/* What ended a reading without having been counted. */
static void add_last(struct lint *l, size_t before, const struct hcp_err *err)
{
	if (err->code != HCP_E_NONE && l->found.errors.count == before)
		conf_faults_add(&l->found.errors, err);
}

static int read_all(struct lint *l, const hcp_options *o)
{
	AUTO_FREE char *data = where_data();
	struct root_request q = runtime_root_request(o, data);
	struct hcp_err err = {0};
	size_t before;

	q.faults = &l->found.errors;
	if (root_open(&l->root, &l->set, &q, &err) < 0) {
		add_last(l, 0, &err);
		return -1;
	}
	before = l->found.errors.count;
	if (policy_load_faults(&l->root, &l->set, &l->policy, &l->found.errors, &err) < 0)
		add_last(l, before, &err);
	return l->policy ? 0 : -1;
}

/* ---- packs ---- */

static void check_block(struct lint *l, const struct pack *pack)
{
	const struct policy_pack *pp = policy_pack(l->policy, pack->id);
	struct hcp_err err = {0};

	for (size_t i = 0; pp && i < pp->overlay_count; i++) {
		struct hcp_err fault = {0};

		if (policy_check_overlay(&pp->overlays[i], pack, &fault) < 0)
			conf_faults_add(&l->found.errors, &fault);
	}
	/* its overlays were told already */
	if (policy_check_pack(l->policy, pack, &err) < 0 && err.code != HCP_E_CONFIG) {
		struct hcp_err fault = {0};

		hcp_fail_at(&fault, pp ? pp->file : pack->shown, pp ? pp->line : 0, 0,
			    "pack %s: %s", pack->id, err.text);
		conf_faults_add(&l->found.errors, &fault);
	}
}

/* A hook that isn't there refuses every run. */
static void check_hook(struct lint *l, const struct pack *pack)
{
	static const char mark[] = "policies:";
	const char *hook = pack->mint->hook, *file, *rel;
	const struct pack_file *own = pack_file(pack, hook);
	struct hcp_err err = {0}, fault = {0};
	AUTO_FD fd = -1;

	file = arena_printf(&l->arena, "%s/pack.yaml", pack->shown);
	rel = arena_printf(&l->arena, "policies/mint/%s.lua",
			   str_starts(hook, mark) ? hook + sizeof(mark) - 1 : "");
	if (!file || !rel)
		return;
	if (!str_starts(hook, mark)) {
		if (own && own->text &&
		    script_check(SCRIPT_MINT, hook, own->text, own->size, &err) < 0)
			hcp_fail_at(&fault, file, pack->mint->line, 0, "%s", err.text);
	} else if (root_open_file(&l->root, rel, true, &fd, &err) < 0) {
		hcp_fail_at(&fault, file, pack->mint->line, 0, "mint hook %s: %s", hook,
			    errno == ENOENT ? "there is no such file" : err.text);
	}
	if (fault.code != HCP_E_NONE)
		conf_faults_add(&l->found.errors, &fault);
}

static void check_pack(struct lint *l, const char *id)
{
	struct hcp_err err = {0};
	struct pack *pack = NULL;

	if (pack_try(&l->root, &l->set, id, &pack, &err) < 0) {
		conf_faults_add(&l->found.errors, &err);
		return;
	}
	check_block(l, pack);
	if (pack->mint)
		check_hook(l, pack);
	problems_of_mint(&l->found, pack);
	problems_of_capabilities(&l->found, pack);
	pack_close(pack);
}

static bool is_installed(const struct conf_strings *ids, const char *id)
{
	for (size_t i = 0; i < ids->count; i++)
		if (strcmp(ids->items[i], id) == 0)
			return true;
	return false;
}

static void check_packs(struct lint *l)
{
	struct hcp_err err = {0};
	struct conf_strings ids = {0};
	const struct policy_pack *pp;

	if (pack_list(&l->root, &l->set, &l->arena, &ids, &err) < 0) {
		conf_faults_add(&l->found.errors, &err);
		return;
	}
	for (size_t i = 0; i < ids.count; i++)
		check_pack(l, ids.items[i]);
	for (size_t i = 0; (pp = policy_pack_at(l->policy, i)); i++)
		if (!is_installed(&ids, pp->pack_id))
			problems_warn(&l->found, pp->file, pp->line, "no pack %s is installed",
				      pp->pack_id);
}

/* ---- scripts ---- */

static void check_script(struct lint *l, const char *folder, const char *name,
			 enum script_role role)
{
	const char *rel = arena_printf(&l->arena, "%s/%s", folder, name);
	AUTO_FREE char *source = NULL;
	struct hcp_err err = {0}, fault = {0};
	size_t len;

	if (!rel)
		return;
	if (root_read(&l->root, rel, false, LIMIT_SCRIPT, &source, &len, &err) == 0 &&
	    script_check(role, rel, source, len, &err) == 0)
		return;
	hcp_fail_at(&fault, rel, 0, 0, "%s", err.text);
	conf_faults_add(&l->found.errors, &fault);
}

static void check_folder(struct lint *l, const char *folder, enum script_role role)
{
	struct hcp_err err = {0};
	struct dirent *e;
	const char *dot;
	DIR *dir;
	int fd = -1;

	/* a folder that isn't there holds nothing wrong, and one that is wrong is told when a
	 * name in it is meant */
	if (trust_open_dir(l->root.fd, folder, l->root.path, &fd, &err) < 0)
		return;
	dir = fdopendir(fd);
	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir))) {
		dot = strrchr(e->d_name, '.');
		if (dot && strcmp(dot, ".lua") == 0 && e->d_name[0] != '.')
			check_script(l, folder, e->d_name, role);
	}
	if (dir)
		closedir(dir);
}

/* ---- the answer ---- */

static void look(struct lint *l, const hcp_options *o)
{
	if (read_all(l, o) < 0)
		return;
	check_packs(l);
	check_folder(l, "policies/auth", SCRIPT_AUTH);
	check_folder(l, "policies/guards", SCRIPT_GUARD);
	check_folder(l, "policies/mint", SCRIPT_MINT);
}

hcp_status hcp_policy_lint(hcp_runtime *rt, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {.code = HCP_E_NOMEM, .text = "out of memory"};
	struct lint l = {.root = {.fd = -1, .state_fd = -1, .data_fd = -1}};

	if (out)
		*out = NULL;
	if (!rt || !out)
		return HCP_EINVAL;
	look(&l, &rt->options);
	*out = problems_result(&l.found);
	policy_free(l.policy);
	root_close(&l.root);
	problems_free(&l.found);
	arena_free(&l.arena);
	return *out ? HCP_OK : runtime_error(err, &why);
}
