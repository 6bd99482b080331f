/* SPDX-License-Identifier: MIT */
/* Step 8: run the command's adapter. `wrap` is ours; every other kind is adapters/<kind>.lua.
 * What the earlier steps decided is checked once more here, because nothing after this line can
 * be undone. */
#include "exec/exec.h"

#include <string.h>

static void narrow_deadline(struct run *r)
{
	int64_t own = run_now_ns() + r->limits.timeout_ms * 1000000;

	if (r->deadline_ns && r->deadline_ns <= own)
		return;
	r->deadline_ns = own;
	r->within_ms = r->limits.timeout_ms;
}

static int check_steps(struct run *r)
{
	if (!r->activated || !r->authenticated || !r->permitted || !r->consented || !r->minted)
		return run_refuse(r, EXIT_DENIED, "denied: an earlier step did not complete");
	return 0;
}

static bool is_wrap(struct run *r)
{
	policy_limits(r->granted, r->overlay, r->command, &r->limits);
	narrow_deadline(r);
	return strcmp(r->command->kind, "wrap") == 0;
}

int step_adapter(struct run *r)
{
	if (check_steps(r) < 0)
		return -1;
	if (!r->begun)
		return run_refuse(r, EXIT_DENIED, "denied: an earlier step did not complete");
	return is_wrap(r) ? wrap_run(r) : lua_adapter_run(r);
}

int plan_adapter(struct run *r)
{
	if (check_steps(r) < 0)
		return -1;
	return is_wrap(r) ? wrap_plan(r) : lua_adapter_plan(r);
}
