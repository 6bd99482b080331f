/* SPDX-License-Identifier: MIT */
/* Step 5: every capability that pack and operator ask for must have been granted to the
 * principal; then the operator's deny. The decision itself is policy_permit, which is pure. */
#include "exec/exec.h"

int step_capability(struct run *r)
{
	struct hcp_err err = {0};

	if (!r->command || !r->authenticated)
		return run_refuse(r, EXIT_DENIED, "denied: unauthenticated");
	if (policy_permit(r->snap->policy, &r->principal, r->pack, r->command, r->overlay,
			  &err) < 0)
		return run_refuse_err(r, EXIT_DENIED, "", &err);
	r->permitted = true;
	return 0;
}
