/* SPDX-License-Identifier: MIT */
/* The string functions that Lua's own can't give safely: matching, which must be stoppable,
 * rep, whose loop may have no bytes to be bounded by, and format, which would show addresses.
 */
#include "script/modules.h"

#include "script/match.h"

#include <string.h>

static bool spend(void *user, size_t steps)
{
	return script_spend(user, steps);
}

static void prepare(lua_State *L, struct match *m, const char *s, size_t s_len, const char *p,
		    size_t p_len)
{
	memset(m, 0, offsetof(struct match, captures));
	m->subject = s;
	m->subject_end = s + s_len;
	m->pattern = p;
	m->pattern_end = p + p_len;
	m->spend = spend;
	m->user = &script_state_of(L)->meter;
	m->verdict = MATCH_NO;
	m->steps = 0;
}

/* Takes a '^' off the front of the pattern. */
static bool take_anchor(struct match *m)
{
	bool anchored = m->pattern < m->pattern_end && *m->pattern == '^';

	m->pattern += anchored;
	return anchored;
}

/* True for a match; what is neither a match nor none raises. */
static bool matched(lua_State *L, const struct match *m, enum match_verdict v)
{
	switch (v) {
	case MATCH_YES:
		return true;
	case MATCH_NO:
		return false;
	case MATCH_STOPPED:
		script_raise_killed(L);
		break;
	case MATCH_BAD:
		/* `why` is match.c's own text; a number is all that it may ask for */
		luaL_error(L, m->why, m->why_number);
		break;
	}
	return false;
}

/* ---- captures ---- */

static void push_capture(lua_State *L, const struct match *m, size_t i, const char *start)
{
	if (i >= m->count) {
		if (i != 0)
			luaL_error(L, "invalid capture index %%%d", (int)i + 1);
		lua_pushlstring(L, start, (size_t)(m->end - start));
	} else if (m->captures[i].len == MATCH_POSITION) {
		lua_pushinteger(L, m->captures[i].start - m->subject + 1);
	} else if (m->captures[i].len < 0) {
		luaL_error(L, "unfinished capture");
	} else {
		lua_pushlstring(L, m->captures[i].start, (size_t)m->captures[i].len);
	}
}

/* All captures; where there are none, the whole match, if start is given. */
static int push_captures(lua_State *L, const struct match *m, const char *start)
{
	size_t count = m->count == 0 && start ? 1 : m->count;

	luaL_checkstack(L, (int)count, "too many captures");
	for (size_t i = 0; i < count; i++)
		push_capture(L, m, i, start);
	return (int)count;
}

/* ---- find and match ---- */

/* The offset that argument 3 means, len + 1 where it is behind the end. */
static size_t start_offset(lua_State *L, size_t len)
{
	lua_Integer at = luaL_optinteger(L, 3, 1);

	if (at > 0)
		return (size_t)at - 1 <= len ? (size_t)at - 1 : len + 1;
	if (at == 0 || at < -(lua_Integer)len)
		return 0;
	return len - (size_t)-at;
}

static bool is_plain(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] && strchr("^$*+?.([%-", p[i]))
			return false;
	return true;
}

/* memmem(3) takes linear time; it is charged for what it reads. */
static int find_plain(lua_State *L, const char *s, size_t s_len, size_t from, const char *p,
		      size_t p_len)
{
	const char *at = memmem(s + from, s_len - from, p, p_len);

	script_work(L, ((at ? (size_t)(at - s) - from : s_len - from) + p_len) / 16);
	if (!at) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, at - s + 1);
	lua_pushinteger(L, at - s + (lua_Integer)p_len);
	return 2;
}

static int search(lua_State *L, bool find)
{
	size_t s_len, p_len, from;
	const char *s = luaL_checklstring(L, 1, &s_len), *p = luaL_checklstring(L, 2, &p_len);
	const char *at;
	struct match m;

	from = start_offset(L, s_len);
	if (from > s_len) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || is_plain(p, p_len)))
		return find_plain(L, s, s_len, from, p, p_len);
	prepare(L, &m, s, s_len, p, p_len);
	at = s + from;
	if (!matched(L, &m, match_first(&m, &at, take_anchor(&m)))) {
		lua_pushnil(L);
		return 1;
	}
	if (!find)
		return push_captures(L, &m, at);
	lua_pushinteger(L, at - s + 1);
	lua_pushinteger(L, m.end - s);
	return push_captures(L, &m, NULL) + 2;
}

int l_string_find(lua_State *L)
{
	return search(L, true);
}

int l_string_match(lua_State *L)
{
	return search(L, false);
}

/* ---- gmatch ---- */

struct progress {
	const char *at, *last; /* in the string, which is an upvalue, too */
};

static int gmatch_next(lua_State *L)
{
	struct progress *g = lua_touserdata(L, lua_upvalueindex(3));
	size_t s_len, p_len;
	const char *s = lua_tolstring(L, lua_upvalueindex(1), &s_len), *start;
	const char *p = lua_tolstring(L, lua_upvalueindex(2), &p_len);
	struct match m;

	prepare(L, &m, s, s_len, p, p_len);
	for (; g->at <= m.subject_end; g->at++) {
		if (!matched(L, &m, match_first(&m, &g->at, false)))
			break;
		/* an empty match right behind the one before is none */
		if (m.end != g->last) {
			start = g->at;
			g->at = g->last = m.end;
			return push_captures(L, &m, start);
		}
	}
	g->at = m.subject_end + 1;
	return 0;
}

