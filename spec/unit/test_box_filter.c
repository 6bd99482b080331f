/* SPDX-License-Identifier: MIT */
/* What the filter makes up for where Landlock is too old or no namespace stands in front of the
 * host's processes: each kind of filter is put on, for a kernel of either age, and tried. */
#include "box/host.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char file[] = "/tmp/hcp-spec-XXXXXX";

static int put_on(enum plan_sockets sockets, int landlock)
{
	struct hcp_err err = {0};
	struct sock_fprog prog = {0};
	struct sock_filter code[4096];
	int fd;
	ssize_t n;

	if (box_filter_build(sockets, landlock, &fd, &err) < 0)
		return -1;
	n = read(fd, code, sizeof(code));
	if (n <= 0 || n == (ssize_t)sizeof(code))
		return -1;
	prog.len = (unsigned short)((size_t)n / sizeof(code[0]));
	prog.filter = code;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* 0, or the error that the call ends with beneath that filter. */
static int beneath(enum plan_sockets sockets, int landlock, long (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (put_on(sockets, landlock) < 0)
			_exit(255);
		_exit(call() < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status);
}

static long size(void)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return (long)st.st_size;
}

static void fill(void)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "kept", 4), 4);
	close(fd);
}

static long by_path(void)
{
	return truncate(file, 0);
}

static long for_reading(void)
{
	return syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_TRUNC);
}

static long for_neither(void)
{
	return syscall(SYS_openat, AT_FDCWD, file, O_ACCMODE | O_TRUNC);
}

static long high_bits(void)
{
	return syscall(SYS_openat, AT_FDCWD, file, 1l << 32 | O_RDONLY | O_TRUNC);
}

#ifdef SYS_open
static long old_open(void)
{
	return syscall(SYS_open, file, O_RDONLY | O_TRUNC);
}
#endif

static long how_in_memory(void)
{
	struct open_how how = {.flags = O_RDONLY | O_TRUNC};

	return syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how));
}

static long for_writing(void)
{
	return syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_TRUNC);
}

static long without_truncation(void)
{
	return syscall(SYS_openat, AT_FDCWD, file, O_RDONLY);
}

static const enum plan_sockets below_strong[] = {PLAN_SOCKETS_NONE, PLAN_SOCKETS_TCP,
						 PLAN_SOCKETS_INET};
static const enum plan_sockets strong[] = {PLAN_SOCKETS_UNIX, PLAN_SOCKETS_TCP_UNIX,
					   PLAN_SOCKETS_INET_UNIX};

static const struct {
	long (*call)(void);
	int error;
} truncations[] = {{by_path, EACCES},      {for_reading, EACCES},
		   {for_neither, EACCES},  {high_bits, EACCES},
#ifdef SYS_open
		   {old_open, EACCES},
#endif
		   {how_in_memory, ENOSYS}};
#define TRUNCATIONS (sizeof(truncations) / sizeof(truncations[0]))

static void no_file_is_emptied_where_landlock_would_not_see_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUNCATIONS; i++)
		for (int abi = 1; abi < 3; abi++)
			for (int k = 0; k < 3; k++) {
				fill();
				assert_int_equal(
				    beneath(below_strong[k], abi, truncations[i].call),
				    truncations[i].error);
				assert_int_equal(size(), 4);
			}
}

/* The same calls, where Landlock or a read-only mount judges them. */
static void files_are_emptied_where_another_layer_judges(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUNCATIONS; i++)
		for (int k = 0; k < 3; k++) {
			fill();
			assert_int_equal(beneath(below_strong[k], 3, truncations[i].call), 0);
			assert_int_equal(size(), 0);
			fill();
			assert_int_equal(beneath(strong[k], 2, truncations[i].call), 0);
			assert_int_equal(size(), 0);
		}
}

static void what_needs_a_right_or_empties_nothing_goes_through(void **state)
{
	(void)state;
	fill();
	assert_int_equal(beneath(PLAN_SOCKETS_NONE, 1, without_truncation), 0);
	assert_int_equal(size(), 4);
	assert_int_equal(beneath(PLAN_SOCKETS_NONE, 1, for_writing), 0);
	assert_int_equal(size(), 0);
}

static long limit_parent(void)
{
	struct rlimit64 l;

	return prlimit64(getppid(), RLIMIT_FSIZE, NULL, &l);
}

static long limit_oneself(void)
{
	struct rlimit64 none = {0, 0};

	return prlimit64(0, RLIMIT_CORE, &none, NULL);
}

static void limits_of_others_are_out_of_reach_where_others_can_be_named(void **state)
{
	(void)state;
	for (int k = 0; k < 3; k++) {
		assert_int_equal(beneath(below_strong[k], 7, limit_parent), EPERM);
		assert_int_equal(beneath(below_strong[k], 7, limit_oneself), 0);
		assert_int_equal(beneath(strong[k], 7, limit_parent), 0);
	}
}

/* By a limit of file size, which holds for files in memory, too, and would end the host. */
static void what_cannot_be_written_is_an_error(void **state)
{
	struct rlimit before, small;
	struct hcp_err err = {0};
	int fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){100, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(box_filter_build(PLAN_SOCKETS_NONE, 7, &fd, &err), -1);
	assert_int_equal(fd, -1);
	assert_string_equal(err.text, "sandbox: seccomp unavailable: File too large");
	err = (struct hcp_err){0};
	assert_int_equal(box_sealed(err.text, 101, &fd, &err), -1);
	assert_int_equal(fd, -1);
	assert_string_equal(err.text,
			    "sandbox: spawn unavailable: memory file: write: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	err = (struct hcp_err){0};
	assert_int_equal(box_sealed(err.text, 101, &fd, &err), 0);
	close(fd);
}

static int make_file(void **state)
{
	int fd = mkstemp(file);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_file_is_emptied_where_landlock_would_not_see_it),
	    cmocka_unit_test(files_are_emptied_where_another_layer_judges),
	    cmocka_unit_test(what_needs_a_right_or_empties_nothing_goes_through),
	    cmocka_unit_test(limits_of_others_are_out_of_reach_where_others_can_be_named),
	    cmocka_unit_test(what_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
