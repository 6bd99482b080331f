/* SPDX-License-Identifier: MIT */
/* libmicrohttpd's callbacks. A request is judged by its headers, its body taken as far as an
 * envelope may go, and its connection suspended while something runs. */
#include "face/http/server.h"

#include <stdlib.h>
#include <string.h>

static struct conn *conn_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void add(struct MHD_Response *r, const char *name, const char *value)
{
	(void)MHD_add_response_header(r, name, value);
}

static void add_headers(struct conn *c, struct MHD_Response *r)
{
	if (c->status != MHD_HTTP_NO_CONTENT)
		add(r, "Content-Type", "application/json");
	add(r, "Cache-Control", "no-store");
	add(r, "X-Content-Type-Options", "nosniff");
	if (c->run_id[0])
		add(r, "X-HCP-Run-Id", c->run_id);
	if (c->status == MHD_HTTP_UNAUTHORIZED)
		add(r, "WWW-Authenticate", "Bearer");
	if (c->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add(r, "Allow", c->path == EXEC ? "POST" : "GET");
	if (c->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		add(r, "Retry-After", "1");
	if (c->server->phase != SERVING)
		add(r, "Connection", "close");
}

/* For a page that the server was told of. */
static void add_origin(const struct conn *c, struct MHD_Response *r)
{
	if (!c->origin)
		return;
	add(r, "Access-Control-Allow-Origin", c->origin);
	add(r, "Access-Control-Expose-Headers", "X-HCP-Run-Id");
	add(r, "Vary", "Origin");
	if (c->status != MHD_HTTP_NO_CONTENT)
		return;
	add(r, "Access-Control-Allow-Methods", "GET, POST");
	add(r, "Access-Control-Allow-Headers",
	    "Authorization, Content-Type, X-HCP-Tenant, X-HCP-Project");
}

/* MHD_NO cuts the connection off: nothing is said where there is no memory to say it. */
static enum MHD_Result answer(struct conn *c)
{
	struct MHD_Response *r;
	enum MHD_Result queued;

	if (c->answer.failed || (!c->answer.data && c->status != MHD_HTTP_NO_CONTENT))
		return MHD_NO;
	r = MHD_create_response_from_buffer(c->answer.len, c->answer.data,
					    MHD_RESPMEM_MUST_FREE);
	if (!r)
		return MHD_NO;
	c->answer = (struct buf){0}; /* the response's now */
	c->state = ANSWERING;
	c->until = http_now_ms() + HTTP_ANSWER_MS;
	add_headers(c, r);
	add_origin(c, r);
	queued = MHD_queue_response(c->mhd, c->status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result begin(struct conn *c, const char *url, const char *method)
{
	const char *error = NULL;
	unsigned status;

	c->begun = true;
	status = http_judge(c, url, method, &error);
	if (status == 0)
		return MHD_YES;
	c->status = status;
	if (status != MHD_HTTP_NO_CONTENT)
		http_fail(c, status, error);
	return answer(c);
}

/* What is beyond an envelope is read and dropped: an answer may not go before. */
static void take(struct conn *c, const char *data, size_t size)
{
	if (c->path != EXEC || c->too_long)
		return;
	if (size > LIMIT_ENVELOPE - c->body.len) {
		c->too_long = true;
		buf_free(&c->body);
	} else {
		buf_add(&c->body, data, size);
	}
}

enum MHD_Result http_handle(void *cls, struct MHD_Connection *mhd, const char *url,
			    const char *method, const char *version, const char *upload,
			    size_t *size, void **request)
{
	struct conn *c = conn_of(mhd);

	(void)cls;
	(void)version;
	if (!c)
		return MHD_NO;
	*request = c;
	if (!c->begun)
		return begin(c, url, method);
	if (*size > 0) {
		take(c, upload, *size);
		*size = 0;
		return MHD_YES;
	}
	if (c->state == TAKING && http_start(c)) {
		c->state = RUNNING;
		c->until = 0;
		MHD_suspend_connection(mhd);
		return MHD_YES;
	}
	return c->state == RUNNING ? MHD_YES : answer(c);
}

void http_completed(void *cls, struct MHD_Connection *mhd, void **request,
		    enum MHD_RequestTerminationCode why)
{
	struct conn *c = *request;

	(void)cls;
	(void)mhd;
	(void)why;
	*request = NULL;
	if (c)
		http_forget(c);
}

static void open_conn(struct server *s, struct MHD_Connection *mhd, void **context)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct conn *c = info ? calloc(1, sizeof(*c)) : NULL;

	*context = c;
	if (!c)
		return; /* its request is cut off */
	c->server = s;
	c->mhd = mhd;
	c->fd = info->connect_fd;
	c->until = http_now_ms() + HTTP_TAKE_MS;
	c->next = s->conns;
	s->conns = c;
	s->count++;
}

static void close_conn(struct server *s, struct conn *c)
{
	struct conn **link = &s->conns;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	s->count--;
	http_forget(c);
	free(c);
}

void http_connection(void *cls, struct MHD_Connection *mhd, void **context,
		     enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		open_conn(cls, mhd, context);
	else if (*context)
		close_conn(cls, *context);
}