int l_string_gmatch(lua_State *L)
{
	size_t s_len, from;
	const char *s = luaL_checklstring(L, 1, &s_len);
	struct progress *g;

	luaL_checkstring(L, 2);
	from = start_offset(L, s_len);
	lua_settop(L, 2);
	g = lua_newuserdatauv(L, sizeof(*g), 0);
	*g = (struct progress){s + from, NULL};
	lua_pushcclosure(L, gmatch_next, 3);
	return 1;
}

/* ---- gsub ---- */

static void add_template(lua_State *L, luaL_Buffer *b, const struct match *m, const char *start)
{
	size_t len;
	const char *t = lua_tolstring(L, 3, &len), *end = t + len, *p;

	for (; (p = memchr(t, '%', (size_t)(end - t))) != NULL; t = p + 1) {
		luaL_addlstring(b, t, (size_t)(p - t));
		p++; /* at the end that is the NUL behind the string */
		if (*p == '%') {
			luaL_addchar(b, '%');
		} else if (*p == '0') {
			luaL_addlstring(b, start, (size_t)(m->end - start));
		} else if (*p >= '1' && *p <= '9') {
			push_capture(L, m, (size_t)(*p - '1'), start);
			luaL_tolstring(L, -1, NULL); /* a position is a number */
			lua_remove(L, -2);
			luaL_addvalue(b);
		} else {
			luaL_error(L, "invalid use of '%%' in replacement string");
		}
	}
	luaL_addlstring(b, t, (size_t)(end - t));
}

static void add_replacement(lua_State *L, luaL_Buffer *b, const struct match *m,
			    const char *start)
{
	int count;

	switch (lua_type(L, 3)) {
	case LUA_TFUNCTION:
		lua_pushvalue(L, 3);
		count = push_captures(L, m, start);
		lua_call(L, count, 1);
		break;
	case LUA_TTABLE:
		push_capture(L, m, 0, start);
		lua_gettable(L, 3);
		break;
	default:
		add_template(L, b, m, start);
		return;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, start, (size_t)(m->end - start));
		return;
	}
	if (!lua_isstring(L, -1))
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	luaL_addvalue(b);
}

int l_string_gsub(lua_State *L)
{
	size_t s_len, p_len;
	const char *s = luaL_checklstring(L, 1, &s_len), *p = luaL_checklstring(L, 2, &p_len);
	const char *at = s, *rest = s, *last = NULL;
	int type = lua_type(L, 3);
	lua_Integer max = luaL_optinteger(L, 4, (lua_Integer)s_len + 1), n = 0;
	struct match m;
	luaL_Buffer b;
	bool anchored;

	luaL_argexpected(L,
			 type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
			     type == LUA_TTABLE,
			 3, "string/function/table");
	prepare(L, &m, s, s_len, p, p_len);
	anchored = take_anchor(&m);
	luaL_buffinit(L, &b);
	while (n < max && matched(L, &m, match_first(&m, &at, anchored))) {
		luaL_addlstring(&b, rest, (size_t)(at - rest));
		rest = at;
		if (m.end != last) {
			n++;
			add_replacement(L, &b, &m, at);
			rest = at = last = m.end;
		} else if (at++ == m.subject_end) {
			break;
		}
		if (anchored)
			break;
	}
	luaL_addlstring(&b, rest, (size_t)(m.subject_end - rest));
	luaL_pushresult(&b);
	lua_pushinteger(L, n);
	return 2;
}

/* ---- rep ---- */

/* Doubles what is there already: as fast as memory, and no turn for a repetition of nothing. */
int l_string_rep(lua_State *L)
{
	size_t len, sep_len, unit, total;
	const char *s = luaL_checklstring(L, 1, &len),
		   *sep = luaL_optlstring(L, 3, "", &sep_len);
	lua_Integer n = luaL_checkinteger(L, 2);
	luaL_Buffer b;
	char *to;

	if (n <= 0 || len + sep_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	unit = len + sep_len;
	if (__builtin_mul_overflow(unit, (size_t)n, &total) || total > INT64_MAX)
		return luaL_error(L, "resulting string too large");
	to = luaL_buffinitsize(L, &b, total);
	memcpy(to, s, len);
	memcpy(to + len, sep, n > 1 ? sep_len : 0);
	for (size_t done = unit; done < total; done *= 2)
		memcpy(to + done, to, done < total - done ? done : total - done);
	luaL_pushresultsize(&b, total - sep_len);
	return 1;
}

/* ---- format ---- */

/* Lua's own does the work, once what %s and %p would make of a table or a function is out of
 * its way: a name of the type, and no address. */
int l_string_format(lua_State *L)
{
	size_t len;
	const char *f = luaL_checklstring(L, 1, &len), *end = f + len;
	int arg = 1, top = lua_gettop(L);

	l_charge_arguments(L);
	for (; f < end; f++) {
		if (*f != '%' || *++f == '%')
			continue;
		f += strspn(f, "-+ #0123456789.");
		if (++arg > top)
			break; /* the stock function says what is missing */
		if (*f == 's')
			l_text(L, arg, NULL);
		else if (*f == 'p')
			lua_pushnil(L);
		else
			continue;
		lua_replace(L, arg);
	}
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}
