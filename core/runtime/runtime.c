/* SPDX-License-Identifier: MIT */
/* hcp_open to hcp_close: the runtime's life, options and reload. */
#include "runtime/runtime.h"

#include "base/fd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

uint32_t hcp_version(void)
{
	return HCP_VERSION_MAJOR << 16 | HCP_VERSION_MINOR << 8 | HCP_VERSION_PATCH;
}

const char *hcp_status_text(hcp_status s)
{
	switch (s) {
	case HCP_OK:
		return "ok";
	case HCP_EINVAL:
		return "invalid argument";
	case HCP_ENOMEM:
		return "out of memory or descriptors";
	case HCP_ECONFIG:
		return "configuration error";
	case HCP_EDENIED:
		return "denied";
	case HCP_EBUSY:
		return "too many runs at once";
	}
	return "unknown status";
}

hcp_str hcp_str_from(const char *text)
{
	return (hcp_str){text, text ? strlen(text) : 0};
}

const char *runtime_face_name(hcp_face face)
{
	switch (face) {
	case HCP_FACE_LIBRARY:
		return "library";
	case HCP_FACE_CLI:
		return "cli";
	case HCP_FACE_STDIO:
		return "stdio";
	case HCP_FACE_SOCKET:
		return "socket";
	case HCP_FACE_HTTP:
		return "http";
	case HCP_FACE_MCP:
		return "mcp";
	}
	return "unknown";
}

hcp_status runtime_error(hcp_error *out, const struct hcp_err *err)
{
	if (out && out->size >= sizeof(*out)) {
		snprintf(out->text, sizeof(out->text), "%s", err->text);
		snprintf(out->file, sizeof(out->file), "%s", err->file);
		out->line = err->line;
		out->column = err->column;
	}
	switch (err->code) {
	case HCP_E_NONE:
		return HCP_OK;
	case HCP_E_NOMEM:
		return HCP_ENOMEM;
	case HCP_E_INVALID:
		return HCP_EINVAL;
	case HCP_E_DENIED:
		return HCP_EDENIED;
	case HCP_E_SYS:
	case HCP_E_CONFIG:
	case HCP_E_TIMEOUT:
	case HCP_E_LIMIT:
	case HCP_E_CANCELLED:
		break;
	}
	return HCP_ECONFIG;
}

hcp_options *hcp_options_new(void)
{
	return calloc(1, sizeof(hcp_options));
}

void hcp_options_free(hcp_options *o)
{
	if (!o)
		return;
	free(o->functions);
	free(o->root);
	free(o->state);
	free(o);
}

int runtime_set_text(char **member, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -1;
	free(*member);
	*member = copy;
	return 0;
}

hcp_status hcp_options_root(hcp_options *o, const char *dir)
{
	if (!o || !dir)
		return HCP_EINVAL;
	return runtime_set_text(&o->root, dir) < 0 ? HCP_ENOMEM : HCP_OK;
}

hcp_status hcp_options_state(hcp_options *o, const char *dir)
{
	if (!o || !dir)
		return HCP_EINVAL;
	return runtime_set_text(&o->state, dir) < 0 ? HCP_ENOMEM : HCP_OK;
}

hcp_status hcp_options_face(hcp_options *o, hcp_face face)
{
	if (!o || face < HCP_FACE_LIBRARY || face > HCP_FACE_MCP)
		return HCP_EINVAL;
	o->face = face;
	return HCP_OK;
}

hcp_status hcp_options_max_runs(hcp_options *o, unsigned n)
{
	if (!o || n == 0 || n > LIMIT_RUNS_ASKED)
		return HCP_EINVAL;
	o->max_runs = n;
	return HCP_OK;
}

hcp_status hcp_options_read_only(hcp_options *o)
{
	if (!o)
		return HCP_EINVAL;
	o->read_only = true;
	return HCP_OK;
}

hcp_status hcp_options_log(hcp_options *o, hcp_log_fn *fn, void *user)
{
	if (!o)
		return HCP_EINVAL;
	o->log = fn;
	o->log_user = user;
	return HCP_OK;
}

