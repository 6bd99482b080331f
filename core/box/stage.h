/* SPDX-License-Identifier: MIT */
/* What the runs of a long-lived runtime have in common, kept: namespaces in which a root stands
 * ready, by descriptor. No process is in them between runs, so there is none that a run could
 * meet. One serves one user, tenant and kind of plan: everything the plan shows, as it is on
 * the host now. Whatever a stage lacks is built for the run, as without one. */
#ifndef HCP_BOX_STAGE_H
#define HCP_BOX_STAGE_H

#include "box/box.h"

#include <pthread.h>

#define STAGE_COUNT 8 /* for each runtime; up to three descriptors each */
#define STAGE_KEY   32

enum stage_state {
	STAGE_FREE = 0,
	STAGE_SEEN, /* one run needed it; the next makes it */
	STAGE_MAKING,
	STAGE_READY,
	STAGE_FAILED /* not to be tried again */
};
struct box_stage {
	unsigned char key[STAGE_KEY];
	enum stage_state state;
	unsigned users;     /* runs that are entering it */
	uint64_t used;      /* when, in takes */
	int user, net, mnt; /* -1: there is none of it */
	ino_t inodes[3];    /* of theirs: a host may close what isn't its own */
};
struct box_stages {
	pthread_mutex_t lock; /* over all of it; the descriptors of one with users stay */
	struct box_stage slots[STAGE_COUNT];
	uint64_t takes;
	pid_t pid;  /* whose they are: a fork shares what tells of mounts, and would miss it */
	int mounts; /* /proc/.../mounts: tells when the host's mounts change; -1: not open */
};

void box_stages_init(struct box_stages *s);
void box_stages_free(struct box_stages *s); /* nobody uses one any more */

/* For this plan, to be given back; NULL: there is none, or not yet, and the run needs none. */
struct box_stage *box_stage_take(struct box_host *h, const struct box_spec *spec,
				 const struct box_plan *plan);
/* `works`: it could be entered; one that couldn't isn't offered again. */
void box_stage_give_back(struct box_host *h, struct box_stage *g, bool works);
/* One that was entered, but in which a program can't be started. */
void box_stage_refuse(struct box_host *h, const unsigned char key[STAGE_KEY]);

#endif
