/* SPDX-License-Identifier: MIT */
/* A runtime and what it hands to its runs. Configuration lives in reference-counted snapshots:
 * a run keeps the one it began with, a reload swaps the pointer. */
#ifndef HCP_RUNTIME_RUNTIME_H
#define HCP_RUNTIME_RUNTIME_H

#include "audit/audit.h"
#include "base/limits.h"
#include "box/box.h"
#include "include/hcp.h"
#include "policy/policy.h"
#include "root/root.h"

#include <pthread.h>
#include <stdatomic.h>

struct snapshot {
	atomic_int refs;
	struct root root;
	struct settings set;
	struct policy *policy;
	struct audit *audit;
	/* Not HCP_E_NONE: every run of this snapshot is denied with it. Set by snapshot_open
	 * alone. */
	struct hcp_err broken;
};

struct hcp_options {
	char *root, *state;
	hcp_face face;
	bool read_only;
	hcp_log_fn *log;
	void *log_user;
};

struct hcp_runtime {
	hcp_options options;  /* a copy */
	pthread_mutex_t lock; /* snap, runs */
	pthread_cond_t idle;  /* runs == 0 */
	struct snapshot *snap;
	unsigned runs;
	struct hcp_call *active; /* calls with a run under way */
	struct box_host *box;    /* NULL: box_err says why; wraps are refused with it */
	struct hcp_err box_err;
};

struct hcp_call {
	hcp_call *next, **link; /* of runtime->active */
	hcp_runtime *rt;
	char session[LIMIT_ID + 1];
	char *tenant, *project; /* NULL: not asked */
	struct secret *token;   /* NULL: none */
	uint64_t deadline_ms;
	hcp_trace_fn *trace;
	void *trace_user;
	int cancelled; /* atomic; scripts look at it */
	int cancel_fd; /* eventfd; readable once cancelled; sticky */
};

struct hcp_result {
	char *json;
	size_t len;
	bool ok;
	int step, exit;
	char *error;
	size_t error_len;
	char *value;
	size_t value_len;
	char run_id[AUDIT_RUN_ID_SIZE];
};

struct snapshot *snapshot_open(const hcp_options *o); /* NULL: out of memory */
void snapshot_put(struct snapshot *s);
struct snapshot *runtime_snapshot(hcp_runtime *rt); /* a reference */
const char *runtime_face_name(hcp_face face);
/* What the options and the environment say of the root; everything is borrowed. */
struct root_request runtime_root_request(const hcp_options *o, const char *data);
/* Fills *out (which may be NULL) and gives the status that goes with it. */
hcp_status runtime_error(hcp_error *out, const struct hcp_err *err);
/* Replaces *member by a copy of text (NULL: none). -1: out of memory, *member is as it was. */
int runtime_set_text(char **member, const char *text) HCP_MUST_CHECK;

/* The init program and the data folder (malloc'ed real paths; NULL: not there). */
char *where_init(void);
char *where_data(void);

struct run;
hcp_result *result_of(struct run *r); /* NULL: out of memory */
hcp_result *result_from_json(json_t *value);

#endif
