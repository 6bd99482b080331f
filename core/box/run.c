/* SPDX-License-Identifier: MIT */
/* One run on the host's side: hand the plan over, take what the program prints, notice its end
 * or bring it about. The end of the init is the end of everything in its process namespace, so
 * this waits for that one descriptor and then takes what is left in the pipes; it never waits
 * for a pipe to close, which a process elsewhere could hold open. */
#include "box/cause.h"
#include "box/cgroup.h"
#include "box/hand.h"
#include "box/host.h"
#include "box/plan.h"
#include "box/spawn.h"
#include "box/trace.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_GRACE_NS  2000000000ll  /* below tier strong: for the init to kill the tree */
#define DEATH_LIMIT_NS 30000000000ll /* for the kernel to take a killed tree down */

struct stream {
	int fd, which;
	char *data;
	size_t len, cap, limit;
};
struct live {
	const struct box_plan *plan;
	const struct box_io *io;
	struct box_outcome *out;
	struct stream std[2];
	int pidfd, report_fd;
	struct box_given given;
	struct cgroup cgroup;
	struct trace trace;
	int64_t start_ns, deadline_ns, kill_ns;
	int64_t cpu_ns;   /* when the cgroup's processor time is looked at again; 0: never */
	enum box_end why; /* BOX_FAILED: nobody has cut the run short */
	bool broken;      /* memory ran out */
	bool unready;     /* in a stage, something was refused before the program began */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int fail_layer(struct live *l, const struct box_report *r, struct hcp_err *err);

static int hand_over(struct live *l, struct box_host *h, const struct box_spec *spec,
		     struct hcp_err *err)
{
	struct box_given *g = &l->given;

	if (box_hand_over(h, spec, l->plan, l->cgroup.fd, g, err) < 0)
		return g->refused.what == BOX_REPORT_FAILED ? fail_layer(l, &g->refused, err)
							    : -1;
	l->pidfd = g->pidfd;
	l->std[0].fd = g->out;
	l->std[1].fd = g->errout;
	l->report_fd = g->report;
	l->trace.fd = g->trace;
	return 0;
}

/* ---- while it runs */

static bool cut_short(const struct live *l)
{
	return l->why != BOX_FAILED;
}

static void send_signal(const struct live *l, int sig)
{
	/* ESRCH: it is gone already, which the poll will tell */
	syscall(SYS_pidfd_send_signal, l->pidfd, sig, NULL, 0);
}

/* Below tier strong the init has to take the tree down itself. */
static void end_run(struct live *l, enum box_end why)
{
	if (cut_short(l))
		return;
	l->why = why;
	l->kill_ns = now_ns();
	send_signal(l, l->plan->tier == PLAN_TIER_STRONG ? SIGKILL : SIGTERM);
}

static int grow(struct stream *s)
{
	size_t cap = s->cap ? s->cap * 2 : 8192;
	char *data;

	if (cap > s->limit + 1)
		cap = s->limit + 1;
	data = realloc(s->data, cap + 1);
	if (!data)
		return -1;
	s->data = data;
	s->cap = cap;
	return 0;
}

/* One byte more than the limit is asked for, so that "exactly the limit" differs from "more".
 */
static bool take_some(struct live *l, struct stream *s)
{
	ssize_t n;

	if (s->fd < 0 || s->len > s->limit)
		return false;
	if (s->len == s->cap && grow(s) < 0) {
		l->broken = true;
		end_run(l, BOX_CANCELLED);
		return false;
	}
	n = read(s->fd, s->data + s->len, s->cap - s->len);
	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		fd_close(&s->fd);
		return false;
	}
	if (l->io->stream && l->io->stream(l->io->user, s->which, s->data + s->len, (size_t)n))
		end_run(l, BOX_CANCELLED);
	s->len += (size_t)n;
	if (s->len > s->limit) {
		end_run(l, BOX_OUTPUT);
		return false;
	}
	return true;
}

