/* SPDX-License-Identifier: MIT */
/* The operator's Lua: one way to find, limit and call a provider, a guard or a mint hook. It
 * decides nothing; the step that asks reads the answer. */
#include "exec/exec.h"

#include "base/fd.h"
#include "secret/secret.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

void run_script_log(void *user, int level, const char *line, size_t len)
{
	run_log(user, (hcp_log_level)level, "%.*s", (int)len, line);
}

void run_script_limits(const struct run *r, struct script_limits *limits)
{
	script_limits_default(limits);
	limits->memory = r->snap->set.lua_memory;
	limits->instructions = r->snap->set.lua_instructions;
	limits->script_ms = r->snap->set.lua_timeout_ms;
	limits->deadline_ns = r->deadline_ns;
	limits->deadline_ms = r->within_ms;
	limits->cancelled = &r->call->cancelled;
}

struct net_grant run_net_grant(const struct run *r, const struct conf_strings *hosts)
{
	const unsigned char *ca = (const unsigned char *)r->snap->ca;

	return (struct net_grant){r->rt->net, hosts, {ca, r->snap->ca_len}};
}

struct kind {
	enum script_role role;
	const char *folder, *word;
};
static const struct kind kinds[] = {
    {SCRIPT_AUTH, "auth", "provider"},
    {SCRIPT_GUARD, "guards", "guard"},
    {SCRIPT_MINT, "mint", "mint hook"},
};

/* What the callbacks of one script need. */
struct operator_call {
	struct run *r;
	const struct operator_script *script;
	const struct kind *kind;
};

static const struct kind *kind_of(enum script_role role)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].role == role)
			return &kinds[i];
	return NULL;
}

/* Each held line: its level and length, then its text. */
struct held_line {
	int level;
	size_t len;
};

static void take_log(void *user, int level, const char *line, size_t len)
{
	const struct operator_call *c = user;
	const struct held_line head = {level, len};

	if (!c->script->held) {
		run_script_log(c->r, level, line, len);
		return;
	}
	buf_add(c->script->held, &head, sizeof(head));
	buf_add(c->script->held, line, len);
}

void run_script_log_held(const struct run *r, struct buf *held)
{
	struct held_line head;

	for (size_t at = 0; !held->failed && at < held->len; at += head.len) {
		memcpy(&head, held->data + at, sizeof(head));
		at += sizeof(head);
		run_log(r, (hcp_log_level)head.level, "%.*s", (int)head.len, held->data + at);
	}
	if (held->len)
		sodium_memzero(held->data, held->len);
	buf_free(held);
}

static const char *pack_text(const struct run *r, const char *path, size_t *len)
{
	const struct pack_file *f = pack_file(r->pack, path);

	*len = f && f->text ? f->size : 0;
	return f ? f->text : NULL;
}

/* A file of the script's folder, in the run's arena. Only ENOENT means that there is none. */
static const char *take_file(void *user, const char *path, size_t *len, struct hcp_err *err)
{
	const struct operator_call *c = user;
	AUTO_FREE char *text = NULL;
	struct hcp_err why = {0};
	const char *kept, *rel;

	*len = 0;
	if (c->script->in_pack)
		return pack_text(c->r, path, len);
	rel = arena_printf(&c->r->arena, "policies/%s/%s", c->kind->folder, path);
	if (!rel)
		return hcp_fail_nomem(err), NULL;
	if (root_read(&c->r->snap->root, rel, true, LIMIT_SCRIPT, &text, len, &why) < 0) {
		if (errno != ENOENT)
			hcp_fail(err, why.code, "%s", why.text);
		return NULL;
	}
	kept = arena_strndup(&c->r->arena, text, *len);
	if (!kept)
		hcp_fail_nomem(err);
	return kept;
}

static bool may_have(const struct operator_script *script, const char *name)
{
	for (size_t i = 0; script->secrets && i < script->secrets->count; i++)
		if (strcmp(script->secrets->items[i], name) == 0)
			return true;
	return false;
}

