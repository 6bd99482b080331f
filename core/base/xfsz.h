/* SPDX-License-Identifier: MIT */
/* A write past the limit of file sizes is an error of whoever writes (EFBIG), and must not be a
 * signal that ends the host. Whatever writes files does so between these two. */
#ifndef HCP_BASE_XFSZ_H
#define HCP_BASE_XFSZ_H

#include <signal.h>
#include <stdbool.h>

struct xfsz {
	sigset_t mask;
	bool pending; /* the host's own, which isn't ours to take */
};

/* Blocks SIGXFSZ for this thread. Holds may nest. */
void xfsz_hold(struct xfsz *x);
/* After a write that failed takes the signal that it may have left. Keeps errno. */
void xfsz_release(const struct xfsz *x, bool failed);

#endif
