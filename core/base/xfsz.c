/* SPDX-License-Identifier: MIT */
#include "base/xfsz.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

void xfsz_hold(struct xfsz *x)
{
	sigset_t xfsz, pending;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &xfsz, &x->mask);
	/* only a signal that was blocked before can have been waiting */
	x->pending = sigismember(&x->mask, SIGXFSZ) == 1 && sigpending(&pending) == 0 &&
		     sigismember(&pending, SIGXFSZ) == 1;
}

static void take(void)
{
	const struct timespec at_once = {0, 0};
	sigset_t xfsz;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	while (sigtimedwait(&xfsz, NULL, &at_once) < 0 && errno == EINTR)
		;
}

void xfsz_release(const struct xfsz *x, bool failed)
{
	int saved = errno;

	if (failed && !x->pending)
		take();
	pthread_sigmask(SIG_SETMASK, &x->mask, NULL);
	errno = saved;
}