static void drain(struct live *l)
{
	for (int i = 0; i < 2; i++)
		while (take_some(l, &l->std[i]))
			;
}

static void wait_some(struct live *l, struct pollfd p[5])
{
	int64_t until = l->deadline_ns, left;
	struct timespec t;

	if (cut_short(l))
		until = l->kill_ns +
			(l->plan->tier == PLAN_TIER_STRONG ? DEATH_LIMIT_NS : KILL_GRACE_NS);
	else if (l->cpu_ns && l->cpu_ns < until)
		until = l->cpu_ns;
	left = until - now_ns();
	if (left < 0)
		left = 0;
	t.tv_sec = (time_t)(left / 1000000000);
	t.tv_nsec = (long)(left % 1000000000);
	for (int i = 0; i < 2; i++)
		p[i] =
		    (struct pollfd){.fd = l->std[i].len > l->std[i].limit ? -1 : l->std[i].fd,
				    .events = POLLIN};
	p[2] = (struct pollfd){.fd = l->pidfd, .events = POLLIN};
	p[3] = (struct pollfd){.fd = cut_short(l) ? -1 : l->io->cancel_fd, .events = POLLIN};
	p[4] = (struct pollfd){.fd = l->trace.fd, .events = POLLIN};
	if (ppoll(p, 5, &t, NULL) < 0)
		for (int i = 0; i < 5; i++)
			p[i].revents = 0;
}

/* The kernel has no limit on the processor time of a cgroup, so that is looked at here. */
static void check_cpu(struct live *l)
{
	int64_t now = now_ns(), left;

	if (!l->cpu_ns || now < l->cpu_ns)
		return;
	left = cgroup_cpu_left_ns(&l->cgroup);
	l->cpu_ns = now + left;
	if (left == 0)
		end_run(l, BOX_SIGNALED);
}

/* 0 once nothing of the run is left. */
static int follow(struct live *l, struct hcp_err *err)
{
	struct pollfd p[5];

	for (;;) {
		wait_some(l, p);
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				take_some(l, &l->std[i]);
		if (p[4].revents)
			trace_take(&l->trace);
		if (p[2].revents)
			return 0;
		if (p[3].revents)
			end_run(l, BOX_CANCELLED);
		if (!cut_short(l) && now_ns() >= l->deadline_ns)
			end_run(l, BOX_TIMEOUT);
		check_cpu(l);
		if (cut_short(l) && now_ns() - l->kill_ns >= KILL_GRACE_NS)
			send_signal(l, SIGKILL);
		if (cut_short(l) && now_ns() - l->kill_ns >= DEATH_LIMIT_NS)
			return hcp_fail(err, HCP_E_SYS,
					"sandbox: supervise unavailable: a killed process does "
					"not end");
	}
}

/* ---- afterwards */

static void name_layers(const struct box_report *r, struct box_outcome *out)
{
	size_t used = 0;

	for (uint32_t i = 0; i < BOX_LAYER_COUNT; i++) {
		char number[12] = "";

		if (!(r->layers & 1u << i) || used >= sizeof(out->layers))
			continue;
		if (i == BOX_LAYER_LANDLOCK)
			snprintf(number, sizeof(number), "%u", r->landlock);
		used += (size_t)snprintf(out->layers + used, sizeof(out->layers) - used,
					 "%s%s%s", used ? "," : "", box_layer_name(i), number);
	}
}

