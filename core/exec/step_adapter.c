/* SPDX-License-Identifier: MIT */
/* Step 8: run the command's adapter. `wrap` is ours; every other kind is adapters/<kind>.lua,
 * or the host's. What the earlier steps decided is checked once more here, because nothing
 * after this line can be undone. */
#include "exec/exec.h"

#include "base/fd.h"

#include <errno.h>
#include <stdio.h>
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

/* A kind that is a script and the host's own, too, is neither. */
static int by_kind(struct run *r, int (*script)(struct run *))
{
	const struct host_function *own =
	    host_function(&r->rt->options, HOST_ADAPTER, r->command->kind);
	struct hcp_err err = {0};
	char path[128];
	int fd = -1;

	if (!own)
		return script(r);
	snprintf(path, sizeof(path), "adapters/%s.lua", r->command->kind);
	if (root_open_file(&r->snap->root, path, true, &fd, &err) == 0) {
		fd_close(&fd);
		return run_refuse(r, EXIT_RUNTIME,
				  "config: adapter %s is the host's own and %s, too",
				  r->command->kind, path);
	}
	if (err.code != HCP_E_SYS || errno != ENOENT)
		return run_refuse_err(r, EXIT_RUNTIME, "config: ", &err);
	return script == lua_adapter_run ? host_adapter_run(r, own) : 0;
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
	return is_wrap(r) ? wrap_run(r) : by_kind(r, lua_adapter_run);
}

int plan_adapter(struct run *r)
{
	if (check_steps(r) < 0)
		return -1;
	return is_wrap(r) ? wrap_plan(r) : by_kind(r, lua_adapter_plan);
}
