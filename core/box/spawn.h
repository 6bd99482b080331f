/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_SPAWN_H
#define HCP_BOX_SPAWN_H

#include "box/stage.h"
#include "box/wire.h"

/* Kept between spawns: mapping them anew costs more than most of what they are used for. */
#define SPAWN_STACKS 4
struct spawn_stacks {
	_Atomic(unsigned char *) idle[SPAWN_STACKS];
};
void spawn_stacks_free(struct spawn_stacks *pool);

struct spawn {
	const struct box_plan *plan;
	const struct box_stage *stage; /* whose namespaces are entered; NULL: all are new */
	struct spawn_stacks *stacks;
	int init_fd;
	int fds[BOX_FD_COUNT]; /* the host's, -1: none; what each becomes is enum BOX_FD_* */
};
/* Starts the init. *pidfd (O_CLOEXEC) becomes readable when it, and with it everything in its
 * process namespace, is gone. On failure *layer and the errno in *error say what was refused.
 */
int box_spawn(const struct spawn *s, int *pidfd, uint32_t *layer, int32_t *error);
const char *box_layer_name(uint32_t layer);

#endif
