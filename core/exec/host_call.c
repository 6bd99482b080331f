/* SPDX-License-Identifier: MIT */
/* What a host brings in C: a provider that names the principal, an adapter that runs a kind of
 * command. Both are asked at the same place and judged by the same rules as a script; a
 * function that gives no answer has refused. */
#include "exec/exec.h"

#include "base/json.h"

#include <sodium.h>
#include <string.h>

/* Lives as long as the call of the host's function. */
struct hcp_ask {
	struct run *r;
	bool adapter;
	struct buf request, json, reason;
	bool answered, refused;
};

hcp_str hcp_ask_request(const hcp_ask *a)
{
	return a ? (hcp_str){a->request.data, a->request.len} : (hcp_str){NULL, 0};
}

/* The first word counts, so that a refusal can't be taken back. */
static hcp_status say(hcp_ask *a, struct buf *where, bool *what, hcp_str text)
{
	if (!a || a->answered || a->refused || (!text.data && text.len))
		return HCP_EINVAL;
	if (text.len)
		buf_add(where, text.data, text.len);
	if (where->failed)
		return HCP_ENOMEM;
	*what = true;
	return HCP_OK;
}

hcp_status hcp_ask_answer(hcp_ask *a, hcp_str json)
{
	return say(a, a ? &a->json : NULL, a ? &a->answered : NULL, json);
}

hcp_status hcp_ask_refuse(hcp_ask *a, hcp_str reason)
{
	return say(a, a ? &a->reason : NULL, a ? &a->refused : NULL, reason);
}

int hcp_ask_cancelled(const hcp_ask *a)
{
	return !a || __atomic_load_n(&a->r->call->cancelled, __ATOMIC_RELAXED);
}

int64_t hcp_ask_left_ms(const hcp_ask *a)
{
	int64_t left;

	if (!a)
		return 0;
	if (!a->r->deadline_ns)
		return -1;
	left = (a->r->deadline_ns - run_now_ns()) / 1000000;
	return left > 0 ? left : 0;
}

hcp_str hcp_ask_env(const hcp_ask *a, const char *name)
{
	const struct binding *b = a && a->adapter ? a->r->binding : NULL;

	/* the lines have a NUL behind them, the values don't */
	for (size_t i = 0; b && name && i < b->count; i++)
		if (strcmp(b->env[i].name, name) == 0)
			return (hcp_str){(const char *)secret_bytes(b->lines[i]) +
					     strlen(name) + 1,
					 secret_len(b->env[i].value)};
	return (hcp_str){NULL, 0};
}

hcp_status hcp_ask_exec(hcp_ask *a, const char *pack, const char *verb_key, hcp_str args,
			hcp_result **out)
{
	struct hcp_err err = {0};
	json_t *object;
	hcp_status status = HCP_EINVAL;

	if (out)
		*out = NULL;
	if (!a || !a->adapter || !verb_key || !out || (!args.data && args.len))
		return HCP_EINVAL;
	object = args.len ? json_parse(args.data, args.len, LIMIT_ENVELOPE_DEPTH, &err)
			  : json_object();
	if (json_is_object(object))
		status = nested_exec(a->r, pack, verb_key, object, out);
	json_decref(object);
	return status;
}

static int ask(struct hcp_ask *a, const struct host_function *f, const json_t *request)
{
	json_add_value(&a->request, request);
	if (a->request.failed)
		return run_refuse_text(a->r, EXIT_RUNTIME, NULL);
	f->fn(f->user, a);
	return a->json.failed || a->reason.failed ? run_refuse_text(a->r, EXIT_RUNTIME, NULL)
						  : 0;
}

static void wipe(struct buf *b)
{
	if (b->len)
		sodium_memzero(b->data, b->len);
	buf_free(b);
}

/* What the host's function said, as a script would have; the caller frees it. */
static void take(struct hcp_ask *a, struct script_result *answer)
{
	answer->answer = a->answered  ? SCRIPT_ANSWER_VALUE
			 : a->refused ? SCRIPT_ANSWER_REFUSED
				      : SCRIPT_ANSWER_NONE;
	answer->result = a->json;
	answer->reason = a->reason;
	wipe(&a->request);
}

int host_provider_ask(struct run *r, const struct host_function *f, const json_t *request,
		      struct script_result *answer)
{
	struct hcp_ask a = {.r = r};
	int rc = ask(&a, f, request);

	take(&a, answer);
	return rc;
}

/* The host's function can't be stopped; what it says too late doesn't count. */
static int check_time(struct run *r)
{
	if (__atomic_load_n(&r->call->cancelled, __ATOMIC_RELAXED))
		return run_refuse(r, EXIT_CANCELLED, "adapter %s: cancelled", r->command->kind);
	if (r->deadline_ns && run_now_ns() >= r->deadline_ns)
		return run_refuse(r, EXIT_TIMEOUT, "adapter %s: time limit of %lldms exceeded",
				  r->command->kind, (long long)r->within_ms);
	return 0;
}

static int take_result(struct run *r, const struct script_result *answer)
{
	struct hcp_err err = {0};
	json_t *value;

	if (answer->answer == SCRIPT_ANSWER_REFUSED)
		return adapter_refuse(r, &answer->reason, "refused");
	if (answer->answer != SCRIPT_ANSWER_VALUE)
		return run_refuse(r, EXIT_ADAPTER, "adapter %s: gave no result",
				  r->command->kind);
	if ((int64_t)answer->result.len > r->limits.output)
		return run_refuse(r, EXIT_ADAPTER, "adapter %s: result over %lld bytes",
				  r->command->kind, (long long)r->limits.output);
	value = json_parse(answer->result.data, answer->result.len, LIMIT_STDOUT_DEPTH, &err);
	if (!value)
		return run_refuse(r, EXIT_ADAPTER, "adapter %s: result: %s", r->command->kind,
				  err.text);
	json_add_value(&r->result, value);
	json_decref(value);
	return r->result.failed ? run_refuse_text(r, EXIT_RUNTIME, NULL)
				: adapter_check_output(r);
}

int host_adapter_run(struct run *r, const struct host_function *f)
{
	struct hcp_ask a = {.r = r, .adapter = true};
	struct script_result answer = {0};
	struct hcp_err err = {0};
	json_t *command = adapter_command_json(r, &err), *ctx = adapter_ctx_json(r);
	json_t *request =
	    json_pack("{s:O,s:O,s:O}", "args", r->args, "command", command, "ctx", ctx);
	int rc = request ? ask(&a, f, request) : run_refuse_text(r, EXIT_RUNTIME, NULL);

	take(&a, &answer);
	if (rc == 0)
		rc = check_time(r) < 0 ? -1 : take_result(r, &answer);
	script_result_free(&answer);
	json_decref(request);
	json_decref(ctx);
	json_decref(command);
	return rc;
}
