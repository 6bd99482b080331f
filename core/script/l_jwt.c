/* SPDX-License-Identifier: MIT */
/* Signatures and tokens for providers and mint hooks. The judging is net/jwt.c's; here Lua's
 * tables become what it takes. */
#include "script/l_http.h"
#include "script/l_secret.h"
#include "script/modules.h"
#include "script/value.h"

#include "base/json.h"
#include "base/limits.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JWKS_MAX_AGE_S 300 /* a key that was withdrawn is taken no longer than this */
#define JWKS_MIN_AGE_S 30  /* who sends unknown key ids makes us ask no more often */

static const struct net_module *module(lua_State *L)
{
	const struct net_grant *grant = script_state_of(L)->call->host.net;
	const struct net_module *m;
	struct hcp_err err = {0};

	m = net_module(grant ? grant->net : NULL, &err);
	if (!m)
		luaL_error(L, "%s", err.text);
	return m;
}

static enum net_alg take_alg(lua_State *L, int index)
{
	enum net_alg alg = NET_ALG_NONE;

	if (lua_type(L, index) == LUA_TSTRING)
		alg = jwt_alg(lua_tostring(L, index));
	if (alg == NET_ALG_NONE)
		luaL_error(L, "alg must be RS256, ES256 or EdDSA");
	return alg;
}

static struct net_bytes take_field(lua_State *L, const char *name)
{
	struct bytes b;

	lua_getfield(L, 1, name);
	if (!l_secret_of(L, -1) && lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "%s must be text or a secret", name);
	b = l_secret_take(L, -1); /* the table at 1 keeps it */
	lua_pop(L, 1);
	return (struct net_bytes){b.data, b.len};
}

static size_t sign(lua_State *L, enum net_alg alg, struct net_bytes key, struct net_bytes data,
		   unsigned char out[NET_SIGNATURE_MAX])
{
	const struct net_module *m = module(L);
	struct hcp_err err = {0};
	size_t len;
	int rc;

	script_host_begin(L, 1);
	rc = m->sign(alg, key, data, out, &len, &err);
	script_host_end(L);
	if (rc < 0)
		luaL_error(L, "%s", err.text);
	return len;
}

int l_host_sign(lua_State *L)
{
	unsigned char out[NET_SIGNATURE_MAX];
	enum net_alg alg;
	size_t len;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_getfield(L, 1, "alg");
	alg = take_alg(L, -1);
	len = sign(L, alg, take_field(L, "key"), take_field(L, "data"), out);
	lua_pushlstring(L, (const char *)out, len);
	return 1;
}

/* ---- making a token ---- */

