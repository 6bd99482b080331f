/* SPDX-License-Identifier: MIT */
/* The sandbox: plan before act. box_plan_build turns what the manifest asks and the operator
 * allows into data, purely; box_run is the only place that acts on it. The plan can be printed,
 * compared and tested without root. Nothing here falls back: a layer that can't be had fails
 * the run by name. */
#ifndef HCP_BOX_BOX_H
#define HCP_BOX_BOX_H

#include "base/arena.h"
#include "base/conf.h"
#include "policy/policy.h"

#include <jansson.h>

/* The program, found, opened and checked before anything else happens (regular, executable, not
 * writable by others, right digest). */
struct box_bin {
	int fd;             /* O_PATH|O_CLOEXEC on the checked file */
	const char *host;   /* its real path on the host */
	const char *inside; /* its path in the sandbox: "/pack/bin/x" or the host path */
	dev_t dev;
	ino_t ino;
	bool script; /* "#!": executed by its path inside */
};
/* `spelling` is the manifest's; allow-listing (sandbox: bin "<bin>" not allowlisted) is decided
 * first, against pp->bins, by spelling alone. Bare names are looked up in BOX_PATH; "./x" is
 * opened beneath the pack folder and must stay inside it after links. *exit_code is what the
 * envelope's exit is on failure: 127 (not allow-listed, missing: error text "exit 127") or 126
 * (not executable: "exit 126"); 1 where it can't be told. */
int box_bin_open(const char *spelling, const struct policy_pack *pp, int pack_fd,
		 const char *pack_path, struct arena *a, struct box_bin *out, int *exit_code,
		 struct hcp_err *err) HCP_MUST_CHECK;
void box_bin_close(struct box_bin *bin);
#define BOX_PATH "/usr/local/bin:/usr/bin:/bin"

enum box_jail { BOX_JAIL_NONE = 0, BOX_JAIL_TMPFS, BOX_JAIL_FOLDER };

struct box_file { /* becomes $HCP_FILES/<name>, 0400 */
	const char *name, *data;
	size_t len;
};

/* What is asked for; everything borrowed until box_run returned. */
struct box_spec {
	const struct policy_sandbox *sandbox;
	struct policy_limits limits; /* the effective ones */
	struct conf_strings exec;    /* `exec:` list; */
	bool exec_given;
	const struct box_bin *bin;
	char *const *argv; /* argv[0] set */
	char *const *envp; /* complete: the executor adds and removes nothing */
	int pack_fd;
	const char *pack_path;
	enum box_jail jail;
	int jail_fd;           /* BOX_JAIL_FOLDER; -1 otherwise */
	const char *jail_path; /* its host path */
	bool jail_write;       /* an operator's folder may be read-only */
	bool jail_ours; /* made by hcp: belongs to the sandbox user when the runtime is root */
	bool cwd_jail;  /* else the pack */
	const struct box_file *files;
	size_t file_count;
	const char *stdin_data; /* NULL: /dev/null */
	size_t stdin_len;
	uid_t user;         /* what the child runs as when the runtime is root; never 0 */
	const char *tenant; /* runs of different ones share nothing; NULL: of nobody's */
	/* The operator's cgroup v2 folder, in which the run gets one of its own, called by
	 * run_id: limits then hold for all of it. NULL: they hold for each process. */
	const char *cgroup, *run_id;
	bool trace; /* refused calls are told to box_io's trace; slower, nothing else differs */
	/* Below tier strong: what takes the place of private mounts; box_scratch fills it in.
	 */
	const char *scratch_tmp, *scratch_files, *scratch_jail;
	/* The plan is to be looked at: the jail may not be there yet (jail_fd -1), and what
	 * comes of it can't be run. */
	bool only_shown;
};

struct box_plan; /* a relocatable blob: what init reads */
/* Pure. */
int box_plan_build(const struct box_spec *spec, struct arena *a, struct box_plan **out,
		   struct hcp_err *err) HCP_MUST_CHECK;
