/* SPDX-License-Identifier: MIT */
/* The root folder and hcp.yaml: which root is believed (--root or $HCP_ROOT, else the first of
 * $XDG_CONFIG_HOME/hcp, /etc/hcp, the installed data folder), where state goes, and the
 * settings. Finding the root never falls through from one that was named. */
#ifndef HCP_ROOT_ROOT_H
#define HCP_ROOT_ROOT_H

#include "base/arena.h"
#include "base/conf.h"

struct root {
	struct arena arena; /* owns every string below */
	const char *path;   /* as spelled; messages begin with it */
	const char *real;   /* absolute, links resolved: what overlaps are judged by */
	int fd;             /* O_DIRECTORY, judged by trust_open_top */
	const char *state;  /* absolute */
	int state_fd;       /* 0700 and ours; -1 until root_open_state */
	const char
	    *data; /* the installed data folder, in a build tree the source tree: fallback
		      for adapters/, lua/, policies/auth|guards|mint; NULL: none */
	int data_fd;
	/* Whether an auth provider needs no script, because the host brings it. */
	bool (*brings_provider)(const void *host, const char *name);
	const void *host;
};

/* What the caller may say; NULL: not said. env_* are read by the caller (the library never
 * reads the environment after opening; secure_getenv). */
struct root_request {
	const char *root, *state;
	const char *data; /* where the installed data folder is; found by the caller */
	const char *env_root, *env_state, *xdg_config_home, *xdg_state_home, *home;
	bool (*brings_provider)(const void *host, const char *name); /* as in struct root */
	const void *host;
	struct conf_faults *faults; /* for lint: all of hcp.yaml's, and the root opens */
};

enum audit_sync { AUDIT_SYNC_ALWAYS = 0, AUDIT_SYNC_OS };
enum audit_args { AUDIT_ARGS_NONE = 0, AUDIT_ARGS_KEYS, AUDIT_ARGS_REDACTED };

struct settings_session {
	const char *name;
	struct conf_strings packs; /* with its place in hcp.yaml */
};
struct settings {
	struct conf_strings packs; /* folders, default ["packs"], relative to the root */
	const char *state;         /* absolute; NULL: not set */
	const char *tenant, *project_id;
	size_t session_count;
	struct settings_session *sessions;
	const char *audit_path; /* absolute; NULL: <state>/audit/audit.jsonl */
	enum audit_sync audit_sync;
	enum audit_args audit_args;                  /* default redacted */
	int64_t audit_rotate_bytes, audit_rotate_ms; /* 0: not by that */
	int64_t audit_keep;                          /* segments; 0: all */
	const char *audit_syslog;                    /* a datagram socket; NULL: no copy */
	int64_t lua_memory, lua_instructions, lua_timeout_ms;
	bool lock;              /* only /etc/hcp/hcp.yaml's counts */
	bool activate_operator; /* only the owner of the root activates */
	const char *cgroup;
	const char *ca; /* a PEM file beneath the root; NULL: the system's authorities */
};

/* Finds and opens the root and reads hcp.yaml. On failure *root and *set are still safe to
 * root_close; err is HCP_E_CONFIG and formats as "<file>:<line>: <why>" or "<why>". Enforces
 * `lock: true` of /etc/hcp/hcp.yaml (unless the effective user owns /etc/hcp). */
int root_open(struct root *root, struct settings *set, const struct root_request *req,
	      struct hcp_err *err) HCP_MUST_CHECK;
/* Creates the state folder (and its parents) 0700 and opens it; it must belong to the effective
 * user and be closed to everybody else. Does nothing where it is open already. */
int root_open_state(struct root *root, struct hcp_err *err) HCP_MUST_CHECK;
/* The same for who only reads: creates nothing; root->state_fd stays -1 where there is none. */
int root_find_state(struct root *root, struct hcp_err *err) HCP_MUST_CHECK;
/* A folder beneath the state folder, "workspaces/acme/-/ledger": made 0700 part by part where
 * missing, links not followed. Every part but the last must be ours alone; the last may belong
 * to the sandbox's user. The caller closes *out. */
int root_state_dir(const struct root *root, const char *rel, int *out,
		   struct hcp_err *err) HCP_MUST_CHECK;
/* The same for who only looks: makes nothing; *out is -1 where it isn't there. */
int root_state_find(const struct root *root, const char *rel, int *out,
		    struct hcp_err *err) HCP_MUST_CHECK;
/* Lets another user pass through the folders above `rel` (0711: they can't be listed), which a
 * program of a root runtime needs below tier strong to reach its own. Does nothing for an
 * ordinary user's runtime. */
int root_state_passage(const struct root *root, const char *rel,
		       struct hcp_err *err) HCP_MUST_CHECK;
/* Opens and judges a file of the root, or of the data folder where the root has none,
 * `fallback` is true and it is of a kind that may come from there. ENOENT in errno where
 * neither has it. The caller closes *out. */
int root_open_file(const struct root *root, const char *rel, bool fallback, int *out,
		   struct hcp_err *err) HCP_MUST_CHECK;
/* The same, read; *out is malloc'ed with a NUL behind. */
int root_read(const struct root *root, const char *rel, bool fallback, size_t limit, char **out,
	      size_t *len, struct hcp_err *err) HCP_MUST_CHECK;
/* The effective user owns the root folder: what only the operator may do is his. */
bool root_is_ours(const struct root *root);
/* What an absolute path will mean once it exists: links of the part that does are resolved. */
int root_resolve(struct arena *a, const char *path, const char **out,
		 struct hcp_err *err) HCP_MUST_CHECK;
void root_close(struct root *root);

#endif
