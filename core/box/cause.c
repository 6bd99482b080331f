/* SPDX-License-Identifier: MIT */
/* From a refused layer and its errno to a cause, by a table of rules: the first that fits is
 * it. What is certain stands before what is likely, and a cause that nothing points at is not
 * guessed. */
#include "box/cause.h"

#include "box/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VERSION(major, minor) ((unsigned)(major) << 16 | (unsigned)(minor))

struct question {
	const struct box_facts *f;
	uint32_t layer;
	int error;
};

/* Everything that is there for namespaces alone: an ordinary file that can't be opened is not
 * among it. */
static bool of_namespaces(const struct question *q)
{
	return (q->layer >= BOX_LAYER_USERNS && q->layer <= BOX_LAYER_UTSNS) ||
	       q->layer == BOX_LAYER_PROCFS || q->layer == BOX_LAYER_ROOT;
}

static bool refused(const struct question *q)
{
	return q->error == EPERM || q->error == EACCES;
}

static bool no_proc(const struct question *q)
{
	return !q->f->proc && of_namespaces(q);
}

static bool wsl1(const struct question *q)
{
	return q->f->wsl && q->f->version < VERSION(4, 19);
}

static bool old_kernel(const struct question *q)
{
	return q->error == ENOSYS && q->f->version < VERSION(5, 13);
}

static bool landlock_off(const struct question *q)
{
	return q->layer == BOX_LAYER_LANDLOCK && q->f->landlock == -EOPNOTSUPP;
}

static bool landlock_old(const struct question *q)
{
	return q->layer == BOX_LAYER_LANDLOCK && q->error == EOPNOTSUPP && q->f->landlock > 0;
}

/* A filter can answer so, too; the list of modules tells, where it can be read. */
static bool landlock_missing(const struct question *q)
{
	return q->layer == BOX_LAYER_LANDLOCK && q->error == ENOSYS &&
	       (!q->f->filtered || (q->f->lsm[0] && !strstr(q->f->lsm, "landlock")));
}

static bool userns_missing(const struct question *q)
{
	return q->layer == BOX_LAYER_USERNS && q->f->proc && !q->f->user_namespaces;
}

static bool built_without(const struct question *q)
{
	return q->error == EINVAL && q->layer >= BOX_LAYER_USERNS &&
	       q->layer <= BOX_LAYER_UTSNS && !q->f->chroot;
}

static bool userns_none(const struct question *q)
{
	return q->error == ENOSPC && of_namespaces(q) && q->f->max_userns == 0;
}

static bool namespaces_full(const struct question *q)
{
	return q->error == ENOSPC && q->layer >= BOX_LAYER_USERNS &&
	       q->layer <= BOX_LAYER_UTSNS;
}

static bool in_chroot(const struct question *q)
{
	return q->f->chroot && of_namespaces(q) && (refused(q) || q->error == EINVAL);
}

static bool userns_off(const struct question *q)
{
	return q->layer == BOX_LAYER_USERNS && refused(q) && !q->f->admin &&
	       q->f->userns_clone == 0;
}

/* The namespace is made, and everything in it that needs a capability is refused. */
static bool apparmor_userns(const struct question *q)
{
	return of_namespaces(q) && refused(q) && q->f->apparmor_userns > 0 &&
	       (!q->f->admin || q->layer == BOX_LAYER_USERNS);
}

static bool read_only_proc(const struct question *q)
{
	return q->layer == BOX_LAYER_USERNS && q->error == EROFS;
}

static bool masked_proc(const struct question *q)
{
	return q->layer == BOX_LAYER_PROCFS && refused(q) && q->f->covered[0];
}

static bool root_without_rights(const struct question *q)
{
	return of_namespaces(q) && refused(q) && q->f->root && !q->f->admin;
}

static bool filtered(const struct question *q)
{
	return q->f->filtered && (q->error == EPERM || q->error == ENOSYS);
}

static bool confined(const struct question *q)
{
	return of_namespaces(q) && refused(q) && q->f->profile[0];
}

/* Its own folder the runtime could make, so what is missing is the way there: cgroups(7). */
static bool outside_delegation(const struct question *q)
{
	return q->layer == BOX_LAYER_CGROUP && q->error == EACCES && !q->f->root;
}

static bool no_filter(const struct question *q)
{
	return q->layer == BOX_LAYER_SECCOMP && (q->error == EINVAL || q->error == ENOSYS);
}

static const char *release(const struct box_facts *f)
{
	return f->release;
}

static const char *covered(const struct box_facts *f)
{
	return f->covered;
}

static const char *profile(const struct box_facts *f)
{
	return f->profile;
}

#define KERNEL "boot a kernel that has it, as those of the distributions do: "
#define UNMASK                                                                                 \
	"start the container with --security-opt systempaths=unconfined (Docker), "            \
	"--security-opt unmask=ALL (Podman) or procMount: Unmasked (Kubernetes)"

