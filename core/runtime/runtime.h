/* SPDX-License-Identifier: MIT */
/* A runtime and what it hands to its runs. Configuration lives in reference-counted snapshots:
 * a run keeps the one it began with, a reload swaps the pointer. */
#ifndef HCP_RUNTIME_RUNTIME_H
#define HCP_RUNTIME_RUNTIME_H

#include "audit/audit.h"
#include "base/limits.h"
#include "box/box.h"
#include "include/hcp.h"
#include "net/net.h"
#include "pack/pack.h"
#include "policy/policy.h"
#include "root/root.h"
#include "script/script.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the files of a snapshot looked like when it was read. */
struct stamp {
	unsigned char digest[32];
	bool settled; /* none had changed just before: a later change shows */
};

struct snapshot {
	atomic_int refs;
	struct root root;
	struct settings set;
	struct policy *policy;
	struct pack_cache packs;
	struct audit *audit;
	char *ca; /* PEM; NULL: the system's authorities */
	size_t ca_len;
	struct stamp stamp;
	/* Not HCP_E_NONE: every run of this snapshot is denied with it. Set by snapshot_open
	 * alone. */
	struct hcp_err broken;
};

/* The provider that stands for what hcp_call_principal said. */
#define HOST_PROVIDER "host"

enum host_kind { HOST_NONE = 0, HOST_AUTH, HOST_ADAPTER };
struct host_function {
	enum host_kind kind;
	char name[LIMIT_ID + 1];
	hcp_host_fn *fn;
	void *user;
};

struct hcp_options {
	char *root, *state;
	struct host_function *functions;
	size_t function_count;
	hcp_face face;
	bool read_only;
	unsigned max_runs; /* 0: LIMIT_RUNS */
	hcp_log_fn *log;
	void *log_user;
};

struct hcp_runtime {
	hcp_options options;  /* a copy */
	pthread_mutex_t lock; /* snap, runs */
	pthread_mutex_t refreshing;
	pthread_cond_t idle; /* runs == 0 */
	struct snapshot *snap;
	unsigned runs;
	struct hcp_call *active; /* calls with a run under way */
	struct net *net;         /* what scripts reach hosts through */
	struct script_pool *stacks;
	struct box_host *box; /* NULL: box_err says why; wraps are refused with it */
	struct hcp_err box_err;
};

enum call_peer { PEER_SELF = 0, PEER_GIVEN, PEER_NONE };

#define CALL_FILES 32
struct call_file {
	char *name; /* in the jail */
	int fd;     /* borrowed */
	bool out;   /* else in */
};

struct hcp_call {
	hcp_call *next, **link; /* of runtime->active; link NULL: no run under way */
	hcp_runtime *rt;
	char session[LIMIT_ID + 1];
	char *tenant, *project; /* NULL: not asked */
	struct secret *token;   /* NULL: none */
	char *principal;        /* JSON, as the host vouches for it; NULL: it doesn't */
	uint64_t deadline_ms;
	enum call_peer peer;
	uint32_t peer_uid, peer_gid; /* PEER_GIVEN */
	int32_t peer_pid;
	hcp_trace_fn *trace;
	void *trace_user;
	hcp_stream_fn *stream; /* NULL: nobody listens */
	void *stream_user;
	char *consent; /* NULL: nobody can be asked; "": nobody agreed; else a question's
			  digest, until a run redeems it */
	struct call_file files[CALL_FILES];
	size_t file_count;
	bool keep;
	int cancelled; /* atomic; scripts look at it */
	int cancel_fd; /* eventfd; readable once cancelled; sticky */
};

/* What one entry of the library does with a fresh run. */
struct run;
typedef void walk_fn(struct run *r, void *what);

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
	char *question; /* JSON; NULL: none */
	bool misfit;
};

struct snapshot *snapshot_open(const hcp_options *o); /* NULL: out of memory */
void snapshot_put(struct snapshot *s);
/* `began`: seconds since 1970, before the first of the files was read. */
void snapshot_stamp(const struct root *root, const struct settings *set, int64_t began,
		    struct stamp *out);
struct snapshot *runtime_snapshot(hcp_runtime *rt); /* a reference */
const char *runtime_face_name(hcp_face face);
/* What the options and the environment say of the root; everything is borrowed. */
struct root_request runtime_root_request(const hcp_options *o, const char *data);
/* Fills *out (which may be NULL) and gives the status that goes with it. */
hcp_status runtime_error(hcp_error *out, const struct hcp_err *err);
/* Replaces *member by a copy of text (NULL: none). -1: out of memory, *member is as it was. */
int runtime_set_text(char **member, const char *text) HCP_MUST_CHECK;

/* What the host brings under that name; NULL: nothing. */
const struct host_function *host_function(const hcp_options *o, enum host_kind kind,
					  const char *name);
int host_functions_copy(hcp_options *to, const hcp_options *from) HCP_MUST_CHECK;
/* Of a struct root: whether a provider needs no script. */
bool host_brings_provider(const void *options, const char *name);

/* The init program and the data folder (malloc'ed real paths; NULL: not there). */
char *where_init(void);
char *where_net(void); /* the module */
char *where_data(void);

int call_init(hcp_call *c, hcp_runtime *rt) HCP_MUST_CHECK;
void call_done(hcp_call *c);
/* A run begins or ends with `c`: HCP_OK or HCP_EBUSY. What has entered, leaves. */
hcp_status call_enter(hcp_runtime *rt, hcp_call *c);
void call_leave(hcp_runtime *rt, hcp_call *c);
/* Walks one run for a call that has entered. `what` is a const hcp_str * for an envelope. */
hcp_status call_walk(hcp_runtime *rt, hcp_call *c, walk_fn *walk, void *what, hcp_result **out);
void call_walk_envelope(struct run *r, void *what);

/* A pack as hcp_describe gives it. */
json_t *runtime_describe(struct snapshot *s, const char *id, struct hcp_err *err);

hcp_result *result_of(struct run *r); /* NULL: out of memory */
hcp_result *result_from_json(json_t *value);
/* The end of an entry: gives `value` (taken; NULL: `why` says why, or memory ran out) as *out.
 */
hcp_status result_give(json_t *value, struct hcp_err *why, hcp_result **out, hcp_error *err);

#endif
