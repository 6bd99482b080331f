/* SPDX-License-Identifier: MIT */
/* One run: what an envelope becomes on its way through the nine steps of §6.3. Each group of
 * fields has one writer, named above it; whoever comes later only reads. The zero value of
 * every field is the refusing one. */
#ifndef HCP_EXEC_EXEC_H
#define HCP_EXEC_EXEC_H

#include "base/str.h"
#include "runtime/runtime.h"
#include "script/script.h"
#include "secret/redact.h"

enum run_mode { RUN_MODE_REAL = 0, RUN_MODE_MOCK, RUN_MODE_BAD };

/* Exit statuses of the contract between the CLI and its caller. */
enum {
	EXIT_ADAPTER = 1,
	EXIT_TIMEOUT = 124,
	EXIT_RUNTIME = 125,
	EXIT_DENIED = 126,
	EXIT_NO_BIN = 127,
	EXIT_CANCELLED = 130
};

/* What step 7 made. */
struct binding {
	enum run_mode mode;
	struct script_secret *env; /* as many as the manifest names, in its order */
	size_t count;
	const char *id;        /* for the log; NULL: none */
	int64_t expires_at_ms; /* since 1970; 0: never, which only a mock does */
	bool revokes;          /* the hook wants to hear when the run ends */
	struct secret **lines; /* "NAME=value", each with its NUL */
};

struct run {
	/* exec_init: who asks, through what */
	hcp_runtime *rt;
	struct snapshot *snap;
	hcp_call *call;
	struct run
	    *parent; /* the composite's run that asked for this one; NULL: from outside */
	unsigned depth;
	bool alongside; /* of several that ctx.exec_all runs side by side, or below one of them
			 */
	char id[AUDIT_RUN_ID_SIZE];
	int64_t started_ns; /* CLOCK_MONOTONIC */
	int64_t
	    deadline_ns;   /* 0: none yet; step_adapter narrows it to the command's time-out */
	int64_t within_ms; /* the time that ends at deadline_ns, for the message */
	struct arena arena;
	struct redact redact; /* what must not leave: the token, later the Binding */

	struct explain *explain; /* NULL: a run; else nothing is to happen, see explain.h */

	/* envelope.c (before step 1) */
	const char *pack_id, *verb_key; /* never NULL; "" where unreadable */
	json_t *args;                   /* an object without the reserved keys; owned */
	bool confirmed; /* JSON true in confirm or apply; a nested run: its parent's */
	enum run_mode mode;
	const char *mode_given; /* RUN_MODE_BAD: what stood there; NULL: no text */

	/* step_pack (1) */
	struct pack *pack;
	bool pack_owned; /* else the parent's */

	/* step_session (2) */
	bool activated;

	/* step_policy (3) */
	const struct pack_command *command;
	const struct policy_pack
	    *granted; /* never NULL after step 3: the block or the default */
	const struct policy_overlay *overlay;

	/* step_principal (4) */
	struct principal principal;
	json_t *principal_json; /* as the provider gave it; owned; a nested run: borrowed */
	bool authenticated;

	/* step_capability (5) */
	bool permitted;

	/* step_confirm (6) */
	bool consented;   /* and args valid, argv rendered, guards passed */
	json_t *question; /* what a person must be asked; owned; NULL: nothing */
	char **argv;      /* kind wrap; argv[0] is NULL until step 8 */
	size_t argc;

	/* step_audit_begin (before 7) */
	bool begun;

	/* hidden.c, with the first record: what must not get into the log */
	struct redact hidden;
	bool hidden_noted, hide_all; /* hide_all: more or longer than can be looked for */

	/* step_mint (7) */
	bool minted;              /* a Binding is there, or none is needed */
	struct binding *binding;  /* NULL: none; may be there, to be revoked, where !minted */
	bool binding_owned;       /* else of a run above */
	const char *revoke_error; /* NULL: revoked, or nothing to revoke */

	/* step_adapter (8) and its adapters */
	struct policy_limits limits;
	struct box_outcome outcome;
	bool has_outcome;

