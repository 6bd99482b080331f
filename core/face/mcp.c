/* SPDX-License-Identifier: MIT */
/* MCP on two descriptors: reads messages, answers what needs no time, hands on what does. Both
 * revisions: `initialize` opens the older one for the process; else each request says by its
 * _meta that it is of the newer, and nothing is remembered of it. */
#include "face/mcp_server.h"

#include "face/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define META(name) "io.modelcontextprotocol/" name

/* A form is what a client without further word can show. */
static bool can_show_forms(const json_t *capabilities)
{
	const json_t *e = json_object_get(capabilities, "elicitation");

	return json_is_object(e) && (json_object_size(e) == 0 || json_object_get(e, "form"));
}

static void add_server(struct buf *out)
{
	buf_printf(out, "{\"name\":\"hcp\",\"version\":\"%d.%d.%d\"}", HCP_VERSION_MAJOR,
		   HCP_VERSION_MINOR, HCP_VERSION_PATCH);
}

static void initialize(struct mcp *m, const json_t *id, const json_t *params)
{
	AUTO_BUF out = {0};

	m->legacy = true;
	m->legacy_form = can_show_forms(json_object_get(params, "capabilities"));
	buf_puts(&out, "\"protocolVersion\":\"" MCP_LEGACY "\",\"capabilities\":{\"tools\":{}},"
		       "\"serverInfo\":");
	add_server(&out);
	mcp_result(m, id, false, &out);
}

static void discover(struct mcp *m, const json_t *id)
{
	AUTO_BUF out = {0};

	buf_puts(&out,
		 "\"supportedVersions\":[\"" MCP_MODERN "\"],\"capabilities\":{\"tools\":{}},"
		 "\"ttlMs\":3600000,\"cacheScope\":\"public\",\"_meta\":{\"" META(
		     "serverInfo") "\":");
	add_server(&out);
	buf_putc(&out, '}');
	mcp_result(m, id, true, &out);
}

/* Takes over what the job needs of the request. */
static void hand_on(struct mcp *m, const json_t *id, json_t *params, bool list, bool modern,
		    bool can_ask)
{
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	struct mcp_job *j = calloc(1, sizeof(*j));

	if (j)
		j->call = hcp_call_copy(m->as);
	if (!j || !j->call) {
		free(j);
		mcp_error(m, id, RPC_INTERNAL, "out of memory or descriptors", NULL);
		return;
	}
	j->m = m;
	j->id = json_deep_copy(id);
	j->params = json_incref(params);
	j->progress = json_is_string(token) || json_is_integer(token) ? token : NULL;
	j->list = list;
	j->modern = modern;
	j->can_ask = can_ask;
	mcp_start(m, j);
}

static void call(struct mcp *m, const json_t *id, json_t *params, bool modern, bool can_ask)
{
	const json_t *args = json_object_get(params, "arguments");

	if (!json_is_string(json_object_get(params, "name")))
		mcp_error(m, id, RPC_PARAMS, "tools/call needs a name, a string", NULL);
	else if (args && !json_is_object(args))
		mcp_error(m, id, RPC_PARAMS, "arguments must be an object", NULL);
	else
		hand_on(m, id, params, false, modern, can_ask);
}

static void tools(struct mcp *m, const json_t *id, const char *method, json_t *params,
		  bool modern, bool can_ask)
{
	if (strcmp(method, "tools/list") == 0)
		hand_on(m, id, params, true, modern, false);
	else if (strcmp(method, "tools/call") == 0)
		call(m, id, params, modern, can_ask);
	else
		mcp_error(m, id, RPC_METHOD, "there is no such method here",
			  json_pack("{s:s}", "method", method));
}

static void modern(struct mcp *m, const json_t *id, const char *method, json_t *params)
{
	const json_t *meta = json_object_get(params, "_meta");
	const json_t *version = json_object_get(meta, META("protocolVersion"));
	const json_t *capabilities = json_object_get(meta, META("clientCapabilities"));

	if (!json_is_string(version) || !json_is_object(capabilities))
		mcp_error(
		    m, id, RPC_PARAMS,
		    "_meta needs " META("protocolVersion") " and " META("clientCapabilities"),
		    NULL);
	else if (strcmp(json_string_value(version), MCP_MODERN) != 0)
		mcp_error(
		    m, id, RPC_VERSION, "Unsupported protocol version",
		    json_pack("{s:[s],s:O}", "supported", MCP_MODERN, "requested", version));
	else if (strcmp(method, "server/discover") == 0)
		discover(m, id);
	else
		tools(m, id, method, params, true, can_show_forms(capabilities));
}

