/* SPDX-License-Identifier: MIT */
/* JSON as tables of a host's Lua, both ways, exact: integers of 64 bits stay integers, a float
 * stays a float, null is the light userdata NULL, and a list keeps the metatable "hcp.array",
 * so that an empty one stays one. What the other side can't hold is an error. */
#ifndef HCP_LUA_TABLES_H
#define HCP_LUA_TABLES_H

#include "base/str.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

/* Once a state, before any other of these. */
void tables_open(lua_State *L);
/* Pushes what the JSON text says, or, where Lua can't hold it, what is wrong and false. */
bool tables_push(lua_State *L, const char *text, size_t len);
/* Pushes the value at `index` as JSON text. Raises `<root>.<key>[<n>]: <why>`. */
void tables_to_json(lua_State *L, int index, const char *root);
/* array([t]): t, or a new table, as a list. */
int tables_array(lua_State *L);

#endif
