/* SPDX-License-Identifier: MIT */
/* What a host's Lua says of a runtime or an invoker, by the fields of a table. All of these
 * raise: an option that isn't understood must not mean another root, session or person. */
#ifndef HCP_LUA_OPTIONS_H
#define HCP_LUA_OPTIONS_H

#include "include/hcp.h"

#include <lauxlib.h>
#include <lua.h>

#define CALL "hcp.call" /* the metatable of calls */

/* `known` ends with NULL; no table is fine. */
void options_check(lua_State *L, int table, const char *const *known);
/* Strings are without NUL bytes and live as long as what stands at `index`. */
const char *options_text(lua_State *L, int index, const char *what);
/* NULL: no table, or no such field. The value is left on the stack. */
const char *options_field(lua_State *L, int table, const char *name);
/* A call for what stands at `index`, left on the stack. `as`: takes the field `suppose`, whose
 * text lives as long as the stack is left alone; NULL: that is no option. */
hcp_call *options_call(lua_State *L, hcp_runtime *rt, int index, hcp_suppose *as);

#endif
