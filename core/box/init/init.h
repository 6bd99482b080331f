/* SPDX-License-Identifier: MIT */
/* The parts of the init. It runs inside its new namespaces, holds no environment, and knows
 * only what the plan says; every function that can fail ends the process with a report. */
#ifndef HCP_BOX_INIT_H
#define HCP_BOX_INIT_H

#include "box/sys.h"
#include "box/wire.h"

#include <stddef.h>

struct box_init {
	char *base; /* the plan, mapped privately: its vectors become pointers here */
	const struct box_plan *plan;
	uint32_t landlock;
	int root_fd; /* the new root while it is being built */
	int proc_fd; /* the host's, to map ids with */
	int ns_fd;   /* PLAN_STAGE_MAKE: the folder of this process's namespaces */
	int bin_fd, ruleset_fd;
	int kill_fd;     /* of the run's cgroup; -1: it has none */
	int signal_fd;   /* SIGCHLD, and SIGTERM from the runtime */
	int children_fd; /* below tier strong: the list of this process's children */
	const void *filter;
	size_t filter_size;
	/* written by the child that becomes the program, before it execs */
	volatile uint32_t child_layer;
	volatile int32_t child_error;
};

/* Reports and exits. `error` is an errno, positive or negative. */
_Noreturn void fail(enum box_layer layer, long error, const char *detail);
/* The result, or fail() where it is an error. */
long need(enum box_layer layer, long result, const char *detail);
/* What holds so far goes with every report. */
void held(enum box_layer layer);
void report(struct box_report *r);
_Noreturn void leave(void);

static inline char *text_at(const struct box_init *s, uint32_t offset)
{
	return offset ? s->base + offset : NULL;
}
static inline long sys_open(int dirfd, const char *path, int flags, unsigned mode)
{
	return sys4(SYS_openat, dirfd, SYS_PTR(path), flags, mode);
}
static inline void sys_close(long fd)
{
	if (fd >= 0)
		sys1(SYS_close, fd);
}

size_t text_len(const char *s);

void map_user(struct box_init *s);        /* ids.c: the map of a user namespace we are in */
void drop_privileges(struct box_init *s); /* ids.c: to the sandbox user, without capabilities */
void build_root(struct box_init *s);      /* root.c */
void finish_root(struct box_init *s);     /* root.c: what a stage leaves to each run */
_Noreturn void make_stage(struct box_init *s); /* stage.c: hands the namespaces over */
void make_ruleset(struct box_init *s);         /* landlock.c */
/* programs.c: what an `exec:` list lets through. */
void allow_programs(struct box_init *s, long ruleset);
/* supervise.c */
void join_cgroup(struct box_init *s);
void open_signals(struct box_init *s);
void supervise(const struct box_init *s, long program);
/* trace.c: takes a stop and lets the thread go on; 0 where `status` is none. */
int trace_stop(long tid, int status);
void trace_forget(long tid);
long trace_me(void); /* in the child */
/* exec.c: in the child; returns where it failed. */
void become_program(struct box_init *s);
/* orphans.c: below tier strong, in the place of a process namespace. */
void adopt_orphans(struct box_init *s);
void end_tree(const struct box_init *s);
/* main.c */
_Noreturn void init_main(void);

#endif
