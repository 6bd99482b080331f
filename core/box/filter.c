/* SPDX-License-Identifier: MIT */
/* The seccomp filter: what no wrapped program needs and much of the kernel's attack surface
 * hangs on. It refuses by table and lets everything else through; files, processes and networks
 * are fenced by namespaces and Landlock, which know objects where a filter sees numbers only.
 * Interfaces that libcs probe for answer ENOSYS, so that they fall back, the others EPERM.
 * Never refused: rseq, membarrier, getrandom, statx, faccessat2, close_range, landlock_*,
 * prctl, seccomp, get_mempolicy, socketpair, sendto, getsockopt. */
#include "box/host.h"

#include "base/fd.h"
#include "base/xfsz.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const eperm[] = {
    /* the tree of mounts, namespaces */
    "mount", "umount", "umount2", "pivot_root", "chroot", "setns",
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    /* the kernel as a whole */
    "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "syslog",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "create_module", "swapon", "swapoff", "reboot", "quotactl", "quotactl_fd", "acct",
    "settimeofday", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64",
    "adjtimex", "stime", "lookup_dcookie", "nfsservctl", "vhangup", "uselib", "ustat", "sysfs",
    "_sysctl", "vmsplice",
    /* files by handle go around every path rule */
    "name_to_handle_at", "open_by_handle_at", "fanotify_init",
    /* the processor */
    "modify_ldt", "iopl", "ioperm", "vm86", "vm86old"};
static const struct {
	const char *name;
	int number; /* where libseccomp is older than the call; the same on every machine */
} enosys[] = {{"clone3", 435},         {"io_uring_setup", 425},
	      {"io_uring_enter", 426}, {"io_uring_register", 427},
	      {"open_tree", 428},      {"move_mount", 429},
	      {"fsopen", 430},         {"fsconfig", 431},
	      {"fsmount", 432},        {"fspick", 433},
	      {"mount_setattr", 442},  {"open_tree_attr", 467}};

/* Objects of an ipc namespace, where the program shares the host's: named by numbers, they are
 * nothing that Landlock knows. As on a kernel that is built without them. */
static const char *const ipc[] = {"shmget", "shmat",      "shmctl",   "semget", "semctl",
				  "semop",  "semtimedop", "msgget",   "msgctl", "msgsnd",
				  "msgrcv", "mq_open",    "mq_unlink"};

#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))
#define NEW_TIME      0x80
#define TIOCSTI_NR    0x5412
#define TIOCLINUX_NR  0x541c
#define FASTOPEN_FLAG 0x20000000
#define TYPE_MASK     0xf

#define LANDLOCK_TRUNCATE 3 /* the version from which on it knows of truncation */

/* New flags of clone and unshare, one rule each: a comparison under a mask is an equality. */
static const unsigned new_flags[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
				     CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};

static struct scmp_arg_cmp arg(unsigned index, enum scmp_compare op, uint64_t value)
{
	return (struct scmp_arg_cmp){.arg = index, .op = op, .datum_a = value};
}

/* The argument's bits under a mask are exactly these. */
static struct scmp_arg_cmp under(unsigned index, uint64_t mask, uint64_t value)
{
	return (struct scmp_arg_cmp){
	    .arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

/* The first failure sticks: a rule that could not be added is a filter that can't be used. */
struct maker {
	scmp_filter_ctx ctx;
	int rc;
};

static void deny(struct maker *m, uint32_t action, const char *name, unsigned count,
		 const struct scmp_arg_cmp *args)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (m->rc < 0 || nr == __NR_SCMP_ERROR)
		return; /* a call that no machine which libseccomp knows ever had */
	m->rc = seccomp_rule_add_array(m->ctx, action, nr, count, args);
}

static void deny_if(struct maker *m, uint32_t action, const char *name, struct scmp_arg_cmp a)
{
	deny(m, action, name, 1, &a);
}

static void deny_tables(struct maker *m)
{
	int nr;

	for (size_t i = 0; i < COUNT(eperm); i++)
		deny(m, SCMP_ACT_ERRNO(EPERM), eperm[i], 0, NULL);
	for (size_t i = 0; i < COUNT(enosys) && m->rc == 0; i++) {
		nr = seccomp_syscall_resolve_name(enosys[i].name);
		if (nr == __NR_SCMP_ERROR)
			nr = enosys[i].number;
		m->rc = seccomp_rule_add(m->ctx, SCMP_ACT_ERRNO(ENOSYS), nr, 0);
	}
}

static void deny_namespaces(struct maker *m)
{
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);

