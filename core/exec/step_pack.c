/* SPDX-License-Identifier: MIT */
/* Step 1: resolve the pack. It is read once, if it isn't as it was read before; every later
 * step works on that reading. A nested run in its parent's pack shares the parent's. */
#include "exec/exec.h"

#include <string.h>

/* `uses` lists "<pack>.<verb>"; the two fields are compared one after the other. */
static bool may_use(const struct pack *user, const char *pack_id, const char *verb_key)
{
	size_t n = strlen(pack_id);

	for (size_t i = 0; i < user->uses.count; i++) {
		const char *use = user->uses.items[i];

		if (strncmp(use, pack_id, n) == 0 && use[n] == '.' &&
		    strcmp(use + n + 1, verb_key) == 0)
			return true;
	}
	return false;
}

/* A verb that is already under way above this run would run for ever. */
static bool is_cycle(const struct run *r)
{
	for (const struct run *up = r->parent; up; up = up->parent)
		if (strcmp(up->pack_id, r->pack_id) == 0 &&
		    strcmp(up->verb_key, r->verb_key) == 0)
			return true;
	return false;
}

static int check_nesting(struct run *r)
{
	const struct pack *user = r->parent->pack;

	if (r->depth > LIMIT_DEPTH)
		return run_refuse(r, EXIT_DENIED, "denied: nested deeper than %d runs",
				  LIMIT_DEPTH);
	if (is_cycle(r))
		return run_refuse(r, EXIT_DENIED, "denied: %s.%s calls itself", r->pack_id,
				  r->verb_key);
	if (strcmp(user->id, r->pack_id) != 0 && !may_use(user, r->pack_id, r->verb_key))
		return run_refuse(r, EXIT_DENIED, "denied: %s does not use %s.%s", user->id,
				  r->pack_id, r->verb_key);
	return 0;
}

int step_pack(struct run *r)
{
	struct hcp_err err = {0};

	if (r->parent && check_nesting(r) < 0)
		return -1;
	if (r->parent && strcmp(r->parent->pack->id, r->pack_id) == 0) {
		r->pack = r->parent->pack;
		return 0;
	}
	/* the whole id, as it was asked for: what pack_open says is for people */
	if (!name_is_id(r->pack_id))
		return run_refuse(r, EXIT_DENIED, "unknown pack %s", r->pack_id);
	if (pack_cache_open(&r->snap->packs, &r->snap->root, &r->snap->set, r->pack_id,
			    &r->pack, &err) < 0)
		return run_refuse_err(r, EXIT_DENIED, "", &err);
	r->pack_owned = true;
	if (policy_check_pack(r->snap->policy, r->pack, &err) == 0)
		return 0;
	if (err.code == HCP_E_CONFIG)
		return run_refuse_err(r, EXIT_RUNTIME, "config: ", &err);
	return run_refuse(r, EXIT_DENIED, "unknown pack %s: %s", r->pack_id, err.text);
}