/* Where it was about the program; 0 where it was the sandbox. */
static int fail_program(const struct box_report *r, struct hcp_err *err)
{
	int error = r->error;

	if (r->layer == BOX_LAYER_EXEC && error == E2BIG)
		return hcp_fail(err, HCP_E_INVALID, "invalid args: too long");
	if (r->layer == BOX_LAYER_EXEC && error != ENOMEM && error != EAGAIN &&
	    error != EMFILE && error != ENFILE && error != EIO)
		return hcp_fail(err, HCP_E_SYS, "exit 126");
	if (r->layer == BOX_LAYER_BIN && error == ENOENT)
		return hcp_fail(err, HCP_E_CONFIG,
				"sandbox: bin unavailable: %s is in no folder that the sandbox "
				"shows",
				r->detail);
	if (r->layer == BOX_LAYER_BIN && error == EACCES)
		return hcp_fail(err, HCP_E_CONFIG,
				"sandbox: bin unavailable: %s is closed to the user that the "
				"program runs as: chmod o+x it",
				r->detail);
	if (error == ESTALE)
		return hcp_fail(err, HCP_E_SYS,
				"sandbox: %s unavailable: %s was replaced while the run began",
				box_layer_name(r->layer), r->detail);
	return 0;
}

static int fail_layer(struct live *l, const struct box_report *r, struct hcp_err *err)
{
	const char *text = strerrordesc_np(r->error), *layer = box_layer_name(r->layer);
	struct box_facts facts;
	struct box_cause cause;

	name_layers(r, l->out);
	l->out->refused = r->layer;
	l->out->refused_error = r->error;
	if (fail_program(r, err) < 0)
		return -1;
	box_facts_read(&facts);
	box_cause_find(&facts, r->layer, r->error, &cause);
	return hcp_fail(err, HCP_E_SYS, "sandbox: %s unavailable: %s%s%s%s%s%s", layer,
			r->detail, *r->detail ? ": " : "", text ? text : "unknown error",
			cause.known ? " (" : "", cause.known ? cause.why : "",
			cause.known ? ")" : "");
}

static void take_status(int status, struct box_outcome *out)
{
	if (WIFEXITED(status)) {
		out->end = BOX_EXITED;
		out->code = WEXITSTATUS(status);
	} else {
		out->end = BOX_SIGNALED;
		out->code = WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
	}
}

/* The init's reports, read once it is gone. A run that was cut short ended so, unless the
 * program had been quicker. */
static int judge(struct live *l, struct hcp_err *err)
{
	struct box_report r;
	bool started = false, ended = false;

	while (read(l->report_fd, &r, sizeof(r)) == (ssize_t)sizeof(r)) {
		r.detail[sizeof(r.detail) - 1] = '\0';
		if (r.what == BOX_REPORT_FAILED) {
			l->unready = l->given.staged && r.layer < BOX_LAYER_BIN;
			return fail_layer(l, &r, err);
		}
		if (r.what == BOX_REPORT_ENDED) {
			take_status(r.status, l->out);
			ended = true;
		} else if (r.what == BOX_REPORT_STARTED) {
			name_layers(&r, l->out);
			started = true;
		}
	}
	if (cut_short(l) && (!ended || l->why == BOX_OUTPUT)) {
		l->out->end = l->why;
		l->out->code = l->why == BOX_SIGNALED ? SIGXCPU : 0;
		return 0;
	}
	if (ended)
		return 0;
	if (!started)
		return hcp_fail(err, HCP_E_SYS, "sandbox: init unavailable: it ended early");
	/* somebody killed the init, and the kernel everything else: out of memory, say */
	l->out->end = BOX_SIGNALED;
	l->out->code = SIGKILL;
	return 0;
}

static int give_output(struct live *l, struct hcp_err *err)
{
	for (int i = 0; i < 2; i++) {
		struct stream *s = &l->std[i];

		if (!s->data && grow(s) < 0)
			return hcp_fail_nomem(err);
		if (s->len > s->limit)
			s->len = s->limit;
		s->data[s->len] = '\0';
	}
	l->out->out = l->std[0].data;
	l->out->out_len = l->std[0].len;
	l->out->errout = l->std[1].data;
	l->out->errout_len = l->std[1].len;
	l->std[0].data = l->std[1].data = NULL;
	return 0;
}

