/* SPDX-License-Identifier: MIT */
/* Whole writes, and a limit of file sizes that is an error and never a signal. */
#include "base/fd.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT 1000

static char data[2 * LIMIT];
static struct rlimit before;
static volatile sig_atomic_t seen;

static int limit(void **state)
{
	struct rlimit small;

	(void)state;
	if (getrlimit(RLIMIT_FSIZE, &before) < 0)
		return -1;
	small = (struct rlimit){LIMIT, before.rlim_max};
	return setrlimit(RLIMIT_FSIZE, &small);
}

static int unlimit(void **state)
{
	(void)state;
	return setrlimit(RLIMIT_FSIZE, &before);
}

static void too_large(void)
{
	AUTO_FD fd = memfd_create("spec", MFD_CLOEXEC);
	struct hcp_err err = {0};

	assert_int_equal(fd_write_all(fd, data, sizeof(data), &err), -1);
	assert_string_equal(err.text, "write: File too large");
	assert_int_equal(lseek(fd, 0, SEEK_END), LIMIT);
}

/* The default action would end this program. */
static void a_limit_is_an_error(void **state)
{
	AUTO_FD fd = memfd_create("spec", MFD_CLOEXEC);
	struct hcp_err err = {0};

	(void)state;
	too_large();
	assert_int_equal(fd_write_all(fd, data, LIMIT, &err), 0);
}

static void see(int sig)
{
	(void)sig;
	seen++;
}

/* The host's handler hears nothing of it, and a signal that waited before still waits. */
static void the_hosts_own_signal_is_left_alone(void **state)
{
	struct sigaction sa = {.sa_handler = see}, old;
	sigset_t xfsz, mask, now;

	(void)state;
	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	assert_int_equal(sigaction(SIGXFSZ, &sa, &old), 0);
	too_large();
	assert_int_equal(seen, 0);
	pthread_sigmask(SIG_BLOCK, &xfsz, &mask);
	too_large();
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_int_equal(sigismember(&now, SIGXFSZ), 1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	assert_int_equal(seen, 0);
	pthread_sigmask(SIG_BLOCK, &xfsz, &mask);
	pthread_kill(pthread_self(), SIGXFSZ);
	too_large();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	assert_int_equal(seen, 1);
	assert_int_equal(sigaction(SIGXFSZ, &old, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_limit_is_an_error, limit, unlimit),
	    cmocka_unit_test_setup_teardown(the_hosts_own_signal_is_left_alone, limit, unlimit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
