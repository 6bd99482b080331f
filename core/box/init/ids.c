/* SPDX-License-Identifier: MIT */
/* Who the program is. Without root, the init wakes up in a user namespace in which nobody has
 * a number yet, and gives itself its own; in a stage's it goes on into one of the run's. As
 * root it mounts as root and becomes the sandbox user afterwards, in a user namespace that owns
 * nothing of what was built. In neither case does the program have a capability, a group, or
 * the host's uid 0. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <unistd.h>

static void write_file(int dir, const char *path, const char *text)
{
	size_t len = text_len(text);
	long fd = need(BOX_LAYER_USERNS, sys_open(dir, path, O_WRONLY | O_CLOEXEC, 0), path);

	need(BOX_LAYER_USERNS, sys3(SYS_write, fd, SYS_PTR(text), (long)len), path);
	sys_close(fd);
}

/* user_namespaces(7): a map of one's own id needs no privilege once setgroups is denied. By the
 * host's proc: the one inside is read-only. */
void map_user(struct box_init *s)
{
	write_file(s->proc_fd, "self/setgroups", "deny");
	write_file(s->proc_fd, "self/gid_map", text_at(s, s->plan->gid_map));
	write_file(s->proc_fd, "self/uid_map", text_at(s, s->plan->uid_map));
	sys_close(s->proc_fd);
	held(BOX_LAYER_USERNS);
}

/* A user namespace that owns nothing of what was built, neither the mounts nor the network. */
static void enter_own(struct box_init *s)
{
	need(BOX_LAYER_USERNS, sys1(SYS_unshare, CLONE_NEWUSER), "unshare");
	map_user(s);
}

static void become_user(struct box_init *s)
{
	const struct box_plan *p = s->plan;

	need(BOX_LAYER_IDS, sys2(SYS_setgroups, 0, 0), "setgroups");
	need(BOX_LAYER_IDS, sys3(SYS_setresgid, p->gid, p->gid, p->gid), "setresgid");
	need(BOX_LAYER_IDS, sys3(SYS_setresuid, p->uid, p->uid, p->uid), "setresuid");
	if (p->tier != PLAN_TIER_STRONG)
		return;
	/* setresuid made /proc/self root's; the maps must be ours to write */
	need(BOX_LAYER_USERNS, sys5(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable");
	enter_own(s);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	long r;

	need(BOX_LAYER_NNP, sys5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), NULL);
	for (int cap = 0; cap < 64; cap++) {
		r = sys5(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (r == -EINVAL)
			break; /* past the last one */
		/* without CAP_SETPCAP the set stays, and nothing can be gained from it */
		if (r < 0 && r != -EPERM)
			fail(BOX_LAYER_IDS, r, "bounding set");
	}
	need(BOX_LAYER_IDS, sys5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
	     "ambient");
	need(BOX_LAYER_IDS, sys2(SYS_capset, SYS_PTR(&head), SYS_PTR(none)), "capset");
}

/* A folder on the way to the program that this user can't pass through would show as a program
 * that can't be executed. */
static void check_way(char *path)
{
	long r;

	for (char *p = path; *p; p++) {
		if (*p != '/' || p == path)
			continue;
		*p = '\0';
		r = sys3(SYS_faccessat, AT_FDCWD, SYS_PTR(path), X_OK);
		if (r == -EACCES)
			fail(BOX_LAYER_BIN, r, path);
		*p = '/';
	}
}

void drop_privileges(struct box_init *s)
{
	if (!s->plan->user_first && sys1(SYS_geteuid, 0) == 0)
		become_user(s);
	else if (s->plan->stage == PLAN_STAGE_USE)
		enter_own(s);
	drop_capabilities();
	/* nobody of this uid may read or trace the init: it has seen the environment */
	need(BOX_LAYER_IDS, sys5(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable");
	if (sys1(SYS_geteuid, 0) != s->plan->uid || sys1(SYS_getegid, 0) != s->plan->gid ||
	    s->plan->uid == 0)
		fail(BOX_LAYER_IDS, EPERM, "uid");
	check_way(s->base + s->plan->bin);
}
