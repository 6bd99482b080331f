/* SPDX-License-Identifier: MIT */
/* What is the kernel's as a whole. Where valid arguments would change the host the call is made
 * such that a kernel which lets it in has something else to object to than the caller's rights:
 * a number that is no clock, a file that isn't there. */
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOWHERE  "/nowhere/at/all"
#define NO_CLOCK 12345

/* MAP_CREATE of an array with one element. */
static long do_bpf(long number)
{
	union bpf_attr attr = {
	    .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

	(void)number;
	return result(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static long do_perf(long number)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	(void)number;
	return result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static long do_userfaultfd(long flags)
{
	return result(syscall(SYS_userfaultfd, flags));
}

static long do_keys(long call)
{
	if (call == SYS_add_key)
		return result(syscall(call, "user", "spec", "x", 1, KEY_SPEC_PROCESS_KEYRING));
	if (call == SYS_request_key)
		return result(syscall(call, "user", "spec", NULL, 0));
	return result(syscall(call, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1));
}

static long do_syslog(long command)
{
	return result(klogctl((int)command, NULL, 0));
}

static long do_kexec(long call)
{
	if (call == SYS_kexec_load) /* more segments than there may be */
		return result(syscall(call, 0, 10000, NULL, 0));
#ifdef SYS_kexec_file_load
	return result(syscall(call, -1, -1, 0, NULL, 0));
#else
	return -ENOSYS;
#endif
}

static long do_module(long call)
{
	if (call == SYS_init_module)
		return result(syscall(call, "", 0, ""));
	if (call == SYS_finit_module)
		return result(syscall(call, -1, "", 0));
	return result(syscall(call, "no_such_module", O_NONBLOCK));
}

static long do_swap(long on)
{
	return result(on ? swapon(NOWHERE, 0) : swapoff(NOWHERE));
}

static long do_reboot(long number)
{
	(void)number;
	return result(syscall(SYS_reboot, 1, 2, 3, NULL)); /* none of the magic numbers */
}

static long do_quotactl(long number)
{
	(void)number;
	return result(syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL));
}

static long do_quotactl_fd(long number)
{
	(void)number;
	return result(syscall(443, -1, QCMD(Q_SYNC, USRQUOTA), 0, NULL));
}

static long do_acct(long number)
{
	(void)number;
	return result(acct(NOWHERE));
}

static long do_clock(long call)
{
	struct timespec t = {0};
	struct timex x = {.modes = 0};

	if (call == SYS_settimeofday)
		return result(syscall(call, NULL, NULL));
	if (call == SYS_clock_settime)
		return result(syscall(call, NO_CLOCK, &t));
	if (call == SYS_clock_adjtime)
		return result(syscall(call, CLOCK_REALTIME, &x));
	return result(syscall(call, &x));
}

struct handle {
	unsigned bytes;
	int type;
	unsigned char data[128];
};

static long do_name_to_handle(long number)
{
	struct handle h = {.bytes = sizeof(h.data)};
	int mount;

	(void)number;
	return result(syscall(SYS_name_to_handle_at, AT_FDCWD, "/proc/self/exe", &h, &mount,
			      AT_SYMLINK_FOLLOW));
}

static long do_open_by_handle(long number)
{
	struct handle h = {.bytes = sizeof(h.data)};
	int mount, dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)number;
	if (syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &h, &mount, 0) < 0)
		h = (struct handle){.bytes = 8,
				    .type = 1,
				    .data = {2}}; /* the root of an ext4, as its inode 2 */
	return result(syscall(SYS_open_by_handle_at, dir, &h, O_RDONLY));
}

static long do_fanotify(long number)
{
	(void)number;
	return result(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY));
}

static long do_personality(long persona)
{
	return result(personality((unsigned long)persona));
}

static long do_io_uring(long call)
{
	struct io_uring_params params;

	memset(&params, 0, sizeof(params));
	if (call == SYS_io_uring_setup)
		return result(syscall(call, 1, &params));
	return result(syscall(call, -1, 0, 0, 0, NULL, 0));
}

static long do_vmsplice(long number)
{
	static char page[4096];
	struct iovec v = {page, sizeof(page)};
	int ends[2];

	(void)number;
	if (pipe(ends) < 0)
		return -EPROTO;
	return result(vmsplice(ends[1], &v, 1, 0));
}

