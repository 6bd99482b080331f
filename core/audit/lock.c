/* SPDX-License-Identifier: MIT */
/* One writer at a time: among threads by a mutex, among processes by flock, which belongs to an
 * open description and so would let in every thread, and every forked child, that shares one. A
 * lock that doesn't come in time is an error, never a reason to go on without it. */
#include "audit/store.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int store_lock_init(struct audit *a, struct hcp_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *mine =
	    mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mine == MAP_FAILED)
		return hcp_fail_nomem(err);
	if (madvise(mine, page, MADV_WIPEONFORK) < 0) {
		hcp_fail_errno(err, "madvise");
		munmap(mine, page);
		return -1;
	}
	if (pthread_mutex_init(&a->mutex, NULL) != 0) {
		munmap(mine, page);
		return hcp_fail_nomem(err);
	}
	mine[0] = 1;
	a->mine = mine;
	return 0;
}

void store_lock_free(struct audit *a)
{
	fd_close(&a->lock.fd);
	munmap(a->mine, (size_t)sysconf(_SC_PAGESIZE));
	pthread_mutex_destroy(&a->mutex);
}

/* A child forked by the host has its parent's descriptions, and with them its lock: it would be
 * inside together with it. Closing them takes nothing from the parent. */
static void after_fork(struct audit *a)
{
	if (a->mine[0])
		return;
	fd_close(&a->lock.fd);
	a->mine[0] = 1;
}

/* Short, since the lock is held for microseconds; never so long that a deadline is missed. */
static void nap(unsigned tries)
{
	struct timespec ts = {0, 10000L << (tries < 6 ? tries : 6)};

	nanosleep(&ts, NULL);
}

/* flock has no time-out. A lock file that somebody tidied away excludes nobody any more, so
 * what was locked must be what the name means afterwards. */
static int take_flock(struct audit *a, int64_t deadline_ms, struct hcp_err *err)
{
	for (unsigned tries = 0;; tries++) {
		if (a->lock.fd < 0 &&
		    store_reopen(a, a->lock_name, O_RDWR | O_CREAT, &a->lock, err) < 0)
			return -1;
		if (flock(a->lock.fd, LOCK_EX | LOCK_NB) < 0) {
			if (errno != EWOULDBLOCK)
				return hcp_fail_errno(err, "%s/%s: flock", a->shown,
						      a->lock_name);
		} else if (store_is_named(a, a->lock_name, &a->lock)) {
			return 0;
		} else {
			fd_close(&a->lock.fd);
		}
		if (now_ms() >= deadline_ms)
			return hcp_fail(err, HCP_E_TIMEOUT, "%s/%s is held for over %d s",
					a->shown, a->lock_name, STORE_LOCK_MS / 1000);
		nap(tries);
	}
}

static int take_mutex(struct audit *a, int64_t deadline_ms, struct hcp_err *err)
{
	struct timespec ts = {deadline_ms / 1000, deadline_ms % 1000 * 1000000};
	int rc = pthread_mutex_clocklock(&a->mutex, CLOCK_MONOTONIC, &ts);

	if (rc == 0)
		return 0;
	if (rc == ETIMEDOUT)
		return hcp_fail(err, HCP_E_TIMEOUT,
				"%s/%s is held by another thread for over %d s", a->shown,
				a->lock_name, STORE_LOCK_MS / 1000);
	errno = rc;
	return hcp_fail_errno(err, "mutex");
}

static int leave(struct audit *a, const struct store_hold *h, int rc)
{
	xfsz_release(&h->xfsz, rc < 0);
	pthread_mutex_unlock(&a->mutex);
	return rc;
}

int store_lock(struct audit *a, struct store_hold *h, struct hcp_err *err)
{
	int64_t deadline_ms = now_ms() + STORE_LOCK_MS;

	if (take_mutex(a, deadline_ms, err) < 0)
		return -1;
	after_fork(a);
	xfsz_hold(&h->xfsz);
	return take_flock(a, deadline_ms, err) < 0 ? leave(a, h, -1) : 0;
}

int store_unlock(struct audit *a, const struct store_hold *h, int rc)
{
	if (flock(a->lock.fd, LOCK_UN) < 0)
		fd_close(&a->lock.fd);
	return leave(a, h, rc);
}
