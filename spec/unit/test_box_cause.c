/* SPDX-License-Identifier: MIT */
/* Which cause is told for which refusal, on hosts of every kind. */
#include "box/cause.h"
#include "box/wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Where nothing is unusual. */
static struct box_facts usual(void)
{
	struct box_facts f = {
	    .release = "6.8.0-31-generic",
	    .version = 6 << 16 | 8,
	    .proc = true,
	    .user_namespaces = true,
	    .userns_clone = -1,
	    .max_userns = 15000,
	    .apparmor_userns = -1,
	    .lsm = "lockdown,capability,landlock,yama,apparmor",
	    .landlock = 4,
	};
	return f;
}

static void expect(const struct box_facts *f, uint32_t layer, int error, enum box_state state,
		   const char *by, const char *why)
{
	struct box_cause c;

	box_cause_find(f, layer, error, &c);
	assert_string_equal(c.by, by);
	assert_string_equal(c.why, why);
	assert_int_equal(c.state, state);
	assert_true(c.known);
	assert_true(c.fix[0]);
}

static void a_cause_that_nothing_points_at_is_not_guessed(void **state)
{
	struct box_facts f = usual();
	struct box_cause c;

	(void)state;
	box_cause_find(&f, BOX_LAYER_USERNS, EPERM, &c);
	assert_false(c.known);
	assert_int_equal(c.state, BOX_BLOCKED);
	assert_string_equal(c.by, "unknown");
	assert_string_equal(c.why, "Operation not permitted");
	/* what the surroundings are has nothing to do with a folder that can't be read */
	f.filtered = f.chroot = f.root = true;
	f.apparmor_userns = 1;
	f.covered[0] = '/';
	box_cause_find(&f, BOX_LAYER_MOUNT, EACCES, &c);
	assert_false(c.known);
	box_cause_find(&f, BOX_LAYER_BIN, EACCES, &c);
	assert_false(c.known);
}

static void apparmor_of_ubuntu(void **state)
{
	static const uint32_t layers[] = {BOX_LAYER_USERNS, BOX_LAYER_MNTNS, BOX_LAYER_UTSNS};
	const char *why = "AppArmor leaves user namespaces to programs with a profile for them";
	const char *by = "kernel.apparmor_restrict_unprivileged_userns";
	struct box_facts f = usual();

	(void)state;
	f.apparmor_userns = 1;
	for (size_t i = 0; i < 3; i++) {
		expect(&f, layers[i], EPERM, BOX_BLOCKED, by, why);
		expect(&f, layers[i], EACCES, BOX_BLOCKED, by, why);
	}
	/* root's program makes its user namespace as an ordinary user */
	f.root = f.admin = true;
	expect(&f, BOX_LAYER_USERNS, EPERM, BOX_BLOCKED, by, why);
}

static void settings(void **state)
{
	struct box_facts f = usual();

	(void)state;
	f.userns_clone = 0;
	expect(&f, BOX_LAYER_USERNS, EPERM, BOX_DISABLED, "kernel.unprivileged_userns_clone",
	       "kernel.unprivileged_userns_clone is 0");
	f = usual();
	f.max_userns = 0;
	expect(&f, BOX_LAYER_USERNS, ENOSPC, BOX_DISABLED, "user.max_user_namespaces",
	       "user.max_user_namespaces is 0");
	f.max_userns = 15000;
	expect(&f, BOX_LAYER_NETNS, ENOSPC, BOX_BLOCKED, "user.max_namespaces",
	       "the limit on namespaces is reached, here or in a surrounding user namespace");
}

