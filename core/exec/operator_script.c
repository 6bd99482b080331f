/* SPDX-License-Identifier: MIT */
/* The operator's Lua: one way to find, limit and call a provider or a guard. It decides
 * nothing; the step that asks reads the answer. */
#include "exec/exec.h"

#include "base/fd.h"
#include "secret/secret.h"

#include <errno.h>
#include <string.h>

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
	limits->deadline_ms = r->within_ms;
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

/* What the callbacks of one script need. */
struct operator_call {
	struct run *r;
	const struct operator_script *script;
	const struct kind *kind;
};

static const struct kind *kind_of(enum script_role role)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].role == role)
			return &kinds[i];
	return NULL;
}

static void take_log(void *user, int level, const char *line, size_t len)
{
	const struct operator_call *c = user;

	run_script_log(c->r, level, line, len);
}

/* A file of the script's folder, in the run's arena. Only ENOENT means that there is none. */
static const char *take_file(void *user, const char *path, size_t *len, struct hcp_err *err)
{
	const struct operator_call *c = user;
	AUTO_FREE char *text = NULL;
	struct hcp_err why = {0};
	const char *kept, *rel;

	*len = 0;
	rel = arena_printf(&c->r->arena, "policies/%s/%s", c->kind->folder, path);
	if (!rel)
		return hcp_fail_nomem(err), NULL;
	if (root_read(&c->r->snap->root, rel, true, LIMIT_SCRIPT, &text, len, &why) < 0) {
		if (errno != ENOENT)
			hcp_fail(err, why.code, "%s", why.text);
		return NULL;
	}
	kept = arena_strndup(&c->r->arena, text, *len);
	if (!kept)
		hcp_fail_nomem(err);
	return kept;
}

static bool may_have(const struct operator_script *script, const char *name)
{
	for (size_t i = 0; script->secrets && i < script->secrets->count; i++)
		if (strcmp(script->secrets->items[i], name) == 0)
			return true;
	return false;
}

static int take_secret(void *user, const char *name, struct secret **out, struct hcp_err *err)
{
	const struct operator_call *c = user;

	*out = NULL;
	if (!may_have(c->script, name))
		return hcp_fail(err, HCP_E_DENIED,
				"the policy lists no secret \"%s\" for %s %s", name,
				c->kind->word, c->script->name);
	return secret_read(&c->r->snap->root, name, out, err);
}

int operator_script_run(struct run *r, const struct operator_script *script,
			struct script_result *answer, struct hcp_err *err)
{
	struct operator_call c = {r, script, kind_of(script->role)};
	struct script_call call = {.role = script->role};
	AUTO_FREE char *source = NULL;
	const char *path;

	if (!c.kind)
		return hcp_fail(err, HCP_E_DENIED, "not an operator's script");
	path = arena_printf(&r->arena, "policies/%s/%s.lua", c.kind->folder, script->name);
	call.name = arena_printf(&r->arena, "%s/%s.lua", c.kind->folder, script->name);
	call.owner = arena_printf(&r->arena, "%s %s", c.kind->word, script->name);
	if (!path || !call.name || !call.owner)
		return hcp_fail_nomem(err);
	if (root_read(&r->snap->root, path, true, LIMIT_SCRIPT, &source, &call.source_len,
		      err) < 0)
		return -1;
	call.source = source;
	call.host = (struct script_host){
	    .user = &c, .log = take_log, .load = take_file, .secret = take_secret};
	call.config = script->config;
	call.args[0] = script->request;
	run_script_limits(r, &call.limits);
	return script_run(&call, answer, err);
}
