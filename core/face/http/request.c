/* SPDX-License-Identifier: MIT */
/* A whole request becomes a run or a listing, and what came of that its answer. A denial is a
 * result envelope with status 200: other statuses say that no pipeline was asked. */
#include "face/http/server.h"

#include "base/json.h"
#include "face/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *header(struct conn *c, const char *name)
{
	return MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
}

/* A result envelope of the server's own. */
static void say(struct conn *c, unsigned status, const json_t *top, const char *error)
{
	AUTO_BUF json = {0};

	buf_free(&c->answer);
	c->status = status;
	request_refusal(top, error, &json);
	if (json.failed)
		c->answer.failed = true;
	else
		request_answer(json.data, json.len, c->id, &c->answer);
}

void http_fail(struct conn *c, unsigned status, const char *error)
{
	say(c, status, NULL, error);
}

static hcp_status set_identity(struct conn *c, hcp_call *call)
{
	const struct http *what = c->server->what;
	const char *tenant = what->tenant ? what->tenant : header(c, "X-HCP-Tenant");
	const char *project = what->project ? what->project : header(c, "X-HCP-Project");

	return hcp_call_identity(call, tenant, project);
}

/* What the kernel knows of the other end of a TCP connection is no evidence. */
static hcp_status describe(struct conn *c, hcp_call *call)
{
	const char *token = http_bearer(header(c, "Authorization"));
	hcp_status status = hcp_call_no_peer(call);

	if (status == HCP_OK)
		status = set_identity(c, call);
	if (status == HCP_OK && token)
		status = hcp_call_token(call, hcp_str_from(token));
	return status;
}

/* One who asks for another tenant than the server's is told what the pipeline would say. */
static bool asks_elsewhere(struct conn *c, const json_t *top)
{
	const struct http *what = c->server->what;
	const char *tenant = header(c, "X-HCP-Tenant"), *project = header(c, "X-HCP-Project");
	AUTO_BUF why = {0};

	if (what->tenant && tenant && strcmp(tenant, what->tenant) != 0)
		buf_printf(&why, "denied: tenant %s", tenant);
	else if (what->project && project && strcmp(project, what->project) != 0)
		buf_printf(&why, "denied: project %s", project);
	else
		return false;
	say(c, MHD_HTTP_OK, top, why.data ? why.data : "denied");
	return true;
}

static bool new_call(struct conn *c)
{
	hcp_status status = HCP_ENOMEM;

	c->call = hcp_call_copy(c->server->what->like);
	if (c->call)
		status = describe(c, c->call);
	if (status == HCP_EINVAL)
		http_fail(c, MHD_HTTP_UNAUTHORIZED,
			  "a token is 8 to 16384 visible ASCII characters");
	else if (status != HCP_OK)
		http_fail(c, MHD_HTTP_SERVICE_UNAVAILABLE, hcp_status_text(status));
	return status == HCP_OK;
}

static bool start_run(struct conn *c, const json_t *top)
{
	hcp_str text = {c->body.data ? c->body.data : "", c->body.len};
	hcp_status status;

	if (asks_elsewhere(c, top) || !new_call(c))
		return false;
	(void)hcp_refresh(c->server->what->rt, NULL); /* what is broken denies, and says so */
	status = hcp_start(c->server->what->rt, c->call, text, &c->run);
	if (status == HCP_OK)
		return true;
	say(c, MHD_HTTP_SERVICE_UNAVAILABLE, top, hcp_status_text(status));
	return false;
}

