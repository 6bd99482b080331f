/* SPDX-License-Identifier: MIT */
/* The operator's Lua: one way to find, limit and call a provider or a guard. It decides
 * nothing; the step that asks reads the answer. */
#include "exec/exec.h"

#include "base/fd.h"

#include <stdio.h>

void run_script_log(void *user, int level, const char *line, size_t len)
{
	run_log(user, (hcp_log_level)level, "%.*s", (int)len, line);
}

void run_script_limits(const struct run *r, struct script_limits *limits)
{
	script_limits_default(limits);
	limits->memory = r->snap->set.lua_memory;
	limits->instructions = r->snap->set.lua_instructions;
	limits->script_ms = r->snap->set.lua_timeout_ms;
	limits->deadline_ns = r->deadline_ns;
	limits->cancelled = &r->call->cancelled;
}

struct kind {
	enum script_role role;
	const char *folder, *word;
};
static const struct kind kinds[] = {
    {SCRIPT_AUTH, "auth", "provider"},
    {SCRIPT_GUARD, "guards", "guard"},
};

int operator_script(struct run *r, enum script_role role, const char *name,
		    const json_t *request, struct script_result *answer, struct hcp_err *err)
{
	const struct kind *k = NULL;
	AUTO_FREE char *source = NULL;
	char path[300], shown[300], owner[300];
	struct script_call call = {0};
	size_t len;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].role == role)
			k = &kinds[i];
	if (!k)
		return hcp_fail(err, HCP_E_DENIED, "not an operator's script");
	snprintf(path, sizeof(path), "policies/%s/%s.lua", k->folder, name);
	snprintf(shown, sizeof(shown), "%s/%s.lua", k->folder, name);
	snprintf(owner, sizeof(owner), "%s %s", k->word, name);
	if (root_read(&r->snap->root, path, true, LIMIT_SCRIPT, &source, &len, err) < 0)
		return -1;
	call.role = role;
	call.name = shown;
	call.owner = owner;
	call.source = source;
	call.source_len = len;
	call.host.user = r;
	call.host.log = run_script_log;
	call.args[0] = request;
	run_script_limits(r, &call.limits);
	return script_run(&call, answer, err);
}
