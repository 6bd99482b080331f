/* SPDX-License-Identifier: MIT */
/* `hcp serve --http`: where it listens, whom it lets in, and the door to hcp-http.so, which
 * alone is linked with libmicrohttpd and is loaded when it is asked for. */
#ifndef HCP_FACE_HTTP_H
#define HCP_FACE_HTTP_H

#include "base/err.h"
#include "include/hcp.h"

#include <stdbool.h>
#include <stddef.h>

#define HTTP_CLIENTS   128   /* connections at once; further ones wait in the backlog */
#define HTTP_TAKE_MS   10000 /* for a whole request to arrive, also for the next one to begin */
#define HTTP_ANSWER_MS 60000 /* for an answer to be read */

struct http {
	hcp_runtime *rt;
	const hcp_call *like;         /* what each request says of itself; tokens are added */
	const char *tenant, *project; /* that it has; a request may ask for one where NULL */
	int signal_fd;                /* signalfd(2): the first ends, the second cancels */
	int listen_fd;
	bool loopback;    /* nobody from elsewhere can connect */
	const char *name; /* the address as a Host header has it, without a port */
	const char *const *hosts, *const *origins; /* allowed besides; a NULL ends each */
};

/* A listening socket for "ADDR:PORT", "[ADDR]:PORT", ":PORT" or "PORT"; without an address it
 * is 127.0.0.1, and "localhost" is that, too. No name is looked up. Sets listen_fd, loopback
 * and name, which is `space`'s; *port is the one that was got. -1: err says why. */
#define HTTP_NAME 64
int http_listen(const char *where, struct http *http, char space[HTTP_NAME], unsigned *port,
		struct hcp_err *err) HCP_MUST_CHECK;
/* As serve_run. */
int http_serve(const struct http *http, struct hcp_err *err) HCP_MUST_CHECK;

/* ---- http_guard.c: what a browser can be made to send is judged before anything else ---- */

/* A page of another site can have its own name point here: only names that are this server's
 * count, with any port. */
bool http_host_ok(const struct http *http, const char *host);
/* No Origin, or one that the server was told of. */
bool http_origin_ok(const struct http *http, const char *origin);
/* application/json, and no charset but UTF-8: what a form can send never is. */
bool http_type_ok(const char *type);
/* The token of "Bearer TOKEN"; NULL: there is none. Borrowed. */
const char *http_bearer(const char *authorization);

/* ---- what hcp-http.so exports ---- */

#define HTTP_MODULE_SYMBOL "hcp_http_module"
struct http_module {
	char version[24]; /* that of hcp.h, "1.2.3" */
	int (*serve)(const struct http *http, struct hcp_err *err);
};

#endif
