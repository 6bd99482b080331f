/* SPDX-License-Identifier: MIT */
/* From the host's process to the init, without the host noticing. A middle child shares the
 * host's memory and descriptors (so a host of any size costs the same), clones the init into
 * its namespaces and is gone before this returns; it ends without a signal, so that neither a
 * SIGCHLD handler nor a waitpid(-1) of the host meets it, and the init, whose parent it was, is
 * no child of the host. Both run on a stack of their own while the calling thread stands still.
 * They may use raw system calls only: whatever lock another thread holds stays held. */
#include "box/spawn.h"

#include "box/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STACK_SIZE (32 * 1024) /* each; a guard page lies below either */
#define GUARD_SIZE (64 * 1024) /* a page of any size that Linux has */

struct launch {
	const struct spawn *s;
	unsigned long flags;
	unsigned char *init_stack;
	int pidfd;
	int layer, error; /* written by whichever child failed */
};

/* An address sanitizer's shadow belongs to the host's thread. */
#define IN_CHILD                                                                               \
	__attribute__((no_sanitize("address"))) __attribute__((no_sanitize("undefined")))

static const char *const layer_names[] = {
#define X(name, text) text,
    BOX_LAYERS(X)
#undef X
};

const char *box_layer_name(uint32_t layer)
{
	return layer < BOX_LAYER_COUNT ? layer_names[layer] : "unknown";
}

static const struct {
	unsigned long flag;
	enum box_layer layer;
} namespaces[] = {{CLONE_NEWUSER, BOX_LAYER_USERNS}, {CLONE_NEWNS, BOX_LAYER_MNTNS},
		  {CLONE_NEWPID, BOX_LAYER_PIDNS},   {CLONE_NEWNET, BOX_LAYER_NETNS},
		  {CLONE_NEWIPC, BOX_LAYER_IPCNS},   {CLONE_NEWUTS, BOX_LAYER_UTSNS}};

static unsigned long namespace_flags(const struct spawn *s)
{
	unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

	if (s->plan->tier != PLAN_TIER_STRONG)
		return 0;
	if (s->plan->user_first && !s->stage)
		flags |= CLONE_NEWUSER;
	if (s->plan->own_net && (!s->stage || s->stage->net < 0))
		flags |= CLONE_NEWNET;
	return flags;
}

IN_CHILD static int child_fail(struct launch *l, enum box_layer layer, long result)
{
	l->layer = (int)layer;
	l->error = (int)-result;
	return 1;
}

/* A number that is also a place goes through a high one first, or it would be lost before its
 * turn. The table is this child's own copy. */
IN_CHILD static long place_descriptors(const struct spawn *s)
{
	long high[BOX_FD_COUNT + 1], r;

	for (int i = 0; i <= BOX_FD_COUNT; i++) {
		int fd = i < BOX_FD_COUNT ? s->fds[i] : s->init_fd;

		high[i] =
		    fd < 0 || fd > BOX_FD_COUNT ? fd : sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 32);
		if (fd >= 0 && high[i] < 0)
			return high[i];
	}
	for (int i = 0; i <= BOX_FD_COUNT; i++) {
		if (high[i] < 0) {
			sys1(SYS_close, i);
			continue;
		}
		r = sys3(SYS_dup3, high[i], i, i < BOX_FD_COUNT ? 0 : O_CLOEXEC);
		if (r < 0)
			return r;
	}
	return sys3(SYS_close_range, BOX_FD_COUNT + 1, ~0u, 0);
}

/* In a user namespace without a map exec takes every capability but the ambient ones. */
IN_CHILD static long keep_capabilities(void)
{
	static const int keep[] = {CAP_SYS_ADMIN, CAP_SETPCAP};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
	long r;

	data[0].permitted = 1u << CAP_SYS_ADMIN | 1u << CAP_SETPCAP;
	data[0].effective = data[0].inheritable = data[0].permitted;
	r = sys2(SYS_capset, SYS_PTR(&head), SYS_PTR(data));
	for (unsigned i = 0; r >= 0 && i < sizeof(keep) / sizeof(keep[0]); i++)
		r = sys5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, keep[i], 0, 0);
	return r;
}

IN_CHILD static int become_init(void *arg)
{
	struct launch *l = arg;
	static const char name[] = "hcp-init";
	const char *argv[] = {name, NULL}, *envp[] = {NULL};
	long r = place_descriptors(l->s);

	if (r < 0)
		return child_fail(l, BOX_LAYER_SPAWN, r);
	if (l->s->plan->user_first && l->s->plan->tier == PLAN_TIER_STRONG) {
		r = keep_capabilities();
		if (r < 0)
			return child_fail(l, BOX_LAYER_USERNS, r);
	}
	r = sys5(SYS_execveat, BOX_FD_COUNT, SYS_PTR(""), SYS_PTR(argv), SYS_PTR(envp),
		 AT_EMPTY_PATH);
	return child_fail(l, BOX_LAYER_INIT, r);
}

