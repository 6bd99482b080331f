/* SPDX-License-Identifier: MIT */
/* Handles. A full userdata without a finalizer points to the secret; the call holds every
 * secret that it made until it ends, and limits how many that can be. */
#include "script/l_secret.h"

#include "base/limits.h"
#include "secret/secret.h"

#include <stdlib.h>

static const char type_name[] = "secret"; /* what Lua's own messages call a handle */

static void make_room(lua_State *L)
{
	struct script_state *s = script_state_of(L);
	size_t cap = s->secret_cap ? s->secret_cap * 2 : 8;
	struct secret **grown;

	if (s->secret_count < s->secret_cap)
		return;
	grown = realloc(s->secrets, cap * sizeof(*grown));
	if (!grown)
		luaL_error(L, "out of memory");
	s->secrets = grown;
	s->secret_cap = cap;
}

static struct secret **push_handle(lua_State *L)
{
	struct secret **handle;

	make_room(L);
	handle = lua_newuserdatauv(L, sizeof(*handle), 0);
	*handle = NULL;
	if (luaL_newmetatable(L, type_name)) {
		lua_pushboolean(L, 0);
		lua_setfield(L, -2, "__metatable");
	}
	lua_setmetatable(L, -2);
	return handle;
}

struct secret **l_secret_reserve(lua_State *L)
{
	script_count_calls(L, 1);
	return push_handle(L);
}

void l_secret_push(lua_State *L, struct secret *s)
{
	struct secret **handle = push_handle(L); /* may raise: nothing is held before */

	l_secret_keep(L, handle, secret_hold(s));
}

struct secret *l_secret_at(lua_State *L, int index)
{
	struct secret **handle = luaL_testudata(L, index, type_name);

	return handle ? *handle : NULL;
}

void l_secret_keep(lua_State *L, struct secret **handle, struct secret *s)
{
	struct script_state *state = script_state_of(L);

	*handle = state->secrets[state->secret_count++] = s;
}

struct secret *l_secret_of(lua_State *L, int index)
{
	struct secret **handle = luaL_testudata(L, index, type_name);

	return handle ? *handle : NULL;
}

struct bytes l_secret_take(lua_State *L, int index)
{
	struct bytes b = {0};
	struct secret **handle;

	if (lua_type(L, index) == LUA_TUSERDATA) {
		handle = luaL_checkudata(L, index, type_name);
		luaL_argcheck(L, *handle, index, "an empty secret");
		b = (struct bytes){secret_bytes(*handle), secret_len(*handle), true};
	} else {
		b.data = (const unsigned char *)luaL_checklstring(L, index, &b.len);
	}
	script_work(L, b.len / 16);
	return b;
}

void l_secret_begin(lua_State *L, struct answer *a, size_t len, bool secret)
{
	struct secret **handle;

	a->handle = NULL;
	if (!secret) {
		a->data = (unsigned char *)luaL_buffinitsize(L, &a->buffer, len);
		return;
	}
	if (len > LIMIT_SECRET)
		luaL_error(L, "a secret of over %d bytes", LIMIT_SECRET);
	handle = l_secret_reserve(L);
	a->handle = secret_new(len);
	if (!a->handle)
		luaL_error(L, "out of memory");
	l_secret_keep(L, handle, a->handle);
	a->data = secret_bytes(a->handle);
}

int l_secret_end(lua_State *L, struct answer *a, size_t len)
{
	(void)L;
	if (a->handle)
		secret_cut(a->handle, len);
	else
		luaL_pushresultsize(&a->buffer, len);
	return 1;
}

void l_secret_free(struct script_state *s)
{
	while (s->secret_count > 0)
		secret_drop(s->secrets[--s->secret_count]);
	free(s->secrets);
	s->secrets = NULL;
	s->secret_cap = 0;
}
