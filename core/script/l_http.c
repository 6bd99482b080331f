/* SPDX-License-Identifier: MIT */
/* host.http and ctx.http: one request to a host that the operator listed. Secrets of the answer
 * become handles before anything of it reaches Lua; a secret that was sent and comes back is
 * taken out of it. */
#include "script/l_http.h"
#include "script/l_secret.h"
#include "script/modules.h"
#include "script/value.h"

#include "base/json.h"
#include "base/limits.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void l_http_free(struct script_state *s)
{
	struct script_http *x = s->http;

	s->http = NULL;
	if (!x)
		return;
	if (x->sent)
		sodium_free(x->sent);
	if (x->answer.body)
		sodium_free(x->answer.body);
	if (x->answer.head)
		sodium_free(x->answer.head);
	redact_clear(&x->known);
	buf_free(&x->text);
	free(x);
}

struct script_http *l_http_open(lua_State *L)
{
	struct script_state *s = script_state_of(L);
	struct script_http *x;

	l_http_free(s);
	if (sodium_init() < 0)
		luaL_error(L, "libsodium can't be started");
	x = s->http = calloc(1, sizeof(*x));
	if (!x)
		luaL_error(L, "out of memory");
	x->answer.body_cap =
	    s->call->role == SCRIPT_ADAPTER ? s->call->limits.result : NET_BODY_MAX;
	x->answer.head_cap = NET_HEAD_MAX;
	x->sent = sodium_malloc(HTTP_SENT_MAX);
	x->answer.body = sodium_malloc(x->answer.body_cap + 1);
	x->answer.head = sodium_malloc(NET_HEAD_MAX + 1);
	if (!x->sent || !x->answer.body || !x->answer.head)
		luaL_error(L, "out of memory");
	return x;
}

static bool may_connect(void *user, const struct sockaddr *addr)
{
	const struct net_grant *grant = user;

	return net_may_connect(grant->hosts, addr);
}

static int send_request(const struct net_grant *grant, struct script_http *x,
			struct hcp_err *err)
{
	const struct net_module *m = net_module(grant->net, err);
	struct net_grant mine = *grant;

	x->q.ca = grant->ca;
	x->q.allow = may_connect;
	x->q.user = &mine;
	return m ? m->http(&x->q, &x->answer, err) : -1;
}

void l_http_send(lua_State *L, struct script_http *x)
{
	const struct net_grant *grant = script_state_of(L)->call->host.net;
	struct hcp_err err = {0};
	int rc;

	script_host_begin(L, 1);
	rc = send_request(grant, x, &err);
	script_host_end(L);
	if (rc == 0)
		return;
	/* libcurl's words may hold what was sent */
	redact_text(&x->known, err.text, strlen(err.text), &x->text);
	lua_pushlstring(L, x->text.data ? x->text.data : "", x->text.len);
	luaL_error(L, "%s", lua_tostring(L, -1));
}

/* ---- the answer ---- */

/* "name: value\n"... into a table, names in lower case, values of one name joined. */
static void push_headers(lua_State *L, const char *p, size_t len)
{
	const char *end = p + len, *line, *colon;
	size_t size;

	lua_newtable(L);
	for (; p < end; p = line + 1) {
		line = memchr(p, '\n', (size_t)(end - p));
		if (!line)
			return;
		colon = memchr(p, ':', (size_t)(line - p));
		if (!colon)
			continue;
		lua_pushlstring(L, p, (size_t)(colon - p));
		lua_getglobal(L, "string");
		lua_getfield(L, -1, "lower");
		lua_remove(L, -2);
		lua_insert(L, -2);
		lua_call(L, 1, 1);
		for (colon++; colon < line && (*colon == ' ' || *colon == '\t');)
			colon++;
		for (size = (size_t)(line - colon);
		     size > 0 && strchr(" \t\r", colon[size - 1]) && colon[size - 1];)
			size--;
		lua_pushvalue(L, -1);
		if (lua_rawget(L, -3) == LUA_TNIL) {
			lua_pop(L, 1);
			lua_pushlstring(L, colon, size);
		} else {
			lua_pushliteral(L, ", ");
			lua_pushlstring(L, colon, size);
			lua_concat(L, 3);
		}
		lua_rawset(L, -3);
	}
}

static bool is_json(const char *type)
{
	size_t n = type ? strcspn(type, "; ") : 0;

	return (n == 16 && memcmp(type, "application/json", 16) == 0) ||
	       (n > 5 && memcmp(type + n - 5, "+json", 5) == 0);
}

/* The secret at `path` of the body, as a handle on the top; its bytes there become spaces. nil
 * where there is none. */
