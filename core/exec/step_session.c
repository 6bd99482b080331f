/* SPDX-License-Identifier: MIT */
/* Step 2: the pack must be activated on the session that the face was started with. */
#include "exec/explain.h"

#include "session/session.h"

int step_session(struct run *r)
{
	struct hcp_err err = {0};

	if (r->explain && r->explain->any_session) {
		r->activated = true;
		return 0;
	}
	if (session_is_active(&r->snap->root, &r->snap->set, r->call->session, r->pack->id,
			      &r->activated, &err) < 0)
		return run_refuse(r, EXIT_DENIED, "pack %s not activated: %s", r->pack->id,
				  err.text);
	if (!r->activated)
		return run_refuse(r, EXIT_DENIED, "pack %s not activated", r->pack->id);
	return 0;
}
