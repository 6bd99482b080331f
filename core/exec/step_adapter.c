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

int step_adapter(struct run *r)
{
	if (!r->activated || !r->authenticated || !r->permitted || !r->consented || !r->begun ||
	    !r->minted)
		return run_refuse(r, EXIT_DENIED, "denied: an earlier step did not complete");
	policy_limits(r->granted, r->overlay, r->command, &r->limits);
	narrow_deadline(r);
	if (strcmp(r->command->kind, "wrap") == 0)
		return wrap_run(r);
	return lua_adapter_run(r);
}