static void containers(void **state)
{
	struct box_facts f = usual();

	(void)state;
	f.filtered = true;
	expect(&f, BOX_LAYER_USERNS, EPERM, BOX_BLOCKED, "seccomp",
	       "a seccomp filter of the surroundings refuses it, as in containers");
	f.root = true;
	expect(&f, BOX_LAYER_MNTNS, EPERM, BOX_BLOCKED, "capabilities",
	       "root has no CAP_SYS_ADMIN here, as in containers");
	f = usual();
	f.filtered = true;
	strcpy(f.covered, "/proc/kcore");
	expect(&f, BOX_LAYER_PROCFS, EPERM, BOX_BLOCKED, "masked proc",
	       "/proc/kcore is covered by another mount, as in containers, and then a new proc "
	       "is refused");
	f = usual();
	strcpy(f.profile, "docker-default (enforce)");
	expect(&f, BOX_LAYER_MNTNS, EACCES, BOX_BLOCKED, "apparmor",
	       "the AppArmor profile docker-default (enforce)");
	f = usual();
	f.chroot = true;
	expect(&f, BOX_LAYER_USERNS, EPERM, BOX_BLOCKED, "chroot",
	       "inside a chroot, where the kernel refuses new namespaces and roots");
	f = usual();
	f.proc = false;
	expect(&f, BOX_LAYER_USERNS, ENOENT, BOX_MISSING, "proc", "/proc isn't mounted here");
}

static void cgroups(void **state)
{
	struct box_facts f = usual();
	struct box_cause c;

	(void)state;
	expect(&f, BOX_LAYER_CGROUP, EACCES, BOX_BLOCKED, "delegation",
	       "hcp itself runs outside of the part of the tree that its user was given");
	f.root = true;
	box_cause_find(&f, BOX_LAYER_CGROUP, EACCES, &c);
	assert_false(c.known);
}

static void kernels(void **state)
{
	struct box_facts f = usual();

	(void)state;
	f.landlock = -ENOSYS;
	strcpy(f.lsm, "capability,yama");
	expect(&f, BOX_LAYER_LANDLOCK, ENOSYS, BOX_MISSING, "kernel",
	       "Linux 6.8.0-31-generic was built without Landlock");
	/* the list says that it is there, so it is the filter that hides it */
	strcpy(f.lsm, "capability,landlock");
	f.filtered = true;
	expect(&f, BOX_LAYER_LANDLOCK, ENOSYS, BOX_BLOCKED, "seccomp",
	       "a seccomp filter of the surroundings refuses it, as in containers");
	f = usual();
	f.landlock = -EOPNOTSUPP;
	expect(&f, BOX_LAYER_LANDLOCK, EOPNOTSUPP, BOX_DISABLED, "lsm",
	       "Landlock is built in and not among the active security modules");
	f.landlock = 2;
	expect(&f, BOX_LAYER_LANDLOCK, EOPNOTSUPP, BOX_MISSING, "kernel",
	       "the Landlock of Linux 6.8.0-31-generic is too old for that");
	f = usual();
	strcpy(f.release, "5.10.0-28-amd64");
	f.version = 5 << 16 | 10;
	f.landlock = -ENOSYS;
	expect(&f, BOX_LAYER_MNTNS, ENOSYS, BOX_MISSING, "kernel",
	       "Linux 5.10.0-28-amd64 is too old");
	f = usual();
	f.user_namespaces = false;
	expect(&f, BOX_LAYER_USERNS, EINVAL, BOX_MISSING, "kernel",
	       "Linux 6.8.0-31-generic was built without user namespaces");
	f = usual();
	expect(&f, BOX_LAYER_SECCOMP, EINVAL, BOX_MISSING, "kernel",
	       "Linux 6.8.0-31-generic was built without seccomp filters");
	expect(&f, BOX_LAYER_NETNS, EINVAL, BOX_MISSING, "kernel",
	       "Linux 6.8.0-31-generic was built without it");
	f.wsl = true;
	f.version = 4 << 16 | 4;
	expect(&f, BOX_LAYER_USERNS, EINVAL, BOX_MISSING, "wsl",
	       "WSL 1 has no Linux kernel of its own");
}

static void facts_of_this_host(void **state)
{
	struct box_facts f;

	(void)state;
	box_facts_read(&f);
	assert_true(f.version >= (5 << 16 | 13));
	assert_true(f.proc);
	assert_true(f.user_namespaces);
	assert_false(f.chroot);
	assert_true(f.landlock > 0);
	assert_true(f.max_userns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_cause_that_nothing_points_at_is_not_guessed),
	    cmocka_unit_test(apparmor_of_ubuntu),
	    cmocka_unit_test(settings),
	    cmocka_unit_test(containers),
	    cmocka_unit_test(cgroups),
	    cmocka_unit_test(kernels),
	    cmocka_unit_test(facts_of_this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