static long do_mknod(long kind)
{
	const char *tmp = getenv("TMPDIR");
	char node[4096];
	long r;

	snprintf(node, sizeof(node), "%s/hcp-spec-node", tmp ? tmp : "/tmp");
	r = result(mknod(node, (mode_t)kind | 0600, kind == S_IFCHR ? 0x103 : 0x800));
	unlink(node);
	return r;
}

static long do_old(long call)
{
	char room[256];
	struct stat st;

#ifdef SYS_ustat
	if (call == SYS_ustat)
		return stat("/proc", &st) < 0 ? -EPROTO
					      : result(syscall(call, st.st_dev, room));
	if (call == SYS_sysfs)
		return result(syscall(call, 3));
#else
	(void)st;
#endif
	return result(syscall(call, 0, room, 0));
}

#if defined(__x86_64__)
static long do_ldt(long number)
{
	char room[64];

	(void)number;
	return result(syscall(SYS_modify_ldt, 0, room, sizeof(room)));
}

/* Giving up what nobody had: a right to ask is all that it takes. */
static long do_ports(long call)
{
	return call == SYS_iopl ? result(syscall(call, 0)) : result(syscall(call, 0x80, 1, 0));
}

/* getpid by x32's number for it, and by the 32-bit entry, where it is 20. */
static long do_x32(long number)
{
	(void)number;
	return result(syscall(0x40000000 | SYS_getpid));
}

static long do_int80(long number)
{
	long r = 20;

	(void)number;
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return r;
}
#endif

const struct attempt attempt_kernel[] = {
    {"bpf", do_bpf, 0},
    {"perf_event_open", do_perf, 0},
    {"userfaultfd", do_userfaultfd, 1}, /* user mode only: for everybody */
    {"add_key", do_keys, SYS_add_key},
    {"request_key", do_keys, SYS_request_key},
    {"keyctl", do_keys, SYS_keyctl},
    {"syslog", do_syslog, 10},
    {"kexec_load", do_kexec, SYS_kexec_load},
#ifdef SYS_kexec_file_load
    {"kexec_file_load", do_kexec, SYS_kexec_file_load},
#endif
    {"init_module", do_module, SYS_init_module},
    {"finit_module", do_module, SYS_finit_module},
    {"delete_module", do_module, SYS_delete_module},
    {"swapon", do_swap, 1},
    {"swapoff", do_swap, 0},
    {"reboot", do_reboot, 0},
    {"quotactl", do_quotactl, 0},
    {"quotactl_fd", do_quotactl_fd, 0},
    {"acct", do_acct, 0},
    {"settimeofday", do_clock, SYS_settimeofday},
    {"clock_settime", do_clock, SYS_clock_settime},
    {"clock_adjtime", do_clock, SYS_clock_adjtime},
    {"adjtimex", do_clock, SYS_adjtimex},
    {"name_to_handle_at", do_name_to_handle, 0},
    {"open_by_handle_at", do_open_by_handle, 0},
    {"fanotify_init", do_fanotify, 0},
    {"personality read-implies-exec", do_personality, READ_IMPLIES_EXEC},
    {"personality no-randomize", do_personality, ADDR_NO_RANDOMIZE},
    {"personality linux32", do_personality, PER_LINUX32},
    {"personality linux", do_personality, PER_LINUX},
    {"personality asked", do_personality, 0xffffffff},
    {"io_uring_setup", do_io_uring, SYS_io_uring_setup},
    {"io_uring_enter", do_io_uring, SYS_io_uring_enter},
    {"io_uring_register", do_io_uring, SYS_io_uring_register},
    {"vmsplice", do_vmsplice, 0},
    {"mknod character device", do_mknod, S_IFCHR},
    {"mknod block device", do_mknod, S_IFBLK},
#ifdef SYS_ustat
    {"ustat", do_old, SYS_ustat},
    {"sysfs", do_old, SYS_sysfs},
#endif
#if defined(__x86_64__)
    {"modify_ldt", do_ldt, 0},
    {"iopl", do_ports, SYS_iopl},
    {"ioperm", do_ports, SYS_ioperm},
    {"x32 getpid", do_x32, 0},
    {"int 0x80 getpid", do_int80, 0},
#endif
    {0},
};
