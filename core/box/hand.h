/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_HAND_H
#define HCP_BOX_HAND_H

#include "box/host.h"

/* What the host has of a run that was started; its own to close, -1: none. */
struct box_given {
	int pidfd;       /* readable once the init is gone */
	int out, errout; /* non-blocking, like the two below */
	int report;      /* where the init's struct box_report come from */
	int trace;
	bool staged; /* in the stage of this key */
	unsigned char stage[STAGE_KEY];
	struct box_report refused; /* BOX_REPORT_FAILED: which layer, where that is why */
};
/* -1: nothing runs. err says why, but where `refused` does. */
int box_hand_over(struct box_host *h, const struct box_spec *spec, const struct box_plan *plan,
		  int cgroup_fd, struct box_given *out, struct hcp_err *err) HCP_MUST_CHECK;

#endif
