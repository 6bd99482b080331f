/* SPDX-License-Identifier: MIT */
/* A run that is only explained. It is a `struct run` with `explain` set: it walks the steps of
 * exec.c, so what decides here is what decides a run. `begun` is never set, which keeps every
 * effect refused. */
#ifndef HCP_EXEC_EXPLAIN_H
#define HCP_EXEC_EXPLAIN_H

#include "exec/exec.h"

struct explain {
	/* the caller */
	const char *as;   /* the principal: an id or JSON; NULL: the provider is asked */
	bool any_session; /* every pack counts as activated */
	int last;         /* the last step that is asked about; 0: all */
	/* explain.c, while the run walks; owned */
	json_t *because[10]; /* by step: what decided, [{file, line, text}] */
	json_t *argv, *env, *sandbox;
	int step;
	bool failed; /* memory ran out */
};

/* Walks the steps with what envelope.c has read; the verdict is in r as after exec_run. */
void exec_explain(struct run *r, struct explain *e);
/* What there is to say. A new reference; NULL: out of memory. */
json_t *explain_json(const struct run *r);
void explain_free(struct explain *e);

/* The end of a step, once its verdict is known. */
void explain_step(struct run *r);
/* What wrap_plan found; 0, or -1 with a refusal. */
int explain_plan(struct run *r, const struct box_spec *spec, const struct box_plan *plan);

#endif
