/* SPDX-License-Identifier: MIT */
/* Which stage serves which run. A key says all that a stage shows: a file that was replaced, a
 * folder, an owner, a tenant make another key, and another stage. The host's mounts are no part
 * of it: when they change, all stages go. The first run of its kind is built whole, as every
 * run of a short-lived program is; the second makes the stage. */
#include "box/stage.h"

#include "box/host.h"
#include "box/plan.h"
#include "box/spawn.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAKE_MS 10000
/* From here on Landlock keeps abstract sockets and signals of runs apart; before, only a
 * network namespace of each run's own does. */
#define LANDLOCK_SCOPES 6

/* ---- what may be shared ---- */

static const struct plan_entry *entries_of(const struct box_plan *p)
{
	return (const void *)((const char *)p + p->entries);
}

static const char *text_of(const struct box_plan *p, uint32_t offset)
{
	return offset ? (const char *)p + offset : "";
}

static bool beneath(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (!path[n] || path[n] == '/');
}

/* What a run's own mount would hide. */
static bool is_hidden(const struct box_plan *p, const struct plan_entry *e)
{
	const struct plan_entry *all = entries_of(p);

	for (uint32_t i = 0; i < p->entry_count; i++)
		if (plan_is_own(&all[i]) && beneath(text_of(p, e->dst), text_of(p, all[i].dst)))
			return true;
	return false;
}

/* Files that are given to one run alone have no place in what others see. */
static bool can_be_staged(const struct box_plan *p)
{
	const struct plan_entry *e = entries_of(p);

	if (p->tier != PLAN_TIER_STRONG || p->trace)
		return false;
	for (uint32_t i = 0; i < p->entry_count; i++)
		if (!plan_is_own(&e[i]) && ((e[i].flags & PLAN_OWNED) || is_hidden(p, &e[i])))
			return false;
	return true;
}

/* ---- the key ---- */

#define ADD(hash, value)                                                                       \
	crypto_generichash_update(hash, (const unsigned char *)&(value), sizeof(value))