	for (size_t i = 0; i < COUNT(new_flags); i++) {
#if defined(__s390__) || defined(__CRIS__)
#error "clone takes its flags second here"
#endif
		deny_if(m, no, "clone", under(0, new_flags[i], new_flags[i]));
		deny_if(m, no, "unshare", under(0, new_flags[i], new_flags[i]));
	}
	/* in clone's flags the same bit is part of the exit signal */
	deny_if(m, no, "unshare", under(0, NEW_TIME, NEW_TIME));
}

static void deny_ipc(struct maker *m)
{
	for (size_t i = 0; i < COUNT(ipc); i++)
		deny(m, SCMP_ACT_ERRNO(ENOSYS), ipc[i], 0, NULL);
}

/* Below tier strong the program stands among the host's processes. Another's limits would do
 * what Landlock's scope keeps signals from: end the runtime, or keep it from writing its
 * record. */
static void deny_limits_of_others(struct maker *m)
{
	deny_if(m, SCMP_ACT_ERRNO(EPERM), "prlimit64", arg(0, SCMP_CMP_NE, 0));
}

/* Before its third version Landlock doesn't see a file being emptied by its path, nor on
 * opening it for anything but writing; without mounts nothing else would. What reads its flags
 * from memory can't be judged here. */
static void deny_truncation(struct maker *m)
{
	const uint32_t no = SCMP_ACT_ERRNO(EACCES);
	static const unsigned modes[] = {O_RDONLY,
					 O_ACCMODE}; /* the other two need the right */

	deny(m, no, "truncate", 0, NULL);
	deny(m, no, "truncate64", 0, NULL);
	for (size_t i = 0; i < COUNT(modes); i++) {
		deny_if(m, no, "open", under(1, O_TRUNC | O_ACCMODE, O_TRUNC | modes[i]));
		deny_if(m, no, "openat", under(2, O_TRUNC | O_ACCMODE, O_TRUNC | modes[i]));
	}
	deny(m, SCMP_ACT_ERRNO(ENOSYS), "openat2", 0, NULL);
}

/* Typing into, and pasting on, a terminal. The kernel looks at the lower half of the command
 * alone, so the rule does, too. */
static void deny_terminal(struct maker *m)
{
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);

	deny_if(m, no, "ioctl", under(1, 0xffffffffu, TIOCSTI_NR));
	deny_if(m, no, "ioctl", under(1, 0xffffffffu, TIOCLINUX_NR));
}

/* Everything but 0 (the default) and 0xffffffff (a question): such a number has a bit that is
 * set next to one that isn't, counting round. */
static void deny_personality(struct maker *m)
{
	for (unsigned i = 0; i < 32; i++) {
		uint32_t bit = 1u << i, next = 1u << ((i + 1) % 32);

		deny_if(m, SCMP_ACT_ERRNO(EPERM), "personality", under(0, bit | next, bit));
	}
}

struct sockets {
	bool unix_domain, inet, tcp_only;
};

static void deny_families(struct maker *m, const struct sockets *s)
{
	const uint32_t no = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	struct scmp_arg_cmp netlink[] = {arg(0, SCMP_CMP_EQ, AF_NETLINK),
					 arg(2, SCMP_CMP_NE, 0)};

	/* pairs are for talking to oneself; some families' ends can be led to others */
	deny_if(m, no, "socketpair", arg(0, SCMP_CMP_NE, AF_UNIX));
	if (!s->inet) {
		if (s->unix_domain)
			deny_if(m, no, "socket", arg(0, SCMP_CMP_NE, AF_UNIX));
		else
			deny(m, no, "socket", 0, NULL);
		return;
	}
	for (unsigned f = 0; f < AF_NETLINK; f++)
		if (!(f == AF_INET || f == AF_INET6 || (f == AF_UNIX && s->unix_domain)))
			deny_if(m, no, "socket", arg(0, SCMP_CMP_EQ, f));
	deny_if(m, no, "socket", arg(0, SCMP_CMP_GT, AF_NETLINK));
	/* resolvers ask the routing table for addresses; nothing else of netlink */
	deny(m, no, "socket", 2, netlink);
}

/* Where Landlock judges ports it judges TCP's connect: what reaches a peer in another way does
 * not exist. */
