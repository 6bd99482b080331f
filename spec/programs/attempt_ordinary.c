/* SPDX-License-Identifier: MIT */
/* Calls that C libraries and language runtimes make as a matter of course: to refuse one of
 * them breaks programs far from where it was refused. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/membarrier.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The C library registered this thread: it can be given up, and taken up again. */
static long do_rseq(long number)
{
	char *thread = __builtin_thread_pointer();
	void *area = thread + __rseq_offset;
	unsigned size = __rseq_size < 32 ? 32 : __rseq_size;

	(void)number;
	if (syscall(SYS_rseq, area, size, 1 /* unregister */, RSEQ_SIG) < 0)
		return -errno;
	return result(syscall(SYS_rseq, area, size, 0, RSEQ_SIG));
}

static long do_membarrier(long command)
{
	return result(syscall(SYS_membarrier, command, 0, 0));
}

static long do_getrandom(long number)
{
	char room[16];

	(void)number;
	return result(syscall(SYS_getrandom, room, sizeof(room), 0));
}

static long do_statx(long number)
{
	struct statx st;

	(void)number;
	return result(syscall(SYS_statx, AT_FDCWD, "/usr", 0, STATX_BASIC_STATS, &st));
}

static long do_faccessat2(long number)
{
	(void)number;
	return result(syscall(439, AT_FDCWD, "/usr", R_OK, AT_EACCESS));
}

static long do_close_range(long number)
{
	(void)number;
	return result(syscall(SYS_close_range, 100, ~0u, 0));
}

static long do_openat2(long number)
{
	struct open_how how = {.flags = O_PATH, .resolve = RESOLVE_BENEATH};
	int dir = open("/usr", O_PATH | O_DIRECTORY);

	(void)number;
	return result(syscall(SYS_openat2, dir, "bin", &how, sizeof(how)));
}

/* A program may fence itself in further. */
static long do_landlock(long number)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs =
						 LANDLOCK_ACCESS_FS_WRITE_FILE};
	struct landlock_path_beneath_attr rule = {.allowed_access =
						      LANDLOCK_ACCESS_FS_WRITE_FILE};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	(void)number;
	rule.parent_fd = open("/tmp", O_PATH);
	if (fd < 0 ||
	    syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return result(syscall(SYS_landlock_restrict_self, fd, 0));
}

static long do_seccomp(long number)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {.len = 1, .filter = &allow};

	(void)number;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
}

static long do_prctl(long number)
{
	(void)number;
	return result(prctl(PR_SET_NAME, "spec", 0, 0, 0));
}

static long do_mempolicy(long number)
{
	int mode;

	(void)number;
	return result(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0));
}

static long do_memfd(long number)
{
	(void)number;
	return result(memfd_create("spec", MFD_CLOEXEC));
}

static long do_epoll(long number)
{
	struct epoll_event e;
	struct timespec none = {0, 0};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	(void)number;
	return result(syscall(SYS_epoll_pwait2, fd, &e, 1, &none, NULL, 0));
}

static void *give_back(void *p)
{
	return p;
}

/* Where clone3 doesn't exist the C library makes threads with clone. */
static long do_thread(long number)
{
	pthread_t t;
	int error = pthread_create(&t, NULL, give_back, NULL);

	(void)number;
	return error ? -error : -pthread_join(t, NULL);
}

static long do_vfork(long number)
{
	int status = -1;
	pid_t pid = vfork();

	(void)number;
	if (pid == 0)
		_exit(0);
	return waitpid(pid, &status, 0) < 0 ? -errno : status;
}

static long do_executable_memory(long number)
{
	(void)number;
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0) == MAP_FAILED
		   ? -errno
		   : 0;
}

const struct attempt attempt_ordinary[] = {
    {"rseq", do_rseq, 0},
    {"membarrier", do_membarrier, MEMBARRIER_CMD_QUERY},
    {"membarrier registered", do_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED},
    {"getrandom", do_getrandom, 0},
    {"statx", do_statx, 0},
    {"faccessat2", do_faccessat2, 0},
    {"close_range", do_close_range, 0},
    {"openat2", do_openat2, 0},
    {"landlock", do_landlock, 0},
    {"seccomp", do_seccomp, 0},
    {"prctl", do_prctl, 0},
    {"get_mempolicy", do_mempolicy, 0},
    {"memfd_create", do_memfd, 0},
    {"epoll_pwait2", do_epoll, 0},
    {"a thread", do_thread, 0},
    {"vfork", do_vfork, 0},
    {"executable memory", do_executable_memory, 0},
    {0},
};