static void live_free(struct live *l)
{
	siginfo_t info;

	/* Only where the host is the one to whom orphans fall: a container's pid 1, say. */
	if (l->pidfd >= 0)
		waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED | WNOHANG | __WALL);
	for (int i = 0; i < 2; i++) {
		fd_close(&l->std[i].fd);
		free(l->std[i].data);
	}
	fd_close(&l->pidfd);
	fd_close(&l->report_fd);
	fd_close(&l->trace.fd);
}

static void live_init(struct live *l, const struct box_spec *spec)
{
	l->start_ns = now_ns();
	l->deadline_ns = l->start_ns + spec->limits.timeout_ms * 1000000;
	if (l->io->deadline_ns && l->io->deadline_ns < l->deadline_ns)
		l->deadline_ns = l->io->deadline_ns;
	for (int i = 0; i < 2; i++)
		l->std[i] = (struct stream){
		    .fd = -1, .which = i + 1, .limit = (size_t)spec->limits.output};
	snprintf(l->out->tier, sizeof(l->out->tier), "%s", plan_tier_name(l->plan->tier));
	l->out->limits_held = plan_limits_held(l->plan);
}

/* The init is gone, or never was. */
static int leave_cgroup(struct live *l, int rc, struct hcp_err *err)
{
	struct hcp_err late = {0};

	if (cgroup_close(&l->cgroup, rc < 0 ? &late : err) < 0)
		return -1;
	return rc;
}

static int run(struct live *l, struct box_host *h, const struct box_spec *spec,
	       struct hcp_err *err)
{
	int rc;

	if (spec->cgroup &&
	    cgroup_open(spec->cgroup, spec->run_id, &spec->limits, &l->cgroup, err) < 0)
		return -1;
	l->cpu_ns = spec->cgroup ? l->start_ns : 0;
	rc = hand_over(l, h, spec, err) < 0 || follow(l, err) < 0 ? -1 : 0;
	if (leave_cgroup(l, rc, err) < 0)
		return -1;
	drain(l);
	trace_take(&l->trace);
	l->out->duration_us = (now_ns() - l->start_ns) / 1000;
	if (judge(l, err) < 0)
		return -1;
	if (l->broken)
		return hcp_fail_nomem(err);
	return give_output(l, err);
}

static bool once(struct box_host *h, const struct box_spec *spec, const struct box_plan *plan,
		 const struct box_io *io, struct box_outcome *out, struct hcp_err *err)
{
	struct live l = {.plan = plan,
			 .io = io,
			 .out = out,
			 .cgroup = CGROUP_NONE,
			 .trace = {.fd = -1, .fn = io->trace, .user = io->trace_user},
			 .pidfd = -1,
			 .report_fd = -1};

	memset(out, 0, sizeof(*out));
	live_init(&l, spec);
	if (run(&l, h, spec, err) < 0)
		out->end = BOX_FAILED;
	live_free(&l);
	if (l.unready)
		box_stage_refuse(h, l.given.stage);
	return !l.unready;
}

int box_run(struct box_host *h, const struct box_spec *spec, const struct box_plan *plan,
	    const struct box_io *io, struct box_outcome *out, struct hcp_err *err)
{
	struct hcp_err why = {0};
	int cancel;

	memset(out, 0, sizeof(*out));
	if (plan->magic != PLAN_MAGIC)
		return hcp_fail(err, HCP_E_INVALID, "sandbox: the plan is not one to be run");
	/* a cancelled thread would leave the tree to itself */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* Nothing has run where a stage wouldn't do: then all is built for this run, and what
	 * is refused there is the answer. */
	if (!once(h, spec, plan, io, out, &why)) {
		memset(&why, 0, sizeof(why));
		once(h, spec, plan, io, out, &why);
	}
	pthread_setcancelstate(cancel, NULL);
	if (out->end != BOX_FAILED)
		return 0;
	*err = why;
	return -1;
}

void box_outcome_free(struct box_outcome *o)
{
	free(o->out);
	free(o->errout);
	o->out = o->errout = NULL;
	o->out_len = o->errout_len = 0;
}
