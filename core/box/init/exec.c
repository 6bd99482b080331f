/* SPDX-License-Identifier: MIT */
/* The last steps of the process that becomes the program: its own session, its limits, then
 * what can't be taken back (Landlock, the filter), and the program itself. It shares the init's
 * memory until the exec, so it writes nothing but what it failed at. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static long stop(struct box_init *s, enum box_layer layer, long result)
{
	s->child_layer = layer;
	s->child_error = (int32_t)-result;
	return -1;
}

static const int resources[PLAN_RLIMIT_COUNT] = {
    [PLAN_RLIMIT_CPU] = RLIMIT_CPU,       [PLAN_RLIMIT_DATA] = RLIMIT_DATA,
    [PLAN_RLIMIT_FSIZE] = RLIMIT_FSIZE,   [PLAN_RLIMIT_NPROC] = RLIMIT_NPROC,
    [PLAN_RLIMIT_NOFILE] = RLIMIT_NOFILE, [PLAN_RLIMIT_STACK] = RLIMIT_STACK,
    [PLAN_RLIMIT_CORE] = RLIMIT_CORE,
};

/* Never above what the host's process had: it may have been limited for a reason. */
static long set_limit(int resource, uint64_t value)
{
	uint64_t old[2], now[2];
	long r = sys4(SYS_prlimit64, 0, resource, 0, SYS_PTR(old));

	if (r < 0)
		return r;
	now[0] = value < old[1] ? value : old[1];
	now[1] = now[0];
	/* SIGXCPU at the soft limit, a second later SIGKILL */
	if (resource == RLIMIT_CPU && now[0] < old[1])
		now[1] = now[0] + 1;
	return sys4(SYS_prlimit64, 0, resource, SYS_PTR(now), 0);
}

static long set_limits(struct box_init *s)
{
	long r;

	for (int i = 0; i < PLAN_RLIMIT_COUNT; i++) {
		if (s->plan->rlimit[i] == PLAN_RLIMIT_KEEP)
			continue;
		r = set_limit(resources[i], s->plan->rlimit[i]);
		if (r < 0)
			return stop(s, BOX_LAYER_LIMITS, r);
	}
	return 0;
}

static long let_trace(struct box_init *s)
{
	long r = s->plan->trace ? trace_me() : 0;

	return r < 0 ? stop(s, BOX_LAYER_TRACE, r) : 0;
}

static long confine(struct box_init *s)
{
	struct sock_fprog prog = {
	    .len = (unsigned short)(s->filter_size / sizeof(struct sock_filter)),
	    .filter = (struct sock_filter *)(uintptr_t)s->filter,
	};
	long r;

	if (s->ruleset_fd >= 0) {
		r = sys2(SYS_landlock_restrict_self, s->ruleset_fd, 0);
		if (r < 0)
			return stop(s, BOX_LAYER_LANDLOCK, r);
	}
	r = sys3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, SYS_PTR(&prog));
	return r < 0 ? stop(s, BOX_LAYER_SECCOMP, r) : 0;
}

/* What the program starts with besides its rights. */
static long start_afresh(struct box_init *s)
{
	long r = sys1(SYS_setsid, 0);

	/* an init that is killed takes its namespace along; where there is none, this one at
	 * least */
	if (r >= 0 && s->plan->tier != PLAN_TIER_STRONG)
		r = sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (r >= 0)
		r = sys3(SYS_close_range, BOX_FD_STDERR + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	return r < 0 ? stop(s, BOX_LAYER_SPAWN, r) : 0;
}

void become_program(struct box_init *s)
{
	const char *argv = s->base + s->plan->argv, *envp = s->base + s->plan->envp;
	uint64_t no_signal = 0;
	long r;

	if (start_afresh(s) < 0 || set_limits(s) < 0 || let_trace(s) < 0 || confine(s) < 0)
		return;
	r = sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, SYS_PTR(&no_signal), 0, 8);
	if (r < 0) {
		stop(s, BOX_LAYER_SPAWN, r);
		return;
	}
	if (s->plan->script)
		r = sys5(SYS_execveat, AT_FDCWD, SYS_PTR(text_at(s, s->plan->bin)),
			 SYS_PTR(argv), SYS_PTR(envp), 0);
	else
		r = sys5(SYS_execveat, s->bin_fd, SYS_PTR(""), SYS_PTR(argv), SYS_PTR(envp),
			 AT_EMPTY_PATH);
	stop(s, BOX_LAYER_EXEC, r);
}
