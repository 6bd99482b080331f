/* SPDX-License-Identifier: MIT */
/* The new root: a private tmpfs on which the plan's places are made one after the other, which
 * then becomes "/" while the host's tree is let go. Nothing is ever created on the host: every
 * folder on the way to a place is made and entered step by step, no link followed, and a source
 * is opened before its target is made. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#define UMOUNT_DETACH 2

static long set_attributes(int fd, unsigned flags, uint64_t set, uint64_t propagation)
{
	struct mount_attr attr = {.attr_set = set, .propagation = propagation};

	return sys5(SYS_mount_setattr, fd, SYS_PTR(""), AT_EMPTY_PATH | flags, SYS_PTR(&attr),
		    sizeof(attr));
}

static void set_option(long fs, const char *key, const char *value)
{
	need(BOX_LAYER_ROOT,
	     sys5(SYS_fsconfig, fs, FSCONFIG_SET_STRING, SYS_PTR(key), SYS_PTR(value), 0), key);
}

static void start_root(struct box_init *s)
{
	struct mount_attr private = {.propagation = MS_PRIVATE};
	long fs, fd;

	need(BOX_LAYER_MNTNS,
	     sys5(SYS_mount_setattr, AT_FDCWD, SYS_PTR("/"), AT_RECURSIVE, SYS_PTR(&private),
		  sizeof(private)),
	     "/");
	fs = need(BOX_LAYER_ROOT, sys2(SYS_fsopen, SYS_PTR("tmpfs"), FSOPEN_CLOEXEC), "tmpfs");
	set_option(fs, "mode", "0755");
	set_option(fs, "size", "64M");
	need(BOX_LAYER_ROOT, sys5(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0), "tmpfs");
	fd = need(BOX_LAYER_ROOT,
		  sys3(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC),
		  "tmpfs");
	sys_close(fs);
	need(BOX_LAYER_ROOT,
	     sys5(SYS_move_mount, fd, SYS_PTR(""), AT_FDCWD, SYS_PTR("/"),
		  MOVE_MOUNT_F_EMPTY_PATH),
	     "tmpfs");
	need(BOX_LAYER_ROOT, sys1(SYS_fchdir, fd), "tmpfs");
	s->root_fd = (int)fd;
}

/* Enters the folder that holds the last component of `path`, making what is missing. *last is
 * that component. The path is the plan's own copy: a '/' in it is a NUL for a moment. */
