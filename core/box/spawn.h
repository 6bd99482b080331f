/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_SPAWN_H
#define HCP_BOX_SPAWN_H

#include "box/wire.h"

struct spawn {
	const struct box_plan *plan;
	int init_fd;
	int fds[BOX_FD_COUNT]; /* the host's, -1: none; what each becomes is enum BOX_FD_* */
};
/* Starts the init. *pidfd (O_CLOEXEC) becomes readable when it, and with it everything in its
 * process namespace, is gone. On failure *layer and the errno in *error say what was refused.
 */
int box_spawn(const struct spawn *s, int *pidfd, uint32_t *layer, int32_t *error);
const char *box_layer_name(uint32_t layer);

#endif
