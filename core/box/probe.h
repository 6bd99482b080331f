/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_PROBE_H
#define HCP_BOX_PROBE_H

#include "box/box.h"
#include "box/cause.h"

/* What became of one tier. */
struct box_probe {
	const char *tier;     /* "strong", "light" */
	bool held;            /* a program ran in it to its end */
	char layers[160];     /* those that held, as in the audit record */
	const char *refused;  /* the layer that didn't; NULL: none, or no layer was to blame */
	struct box_cause why; /* of `refused` */
	struct hcp_err err;   /* what a run would be told; not set where it held */
};
/* Runs the init, as the program, by the same plan, spawn and set-up as any run's. `init` is its
 * path; `cgroup` the folder to run in, NULL: none. Whatever goes wrong is in *out. */
void box_probe(struct box_host *h, const char *init, enum policy_tier tier, const char *cgroup,
	       struct box_probe *out);

#endif
