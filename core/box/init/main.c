/* SPDX-License-Identifier: MIT */
/* The sandbox's init, in the order in which a sandbox comes to be: read the plan, build the
 * root, become nobody, start the program, reap until it ends. In a process namespace it is pid
 * 1, so that its end is the end of everything in there. It takes no argument and no
 * environment, trusts nothing but its descriptors, and never continues past a failure. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* Found by the library in this file, as text. */
__attribute__((used)) static const char build_mark[] = BOX_BUILD_MARK;

static uint32_t layers; /* bits of enum box_layer: this process is one sandbox */

void held(enum box_layer layer)
{
	layers |= 1u << layer;
}

void report(struct box_report *r)
{
	r->layers = layers;
	sys3(SYS_write, BOX_FD_REPORT, SYS_PTR(r), sizeof(*r));
}

_Noreturn void leave(void)
{
	for (;;)
		sys1(SYS_exit_group, 0);
}

_Noreturn void fail(enum box_layer layer, long error, const char *detail)
{
	struct box_report r = {.what = BOX_REPORT_FAILED, .layer = layer};

	r.error = (int32_t)(error < 0 ? -error : error);
	for (size_t i = 0; detail && detail[i] && i < sizeof(r.detail) - 1; i++)
		r.detail[i] = detail[i];
	report(&r);
	leave();
}

long need(enum box_layer layer, long result, const char *detail)
{
	if (result < 0)
		fail(layer, result, detail);
	return result;
}

static void *map_file(int fd, int prot, size_t *size)
{
	struct stat st;
	long at;

	need(BOX_LAYER_INIT, sys2(SYS_fstat, fd, SYS_PTR(&st)), "descriptor");
	at = need(BOX_LAYER_INIT, sys6(SYS_mmap, 0, st.st_size, prot, MAP_PRIVATE, fd, 0),
		  "map");
	*size = (size_t)st.st_size;
	return (void *)(uintptr_t)at;
}

static void relocate(char *base, uint32_t vector, uint32_t count)
{
	uint64_t *v = (uint64_t *)(void *)(base + vector);

	for (uint32_t i = 0; i < count; i++)
		v[i] += (uint64_t)(uintptr_t)base;
}

static void read_plan(struct box_init *s)
{
	size_t size;

	s->base = map_file(BOX_FD_PLAN, PROT_READ | PROT_WRITE, &size);
	s->plan = (const struct box_plan *)(const void *)s->base;
	if (size < sizeof(*s->plan) || s->plan->magic != PLAN_MAGIC || s->plan->size != size)
		fail(BOX_LAYER_INIT, EPROTO, "plan");
	relocate(s->base, s->plan->argv, s->plan->argc);
	relocate(s->base, s->plan->envp, s->plan->envc);
	if (s->plan->stage != PLAN_STAGE_MAKE)
		s->filter = map_file(BOX_FD_FILTER, PROT_READ, &s->filter_size);
	sys_close(BOX_FD_PLAN);
	sys_close(BOX_FD_FILTER);
}

/* As the kernel takes it; SIG_DFL and no flags are all zeros on every architecture. */
struct raw_sigaction {
	unsigned long words[4];
};

/* A host may ignore signals, and exec keeps that; its mask is full while it spawns and stays
 * full here: a signal finds this process through its signalfd only. */
