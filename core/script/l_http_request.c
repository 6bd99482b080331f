/* SPDX-License-Identifier: MIT */
/* The request of host.http, put together in locked memory: everything that may be a string may
 * be a handle. What would let one part pass for another (line ends, NUL) is refused. */
#include "script/l_http.h"
#include "script/l_secret.h"
#include "script/modules.h"
#include "script/value.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const char *const options[] = {"method", "url",  "headers", "query",   "form",
				      "json",   "body", "timeout", "secrets", NULL};

static void put(lua_State *L, struct script_http *x, const void *data, size_t len)
{
	if (len > HTTP_SENT_MAX - x->used)
		luaL_error(L, "a request of over %dK", HTTP_SENT_MAX / 1024);
	if (len)
		memcpy(x->sent + x->used, data, len);
	x->used += len;
}

static void put_char(lua_State *L, struct script_http *x, char c)
{
	put(L, x, &c, 1);
}

/* The value at `index`: text, a number, a boolean or a handle, which is remembered. */
static struct bytes take(lua_State *L, struct script_http *x, int index, const char *what)
{
	struct secret *s = l_secret_of(L, index);
	struct bytes b = {0};

	if (s && redact_add(&x->known, s) < 0)
		luaL_error(L, "out of memory");
	if (s || lua_type(L, index) == LUA_TSTRING || lua_type(L, index) == LUA_TNUMBER)
		return l_secret_take(L, index);
	if (lua_isboolean(L, index))
		return lua_toboolean(L, index)
			   ? (struct bytes){(const unsigned char *)"true", 4, false}
			   : (struct bytes){(const unsigned char *)"false", 5, false};
	luaL_error(L, "%s must be text or a secret", what);
	return b;
}

static void check_line(lua_State *L, const struct bytes *b, const char *what)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] < 0x20 || b->data[i] == 0x7f)
			luaL_error(L, "%s holds a control character", what);
}

/* ---- name=value ---- */

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~", c));
}

static void put_percent(lua_State *L, struct script_http *x, const struct bytes *b)
{
	static const char digits[] = "0123456789ABCDEF";
	char code[3] = "%";

	for (size_t i = 0; i < b->len; i++) {
		if (is_unreserved(b->data[i])) {
			put(L, x, &b->data[i], 1);
			continue;
		}
		code[1] = digits[b->data[i] >> 4];
		code[2] = digits[b->data[i] & 15];
		put(L, x, code, 3);
	}
}

/* The names of the table on the top, sorted, as a list above it: what is sent doesn't depend on
 * how a hash table happens to lie. */
static lua_Integer push_names(lua_State *L, const char *what)
{
	struct script_state *s = script_state_of(L);
	int table = lua_gettop(L);
	size_t from = s->key_count = 0, len;
	const char *text;

	for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "%s: names must be text", what);
		text = lua_tolstring(L, -2, &len);
		script_key_add(L, text, len);
	}
	script_key_sort(s, from);
	lua_createtable(L, (int)s->key_count, 0);
	for (size_t i = 0; i < s->key_count; i++) {
		lua_pushlstring(L, s->keys[i].text, s->keys[i].len);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return (lua_Integer)s->key_count;
}

