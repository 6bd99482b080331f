/* SPDX-License-Identifier: MIT */
/* From a plan to a running init: the descriptors that it gets, and the ends that the host
 * keeps. In a stage's namespaces where there is one, else in new ones: the same plan and the
 * same init build the same jail. */
#include "box/hand.h"

#include "box/spawn.h"

#include "base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int make_pipe(int ends[2], struct hcp_err *err)
{
	if (pipe2(ends, O_CLOEXEC) < 0) {
		ends[0] = ends[1] = -1;
		return hcp_fail_errno(err, "sandbox: spawn unavailable: pipe");
	}
	ends[0] = fd_above_stdio(ends[0]);
	ends[1] = fd_above_stdio(ends[1]);
	/* the reading end alone: the two are separate open files */
	if (ends[0] < 0 || ends[1] < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return hcp_fail_errno(err, "sandbox: spawn unavailable: pipe");
	return 0;
}

/* A jail that hcp made belongs to whoever the program runs as; operators' folders keep their
 * owner. */
static int give_jail(const struct box_spec *spec, const struct box_plan *plan,
		     struct hcp_err *err)
{
	struct stat st;

	if (spec->jail != BOX_JAIL_FOLDER || !spec->jail_ours || geteuid() != 0)
		return 0;
	if (fstat(spec->jail_fd, &st) < 0)
		return hcp_fail_errno(err, "sandbox: workspace");
	if (st.st_uid == plan->uid && st.st_gid == plan->gid)
		return 0;
	if (fchown(spec->jail_fd, plan->uid, plan->gid) < 0)
		return hcp_fail_errno(err, "sandbox: workspace");
	return 0;
}

struct ends {
	int out[2], errout[2], report[2], trace[2];
	int plan, input, runtime, proc;
};

static void close_ends(struct ends *e)
{
	for (int i = 0; i < 2; i++) {
		fd_close(&e->out[i]);
		fd_close(&e->errout[i]);
		fd_close(&e->report[i]);
		fd_close(&e->trace[i]);
	}
	fd_close(&e->plan);
	fd_close(&e->input);
	fd_close(&e->runtime);
	fd_close(&e->proc);
}

/* A root that stands already has no /proc of the host, and ids are mapped by that. */
static int open_plan(const struct box_plan *plan, bool staged, struct ends *e,
		     struct hcp_err *err)
{
	if (staged) {
		e->proc = fd_above_stdio(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
		if (e->proc < 0)
			return hcp_fail_errno(err, "sandbox: userns unavailable: /proc");
	}
	return box_sealed_plan(plan, staged ? PLAN_STAGE_USE : PLAN_STAGE_NONE, &e->plan, err);
}

static int open_ends(const struct box_spec *spec, const struct box_plan *plan, struct ends *e,
		     struct hcp_err *err)
{
	if (spec->stdin_data &&
	    box_sealed(spec->stdin_data, spec->stdin_len, &e->input, err) < 0)
		return -1;
	e->runtime = fd_above_stdio((int)syscall(SYS_pidfd_open, getpid(), 0));
	if (e->runtime < 0)
		return hcp_fail_errno(err, "sandbox: supervise unavailable: pidfd");
	if (make_pipe(e->out, err) < 0 || make_pipe(e->errout, err) < 0)
		return -1;
	if (plan->trace && make_pipe(e->trace, err) < 0)
		return -1;
	return make_pipe(e->report, err);
}

static int spawn(struct spawn *s, const struct ends *e, struct box_given *out)
{
	s->fds[BOX_FD_PLAN] = e->plan;
	s->fds[BOX_FD_STAGE] = e->proc;
	return box_spawn(s, &out->pidfd, &out->refused.layer, &out->refused.error);
}

/* A stage that can't be entered costs time alone: nothing has run. */
static bool spawn_staged(struct box_host *h, const struct box_spec *spec, struct spawn *s,
			 struct ends *e, struct box_given *out)
{
	struct box_stage *g = box_stage_take(h, spec, s->plan);
	struct hcp_err ignored = {0};
	bool works;

	if (!g)
		return false;
	memcpy(out->stage, g->key, sizeof(out->stage));
	s->stage = g;
	works = open_plan(s->plan, true, e, &ignored) == 0 && spawn(s, e, out) == 0;
	box_stage_give_back(h, g, works);
	s->stage = NULL;
	if (!works) {
		fd_close(&e->plan);
		fd_close(&e->proc);
	}
	return works;
}

static int start(struct box_host *h, const struct box_spec *spec, struct spawn *s,
		 struct ends *e, struct box_given *out, struct hcp_err *err)
{
	out->staged = spawn_staged(h, spec, s, e, out);
	if (out->staged)
		return 0;
	if (open_plan(s->plan, false, e, err) < 0)
		return -1;
	if (spawn(s, e, out) == 0)
		return 0;
	out->refused.what = BOX_REPORT_FAILED;
	return -1;
}

static void keep_ours(struct ends *e, struct box_given *out)
{
	out->pidfd = fd_above_stdio(out->pidfd);
	out->out = fd_steal(&e->out[0]);
	out->errout = fd_steal(&e->errout[0]);
	out->report = fd_steal(&e->report[0]);
	out->trace = fd_steal(&e->trace[0]);
}

int box_hand_over(struct box_host *h, const struct box_spec *spec, const struct box_plan *plan,
		  int cgroup_fd, struct box_given *out, struct hcp_err *err)
{
	struct ends e = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, -1, -1, -1, -1};
	struct spawn s = {.plan = plan, .stacks = &h->stacks, .init_fd = h->init_fd};
	int filter, rc = -1;

	*out =
	    (struct box_given){.pidfd = -1, .out = -1, .errout = -1, .report = -1, .trace = -1};
	if (give_jail(spec, plan, err) == 0 &&
	    box_host_filter(h, plan->sockets, &filter, err) == 0 &&
	    open_ends(spec, plan, &e, err) == 0) {
		/* without an input the init opens /dev/null in this place */
		s.fds[BOX_FD_STDIN] = e.input >= 0 ? e.input : e.runtime;
		s.fds[BOX_FD_STDOUT] = e.out[1];
		s.fds[BOX_FD_STDERR] = e.errout[1];
		s.fds[BOX_FD_REPORT] = e.report[1];
		s.fds[BOX_FD_RUNTIME] = e.runtime;
		s.fds[BOX_FD_FILTER] = filter;
		s.fds[BOX_FD_CGROUP] = cgroup_fd;
		s.fds[BOX_FD_TRACE] = e.trace[1];
		rc = start(h, spec, &s, &e, out, err);
	}
	if (rc == 0)
		keep_ours(&e, out);
	close_ends(&e);
	return rc;
}