struct rule {
	bool (*fits)(const struct question *q);
	enum box_state state;
	const char *by, *why, *fix;
	const char *(*about)(const struct box_facts *f); /* the %s in `why` */
};
static const struct rule rules[] = {
    {wsl1, BOX_MISSING, "wsl", "WSL 1 has no Linux kernel of its own",
     "move the distribution to WSL 2: wsl --set-version <name> 2", NULL},
    {old_kernel, BOX_MISSING, "kernel", "Linux %s is too old", "boot Linux 5.13 or later",
     release},
    {landlock_off, BOX_DISABLED, "lsm",
     "Landlock is built in and not among the active security modules",
     "add it at the front of the kernel's parameter lsm=, as in "
     "lsm=landlock,lockdown,yama,integrity,apparmor, and boot again",
     NULL},
    {landlock_old, BOX_MISSING, "kernel", "the Landlock of Linux %s is too old for that",
     "boot Linux 6.7 or later", release},
    {landlock_missing, BOX_MISSING, "kernel", "Linux %s was built without Landlock",
     KERNEL "CONFIG_SECURITY_LANDLOCK=y; on WSL: wsl --update", release},
    {outside_delegation, BOX_BLOCKED, "delegation",
     "hcp itself runs outside of the part of the tree that its user was given",
     "start hcp in a sibling of that folder, as a service with Delegate=yes does", NULL},
    {no_filter, BOX_MISSING, "kernel", "Linux %s was built without seccomp filters",
     KERNEL "CONFIG_SECCOMP_FILTER=y", release},
    {userns_missing, BOX_MISSING, "kernel", "Linux %s was built without user namespaces",
     KERNEL "CONFIG_USER_NS=y", release},
    {userns_none, BOX_DISABLED, "user.max_user_namespaces", "user.max_user_namespaces is 0",
     "sysctl -w user.max_user_namespaces=15000, and the same line in /etc/sysctl.d/ to keep it",
     NULL},
    {namespaces_full, BOX_BLOCKED, "user.max_namespaces",
     "the limit on namespaces is reached, here or in a surrounding user namespace",
     "raise the settings user.max_*_namespaces, also on the host of a container", NULL},
    {in_chroot, BOX_BLOCKED, "chroot",
     "inside a chroot, where the kernel refuses new namespaces and roots",
     "start hcp outside, or enter the tree by systemd-nspawn or bwrap, which make it the root "
     "of a mount namespace",
     NULL},
    {no_proc, BOX_MISSING, "proc", "/proc isn't mounted here",
     "mount it: mount -t proc proc /proc", NULL},
    {userns_off, BOX_DISABLED, "kernel.unprivileged_userns_clone",
     "kernel.unprivileged_userns_clone is 0",
     "sysctl -w kernel.unprivileged_userns_clone=1, and the same line in /etc/sysctl.d/ to "
     "keep it",
     NULL},
    {apparmor_userns, BOX_BLOCKED, "kernel.apparmor_restrict_unprivileged_userns",
     "AppArmor leaves user namespaces to programs with a profile for them",
     "install hcp's: cp <prefix>/share/hcp/apparmor.d/hcp /etc/apparmor.d/ && apparmor_parser "
     "-r /etc/apparmor.d/hcp; a program that embeds hcp needs one of its own",
     NULL},
    {read_only_proc, BOX_BLOCKED, "masked proc", "/proc is read-only, as in containers", UNMASK,
     NULL},
    {masked_proc, BOX_BLOCKED, "masked proc",
     "%s is covered by another mount, as in containers, and then a new proc is refused", UNMASK,
     covered},
    {root_without_rights, BOX_BLOCKED, "capabilities",
     "root has no CAP_SYS_ADMIN here, as in containers",
     "run hcp as an ordinary user, or start the container with --cap-add SYS_ADMIN", NULL},
    {filtered, BOX_BLOCKED, "seccomp",
     "a seccomp filter of the surroundings refuses it, as in containers",
     "start the container with --security-opt seccomp=<a profile that lets it through>, or the "
     "service without RestrictNamespaces= and SystemCallFilter=",
     NULL},
    {confined, BOX_BLOCKED, "apparmor", "the AppArmor profile %s",
     "allow it in the profile, or start hcp without it", profile},
    {built_without, BOX_MISSING, "kernel", "Linux %s was built without it",
     KERNEL "CONFIG_NAMESPACES=y and the kinds below it", release},
};

const char *box_state_name(enum box_state s)
{
	switch (s) {
	case BOX_HELD:
		return "held";
	case BOX_MISSING:
		return "missing";
	case BOX_DISABLED:
		return "disabled";
	case BOX_BLOCKED:
		return "blocked";
	case BOX_UNTRIED:
		break;
	}
	return "untried";
}

static void fill(char *out, size_t size, const char *form, const char *about)
{
	const char *hole = strstr(form, "%s");

	if (hole && about)
		snprintf(out, size, "%.*s%s%s", (int)(hole - form), form, about, hole + 2);
	else
		snprintf(out, size, "%s", form);
}

void box_cause_find(const struct box_facts *f, uint32_t layer, int error, struct box_cause *out)
{
	const struct question q = {f, layer, error};
	const char *text = strerrordesc_np(error);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		if (!r->fits(&q))
			continue;
		out->known = true;
		out->state = r->state;
		out->by = r->by;
		fill(out->why, sizeof(out->why), r->why, r->about ? r->about(f) : NULL);
		fill(out->fix, sizeof(out->fix), r->fix, NULL);
		return;
	}
	out->state = BOX_BLOCKED;
	out->by = "unknown";
	snprintf(out->why, sizeof(out->why), "%s", text ? text : "unknown error");
	snprintf(out->fix, sizeof(out->fix),
		 "the kernel's log may name what refused it: dmesg, journalctl -k");
}
