/* SPDX-License-Identifier: MIT */
/* The story: an envelope walks these steps in this order and stops at the first that refuses.
 * Nothing else happens here, and no step calls another. The first effect outside this process
 * is the begin record before step 7; the first program starts in step 8. A run that is only
 * explained walks the same steps, and of those with effects their plans. */
#include "exec/explain.h"

struct step {
	int number;                  /* of §6.3 */
	int (*before)(struct run *); /* what must have happened before the step may act */
	int (*run)(struct run *);
	int (*plan)(struct run *); /* decides what run decides and acts on nothing; NULL: run
				      has no effects itself */
};

static const struct step steps[] = {
    {1, NULL, step_pack, NULL},       /* resolve pack */
    {2, NULL, step_session, NULL},    /* activated on this session */
    {3, NULL, step_policy, NULL},     /* policy entry */
    {4, NULL, step_principal, NULL},  /* principal, tenant, project */
    {5, NULL, step_capability, NULL}, /* capability; an operator's deny */
    {6, NULL, step_confirm, NULL},    /* consent; then args, argv and guards, all pure */
    {7, step_audit_begin, step_mint,
     plan_mint}, /* the begin record is durable before anything is minted */
    {8, NULL, step_adapter, plan_adapter}, /* the program or the script */
};

static int take(struct run *r, const struct step *s)
{
	if (r->explain)
		return s->plan ? s->plan(r) : s->run(r);
	if (s->before && s->before(r) < 0)
		return -1;
	return s->run(r);
}

static int walk(struct run *r)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (r->explain && r->explain->last && steps[i].number > r->explain->last)
			break;
		r->step = steps[i].number;
		rc = take(r, &steps[i]);
		if (r->explain)
			explain_step(r);
	}
	return rc;
}

void exec_run(struct run *r)
{
	r->ok = !r->error && walk(r) == 0 && !r->error;
	if (!r->ok && !r->error)
		run_refuse(r, EXIT_RUNTIME, "internal error: a step refused without a reason");
	run_redact(r);
	if (r->explain)
		return;
	mint_hook_revoke(r);
	step_audit(r); /* step 9, on every outcome */
}
