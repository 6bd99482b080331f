/* SPDX-License-Identifier: MIT */
/* What a job does: list tools, or run a command and answer with its result. Settings and policy
 * are read anew before each, so that a grant taken back is gone at once. A refusal is a tool
 * result, never a protocol error. */
#include "face/mcp_server.h"

#include <string.h>

#define LIST_TTL_MS 0 /* the policy may change at any time */

/* Whether the client still wants an answer; from here on nothing but that is written, and the
 * request's id is free for another. */
static bool may_answer(struct mcp_job *j)
{
	bool may;

	pthread_mutex_lock(&j->m->lock);
	j->answered = true;
	may = !j->cancelled;
	pthread_mutex_unlock(&j->m->lock);
	return may;
}

void mcp_do_list(struct mcp_job *j)
{
	hcp_error err = {.size = sizeof(err)};
	AUTO_BUF out = {0}, text = {0};
	const char *why;

	hcp_refresh(j->m->rt, NULL); /* what failed denies, with its reason */
	why = mcp_tools(j->m, j->call, &out, &err);
	(void)may_answer(j); /* a list is short: it isn't cancelled */
	if (why) {
		buf_puts(&text, "config: ");
		if (err.line > 0)
			buf_printf(&text, "%s:%d: ", err.file, err.line);
		else if (err.file[0])
			buf_printf(&text, "%s: ", err.file);
		buf_puts(&text, why);
		mcp_error(j->m, j->id, RPC_INTERNAL, text.data ? text.data : why, NULL);
		return;
	}
	if (j->modern)
		buf_printf(&out, ",\"ttlMs\":%d,\"cacheScope\":\"private\"", LIST_TTL_MS);
	mcp_result(j->m, j->id, j->modern, &out);
}

static int write_envelope(struct buf *out, const json_t *pack, const json_t *verb,
			  const json_t *args)
{
	buf_puts(out, "{\"pack_id\":");
	json_add_value(out, pack);
	buf_puts(out, ",\"verb_key\":");
	json_add_value(out, verb);
	if (args) {
		buf_puts(out, ",\"args\":");
		json_add_value(out, args);
	}
	buf_putc(out, '}');
	return out->failed ? -1 : 0;
}

/* A string is its text, all else JSON. */
static void add_text(struct buf *out, hcp_str value)
{
	if (value.len && value.data[0] == '"')
		buf_add(out, value.data, value.len);
	else
		json_add_string(out, value.data, value.len);
}

static void answer(struct mcp_job *j, const hcp_result *res)
{
	bool ok = hcp_result_ok(res) != 0;
	hcp_str value = ok ? hcp_result_value(res) : hcp_result_json(res);
	AUTO_BUF out = {0};

	if (ok && !value.len)
		value = hcp_str_from("null");
	buf_puts(&out, "\"content\":[{\"type\":\"text\",\"text\":");
	add_text(&out, value);
	buf_puts(&out, "}],");
	/* the older revision knows objects alone */
	if (hcp_result_fits(res) && (j->modern || value.data[0] == '{')) {
		buf_puts(&out, "\"structuredContent\":");
		buf_add(&out, value.data, value.len);
		buf_putc(&out, ',');
	}
	buf_printf(&out, "\"isError\":%s,\"_meta\":{\"hcp/run_id\":", ok ? "false" : "true");
	json_add_string(&out, hcp_result_run_id(res).data, hcp_result_run_id(res).len);
	buf_putc(&out, '}');
	mcp_result(j->m, j->id, j->modern, &out);
}