static void add_part(luaL_Buffer *b, const char *text, size_t len)
{
	size_t size = sodium_base64_encoded_len(len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	char *to = luaL_prepbuffsize(b, size);

	sodium_bin2base64(to, size, (const unsigned char *)text, len,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	luaL_addsize(b, size - 1);
}

/* The table at `index` as JSON, a string on the top. */
static void push_json_text(lua_State *L, int index, const char *what)
{
	struct buf *text = &script_state_of(L)->scratch;

	text->len = 0;
	script_write_json(L, index, what, LIMIT_TOKEN, text);
	lua_pushlstring(L, text->data, text->len);
}

/* {alg, key, claims, header} -> a handle: a token is what opens doors. */
int l_host_sign_jwt(lua_State *L)
{
	unsigned char sig[NET_SIGNATURE_MAX];
	enum net_alg alg;
	luaL_Buffer b;
	struct answer out;
	size_t len, sig_len, size;
	const char *text;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_newtable(L);
	if (lua_getfield(L, 1, "header") == LUA_TTABLE)
		for (lua_pushnil(L); lua_next(L, 3);) {
			lua_pushvalue(L, -2);
			lua_insert(L, -2);
			lua_rawset(L, 2);
		}
	lua_settop(L, 2);
	lua_getfield(L, 1, "alg");
	alg = take_alg(L, 3);
	lua_setfield(L, 2, "alg");
	lua_pushliteral(L, "JWT");
	lua_setfield(L, 2, "typ");
	push_json_text(L, 2, "header"); /* 3 */
	if (lua_getfield(L, 1, "claims") != LUA_TTABLE)
		luaL_error(L, "claims must be a table");
	push_json_text(L, 4, "claims"); /* 5 */
	luaL_buffinit(L, &b);
	text = lua_tolstring(L, 3, &len);
	add_part(&b, text, len);
	luaL_addchar(&b, '.');
	text = lua_tolstring(L, 5, &len);
	add_part(&b, text, len);
	luaL_pushresult(&b);
	text = lua_tolstring(L, -1, &len);
	sig_len = sign(L, alg, take_field(L, "key"),
		       (struct net_bytes){(const unsigned char *)text, len}, sig);
	size = sodium_base64_encoded_len(sig_len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	l_secret_begin(L, &out, len + 1 + size, true);
	memcpy(out.data, text, len);
	out.data[len] = '.';
	sodium_bin2base64((char *)out.data + len + 1, size, sig, sig_len,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return l_secret_end(L, &out, len + size);
}

/* ---- judging one ---- */

/* The member as JSON text at the end of the scratch; its length, 0 where it is nil. */
static size_t write_member(lua_State *L, const char *name)
{
	struct buf *text = &script_state_of(L)->scratch;
	size_t from = text->len;

	if (lua_getfield(L, 1, name) != LUA_TNIL)
		script_write_json(L, lua_gettop(L), name, from + NET_BODY_MAX, text);
	lua_pop(L, 1);
	return text->len - from;
}

static unsigned take_algs(lua_State *L)
{
	unsigned algs = 0;

	if (lua_getfield(L, 1, "algs") != LUA_TTABLE)
		luaL_error(L, "algs must be a list of RS256, ES256, EdDSA");
	for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -1); i++) {
		lua_rawgeti(L, -1, i);
		algs |= 1U << take_alg(L, -1);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return algs;
}

struct jwt_call {
	struct jwt_demand demand;
	struct net_bytes token;
	json_t *claims;
	struct hcp_err err;
};

/* `text` holds the key set and the audience; a length of 0: there is none. Calls no Lua, so
 * what it makes is dropped again. */
static void ask(const struct net_module *m, struct jwt_call *c, const char *text, size_t jwks,
		size_t audience)
{
	json_t *keys = jwks ? json_parse(text, jwks, LIMIT_ENVELOPE_DEPTH, &c->err) : NULL;
	json_t *whom =
	    audience ? json_parse(text + jwks, audience, LIMIT_ENVELOPE_DEPTH, &c->err) : NULL;

	c->demand.jwks = keys;
	c->demand.audience = whom;
	if (c->err.code == HCP_E_NONE)
		c->claims = jwt_verify(m, (const char *)c->token.data, c->token.len, &c->demand,
				       &c->err);
	json_decref(keys);
	json_decref(whom);
}

static void take_demand(lua_State *L, struct jwt_call *c)
{
	struct jwt_demand *d = &c->demand;

	c->token = take_field(L, "token");
	d->algs = take_algs(L);
	lua_getfield(L, 1, "issuer");
	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "issuer must be text");
	d->issuer = lua_tostring(L, -1); /* stays on the stack */
	lua_getfield(L, 1, "leeway");
	d->leeway_s = (int64_t)luaL_optinteger(L, -1, 0);
	lua_getfield(L, 1, "key");
	if (!lua_isnil(L, -1))
		d->key = take_field(L, "key");
	d->now_s = (int64_t)time(NULL);
}

/* The claims; or nil and why the token is refused. Anything else raises. */
int l_host_verify_jwt(lua_State *L)
{
	const struct net_module *m = module(L);
	struct script_state *s = script_state_of(L);
	struct jwt_call c = {0};
	size_t jwks, audience;
	bool good;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	script_count_calls(L, 1);
	take_demand(L, &c);
	s->scratch.len = 0;
	jwks = write_member(L, "jwks");
	audience = write_member(L, "audience");
	ask(m, &c, s->scratch.data, jwks, audience);
	s->scratch.len = 0;
	good = c.claims != NULL;
	if (good)
		json_add_value(&s->scratch, c.claims);
	json_decref(c.claims);
	if (good) {
		lua_pushlstring(L, s->scratch.data, s->scratch.len);
		script_read_json(L, lua_tostring(L, -1), lua_rawlen(L, -1), "claims");
		return 1;
	}
	if (c.err.code != HCP_E_DENIED)
		luaL_error(L, "%s", c.err.text);
	lua_pushnil(L);
	lua_pushstring(L, c.err.text);
	return 2;
}

/* ---- key sets ---- */

/* Left in the scratch as text, for Lua to read; false where there is none that will do. */
static bool from_cache(struct script_state *s, const char *url, int64_t max_age_s)
{
	const struct net_grant *net = s->call->host.net;
	json_t *set = net_cache_get(net->net, url, net->ca, max_age_s);
	bool known = set != NULL;

	s->scratch.len = 0;
	if (set)
		json_add_value(&s->scratch, set);
	json_decref(set);
	return known;
}

static void fetch(lua_State *L, const char *url)
{
	struct script_state *s = script_state_of(L);
	const struct net_grant *net = s->call->host.net;
	struct script_http *x;
	struct hcp_err err = {0};
	json_t *set;

	lua_newtable(L);
	lua_pushstring(L, url);
	lua_setfield(L, -2, "url");
	lua_replace(L, 1);
	x = l_http_open(L);
	l_http_request(L, x);
	l_http_send(L, x);
	if (x->answer.status != 200)
		luaL_error(L, "the key set's server answers with status %d",
			   (int)x->answer.status);
	set = json_parse((const char *)x->answer.body, x->answer.body_len, LIMIT_ENVELOPE_DEPTH,
			 &err);
	if (!set)
		luaL_error(L, "the key set is no JSON: %s", err.text);
	s->scratch.len = 0;
	json_add_value(&s->scratch, set);
	net_cache_put(net->net, url, net->ca, set);
	json_decref(set);
	l_http_free(s);
}

/* (url [, again]): `again` where the set that was given lacks a key. */
int l_host_jwks(lua_State *L)
{
	struct script_state *s = script_state_of(L);
	const struct net_grant *grant = s->call->host.net;
	const char *url = luaL_checkstring(L, 1);
	int64_t max_age_s = lua_toboolean(L, 2) ? JWKS_MIN_AGE_S : JWKS_MAX_AGE_S;
	struct net_target target;
	struct hcp_err err = {0};

	lua_settop(L, 2);
	lua_pushvalue(L, 1); /* stays, whatever stands at 1 */
	script_count_calls(L, 1);
	if (!grant || net_target(grant->hosts, url, &target, &err) < 0)
		return luaL_error(L, "%s", grant ? err.text : "there is no network here");
	if (!from_cache(s, url, max_age_s))
		fetch(L, url);
	if (s->scratch.failed)
		luaL_error(L, "out of memory");
	lua_pushlstring(L, s->scratch.data, s->scratch.len);
	script_read_json(L, lua_tostring(L, -1), lua_rawlen(L, -1), "jwks");
	return 1;
}
