/* SPDX-License-Identifier: MIT */
/* The loop of `hcp serve`: clients, their requests and the runs these became, all watched by
 * one poll(2). What can't be taken on stays unread, so that a client waits instead of the
 * server growing. It must never answer a request twice, nor leave a run behind. */
#include "face/serve.h"

#include "base/fd.h"
#include "base/json.h"
#include "face/request.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct request {
	struct request *next;
	hcp_call *call;
	hcp_run *run; /* NULL: it has an answer */
	char *id;     /* as JSON; NULL: none */
	struct buf answer;
	nfds_t at; /* of the poll set */
};

struct client {
	struct client *next;
	struct face_in in;
	struct face_out out;
	int fd; /* a socket's, to be closed; stdio: -1 */
	struct ucred peer;
	struct request *requests; /* in the order of their lines */
	unsigned count;
	bool starved;       /* memory ran out over it: it alone is given up */
	bool refusing;      /* takes no more; what it still sends is refused */
	int64_t hurry_at;   /* its runs are cancelled then; 0: no hurry */
	int64_t give_up_at; /* it has read its answers by then, or won't */
	nfds_t in_at, out_at;
};

enum phase { SERVING, DRAINING, ENDING };

struct server {
	const struct serve *what;
	struct client *clients;
	unsigned client_count, request_count;
	enum phase phase;
	int signal;
	int64_t drain_until;
	int64_t deaf_until; /* accept(2) failed for want of something: not tried before */
	struct pollfd set[2 + 2 * SERVE_CLIENTS + SERVE_REQUESTS];
	nfds_t used;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- requests ---- */

static void free_request(struct request *r)
{
	hcp_call_free(r->call);
	free(r->id);
	buf_free(&r->answer);
	free(r);
}

static struct request *add_request(struct server *s, struct client *c, const char *id)
{
	struct request *r = calloc(1, sizeof(*r)), **end = &c->requests;

	if (!r || (id && !(r->id = strdup(id)))) {
		free(r);
		return NULL;
	}
	while (*end)
		end = &(*end)->next;
	*end = r;
	c->count++;
	s->request_count++;
	return r;
}

static void cancel_all(struct client *c)
{
	for (struct request *r = c->requests; r; r = r->next)
		hcp_run_cancel(r->run);
}

static void cancel_one(struct client *c, const char *id)
{
	for (struct request *r = c->requests; r; r = r->next)
		if (r->id && strcmp(r->id, id) == 0)
			hcp_run_cancel(r->run);
}

static bool id_in_use(const struct client *c, const char *id)
{
	for (const struct request *r = c->requests; id && r; r = r->next)
		if (r->id && strcmp(r->id, id) == 0)
			return true;
	return false;
}

static hcp_call *new_call(const struct server *s, const struct client *c)
{
	hcp_call *call = hcp_call_copy(s->what->like);

	if (call && c->fd >= 0 &&
	    hcp_call_peer(call, c->peer.uid, c->peer.gid, c->peer.pid) != HCP_OK) {
		hcp_call_free(call);
		call = NULL;
	}
	return call;
}

/* The policy is looked at again for each; where it is broken the run says so. */
static hcp_status start(struct server *s, struct client *c, struct request *r,
			const struct face_line *line)
{
	(void)hcp_refresh(s->what->rt, NULL);
	r->call = new_call(s, c);
	if (!r->call)
		return HCP_ENOMEM;
	return hcp_start(s->what->rt, r->call, (hcp_str){line->text, line->len}, &r->run);
}

static const char *refusal_of(const struct server *s, const struct client *c,
			      const struct request_line *asked)
{
	if (asked->bad)
		return asked->bad;
	if (id_in_use(c, asked->id))
		return "id is that of a request in flight";
	return s->phase != SERVING || c->refusing ? "denied: the server is stopping" : NULL;
}

static void refuse(struct request *r, const json_t *top, const char *why)
{
	AUTO_BUF json = {0}, text = {0};

	if (strncmp(why, "id ", 3) == 0)
		buf_puts(&text, "invalid envelope: ");
	buf_puts(&text, why);
	request_refusal(top, text.data ? text.data : why, &json);
	request_answer(json.data, json.len, r->id, &r->answer);
}

static void take_line(struct server *s, struct client *c, const struct face_line *line)
{
	struct request_line asked = {0};
	struct request *r = NULL;
	const char *why;
	hcp_status status;

	if (request_read(line, &asked) < 0) {
		c->out.dead = c->starved = true;
	} else if (asked.cancel) {
		cancel_one(c, asked.cancel);
	} else {
		why = refusal_of(s, c, &asked);
		r = add_request(s, c, asked.id);
		if (!r)
			c->out.dead = c->starved = true;
		else if (why)
			refuse(r, asked.top, why);
		else if ((status = start(s, c, r, line)) != HCP_OK)
			refuse(r, asked.top, hcp_status_text(status));
	}
	request_done(&asked);
}

/* The library says what is wrong with it, and records it. */
static void take_long_line(struct server *s, struct client *c)
{
	struct face_line line = {calloc(1, LIMIT_ENVELOPE + 2), LIMIT_ENVELOPE + 1};

	if (line.text)
		take_line(s, c, &line);
	else
		c->out.dead = c->starved = true;
	free((char *)(uintptr_t)line.text);
}

/* ---- clients ---- */

static bool has_room(const struct server *s, const struct client *c)
{
	return c->count < SERVE_PER_CLIENT && s->request_count < SERVE_REQUESTS &&
	       face_waiting(&c->out) < FACE_FULL && !c->out.dead;
}

static void take_lines(struct server *s, struct client *c)
{
	struct face_line line;
	enum face_next next = FACE_NONE;

	while (has_room(s, c) && (next = face_next(&c->in, &line)) != FACE_NONE) {
		if (next == FACE_LONG)
			take_long_line(s, c);
		else
			take_line(s, c, &line);
	}
	if (c->in.ended && !c->hurry_at)
		c->hurry_at = now_ms() + SERVE_GRACE_MS;
}

static bool is_over(const struct client *c)
{
	if (c->count > 0)
		return false;
	return c->out.dead ||
	       (c->in.ended && c->in.taken == c->in.held.len && face_waiting(&c->out) == 0);
}

static void free_client(struct server *s, struct client *c)
{
	face_in_done(&c->in);
	face_out_done(&c->out);
	fd_close(&c->fd);
	free(c);
	s->client_count--;
}

/* in: -1 for a socket, whose one descriptor is out. */
static struct client *add_client(struct server *s, int in, int out)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = in < 0 ? out : -1;
	c->in.fd = in < 0 ? out : in;
	c->out.fd = out;
	c->out.socket = in < 0;
	c->next = s->clients;
	s->clients = c;
	s->client_count++;
	return c;
}

