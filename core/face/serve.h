/* SPDX-License-Identifier: MIT */
/* `hcp serve`: one envelope a line in, one result a line out, many at once. The caller opens
 * the runtime with the right face; signals, descriptors and the process's end are its own. */
#ifndef HCP_FACE_SERVE_H
#define HCP_FACE_SERVE_H

#include "base/err.h"
#include "include/hcp.h"

#define SERVE_CLIENTS    64    /* connections at once */
#define SERVE_PER_USER   16    /* of one uid */
#define SERVE_REQUESTS   256   /* in flight, of all clients */
#define SERVE_PER_CLIENT 16    /* of one; its further lines wait unread */
#define SERVE_GRACE_MS   2000  /* what runs may take on after their client's last line */
#define SERVE_DRAIN_MS   10000 /* the same after the first signal */
#define SERVE_FLUSH_MS   5000  /* what a client may take to read the last answers */
#define SERVE_DEAF_MS    100   /* between tries to take a client there is no descriptor for */
#define SERVE_LOCK_MS    5000  /* what another server may take to begin or end in one folder */
#define SERVE_ID         256   /* bytes of a request's id as JSON */

struct serve {
	hcp_runtime *rt;
	const hcp_call *like; /* what each request says of itself; a socket's peer is added */
	int signal_fd;        /* signalfd(2): the first ends, the second cancels */
	int in_fd, out_fd;    /* stdio; else -1 */
	int listen_fd;        /* a listening socket; else -1 */
};
/* Serves until its one client is gone or a signal ends it. 0, or the number of the signal where
 * runs had to be cancelled. -1: err says why. */
int serve_run(const struct serve *what, struct hcp_err *err) HCP_MUST_CHECK;

/* A listening socket at path, mode 0600. A file that is there already is replaced only where it
 * is a socket of this user's that nobody listens on. -1: err says why. */
int serve_listen(const char *path, struct hcp_err *err) HCP_MUST_CHECK;
/* Removes the socket's file where it is still the one that serve_listen made. */
void serve_unlink(const char *path, int fd);

#endif
