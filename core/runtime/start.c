/* SPDX-License-Identifier: MIT */
/* Runs for event loops: hcp_exec on a thread of the library's own and a descriptor that tells
 * when it is over. It must never leave a thread behind that hcp_close doesn't wait for, and
 * never take a signal that is the host's. */
#include "runtime/runtime.h"

#include "base/fd.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THREAD_STACK (4U << 20) /* instrumented frames are several times as large */
#else
#define THREAD_STACK (512U << 10) /* scripts have stacks of their own */
#endif

struct hcp_run {
	hcp_runtime *rt; /* the thread's, until it has left */
	hcp_call *call;  /* `own`, or the caller's */
	hcp_call own;
	char *text;
	hcp_str envelope;
	int done_fd;
	pthread_t thread;
	hcp_status status;
	hcp_result *result;
};

static void *walk(void *arg)
{
	struct hcp_run *run = arg;
	uint64_t one = 1;

	run->status =
	    call_walk(run->rt, run->call, call_walk_envelope, &run->envelope, &run->result);
	call_leave(run->rt, run->call);
	/* an eventfd that nobody reads and one writer adds to once: it always has room */
	if (write(run->done_fd, &one, sizeof(one)) < 0)
		run->status = HCP_ENOMEM;
	return NULL;
}

static int spawn(struct hcp_run *run)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	if (pthread_attr_init(&attr) != 0)
		return -1;
	rc = pthread_attr_setstacksize(&attr, THREAD_STACK);
	sigfillset(&all);
	if (rc == 0)
		rc = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc == 0) {
		rc = pthread_create(&run->thread, &attr, walk, run);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	return rc == 0 ? 0 : -1;
}

static void drop(struct hcp_run *run)
{
	if (run->call == &run->own)
		call_done(&run->own);
	fd_close(&run->done_fd);
	free(run->text);
	free(run);
}

static struct hcp_run *prepare(hcp_runtime *rt, hcp_call *c, hcp_str envelope)
{
	struct hcp_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->rt = rt;
	run->call = c;
	run->done_fd = fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	run->text = malloc(envelope.len + 1);
	if (!c && call_init(&run->own, rt) == 0)
		run->call = &run->own;
	if (!run->call || !run->text || run->done_fd < 0) {
		drop(run);
		return NULL;
	}
	if (envelope.len)
		memcpy(run->text, envelope.data, envelope.len);
	run->text[envelope.len] = '\0';
	run->envelope = (hcp_str){run->text, envelope.len};
	return run;
}

hcp_status hcp_start(hcp_runtime *rt, hcp_call *c, hcp_str envelope, hcp_run **out)
{
	struct hcp_run *run;
	hcp_status status;

	if (out)
		*out = NULL;
	if (!rt || !out || (c && c->rt != rt) || (!envelope.data && envelope.len))
		return HCP_EINVAL;
	run = prepare(rt, c, envelope);
	if (!run)
		return HCP_ENOMEM;
	status = call_enter(rt, run->call);
	if (status == HCP_OK && spawn(run) < 0) {
		call_leave(rt, run->call);
		status = HCP_ENOMEM;
	}
	if (status != HCP_OK)
		drop(run);
	else
		*out = run;
	return status;
}

int hcp_run_fd(const hcp_run *run)
{
	return run ? run->done_fd : -1;
}

void hcp_run_cancel(hcp_run *run)
{
	if (run)
		hcp_call_cancel(run->call);
}

hcp_status hcp_run_finish(hcp_run *run, hcp_result **out)
{
	hcp_status status;

	if (out)
		*out = NULL;
	if (!run)
		return HCP_EINVAL;
	pthread_join(run->thread, NULL);
	status = run->status;
	if (out)
		*out = run->result;
	else
		hcp_result_free(run->result);
	drop(run);
	return status;
}
