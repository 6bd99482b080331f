/* SPDX-License-Identifier: MIT */
/* Table functions whose loops are not bounded by the memory they run over: `#t` may be 2^62 for
 * a table of 63 elements. They charge each step. Access is raw, as no table of a script has a
 * metatable. */
#include "script/modules.h"

/* Moves t[from..to] by one, up or down. */
static void shift_up(lua_State *L, lua_Integer from, lua_Integer to)
{
	for (lua_Integer i = to; i >= from; i--) {
		script_work(L, 1);
		lua_rawgeti(L, 1, i);
		lua_rawseti(L, 1, i + 1);
	}
}

int l_table_insert(lua_State *L)
{
	lua_Integer size, at;

	luaL_checktype(L, 1, LUA_TTABLE);
	size = (lua_Integer)lua_rawlen(L, 1);
	if (lua_gettop(L) == 2) {
		lua_rawseti(L, 1, (lua_Integer)((lua_Unsigned)size + 1));
		return 0;
	}
	if (lua_gettop(L) != 3)
		return luaL_error(L, "wrong number of arguments to 'insert'");
	at = luaL_checkinteger(L, 2);
	luaL_argcheck(L, (lua_Unsigned)at - 1 <= (lua_Unsigned)size, 2,
		      "position out of bounds");
	shift_up(L, at, size);
	lua_pushvalue(L, 3);
	lua_rawseti(L, 1, at);
	return 0;
}

int l_table_remove(lua_State *L)
{
	lua_Integer size, at;

	luaL_checktype(L, 1, LUA_TTABLE);
	size = (lua_Integer)lua_rawlen(L, 1);
	at = luaL_optinteger(L, 2, size);
	luaL_argcheck(L, at == size || (lua_Unsigned)at - 1 <= (lua_Unsigned)size, 2,
		      "position out of bounds");
	lua_rawgeti(L, 1, at);
	for (; at < size; at++) {
		script_work(L, 1);
		lua_rawgeti(L, 1, at + 1);
		lua_rawseti(L, 1, at);
	}
	lua_pushnil(L);
	lua_rawseti(L, 1, at);
	return 1;
}

int l_table_move(lua_State *L)
{
	lua_Integer from = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
	lua_Integer to = luaL_checkinteger(L, 4), count, i;
	int target = lua_isnoneornil(L, 5) ? 1 : 5;
	bool down;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checktype(L, target, LUA_TTABLE);
	if (last >= from) {
		luaL_argcheck(L, from > 0 || last < LUA_MAXINTEGER + from, 3,
			      "too many elements to move");
		count = last - from + 1;
		luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4,
			      "destination wrap around");
		/* from the end where the target overlaps what is still to be read */
		down = to > from && to <= last && (target == 1 || lua_rawequal(L, 1, target));
		for (lua_Integer n = 0; n < count; n++) {
			script_work(L, 1);
			i = down ? count - 1 - n : n;
			lua_rawgeti(L, 1, from + i);
			lua_rawseti(L, target, to + i);
		}
	}
	lua_pushvalue(L, target);
	return 1;
}

/* ---- sort ---- */

/* Stack of l_table_sort: 1 the table, 2 the order or nil, 3 and 4 the two halves' copies. */
enum { ORDER = 2, SOURCE = 3, TARGET = 4 };

/* Whether the value on the top comes before the one beneath it; leaves both. */
static bool before(lua_State *L)
{
	bool yes;

	if (lua_isnil(L, ORDER))
		return lua_compare(L, -1, -2, LUA_OPLT);
	lua_pushvalue(L, ORDER);
	lua_pushvalue(L, -2);
	lua_pushvalue(L, -4);
	lua_call(L, 2, 1);
	yes = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return yes;
}

/* Merges source[left..middle) and source[middle..right) into target[left..right). Of equals the
 * left one goes first. */
static void merge(lua_State *L, lua_Integer left, lua_Integer middle, lua_Integer right)
{
	lua_Integer a = left, b = middle;
	bool take_b;

	for (lua_Integer out = left; out < right; out++) {
		script_work(L, 2);
		take_b = a >= middle;
		if (!take_b && b < right) {
			lua_rawgeti(L, SOURCE, a);
			lua_rawgeti(L, SOURCE, b);
			take_b = before(L);
			lua_pop(L, 2);
		}
		lua_rawgeti(L, SOURCE, take_b ? b++ : a++);
		lua_rawseti(L, TARGET, out);
	}
}

static lua_Integer least(lua_Integer a, lua_Integer b)
{
	return a < b ? a : b;
}

static void copy(lua_State *L, int from, int to, lua_Integer size)
{
	for (lua_Integer i = 1; i <= size; i++) {
		script_work(L, 1);
		lua_rawgeti(L, from, i);
		lua_rawseti(L, to, i);
	}
}

/* A merge sort: it ends after n log n steps whatever the order says, is stable, and leaves the
 * table as it was where the order raises. */
int l_table_sort(lua_State *L)
{
	lua_Integer size;

	luaL_checktype(L, 1, LUA_TTABLE);
	size = (lua_Integer)lua_rawlen(L, 1);
	luaL_argcheck(L, size < INT32_MAX, 1, "array too big");
	if (!lua_isnoneornil(L, ORDER))
		luaL_checktype(L, ORDER, LUA_TFUNCTION);
	lua_settop(L, ORDER);
	if (size < 2)
		return 0;
	lua_createtable(L, (int)size, 0);
	lua_createtable(L, (int)size, 0);
	copy(L, 1, SOURCE, size);
	for (lua_Integer width = 1; width < size; width *= 2) {
		for (lua_Integer at = 1; at <= size; at += 2 * width)
			merge(L, at, least(at + width, size + 1),
			      least(at + 2 * width, size + 1));
		lua_pushvalue(L, SOURCE);
		lua_copy(L, TARGET, SOURCE);
		lua_replace(L, TARGET);
	}
	copy(L, SOURCE, 1, size);
	return 0;
}
