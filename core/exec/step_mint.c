/* SPDX-License-Identifier: MIT */
/* Step 7: the Binding. A pack without `mint` needs none; a health command never gets one;
 * `mode: mock` gives a mock and calls nothing. Nothing of the runtime's own environment ever
 * stands in for a Binding. */
#include "exec/exec.h"

static int mock_binding(struct run *r)
{
	const struct conf_strings *names = &r->pack->mint->env;
	const char **values = arena_array(&r->arena, names->count, sizeof(*values));

	if (!values)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	for (size_t i = 0; i < names->count; i++)
		values[i] = "mock";
	r->binding =
	    (struct conf_env){.count = names->count, .names = names->items, .values = values};
	r->minted = true;
	return 0;
}

static int settle(struct run *r)
{
	if (!r->pack->mint || r->command->health) {
		r->minted = true;
		return 0;
	}
	if (r->mode == RUN_MODE_MOCK)
		return mock_binding(r);
	return run_refuse(r, EXIT_DENIED, "mint failed: this build of hcp mints no Bindings");
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
