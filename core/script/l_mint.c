/* SPDX-License-Identifier: MIT */
/* Bindings on their way into a script and out of one. Their values are secrets on both ways:
 * what a hook gives as plain text becomes one here, and nothing of them gets into the JSON that
 * the answer is. */
#include "script/l_secret.h"
#include "script/modules.h"

#include "base/limits.h"
#include "secret/secret.h"

#include <stdlib.h>
#include <string.h>

/* A name that means nothing would be a revoke that never runs. */
static void check_module(lua_State *L, const char *name)
{
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING ||
		    (strcmp(lua_tostring(L, -2), "mint") != 0 &&
		     strcmp(lua_tostring(L, -2), "revoke") != 0))
			luaL_error(L, "%s: a hook is made of mint and revoke alone; not of %s",
				   name, l_text(L, -2, NULL));
		if (!lua_isfunction(L, -1))
			luaL_error(L, "%s: %s must be a function, not a %s", name,
				   lua_tostring(L, -2), luaL_typename(L, -1));
	}
}

void l_mint_open(lua_State *L, bool revoke)
{
	struct script_state *s = script_state_of(L);
	const char *name = s->call->name, *part = revoke ? "revoke" : "mint";

	if (lua_isfunction(L, -1) && !revoke)
		return;
	if (!lua_istable(L, -1))
		luaL_error(
		    L, "%s: must return a function, or a table of mint and revoke; not a %s",
		    name, luaL_typename(L, -1));
	check_module(L, name);
	s->out->revokes = lua_getfield(L, -1, "revoke") != LUA_TNIL;
	lua_pop(L, 1);
	if (lua_getfield(L, -1, part) == LUA_TNIL)
		luaL_error(L, "%s: has no %s", name, part);
}

void l_mint_push_env(lua_State *L)
{
	const struct script_call *call = script_state_of(L)->call;

	lua_createtable(L, 0, (int)call->env_count);
	for (size_t i = 0; i < call->env_count; i++) {
		l_secret_push(L, call->env[i].value);
		lua_setfield(L, -2, call->env[i].name);
	}
	lua_setfield(L, -2, "env");
}

static struct secret *take_value(lua_State *L, const char *name)
{
	struct secret *s = l_secret_at(L, -1);
	const char *text;
	size_t len;

	if (s)
		return secret_hold(s);
	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "%s: env.%s must be a handle or a string, not a %s",
			   script_state_of(L)->call->name, name, luaL_typename(L, -1));
	text = lua_tolstring(L, -1, &len);
	if (len == 0 || len > LIMIT_SECRET)
		luaL_error(L, "%s: env.%s holds %s", script_state_of(L)->call->name, name,
			   len ? "too many bytes" : "nothing");
	s = secret_new(len);
	if (!s)
		luaL_error(L, "out of memory");
	memcpy(secret_bytes(s), text, len);
	return s;
}

/* What is added belongs to the answer at once: Lua may leave from here at any call. */
static void add(lua_State *L, const char *name)
{
	struct script_result *out = script_state_of(L)->out;
	size_t n = out->env_count + 1;
	struct script_secret *grown = realloc(out->env, n * sizeof(*grown));
	char *copy;

	if (!grown)
		luaL_error(L, "out of memory");
	out->env = grown;
	out->env[out->env_count] = (struct script_secret){NULL, take_value(L, name)};
	out->env_count = n;
	copy = strdup(name);
	if (!copy)
		luaL_error(L, "out of memory");
	out->env[n - 1].name = copy;
}

void l_mint_take_env(lua_State *L)
{
	const char *name = script_state_of(L)->call->name, *key;
	size_t len;

	if (!lua_istable(L, -1))
		luaL_error(L, "%s: must return a binding, or nil and a reason; not a %s", name,
			   luaL_typename(L, -1));
	if (lua_getfield(L, -1, "env") != LUA_TTABLE)
		luaL_error(L, "%s: env must be a table of names and values, not a %s", name,
			   luaL_typename(L, -1));
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		key = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &len) : NULL;
		if (!key || strlen(key) != len)
			luaL_error(L, "%s: a name in env must be text, not a %s", name,
				   key ? "text with a NUL" : luaL_typename(L, -2));
		add(L, key);
	}
	lua_pop(L, 1);
	lua_pushnil(L);
	lua_setfield(L, -2, "env");
}
