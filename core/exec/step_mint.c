/* SPDX-License-Identifier: MIT */
/* Step 7: the Binding. A pack without `mint` needs none; a health command never gets one;
 * `mode: mock` gives a mock and calls nothing; a nested run shares the one of a run above of
 * the same pack; else the hook is asked. Nothing of the runtime's own environment ever stands
 * in for a Binding. */
#include "exec/exec.h"

#include <string.h>

/* Of the same pack, for the same tenant and project, of the same kind, and still good. */
static bool may_share(const struct run *r, const struct run *above)
{
	const struct principal *p = &r->principal, *q = &above->principal;

	return above->minted && above->binding && above->binding->mode == r->mode &&
	       strcmp(above->pack->id, r->pack->id) == 0 && strcmp(p->tenant, q->tenant) == 0 &&
	       (p->project ? str_eq(p->project, q->project) : !q->project) &&
	       !binding_is_over(above->binding);
}

static bool share(struct run *r)
{
	for (const struct run *above = r->parent; above; above = above->parent) {
		if (!may_share(r, above))
			continue;
		r->binding = above->binding;
		return true;
	}
	return false;
}

/* An explained run shows the names of what it would get, and a mock has those. */
static int plan_hook(struct run *r)
{
	return mint_hook_check(r) < 0 ? -1 : binding_mock(r);
}

static int settle(struct run *r)
{
	int rc = 0;

	if (r->pack->mint && !r->command->health && !share(r)) {
		if (r->mode == RUN_MODE_MOCK)
			rc = binding_mock(r);
		else
			rc = r->explain ? plan_hook(r) : mint_hook_call(r);
	}
	r->minted = rc == 0;
	return rc;
}

int step_mint(struct run *r)
{
	if (!r->permitted || !r->consented || !r->begun)
		return run_refuse(r, EXIT_DENIED, "mint failed: the run was not allowed");
	return settle(r);
}

int plan_mint(struct run *r)
{
	if (!r->permitted || !r->consented)
		return run_refuse(r, EXIT_DENIED, "mint failed: the run was not allowed");
	return settle(r);
}