static int enter_parent(struct box_init *s, char *path, char **last)
{
	int at = s->root_fd;
	char *part = path + 1, *end;
	long next;

	for (;;) {
		for (end = part; *end && *end != '/'; end++)
			;
		if (!*end)
			break;
		*end = '\0';
		next = sys3(SYS_mkdirat, at, SYS_PTR(part), 0755);
		if (next < 0 && next != -EEXIST && next != -EROFS)
			fail(BOX_LAYER_MOUNT, next, path);
		next = sys_open(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
		need(BOX_LAYER_MOUNT, next, path);
		*end = '/';
		if (at != s->root_fd)
			sys_close(at);
		at = (int)next;
		part = end + 1;
	}
	*last = part;
	return at;
}

static void leave_parent(const struct box_init *s, int at)
{
	if (at != s->root_fd)
		sys_close(at);
}

/* Something to mount on: a folder or an empty file, as the source is. */
static long make_target(struct box_init *s, char *path, int is_folder)
{
	char *name;
	int at = enter_parent(s, path, &name);
	long r;

	if (is_folder)
		r = sys3(SYS_mkdirat, at, SYS_PTR(name), 0755);
	else
		r = sys_open(at, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
	if (r < 0 && r != -EEXIST && r != -EROFS)
		fail(BOX_LAYER_MOUNT, r, path);
	if (!is_folder)
		sys_close(r);
	r = sys_open(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	leave_parent(s, at);
	return need(BOX_LAYER_MOUNT, r, path);
}

static void make_link(struct box_init *s, const char *target, char *path)
{
	char *name;
	int at = enter_parent(s, path, &name);

	need(BOX_LAYER_MOUNT, sys3(SYS_symlinkat, SYS_PTR(target), at, SYS_PTR(name)), path);
	leave_parent(s, at);
}

static void give_away(const struct box_init *s, const struct plan_entry *e, long fd,
		      const char *path)
{
	if ((e->flags & PLAN_OWNED) && !s->plan->user_first)
		need(BOX_LAYER_MOUNT, sys3(SYS_fchown, fd, s->plan->uid, s->plan->gid), path);
}

static void make_folder(struct box_init *s, const struct plan_entry *e)
{
	char *path = text_at(s, e->dst), *name;
	int at = enter_parent(s, path, &name);
	long fd;

	need(BOX_LAYER_MOUNT, sys3(SYS_mkdirat, at, SYS_PTR(name), e->mode), path);
	fd = need(BOX_LAYER_MOUNT,
		  sys_open(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0), path);
	give_away(s, e, fd, path);
	sys_close(fd);
	leave_parent(s, at);
}

static void make_text(struct box_init *s, const struct plan_entry *e)
{
	char *path = text_at(s, e->dst), *name;
	const char *data = text_at(s, e->src);
	int at = enter_parent(s, path, &name);
	size_t done = 0;
	long fd, n;

	fd = need(BOX_LAYER_MOUNT,
		  sys_open(at, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, e->mode), path);
	while (done < e->len) {
		n = sys3(SYS_write, fd, SYS_PTR(data + done), (long)(e->len - done));
		need(BOX_LAYER_MOUNT, n, path);
		done += (size_t)n;
	}
	give_away(s, e, fd, path);
	sys_close(fd);
	leave_parent(s, at);
}

static void attach(struct box_init *s, const struct plan_entry *e, long source,
		   const struct stat *st)
{
	char *dst = text_at(s, e->dst);
	uint64_t set = MOUNT_ATTR_NOSUID;
	long tree, to;

	set |= e->kind == PLAN_DEVICE ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
	if (!(e->flags & PLAN_WRITE) || e->kind == PLAN_DEVICE)
		set |= MOUNT_ATTR_RDONLY; /* of a device: its node, not what it takes */
	tree = sys3(SYS_open_tree, source, SYS_PTR(""),
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	need(BOX_LAYER_MOUNT, tree, dst);
	need(BOX_LAYER_MOUNT, set_attributes((int)tree, AT_RECURSIVE, set, 0), dst);
	to = make_target(s, dst, S_ISDIR(st->st_mode));
	need(BOX_LAYER_MOUNT,
	     sys5(SYS_move_mount, tree, SYS_PTR(""), to, SYS_PTR(""),
		  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
	     dst);
	sys_close(to);
	sys_close(tree);
}

/* A socket or a FIFO that is shown reaches through any read-only mount. */
static int can_be_shown(const struct plan_entry *e, const struct stat *st)
{
	if (e->kind == PLAN_DEVICE)
		return S_ISCHR(st->st_mode);
	return S_ISDIR(st->st_mode) || S_ISREG(st->st_mode);
}

static void bind_place(struct box_init *s, const struct plan_entry *e)
{
	const char *src = text_at(s, e->src);
	struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	struct stat st;
	long fd;

	/* Known by its inode: any path may lead there. Known by its path alone: no link may
	 * stand in it, for it was resolved when the policy was loaded. */
	how.resolve = e->flags & PLAN_CHECKED ? RESOLVE_NO_MAGICLINKS : RESOLVE_NO_SYMLINKS;
	fd = sys4(SYS_openat2, AT_FDCWD, SYS_PTR(src), SYS_PTR(&how), sizeof(how));
	need(BOX_LAYER_MOUNT, fd, src);
	need(BOX_LAYER_MOUNT, sys2(SYS_fstat, fd, SYS_PTR(&st)), src);
	if ((e->flags & PLAN_CHECKED) && (st.st_dev != e->dev || st.st_ino != e->ino))
		fail(BOX_LAYER_MOUNT, ESTALE, src);
	if (!can_be_shown(e, &st))
		fail(BOX_LAYER_MOUNT, ENOTSUP, src);
	attach(s, e, fd, &st);
	sys_close(fd);
}

/* A part of the system: absent on some hosts, a link on others. */
static void bind_system(struct box_init *s, const struct plan_entry *e)
{
	const char *src = text_at(s, e->src);
	int follow = e->kind == PLAN_FOLLOW;
	char target[512];
	struct stat st;
	long fd = sys_open(AT_FDCWD, src, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0), n;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return;
	need(BOX_LAYER_MOUNT, fd, src);
	need(BOX_LAYER_MOUNT, sys2(SYS_fstat, fd, SYS_PTR(&st)), src);
	if (S_ISLNK(st.st_mode)) {
		n = sys4(SYS_readlinkat, fd, SYS_PTR(""), SYS_PTR(target), sizeof(target));
		need(BOX_LAYER_MOUNT, n == (long)sizeof(target) ? -ENAMETOOLONG : n, src);
		target[n] = '\0';
		make_link(s, target, text_at(s, e->dst));
	} else if (can_be_shown(e, &st)) {
		attach(s, e, fd, &st);
	}
	sys_close(fd);
}

/* By a path relative to the new root, which is the working directory: these are places of ours
 * on a tmpfs of ours, so no link can stand in them. */
static void mount_new(struct box_init *s, const struct plan_entry *e)
{
	int proc = e->kind == PLAN_PROC;
	const char *type = proc ? "proc" : "tmpfs";
	char *dst = text_at(s, e->dst);
	long flags = MS_NOSUID | MS_NODEV;

	if (s->plan->stage != PLAN_STAGE_USE) /* a stage has the places */
		sys_close(make_target(s, dst, 1));
	if (proc)
		flags |= MS_NOEXEC | MS_RDONLY;
	need(proc ? BOX_LAYER_PROCFS : BOX_LAYER_MOUNT,
	     sys5(SYS_mount, SYS_PTR(type), SYS_PTR(dst + 1), SYS_PTR(type), flags,
		  SYS_PTR(text_at(s, e->src))),
	     dst);
}

static void make_place(struct box_init *s, const struct plan_entry *e)
{
	/* The kernel lets a proc be mounted where one can be seen: also that of a stage. */
	if (s->plan->stage == PLAN_STAGE_MAKE && e->kind == PLAN_TMPFS) {
		sys_close(make_target(s, text_at(s, e->dst), 1));
		return;
	}
	switch ((enum plan_kind)e->kind) {
	case PLAN_FOLDER:
		make_folder(s, e);
		return;
	case PLAN_LINK:
		make_link(s, text_at(s, e->src), text_at(s, e->dst));
		return;
	case PLAN_TEXT:
		make_text(s, e);
		return;
	case PLAN_BIND:
	case PLAN_DEVICE:
		bind_place(s, e);
		return;
	case PLAN_SYSTEM:
	case PLAN_FOLLOW:
		bind_system(s, e);
		return;
	case PLAN_TMPFS:
	case PLAN_PROC:
		mount_new(s, e);
		return;
	case PLAN_NOTHING:
		break;
	}
	fail(BOX_LAYER_MOUNT, EPROTO, "plan");
}

/* pivot_root(2) with "." twice: the old root ends up on top of the new one and is let go. */
static void switch_root(struct box_init *s)
{
	need(BOX_LAYER_ROOT, set_attributes(s->root_fd, 0, MOUNT_ATTR_RDONLY, 0), "read-only");
	need(BOX_LAYER_ROOT, sys2(SYS_pivot_root, SYS_PTR("."), SYS_PTR(".")), "pivot_root");
	need(BOX_LAYER_ROOT, sys2(SYS_umount2, SYS_PTR("."), UMOUNT_DETACH), "umount");
	need(BOX_LAYER_ROOT, sys1(SYS_chdir, SYS_PTR("/")), "/");
	sys_close(s->root_fd);
	s->root_fd = -1;
}

void build_root(struct box_init *s)
{
	const struct plan_entry *e =
	    (const struct plan_entry *)(const void *)(s->base + s->plan->entries);

	start_root(s);
	for (uint32_t i = 0; i < s->plan->entry_count; i++)
		make_place(s, &e[i]);
	switch_root(s);
}

/* In a copy of a stage's mounts. */
void finish_root(struct box_init *s)
{
	const struct plan_entry *e =
	    (const struct plan_entry *)(const void *)(s->base + s->plan->entries);

	need(BOX_LAYER_ROOT, sys1(SYS_chdir, SYS_PTR("/")), "/");
	for (uint32_t i = 0; i < s->plan->entry_count; i++)
		if (plan_is_own(&e[i]))
			mount_new(s, &e[i]);
}
