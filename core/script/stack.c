/* SPDX-License-Identifier: MIT */
/* A C stack of hcp's own for each call. Lua nests up to 200 C calls and takes 512 KiB for them,
 * more than a host's thread may have. It is entered and left once, like a function call:
 * nothing ever stays on it. Running off its end hits a page without access instead of the
 * host's memory. */
#include "script/state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define STACK_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(STACK_ASAN)
#define STACK_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(STACK_TSAN)
#define STACK_TSAN 1
#endif

#ifdef STACK_ASAN
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE (4U << 20) /* instrumented frames are several times as large */
#else
#define STACK_SIZE (1U << 20)
#endif
#ifdef STACK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct passage {
	ucontext_t host, own;
	void (*fn)(void *arg);
	void *arg;
	const void *host_bottom; /* as ASan knows it */
	size_t host_size;
	void *host_fiber; /* as TSan knows it */
};

/* makecontext(3) hands over ints, so the pointer comes in halves. */
static void enter(unsigned high, unsigned low)
{
	struct passage *p = (struct passage *)(((uintptr_t)high << 32) | low);

#ifdef STACK_ASAN
	__sanitizer_finish_switch_fiber(NULL, &p->host_bottom, &p->host_size);
#endif
	p->fn(p->arg);
#ifdef STACK_ASAN
	/* NULL: this stack won't be entered again */
	__sanitizer_start_switch_fiber(NULL, p->host_bottom, p->host_size);
#endif
#ifdef STACK_TSAN
	__tsan_switch_to_fiber(p->host_fiber, 0);
#endif
}

static int pass(struct passage *p, void *stack, struct hcp_err *err)
{
	uintptr_t at = (uintptr_t)p;
	int rc;
#ifdef STACK_ASAN
	void *fake = NULL;
#endif
#ifdef STACK_TSAN
	void *fiber = __tsan_create_fiber(0);
#endif

	if (getcontext(&p->own) < 0)
		return hcp_fail_errno(err, "script: getcontext");
	p->own.uc_stack.ss_sp = stack;
	p->own.uc_stack.ss_size = STACK_SIZE;
	p->own.uc_link = &p->host;
	makecontext(&p->own, (void (*)(void))enter, 2, (unsigned)((uint64_t)at >> 32),
		    (unsigned)at);
#ifdef STACK_ASAN
	__sanitizer_start_switch_fiber(&fake, stack, STACK_SIZE);
#endif
#ifdef STACK_TSAN
	p->host_fiber = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(fiber, 0);
#endif
	rc = swapcontext(&p->host, &p->own);
#ifdef STACK_ASAN
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
#ifdef STACK_TSAN
	__tsan_destroy_fiber(fiber);
#endif
	return rc < 0 ? hcp_fail_errno(err, "script: swapcontext") : 0;
}

#define KEPT 8

/* Each slot holds a stack that nobody uses, or NULL. Taken and given back by exchange, so two
 * threads never hold the same one. */
struct script_pool {
	_Atomic(char *) idle[KEPT];
};

static size_t guard_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static char *map_stack(struct hcp_err *err)
{
	size_t guard = guard_size();
	char *map = mmap(NULL, guard + STACK_SIZE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (map != MAP_FAILED && mprotect(map + guard, STACK_SIZE, PROT_READ | PROT_WRITE) == 0)
		return map + guard;
	hcp_fail_errno(err, "script: no memory for a stack");
	if (map != MAP_FAILED)
		munmap(map, guard + STACK_SIZE);
	return NULL;
}

static void unmap_stack(char *stack)
{
	munmap(stack - guard_size(), guard_size() + STACK_SIZE);
}

static char *take_stack(struct script_pool *pool, struct hcp_err *err)
{
	char *stack = NULL;

	for (size_t i = 0; pool && i < KEPT && !stack; i++)
		stack = atomic_exchange(&pool->idle[i], NULL);
	return stack ? stack : map_stack(err);
}

static void give_back(struct script_pool *pool, char *stack)
{
	char *none;

	for (size_t i = 0; pool && i < KEPT; i++) {
		none = NULL;
		if (atomic_compare_exchange_strong(&pool->idle[i], &none, stack))
			return;
	}
	unmap_stack(stack);
}

struct script_pool *script_pool_new(void)
{
	return calloc(1, sizeof(struct script_pool));
}

void script_pool_free(struct script_pool *pool)
{
	for (size_t i = 0; pool && i < KEPT; i++)
		if (pool->idle[i])
			unmap_stack(pool->idle[i]);
	free(pool);
}

int script_on_stack(struct script_pool *pool, void (*fn)(void *arg), void *arg,
		    struct hcp_err *err)
{
	struct passage p = {.fn = fn, .arg = arg};
	char *stack = take_stack(pool, err);
	int rc;

	if (!stack)
		return -1;
	rc = pass(&p, stack, err);
	give_back(pool, stack);
	return rc;
}