/* A plan holds values of the environment and of files: its owner wipes it. NULL: nothing. */
void box_plan_wipe(struct box_plan *plan);
/* The plan as data: tier, layers, user, network, mounts, limits, what may be executed. No value
 * of the environment and no content of a file is in it. A new reference; NULL: out of memory.
 */
json_t *box_plan_json(const struct box_plan *plan);
/* Where the child sees things: "/pack", "/workspace", "/files" in a mount namespace, host paths
 * otherwise. */
struct box_view {
	const char *pack, *workspace, *files, *tmp;
};
void box_view(const struct box_spec *spec, struct box_view *out);
bool box_needs_scratch(const struct box_spec *spec); /* below tier strong */
/* Below tier strong (otherwise it does nothing): makes the run's own tmp, files and jail in a
 * 0700 folder that the caller made for this run, and sweeps afterwards, links not followed.
 * `path` is the folder's host path. Call it before box_view and box_plan_build, once files,
 * jail and user are set. */
int box_scratch(struct box_spec *spec, int dirfd, const char *path, struct arena *a,
		struct hcp_err *err) HCP_MUST_CHECK;
/* Only names them: for a plan that is shown. Pure. */
int box_scratch_names(struct box_spec *spec, const char *path, struct arena *a,
		      struct hcp_err *err) HCP_MUST_CHECK;

/* What a runtime keeps for its runs: the init program's descriptor, checked at open, the
 * filters, and stages. Any thread. */
struct box_host;
int box_host_open(const char *init_path, struct box_host **out,
		  struct hcp_err *err) HCP_MUST_CHECK;
void box_host_close(struct box_host *h);
/* Lets go of all stages, which hold the mounts that they show. */
void box_host_forget(struct box_host *h);

typedef int box_stream_fn(void *user, int which, const char *data,
			  size_t len); /* 1 stdout, 2 stderr */

/* One refused call, a line without its newline and without control characters. */
typedef void box_trace_fn(void *user, const char *line, size_t len);

struct box_io {
	int cancel_fd;         /* readable: cancel; -1: none */
	int64_t deadline_ns;   /* CLOCK_MONOTONIC; 0: none but the limit */
	box_stream_fn *stream; /* may be NULL */
	void *user;
	box_trace_fn *trace; /* where the spec says so */
	void *trace_user;
};
enum box_end {
	BOX_FAILED = 0, /* set-up failed: err says which layer */
	BOX_EXITED,
	BOX_SIGNALED,
	BOX_TIMEOUT,
	BOX_OUTPUT, /* the cap */
	BOX_CANCELLED
};
struct box_outcome {
	enum box_end end;
	int code;           /* exit code or signal */
	char *out, *errout; /* malloc'ed, NUL behind, at most limits.output each */
	size_t out_len, errout_len;
	int64_t duration_us;
	char layers[160]; /* "userns,mntns,pidns,netns,ipcns,utsns,landlock7,seccomp" for the
			     audit record */
	char tier[16];    /* "strong", "light", "native-local" */
	/* BOX_FAILED: the first layer that could not be had (enum box_layer, 0: none of them)
	 * and the errno; `layers` are those that could before. */
	uint32_t refused;
	int refused_error;
	const char
	    *limits_held; /* by what memory and processor time were: "cgroup", "process" */
};
/* Runs the plan to its end: when this returns no process of it is left. Returns -1 (BOX_FAILED)
 * when nothing was executed: err is the envelope's text ("sandbox: <layer> unavailable: <why>",
 * "invalid args: too long", "exit 126"). Blocks no signals of the host beyond the spawn,
 * changes no state of it, thread-safe. */
int box_run(struct box_host *h, const struct box_spec *spec, const struct box_plan *plan,
	    const struct box_io *io, struct box_outcome *out,
	    struct hcp_err *err) HCP_MUST_CHECK;
void box_outcome_free(struct box_outcome *o);

#endif
