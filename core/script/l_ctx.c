/* SPDX-License-Identifier: MIT */
/* `ctx`: what a verb is told about its call, and how it runs other commands. Arguments leave as
 * JSON, an envelope comes back as JSON; whether the call is allowed is decided outside, by the
 * same nine steps as for any invoker. */
#include "script/modules.h"

#include "base/json.h"
#include "base/limits.h"
#include "script/value.h"

#include <stdlib.h>
#include <string.h>

/* The calls under way: freed by the next ones or with the state, for Lua may jump away. */
struct script_batch {
	size_t count;
	const char **pack_ids, **verb_keys; /* in Lua strings that the caller's stack holds */
	json_t **args;
	char **envelopes;
	size_t *lens;
	size_t text; /* bytes of the args of all */
};

void l_ctx_batch_free(struct script_state *s)
{
	struct script_batch *b = s->batch;

	if (!b)
		return;
	for (size_t i = 0; i < b->count; i++) {
		json_decref(b->args[i]);
		free(b->envelopes[i]);
	}
	free(b->pack_ids);
	free(b->verb_keys);
	free(b->args);
	free(b->envelopes);
	free(b->lens);
	free(b);
	s->batch = NULL;
}

static struct script_batch *batch_new(lua_State *L, size_t count)
{
	struct script_state *s = script_state_of(L);
	struct script_batch *b;

	l_ctx_batch_free(s);
	b = calloc(1, sizeof(*b));
	if (!b)
		luaL_error(L, "out of memory");
	s->batch = b;
	b->pack_ids = calloc(count + 1, sizeof(*b->pack_ids));
	b->verb_keys = calloc(count + 1, sizeof(*b->verb_keys));
	b->args = calloc(count + 1, sizeof(*b->args));
	b->envelopes = calloc(count + 1, sizeof(*b->envelopes));
	b->lens = calloc(count + 1, sizeof(*b->lens));
	if (!b->pack_ids || !b->verb_keys || !b->args || !b->envelopes || !b->lens)
		luaL_error(L, "out of memory");
	b->count = count;
	return b;
}

/* The value at `index` as a JSON object in *out, which the batch owns. All of a batch together
 * are as long as one envelope may be: as values they take many times the memory of their text,
 * and it isn't the script's. */
static void take_args(lua_State *L, int index, struct script_batch *b, json_t **out)
{
	struct script_state *s = script_state_of(L);
	struct hcp_err err = {0};

	if (lua_isnoneornil(L, index)) {
		*out = json_object();
	} else {
		s->scratch.len = 0;
		script_write_json(L, index, "args", LIMIT_ENVELOPE, &s->scratch);
		b->text += s->scratch.len;
		if (b->text > LIMIT_ENVELOPE)
			luaL_error(L, "args: over 1M in all calls together");
		*out = json_parse(s->scratch.data, s->scratch.len, LIMIT_ENVELOPE_DEPTH, &err);
	}
	if (!*out)
		luaL_error(L, "args: %s", err.code ? err.text : "out of memory");
	if (!json_is_object(*out))
		luaL_error(L, "args: must be a table with names as keys");
}

static const char *need_string(lua_State *L, int index, const char *what)
{
	size_t len;
	const char *s;

	if (lua_type(L, index) != LUA_TSTRING)
		luaL_error(L, "%s must be a string, not a %s", what, luaL_typename(L, index));
	s = lua_tolstring(L, index, &len);
	if (strlen(s) != len)
		luaL_error(L, "%s holds a NUL", what);
	return s;
}

/* [pack_id,] verb_key [, args] at first, second and third, a missing one being nil. */
static void take_call(lua_State *L, struct script_batch *b, size_t i, int first)
{
	int verb = first;

	if (lua_type(L, first + 1) == LUA_TSTRING) {
		b->pack_ids[i] = need_string(L, first, "pack_id");
		verb++;
	}
	b->verb_keys[i] = need_string(L, verb, "verb_key");
	take_args(L, verb + 1, b, &b->args[i]);
}

static struct script_batch *one_call(lua_State *L)
{
	struct script_batch *b;

	lua_settop(L, 3);
	b = batch_new(L, 1);
	take_call(L, b, 0, 1);
	return b;
}

/* 0, or -1 with the reason in *err, where the call couldn't be made at all. */
static int run_one(lua_State *L, struct script_batch *b, struct hcp_err *err)
{
	const struct script_host *host = &script_state_of(L)->call->host;
	int rc;

	script_host_begin(L, 1);
	rc = host->exec(host->user, b->pack_ids[0], b->verb_keys[0], b->args[0],
			&b->envelopes[0], &b->lens[0], err);
	script_host_end(L);
	return rc;
}

static void push_envelope(lua_State *L, const struct script_batch *b, size_t i)
{
	if (!b->envelopes[i])
		luaL_error(L, "%s gave no answer", b->verb_keys[i]);
	script_read_json(L, b->envelopes[i], b->lens[i], "envelope");
	if (!lua_istable(L, -1))
		luaL_error(L, "%s gave no envelope", b->verb_keys[i]);
}

