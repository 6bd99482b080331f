/* SPDX-License-Identifier: MIT */
/* Every adapter kind but `wrap` is adapters/<kind>.lua, the root's or the installed one. Its
 * `check` judges the command before its `run` sees it, and the command's `output` judges the
 * result. */
#include "exec/exec.h"

#include "base/fd.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *load_script(void *user, const char *path, size_t *len, struct hcp_err *err)
{
	const struct run *r = user;
	const struct pack_file *f = pack_file(r->pack, path);

	(void)err;
	*len = f && f->text ? f->size : 0;
	return f ? f->text : NULL;
}

/* What `check` and `run` get to see of the command. */
json_t *adapter_command_json(const struct run *r, struct hcp_err *err)
{
	const struct pack_command *c = r->command;
	json_t *args = c->args ? schema_to_json(c->args) : NULL;
	json_t *j = json_pack("{s:s,s:s,s:s,s:s*,s:o*}", "verb_key", c->key, "kind", c->kind,
			      "summary", c->summary, "script", c->script, "args", args);
	json_t *own = c->own ? yaml_to_json(c->own, r->pack->shown, err) : NULL;

	if (!j || (c->args && !args) || (c->own && !own)) {
		json_decref(j);
		json_decref(own);
		return NULL;
	}
	if (own)
		json_object_set_new(j, c->kind, own);
	return j;
}

static double deadline_epoch(const struct run *r)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 +
	       (double)(r->deadline_ns - run_now_ns()) / 1e9;
}

json_t *adapter_ctx_json(const struct run *r)
{
	const struct principal *p = &r->principal;

	const char *mode = r->mode == RUN_MODE_MOCK ? "mock" : "real";
	json_t *binding = r->binding ? json_pack("{s:s}", "mode", mode) : NULL;

	return json_pack("{s:s,s:s,s:{s:s,s:s,s:s*},s:s,s:b,s:s,s:f,s:o*}", "pack_id",
			 r->pack->id, "verb_key", r->command->key, "principal", "id", p->id,
			 "tenant", p->tenant, "project_id", p->project, "session",
			 r->call->session, "confirmed", r->confirmed, "mode", mode, "deadline",
			 deadline_epoch(r), "binding", binding);
}

int adapter_check_output(struct run *r)
{
	AUTO_BUF faults = {0};
	struct hcp_err err = {0};
	json_t *value;
	int n;

	if (!r->command->output)
		return 0;
	value = json_parse(r->result.data, r->result.len, LIMIT_STDOUT_DEPTH, &err);
	if (!value)
		return run_refuse(r, EXIT_ADAPTER, "invalid result: result: %s", err.text);
	n = schema_validate(r->command->output, value, "result", &faults);
	json_decref(value);
	if (n == 0)
		return 0;
	if (n < 0 || faults.failed)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	return run_refuse_text(r, EXIT_ADAPTER,
			       arena_printf(&r->arena, "invalid result: %s", faults.data));
}

static int refuse_script(struct run *r, const struct script_result *answer,
			 const struct hcp_err *err)
{
	int code = EXIT_ADAPTER;

	if (err->code == HCP_E_TIMEOUT)
		code = EXIT_TIMEOUT;
	if (err->code == HCP_E_CANCELLED)
		code = EXIT_CANCELLED;
	return run_refuse_script(r, code, "", answer, err);
}

int adapter_refuse(struct run *r, const struct buf *reason, const char *otherwise)
{
	const char *prefix = arena_printf(&r->arena, "adapter %s: ", r->command->kind);

	if (!prefix)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	if (!reason->len)
		return run_refuse(r, EXIT_ADAPTER, "%s%s", prefix, otherwise);
	return run_refuse_raw(r, EXIT_ADAPTER, prefix, reason->data, reason->len);
}

/* The command as it is declared. An adapter without a `check` asks nothing of it. */
static int check_command(struct run *r, struct script_call *call)
{
	struct script_result verdict = {0};
	struct hcp_err err = {0};
	int rc = 0;

	call->export = "check";
	if (script_run(call, &verdict, &err) < 0)
		rc = refuse_script(r, &verdict, &err);
	else if (verdict.answer != SCRIPT_ANSWER_TRUE)
		rc = adapter_refuse(r, &verdict.reason, "its check refuses this command");
	script_result_free(&verdict);
	return rc;
}

static int call_adapter(struct run *r, struct script_call *call)
{
	struct script_result answer = {0};
	struct hcp_err err = {0};
	int rc;

	if (check_command(r, call) < 0)
		return -1;
	nested_host(r, &call->host); /* the check has no use of other commands */
	call->export = "run";
	if (script_run(call, &answer, &err) < 0) {
		rc = refuse_script(r, &answer, &err);
	} else if (answer.answer != SCRIPT_ANSWER_VALUE) {
		rc = run_refuse(r, EXIT_ADAPTER, "script: %s: gave no result", call->name);
	} else {
		r->result = answer.result;
		answer.result = (struct buf){0};
		rc = adapter_check_output(r);
	}
	script_result_free(&answer);
	return rc;
}

static int with_adapter(struct run *r, int (*use)(struct run *, struct script_call *))
{
	AUTO_FREE char *source = NULL;
	char path[128];
	struct script_call call = {.role = SCRIPT_ADAPTER, .pool = r->rt->stacks, .name = path};
	struct net_grant net = run_net_grant(r, &r->granted->http_hosts);
	struct hcp_err err = {0};
	json_t *command, *ctx;
	int rc;

	snprintf(path, sizeof(path), "adapters/%s.lua", r->command->kind);
	if (root_read(&r->snap->root, path, true, LIMIT_SCRIPT, &source, &call.source_len,
		      &err) < 0) {
		if (errno == ENOENT)
			return run_refuse(r, EXIT_ADAPTER, "adapter %s not executable in hcp",
					  r->command->kind);
		return run_refuse_err(r, EXIT_RUNTIME, "config: ", &err);
	}
	command = adapter_command_json(r, &err);
	ctx = adapter_ctx_json(r);
	call.source = source;
	call.owner = arena_printf(&r->arena, "pack %s", r->pack->id);
	call.args[0] = r->args;
	call.args[1] = command;
	call.ctx = ctx;
	call.env = r->binding ? r->binding->env : NULL;
	call.env_count = r->binding ? r->binding->count : 0;
	call.host = (struct script_host){
	    .user = r, .log = run_script_log, .load = load_script, .net = &net};
	run_script_limits(r, &call.limits);
	call.limits.script_ms = r->limits.timeout_ms;
	if (r->limits.output < (int64_t)call.limits.result)
		call.limits.result = (size_t)r->limits.output;
	rc = command && ctx && call.owner ? use(r, &call)
					  : run_refuse_text(r, EXIT_RUNTIME, NULL);
	json_decref(command);
	json_decref(ctx);
	return rc;
}

int lua_adapter_run(struct run *r)
{
	return with_adapter(r, call_adapter);
}

/* A pack's script is compiled when it runs; one that doesn't compile is found here, too. */
static int check_script(struct run *r, struct script_call *call)
{
	const char *path = r->command->script;
	const struct pack_file *f = path ? pack_file(r->pack, path) : NULL;
	struct script_result none = {0};
	struct hcp_err err = {0};

	if (check_command(r, call) < 0)
		return -1;
	if (f && f->text && script_check(SCRIPT_VERB, path, f->text, f->size, &err) < 0)
		return refuse_script(r, &none, &err);
	return 0;
}

int lua_adapter_plan(struct run *r)
{
	return with_adapter(r, check_script);
}
