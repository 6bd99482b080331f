/* SPDX-License-Identifier: MIT */
/* Calls, and hcp_exec: the one door from outside into exec_run. */
#include "runtime/runtime.h"

#include "base/fd.h"
#include "exec/explain.h"
#include "exec/workspace.h"
#include "secret/secret.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int call_init(hcp_call *c, hcp_runtime *rt)
{
	memset(c, 0, sizeof(*c));
	c->rt = rt;
	strcpy(c->session, "default");
	c->cancel_fd = fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return c->cancel_fd < 0 ? -1 : 0;
}

void call_done(hcp_call *c)
{
	fd_close(&c->cancel_fd);
	for (size_t i = 0; i < c->file_count; i++)
		free(c->files[i].name);
	free(c->tenant);
	free(c->project);
	free(c->consent);
	free(c->principal);
	secret_drop(c->token);
}

hcp_call *hcp_call_new(hcp_runtime *rt)
{
	hcp_call *c = rt ? malloc(sizeof(*c)) : NULL;

	if (c && call_init(c, rt) < 0) {
		free(c);
		return NULL;
	}
	return c;
}

void hcp_call_free(hcp_call *c)
{
	if (!c)
		return;
	call_done(c);
	free(c);
}

hcp_status hcp_call_session(hcp_call *c, const char *name)
{
	if (!c || !name || !name_is_session(name))
		return HCP_EINVAL;
	strcpy(c->session, name); /* name_is_session bounds it by LIMIT_ID */
	return HCP_OK;
}

hcp_status hcp_call_identity(hcp_call *c, const char *tenant, const char *project_id)
{
	if (!c)
		return HCP_EINVAL;
	return runtime_set_text(&c->tenant, tenant) < 0 ||
		       runtime_set_text(&c->project, project_id) < 0
		   ? HCP_ENOMEM
		   : HCP_OK;
}

#define TOKEN_LEAST 8

static bool is_token(hcp_str t)
{
	if (!t.data || t.len < TOKEN_LEAST || t.len > LIMIT_TOKEN)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (t.data[i] < '!' || t.data[i] > '~')
			return false;
	return true;
}

hcp_status hcp_call_token(hcp_call *c, hcp_str token)
{
	struct secret *s = NULL;

	if (!c || ((token.data || token.len) && !is_token(token)))
		return HCP_EINVAL;
	if (token.data && !(s = secret_new(token.len)))
		return HCP_ENOMEM;
	if (s)
		memcpy(secret_bytes(s), token.data, token.len);
	secret_drop(c->token);
	c->token = s;
	return HCP_OK;
}

hcp_status hcp_call_consent(hcp_call *c, const char *digest)
{
	if (!c || !digest || c->rt->options.face != HCP_FACE_MCP)
		return HCP_EINVAL;
	return runtime_set_text(&c->consent, digest) < 0 ? HCP_ENOMEM : HCP_OK;
}

hcp_call *hcp_call_copy(const hcp_call *c)
{
	hcp_call *copy = c ? hcp_call_new(c->rt) : NULL;

	if (!copy)
		return NULL;
	strcpy(copy->session, c->session);
	copy->deadline_ms = c->deadline_ms;
	copy->peer = c->peer;
	copy->peer_uid = c->peer_uid;
	copy->peer_gid = c->peer_gid;
	copy->peer_pid = c->peer_pid;
	copy->stream = c->stream;
	copy->stream_user = c->stream_user;
	copy->trace = c->trace;
	copy->trace_user = c->trace_user;
	if (hcp_call_identity(copy, c->tenant, c->project) == HCP_OK &&
	    hcp_call_principal(copy, c->principal) == HCP_OK &&
	    (!c->token || hcp_call_token(copy, (hcp_str){(const char *)secret_bytes(c->token),
							 secret_len(c->token)}) == HCP_OK))
		return copy;
	hcp_call_free(copy);
	return NULL;
}

