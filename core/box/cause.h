/* SPDX-License-Identifier: MIT */
/* Why a host refuses a layer, and what its owner can do about it. Nothing here decides whether
 * a run is let through: that is known already, by the real set-up. */
#ifndef HCP_BOX_CAUSE_H
#define HCP_BOX_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* What is known about the surroundings. Settings are -1 where the kernel has none of that name
 * or it can't be read. */
struct box_facts {
	char release[80]; /* of the kernel */
	unsigned version; /* major << 16 | minor */
	bool wsl;
	bool root;            /* effective uid 0 */
	bool admin;           /* CAP_SYS_ADMIN */
	bool filtered;        /* under a seccomp filter already */
	char profile[64];     /* AppArmor's, "" for none */
	bool proc;            /* /proc is there */
	bool user_namespaces; /* the kernel was built with them */
	bool chroot;          /* "/" is no root of a mount */
	char covered[64];     /* a place in /proc with another mount on it, "" for none */
	long userns_clone;    /* kernel.unprivileged_userns_clone */
	long max_userns;      /* user.max_user_namespaces */
	long apparmor_userns; /* kernel.apparmor_restrict_unprivileged_userns */
	char lsm[160];        /* the active security modules, "" where it can't be read */
	int landlock;         /* its ABI, or -errno */
};
void box_facts_read(struct box_facts *f);

enum box_state {
	BOX_UNTRIED = 0, /* something that comes before it was refused */
	BOX_HELD,
	BOX_MISSING,  /* the kernel doesn't have it */
	BOX_DISABLED, /* the kernel has it, and a setting turns it off */
	BOX_BLOCKED   /* something refuses it */
};
const char *box_state_name(enum box_state s);

struct box_cause {
	enum box_state state;
	bool known;
	const char *by; /* a short name for programs: "seccomp", "user.max_user_namespaces" */
	char why[200], fix[280];
};
/* Pure. `layer` is an enum box_layer, `error` the errno with which it was refused. */
void box_cause_find(const struct box_facts *f, uint32_t layer, int error,
		    struct box_cause *out);

#endif