/* The newer revision asks by its result; the client calls again with what it was told. */
static void answer_with_question(struct mcp_job *j, const json_t *question)
{
	AUTO_BUF out = {0};

	buf_puts(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
	json_add_value(&out, j->id);
	buf_puts(&out, ",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{"
		       "\"consent\":{\"method\":\"elicitation/create\",\"params\":");
	mcp_question(question, &out);
	buf_puts(&out, "}},\"requestState\":\"");
	mcp_seal(j->m, json_string_value(json_object_get(question, "digest")), &out);
	buf_puts(&out, "\"}}\n");
	if (!may_answer(j))
		return;
	if (out.failed)
		mcp_error(j->m, j->id, RPC_INTERNAL, "out of memory", NULL);
	else
		mcp_write(j->m, &out);
}

/* What the client brought along. A state that doesn't hold is as if there were none. */
static int give_consent(struct mcp_job *j)
{
	const char *state = json_string_value(json_object_get(j->params, "requestState"));
	const json_t *responses = json_object_get(j->params, "inputResponses");
	const json_t *said = json_object_get(responses, "consent");
	char digest[65] = "";

	if (!j->can_ask)
		return 0;
	if (j->modern && state && said && mcp_unseal(j->m, state, digest) &&
	    mcp_answer_of(said) != MCP_ACCEPTED)
		digest[0] = '\0';
	return hcp_call_consent(j->call, digest) == HCP_OK ? 0 : -1;
}

static hcp_result *run(struct mcp_job *j, const struct buf *envelope)
{
	hcp_result *res = NULL;

	hcp_refresh(j->m->rt, NULL); /* what failed denies, with its reason */
	if (hcp_exec(j->m->rt, j->call, (hcp_str){envelope->data, envelope->len}, &res) !=
	    HCP_OK)
		return NULL;
	return res;
}

static bool declined(const struct mcp_job *j)
{
	const json_t *said =
	    json_object_get(json_object_get(j->params, "inputResponses"), "consent");

	return said && mcp_answer_of(said) != MCP_ACCEPTED;
}

/* Ends with an answer, unless the question has to go first. */
static hcp_result *ask(struct mcp_job *j, hcp_result *res, const struct buf *envelope)
{
	json_t *question =
	    json_read(hcp_result_question(res).data, hcp_result_question(res).len);
	const char *digest = json_string_value(json_object_get(question, "digest"));

	if (digest && j->modern && !declined(j)) {
		answer_with_question(j, question);
		hcp_result_free(res);
		res = NULL;
	} else if (digest && !j->modern && mcp_wait(j, question) &&
		   hcp_call_consent(j->call, digest) == HCP_OK) {
		hcp_result_free(res);
		res = run(j, envelope);
		if (!res)
			mcp_error(j->m, j->id, RPC_INTERNAL, "out of memory", NULL);
	}
	json_decref(question);
	return res;
}

static void exec(struct mcp_job *j, const struct buf *envelope)
{
	hcp_result *res = give_consent(j) == 0 ? run(j, envelope) : NULL;

	if (!res)
		mcp_error(j->m, j->id, RPC_INTERNAL, "out of memory", NULL);
	else if (hcp_result_question(res).len)
		res = ask(j, res, envelope);
	/* who cancelled a request doesn't wait for its answer */
	if (res && may_answer(j))
		answer(j, res);
	hcp_result_free(res);
}

/* A client need not have listed what was granted meanwhile. */
static bool find(struct mcp_job *j, const char *name, json_t **pack, json_t **verb)
{
	hcp_error err = {.size = sizeof(err)};
	AUTO_BUF unused = {0};

	if (mcp_find(j->m, name, pack, verb))
		return true;
	hcp_refresh(j->m->rt, NULL); /* what failed has no tools */
	return !mcp_tools(j->m, j->call, &unused, &err) && mcp_find(j->m, name, pack, verb);
}

void mcp_do_call(struct mcp_job *j)
{
	const json_t *name = json_object_get(j->params, "name");
	json_t *pack = NULL, *verb = NULL;
	AUTO_BUF envelope = {0};

	if (!find(j, json_string_value(name), &pack, &verb)) {
		if (may_answer(j))
			mcp_error(j->m, j->id, RPC_PARAMS, "there is no such tool",
				  json_pack("{s:O}", "name", name));
	} else if (write_envelope(&envelope, pack, verb,
				  json_object_get(j->params, "arguments")) < 0) {
		mcp_error(j->m, j->id, RPC_INTERNAL, "out of memory", NULL);
	} else {
		exec(j, &envelope);
	}
	json_decref(pack);
	json_decref(verb);
}
