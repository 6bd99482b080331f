/* SPDX-License-Identifier: MIT */
/* Hosts that are many or have little: `crowd KIND ROOT STATE [N | ROOT STATE]`. The pack "mix"
 * of each root has a program, a script and a command that nobody may run. Says "ok", or what
 * was not as it should be. */
#include "hcp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 8
#define STACK   (128 * 1024)

static hcp_runtime *rt;
static atomic_long next_run;
static long runs;

static _Noreturn void fail(const char *what, const char *more)
{
	fprintf(stderr, "%s: %s\n", what, more);
	_exit(1);
}

static atomic_long at_once, most;

/* An adapter that takes its time, and counts how many others do. */
static void take_time(void *user, hcp_ask *ask)
{
	long now = atomic_fetch_add(&at_once, 1) + 1, seen = most;

	(void)user;
	while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
		;
	usleep(5000);
	atomic_fetch_sub(&at_once, 1);
	hcp_ask_answer(ask, hcp_str_from("1"));
}

static hcp_runtime *open_root(const char *root, const char *state)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *opened = NULL;

	if (!o || hcp_options_root(o, root) || hcp_options_state(o, state) ||
	    hcp_options_adapter(o, "time", take_time, NULL) || hcp_open(o, &opened, &err) ||
	    hcp_check(opened, &err))
		fail("hcp_open", err.text);
	hcp_options_free(o);
	return opened;
}

/* One run of `verb` with {n: n}; its result or its error must be `expected`. */
static void expect(hcp_runtime *of, const char *verb, long n, const char *expected)
{
	char envelope[128];
	hcp_result *res = NULL;
	hcp_str said;

	snprintf(envelope, sizeof(envelope),
		 "{\"pack_id\":\"mix\",\"verb_key\":\"%s\",\"args\":{\"n\":%ld}}", verb, n);
	if (hcp_exec(of, NULL, hcp_str_from(envelope), &res) != HCP_OK)
		fail("hcp_exec", verb);
	said = hcp_result_ok(res) ? hcp_result_value(res) : hcp_result_error(res);
	if (strcmp(said.data, expected) != 0)
		fail(verb, hcp_result_json(res).data);
	hcp_result_free(res);
}

static void program(long n)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "\"%ld\"", n);
	expect(rt, "program", n, expected);
}

static void script(long n)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "{\"nested\":true,\"twice\":[%ld]}", n);
	expect(rt, "script", n, expected);
}

/* Of a hundred runs ten are programs, ten are denied, and the rest are scripts; two find a
 * reading of the configuration before them. */
static void *work(void *unused)
{
	hcp_error err = {.size = sizeof(err)};
	long n;

	while ((n = atomic_fetch_add(&next_run, 1)) < runs) {
		if (n % 50 == 7 &&
		    (n % 100 == 7 ? hcp_reload(rt, &err) : hcp_refresh(rt, &err)))
			fail("hcp_reload", err.text);
		if (n % 10 == 3)
			program(n);
		else if (n % 10 == 5)
			expect(rt, "closed", n, "denied: missing mix.closed for mix.closed");
		else
			script(n);
	}
	return unused;
}

static void crowd(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &small, work, NULL) != 0)
			fail("pthread_create", "");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void few_descriptors(void)
{
	struct rlimit l = {20, 20};

	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		fail("setrlimit", strerror(errno));
	script(1);
	expect(rt, "program", 2, "sandbox: spawn unavailable: pipe: Too many open files");
}

/* This process and what it starts get EPERM of the system call. */
static void forbid(unsigned number)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		fail("prctl", strerror(errno));
}

static void own_filter(void)
{
	forbid(SYS_uname);
	script(1);
	program(2);
	forbid(SYS_mount);
	expect(rt, "program", 3,
	       "sandbox: procfs unavailable: /proc: Operation not permitted (a seccomp filter "
	       "of the surroundings refuses it, as in containers)");
}

/* Commands side by side, each of which has commands run side by side. */
static void tree(void)
{
	expect(rt, "tree", 8, "64");
	if (most < 2 || most > 8)
		fail("tree", "not 2 to 8 at a time");
}

/* Neither knows of the other's packs, sessions or log. */
static void two_roots(char **argv)
{
	hcp_runtime *other = open_root(argv[4], argv[5]);

	for (long n = 0; n < 5; n++) {
		script(n);
		expect(other, "script", n, "\"the other root\"");
	}
	expect(other, "program", 1, "no policy for program");
	hcp_close(other);
	program(1);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	rt = open_root(argv[2], argv[3]);
	runs = argc == 5 ? atol(argv[4]) : 0;
	if (strcmp(argv[1], "crowd") == 0 && runs > 0)
		crowd();
	else if (strcmp(argv[1], "few-descriptors") == 0)
		few_descriptors();
	else if (strcmp(argv[1], "tree") == 0)
		tree();
	else if (strcmp(argv[1], "own-filter") == 0)
		own_filter();
	else if (strcmp(argv[1], "two-roots") == 0 && argc == 6)
		two_roots(argv);
	else
		return 2;
	hcp_close(rt);
	puts("ok");
	return 0;
}
