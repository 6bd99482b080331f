/* SPDX-License-Identifier: MIT */
/* Private to face/mcp*.c: one server, and one job a request that takes time. The reader thread
 * owns the era; everything else has the lock named beside it. */
#ifndef HCP_FACE_MCP_SERVER_H
#define HCP_FACE_MCP_SERVER_H

#include "base/json.h"
#include "face/mcp.h"

#include <pthread.h>
#include <sodium.h>
#include <stdint.h>

#define MCP_LEGACY "2025-11-25"
#define MCP_MODERN "2026-07-28"

#define MCP_DEPTH   72   /* an envelope's nesting and what is around it */
#define MCP_RUNNING 16   /* jobs at work */
#define MCP_JOBS    256  /* jobs at work, waiting for their turn or for a person */
#define MCP_USED    1024 /* consents redeemed and not yet expired */

#define MCP_CONSENT_MS (5 * 60 * 1000) /* how long a question stands */

enum {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_BUSY = -32000,
	RPC_VERSION = -32022
};

struct mcp_used {
	unsigned char nonce[16];
	int64_t until_ms;
};

struct mcp {
	hcp_runtime *rt;
	const hcp_call *as;
	int in, out, stop;

	/* reader thread */
	bool legacy;      /* initialize was seen */
	bool legacy_form; /* and the client can ask a person */

	pthread_mutex_t write_lock; /* out */

	pthread_mutex_t lock; /* all below */
	pthread_cond_t change;
	struct mcp_job *jobs;
	size_t count, busy, threads;
	bool closing;
	json_t *table;  /* tool name -> [pack_id, verb_key]; of all lists, the last first */
	uint64_t asked; /* questions so far */
	unsigned char key[crypto_auth_KEYBYTES]; /* of this process alone */
	struct mcp_used used[MCP_USED];
};

enum mcp_answer { MCP_NONE = 0, MCP_DECLINED, MCP_ACCEPTED };

struct mcp_job {
	struct mcp_job *next;
	struct mcp *m;
	json_t *id, *params, *progress; /* progress: its token or NULL */
	bool list;                      /* tools/list, else tools/call */
	bool modern, can_ask;
	hcp_call *call;
	/* m->lock */
	bool started, answered, cancelled;
	uint64_t question; /* 0: waits for nobody */
	enum mcp_answer answer;
	unsigned ticks; /* of progress */
};

/* ---- mcp_write.c ---- */

/* One line; whole or not at all from the client's view. False: the client is gone. */
bool mcp_write(struct mcp *m, const struct buf *line);
/* A line that may be lost: never waits. */
void mcp_write_lossy(struct mcp *m, const struct buf *line);
/* `id` NULL: unknown. `data` NULL: none; taken. */
void mcp_error(struct mcp *m, const json_t *id, int code, const char *message, json_t *data);
/* The members of a result, without braces. */
void mcp_result(struct mcp *m, const json_t *id, bool modern, const struct buf *members);

/* ---- mcp_tools.c ---- */

/* Appends "tools":[...] and makes the table anew. NULL, or why not. */
const char *mcp_tools(struct mcp *m, hcp_call *c, struct buf *out, hcp_error *err);
/* Finds the command of a name. New references; false: there is none. */
bool mcp_find(struct mcp *m, const char *name, json_t **pack, json_t **verb);

/* ---- mcp_consent.c ---- */

/* The parameters of elicitation/create. */
void mcp_question(const json_t *question, struct buf *out);
/* What a client brings back for a question, sealed. */
void mcp_seal(struct mcp *m, const char *digest, struct buf *out);
/* The digest that was sealed, once. False: forged, expired or used before. */
bool mcp_unseal(struct mcp *m, const char *state, char digest[65]);
/* Whether a person said yes. */
enum mcp_answer mcp_answer_of(const json_t *result);
int64_t mcp_now_ms(void);

/* ---- mcp_call.c ---- */

void mcp_do_list(struct mcp_job *j);
void mcp_do_call(struct mcp_job *j);

/* ---- mcp_jobs.c ---- */

/* Takes the job. */
void mcp_start(struct mcp *m, struct mcp_job *j);
void mcp_job_free(struct mcp_job *j);
/* Waits for a person's answer to the question that `ask` writes; false: declined, expired,
 * cancelled. */
bool mcp_wait(struct mcp_job *j, const json_t *question);
void mcp_cancel(struct mcp *m, const json_t *id);
void mcp_answered(struct mcp *m, const json_t *id, enum mcp_answer answer);
bool mcp_id_in_use(struct mcp *m, const json_t *id); /* of a request without an answer so far */
/* Tells clients that asked for it that their runs go on. */
void mcp_tick(struct mcp *m);
bool mcp_has_jobs(struct mcp *m);
/* Cancels everything and waits for it. */
void mcp_end(struct mcp *m);

#endif
