/* SPDX-License-Identifier: MIT */
/* Private to face/http/: one server, and one connection with the one request that it has at a
 * time. Everything is the loop's thread's but a listing's job. */
#ifndef HCP_FACE_HTTP_SERVER_H
#define HCP_FACE_HTTP_SERVER_H

#include "base/limits.h"
#include "base/json.h"
#include "base/str.h"
#include "face/http.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdint.h>

enum state {
	TAKING = 0, /* until the whole request is there */
	RUNNING,    /* suspended */
	ANSWERING
};
enum path { NOWHERE = 0, EXEC, PACKS, OPENAPI, HEALTH };

struct conn {
	struct conn *next;
	struct server *server;
	struct MHD_Connection *mhd;
	int fd; /* libmicrohttpd's */
	enum state state;
	int64_t until; /* taking or answering is over by then, or the connection is; 0: none */
	bool shut;     /* and it is */
	nfds_t at;     /* of the poll set, while RUNNING: what it waits for, then the socket */

	/* of the request */
	bool begun, too_long, gone;
	enum path path;
	char *id; /* as JSON; NULL: none */
	const char *origin;
	struct buf body, answer;
	unsigned status;
	char run_id[32];
	hcp_call *call;
	hcp_run *run;
	struct job *job;
};

enum phase { SERVING = 0, DRAINING, ENDING };

struct server {
	const struct http *what;
	struct MHD_Daemon *daemon;
	struct conn *conns;
	unsigned count;
	enum phase phase;
	int signal;
	int64_t drain_until, deaf_until;
	struct pollfd set[3 + 2 * HTTP_CLIENTS];
	nfds_t used;
};

int64_t http_now_ms(void);

/* ---- handler.c: libmicrohttpd's callbacks ---- */

enum MHD_Result http_handle(void *cls, struct MHD_Connection *mhd, const char *url,
			    const char *method, const char *version, const char *upload,
			    size_t *size, void **request);
void http_completed(void *cls, struct MHD_Connection *mhd, void **request,
		    enum MHD_RequestTerminationCode why);
void http_connection(void *cls, struct MHD_Connection *mhd, void **context,
		     enum MHD_ConnectionNotificationCode what);

/* ---- judge.c ---- */

/* What is wrong with a request before its body: its status with *error set, or 0. */
unsigned http_judge(struct conn *c, const char *url, const char *method, const char **error);

/* ---- request.c: from a whole request to its answer ---- */

/* False: the answer is there already. */
bool http_start(struct conn *c);
/* What it waited for is over: makes the answer. */
void http_finish(struct conn *c);
void http_cancel(struct conn *c);
int http_wait_fd(const struct conn *c);
void http_fail(struct conn *c, unsigned status, const char *error);
void http_forget(struct conn *c); /* all of the request; waits where it still runs */

/* ---- job.c: what this principal may run, asked on a thread of its own ---- */

struct job *job_start(hcp_runtime *rt, hcp_call *call); /* NULL: no thread or memory */
int job_fd(const struct job *j);
/* The {"packs": [...]} without packs that have nothing for this principal, or NULL with err.
 * Waits; frees the job. */
json_t *job_finish(struct job *j, hcp_error *err);

/* ---- openapi.c ---- */

void http_openapi(json_t *packs, struct buf *out);

/* ---- loop.c ---- */

int http_run(const struct http *what, struct hcp_err *err);

#endif
