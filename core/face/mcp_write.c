/* SPDX-License-Identifier: MIT */
/* The only writer of the client's stream: a whole message a line. A client that doesn't read
 * makes writers wait and can't keep the server from stopping. */
#include "face/mcp_server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* 1: out takes bytes, 0: not now, -1: the server stops. */
static int ready(struct mcp *m, int timeout_ms)
{
	struct pollfd p[2] = {{m->out, POLLOUT, 0}, {m->stop, POLLIN, 0}};

	while (poll(p, 2, timeout_ms) < 0)
		if (errno != EINTR)
			return -1;
	if (p[0].revents)
		return 1;
	return p[1].revents ? -1 : 0;
}

static void stop(struct mcp *m)
{
	uint64_t one = 1;

	if (write(m->stop, &one, sizeof(one)) < 0)
		return; /* EAGAIN: it is readable already */
}

/* PIPE_BUF bytes fit whenever poll says so. */
static bool put(struct mcp *m, const char *data, size_t len)
{
	ssize_t n;

	while (len > 0) {
		if (ready(m, -1) < 0)
			return false;
		n = write(m->out, data, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool mcp_write(struct mcp *m, const struct buf *line)
{
	bool ok;

	if (line->failed || !line->data)
		return false;
	pthread_mutex_lock(&m->write_lock);
	ok = put(m, line->data, line->len);
	if (!ok)
		stop(m); /* half a line may be out: nothing may follow it */
	pthread_mutex_unlock(&m->write_lock);
	return ok;
}

void mcp_write_lossy(struct mcp *m, const struct buf *line)
{
	if (line->failed || line->len > PIPE_BUF || pthread_mutex_trylock(&m->write_lock) != 0)
		return;
	if (ready(m, 0) == 1 && !put(m, line->data, line->len))
		stop(m);
	pthread_mutex_unlock(&m->write_lock);
}

static void begin(struct buf *b, const json_t *id)
{
	buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (id)
		json_add_value(b, id);
	else
		buf_puts(b, "null");
}

void mcp_error(struct mcp *m, const json_t *id, int code, const char *message, json_t *data)
{
	AUTO_BUF b = {0};

	begin(&b, id);
	buf_printf(&b, ",\"error\":{\"code\":%d,\"message\":", code);
	json_add_cstring(&b, message);
	if (data) {
		buf_puts(&b, ",\"data\":");
		json_add_value(&b, data);
	}
	buf_puts(&b, "}}\n");
	json_decref(data);
	mcp_write(m, &b);
}

void mcp_result(struct mcp *m, const json_t *id, bool modern, const struct buf *members)
{
	AUTO_BUF b = {0};

	begin(&b, id);
	buf_puts(&b, ",\"result\":{");
	buf_add(&b, members->data ? members->data : "", members->len);
	if (modern)
		buf_printf(&b, "%s\"resultType\":\"complete\"", members->len ? "," : "");
	buf_puts(&b, "}}\n");
	if (members->failed || b.failed)
		mcp_error(m, id, RPC_INTERNAL, "out of memory", NULL);
	else
		mcp_write(m, &b);
}