static bool start_exec(struct conn *c)
{
	struct face_line line = {c->body.data ? c->body.data : "", c->body.len};
	struct request_line asked = {0};
	bool started = false;

	if (c->too_long)
		http_fail(c, MHD_HTTP_CONTENT_TOO_LARGE, "invalid envelope: over 1 MiB");
	else if (c->body.failed || request_read(&line, &asked) < 0)
		http_fail(c, MHD_HTTP_SERVICE_UNAVAILABLE, hcp_status_text(HCP_ENOMEM));
	else if (asked.bad)
		say(c, MHD_HTTP_OK, asked.top,
		    "invalid envelope: id must be a string or an "
		    "integer of at most 256 bytes");
	else {
		c->id = asked.id;
		asked.id = NULL;
		started = start_run(c, asked.top);
	}
	request_done(&asked);
	return started;
}

static bool start_listing(struct conn *c)
{
	if (asks_elsewhere(c, NULL) || !new_call(c))
		return false;
	(void)hcp_refresh(c->server->what->rt, NULL);
	c->job = job_start(c->server->what->rt, c->call);
	if (!c->job)
		http_fail(c, MHD_HTTP_SERVICE_UNAVAILABLE, hcp_status_text(HCP_ENOMEM));
	return c->job != NULL;
}

/* For whoever asks: whether requests are answered, and no reason. */
static void health(struct conn *c)
{
	bool fine;

	(void)hcp_refresh(c->server->what->rt, NULL);
	fine = hcp_check(c->server->what->rt, NULL) == HCP_OK;
	c->status = fine ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
	buf_puts(&c->answer, fine ? "{\"ok\":true}" : "{\"ok\":false}");
}

bool http_start(struct conn *c)
{
	switch (c->path) {
	case EXEC:
		return start_exec(c);
	case PACKS:
	case OPENAPI:
		return start_listing(c);
	case HEALTH:
		health(c);
		return false;
	case NOWHERE:
		break;
	}
	http_fail(c, MHD_HTTP_NOT_FOUND, "there is nothing here");
	return false;
}

static void finish_run(struct conn *c)
{
	hcp_result *res = NULL;
	hcp_status status = hcp_run_finish(c->run, &res);
	hcp_str json = hcp_result_json(res);

	c->run = NULL;
	if (status == HCP_OK) {
		c->status = MHD_HTTP_OK;
		request_answer(json.data, json.len, c->id, &c->answer);
		snprintf(c->run_id, sizeof(c->run_id), "%s", hcp_result_run_id(res).data);
	} else {
		http_fail(c, MHD_HTTP_SERVICE_UNAVAILABLE, hcp_status_text(status));
	}
	hcp_result_free(res);
}

static void finish_listing(struct conn *c)
{
	hcp_error err = {.size = sizeof(err)};
	json_t *top = job_finish(c->job, &err);
	AUTO_BUF why = {0};

	c->job = NULL;
	c->status = MHD_HTTP_OK;
	if (top && c->path == PACKS) {
		json_add_value(&c->answer, top);
	} else if (top) {
		http_openapi(json_object_get(top, "packs"), &c->answer);
	} else {
		buf_printf(&why, "config: %s%s%s", err.file, err.file[0] ? ": " : "", err.text);
		http_fail(c, MHD_HTTP_SERVICE_UNAVAILABLE, why.data ? why.data : "config");
	}
	json_decref(top);
}

void http_finish(struct conn *c)
{
	if (c->run)
		finish_run(c);
	else if (c->job)
		finish_listing(c);
	c->state = ANSWERING;
}

void http_cancel(struct conn *c)
{
	hcp_call_cancel(c->call);
}

int http_wait_fd(const struct conn *c)
{
	return c->run ? hcp_run_fd(c->run) : job_fd(c->job);
}

void http_forget(struct conn *c)
{
	if (c->run || c->job) {
		http_cancel(c);
		http_finish(c);
	}
	hcp_call_free(c->call);
	free(c->id);
	buf_free(&c->body);
	buf_free(&c->answer);
	c->call = NULL;
	c->id = NULL;
	c->origin = NULL;
	c->run_id[0] = '\0';
	c->begun = c->too_long = false;
	c->path = NOWHERE;
	c->state = TAKING;
	c->until = http_now_ms() + HTTP_TAKE_MS;
}