static void add_text(crypto_generichash_state *hash, const char *text)
{
	crypto_generichash_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

static void add_file(crypto_generichash_state *hash, const char *path, int flags)
{
	struct stat st = {0};

	if (fstatat(AT_FDCWD, path, &st, flags) < 0)
		memset(&st, 0, sizeof(st));
	ADD(hash, st.st_dev);
	ADD(hash, st.st_ino);
	ADD(hash, st.st_mode);
	/* what a link says can't change without making it anew, but inodes are used again */
	if (S_ISLNK(st.st_mode))
		ADD(hash, st.st_ctim);
}

static void add_entry(crypto_generichash_state *hash, const struct box_plan *p,
		      const struct plan_entry *e)
{
	ADD(hash, e->kind);
	add_text(hash, text_of(p, e->dst));
	if (plan_is_own(e))
		return;
	ADD(hash, e->flags);
	ADD(hash, e->mode);
	ADD(hash, e->dev);
	ADD(hash, e->ino);
	ADD(hash, e->len);
	if (e->kind == PLAN_TEXT)
		crypto_generichash_update(hash, (const unsigned char *)text_of(p, e->src),
					  e->len);
	else
		add_text(hash, text_of(p, e->src));
	if (e->kind == PLAN_SYSTEM || e->kind == PLAN_FOLLOW || e->kind == PLAN_DEVICE ||
	    e->kind == PLAN_BIND)
		add_file(hash, text_of(p, e->src),
			 e->kind == PLAN_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW);
}

static void make_key(const struct box_spec *spec, const struct box_plan *p,
		     unsigned char key[STAGE_KEY])
{
	const struct plan_entry *e = entries_of(p);
	crypto_generichash_state hash;

	crypto_generichash_init(&hash, NULL, 0, STAGE_KEY);
	add_text(&hash, spec->tenant ? spec->tenant : "");
	ADD(&hash, p->uid);
	ADD(&hash, p->gid);
	ADD(&hash, p->user_first);
	ADD(&hash, p->own_net);
	/* a thread may have a root and mounts of its own */
	add_file(&hash, "/", 0);
	add_file(&hash, "/proc/thread-self/ns/mnt", 0);
	add_file(&hash, "/proc/thread-self/ns/user", 0);
	for (uint32_t i = 0; i < p->entry_count; i++)
		add_entry(&hash, p, &e[i]);
	crypto_generichash_final(&hash, key, STAGE_KEY);
}

/* ---- making one ---- */

/* What a descriptor leads to; 0: nowhere. */
static ino_t inode_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void remember(struct box_stage *g)
{
	g->inodes[0] = inode_of(g->user);
	g->inodes[1] = inode_of(g->net);
	g->inodes[2] = inode_of(g->mnt);
}

/* Entering whatever else has their numbers now would be the end of the jail; and closing it is
 * not for us. */
static bool is_intact(const struct box_stage *g)
{
	return g->inodes[0] == inode_of(g->user) && g->inodes[1] == inode_of(g->net) &&
	       g->inodes[2] == inode_of(g->mnt);
}

static void stage_clear(struct box_stage *g)
{
	if (is_intact(g)) {
		fd_close(&g->user);
		fd_close(&g->net);
		fd_close(&g->mnt);
	}
	g->user = g->net = g->mnt = -1;
	remember(g);
	g->state = STAGE_FREE;
}

#define NAMESPACES 3

/* The namespaces come with the one report, in this order: mount, network, user, those that the
 * plan has. -1: the init failed or says nothing. */
static int receive(int sock, const struct box_plan *p, struct box_stage *g)
{
	union {
		char room[CMSG_SPACE(NAMESPACES * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct pollfd ready = {.fd = sock, .events = POLLIN};
	int fds[NAMESPACES] = {-1, -1, -1}, want = 1 + !!p->own_net + !!p->user_first, n = 0;
	struct box_report r = {0};
	struct iovec v = {&r, sizeof(r)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control.room,
			   .msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;

	if (poll(&ready, 1, MAKE_MS) != 1 ||
	    recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != (ssize_t)sizeof(r))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)n * sizeof(int));
	}
	for (int i = 0; i < n; i++)
		fds[i] = fd_above_stdio(fds[i]);
	n = 0;
	g->mnt = fds[n++];
	g->net = p->own_net ? fds[n++] : -1;
	g->user = p->user_first ? fds[n++] : -1;
	for (int i = 0; i < want; i++)
		if (fds[i] < 0)
			return -1;
	return r.what == BOX_REPORT_STARTED ? 0 : -1;
}

/* Its end is what nobody has to wait for; it is waited for all the same, so that what a runtime
 * has started is gone. */
static void see_off(int *pidfd, bool quiet)
{
	struct pollfd gone = {.fd = *pidfd, .events = POLLIN};
	siginfo_t info;

	if (!quiet)
		syscall(SYS_pidfd_send_signal, *pidfd, SIGKILL, NULL, 0);
	while (poll(&gone, 1, MAKE_MS) < 0 && errno == EINTR)
		;
	waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED | WNOHANG | __WALL);
	fd_close(pidfd);
}

static int make(struct box_host *h, const struct box_plan *plan, struct box_stage *g)
{
	struct spawn s = {.plan = plan, .stacks = &h->stacks, .init_fd = h->init_fd};
	struct hcp_err ignored = {0};
	AUTO_FD sealed = -1, ours = -1, theirs = -1;
	int pair[2], pidfd = -1, rc;
	int32_t error;
	uint32_t layer;

	if (box_sealed_plan(plan, PLAN_STAGE_MAKE, &sealed, &ignored) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	ours = fd_above_stdio(pair[0]);
	theirs = fd_above_stdio(pair[1]);
	if (ours < 0 || theirs < 0)
		return -1;
	for (int i = 0; i < BOX_FD_COUNT; i++)
		s.fds[i] = -1;
	s.fds[BOX_FD_PLAN] = sealed;
	s.fds[BOX_FD_REPORT] = s.fds[BOX_FD_STAGE] = theirs;
	if (box_spawn(&s, &pidfd, &layer, &error) < 0)
		return -1;
	pidfd = fd_above_stdio(pidfd);
	fd_close(&theirs);
	rc = receive(ours, plan, g);
	if (!fd_leaves_room(g->mnt) || !fd_leaves_room(g->net) || !fd_leaves_room(g->user))
		rc = -1;
	if (h->landlock < LANDLOCK_SCOPES)
		fd_close(&g->net);
	remember(g);
	see_off(&pidfd, rc == 0);
	return rc;
}

/* ---- taking one ---- */

void box_stages_init(struct box_stages *s)
{
	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < STAGE_COUNT; i++)
		s->slots[i].user = s->slots[i].net = s->slots[i].mnt = -1;
	s->mounts = -1;
}

static void forget(struct box_stages *s)
{
	for (size_t i = 0; i < STAGE_COUNT; i++) {
		struct box_stage *g = &s->slots[i];

		/* one that is in use has no key any more, and goes with its last user */
		if (g->users || g->state == STAGE_MAKING)
			sodium_memzero(g->key, sizeof(g->key));
		else
			stage_clear(g);
	}
}

void box_stages_free(struct box_stages *s)
{
	forget(s);
	fd_close(&s->mounts);
	pthread_mutex_destroy(&s->lock);
}

void box_host_forget(struct box_host *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->stages.lock);
	forget(&h->stages);
	pthread_mutex_unlock(&h->stages.lock);
}