hcp_status hcp_call_principal(hcp_call *c, const char *json)
{
	if (!c)
		return HCP_EINVAL;
	return runtime_set_text(&c->principal, json) < 0 ? HCP_ENOMEM : HCP_OK;
}

hcp_status hcp_call_deadline_ms(hcp_call *c, uint64_t ms)
{
	if (!c || ms > INT64_MAX / 2000000)
		return HCP_EINVAL;
	c->deadline_ms = ms;
	return HCP_OK;
}

hcp_status hcp_call_peer(hcp_call *c, uint32_t uid, uint32_t gid, int32_t pid)
{
	if (!c)
		return HCP_EINVAL;
	c->peer = PEER_GIVEN;
	c->peer_uid = uid;
	c->peer_gid = gid;
	c->peer_pid = pid;
	return HCP_OK;
}

hcp_status hcp_call_no_peer(hcp_call *c)
{
	if (!c)
		return HCP_EINVAL;
	c->peer = PEER_NONE;
	return HCP_OK;
}

hcp_status hcp_call_trace_denials(hcp_call *c, hcp_trace_fn *fn, void *user)
{
	if (!c)
		return HCP_EINVAL;
	c->trace = fn;
	c->trace_user = user;
	return HCP_OK;
}

hcp_status hcp_call_stream(hcp_call *c, hcp_stream_fn *fn, void *user)
{
	if (!c)
		return HCP_EINVAL;
	c->stream = fn;
	c->stream_user = user;
	return HCP_OK;
}

