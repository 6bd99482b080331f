/* SPDX-License-Identifier: MIT */
/* The story: an envelope walks these steps in this order and stops at the first that refuses.
 * Nothing else happens here, and no step calls another. The first effect outside this process
 * is the begin record before step 7; the first program starts in step 8. */
#include "exec/exec.h"

struct step {
	int number;                  /* of §6.3 */
	int (*before)(struct run *); /* what must have happened before the step may act */
	int (*run)(struct run *);
};

static const struct step steps[] = {
    {1, NULL, step_pack},       /* resolve pack */
    {2, NULL, step_session},    /* activated on this session */
    {3, NULL, step_policy},     /* policy entry */
    {4, NULL, step_principal},  /* principal, tenant, project */
    {5, NULL, step_capability}, /* capability; an operator's deny */
    {6, NULL, step_confirm},    /* consent; then args, argv and guards, all pure */
    {7, step_audit_begin,
     step_mint},             /* the begin record is durable before anything is minted */
    {8, NULL, step_adapter}, /* the program or the script */
};

static int walk(struct run *r)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		r->step = steps[i].number;
		if (steps[i].before && steps[i].before(r) < 0)
			return -1;
		if (steps[i].run(r) < 0)
			return -1;
	}
	return 0;
}

void exec_run(struct run *r)
{
	r->ok = !r->error && walk(r) == 0 && !r->error;
	if (!r->ok && !r->error)
		run_refuse(r, EXIT_RUNTIME, "internal error: a step refused without a reason");
	step_audit(r); /* step 9, on every outcome */
}