/* Replaces the envelope on the top by its result, or raises its error. */
static void unwrap(lua_State *L)
{
	lua_getfield(L, -1, "ok");
	if (!lua_isboolean(L, -1) || !lua_toboolean(L, -1)) {
		if (lua_getfield(L, -2, "error") != LUA_TSTRING)
			luaL_error(L, "a command failed without an error");
		script_raise_own(L);
	}
	lua_pop(L, 1);
	lua_getfield(L, -1, "result");
	lua_remove(L, -2);
}

static int raise_err(lua_State *L, const struct hcp_err *err)
{
	lua_pushstring(L, err->text);
	return script_raise_own(L);
}

int l_ctx_exec(lua_State *L)
{
	struct script_batch *b = one_call(L);
	struct hcp_err err = {0};

	if (run_one(L, b, &err) < 0)
		return raise_err(L, &err);
	push_envelope(L, b, 0);
	unwrap(L);
	return 1;
}

int l_ctx_try(lua_State *L)
{
	struct script_batch *b = one_call(L);
	struct hcp_err err = {0};

	if (run_one(L, b, &err) == 0) {
		push_envelope(L, b, 0);
		return 1;
	}
	lua_createtable(L, 0, 4);
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "ok");
	if (b->pack_ids[0])
		lua_pushstring(L, b->pack_ids[0]);
	else
		lua_pushstring(L, json_string_value(json_object_get(
				      script_state_of(L)->call->ctx, "pack_id")));
	lua_setfield(L, -2, "pack_id");
	lua_pushstring(L, b->verb_keys[0]);
	lua_setfield(L, -2, "verb_key");
	lua_pushstring(L, err.text);
	lua_setfield(L, -2, "error");
	return 1;
}

/* Each call's parts stay on the stack of a table, so that their text stays where it is. */
static struct script_batch *all_calls(lua_State *L)
{
	struct script_batch *b;
	size_t count;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	count = (size_t)lua_rawlen(L, 1);
	luaL_argcheck(L, count <= script_state_of(L)->meter.max->host_calls, 1,
		      "more calls than host calls are allowed");
	b = batch_new(L, count);
	for (size_t i = 0; i < count; i++) {
		if (lua_rawgeti(L, 1, (lua_Integer)i + 1) != LUA_TTABLE)
			luaL_error(L, "call %d is not a table", (int)i + 1);
		for (int part = 1; part <= 3; part++)
			lua_rawgeti(L, 2, part);
		take_call(L, b, i, 3);
		lua_settop(L, 1);
	}
	return b;
}

int l_ctx_exec_all(lua_State *L)
{
	struct script_batch *b = all_calls(L);
	const struct script_host *host = &script_state_of(L)->call->host;
	struct hcp_err err = {0};
	int rc;

	script_host_begin(L, (unsigned)b->count);
	rc = host->exec_all(host->user, b->count, b->pack_ids, b->verb_keys, b->args,
			    b->envelopes, b->lens, &err);
	script_host_end(L);
	if (rc < 0)
		return raise_err(L, &err);
	lua_createtable(L, (int)b->count, 0);
	script_mark_array(L, -1);
	for (size_t i = 0; i < b->count; i++) {
		push_envelope(L, b, i);
		unwrap(L);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* A path as a manifest spells one: parts of plain names beneath the pack, no dots at their
 * front, ".lua" at the end. */
static bool is_path(const char *s, size_t len)
{
	char before = '/';

	if (len < 5 || len > 255 || strcmp(s + len - 4, ".lua") != 0 || strlen(s) != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((s[i] == '/' || s[i] == '.') && before == '/')
			return false;
		if ((unsigned char)s[i] <= ' ' || s[i] == 0x7f || s[i] == '\\')
			return false;
		before = s[i];
	}
	return true;
}

int l_ctx_script(lua_State *L)
{
	size_t len;
	const char *path = luaL_checklstring(L, 1, &len);

	if (!is_path(path, len))
		return luaL_error(L, "bad script path '%s'", path);
	if (!l_require_file(L, path))
		return luaL_error(L, "the pack has no script %s", path);
	if (!lua_isfunction(L, -1))
		return luaL_error(L, "%s: must return a function, not a %s", path,
				  luaL_typename(L, -1));
	return 1;
}

static void drop(lua_State *L, const char *name)
{
	lua_pushnil(L);
	lua_setfield(L, -2, name);
}

void l_ctx_push(lua_State *L)
{
	const struct script_call *call = script_state_of(L)->call;

	script_push_json(L, call->ctx, "ctx");
	if (!lua_istable(L, -1)) {
		lua_pop(L, 1);
		lua_newtable(L);
	}
	script_fill(L, IN_CTX);
	if (lua_getfield(L, -1, "binding") == LUA_TTABLE)
		l_mint_push_env(L);
	lua_pop(L, 1);
	if (!call->host.exec) {
		drop(L, "exec");
		drop(L, "try");
	}
	if (!call->host.exec_all)
		drop(L, "exec_all");
	if (!call->host.load)
		drop(L, "script");
}
