/* SPDX-License-Identifier: MIT */
/* Landlock on top of the mounts in tier strong, and instead of them below it: the plan's places
 * as rules. The best that the kernel knows is asked for and what it knows is reported; where it
 * knows nothing the run fails. Two things it can't do: a rule on a folder covers whatever is
 * beneath it, and a dynamic linker that may be executed (any dynamic program needs it) can be
 * told to load a program that may not. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>

/* As the kernel has them, for headers older than it. */
#define FS_EXECUTE   ((uint64_t)1 << 0)
#define FS_WRITE     ((uint64_t)1 << 1)
#define FS_READ      ((uint64_t)1 << 2)
#define FS_READ_DIR  ((uint64_t)1 << 3)
#define FS_TRUNCATE  ((uint64_t)1 << 14)
#define FS_IOCTL_DEV ((uint64_t)1 << 15)
#define NET_BOTH     3ull /* bind and connect, TCP */
#define NET_CONNECT  2ull
#define SCOPE_BOTH   3ull /* abstract sockets, signals */
#define RULE_NET     2

struct ruleset_attr {
	uint64_t fs, net, scoped;
};
struct net_attr {
	uint64_t access, port;
};

/* ABI 1 has the rights up to MAKE_SYM; each later one added at the top. */
static uint64_t fs_rights(long abi)
{
	uint64_t all = ((uint64_t)1 << 13) - 1;

	if (abi >= 2)
		all |= 1ull << 13; /* REFER */
	if (abi >= 3)
		all |= FS_TRUNCATE;
	if (abi >= 5)
		all |= FS_IOCTL_DEV;
	return all;
}

struct rules {
	struct box_init *s;
	uint64_t handled;
	long fd;
};

static void allow_fd(const struct rules *r, long fd, const struct stat *st, uint64_t access,
		     const char *what)
{
	struct landlock_path_beneath_attr attr = {.parent_fd = (int)fd};

	if (!S_ISDIR(st->st_mode))
		access &= FS_EXECUTE | FS_WRITE | FS_READ | FS_TRUNCATE | FS_IOCTL_DEV;
	attr.allowed_access = access & r->handled;
	if (attr.allowed_access)
		need(BOX_LAYER_LANDLOCK,
		     sys4(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH,
			  SYS_PTR(&attr), 0),
		     what);
}

static long open_place(const char *path, int flags, struct stat *st)
{
	long fd = sys_open(AT_FDCWD, path, O_PATH | O_CLOEXEC | flags, 0), r;

	if (fd < 0)
		return fd;
	r = sys2(SYS_fstat, fd, SYS_PTR(st));
	need(BOX_LAYER_LANDLOCK, r, path);
	return fd;
}

static void allow_path(const struct rules *r, const char *path, uint64_t access)
{
	struct stat st;
	long fd = need(BOX_LAYER_LANDLOCK, open_place(path, 0, &st), path);

	allow_fd(r, fd, &st, access, path);
	sys_close(fd);
}

/* In tier strong "/" holds nothing but the plan's places, so one rule lets all of them be read;
 * only what may be written needs its own. */
static void allow_written(const struct rules *r, const struct plan_entry *e)
{
	if ((e->flags & PLAN_WRITE) && e->kind != PLAN_DEVICE)
		allow_path(r, text_at(r->s, e->dst), r->handled & ~(FS_EXECUTE | FS_IOCTL_DEV));
}

static uint64_t rights_of(const struct rules *r, const struct plan_entry *e)
{
	uint64_t execute = r->s->plan->exec_given ? 0 : FS_EXECUTE;

	if (e->kind == PLAN_DEVICE)
		return FS_READ | FS_WRITE | FS_IOCTL_DEV | FS_TRUNCATE;
	if (e->flags & PLAN_WRITE)
		return (r->handled & ~(FS_EXECUTE | FS_IOCTL_DEV)) | execute;
	return FS_READ | FS_READ_DIR | execute;
}

/* Below tier strong each place is let through on the host itself. */
static void allow_on_host(const struct rules *r, const struct plan_entry *e)
{
	const char *path = text_at(r->s, e->src);
	int optional = e->kind == PLAN_SYSTEM || e->kind == PLAN_FOLLOW;
	struct stat st;
	long fd = open_place(path, e->kind == PLAN_SYSTEM ? O_NOFOLLOW : 0, &st);

	if (optional && (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES))
		return;
	need(BOX_LAYER_LANDLOCK, fd, path);
	if ((e->flags & PLAN_CHECKED) && (st.st_dev != e->dev || st.st_ino != e->ino))
		fail(BOX_LAYER_LANDLOCK, ESTALE, path);
	/* what a link leads to is a place of its own */
	if (!S_ISLNK(st.st_mode))
		allow_fd(r, fd, &st, rights_of(r, e), path);
	sys_close(fd);
}

static void allow_places(const struct rules *r)
{
	const struct box_plan *p = r->s->plan;
	const struct plan_entry *e =
	    (const struct plan_entry *)(const void *)(r->s->base + p->entries);

	if (p->tier == PLAN_TIER_STRONG) {
		allow_path(r, "/", FS_READ | FS_READ_DIR | (p->exec_given ? 0 : FS_EXECUTE));
		/* where nothing is but the plan's devices, links and /dev/shm */
		allow_path(r, "/dev", FS_READ | FS_WRITE | FS_IOCTL_DEV | FS_TRUNCATE);
	}
	for (uint32_t i = 0; i < p->entry_count; i++) {
		if (p->tier == PLAN_TIER_STRONG)
			allow_written(r, &e[i]);
		else
			allow_on_host(r, &e[i]);
	}
}

static void allow_ports(const struct rules *r)
{
	const struct box_plan *p = r->s->plan;
	const uint32_t *port = (const uint32_t *)(const void *)(r->s->base + p->ports);
	struct net_attr attr = {.access = NET_CONNECT};

	for (uint32_t i = 0; i < p->port_count; i++) {
		attr.port = port[i];
		need(BOX_LAYER_LANDLOCK,
		     sys4(SYS_landlock_add_rule, r->fd, RULE_NET, SYS_PTR(&attr), 0), "port");
	}
}

static size_t attr_size(long abi)
{
	return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

void make_ruleset(struct box_init *s)
{
	const struct box_plan *p = s->plan;
	int inet = p->sockets == PLAN_SOCKETS_INET || p->sockets == PLAN_SOCKETS_INET_UNIX;
	int tcp = p->sockets == PLAN_SOCKETS_TCP || p->sockets == PLAN_SOCKETS_TCP_UNIX;
	long abi = sys3(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset_attr attr = {.fs = fs_rights(abi), .net = inet ? 0 : NET_BOTH};
	struct rules r = {.s = s, .handled = attr.fs};

	if (p->tier == PLAN_TIER_NATIVE)
		return;
	attr.scoped = SCOPE_BOTH;
	need(BOX_LAYER_LANDLOCK, abi, "kernel");
	if (tcp && abi < 4)
		fail(BOX_LAYER_LANDLOCK, EOPNOTSUPP, "network: connect needs ABI 4");
	r.fd = need(BOX_LAYER_LANDLOCK,
		    sys3(SYS_landlock_create_ruleset, SYS_PTR(&attr), (long)attr_size(abi), 0),
		    "ruleset");
	allow_places(&r);
	if (tcp)
		allow_ports(&r);
	if (p->exec_given)
		allow_programs(s, r.fd);
	s->ruleset_fd = (int)r.fd;
	s->landlock = (uint32_t)abi;
}