	/* run_refuse, run_fail, run_succeed: the verdict */
	bool ok;
	int step;                            /* reached */
	int exit;                            /* EXIT_* or the child's own */
	const char *error;                   /* NULL while nothing refused; first one wins */
	size_t error_len;                    /* a program's stderr may hold NUL bytes */
	struct buf result;                   /* JSON text; kept when ok */
	bool misfit;                         /* the result isn't what `output` says */
	struct buf stdout_text, stderr_text; /* what the envelope shows beside */
};

/* A run from outside or (parent given) from a composite; zeroed otherwise. */
void exec_init(struct run *r, hcp_runtime *rt, struct snapshot *snap, hcp_call *call,
	       struct run *parent);
/* Walks the steps with what envelope.c has read. Always leaves a verdict in r; the audit step
 * runs on every outcome. */
void exec_run(struct run *r);
/* The result envelope. -1: out of memory. */
int envelope_write(const struct run *r, struct buf *out) HCP_MUST_CHECK;
void exec_free(struct run *r);

/* Refuses: always -1; the first refusal wins; exit is EXIT_DENIED unless set otherwise. */
int run_refuse(struct run *r, int exit_code, const char *fmt, ...) HCP_PRINTF(3, 4)
    __attribute__((cold));
/* The same with a text as it is, NULL meaning that memory ran out. */
int run_refuse_text(struct run *r, int exit_code, const char *text) __attribute__((cold));
/* The same with a text that may hold NUL bytes; a NUL stands behind it. */
int run_refuse_bytes(struct run *r, int exit_code, const char *text, size_t len)
    __attribute__((cold));
/* The same with prefix and raw bytes, made UTF-8 and cut at LIMIT_ERROR between characters. */
int run_refuse_raw(struct run *r, int exit_code, const char *prefix, const char *text,
		   size_t len) __attribute__((cold));
/* The same with prefix and what a script raised, whole; or err, where hcp ended the script. */
int run_refuse_script(struct run *r, int exit_code, const char *prefix,
		      const struct script_result *answer, const struct hcp_err *err)
    __attribute__((cold));
/* The same with prefix and err formatted with its place; memory running out is EXIT_RUNTIME. */
int run_refuse_err(struct run *r, int exit_code, const char *prefix, const struct hcp_err *err)
    __attribute__((cold));
/* A line for the operator's log. */
void run_log(const struct run *r, hcp_log_level level, const char *fmt, ...) HCP_PRINTF(3, 4);
int64_t run_now_ns(void);
/* Takes secrets out of result, error, stdout and stderr. */
void run_redact(struct run *r);

/* Before step 1; what is wrong is left in r for exec_run. */
void envelope_read(struct run *r, const char *text, size_t len);
/* The same for a composite's call. `args` is an object; copied. */
void envelope_nested(struct run *r, const char *pack_id, const char *verb_key,
		     const json_t *args);

/* The same for what is no envelope: nothing is reserved in `args`. */
void envelope_words(struct run *r, const char *pack_id, const char *verb_key,
		    const json_t *args);

/* The steps: 0, or -1 with a refusal in r. */
int step_pack(struct run *r);
int step_session(struct run *r);
int step_policy(struct run *r);
int step_principal(struct run *r);
int step_capability(struct run *r);
int step_confirm(struct run *r);
/* Redeems the call's consent, where it is for exactly this run. -1: it isn't; what a person
 * must be asked is in r->question, NULL only where memory ran out. */
int consent_redeem(struct run *r) HCP_MUST_CHECK;
int step_mint(struct run *r);
int step_adapter(struct run *r);
/* Notes the values of writeOnly arguments, once they are known. -1: out of memory. */
int hidden_note(struct run *r) HCP_MUST_CHECK;
/* What a nested run hides, the run above it hides, too. On that one's thread. */
void hidden_pass_up(struct run *child);
/* Whether texts of callers and programs stay out of its records altogether. */
bool hidden_whole(const struct run *r);
int step_audit_begin(struct run *r);
/* For a run that is only explained: the same decisions, and no effect. */
int plan_mint(struct run *r);
int plan_adapter(struct run *r);
void step_audit(struct run *r);