static hcp_status add_file(hcp_call *c, const char *name, int fd, bool out)
{
	struct call_file *f;

	if (!c || !name || !*name || strlen(name) >= PATH_MAX || fd < 0 ||
	    c->file_count == CALL_FILES)
		return HCP_EINVAL;
	/* a file that goes in is one of the jail's own; there is no folder yet */
	if (!out && (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")))
		return HCP_EINVAL;
	f = &c->files[c->file_count];
	*f = (struct call_file){strdup(name), fd, out};
	if (!f->name)
		return HCP_ENOMEM;
	c->file_count++;
	return HCP_OK;
}

hcp_status hcp_call_put_file(hcp_call *c, const char *name, int fd)
{
	return add_file(c, name, fd, false);
}

hcp_status hcp_call_take_file(hcp_call *c, const char *path, int fd)
{
	return add_file(c, path, fd, true);
}

hcp_status hcp_call_keep_failed(hcp_call *c, int keep)
{
	if (!c)
		return HCP_EINVAL;
	c->keep = keep != 0;
	return HCP_OK;
}

void hcp_call_cancel(hcp_call *c)
{
	uint64_t one = 1;

	if (!c)
		return;
	__atomic_store_n(&c->cancelled, 1, __ATOMIC_RELAXED);
	if (write(c->cancel_fd, &one, sizeof(one)) < 0)
		return; /* EAGAIN: it is readable already */
}

hcp_status call_enter(hcp_runtime *rt, hcp_call *c)
{
	unsigned max = rt->options.max_runs ? rt->options.max_runs : LIMIT_RUNS;
	hcp_status status = HCP_EBUSY;

	pthread_mutex_lock(&rt->lock);
	if (rt->runs < max && !c->link) {
		rt->runs++;
		c->next = rt->active;
		c->link = &rt->active;
		if (c->next)
			c->next->link = &c->next;
		rt->active = c;
		status = HCP_OK;
	}
	pthread_mutex_unlock(&rt->lock);
	return status;
}

void call_leave(hcp_runtime *rt, hcp_call *c)
{
	pthread_mutex_lock(&rt->lock);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->link = NULL;
	if (--rt->runs == 0)
		pthread_cond_broadcast(&rt->idle);
	pthread_mutex_unlock(&rt->lock);
}

hcp_status call_walk(hcp_runtime *rt, hcp_call *c, walk_fn *walk, void *what, hcp_result **out)
{
	struct run *r = malloc(sizeof(*r));
	struct snapshot *snap = runtime_snapshot(rt);

	if (r) {
		exec_init(r, rt, snap, c, NULL);
		walk(r, what);
		*out = result_of(r);
		exec_free(r);
		free(r);
	}
	snapshot_put(snap);
	return *out ? HCP_OK : HCP_ENOMEM;
}

static hcp_status run_as(hcp_runtime *rt, hcp_call *c, walk_fn *walk, void *what,
			 hcp_result **out)
{
	hcp_call own;
	hcp_status status;

	if (!c && call_init(&own, rt) < 0)
		return HCP_ENOMEM;
	status = call_enter(rt, c ? c : &own);
	if (status == HCP_OK) {
		status = call_walk(rt, c ? c : &own, walk, what, out);
		call_leave(rt, c ? c : &own);
	}
	if (!c)
		call_done(&own);
	return status;
}

void call_walk_envelope(struct run *r, void *what)
{
	const hcp_str *envelope = what;

	envelope_read(r, envelope->data ? envelope->data : "", envelope->len);
	exec_run(r);
}

hcp_status hcp_exec(hcp_runtime *rt, hcp_call *c, hcp_str envelope, hcp_result **out)
{
	if (out)
		*out = NULL;
	if (!rt || !out || (c && c->rt != rt) || (!envelope.data && envelope.len))
		return HCP_EINVAL;
	return run_as(rt, c, call_walk_envelope, &envelope, out);
}

struct question {
	hcp_str envelope;
	struct explain explain;
};

static void walk_explain(struct run *r, void *what)
{
	struct question *q = what;

	envelope_read(r, q->envelope.data ? q->envelope.data : "", q->envelope.len);
	exec_explain(r, &q->explain);
}

/* Who may know about somebody else. A configuration that didn't load tells nobody anything. */
static bool may_suppose(hcp_runtime *rt)
{
	struct snapshot *s = runtime_snapshot(rt);
	bool may = s->broken.code != HCP_E_NONE || root_is_ours(&s->root);

	snapshot_put(s);
	return may;
}

hcp_status hcp_explain(hcp_runtime *rt, hcp_call *c, hcp_str envelope, const hcp_suppose *as,
		       hcp_result **out, hcp_error *err)
{
	struct question q = {.envelope = envelope};
	struct hcp_err why = {0};
	hcp_status status;

	if (out)
		*out = NULL;
	if (!rt || !out || (c && c->rt != rt) || (!envelope.data && envelope.len) ||
	    (as && as->size < sizeof(*as)))
		return HCP_EINVAL;
	if (as && (as->principal || as->activated) && !may_suppose(rt)) {
		hcp_fail(&why, HCP_E_DENIED,
			 "only the owner of the root folder may ask for another principal");
		return runtime_error(err, &why);
	}
	if (as) {
		q.explain.as = as->principal;
		q.explain.any_session = as->activated != 0;
	}
	status = run_as(rt, c, walk_explain, &q, out);
	explain_free(&q.explain);
	return status;
}

struct visit {
	const char *pack;
	struct workspace_task task;
};

static void walk_workspace(struct run *r, void *what)
{
	const struct visit *v = what;

	exec_workspace(r, v->pack, &v->task);
}

hcp_status hcp_workspace(hcp_runtime *rt, hcp_call *c, hcp_workspace_op op, const char *pack,
			 const char *path, int fd, hcp_result **out)
{
	struct visit v = {pack, {op, path ? path : ".", fd}};

	if (out)
		*out = NULL;
	if (!rt || !out || !pack || (c && c->rt != rt) || op < HCP_WORKSPACE_LS ||
	    op > HCP_WORKSPACE_RM)
		return HCP_EINVAL;
	return run_as(rt, c, walk_workspace, &v, out);
}
