/* SPDX-License-Identifier: MIT */
/* While the program runs: in the run's cgroup, reaping what falls to the init, until there is a
 * reason to end. It never outlives the runtime. */
#include "box/init/init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/* Before anything else of the run, so that all of it counts. "0" is whoever writes. */
void join_cgroup(struct box_init *s)
{
	long fd;

	if (!s->plan->cgroup)
		return;
	fd = need(BOX_LAYER_CGROUP, sys_open(BOX_FD_CGROUP, "cgroup.procs", O_WRONLY, 0),
		  "cgroup.procs");
	need(BOX_LAYER_CGROUP, sys3(SYS_write, fd, SYS_PTR("0"), 1), "cgroup.procs");
	sys_close(fd);
	/* opened while it may be; written when the tree has to go */
	s->kill_fd = (int)need(BOX_LAYER_CGROUP,
			       sys_open(BOX_FD_CGROUP, "cgroup.kill", O_WRONLY | O_CLOEXEC, 0),
			       "cgroup.kill");
	sys_close(BOX_FD_CGROUP);
	held(BOX_LAYER_CGROUP);
}

/* Before the program starts, like everything that can fail. */
void open_signals(struct box_init *s)
{
	uint64_t set = 1ull << (SIGCHLD - 1) | 1ull << (SIGTERM - 1);
	long fd = sys4(SYS_signalfd4, -1, SYS_PTR(&set), 8, SFD_CLOEXEC | SFD_NONBLOCK);

	s->signal_fd = (int)need(BOX_LAYER_SUPERVISE, fd, "signalfd");
}

/* 1 once the program has ended. */
static int reap(long program)
{
	struct box_report r = {.what = BOX_REPORT_ENDED};
	int status;
	long pid;

	while ((pid = sys4(SYS_wait4, -1, SYS_PTR(&status), WNOHANG | __WALL, 0)) > 0) {
		if (trace_stop(pid, status))
			continue;
		trace_forget(pid);
		if (pid != program)
			continue;
		r.status = status;
		report(&r);
		return 1;
	}
	return 0;
}

/* Until the program has ended, the host says to end it, or the host is gone. */
void supervise(const struct box_init *s, long program)
{
	struct signalfd_siginfo info;
	struct pollfd p[2] = {{.fd = BOX_FD_RUNTIME, .events = POLLIN},
			      {.fd = s->signal_fd, .events = POLLIN}};

	while (!reap(program)) {
		sys5(SYS_ppoll, SYS_PTR(p), 2, 0, 0, 0);
		if (p[0].revents)
			return;
		while (sys3(SYS_read, p[1].fd, SYS_PTR(&info), sizeof(info)) > 0)
			if (info.ssi_signo == SIGTERM)
				return;
	}
}
