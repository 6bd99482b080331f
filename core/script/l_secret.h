/* SPDX-License-Identifier: MIT */
/* Handles: how a script holds a secret that it can't read. A Lua string can't be wiped, so a
 * secret never becomes one; whatever is made from a secret is one, too. */
#ifndef HCP_SCRIPT_L_SECRET_H
#define HCP_SCRIPT_L_SECRET_H

#include "script/state.h"

/* An argument that may be a string or a handle; valid while it is on the stack. */
struct bytes {
	const unsigned char *data;
	size_t len;
	bool secret;
};
struct bytes l_secret_take(lua_State *L, int index);
/* Whose handle stands there; NULL: none does. */
struct secret *l_secret_of(lua_State *L, int index);

/* An answer of up to `len` bytes, to be filled in at ->data and ended with as many as it got: a
 * handle where `secret`, else a string. Between the two nothing may stay on the stack. */
struct answer {
	unsigned char *data;
	struct secret *handle; /* NULL: a string */
	luaL_Buffer buffer;
};
void l_secret_begin(lua_State *L, struct answer *a, size_t len, bool secret);
int l_secret_end(lua_State *L, struct answer *a, size_t len);

/* Pushes a handle that is still empty, and counts as a host call. */
struct secret **l_secret_reserve(lua_State *L);
/* Puts `s` into it; the caller's hold is the call's from here on. Never raises. One keep for a
 * reserve, with no other reserve in between. */
void l_secret_keep(lua_State *L, struct secret **handle, struct secret *s);

/* Pushes a handle of a secret that somebody else made; the call takes a hold of its own. */
void l_secret_push(lua_State *L, struct secret *s);
/* What the handle at `index` points to; NULL: no handle, or an empty one. */
struct secret *l_secret_at(lua_State *L, int index);

/* Lets go of all that the call holds; wiped where nobody else does. */
void l_secret_free(struct script_state *s);

#endif