static unsigned count_of(const struct server *s, uid_t uid)
{
	unsigned n = 0;

	for (const struct client *c = s->clients; c; c = c->next)
		n += c->peer.uid == uid;
	return n;
}

/* What waits stays readable where no descriptor can be had for it. */
static int take_client(struct server *s)
{
	int fd = fd_above_stdio(
	    accept4(s->what->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		s->deaf_until = now_ms() + SERVE_DEAF_MS;
	return fd;
}

/* Who is at the other end is asked of the kernel, or nobody is. */
static void welcome(struct server *s)
{
	AUTO_FD fd = take_client(s);
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	struct client *c;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    size != sizeof(peer) || count_of(s, peer.uid) >= SERVE_PER_USER)
		return;
	c = add_client(s, -1, fd);
	if (!c)
		return;
	c->peer = peer;
	(void)fd_steal(&fd); /* the client's now */
}

/* ---- answers ---- */

static void finish(struct request *r)
{
	hcp_result *res = NULL;
	hcp_status status = hcp_run_finish(r->run, &res);
	hcp_str json = hcp_result_json(res);

	r->run = NULL;
	if (status == HCP_OK)
		request_answer(json.data, json.len, r->id, &r->answer);
	else
		refuse(r, NULL, hcp_status_text(status));
	hcp_result_free(res);
}

/* Those without an id keep the order of their requests. */
static void hand_out(struct server *s, struct client *c)
{
	struct request **link = &c->requests, *r;
	bool behind = false;

	while ((r = *link)) {
		if (r->run || (!r->id && behind)) {
			behind = behind || !r->id;
			link = &r->next;
			continue;
		}
		if (r->answer.failed || !r->answer.data)
			c->out.dead = true;
		face_add(&c->out, r->answer.data ? r->answer.data : "", r->answer.len);
		*link = r->next;
		c->count--;
		s->request_count--;
		free_request(r);
	}
}

/* ---- the loop ---- */

static nfds_t watch(struct server *s, int fd, short events)
{
	s->set[s->used] = (struct pollfd){.fd = fd, .events = events};
	return s->used++;
}

static void watch_all(struct server *s)
{
	bool more = s->phase == SERVING && s->client_count < SERVE_CLIENTS && !s->deaf_until;

	s->used = 0;
	watch(s, s->what->signal_fd, POLLIN);
	watch(s, more ? s->what->listen_fd : -1, POLLIN);
	for (struct client *c = s->clients; c; c = c->next) {
		bool reads = !c->in.ended && has_room(s, c);

		c->in_at = watch(s, reads ? c->in.fd : -1, POLLIN);
		/* with no event asked for, poll(2) still tells that the other end is gone */
		c->out_at =
		    watch(s, c->out.dead ? -1 : c->out.fd, face_waiting(&c->out) ? POLLOUT : 0);
		for (struct request *r = c->requests; r; r = r->next)
			r->at = watch(s, hcp_run_fd(r->run), POLLIN);
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

	sooner(&least, s->deaf_until);
	for (const struct client *c = s->clients; c; c = c->next)
		sooner(&least, c->give_up_at ? c->give_up_at : c->hurry_at);
	if (!least)
		return -1;
	left = least - now_ms();
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void take_signal(struct server *s)
{
	struct signalfd_siginfo info;

	if (read(s->what->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	s->signal = (int)info.ssi_signo;
	s->drain_until = now_ms() + SERVE_DRAIN_MS;
	s->phase = s->phase == SERVING ? DRAINING : ENDING;
}

static void serve_client(struct server *s, struct client *c)
{
	for (struct request *r = c->requests; r; r = r->next)
		if (r->run && s->set[r->at].revents)
			finish(r);
	if (s->set[c->in_at].revents && face_read(&c->in) < 0)
		c->out.dead = c->starved = true;
	if (s->set[c->out_at].revents & (POLLERR | POLLHUP | POLLNVAL))
		c->out.dead = true;
	hand_out(s, c);
	take_lines(s, c);
	hand_out(s, c);
	if (s->set[c->out_at].revents & POLLOUT)
		face_write(&c->out);
	if (c->out.dead)
		cancel_all(c);
}

/* A client that has said its last, and the server's own end, leave runs only so much time. */
static void hurry(struct server *s, struct client *c)
{
	int64_t now = now_ms();

	if (s->phase != SERVING && c->count == 0 && face_waiting(&c->out) == 0)
		c->in.ended = c->out.dead = true;
	if (s->phase == ENDING && !c->hurry_at)
		c->hurry_at = now;
	if (c->hurry_at && c->hurry_at <= now && !c->give_up_at) {
		c->refusing = true;
		c->give_up_at = now + SERVE_FLUSH_MS;
		cancel_all(c);
	}
	if (c->give_up_at && c->give_up_at <= now) {
		c->out.dead = true;
		c->give_up_at = INT64_MAX; /* nothing more to wait for but its runs */
	}
}

/* Whether memory ran out over the one client of a server on stdio. */
static bool remove_over(struct server *s)
{
	struct client **link = &s->clients, *c;
	bool starved = false;

	while ((c = *link)) {
		if (!is_over(c)) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		starved = starved || (c->starved && c->fd < 0);
		free_client(s, c);
	}
	return starved;
}

static bool is_done(const struct server *s)
{
	return s->client_count == 0 && (s->what->listen_fd < 0 || s->phase != SERVING);
}

static int turn(struct server *s, struct hcp_err *err)
{
	watch_all(s);
	if (poll(s->set, s->used, time_left(s)) < 0)
		return errno == EINTR ? 0 : hcp_fail_errno(err, "poll");
	if (s->set[0].revents)
		take_signal(s);
	for (struct client *c = s->clients; c; c = c->next)
		serve_client(s, c);
	if (s->phase == DRAINING && s->drain_until <= now_ms())
		s->phase = ENDING;
	if (s->deaf_until <= now_ms())
		s->deaf_until = 0;
	for (struct client *c = s->clients; c; c = c->next)
		hurry(s, c);
	if (s->set[1].revents)
		welcome(s);
	return remove_over(s) ? hcp_fail_nomem(err) : 0;
}

/* After an error: every run is waited for, no answer is given. */
static void clean_up(struct server *s)
{
	struct client *c;
	struct request *r;

	while ((c = s->clients)) {
		cancel_all(c);
		while ((r = c->requests)) {
			if (r->run)
				(void)hcp_run_finish(r->run, NULL);
			c->requests = r->next;
			free_request(r);
		}
		s->clients = c->next;
		free_client(s, c);
	}
}

int serve_run(const struct serve *what, struct hcp_err *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return hcp_fail_nomem(err);
	s->what = what;
	if (what->listen_fd < 0 && !add_client(s, what->in_fd, what->out_fd))
		rc = hcp_fail_nomem(err);
	while (rc == 0 && !is_done(s))
		rc = turn(s, err);
	clean_up(s);
	if (rc == 0 && s->phase == ENDING)
		rc = s->signal;
	free(s);
	return rc;
}
