/* SPDX-License-Identifier: MIT */
/* The kept jail of a pack from outside: list, fetch, put and remove, as the principal that the
 * steps found, with the capability <pack_id>.workspace, on record. No path leads out of it. */
#ifndef HCP_EXEC_WORKSPACE_H
#define HCP_EXEC_WORKSPACE_H

#include "exec/exec.h"

struct workspace_task {
	hcp_workspace_op op;
	const char *path; /* relative to the jail; "." for all of it */
	int fd;           /* GET: written to; PUT: read from; borrowed */
};
/* Walks steps 1 to 5, then does it; always leaves a verdict in r, and the records. */
void exec_workspace(struct run *r, const char *pack_id, const struct workspace_task *t);

#endif