static void reset_process(void)
{
	struct raw_sigaction dfl = {{0}};

	for (int sig = 1; sig <= 64; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			need(BOX_LAYER_INIT, sys4(SYS_rt_sigaction, sig, SYS_PTR(&dfl), 0, 8),
			     "signals");
	need(BOX_LAYER_INIT, sys1(SYS_setsid, 0), "session");
	sys1(SYS_umask, 0);
}

static void enter_namespaces(struct box_init *s)
{
	const struct box_plan *p = s->plan;
	static const char name[] = "sandbox";

	held(BOX_LAYER_MNTNS);
	held(BOX_LAYER_PIDNS);
	held(BOX_LAYER_IPCNS);
	if (p->own_net)
		held(BOX_LAYER_NETNS);
	s->proc_fd =
	    p->stage == PLAN_STAGE_USE
		? BOX_FD_STAGE
		: (int)need(BOX_LAYER_USERNS,
			    sys_open(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC, 0),
			    "/proc");
	if (p->stage == PLAN_STAGE_MAKE)
		s->ns_fd = (int)need(
		    BOX_LAYER_SPAWN,
		    sys_open(s->proc_fd, "self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC, 0),
		    "/proc/self/ns");
	if (p->user_first && p->stage != PLAN_STAGE_USE)
		map_user(s);
	need(BOX_LAYER_UTSNS, sys2(SYS_sethostname, SYS_PTR(name), sizeof(name) - 1), NULL);
	held(BOX_LAYER_UTSNS);
	if (p->stage == PLAN_STAGE_USE)
		finish_root(s);
	else
		build_root(s);
}

/* Opened inside the new root and by the path that is seen there; that it is the file which was
 * judged is decided by device and inode, not by the path. */
static void open_program(struct box_init *s)
{
	const char *path = text_at(s, s->plan->bin);
	struct stat st;
	long fd = sys_open(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);

	need(BOX_LAYER_BIN, fd, path);
	need(BOX_LAYER_BIN, sys2(SYS_fstat, fd, SYS_PTR(&st)), path);
	if (st.st_dev != s->plan->bin_dev || st.st_ino != s->plan->bin_ino)
		fail(BOX_LAYER_BIN, ESTALE, path);
	s->bin_fd = (int)fd;
}

/* With no input the program reads the null device of its own root: one that was opened outside
 * could not be opened again through /dev/stdin. */
static void open_stdin(const struct box_init *s)
{
	long fd;

	if (s->plan->stdin_given)
		return;
	fd = need(BOX_LAYER_STDIN, sys_open(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0),
		  "/dev/null");
	need(BOX_LAYER_STDIN, sys3(SYS_dup3, fd, BOX_FD_STDIN, 0), "/dev/null");
	sys_close(fd);
}

static void enter_cwd(const struct box_init *s)
{
	const char *path = text_at(s, s->plan->cwd);

	need(BOX_LAYER_CWD, sys1(SYS_chdir, SYS_PTR(path)), path);
}

/* In the child, which shares this process's memory until it execs. Its own function, so that
 * nothing it does lands in the frame that the parent goes on with. */
__attribute__((noinline)) static _Noreturn void child(struct box_init *s)
{
	become_program(s);
	leave();
}

#define FORK_FLAGS (CLONE_VM | CLONE_VFORK | SIGCHLD)
#ifndef CLONE_VM
#define CLONE_VM    0x100
#define CLONE_VFORK 0x4000
#endif

static long start_program(struct box_init *s)
{
	long pid = sys5(SYS_clone, FORK_FLAGS, 0, 0, 0, 0);

	if (pid == 0)
		child(s);
	need(BOX_LAYER_SPAWN, pid, "fork");
	if (s->child_layer)
		fail(s->child_layer, s->child_error, NULL);
	if (s->ruleset_fd >= 0)
		held(BOX_LAYER_LANDLOCK);
	held(BOX_LAYER_SECCOMP);
	return pid;
}

static void say_started(const struct box_init *s)
{
	struct box_report r = {.what = BOX_REPORT_STARTED, .landlock = s->landlock};

	report(&r);
}

_Noreturn void init_main(void)
{
	struct box_init s = {.root_fd = -1,
			     .proc_fd = -1,
			     .ns_fd = -1,
			     .bin_fd = -1,
			     .ruleset_fd = -1,
			     .kill_fd = -1,
			     .children_fd = -1};
	long program;

	read_plan(&s);
	reset_process();
	join_cgroup(&s);
	if (s.plan->tier == PLAN_TIER_STRONG)
		enter_namespaces(&s);
	else
		adopt_orphans(&s);
	if (s.plan->stage == PLAN_STAGE_MAKE)
		make_stage(&s);
	open_program(&s);
	open_stdin(&s);
	enter_cwd(&s);
	make_ruleset(&s);
	drop_privileges(&s);
	open_signals(&s);
	sys1(SYS_umask, 077);
	program = start_program(&s);
	say_started(&s);
	need(BOX_LAYER_INIT, sys2(SYS_munmap, SYS_PTR(s.base), (long)s.plan->size), "unmap");
	sys3(SYS_close_range, BOX_FD_STDIN, BOX_FD_STDERR, 0);
	supervise(&s, program);
	end_tree(&s);
	leave();
}