static int take_secret(void *user, const char *name, struct secret **out, struct hcp_err *err)
{
	const struct operator_call *c = user;

	*out = NULL;
	if (!may_have(c->script, name) && c->script->role == SCRIPT_MINT)
		return hcp_fail(
		    err, HCP_E_DENIED,
		    "the policy lists no secret \"%s\" for the mint hook of pack %s", name,
		    c->r->pack->id);
	if (!may_have(c->script, name))
		return hcp_fail(err, HCP_E_DENIED,
				"the policy lists no secret \"%s\" for %s %s", name,
				c->kind->word, c->script->name);
	if (secret_read(&c->r->snap->root, name, out, err) < 0)
		return -1;
	/* a server's answer may hold what was sent to it, and the hook may raise that */
	if (c->script->role != SCRIPT_MINT || binding_hide(c->r, *out) == 0)
		return 0;
	secret_drop(*out);
	*out = NULL;
	return hcp_fail_nomem(err);
}

/* malloc'ed. A provider or guard that isn't there is found when the policy is read; a hook is
 * named by a pack. */
static char *read_source(const struct operator_call *c, const char *path, size_t *len,
			 struct hcp_err *err)
{
	struct hcp_err why = {0};
	char *text;

	if (root_read(&c->r->snap->root, path, true, LIMIT_SCRIPT, &text, len, &why) == 0)
		return text;
	if (errno == ENOENT && c->script->role == SCRIPT_MINT)
		hcp_fail(err, HCP_E_INVALID, "there is no %s", path);
	else
		hcp_fail(err, why.code, "%s", why.text);
	return NULL;
}

/* The script's text as call->source; *owned is the caller's to free. */
static int find_source(const struct operator_call *c, struct script_call *call, char **owned,
		       struct hcp_err *err)
{
	struct arena *a = &c->r->arena;
	const struct operator_script *s = c->script;
	const char *path = arena_printf(a, "policies/%s/%s.lua", c->kind->folder, s->name);

	call->name =
	    s->in_pack ? s->name : arena_printf(a, "%s/%s.lua", c->kind->folder, s->name);
	call->owner = s->in_pack ? arena_printf(a, "pack %s", c->r->pack->id)
				 : arena_printf(a, "%s %s", c->kind->word, s->name);
	if (!path || !call->name || !call->owner)
		return hcp_fail_nomem(err);
	if (!s->in_pack) {
		call->source = *owned = read_source(c, path, &call->source_len, err);
		return *owned ? 0 : -1;
	}
	call->source = pack_text(c->r, s->name, &call->source_len);
	return call->source
		   ? 0
		   : hcp_fail(err, HCP_E_INVALID, "the pack has no script %s", s->name);
}

static void limit(const struct operator_call *c, struct script_limits *limits)
{
	int64_t own = run_now_ns() + c->script->within_ms * 1000000;

	run_script_limits(c->r, limits);
	if (c->script->detached) {
		limits->deadline_ns = 0;
		limits->cancelled = NULL;
	}
	if (!c->script->within_ms || (limits->deadline_ns && limits->deadline_ns <= own))
		return;
	limits->deadline_ns = own;
	limits->deadline_ms = c->script->within_ms;
}

int operator_script_run(struct run *r, const struct operator_script *script,
			struct script_result *answer, struct hcp_err *err)
{
	struct operator_call c = {r, script, kind_of(script->role)};
	struct net_grant net = run_net_grant(r, script->hosts);
	struct script_call call = {
	    .role = script->role, .pool = r->rt->stacks, .export = script->export};
	AUTO_FREE char *source = NULL;

	if (!c.kind)
		return hcp_fail(err, HCP_E_DENIED, "not an operator's script");
	if (find_source(&c, &call, &source, err) < 0)
		return -1;
	call.host = (struct script_host){
	    .user = &c, .log = take_log, .load = take_file, .secret = take_secret, .net = &net};
	call.config = script->config;
	call.args[0] = script->request;
	call.env = script->env;
	call.env_count = script->env_count;
	limit(&c, &call.limits);
	return script_run(&call, answer, err);
}

int operator_script_check(struct run *r, const struct operator_script *script,
			  struct hcp_err *err)
{
	struct operator_call c = {r, script, kind_of(script->role)};
	struct script_call call = {.role = script->role};
	AUTO_FREE char *source = NULL;

	if (!c.kind)
		return hcp_fail(err, HCP_E_DENIED, "not an operator's script");
	if (find_source(&c, &call, &source, err) < 0)
		return -1;
	return script_check(script->role, call.name, call.source, call.source_len, err);
}
