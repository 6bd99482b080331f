/* SPDX-License-Identifier: MIT */
/* For authors, never by itself: which calls of the program were refused, and with what. The
 * program runs under ptrace(2) of its init, inside the very sandbox that it would have anyway,
 * so that what is told is what the kernel answered, whichever layer it was. Nothing is changed
 * but time; a call is never answered here. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stddef.h>

#define OPTIONS                                                                                \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |                    \
	 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define STOPPED(status)     (((status)&0xff) == 0x7f)
#define STOP_SIGNAL(status) ((int)((status) >> 8 & 0xff))
#define STOP_EVENT(status)  ((status) >> 16)
#define SYSCALL_STOP        (SIGTRAP | 0x80)

/* A thread between a call's entry and its exit. */
struct traced {
	long tid;
	uint64_t nr, args[6];
};
static struct traced threads[1024];

/* Which argument is a path. Calls whose path is refused by a rule about something else (a
 * descriptor, say) show it all the same. */
static const struct {
	uint16_t nr;
	uint8_t arg;
} paths[] = {
#ifdef SYS_open
    {SYS_open, 0},       {SYS_stat, 0},      {SYS_lstat, 0},
    {SYS_access, 0},     {SYS_mkdir, 0},     {SYS_rmdir, 0},
    {SYS_creat, 0},      {SYS_unlink, 0},    {SYS_rename, 1},
    {SYS_link, 1},       {SYS_symlink, 1},   {SYS_readlink, 0},
    {SYS_chmod, 0},      {SYS_chown, 0},     {SYS_lchown, 0},
    {SYS_mknod, 0},      {SYS_utimes, 0},
#endif
    {SYS_openat, 1},     {SYS_openat2, 1},   {SYS_newfstatat, 1},
    {SYS_statx, 1},      {SYS_faccessat, 1}, {SYS_faccessat2, 1},
    {SYS_mkdirat, 1},    {SYS_unlinkat, 1},  {SYS_renameat, 3},
    {SYS_renameat2, 3},  {SYS_linkat, 3},    {SYS_symlinkat, 2},
    {SYS_readlinkat, 1}, {SYS_fchmodat, 1},  {SYS_fchownat, 1},
    {SYS_mknodat, 1},    {SYS_utimensat, 1}, {SYS_truncate, 0},
    {SYS_chdir, 0},      {SYS_chroot, 0},    {SYS_execve, 0},
    {SYS_execveat, 1},   {SYS_mount, 1},     {SYS_umount2, 0},
    {SYS_statfs, 0},     {SYS_setxattr, 0},  {SYS_inotify_add_watch, 1},
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* In the child, last before Landlock and the filter, which forbids it. */
long trace_me(void)
{
	return sys4(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

static struct traced *find(long tid)
{
	for (size_t i = 0; i < COUNT(threads); i++)
		if (threads[i].tid == tid)
			return &threads[i];
	return NULL;
}

void trace_forget(long tid)
{
	struct traced *t = find(tid);

	if (t)
		t->tid = 0;
}

/* Word by word: the tracer's own right, whatever else it may read of the process. */
static void read_text(long tid, uint64_t at, char *out, size_t size)
{
	size_t n = 0;
	long word;

	while (at && n < size - 1) {
		if (sys4(SYS_ptrace, PTRACE_PEEKDATA, tid, (long)(at + n), SYS_PTR(&word)) < 0)
			break;
		for (size_t i = 0; i < sizeof(word) && n < size - 1; i++, n++) {
			out[n] = (char)((unsigned long)word >> 8 * i);
			if (!out[n])
				return;
		}
	}
	out[n] = '\0';
}

static void tell(const struct traced *t, int error)
{
	struct box_denial d = {.nr = (uint32_t)t->nr, .error = error};

	for (int i = 0; i < 3; i++)
		d.args[i] = t->args[i];
	for (size_t i = 0; i < COUNT(paths); i++)
		if (paths[i].nr == t->nr)
			read_text(t->tid, t->args[paths[i].arg], d.path, sizeof(d.path));
	sys3(SYS_write, BOX_FD_TRACE, SYS_PTR(&d), sizeof(d));
}

/* What a layer or a limit answers with. Not EAGAIN and EINTR as such: programs live with
 * those. */
static int is_refusal(uint64_t nr, int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
	case EROFS:
	case ENOENT: /* the host knows whether it has what isn't there */
	case ENOSYS:
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
	case EOPNOTSUPP:
	case ENETUNREACH:
	case EMFILE:
	case ENOMEM:
	case EFBIG:
	case ENOSPC:
		return 1;
	case EAGAIN:
#ifdef SYS_fork
		return nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone;
#else
		return nr == SYS_clone;
#endif
	}
	return 0;
}

static void syscall_stop(struct traced *t)
{
	struct ptrace_syscall_info info = {0};

	if (sys4(SYS_ptrace, PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), SYS_PTR(&info)) < 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		t->nr = info.entry.nr;
		for (int i = 0; i < 6; i++)
			t->args[i] = info.entry.args[i];
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && info.exit.is_error &&
		   is_refusal(t->nr, (int)-info.exit.rval)) {
		tell(t, (int)-info.exit.rval);
	}
}

/* A thread that is new stops once before it does anything. Where there is no room for it, it
 * goes on untold. */
static void begin(long tid)
{
	struct traced *t = find(0);

	if (t)
		*t = (struct traced){.tid = tid};
	sys4(SYS_ptrace, PTRACE_SETOPTIONS, tid, 0, OPTIONS);
}

/* The signal to go on with: none of those that tracing itself brought. */
static long signal_of(long tid, uint32_t status)
{
	int sig = STOP_SIGNAL(status);
	char info[128];

	if (STOP_EVENT(status) || sig == SYSCALL_STOP)
		return 0;
	/* a stop of the whole group tells no siginfo */
	return sys4(SYS_ptrace, PTRACE_GETSIGINFO, tid, 0, SYS_PTR(info)) < 0 ? 0 : sig;
}

int trace_stop(long tid, int status)
{
	struct traced *t = find(tid);
	uint32_t s = (uint32_t)status;
	long sig = 0;

	if (!STOPPED(s))
		return 0;
	if (t)
		sig = signal_of(tid, s);
	else
		begin(tid);
	if (t && STOP_SIGNAL(s) == SYSCALL_STOP && !STOP_EVENT(s))
		syscall_stop(t);
	sys4(SYS_ptrace, PTRACE_SYSCALL, tid, 0, sig);
	return 1;
}
