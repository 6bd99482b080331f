/* SPDX-License-Identifier: MIT */
/* Step 3: the command's policy entry. A command that isn't declared, has no entry, or is
 * internal and asked for from outside its own pack, can't run, and the answer doesn't tell
 * which of these it is. */
#include "exec/exec.h"

int step_policy(struct run *r)
{
	const struct pack_command *cmd = pack_command(r->pack, r->verb_key);
	bool inside = r->parent && r->parent->pack == r->pack;

	if (!r->activated)
		return run_refuse(r, EXIT_DENIED, "pack %s not activated", r->pack_id);
	if (!cmd || !cmd->policy || (cmd->internal && !inside))
		return run_refuse(r, EXIT_DENIED, "no policy for %s", r->verb_key);
	r->granted = policy_pack(r->snap->policy, r->pack->id);
	if (!r->granted)
		r->granted = policy_pack_default();
	r->overlay = policy_overlay(r->granted, cmd->key);
	r->command = cmd;
	return 0;
}
