/* SPDX-License-Identifier: MIT */
/* Jobs side by side, a bounded number of them. A job that waits for a person holds no place
 * among those at work. At the end everything is cancelled and has ended. */
#include "face/mcp_server.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void mcp_job_free(struct mcp_job *j)
{
	if (!j)
		return;
	hcp_call_free(j->call);
	json_decref(j->id);
	json_decref(j->params);
	free(j);
}

static struct mcp_job *next_job(struct mcp *m)
{
	struct mcp_job *j = m->jobs;

	while (j && j->started)
		j = j->next;
	return j;
}

static void forget(struct mcp *m, struct mcp_job *j)
{
	struct mcp_job **link = &m->jobs;

	while (*link != j)
		link = &(*link)->next;
	*link = j->next;
	m->count--;
}

/* Until there is nothing to do. A job's last use of its memory is here. */
static void *work(void *arg)
{
	struct mcp *m = arg;
	struct mcp_job *j;

	pthread_mutex_lock(&m->lock);
	while (m->busy <= MCP_RUNNING && (j = next_job(m))) {
		j->started = true;
		pthread_mutex_unlock(&m->lock);
		if (j->list)
			mcp_do_list(j);
		else
			mcp_do_call(j);
		pthread_mutex_lock(&m->lock);
		forget(m, j);
		mcp_job_free(j);
	}
	m->busy--;
	m->threads--;
	pthread_cond_broadcast(&m->change);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* With the lock. False: a thread can't be had, and none is there. */
static bool more_workers(struct mcp *m)
{
	pthread_t thread;

	if (m->busy >= MCP_RUNNING || !next_job(m))
		return true;
	if (pthread_create(&thread, NULL, work, m) != 0)
		return m->busy > 0;
	pthread_detach(thread);
	m->busy++;
	m->threads++;
	return true;
}

void mcp_start(struct mcp *m, struct mcp_job *j)
{
	struct mcp_job **last = &m->jobs;
	bool full;

	pthread_mutex_lock(&m->lock);
	full = m->count >= MCP_JOBS;
	if (!full) {
		while (*last)
			last = &(*last)->next;
		*last = j;
		m->count++;
		if (!more_workers(m)) {
			forget(m, j);
			full = true;
		}
	}
	pthread_mutex_unlock(&m->lock);
	if (full) {
		mcp_error(m, j->id, RPC_BUSY, "too many requests at once: try again later",
			  NULL);
		mcp_job_free(j);
	}
}

static bool write_question(struct mcp_job *j, const json_t *question)
{
	AUTO_BUF out = {0};

	buf_printf(
	    &out,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"consent-%llu\",\"method\":\"elicitation/create\","
	    "\"params\":",
	    (unsigned long long)j->question);
	mcp_question(question, &out);
	buf_puts(&out, "}\n");
	return mcp_write(j->m, &out);
}

bool mcp_wait(struct mcp_job *j, const json_t *question)
{
	struct mcp *m = j->m;
	struct timespec until;
	bool yes;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += MCP_CONSENT_MS / 1000;
	pthread_mutex_lock(&m->lock);
	j->question = ++m->asked;
	m->busy--;
	more_workers(m);
	pthread_mutex_unlock(&m->lock);
	yes = write_question(j, question);
	pthread_mutex_lock(&m->lock);
	while (yes && j->answer == MCP_NONE && !j->cancelled && !m->closing)
		if (pthread_cond_clockwait(&m->change, &m->lock, CLOCK_MONOTONIC, &until) != 0)
			break;
	yes = yes && j->answer == MCP_ACCEPTED && !j->cancelled && !m->closing;
	j->question = 0;
	m->busy++;
	pthread_mutex_unlock(&m->lock);
	return yes;
}

void mcp_answered(struct mcp *m, const json_t *id, enum mcp_answer answer)
{
	char want[40];

	pthread_mutex_lock(&m->lock);
	for (struct mcp_job *j = m->jobs; j; j = j->next) {
		snprintf(want, sizeof(want), "consent-%llu", (unsigned long long)j->question);
		if (j->question && j->answer == MCP_NONE && json_is_string(id) &&
		    strcmp(json_string_value(id), want) == 0)
			j->answer = answer;
	}
	pthread_cond_broadcast(&m->change);
	pthread_mutex_unlock(&m->lock);
}

void mcp_cancel(struct mcp *m, const json_t *id)
{
	pthread_mutex_lock(&m->lock);
	for (struct mcp_job *j = m->jobs; j; j = j->next)
		if (!j->list && json_equal(j->id, id)) {
			j->cancelled = true;
			hcp_call_cancel(j->call);
		}
	pthread_cond_broadcast(&m->change);
	pthread_mutex_unlock(&m->lock);
}

bool mcp_id_in_use(struct mcp *m, const json_t *id)
{
	bool used = false;

	pthread_mutex_lock(&m->lock);
	for (const struct mcp_job *j = m->jobs; j; j = j->next)
		used |= !j->answered && json_equal(j->id, id);
	pthread_mutex_unlock(&m->lock);
	return used;
}

static void tell(struct mcp *m, struct mcp_job *j)
{
	AUTO_BUF out = {0};

	buf_puts(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		       "\"progressToken\":");
	json_add_value(&out, j->progress);
	j->ticks++;
	buf_printf(&out, ",\"progress\":%u,\"message\":\"running for %u s\"}}\n", j->ticks,
		   j->ticks);
	mcp_write_lossy(m, &out);
}

/* Under the lock: a job that has been answered is no longer told about. */
void mcp_tick(struct mcp *m)
{
	pthread_mutex_lock(&m->lock);
	for (struct mcp_job *j = m->jobs; j; j = j->next)
		if (j->progress && j->started && !j->answered && !j->cancelled)
			tell(m, j);
	pthread_mutex_unlock(&m->lock);
}

bool mcp_has_jobs(struct mcp *m)
{
	bool any;

	pthread_mutex_lock(&m->lock);
	any = m->count > 0;
	pthread_mutex_unlock(&m->lock);
	return any;
}

void mcp_end(struct mcp *m)
{
	struct mcp_job *j, *next;

	pthread_mutex_lock(&m->lock);
	m->closing = true;
	for (j = m->jobs; j; j = next) {
		next = j->next;
		hcp_call_cancel(j->call);
		if (!j->started) {
			forget(m, j);
			mcp_job_free(j);
		}
	}
	pthread_cond_broadcast(&m->change);
	while (m->threads > 0)
		pthread_cond_wait(&m->change, &m->lock);
	pthread_mutex_unlock(&m->lock);
}