static void request(struct mcp *m, const json_t *id, const char *method, json_t *params)
{
	const json_t *meta = json_object_get(params, "_meta");
	AUTO_BUF empty = {0};

	if (mcp_id_in_use(m, id))
		mcp_error(m, id, RPC_REQUEST, "a request of this id is under way", NULL);
	else if (strcmp(method, "initialize") == 0)
		initialize(m, id, params);
	else if (!m->legacy && (json_object_get(meta, META("protocolVersion")) ||
				strcmp(method, "server/discover") == 0))
		modern(m, id, method, params);
	else if (strcmp(method, "ping") == 0)
		mcp_result(m, id, false, &empty);
	else if (!m->legacy)
		mcp_error(m, id, RPC_REQUEST,
			  "open with initialize, or name " META("protocolVersion") " in _meta",
			  NULL);
	else
		tools(m, id, method, params, false, m->legacy_form);
}

static void message(struct mcp *m, const json_t *top)
{
	const json_t *id = json_object_get(top, "id");
	const char *version = json_string_value(json_object_get(top, "jsonrpc"));
	const char *method = json_string_value(json_object_get(top, "method"));
	json_t *params = json_object_get(top, "params");
	bool id_fits = json_is_string(id) || json_is_integer(id);

	if (json_is_array(top))
		mcp_error(m, NULL, RPC_REQUEST, "batches are not part of these revisions",
			  NULL);
	else if (!version || strcmp(version, "2.0") != 0)
		mcp_error(m, id_fits ? id : NULL, RPC_REQUEST, "no JSON-RPC 2.0 message", NULL);
	else if (id && !id_fits)
		mcp_error(m, NULL, RPC_REQUEST, "an id must be a string or an integer", NULL);
	else if (id && !method &&
		 (json_object_get(top, "result") || json_object_get(top, "error")))
		mcp_answered(m, id, mcp_answer_of(json_object_get(top, "result")));
	else if (!method)
		mcp_error(m, id, RPC_REQUEST, "a method is missing", NULL);
	else if (id && params && !json_is_object(params))
		mcp_error(m, id, RPC_PARAMS, "params must be an object", NULL);
	else if (id)
		request(m, id, method, params);
	else if (strcmp(method, "notifications/cancelled") == 0)
		mcp_cancel(m, json_object_get(params, "requestId"));
}

static void line(struct mcp *m, const struct face_line *l)
{
	struct hcp_err err = {0};
	json_t *top;

	if (l->len == 0)
		return;
	top = json_parse(l->text, l->len, MCP_DEPTH, &err);
	if (top)
		message(m, top);
	else
		mcp_error(m, NULL, RPC_PARSE, err.text, NULL);
	json_decref(top);
}

static void take_lines(struct mcp *m, struct face_in *in)
{
	struct face_line l;
	enum face_next next;

	while ((next = face_next(in, &l)) != FACE_NONE)
		if (next == FACE_LINE)
			line(m, &l);
		else
			mcp_error(m, NULL, RPC_REQUEST, "a message may have 1 MiB", NULL);
}

/* False: nothing more to read, or to be read. */
static bool wait_for_input(struct mcp *m)
{
	struct pollfd p[2] = {{m->in, POLLIN, 0}, {m->stop, POLLIN, 0}};
	int64_t next = mcp_now_ms() + 1000;
	int n;

	for (;;) {
		n = poll(p, 2, mcp_has_jobs(m) ? (int)(next - mcp_now_ms()) : -1);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0)
			return !p[1].revents;
		if (n == 0) {
			mcp_tick(m);
			next = mcp_now_ms() + 1000;
		}
	}
}

static void serve(struct mcp *m)
{
	struct face_in in = {.fd = m->in};

	while (!in.ended && wait_for_input(m)) {
		if (face_read(&in) < 0)
			break;
		take_lines(m, &in);
	}
	face_in_done(&in);
}

/* The names that lead back are there before the first list. */
static void first_table(struct mcp *m)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_call *c = hcp_call_copy(m->as);
	AUTO_BUF unused = {0};

	if (c && mcp_tools(m, c, &unused, &err))
		fprintf(stderr, "hcp: no tools: %s\n", err.text);
	hcp_call_free(c);
}

int mcp_serve(hcp_runtime *rt, const hcp_call *as, int in, int out, int stop)
{
	struct mcp *m = calloc(1, sizeof(*m));
	uint64_t one = 1;

	if (!m || sodium_init() < 0) {
		free(m);
		return -1;
	}
	*m = (struct mcp){.rt = rt, .as = as, .in = in, .out = out, .stop = stop};
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->write_lock, NULL);
	pthread_cond_init(&m->change, NULL);
	crypto_auth_keygen(m->key);
	first_table(m);
	serve(m);
	/* who waits to write doesn't wait any longer than the client reads */
	if (write(stop, &one, sizeof(one)) < 0)
		one = 0; /* it is readable already */
	mcp_end(m);
	json_decref(m->table);
	sodium_memzero(m->key, sizeof(m->key));
	free(m);
	return 0;
}
