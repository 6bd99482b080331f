/* SPDX-License-Identifier: MIT */
/* The one protected call. script_body runs inside it from the first allocation to the written
 * answer, so that no error of Lua ever leaves this folder as a jump; a script's own pcall comes
 * here, too. What a function gives back is judged by its role, and what isn't exactly an answer
 * is an error: nothing is taken for a yes. */
#include "script/state.h"

#include "script/modules.h"
#include "script/value.h"

#include <string.h>

int script_protect(lua_State *L, int args, int results, int handler)
{
	struct script_meter *m = &script_state_of(L)->meter;
	int status = lua_pcall(L, args, results, handler);

	if (status == LUA_ERRMEM || (status != LUA_OK && m->refused))
		script_kill(m, SCRIPT_KILL_MEMORY);
	return status;
}

static const char own_key; /* registry: {message = true} of those raised as their own */

int script_raise_own(lua_State *L)
{
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &own_key) != LUA_TTABLE) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushvalue(L, -1);
		lua_rawsetp(L, LUA_REGISTRYINDEX, &own_key);
	}
	lua_pushvalue(L, -2);
	lua_pushboolean(L, 1);
	lua_rawset(L, -3);
	lua_pop(L, 1);
	return lua_error(L);
}

static bool is_own(lua_State *L)
{
	bool own = false;

	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &own_key) == LUA_TTABLE) {
		lua_pushvalue(L, -2);
		own = lua_rawget(L, -2) == LUA_TBOOLEAN;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return own;
}

/* Leaves a string whatever was raised; the trace is for the operator alone. */
int script_on_error(lua_State *L)
{
	struct script_state *s = script_state_of(L);

	if (s->meter.killed != SCRIPT_ALIVE)
		return 1;
	if (lua_type(L, 1) == LUA_TNUMBER)
		lua_tostring(L, 1);
	if (lua_type(L, 1) != LUA_TSTRING) {
		lua_pushfstring(L, "the error is a %s value, not a message",
				luaL_typename(L, 1));
		lua_replace(L, 1);
	}
	s->own_message = is_own(L);
	if (s->own_message)
		return 1;
	luaL_traceback(L, L, lua_tostring(L, 1), 1);
	script_log(L, 1);
	lua_pop(L, 1);
	return 1;
}

static void take_value(lua_State *L, const char *root)
{
	struct script_state *s = script_state_of(L);

	script_write_json(L, -1, root, s->call->limits.result, &s->out->result);
	s->out->answer = SCRIPT_ANSWER_VALUE;
}

/* The reason stands at `index`; none is fine. */
static void take_refusal(lua_State *L, int index)
{
	struct script_state *s = script_state_of(L);
	const char *text;
	size_t len;

	if (!lua_isnil(L, index)) {
		if (lua_type(L, index) != LUA_TSTRING)
			luaL_error(L, "%s: the reason must be a string, not a %s",
				   s->call->name, luaL_typename(L, index));
		text = lua_tolstring(L, index, &len);
		buf_add(&s->out->reason, text, len);
		if (s->out->reason.failed)
			luaL_error(L, "out of memory");
	}
	s->out->answer = SCRIPT_ANSWER_REFUSED;
}

static void need_function(lua_State *L, const char *name)
{
	if (!lua_isfunction(L, -1))
		luaL_error(L, "%s: must return a function, not a %s", name,
			   luaL_typename(L, -1));
}

/* Guards and the `check` of adapters: true, or false with a reason. */
static void take_verdict(lua_State *L)
{
	struct script_state *s = script_state_of(L);

	if (!lua_isboolean(L, -2))
		luaL_error(L, "%s: must return true, or false and a reason; not a %s",
			   s->call->name, luaL_typename(L, -2));
	if (lua_toboolean(L, -2))
		s->out->answer = SCRIPT_ANSWER_TRUE;
	else
		take_refusal(L, lua_gettop(L));
}

static void run_verb(lua_State *L, const struct script_call *call)
{
	need_function(L, call->name);
	script_push_json(L, call->args[0], "args");
	l_ctx_push(L);
	lua_call(L, 2, 1);
	take_value(L, "result");
}

static void run_adapter(lua_State *L, const struct script_call *call)
{
	bool check = call->export && strcmp(call->export, "check") == 0;

	if (!lua_istable(L, -1))
		luaL_error(L, "%s: must return a table with check and run, not a %s",
			   call->name, luaL_typename(L, -1));
	if (!check && (!call->export || strcmp(call->export, "run") != 0))
		luaL_error(L, "%s: an adapter has no such function", call->name);
	if (lua_getfield(L, -1, call->export) == LUA_TNIL && check) {
		/* an adapter that asks nothing of its commands */
		script_state_of(L)->out->answer = SCRIPT_ANSWER_TRUE;
		return;
	}
	if (!lua_isfunction(L, -1))
		luaL_error(L, "%s: %s must be a function, not a %s", call->name, call->export,
			   luaL_typename(L, -1));
	if (check) {
		script_push_json(L, call->args[1], "command");
		lua_call(L, 1, 2);
		take_verdict(L);
		return;
	}
	script_push_json(L, call->args[0], "args");
	l_ctx_push(L);
	script_push_json(L, call->args[1], "command");
	lua_call(L, 3, 1);
	take_value(L, "result");
}

static void run_auth(lua_State *L, const struct script_call *call)
{
	need_function(L, call->name);
	script_push_json(L, call->args[0], "request");
	l_host_push(L);
	lua_call(L, 2, 2);
	if (lua_isnil(L, -2)) {
		take_refusal(L, lua_gettop(L));
		return;
	}
	lua_pop(L, 1);
	if (!lua_istable(L, -1))
		luaL_error(L, "%s: must return a principal, or nil and a reason; not a %s",
			   call->name, luaL_typename(L, -1));
	take_value(L, "principal");
}

static void run_guard(lua_State *L, const struct script_call *call)
{
	need_function(L, call->name);
	script_push_json(L, call->args[0], "request");
	lua_call(L, 1, 2);
	take_verdict(L);
}

static void run_mint(lua_State *L, const struct script_call *call)
{
	bool revoke = call->export && strcmp(call->export, "revoke") == 0;

	l_mint_open(L, revoke);
	script_push_json(L, call->args[0], revoke ? "binding" : "request");
	if (revoke)
		l_mint_push_env(L);
	l_host_push(L);
	lua_call(L, 2, 2);
	if (revoke ? !lua_toboolean(L, -2) && !(lua_isnil(L, -2) && lua_isnil(L, -1))
		   : lua_isnil(L, -2)) {
		take_refusal(L, lua_gettop(L));
		return;
	}
	lua_pop(L, 1);
	if (revoke) {
		script_state_of(L)->out->answer = SCRIPT_ANSWER_TRUE;
		return;
	}
	l_mint_take_env(L);
	take_value(L, "binding");
}

int script_body(lua_State *L)
{
	const struct script_call *call = script_state_of(L)->call;

	script_open(L);
	script_load(L, call->name, call->source, call->source_len);
	lua_call(L, 0, 1);
	switch (call->role) {
	case SCRIPT_VERB:
		run_verb(L, call);
		return 0;
	case SCRIPT_ADAPTER:
		run_adapter(L, call);
		return 0;
	case SCRIPT_AUTH:
		run_auth(L, call);
		return 0;
	case SCRIPT_GUARD:
		run_guard(L, call);
		return 0;
	case SCRIPT_MINT:
		run_mint(L, call);
		return 0;
	case SCRIPT_NONE:
		break;
	}
	return luaL_error(L, "%s: a script of no role", call->name);
}
