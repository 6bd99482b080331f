/* SPDX-License-Identifier: MIT */
/* Results: what a run leaves behind for its caller, independent of the run's memory. */
#include "runtime/runtime.h"

#include "base/json.h"
#include "exec/explain.h"

#include <stdlib.h>
#include <string.h>

/* With its NUL bytes, if it holds any, and the one behind it. */
static char *error_of(const struct run *r)
{
	char *copy = malloc(r->error_len + 1);

	return copy ? memcpy(copy, r->error, r->error_len + 1) : NULL;
}

static int write_json(const struct run *r, struct buf *out)
{
	json_t *explained;
	AUTO_BUF text = {0};

	if (!r->explain)
		return envelope_write(r, out);
	explained = explain_json(r);
	if (explained)
		json_add_value(&text, explained);
	json_decref(explained);
	if (!explained || text.failed)
		return -1;
	redact_json(&r->redact, text.data, text.len, out);
	return out->failed ? -1 : 0;
}

hcp_result *result_of(struct run *r)
{
	hcp_result *res = calloc(1, sizeof(*res));
	struct buf text = {0};

	if (!res)
		return NULL;
	if (write_json(r, &text) < 0 || (r->error && !(res->error = error_of(r)))) {
		buf_free(&text);
		free(res);
		return NULL;
	}
	res->json = text.data;
	res->len = text.len;
	res->ok = r->ok;
	res->step = r->step;
	res->exit = r->ok ? 0 : r->exit;
	res->error_len = r->error ? r->error_len : 0;
	if (r->ok && !r->explain) {
		res->value = r->result.data;
		res->value_len = r->result.len;
		r->result = (struct buf){0};
	}
	memcpy(res->run_id, r->id, sizeof(res->run_id));
	res->misfit = r->misfit;
	if (r->question && !(res->question = json_dumps(r->question, JSON_COMPACT))) {
		hcp_result_free(res);
		return NULL;
	}
	return res;
}

hcp_result *result_from_json(json_t *value)
{
	hcp_result *res = calloc(1, sizeof(*res));
	struct buf text = {0};

	if (res) {
		json_add_value(&text, value);
		if (text.failed || !text.data) {
			free(res);
			res = NULL;
		}
	}
	if (!res) {
		buf_free(&text);
		return NULL;
	}
	res->json = text.data;
	res->len = text.len;
	res->ok = true;
	return res;
}

hcp_status result_give(json_t *value, struct hcp_err *why, hcp_result **out, hcp_error *err)
{
	*out = value ? result_from_json(value) : NULL;
	json_decref(value);
	if (*out)
		return HCP_OK;
	if (why->code == HCP_E_NONE)
		hcp_fail_nomem(why);
	return runtime_error(err, why);
}

hcp_str hcp_result_json(const hcp_result *r)
{
	return r ? (hcp_str){r->json, r->len} : (hcp_str){"", 0};
}

int hcp_result_ok(const hcp_result *r)
{
	return r && r->ok;
}

int hcp_result_step(const hcp_result *r)
{
	return r ? r->step : 0;
}

int hcp_result_exit(const hcp_result *r)
{
	return r ? r->exit : EXIT_RUNTIME;
}

hcp_str hcp_result_error(const hcp_result *r)
{
	return r && r->error ? (hcp_str){r->error, r->error_len} : (hcp_str){"", 0};
}

hcp_str hcp_result_value(const hcp_result *r)
{
	return r && r->value ? (hcp_str){r->value, r->value_len} : (hcp_str){"", 0};
}

int hcp_result_fits(const hcp_result *r)
{
	return r && r->ok && !r->misfit;
}

hcp_str hcp_result_question(const hcp_result *r)
{
	return hcp_str_from(r && r->question ? r->question : "");
}

hcp_str hcp_result_run_id(const hcp_result *r)
{
	return r ? (hcp_str){r->run_id, strlen(r->run_id)} : (hcp_str){"", 0};
}

void hcp_result_free(hcp_result *r)
{
	if (!r)
		return;
	free(r->json);
	free(r->error);
	free(r->value);
	free(r->question);
	free(r);
}
