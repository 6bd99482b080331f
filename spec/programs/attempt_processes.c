/* SPDX-License-Identifier: MIT */
/* Other processes and terminals. The process that is aimed at is a child of one's own, which
 * the kernel would allow. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGH_BITS (1ul << 32)

static char target[64];

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static long end(pid_t pid, long r)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return r;
}

static long do_ptrace(long request)
{
	pid_t pid;

	if (request == PTRACE_TRACEME)
		return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	pid = start();
	return end(pid, result(syscall(SYS_ptrace, request, pid, 0, 0)));
}

static long do_process_vm(long call)
{
	char here[sizeof(target)];
	struct iovec local = {here, sizeof(here)}, remote = {target, sizeof(target)};
	pid_t pid = start();

	return end(pid, result(syscall(call, pid, &local, 1, &remote, 1, 0)));
}

static long do_process_madvise(long number)
{
	pid_t pid = start();
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct iovec page = {(void *)((uintptr_t)target & ~4095ul), 4096};

	(void)number;
	return end(pid, result(syscall(SYS_process_madvise, fd, &page, 1, MADV_COLD, 0)));
}

static long do_kcmp(long number)
{
	pid_t pid = start();

	(void)number;
	return end(pid, result(syscall(SYS_kcmp, getpid(), pid, KCMP_VM, 0, 0)));
}

static long do_pidfd_getfd(long number)
{
	pid_t pid = start();
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	(void)number;
	return end(pid, result(syscall(SYS_pidfd_getfd, fd, 1, 0)));
}

static long do_pidfd_signal(long number)
{
	pid_t pid = start();
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	(void)number;
	return end(pid, result(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0)));
}

/* Standard input is no terminal: whoever lets the command through answers ENOTTY. */
static long do_ioctl(long command)
{
	char room[64] = {3};

	return result(syscall(SYS_ioctl, 0, command, room));
}

const struct attempt attempt_processes[] = {
    {"ptrace attach", do_ptrace, PTRACE_ATTACH},
    {"ptrace seize", do_ptrace, PTRACE_SEIZE},
    {"ptrace traceme", do_ptrace, PTRACE_TRACEME},
    {"process_vm_readv", do_process_vm, SYS_process_vm_readv},
    {"process_vm_writev", do_process_vm, SYS_process_vm_writev},
    {"process_madvise", do_process_madvise, 0},
    {"kcmp", do_kcmp, 0},
    {"pidfd_getfd", do_pidfd_getfd, 0},
    {"pidfd_send_signal to a child", do_pidfd_signal, 0},
    {"TIOCSTI", do_ioctl, TIOCSTI},
    {"TIOCSTI with high bits", do_ioctl, (long)(TIOCSTI | HIGH_BITS)},
    {"TIOCLINUX", do_ioctl, TIOCLINUX},
    {"TIOCLINUX with high bits", do_ioctl, (long)(TIOCLINUX | HIGH_BITS)},
    {"TIOCGWINSZ", do_ioctl, TIOCGWINSZ},
    {0},
};
