/* SPDX-License-Identifier: MIT */
/* The mint hook: how it is called for a Binding, and told that the run has ended. It gets the
 * secrets that the operator listed for this pack and nothing else; an error of any kind is a
 * refusal when it mints and a line in the log when it revokes. */
#include "exec/exec.h"

#include "base/json.h"

#include <string.h>

#define REVOKE_MS 10000

static json_t *request_json(const struct run *r)
{
	const struct principal *p = &r->principal;
	int64_t ttl = r->pack->mint->ttl_ms;
	json_t *q = json_pack("{s:s,s:s,s:O,s:s,s:s*}", "pack_id", r->pack->id, "verb_key",
			      r->command->key, "principal", r->principal_json, "tenant",
			      p->tenant, "project_id", p->project);

	if (q && json_object_set_new(q, "ttl",
				     ttl % 1000 ? json_real((double)ttl / 1000)
						: json_integer(ttl / 1000)) < 0) {
		json_decref(q);
		return NULL;
	}
	return q;
}

static json_t *binding_json(const struct binding *b)
{
	json_t *at = b->expires_at_ms ? json_real((double)b->expires_at_ms / 1000) : NULL;

	return json_pack("{s:s*,s:o*}", "id", b->id, "expires_at", at);
}

/* A hook of the pack's, or of the operator's. */
static struct operator_script hook_of(const struct run *r, const char *export)
{
	static const char mark[] = "policies:";
	const char *hook = r->pack->mint->hook;
	bool in_pack = !str_starts(hook, mark);

	return (struct operator_script){.role = SCRIPT_MINT,
					.name = in_pack ? hook : hook + sizeof(mark) - 1,
					.in_pack = in_pack,
					.export = export,
					.secrets = &r->granted->mint_secrets,
					.hosts = &r->granted->mint_hosts};
}

/* What the operator says to the hook. *out NULL: nothing. */
static int config_of(const struct run *r, json_t **out, struct hcp_err *err)
{
	*out = NULL;
	if (!r->granted->mint_with)
		return 0;
	*out = yaml_to_json(r->granted->mint_with, r->granted->file, err);
	return *out ? 0 : -1;
}

static int take_answer(struct run *r, struct script_result *answer)
{
	if (answer->answer == SCRIPT_ANSWER_REFUSED && answer->reason.len)
		return run_refuse_raw(r, EXIT_DENIED, "mint failed: ", answer->reason.data,
				      answer->reason.len);
	if (answer->answer != SCRIPT_ANSWER_VALUE)
		return run_refuse(r, EXIT_DENIED,
				  "mint failed: %s gave no Binding and no reason",
				  r->pack->mint->hook);
	return binding_take(r, answer);
}

static int ask(struct run *r, struct operator_script *hook)
{
	struct script_result answer = {0};
	struct hcp_err err = {0};
	AUTO_BUF held = {0};
	int rc;

	hook->held = &held;
	if (operator_script_run(r, hook, &answer, &err) < 0)
		rc = run_refuse_script(r, EXIT_DENIED, "mint failed: ", &answer, &err);
	else
		rc = take_answer(r, &answer);
	script_result_free(&answer);
	run_script_log_held(r, &held);
	return rc;
}

int mint_hook_call(struct run *r)
{
	struct operator_script hook = hook_of(r, "mint");
	struct policy_limits limits;
	json_t *request = request_json(r), *config = NULL;
	struct hcp_err err = {0};
	int rc;

	policy_limits(r->granted, r->overlay, r->command, &limits);
	hook.within_ms = limits.timeout_ms;
	hook.request = request;
	if (!request)
		rc = run_refuse_text(r, EXIT_RUNTIME, NULL);
	else if (config_of(r, &config, &err) < 0)
		rc = run_refuse_err(r, EXIT_DENIED, "mint failed: ", &err);
	else {
		hook.config = config;
		rc = ask(r, &hook);
	}
	json_decref(request);
	json_decref(config);
	return rc;
}

int mint_hook_check(struct run *r)
{
	struct operator_script hook = hook_of(r, "mint");
	struct hcp_err err = {0};

	return operator_script_check(r, &hook, &err) < 0
		   ? run_refuse_err(r, EXIT_DENIED, "mint failed: ", &err)
		   : 0;
}

/* ---- the end ---- */

static void note_failure(struct run *r, const char *text, size_t len)
{
	AUTO_BUF safe = {0}, clean = {0};

	redact_text(&r->redact, text, len, &safe);
	utf8_clean(&clean, safe.data ? safe.data : "", safe.len);
	r->revoke_error =
	    clean.len && !clean.failed ? arena_strndup(&r->arena, clean.data, clean.len) : NULL;
	if (!r->revoke_error)
		r->revoke_error = "no reason was given";
	run_log(r, HCP_LOG_ERROR, "%s: the Binding was not revoked: %s", r->pack_id,
		r->revoke_error);
}

static void revoke(struct run *r, const struct operator_script *hook)
{
	struct script_result answer = {0};
	struct hcp_err err = {0};

	if (operator_script_run(r, hook, &answer, &err) < 0)
		note_failure(r, answer.error.len ? answer.error.data : err.text,
			     answer.error.len ? answer.error.len : strlen(err.text));
	else if (answer.answer != SCRIPT_ANSWER_TRUE)
		note_failure(r, answer.reason.data, answer.reason.len);
	script_result_free(&answer);
}

/* The caller's deadline may have passed and its cancel come: a credential that lives on must
 * not be the price, so the hook has a time of its own. */
void mint_hook_revoke(struct run *r)
{
	const struct binding *b = r->binding;
	struct operator_script hook;
	struct hcp_err err = {0};
	json_t *config = NULL, *binding;

	if (!b || !r->binding_owned || b->mode != RUN_MODE_REAL || !b->revokes)
		return;
	hook = hook_of(r, "revoke");
	binding = binding_json(b);
	hook.detached = true;
	hook.within_ms = REVOKE_MS;
	hook.request = binding;
	hook.env = b->env;
	hook.env_count = b->count;
	if (!binding || config_of(r, &config, &err) < 0) {
		note_failure(r, err.text, strlen(err.text));
	} else {
		hook.config = config;
		revoke(r, &hook);
	}
	json_decref(binding);
	json_decref(config);
}