/* The table on the top as name=value&name=value. */
static void put_pairs(lua_State *L, struct script_http *x, const char *what, char between)
{
	lua_Integer count;
	struct bytes b;

	if (!lua_istable(L, -1))
		luaL_error(L, "%s must be a table", what);
	count = push_names(L, what);
	for (lua_Integer i = 1; i <= count; i++, between = '&') {
		if (between)
			put_char(L, x, between);
		lua_rawgeti(L, -1, i);
		b = take(L, x, -1, what);
		put_percent(L, x, &b);
		put_char(L, x, '=');
		lua_rawget(L, -3);
		b = take(L, x, -1, what);
		put_percent(L, x, &b);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* ---- the parts ---- */

static void put_url(lua_State *L, struct script_http *x)
{
	const struct net_grant *grant = script_state_of(L)->call->host.net;
	struct net_target target;
	struct hcp_err err = {0};
	struct bytes b;

	lua_getfield(L, 1, "url");
	b = take(L, x, -1, "url");
	check_line(L, &b, "url");
	x->q.url = (const char *)x->sent + x->used;
	put(L, x, b.data, b.len);
	lua_getfield(L, 1, "query");
	if (!lua_isnil(L, -1))
		put_pairs(L, x, "query", memchr(b.data, '?', b.len) ? '&' : '?');
	put_char(L, x, '\0');
	lua_pop(L, 2);
	if (net_target(grant ? grant->hosts : NULL, x->q.url, &target, &err) < 0)
		luaL_error(L, "%s", err.text);
	x->q.plain = target.plain;
}

static bool is_token(const char *s, size_t len)
{
	return len > 0 && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~") == len;
}

/* What decides where a request ends, and for whom it is, is not the script's. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = {"host",       "content-length", "transfer-encoding",
					   "connection", "upgrade",        "te",
					   "trailer",    "expect",         NULL};

	for (size_t i = 0; ours[i]; i++)
		if (strcasecmp(ours[i], name) == 0)
			return true;
	return false;
}

static void begin_line(lua_State *L, struct script_http *x)
{
	if (x->q.line_count == HTTP_LINES)
		luaL_error(L, "over %d headers", HTTP_LINES);
	x->lines[x->q.line_count++] = (const char *)x->sent + x->used;
}

static void put_line(lua_State *L, struct script_http *x, const char *line)
{
	begin_line(L, x);
	put(L, x, line, strlen(line) + 1);
}

/* The value on the top, the name beneath it. */
static void put_header(lua_State *L, struct script_http *x)
{
	size_t len;
	const char *name = lua_tolstring(L, -2, &len);
	struct bytes b = take(L, x, -1, name);

	if (!is_token(name, len) || is_ours(name))
		luaL_error(L, "header \"%s\" can't be set", name);
	check_line(L, &b, name);
	begin_line(L, x);
	put(L, x, name, len);
	put(L, x, b.len ? ": " : ";", b.len ? 2 : 1); /* libcurl's way to send an empty one */
	put(L, x, b.data, b.len);
	put_char(L, x, '\0');
}

/* true where the script set a Content-Type itself. */
static bool put_headers(lua_State *L, struct script_http *x)
{
	bool typed = false;
	lua_Integer count;

	lua_getfield(L, 1, "headers");
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		return false;
	}
	if (!lua_istable(L, -1))
		luaL_error(L, "headers must be a table");
	count = push_names(L, "headers");
	for (lua_Integer i = 1; i <= count; i++) {
		lua_rawgeti(L, -1, i);
		typed = typed || strcasecmp(lua_tostring(L, -1), "content-type") == 0;
		lua_pushvalue(L, -1);
		lua_rawget(L, -4);
		put_header(L, x);
		lua_pop(L, 2);
	}
	lua_pop(L, 2);
	return typed;
}

/* ---- the body ---- */

/* No JSON text holds this byte: what stands behind it is a pointer to the secret. */
#define MARK '\xff'

static void mark_secret(lua_State *L, struct secret *s, struct buf *out)
{
	(void)L;
	buf_putc(out, MARK);
	buf_add(out, &s, sizeof(s));
}

static void put_json_secret(lua_State *L, struct script_http *x, struct secret *s)
{
	const unsigned char *p = secret_bytes(s);
	size_t len = secret_len(s);
	char code[8];

	if (!utf8_valid((const char *)p, len))
		luaL_error(L, "json: a secret that isn't UTF-8");
	if (redact_add(&x->known, s) < 0)
		luaL_error(L, "out of memory");
	put_char(L, x, '"');
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '"' || p[i] == '\\')
			put_char(L, x, '\\');
		if (p[i] < 0x20) {
			snprintf(code, sizeof(code), "\\u%04x", p[i]);
			put(L, x, code, 6);
		} else {
			put(L, x, &p[i], 1);
		}
	}
	put_char(L, x, '"');
}

