/* SPDX-License-Identifier: MIT */
/* ctx.exec, ctx.try and ctx.exec_all: a script's call becomes a run of its own that walks all
 * nine steps, as the same principal, on the same session, under the same deadline. */
#include "exec/exec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int to_envelope(struct run *child, char **out, size_t *len, struct hcp_err *err)
{
	struct buf text = {0};

	*out = NULL;
	*len = 0;
	if (envelope_write(child, &text) < 0) {
		buf_free(&text);
		return hcp_fail_nomem(err);
	}
	*out = text.data;
	*len = text.len;
	return 0;
}

static void start(struct run *child, struct run *parent, const char *pack_id,
		  const char *verb_key, const json_t *args)
{
	exec_init(child, parent->rt, parent->snap, parent->call, parent);
	child->alongside = parent->alongside;
	envelope_nested(child, pack_id ? pack_id : parent->pack->id, verb_key, args);
}

/* One command, to its end; NULL: out of memory. */
static struct run *run_child(struct run *parent, const char *pack_id, const char *verb_key,
			     const json_t *args)
{
	struct run *child = malloc(sizeof(*child));

	if (child) {
		start(child, parent, pack_id, verb_key, args);
		exec_run(child);
	}
	return child;
}

static void drop_child(struct run *child)
{
	hidden_pass_up(child);
	exec_free(child);
	free(child);
}

static int exec_one(void *user, const char *pack_id, const char *verb_key, json_t *args,
		    char **envelope, size_t *len, struct hcp_err *err)
{
	struct run *child = run_child(user, pack_id, verb_key, args);
	int rc;

	*envelope = NULL;
	*len = 0;
	if (!child)
		return hcp_fail_nomem(err);
	rc = to_envelope(child, envelope, len, err);
	drop_child(child);
	return rc;
}

hcp_status nested_exec(struct run *r, const char *pack_id, const char *verb_key,
		       const json_t *args, hcp_result **out)
{
	struct run *child = run_child(r, pack_id, verb_key, args);

	*out = child ? result_of(child) : NULL;
	if (child)
		drop_child(child);
	return *out ? HCP_OK : HCP_ENOMEM;
}

struct batch {
	struct run *runs;
	size_t count, next;
	size_t held; /* bytes of results: all are held until the last run has ended */
};

static bool is_full(const struct batch *b)
{
	return __atomic_load_n(&b->held, __ATOMIC_RELAXED) > LIMIT_BATCH_RESULTS;
}

/* Once the script couldn't hold what there is, no further run begins. */
static void *work(void *arg)
{
	struct batch *b = arg;
	size_t i;

	while (!is_full(b) &&
	       (i = __atomic_fetch_add(&b->next, 1, __ATOMIC_RELAXED)) < b->count) {
		exec_run(&b->runs[i]);
		__atomic_fetch_add(&b->held, b->runs[i].result.len, __ATOMIC_RELAXED);
	}
	return NULL;
}

#define WORKERS 8

/* This thread works, too: a thread that can't be had makes it slower, not wrong. `alone`: the
 * threads of a batch above are all that there are, or they would multiply by its depth. */
static void run_batch(struct batch *b, bool alone)
{
	pthread_t threads[WORKERS - 1];
	size_t started = 0;

	while (!alone && started < WORKERS - 1 && started + 1 < b->count &&
	       pthread_create(&threads[started], NULL, work, b) == 0)
		started++;
	work(b);
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

static int exec_all(void *user, size_t n, const char *const *pack_ids,
		    const char *const *verb_keys, json_t *const *args, char **envelopes,
		    size_t *lens, struct hcp_err *err)
{
	struct run *parent = user;
	struct batch b = {.runs = calloc(n + 1, sizeof(*b.runs)), .count = n};
	int rc = 0;

	memset(envelopes, 0, n * sizeof(*envelopes));
	if (!b.runs)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		start(&b.runs[i], parent, pack_ids[i], verb_keys[i], args[i]);
		b.runs[i].alongside = true;
	}
	run_batch(&b, parent->alongside);
	if (is_full(&b))
		rc = hcp_fail(err, HCP_E_LIMIT, "exec_all: over %ldM of results together",
			      LIMIT_BATCH_RESULTS >> 20);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = to_envelope(&b.runs[i], &envelopes[i], &lens[i], err);
		hidden_pass_up(&b.runs[i]);
		exec_free(&b.runs[i]);
	}
	free(b.runs);
	return rc;
}

void nested_host(struct run *r, struct script_host *host)
{
	host->user = r;
	host->exec = exec_one;
	host->exec_all = exec_all;
}
