/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_HOST_H
#define HCP_BOX_HOST_H

#include "box/box.h"
#include "box/spawn.h"
#include "box/stage.h"
#include "box/wire.h"

#include <pthread.h>

struct box_host {
	int init_fd;
	int landlock;                      /* the kernel's ABI; below 1: none */
	pthread_mutex_t lock;              /* over filter_fd */
	int filter_fd[PLAN_SOCKETS_COUNT]; /* -1: not built yet */
	struct box_stages stages;
	struct spawn_stacks stacks;
};

/* An empty memory file that can be sealed; -1: err says why. */
int box_memory(struct hcp_err *err) HCP_MUST_CHECK;
/* Nobody can change it any more, whoever holds a descriptor; rewound. */
int box_seal(int fd, struct hcp_err *err) HCP_MUST_CHECK;
/* Both, with these bytes. */
int box_sealed(const void *data, size_t len, int *out, struct hcp_err *err) HCP_MUST_CHECK;
/* The plan as the init is to read it. */
int box_sealed_plan(const struct box_plan *plan, enum plan_stage stage, int *out,
		    struct hcp_err *err) HCP_MUST_CHECK;
/* The filter for these sockets, built when it is first needed. *fd is the host's to keep. */
int box_host_filter(struct box_host *h, enum plan_sockets sockets, int *fd,
		    struct hcp_err *err) HCP_MUST_CHECK;
/* Of the kernel, or -errno. */
int box_landlock_abi(void);
/* filter.c: the program, as an array of struct sock_filter in a sealed memory file, for a
 * kernel with this ABI of Landlock. */
int box_filter_build(enum plan_sockets sockets, int landlock, int *out,
		     struct hcp_err *err) HCP_MUST_CHECK;

#endif
