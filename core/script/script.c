/* SPDX-License-Identifier: MIT */
/* One call of a script from outside: makes the state on a stack of its own, lets call.c run it,
 * reads what came of it and frees everything. Every way out is an answer or an error. */
#include "script/state.h"

#include "script/l_secret.h"
#include "script/l_http.h"
#include "script/modules.h"
#include "script/value.h"

#include "secret/secret.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

struct script_state *script_state_of(lua_State *L)
{
	return *(struct script_state **)lua_getextraspace(L);
}

struct entry {
	struct script_state *s;
	lua_CFunction body;
};

/* lua_close is safe out here: no allowed object has a finalizer. */
static void run_state(void *arg)
{
	struct entry *e = arg;
	struct script_state *s = e->s;
	lua_State *L = lua_newstate(script_alloc, &s->meter);
	size_t len;
	const char *text;

	if (!L) {
		script_kill(&s->meter, SCRIPT_KILL_MEMORY);
		return;
	}
	*(struct script_state **)lua_getextraspace(L) = s;
	script_meter_attach(&s->meter, L);
	lua_pushcfunction(L, script_on_error);
	lua_pushcfunction(L, e->body);
	s->status = script_protect(L, 0, 0, 1);
	if (s->status != LUA_OK && lua_type(L, -1) == LUA_TSTRING) {
		text = lua_tolstring(L, -1, &len);
		buf_add(&s->out->error, text, len);
	}
	s->meter.L = NULL;
	lua_close(L);
}

/* Numbers and character classes must not depend on the host's locale; the thread gets its own
 * for the time being. The "C" locale is built into the C library. */
static int run_in_c_locale(struct entry *e, struct hcp_err *err)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	int rc;

	if (!c)
		return hcp_fail_errno(err, "script: no C locale");
	before = uselocale(c);
	rc = script_on_stack(e->s->call->pool, run_state, e, err);
	uselocale(before);
	freelocale(c);
	return rc;
}

static int judge(struct script_state *s, struct hcp_err *err)
{
	struct buf *text = &s->out->error;

	if (s->meter.killed != SCRIPT_ALIVE) {
		buf_free(text);
		return script_kill_error(&s->meter, err);
	}
	if (s->status == LUA_OK && !s->out->result.failed && !s->out->reason.failed)
		return 0;
	if (text->failed || s->status == LUA_OK)
		return hcp_fail_nomem(err);
	s->out->own_message = s->own_message;
	return hcp_fail(err, HCP_E_INVALID, "%s%s",
			s->own_message ? "" : "script: ", text->len ? text->data : "failed");
}

static int enter(const struct script_call *call, lua_CFunction body, struct script_result *out,
		 struct hcp_err *err)
{
	struct script_state s = {.call = call, .out = out, .status = LUA_ERRERR};
	struct entry e = {&s, body};
	int rc;

	script_meter_start(&s.meter, &call->limits, call->name);
	rc = run_in_c_locale(&e, err);
	if (rc == 0)
		rc = judge(&s, err);
	l_ctx_batch_free(&s);
	l_http_free(&s);
	l_secret_free(&s);
	buf_free(&s.scratch);
	free(s.keys);
	return rc;
}

static void env_free(struct script_result *r)
{
	while (r->env_count > 0) {
		struct script_secret *s = &r->env[--r->env_count];

		secret_drop(s->value);
		free((char *)(uintptr_t)s->name);
	}
	free(r->env);
	r->env = NULL;
}

int script_run(const struct script_call *call, struct script_result *out, struct hcp_err *err)
{
	struct script_result r = {0};
	int rc = enter(call, script_body, &r, err);

	if (rc < 0) {
		buf_free(&r.result);
		buf_free(&r.reason);
		env_free(&r);
		r.answer = SCRIPT_ANSWER_NONE;
	}
	*out = r;
	return rc;
}

void script_result_free(struct script_result *r)
{
	buf_free(&r->result);
	buf_free(&r->reason);
	buf_free(&r->error);
	env_free(r);
	r->answer = SCRIPT_ANSWER_NONE;
}

/* The linked library says so itself: headers are only what was compiled with. */
void script_lua_release(char out[16])
{
	static const char mark[] = "Lua ";
	const char *at = strstr(lua_ident, mark);
	size_t len;

	at = at ? at + sizeof(mark) - 1 : "";
	len = strspn(at, "0123456789.");
	memcpy(out, at, len < 16 ? len : 15);
	out[len < 16 ? len : 15] = '\0';
}

static int compile(lua_State *L)
{
	const struct script_call *call = script_state_of(L)->call;

	script_load(L, call->name, call->source, call->source_len);
	return 0;
}

int script_check(enum script_role role, const char *name, const char *source, size_t len,
		 struct hcp_err *err)
{
	struct script_call call = {
	    .role = role, .name = name, .owner = name, .source = source, .source_len = len};
	struct script_result out = {0};
	int rc;

	script_limits_default(&call.limits);
	rc = enter(&call, compile, &out, err);
	script_result_free(&out);
	return rc;
}
