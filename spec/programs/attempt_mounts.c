/* SPDX-License-Identifier: MIT */
/* Namespaces and the tree of mounts. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

static long do_unshare(long flag)
{
	return result(unshare((int)flag));
}

/* As fork makes it, and with a new namespace. */
static long do_clone(long flag)
{
	long pid = syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static long do_clone3(long flag)
{
	struct clone_args args = {.flags = (uint64_t)flag, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static long do_setns(long number)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)number;
	return fd < 0 ? -EBADF : result(setns(fd, 0));
}

/* A tree of mounts that is this process's own, where it may have one: run bare, nothing is done
 * to the host. */
static void stand_apart(void)
{
	if (unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static long do_mount(long flags)
{
	stand_apart();
	if (flags == MS_BIND)
		return result(mount("/usr", "/tmp", NULL, MS_BIND, NULL));
	if (flags == MS_REMOUNT) {
		mount("/usr", "/tmp", NULL, MS_BIND, NULL);
		return result(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL));
	}
	return result(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static long do_umount(long number)
{
	(void)number;
	stand_apart();
	mount("none", "/tmp", "tmpfs", 0, NULL);
	return result(umount2("/tmp", MNT_DETACH));
}

static long do_pivot_root(long number)
{
	(void)number;
	stand_apart();
	mount("none", "/tmp", "tmpfs", 0, NULL);
	mkdir("/tmp/old", 0700);
	return result(syscall(SYS_pivot_root, "/tmp", "/tmp/old"));
}

static long do_chroot(long number)
{
	(void)number;
	return result(chroot("/usr"));
}

static long new_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static long do_open_tree(long flags)
{
	return result(syscall(SYS_open_tree, AT_FDCWD, "/usr", flags));
}

static long do_open_tree_attr(long number)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID};

	(void)number;
	return result(syscall(SYS_open_tree_attr, AT_FDCWD, "/usr", OPEN_TREE_CLONE, &attr,
			      sizeof(attr)));
}

static long do_move_mount(long number)
{
	(void)number;
	stand_apart();
	return result(
	    syscall(SYS_move_mount, new_tree(), "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH));
}

static long do_mount_setattr(long number)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	(void)number;
	stand_apart();
	mount("/usr", "/tmp", NULL, MS_BIND, NULL);
	return result(syscall(SYS_mount_setattr, AT_FDCWD, "/tmp", 0, &attr, sizeof(attr)));
}

static long do_fsopen(long number)
{
	(void)number;
	return result(syscall(SYS_fsopen, "tmpfs", 0));
}

static long do_fsconfig(long number)
{
	long fs = syscall(SYS_fsopen, "tmpfs", 0);

	(void)number;
	return result(syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
}

static long do_fsmount(long number)
{
	long fs = syscall(SYS_fsopen, "tmpfs", 0);

	(void)number;
	syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	return result(syscall(SYS_fsmount, fs, 0, 0));
}

static long do_fspick(long number)
{
	(void)number;
	stand_apart();
	mount("none", "/tmp", "tmpfs", 0, NULL);
	return result(syscall(SYS_fspick, AT_FDCWD, "/tmp", 0));
}

const struct attempt attempt_mounts[] = {
    {"unshare user", do_unshare, CLONE_NEWUSER},
    {"unshare mount", do_unshare, CLONE_NEWNS},
    {"unshare pid", do_unshare, CLONE_NEWPID},
    {"unshare net", do_unshare, CLONE_NEWNET},
    {"unshare ipc", do_unshare, CLONE_NEWIPC},
    {"unshare uts", do_unshare, CLONE_NEWUTS},
    {"unshare cgroup", do_unshare, CLONE_NEWCGROUP},
    {"unshare time", do_unshare, CLONE_NEWTIME},
    {"unshare files", do_unshare, CLONE_FILES},
    {"clone user", do_clone, CLONE_NEWUSER},
    {"clone mount", do_clone, CLONE_NEWNS},
    {"clone pid", do_clone, CLONE_NEWPID},
    {"clone net", do_clone, CLONE_NEWNET},
    {"clone ipc", do_clone, CLONE_NEWIPC},
    {"clone uts", do_clone, CLONE_NEWUTS},
    {"clone cgroup", do_clone, CLONE_NEWCGROUP},
    {"clone plain", do_clone, 0},
    {"clone3 user", do_clone3, CLONE_NEWUSER},
    {"clone3 plain", do_clone3, 0},
    {"setns", do_setns, 0},
    {"mount tmpfs", do_mount, 0},
    {"mount bind", do_mount, MS_BIND},
    {"mount remount", do_mount, MS_REMOUNT},
    {"umount2", do_umount, 0},
    {"pivot_root", do_pivot_root, 0},
    {"chroot", do_chroot, 0},
    {"open_tree", do_open_tree, 0},
    {"open_tree clone", do_open_tree, OPEN_TREE_CLONE},
    {"open_tree_attr", do_open_tree_attr, 0},
    {"move_mount", do_move_mount, 0},
    {"mount_setattr", do_mount_setattr, 0},
    {"fsopen", do_fsopen, 0},
    {"fsconfig", do_fsconfig, 0},
    {"fsmount", do_fsmount, 0},
    {"fspick", do_fspick, 0},
    {0},
};