static void put_json(lua_State *L, struct script_http *x)
{
	struct buf *text = &script_state_of(L)->scratch;
	struct secret *s;
	const char *p, *mark;

	text->len = 0;
	script_write_json_with(L, lua_gettop(L), "json", NET_BODY_MAX, mark_secret, text);
	for (p = text->data; (mark = memchr(p, MARK, (size_t)(text->data + text->len - p)));) {
		put(L, x, p, (size_t)(mark - p));
		memcpy(&s, mark + 1, sizeof(s));
		put_json_secret(L, x, s);
		p = mark + 1 + sizeof(s);
	}
	put(L, x, p, (size_t)(text->data + text->len - p));
}

static void put_body(lua_State *L, struct script_http *x, bool typed)
{
	static const struct kind {
		const char *name, *type;
	} kinds[] = {{"form", "Content-Type: application/x-www-form-urlencoded"},
		     {"json", "Content-Type: application/json"},
		     {"body", "Content-Type: application/octet-stream"}};
	size_t from = 0;
	struct bytes b;

	for (size_t i = 0; i < 3; i++) {
		lua_getfield(L, 1, kinds[i].name);
		if (lua_isnil(L, -1)) {
			lua_pop(L, 1);
			continue;
		}
		if (x->q.body.data)
			luaL_error(L, "one of form, json and body, not several");
		if (!typed)
			put_line(L, x, kinds[i].type);
		from = x->used;
		if (i == 0) {
			put_pairs(L, x, "form", 0);
		} else if (i == 1) {
			put_json(L, x);
		} else {
			b = take(L, x, -1, "body");
			put(L, x, b.data, b.len);
		}
		x->q.body = (struct net_bytes){x->sent + from, x->used - from};
		put_char(L, x, '\0');
		lua_pop(L, 1);
	}
}

static void read_method(lua_State *L, struct script_http *x)
{
	static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT",
					      "PATCH", "DELETE", "OPTIONS", NULL};
	const char *name;

	lua_getfield(L, 1, "method");
	name = lua_isnil(L, -1) ? "GET" : lua_tostring(L, -1);
	for (size_t i = 0; methods[i] && !x->q.method; i++)
		if (name && strcmp(methods[i], name) == 0)
			x->q.method = methods[i];
	lua_pop(L, 1);
	if (!x->q.method)
		luaL_error(L, "method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
}

static int64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A provider or a hook holds up a run that hasn't begun. An adapter's request is the run: it
 * has the command's time. */
static lua_Number most_seconds(const struct script_call *call)
{
	if (call->role != SCRIPT_ADAPTER || !call->limits.deadline_ns)
		return NET_TIMEOUT_MS / 1000.0;
	return (lua_Number)call->limits.deadline_ms / 1000;
}

static void read_timeout(lua_State *L, struct script_http *x)
{
	const struct script_limits *max = &script_state_of(L)->call->limits;
	lua_Number most = most_seconds(script_state_of(L)->call), s;

	lua_getfield(L, 1, "timeout");
	s = lua_isnil(L, -1) ? most : luaL_checknumber(L, -1);
	lua_pop(L, 1);
	if (!(s > 0 && s <= most))
		luaL_error(L, "timeout must be above 0 and at most %d seconds", (int)most);
	x->q.deadline_ns = monotonic_ns() + (int64_t)(s * 1e9);
	if (max->deadline_ns && max->deadline_ns < x->q.deadline_ns)
		x->q.deadline_ns = max->deadline_ns;
	x->q.cancelled = max->cancelled;
}

/* A misspelt option would be one that is silently not there. */
static void check_options(lua_State *L)
{
	size_t i;

	luaL_checktype(L, 1, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "options are named");
		for (i = 0; options[i]; i++)
			if (strcmp(options[i], lua_tostring(L, -2)) == 0)
				break;
		if (!options[i])
			luaL_error(L, "unknown option \"%s\"", lua_tostring(L, -2));
	}
}

void l_http_request(lua_State *L, struct script_http *x)
{
	luaL_checkstack(L, 20, NULL);
	check_options(L);
	read_method(L, x);
	read_timeout(L, x);
	put_url(L, x);
	put_body(L, x, put_headers(L, x));
	x->q.lines = x->lines;
}