static void deny_around_tcp(struct maker *m)
{
	const uint32_t no = SCMP_ACT_ERRNO(EPROTONOSUPPORT);
	static const unsigned families[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < COUNT(families); i++) {
		for (unsigned type = 0; type <= TYPE_MASK; type++) {
			struct scmp_arg_cmp other[] = {arg(0, SCMP_CMP_EQ, families[i]),
						       under(1, TYPE_MASK, type)};

			if (type != SOCK_STREAM)
				deny(m, no, "socket", 2, other);
		}
		struct scmp_arg_cmp proto[] = {arg(0, SCMP_CMP_EQ, families[i]),
					       arg(2, SCMP_CMP_GT, IPPROTO_TCP)};
		deny(m, no, "socket", 2, proto);
	}
	deny_if(m, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendto",
		under(3, FASTOPEN_FLAG, FASTOPEN_FLAG));
	deny_if(m, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendmsg",
		under(2, FASTOPEN_FLAG, FASTOPEN_FLAG));
	deny_if(m, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendmmsg",
		under(3, FASTOPEN_FLAG, FASTOPEN_FLAG));
}

static struct sockets sockets_of(enum plan_sockets kind)
{
	switch (kind) {
	case PLAN_SOCKETS_UNIX:
		return (struct sockets){.unix_domain = true};
	case PLAN_SOCKETS_TCP:
		return (struct sockets){.inet = true, .tcp_only = true};
	case PLAN_SOCKETS_TCP_UNIX:
		return (struct sockets){.unix_domain = true, .inet = true, .tcp_only = true};
	case PLAN_SOCKETS_INET:
		return (struct sockets){.inet = true};
	case PLAN_SOCKETS_INET_UNIX:
		return (struct sockets){.unix_domain = true, .inet = true};
	case PLAN_SOCKETS_NONE:
	case PLAN_SOCKETS_COUNT:
		break;
	}
	return (struct sockets){0};
}

/* What mounts and namespaces make needless. */
static void deny_below_strong(struct maker *m, int landlock)
{
	deny_ipc(m);
	deny_limits_of_others(m);
	if (landlock < LANDLOCK_TRUNCATE)
		deny_truncation(m);
}

/* libseccomp doesn't tell of a write that was cut short. Where one was, not a byte more goes
 * in. */
static int check_whole(int fd)
{
	off_t size = lseek(fd, 0, SEEK_CUR);

	if (size < 0 || write(fd, "", 1) != 1 || ftruncate(fd, size) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

static int write_program(const struct maker *m, int fd)
{
	struct xfsz hold;
	int rc;

	xfsz_hold(&hold);
	errno = 0;
	rc = seccomp_export_bpf(m->ctx, fd);
	if (rc == 0)
		rc = check_whole(fd);
	xfsz_release(&hold, rc < 0);
	return rc;
}

static int make(struct maker *m, const struct sockets *s, int landlock, int fd)
{
	/* a balanced tree over the call's number: the linear list costs three times as much */
	m->rc = seccomp_attr_set(m->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	/* other system call conventions (x32, int 0x80) number their calls differently */
	if (m->rc == 0)
		m->rc =
		    seccomp_attr_set(m->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	deny_tables(m);
	deny_namespaces(m);
	deny_terminal(m);
	deny_personality(m);
	deny_families(m, s);
	if (s->tcp_only)
		deny_around_tcp(m);
	if (!s->unix_domain)
		deny_below_strong(m, landlock);
	if (m->rc == 0)
		m->rc = write_program(m, fd);
	return m->rc;
}

int box_filter_build(enum plan_sockets kind, int landlock, int *out, struct hcp_err *err)
{
	struct sockets s = sockets_of(kind);
	struct maker m = {.ctx = seccomp_init(SCMP_ACT_ALLOW)};
	AUTO_FD fd = box_memory(err);
	int rc;

	*out = -1;
	if (!m.ctx)
		return hcp_fail_nomem(err);
	rc = fd < 0 ? -1 : make(&m, &s, landlock, fd);
	seccomp_release(m.ctx);
	if (fd < 0)
		return -1;
	if (rc < 0)
		return hcp_fail(err, HCP_E_SYS, "sandbox: seccomp unavailable: %s",
				strerrordesc_np(-rc) ? strerrordesc_np(-rc) : "libseccomp");
	if (box_seal(fd, err) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}