/* The user namespace first: it is what gives the right to enter the others. */
IN_CHILD static int enter_stage(struct launch *l)
{
	const struct box_stage *g = l->s->stage;
	long r = 0;

	if (g->user >= 0)
		r = sys2(SYS_setns, g->user, CLONE_NEWUSER);
	if (r < 0)
		return child_fail(l, BOX_LAYER_USERNS, r);
	if (g->net >= 0)
		r = sys2(SYS_setns, g->net, CLONE_NEWNET);
	if (r < 0)
		return child_fail(l, BOX_LAYER_NETNS, r);
	r = sys2(SYS_setns, g->mnt, CLONE_NEWNS);
	return r < 0 ? child_fail(l, BOX_LAYER_MNTNS, r) : 0;
}

IN_CHILD static int middle(void *arg)
{
	struct launch *l = arg;
	int flags = (int)(l->flags | CLONE_VM | CLONE_VFORK | CLONE_PIDFD);

	if (l->s->stage && enter_stage(l))
		return 1;
	if (clone(become_init, l->init_stack, flags, l, &l->pidfd) < 0)
		return child_fail(l, BOX_LAYER_COUNT, -errno);
	return 0;
}

/* What a probing clone runs. */
IN_CHILD static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Which of the namespaces it was: only asked after they were refused together. */
static enum box_layer find_refused(unsigned long flags, unsigned char *stack)
{
	const unsigned long plain = CLONE_VM | CLONE_VFORK;
	int pid;

	for (unsigned i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (!(flags & namespaces[i].flag))
			continue;
		pid = clone(nothing, stack,
			    (int)(plain | namespaces[i].flag | (flags & CLONE_NEWUSER)), NULL);
		if (pid < 0)
			return namespaces[i].layer;
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	return BOX_LAYER_SPAWN;
}

static int run_middle(struct launch *l, unsigned char *stack)
{
	int pid = clone(middle, stack, CLONE_VM | CLONE_VFORK | CLONE_FILES, l);

	if (pid < 0) {
		l->layer = BOX_LAYER_SPAWN;
		l->error = errno;
		return -1;
	}
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (l->layer == BOX_LAYER_COUNT)
		l->layer = l->s->stage ? BOX_LAYER_SPAWN : (int)find_refused(l->flags, stack);
	return l->layer ? -1 : 0;
}

/* libc's own signals, too, which pthread_sigmask would leave out: a handler of the host must
 * not run in a child that shares its memory, and one that comes often restarts a slow clone for
 * ever. */
static void block_signals(uint64_t *old)
{
	uint64_t all = ~0ull;

	sys4(SYS_rt_sigprocmask, SIG_BLOCK, SYS_PTR(&all), SYS_PTR(old), sizeof(all));
}

#define ROOM (2 * (STACK_SIZE + GUARD_SIZE)) /* guard, the init's, guard, the middle's */

/* NULL with errno. */
static unsigned char *map_stacks(void)
{
	unsigned char *low =
	    mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (low == MAP_FAILED)
		return NULL;
	if (mprotect(low + GUARD_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE) == 0 &&
	    mprotect(low + ROOM - STACK_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE) == 0)
		return low;
	munmap(low, ROOM);
	return NULL;
}

/* Taken and given back by exchange: no two threads have the same. */
static unsigned char *take_stacks(struct spawn_stacks *pool)
{
	unsigned char *low = NULL;

	for (int i = 0; i < SPAWN_STACKS && !low; i++)
		low = atomic_exchange(&pool->idle[i], NULL);
	return low ? low : map_stacks();
}

static void give_back(struct spawn_stacks *pool, unsigned char *low)
{
	unsigned char *none;

	for (int i = 0; i < SPAWN_STACKS; i++) {
		none = NULL;
		if (atomic_compare_exchange_strong(&pool->idle[i], &none, low))
			return;
	}
	munmap(low, ROOM);
}

void spawn_stacks_free(struct spawn_stacks *pool)
{
	for (int i = 0; i < SPAWN_STACKS; i++)
		if (pool->idle[i])
			munmap(pool->idle[i], ROOM);
}

int box_spawn(const struct spawn *s, int *pidfd, uint32_t *layer, int32_t *error)
{
	struct launch l = {.s = s, .flags = namespace_flags(s), .pidfd = -1};
	unsigned char *low = take_stacks(s->stacks);
	uint64_t old;

	*pidfd = -1;
	*layer = BOX_LAYER_SPAWN;
	if (!low) {
		*error = errno;
		return -1;
	}
	l.init_stack = low + GUARD_SIZE + STACK_SIZE;
	block_signals(&old);
	run_middle(&l, low + ROOM);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, SYS_PTR(&old), 0, sizeof(old));
	give_back(s->stacks, low);
	*layer = (uint32_t)l.layer;
	*error = l.error;
	/* an init that failed before its exec left a descriptor all the same */
	if (l.layer && l.pidfd >= 0)
		sys1(SYS_close, l.pidfd);
	else
		*pidfd = l.pidfd;
	return l.layer ? -1 : 0;
}
