/* SPDX-License-Identifier: MIT */
/* Restricted Lua: every call gets a fresh state, built from an allow-list, with memory,
 * instruction, time and output limits, on a C stack of hcp's own. A script is a pure function
 * over plain data plus the host calls that its role grants. Values cross as JSON. */
#ifndef HCP_SCRIPT_SCRIPT_H
#define HCP_SCRIPT_SCRIPT_H

#include "base/str.h"

#include <jansson.h>

struct net_grant;
struct secret;

/* A secret under a name, as a Binding holds them. */
struct script_secret {
	const char *name;
	struct secret *value;
};

enum script_role {
	SCRIPT_NONE = 0, /* refused */
	SCRIPT_VERB,     /* (args, ctx) -> result */
	SCRIPT_ADAPTER,  /* { check = f(command) -> true | false, reason,
			      run = f(args, ctx, command) -> result } */
	SCRIPT_AUTH,     /* (request, host) -> principal | nil, reason */
	SCRIPT_GUARD,    /* (request) -> true | false, reason */
	SCRIPT_MINT      /* (request, host) -> binding | nil, reason; or { mint = that,
			    revoke = f(binding, host) -> nothing | true | false, reason } */
};

struct script_limits {
	int64_t memory, instructions;
	int64_t script_ms;   /* script time: stops while a host call runs */
	int64_t deadline_ns; /* CLOCK_MONOTONIC, absolute, the run's; 0: none */
	int64_t deadline_ms; /* the time that ends then, for the message */
	size_t result, log;  /* bytes */
	unsigned host_calls;
	const int *cancelled; /* read with atomics; NULL: never */
};
void script_limits_default(struct script_limits *l);

/* What the runtime does for a script. Each may be NULL: then the function isn't there. */
struct script_host {
	void *user;
	/* One line of print or hcp.log, redacted and bounded by the callee. level: 0 debug .. 3
	 * error */
	void (*log)(void *user, int level, const char *line, size_t len);
	/* ctx.exec / ctx.try: a whole run through all nine steps. `pack_id` NULL: the script's
	 * own pack. args is borrowed. *envelope is the result envelope text, malloc'ed, with a
	 * NUL behind it. -1: the call couldn't be made at all (err). */
	int (*exec)(void *user, const char *pack_id, const char *verb_key, json_t *args,
		    char **envelope, size_t *len, struct hcp_err *err);
	/* ctx.exec_all: n runs side by side; envelopes in order, NULL where -1 is given before
	 * one was made. */
	int (*exec_all)(void *user, size_t n, const char *const *pack_ids,
			const char *const *verb_keys, json_t *const *args, char **envelopes,
			size_t *lens, struct hcp_err *err);
	/* require "lib.dates" -> "lib/dates.lua"; adapters' ctx.script(path), too. Borrowed
	 * text that outlives the call; NULL: there is none, or err says why it can't be had. */
	const char *(*load)(void *user, const char *path, size_t *len, struct hcp_err *err);
	/* host.secret: one that the operator listed for this script. The script's hold is
	 * dropped when the call ends. */
	int (*secret)(void *user, const char *name, struct secret **out, struct hcp_err *err);
	/* What host.http and ctx.http may reach; NULL: nothing. */
	const struct net_grant *net;
};

/* Stacks kept between calls; a runtime has one. Any thread. Freed after the last call. */
struct script_pool;
struct script_pool *script_pool_new(void); /* NULL: out of memory */
void script_pool_free(struct script_pool *pool);

struct script_call {
	enum script_role role;
	struct script_pool *pool; /* NULL: a stack of this call alone, which is slower */
	const char *name;         /* for messages: "verbs/month.lua" */
	const char *owner;        /* for messages: "pack ledger", "provider os_user" */
	const char *source;       /* text; bytecode is refused */
	size_t source_len;
	struct script_limits limits;
	struct script_host host;
	const char *export;    /* SCRIPT_ADAPTER: "check" or "run"; SCRIPT_MINT: "mint" or
				  "revoke"; NULL for the others */
	const json_t *args[3]; /* role's plain-data arguments: VERB args; ADAPTER args, command;
				  AUTH, GUARD, MINT request, or the binding to revoke */
	/* VERB, ADAPTER: ctx.binding.env, where ctx has a binding; MINT: the env of the
	 * binding to revoke. Handles in the script; borrowed. */
	const struct script_secret *env;
	size_t env_count;
	const json_t *config; /* AUTH, MINT: host.config, what the operator says to the
				 script; NULL: nothing */
	const json_t *ctx; /* VERB, ADAPTER: pack_id, verb_key, principal, session, confirmed,
			      mode, deadline: plain data; functions are added */
};
enum script_answer {
	SCRIPT_ANSWER_NONE = 0, /* error: err holds it */
	SCRIPT_ANSWER_VALUE,    /* `result` is the JSON text */
	SCRIPT_ANSWER_REFUSED,  /* AUTH nil, GUARD false, MINT nil or false: `reason` */
	SCRIPT_ANSWER_TRUE      /* GUARD true; ADAPTER check passed; MINT revoked */
};
struct script_result {
	enum script_answer answer;
	struct buf result; /* compact JSON */
	struct buf reason; /* AUTH, GUARD, ADAPTER check, MINT: why not; may be empty */
	/* MINT: the binding's env, which isn't in `result`; names malloc'ed, values held. */
	struct script_secret *env;
	size_t env_count;
	bool revokes; /* MINT: there is a `revoke` to call */
	/* SCRIPT_ANSWER_NONE: what the script raised, whole; err.text cuts it. Empty where hcp
	 * ended the script. own_message: it was raised by hcp.fail or is the error of a command
	 * that ctx.exec ran, so it goes to the invoker as it is, without "script: ". */
	struct buf error;
	bool own_message;
};
/* err.text: `script: verbs/month.lua:12: …` (HCP_E_INVALID), `script: time limit of 5s exceeded
 * at verbs/month.lua:7` (HCP_E_TIMEOUT; HCP_E_LIMIT, HCP_E_CANCELLED), or exactly an own
 * message. Never aborts; safe from any thread and stack size. `out` is the caller's to free,
 * also after -1. */
int script_run(const struct script_call *call, struct script_result *out,
	       struct hcp_err *err) HCP_MUST_CHECK;
void script_result_free(struct script_result *r);
/* The release of the Lua that is linked, "5.4.4". */
void script_lua_release(char out[16]);
/* Compiles without running, for lint. */
int script_check(enum script_role role, const char *name, const char *source, size_t len,
		 struct hcp_err *err) HCP_MUST_CHECK;

#endif
