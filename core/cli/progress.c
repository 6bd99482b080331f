/* SPDX-License-Identifier: MIT */
/* --progress: a long run seen from a terminal. What a program writes is shown with nothing in
 * it that a terminal would obey, and stdout is left alone. */
#include "cli/cli.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock; /* stderr and what is below */
	pthread_cond_t over;
	pthread_t clock;
	struct timespec start;
	bool ticks, ended;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void draw(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (progress.ticks)
		fprintf(stderr, "\r\033[K%llds ",
			(long long)(now.tv_sec - progress.start.tv_sec));
}

static void erase(void)
{
	if (progress.ticks)
		fputs("\r\033[K", stderr);
}

static void *tick(void *unused)
{
	struct timespec next = progress.start;

	(void)unused;
	pthread_mutex_lock(&progress.lock);
	while (!progress.ended) {
		draw();
		next.tv_sec++;
		while (!progress.ended &&
		       pthread_cond_timedwait(&progress.over, &progress.lock, &next) == 0)
			;
	}
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

static int tell_line(void *user, hcp_str line)
{
	AUTO_BUF text = {0};

	(void)user;
	cli_add_plain(&text, line.data, line.len, false);
	pthread_mutex_lock(&progress.lock);
	erase();
	if (!text.failed && text.data)
		fprintf(stderr, "%s\n", text.data);
	draw();
	pthread_mutex_unlock(&progress.lock);
	return 0;
}

/* By the clock that nobody sets. */
static int begin_clock(void)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr) != 0)
		return -1;
	if (pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0 ||
	    pthread_cond_init(&progress.over, &attr) != 0) {
		pthread_condattr_destroy(&attr);
		return -1;
	}
	pthread_condattr_destroy(&attr);
	return pthread_create(&progress.clock, NULL, tick, NULL) == 0 ? 0 : -1;
}

int progress_begin(struct cli *c)
{
	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	progress.ticks = isatty(STDERR_FILENO);
	if (hcp_call_stream(c->call, tell_line, NULL) != HCP_OK ||
	    (progress.ticks && begin_clock() < 0))
		return cli_fail(CLI_RUNTIME, "the run's progress can't be shown");
	return 0;
}

void progress_end(void)
{
	if (!progress.ticks)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.ended = true;
	pthread_cond_signal(&progress.over);
	erase();
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.clock, NULL);
}