static int copy_options(hcp_options *to, const hcp_options *from)
{
	if (!from)
		return 0;
	to->face = from->face;
	to->read_only = from->read_only;
	to->max_runs = from->max_runs;
	to->log = from->log;
	to->log_user = from->log_user;
	return host_functions_copy(to, from) < 0 ||
		       runtime_set_text(&to->root, from->root) < 0 ||
		       runtime_set_text(&to->state, from->state) < 0
		   ? -1
		   : 0;
}

static void destroy(hcp_runtime *rt)
{
	box_host_close(rt->box);
	net_free(rt->net);
	script_pool_free(rt->stacks);
	snapshot_put(rt->snap);
	pthread_cond_destroy(&rt->idle);
	pthread_mutex_destroy(&rt->lock);
	pthread_mutex_destroy(&rt->refreshing);
	free(rt->options.functions);
	free(rt->options.root);
	free(rt->options.state);
	free(rt);
}

/* Without the init program wraps are refused by name; everything else works. */
static void open_box(hcp_runtime *rt)
{
	AUTO_FREE char *init = where_init();

	if (!init)
		hcp_fail(&rt->box_err, HCP_E_CONFIG,
			 "hcp-init is not installed beside the library");
	else if (box_host_open(init, &rt->box, &rt->box_err) < 0)
		rt->box = NULL;
}

static int open_net(hcp_runtime *rt)
{
	AUTO_FREE char *module = where_net();

	rt->net = net_new(module);
	return rt->net ? 0 : -1;
}

hcp_status hcp_open(const hcp_options *o, hcp_runtime **out, hcp_error *err)
{
	struct hcp_err nomem = {.code = HCP_E_NOMEM, .text = "out of memory"};
	hcp_runtime *rt;

	if (!out)
		return HCP_EINVAL;
	*out = NULL;
	rt = calloc(1, sizeof(*rt));
	if (!rt)
		return runtime_error(err, &nomem);
	pthread_mutex_init(&rt->lock, NULL);
	pthread_mutex_init(&rt->refreshing, NULL);
	pthread_cond_init(&rt->idle, NULL);
	rt->stacks = script_pool_new();
	if (rt->stacks && copy_options(&rt->options, o) == 0)
		rt->snap = snapshot_open(&rt->options);
	if (!rt->snap || open_net(rt) < 0 || rt->snap->broken.code == HCP_E_NOMEM) {
		destroy(rt);
		return runtime_error(err, &nomem);
	}
	open_box(rt);
	*out = rt;
	return HCP_OK;
}

hcp_status hcp_check(hcp_runtime *rt, hcp_error *err)
{
	struct snapshot *s;
	hcp_status status;

	if (!rt)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	status = runtime_error(err, &s->broken);
	snapshot_put(s);
	return status == HCP_OK ? HCP_OK : HCP_ECONFIG;
}

struct snapshot *runtime_snapshot(hcp_runtime *rt)
{
	struct snapshot *s;

	pthread_mutex_lock(&rt->lock);
	s = rt->snap;
	atomic_fetch_add(&s->refs, 1);
	pthread_mutex_unlock(&rt->lock);
	return s;
}

hcp_status hcp_reload(hcp_runtime *rt, hcp_error *err)
{
	struct hcp_err nomem = {.code = HCP_E_NOMEM, .text = "out of memory"};
	struct snapshot *fresh, *old;

	if (!rt)
		return HCP_EINVAL;
	fresh = snapshot_open(&rt->options);
	if (!fresh)
		return runtime_error(err, &nomem);
	pthread_mutex_lock(&rt->lock);
	old = rt->snap;
	rt->snap = fresh;
	pthread_mutex_unlock(&rt->lock);
	snapshot_put(old);
	box_host_forget(rt->box);
	return hcp_check(rt, err);
}

void hcp_cancel_all(hcp_runtime *rt)
{
	if (!rt)
		return;
	pthread_mutex_lock(&rt->lock);
	for (hcp_call *c = rt->active; c; c = c->next)
		hcp_call_cancel(c);
	pthread_mutex_unlock(&rt->lock);
}

void hcp_close(hcp_runtime *rt)
{
	if (!rt)
		return;
	pthread_mutex_lock(&rt->lock);
	while (rt->runs > 0)
		pthread_cond_wait(&rt->idle, &rt->lock);
	pthread_mutex_unlock(&rt->lock);
	destroy(rt);
}