static void push_found(lua_State *L, struct script_http *x, const char *path)
{
	char *body = (char *)x->answer.body;
	const char *at;
	size_t size, len;
	struct answer out;
	int found = json_path_string(body, x->answer.body_len, path, &at, &size);

	if (found > 0) {
		lua_pushnil(L);
		return;
	}
	if (found < 0 || size == 0)
		luaL_error(L, "the answer's %s is no text", path);
	l_secret_begin(L, &out, size, true);
	if (json_path_decode(at, size, out.data, &len) < 0 || len == 0)
		luaL_error(L, "the answer's %s is no text", path);
	l_secret_end(L, &out, len);
	memset(body + (at - body), ' ', size);
	if (redact_add(&x->known, out.handle) < 0)
		luaL_error(L, "out of memory");
}

/* {path = handle} for the option `secrets`, on the top. */
static void push_secrets(lua_State *L, struct script_http *x)
{
	lua_newtable(L);
	lua_getfield(L, 1, "secrets");
	for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -1); i++) {
		if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
			luaL_error(L, "secrets must be a list of paths");
		push_found(L, x, lua_tostring(L, -1));
		lua_rawset(L, -4);
	}
	lua_pop(L, 1);
}

/* Puts the handle on the top where its path says, in the table at `root`. */
static void place(lua_State *L, int root, const char *path)
{
	size_t n;

	lua_pushvalue(L, root);
	for (; path[n = strcspn(path, ".")]; path += n + 1) {
		lua_pushlstring(L, path, n);
		lua_rawget(L, -2);
		lua_remove(L, -2);
	}
	lua_pushstring(L, path);
	lua_pushvalue(L, -3);
	lua_rawset(L, -3);
	lua_pop(L, 1);
}

/* Redacts first: what Lua gets, it keeps. */
static void push_json(lua_State *L, struct script_http *x)
{
	x->text.len = 0;
	redact_json(&x->known, (const char *)x->answer.body, x->answer.body_len, &x->text);
	if (x->text.failed)
		luaL_error(L, "out of memory");
	script_read_json(L, x->text.data, x->text.len, "json");
}

static void push_text(lua_State *L, struct script_http *x, const unsigned char *text,
		      size_t len)
{
	x->text.len = 0;
	redact_text(&x->known, (const char *)text, len, &x->text);
	if (x->text.failed)
		luaL_error(L, "out of memory");
	lua_pushlstring(L, x->text.data ? x->text.data : "", x->text.len);
}

static bool wants_secrets(lua_State *L)
{
	int type = lua_getfield(L, 1, "secrets");

	lua_pop(L, 1);
	if (type != LUA_TNIL && type != LUA_TTABLE)
		luaL_error(L, "secrets must be a list of paths");
	return type == LUA_TTABLE;
}

static bool body_is_json(const struct script_http *x)
{
	struct json_scan scan;

	return json_scan((const char *)x->answer.body, x->answer.body_len, LIMIT_ENVELOPE_DEPTH,
			 NULL, &scan) == JSON_GOOD;
}

/* With `secrets` only the JSON is shown: a body that can't be read might hold them anywhere. */
static void push_secret_json(lua_State *L, struct script_http *x)
{
	int found, json;

	if (!body_is_json(x)) {
		lua_pushnil(L);
		return;
	}
	push_secrets(L, x);
	found = lua_gettop(L);
	push_json(L, x);
	json = lua_gettop(L);
	for (lua_pushnil(L); lua_next(L, found); lua_pop(L, 1))
		place(L, json, lua_tostring(L, -2));
	lua_remove(L, found);
}

static int push_answer(lua_State *L, struct script_http *x, bool secret)
{
	int out;

	lua_createtable(L, 0, 4);
	out = lua_gettop(L);
	lua_pushinteger(L, x->answer.status);
	lua_setfield(L, out, "status");
	if (secret) {
		push_secret_json(L, x);
		lua_setfield(L, out, "json");
	}
	push_text(L, x, x->answer.head, x->answer.head_len);
	push_headers(L, lua_tostring(L, -1), x->text.len);
	lua_getfield(L, -1, "content-type");
	if (!secret && is_json(lua_tostring(L, -1)) && body_is_json(x)) {
		push_json(L, x);
		lua_setfield(L, out, "json");
	}
	lua_pop(L, 1);
	lua_setfield(L, out, "headers");
	lua_settop(L, out);
	if (!secret) {
		push_text(L, x, x->answer.body, x->answer.body_len);
		lua_setfield(L, out, "body");
	}
	return 1;
}

int l_host_http(lua_State *L)
{
	struct script_http *x;
	bool secret;

	lua_settop(L, 1);
	luaL_checktype(L, 1, LUA_TTABLE);
	secret = wants_secrets(L);
	x = l_http_open(L);
	l_http_request(L, x);
	l_http_send(L, x);
	push_answer(L, x, secret);
	l_http_free(script_state_of(L));
	return 1;
}
