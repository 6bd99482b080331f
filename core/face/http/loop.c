/* SPDX-License-Identifier: MIT */
/* The loop of `hcp serve --http`: connections, what they wait for, and time. libmicrohttpd is
 * driven by it and has no thread of its own. Whoever is slow, or gone, holds a connection for a
 * bounded time; who is gone has its run cancelled. */
#include "face/http/server.h"

#include "base/fd.h"
#include "face/serve.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t http_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- connections ---- */

/* What waits stays readable where no descriptor can be had for it. libmicrohttpd closes what it
 * doesn't take. */
static void welcome(struct server *s)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd = accept4(s->what->listen_fd, (struct sockaddr *)&from, &len,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		s->deaf_until = http_now_ms() + SERVE_DEAF_MS;
	if (fd >= 0)
		(void)MHD_add_connection(s->daemon, fd, (struct sockaddr *)&from, len);
}

/* libmicrohttpd finds its end at the next read or write, and forgets it. */
static void shut(struct conn *c)
{
	if (!c->shut)
		shutdown(c->fd, SHUT_RDWR);
	c->shut = true;
	c->until = 0;
}

/* A client that has closed its half is gone, too: no HTTP client does that to say something. */
static void look_after(struct server *s, struct conn *c)
{
	if (c->state != RUNNING || c->at == 0)
		return;
	if (!c->gone && s->set[c->at + 1].revents) {
		c->gone = true;
		http_cancel(c);
	}
	if (s->set[c->at].revents) {
		http_finish(c);
		if (c->gone)
			shut(c);
		MHD_resume_connection(c->mhd);
	}
}

/* ---- watching ---- */

static nfds_t watch(struct server *s, int fd, short events)
{
	s->set[s->used] = (struct pollfd){.fd = fd, .events = events};
	return s->used++;
}

static void watch_all(struct server *s, int epoll_fd)
{
	bool more = s->phase == SERVING && s->count < HTTP_CLIENTS && !s->deaf_until;

	s->used = 0;
	watch(s, s->what->signal_fd, POLLIN);
	watch(s, more ? s->what->listen_fd : -1, POLLIN);
	watch(s, epoll_fd, POLLIN);
	for (struct conn *c = s->conns; c; c = c->next) {
		c->at = 0;
		if (c->state != RUNNING)
			continue;
		c->at = watch(s, http_wait_fd(c), POLLIN);
		watch(s, c->gone ? -1 : c->fd, POLLRDHUP);
	}
}

static void sooner(int64_t *least, int64_t at)
{
	if (at && (!*least || at < *least))
		*least = at;
}

static int time_left(const struct server *s)
{
	int64_t least = s->phase == DRAINING ? s->drain_until : 0, left;
	MHD_UNSIGNED_LONG_LONG theirs;

	sooner(&least, s->deaf_until);
	for (const struct conn *c = s->conns; c; c = c->next)
		sooner(&least, c->until);
	left = least ? least - http_now_ms() : 60000;
	if (MHD_get_timeout(s->daemon, &theirs) == MHD_YES && (int64_t)theirs < left)
		left = (int64_t)theirs;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* ---- the end ---- */

static void take_signal(struct server *s)
{
	struct signalfd_siginfo info;

	if (read(s->what->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	s->signal = (int)info.ssi_signo;
	s->drain_until = http_now_ms() + SERVE_DRAIN_MS;
	s->phase = s->phase == SERVING ? DRAINING : ENDING;
}

static void end_phase(struct server *s)
{
	int64_t now = http_now_ms();

	if (s->phase == DRAINING && s->drain_until <= now)
		s->phase = ENDING;
	for (struct conn *c = s->conns; c && s->phase != SERVING; c = c->next) {
		if (c->state == TAKING && !c->begun)
			shut(c);
		else if (s->phase == ENDING && c->state == RUNNING)
			http_cancel(c);
		else if (s->phase == ENDING && c->state == TAKING)
			shut(c);
		if (s->phase == ENDING && c->state == ANSWERING &&
		    c->until > now + SERVE_FLUSH_MS)
			c->until = now + SERVE_FLUSH_MS;
	}
}

static void end_late(struct server *s)
{
	int64_t now = http_now_ms();

	if (s->deaf_until && s->deaf_until <= now)
		s->deaf_until = 0;
	for (struct conn *c = s->conns; c; c = c->next)
		if (c->until && c->until <= now)
			shut(c);
}

static int turn(struct server *s, int epoll_fd, struct hcp_err *err)
{
	watch_all(s, epoll_fd);
	if (poll(s->set, s->used, time_left(s)) < 0)
		return errno == EINTR ? 0 : hcp_fail_errno(err, "poll");
	if (s->set[0].revents)
		take_signal(s);
	if (s->set[1].revents)
		welcome(s);
	for (struct conn *c = s->conns; c; c = c->next)
		look_after(s, c);
	end_phase(s);
	end_late(s);
	if (MHD_run(s->daemon) != MHD_YES)
		return hcp_fail(err, HCP_E_SYS, "libmicrohttpd can't go on");
	return 0;
}

/* Every run is waited for; libmicrohttpd wants none suspended. */
static void clean_up(struct server *s)
{
	for (struct conn *c = s->conns; c; c = c->next) {
		shut(c);
		if (c->state != RUNNING)
			continue;
		http_cancel(c);
		http_finish(c);
		MHD_resume_connection(c->mhd);
	}
	(void)MHD_run(s->daemon);
	MHD_stop_daemon(s->daemon);
}

static struct MHD_Daemon *start(struct server *s)
{
	return MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_SUSPEND_RESUME, 0, NULL, NULL,
	    http_handle, s, MHD_OPTION_NOTIFY_COMPLETED, http_completed, s,
	    MHD_OPTION_NOTIFY_CONNECTION, http_connection, s, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)HTTP_CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
	    MHD_OPTION_END);
}

int http_run(const struct http *what, struct hcp_err *err)
{
	struct server *s = calloc(1, sizeof(*s));
	const union MHD_DaemonInfo *info;
	int rc = 0;

	if (!s)
		return hcp_fail_nomem(err);
	s->what = what;
	s->daemon = start(s);
	info = s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		rc = hcp_fail(err, HCP_E_SYS, "libmicrohttpd doesn't start");
	while (rc == 0 && (s->phase == SERVING || s->count > 0))
		rc = turn(s, info->epoll_fd, err);
	if (s->daemon)
		clean_up(s);
	if (rc == 0 && s->phase == ENDING)
		rc = s->signal;
	free(s);
	return rc;
}