/* mint_hook.c: asks the pack's hook; what it made is r->binding. */
int mint_hook_call(struct run *r);
/* Judges the hook without calling it: it is there and compiles. */
int mint_hook_check(struct run *r);
/* Tells the hook that the run has ended, where it wants to know. Never changes the verdict. */
void mint_hook_revoke(struct run *r);
/* binding.c: a Binding of `mock` for each name. */
int binding_mock(struct run *r);
/* Takes what a hook answered, and then judges it. */
int binding_take(struct run *r, struct script_result *answer);
bool binding_is_over(const struct binding *b); /* expired */
/* Lets go of what is the run's own; values that nobody else holds are wiped. */
void binding_free(struct run *r);
/* What no text of the run may show from here on. -1: out of memory. */
int binding_hide(struct run *r, struct secret *s) HCP_MUST_CHECK;

/* A script of the operator's: policies/auth|guards|mint/<name>.lua, the root's or else the
 * installed one, with modules of its own folder; or a mint hook of the pack's, with modules of
 * the pack. */
struct operator_script {
	enum script_role role;
	const char *name; /* in_pack: the path */
	bool in_pack;
	const char *export; /* as in struct script_call */
	const json_t *request;
	const struct script_secret *env; /* of the binding to revoke */
	size_t env_count;
	const struct conf_strings *secrets; /* those that it may ask for; NULL: none */
	const struct conf_strings *hosts;   /* those that it may reach; NULL: none */
	const json_t *config;               /* `with:`; NULL: none */
	int64_t within_ms; /* its own time beside the run's; 0: the run's deadline alone */
	bool detached;     /* the run is over: neither its deadline nor its cancel counts */
	struct buf *held;  /* what it prints is kept here, for run_script_log_held */
};
/* What it prints goes to the log. -1: it could not be read, raised or overran; err says why. */
int operator_script_run(struct run *r, const struct operator_script *script,
			struct script_result *answer, struct hcp_err *err) HCP_MUST_CHECK;
/* The same without calling it. */
int operator_script_check(struct run *r, const struct operator_script *script,
			  struct hcp_err *err) HCP_MUST_CHECK;
/* Logs what was held back until it was known what to redact; empties it. */
void run_script_log_held(const struct run *r, struct buf *held);
/* The log callback of every script; `user` is the run. */
void run_script_log(void *user, int level, const char *line, size_t len);
/* A script's limits under the settings and the run's deadline. */
void run_script_limits(const struct run *r, struct script_limits *limits);

/* What a script may reach, of the run's configuration. */
struct net_grant run_net_grant(const struct run *r, const struct conf_strings *hosts);

/* Adapters, called by step_adapter. */
int wrap_run(struct run *r);
int lua_adapter_run(struct run *r);
/* What adapters are told of the command and the run, and how their result is judged. */
json_t *adapter_command_json(const struct run *r, struct hcp_err *err);
json_t *adapter_ctx_json(const struct run *r);
int adapter_check_output(struct run *r);
/* With the adapter's reason, or `otherwise` where it gave none. Always -1. */
int adapter_refuse(struct run *r, const struct buf *reason, const char *otherwise);
/* host_call.c: the host's own functions. `answer` is the caller's to free. */
int host_provider_ask(struct run *r, const struct host_function *f, const json_t *request,
		      struct script_result *answer);
int host_adapter_run(struct run *r, const struct host_function *f);
/* As far as they get without an effect; what they found is in r->explain. */
int wrap_plan(struct run *r);
int lua_adapter_plan(struct run *r);
/* What ctx.exec, ctx.try and ctx.exec_all of a script do; `user` is the run. */
void nested_host(struct run *r, struct script_host *host);
/* The same for an adapter in C. `args` is an object; copied. */
hcp_status nested_exec(struct run *r, const char *pack_id, const char *verb_key,
		       const json_t *args, hcp_result **out);
/* The child's whole environment, built from nothing. NULL: out of memory. */
char **wrap_environment(struct run *r, const struct box_view *view);
/* Turns what the program did into the verdict (§6.4 step 8). */
int wrap_result(struct run *r);

#endif