/* false: whether the host's mounts have changed can't be told. */
static bool watch_mounts(struct box_stages *s)
{
	struct pollfd p = {.events = POLLPRI};

	if (s->pid != getpid()) {
		forget(s);
		fd_close(&s->mounts);
		s->pid = getpid();
	}
	if (s->mounts < 0)
		s->mounts = fd_above_stdio(
		    open("/proc/thread-self/mounts", O_RDONLY | O_CLOEXEC | O_NOCTTY));
	p.fd = s->mounts;
	if (s->mounts < 0 || poll(&p, 1, 0) < 0)
		return false;
	if (p.revents)
		forget(s);
	return true;
}

/* The one of this key, else the one that was used longest ago and isn't in use, cleared. */
static struct box_stage *find(struct box_stages *s, const unsigned char key[STAGE_KEY])
{
	struct box_stage *oldest = NULL;

	for (size_t i = 0; i < STAGE_COUNT; i++) {
		struct box_stage *g = &s->slots[i];

		if (g->state != STAGE_FREE && memcmp(g->key, key, STAGE_KEY) == 0)
			return g;
		if (!g->users && g->state != STAGE_MAKING &&
		    (!oldest || g->used < oldest->used))
			oldest = g;
	}
	if (!oldest)
		return NULL;
	stage_clear(oldest);
	memcpy(oldest->key, key, STAGE_KEY);
	return oldest;
}

/* What is to be done with it: true where it is to be made. */
static bool look(struct box_stages *s, const unsigned char key[STAGE_KEY],
		 struct box_stage **out)
{
	struct box_stage *g = watch_mounts(s) ? find(s, key) : NULL;

	*out = NULL;
	if (!g)
		return false;
	g->used = ++s->takes;
	switch (g->state) {
	case STAGE_FREE:
		g->state = STAGE_SEEN;
		return false;
	case STAGE_SEEN:
		g->state = STAGE_MAKING;
		*out = g;
		return true;
	case STAGE_READY:
		if (!is_intact(g)) {
			g->state = STAGE_FAILED;
			return false;
		}
		g->users++;
		*out = g;
		return false;
	case STAGE_MAKING:
	case STAGE_FAILED:
		return false;
	}
	return false;
}

struct box_stage *box_stage_take(struct box_host *h, const struct box_spec *spec,
				 const struct box_plan *plan)
{
	struct box_stages *s = &h->stages;
	unsigned char key[STAGE_KEY], after[STAGE_KEY];
	struct box_stage *g, made;
	bool to_make, ok;

	if (!can_be_staged(plan))
		return NULL;
	make_key(spec, plan, key);
	pthread_mutex_lock(&s->lock);
	to_make = look(s, key, &g);
	pthread_mutex_unlock(&s->lock);
	if (!to_make)
		return g;
	made = (struct box_stage){.user = -1, .net = -1, .mnt = -1};
	ok = make(h, plan, &made) == 0;
	make_key(spec, plan, after); /* what was replaced meanwhile may be what it shows */
	pthread_mutex_lock(&s->lock);
	if (!ok || memcmp(after, key, STAGE_KEY) != 0 || memcmp(g->key, key, STAGE_KEY) != 0) {
		stage_clear(&made);
		g->state = STAGE_FAILED;
		g = NULL;
	} else {
		g->user = made.user;
		g->net = made.net;
		g->mnt = made.mnt;
		memcpy(g->inodes, made.inodes, sizeof(g->inodes));
		g->state = STAGE_READY;
		g->users = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return g;
}

void box_stage_give_back(struct box_host *h, struct box_stage *g, bool works)
{
	static const unsigned char forgotten[STAGE_KEY];

	pthread_mutex_lock(&h->stages.lock);
	g->users--;
	if (!works)
		g->state = STAGE_FAILED;
	if (!g->users && memcmp(g->key, forgotten, STAGE_KEY) == 0)
		stage_clear(g);
	pthread_mutex_unlock(&h->stages.lock);
}

void box_stage_refuse(struct box_host *h, const unsigned char key[STAGE_KEY])
{
	struct box_stages *s = &h->stages;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < STAGE_COUNT; i++)
		if (s->slots[i].state == STAGE_READY &&
		    memcmp(s->slots[i].key, key, STAGE_KEY) == 0)
			s->slots[i].state = STAGE_FAILED;
	pthread_mutex_unlock(&s->lock);
}
