/* SPDX-License-Identifier: MIT */
/* What plan.c and its neighbours share: the plan while it still has pointers. */
#ifndef HCP_BOX_PLAN_H
#define HCP_BOX_PLAN_H

#include "box/box.h"
#include "box/wire.h"

struct plan_item {
	enum plan_kind kind;
	unsigned flags, mode;
	const char *src, *dst;
	size_t len; /* PLAN_TEXT: bytes at src */
	dev_t dev;
	ino_t ino;
};
struct plan_items {
	struct arena *arena;
	struct plan_item *items;
	size_t count, cap;
	bool failed; /* memory ran out */
	struct plan_item spare;
};

enum plan_tier plan_tier(const struct policy_sandbox *s);
const char *plan_tier_name(uint32_t tier); /* "" for none */
/* By what memory and processor time are: "cgroup", of the tree, or "process", of each. */
const char *plan_limits_held(const struct box_plan *p);
bool plan_as_root(void);
/* Who the program is; *gid is the same number when the runtime is root. */
void plan_ids(const struct box_spec *spec, uid_t *uid, gid_t *gid);
/* The allow-list: everything that the program will find, in the order in which it is made. */
int plan_places(const struct box_spec *spec, struct plan_items *out,
		struct hcp_err *err) HCP_MUST_CHECK;
int plan_check_name(const struct box_file *f, struct hcp_err *err) HCP_MUST_CHECK;

#endif
