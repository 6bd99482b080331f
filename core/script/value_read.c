/* SPDX-License-Identifier: MIT */
/* The bridge into Lua from JSON text (RFC 8259): envelopes of nested runs and cjson.decode. The
 * text is a stranger's. Memory in use across Lua calls hangs in the state. */
#include "script/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	lua_State *L;
	struct script_state *s;
	const char *text, *p, *end; /* a NUL stands at end */
	const struct script_path *root;
};

static void read(struct reader *r, const struct script_path *at);

/* Where the text is wrong, the byte helps more than the path. */
static int malformed(const struct reader *r, const char *what)
{
	return script_value_error(r->L, r->root, "not JSON: %s at byte %zu", what,
				  (size_t)(r->p - r->text));
}

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end &&
	       (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool take(struct reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void need(struct reader *r, char c, const char *what)
{
	skip_blanks(r);
	if (!take(r, c))
		malformed(r, what);
}

/* ---- strings ---- */

static unsigned hex4(struct reader *r)
{
	unsigned v = 0;
	char c;

	for (int i = 0; i < 4; i++, r->p++) {
		c = r->p < r->end ? *r->p : '\0';
		if (c >= '0' && c <= '9')
			v = v * 16 + (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			v = v * 16 + (unsigned)(c - 'A') + 10;
		else
			malformed(r, "bad \\u escape");
	}
	return v;
}

static void add_utf8(struct buf *b, unsigned c)
{
	unsigned char bytes[4];

	buf_add(b, bytes, utf8_put(c, bytes));
}

static void unescape_unicode(struct reader *r)
{
	unsigned c = hex4(r), low;

	if (c >= 0xdc00 && c <= 0xdfff)
		malformed(r, "lone surrogate");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (!take(r, '\\') || !take(r, 'u'))
			malformed(r, "lone surrogate");
		low = hex4(r);
		if (low < 0xdc00 || low > 0xdfff)
			malformed(r, "lone surrogate");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	add_utf8(&r->s->scratch, c);
}

static void unescape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	r->p++;
	if (take(r, 'u')) {
		unescape_unicode(r);
		return;
	}
	at = r->p < r->end && *r->p ? strchr(from, *r->p) : NULL;
	if (!at)
		malformed(r, "bad escape");
	buf_putc(&r->s->scratch, to[at - from]);
	r->p++;
}

/* Bytes up to the next quote or backslash, checked. */
static size_t plain(struct reader *r)
{
	const char *from = r->p;
	size_t len;

	while (r->p < r->end && *r->p != '"' && *r->p != '\\') {
		if ((unsigned char)*r->p < 0x20)
			malformed(r, "control character in a string");
		len = (unsigned char)*r->p < 0x80 ? 1 : utf8_len(r->p, (size_t)(r->end - r->p));
		if (!len)
			malformed(r, "invalid UTF-8");
		r->p += len;
	}
	if (r->p == r->end)
		malformed(r, "unfinished string");
	return (size_t)(r->p - from);
}

static void read_string(struct reader *r)
{
	struct buf *b = &r->s->scratch;
	const char *from = ++r->p;
	size_t len = plain(r);

	script_work(r->L, len / 16);
	if (take(r, '"')) {
		lua_pushlstring(r->L, from, len);
		return;
	}
	b->len = 0;
	buf_add(b, from, len);
	while (!take(r, '"')) {
		if (*r->p == '\\')
			unescape(r);
		from = r->p;
		buf_add(b, from, plain(r));
	}
	if (b->failed)
		luaL_error(r->L, "out of memory");
	lua_pushlstring(r->L, b->data, b->len);
}

/* ---- numbers ---- */

static bool digits(struct reader *r)
{
	const char *from = r->p;

	while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		r->p++;
	return r->p > from;
}

/* The digits behind a sign, from r->p on; false beyond 64 bits. */
static bool to_integer(const char *p, const char *end, bool negative, lua_Integer *out)
{
	long long v = 0;

	for (; p < end; p++)
		if (__builtin_mul_overflow(v, 10LL, &v) ||
		    (negative ? __builtin_sub_overflow(v, (long long)(*p - '0'), &v)
			      : __builtin_add_overflow(v, (long long)(*p - '0'), &v)))
			return false;
	*out = v;
	return true;
}

static void read_number(struct reader *r, const struct script_path *at)
{
	const char *from = r->p, *whole;
	bool negative = take(r, '-'), integer = true;
	lua_Integer i = 0;
	double d;

	whole = r->p;
	if (!take(r, '0') && !digits(r))
		malformed(r, "unexpected character");
	if (take(r, '.')) {
		integer = false;
		if (!digits(r))
			malformed(r, "bad number");
	}
	if (take(r, 'e') || take(r, 'E')) {
		integer = false;
		if (!take(r, '+'))
			take(r, '-');
		if (!digits(r))
			malformed(r, "bad number");
	}
	script_work(r->L, (size_t)(r->p - from) / 16);
	if (integer) {
		if (!to_integer(whole, r->p, negative, &i))
			script_value_error(r->L, at, "%.*s is beyond 64 bits",
					   (int)(r->p - from < 40 ? r->p - from : 40), from);
		lua_pushinteger(r->L, i);
		return;
	}
	d = strtod(from, NULL); /* stops where the grammar did; the locale is "C" here */
	if (!isfinite(d))
		script_value_error(r->L, at, "%.*s is beyond a double",
				   (int)(r->p - from < 40 ? r->p - from : 40), from);
	lua_pushnumber(r->L, d);
}

/* ---- the rest ---- */

static void read_array(struct reader *r, const struct script_path *at)
{
	struct script_path item = script_path_into(r->L, at);

	r->p++;
	lua_newtable(r->L);
	script_mark_array(r->L, -1);
	skip_blanks(r);
	if (take(r, ']'))
		return;
	do {
		item.index++;
		read(r, &item);
		lua_rawseti(r->L, -2, item.index);
		skip_blanks(r);
	} while (take(r, ','));
	need(r, ']', "expected ',' or ']'");
}

static void read_member(struct reader *r, struct script_path *member)
{
	lua_State *L = r->L;

	skip_blanks(r);
	if (r->p == r->end || *r->p != '"')
		malformed(r, "expected a key");
	read_string(r);
	member->key = lua_tolstring(L, -1, &member->key_len);
	if (memchr(member->key, '\0', member->key_len))
		script_value_error(L, member, "NUL in a key");
	lua_pushvalue(L, -1);
	if (lua_rawget(L, -3) != LUA_TNIL)
		script_value_error(L, member, "duplicate key");
	lua_pop(L, 1);
	need(r, ':', "expected ':'");
	/* the text lives on as a key of the table */
	script_key_add(L, member->key, member->key_len);
	read(r, member);
	lua_rawset(L, -3);
}

static void read_object(struct reader *r, const struct script_path *at)
{
	struct script_path member = script_path_into(r->L, at);
	size_t from = r->s->key_count;

	r->p++;
	lua_newtable(r->L);
	skip_blanks(r);
	if (!take(r, '}')) {
		do {
			read_member(r, &member);
			skip_blanks(r);
		} while (take(r, ','));
		need(r, '}', "expected ',' or '}'");
	}
	script_keep_order(r->L, from);
}

static bool word(struct reader *r, const char *w)
{
	size_t len = strlen(w);

	if ((size_t)(r->end - r->p) < len || memcmp(r->p, w, len) != 0)
		return false;
	r->p += len;
	return true;
}

static void read(struct reader *r, const struct script_path *at)
{
	script_work(r->L, 1);
	skip_blanks(r);
	if (r->p == r->end)
		malformed(r, "unexpected end");
	if (*r->p == '{')
		read_object(r, at);
	else if (*r->p == '[')
		read_array(r, at);
	else if (*r->p == '"')
		read_string(r);
	else if (word(r, "true"))
		lua_pushboolean(r->L, 1);
	else if (word(r, "false"))
		lua_pushboolean(r->L, 0);
	else if (word(r, "null"))
		script_push_null(r->L);
	else
		read_number(r, at);
}

void script_read_json(lua_State *L, const char *text, size_t len, const char *root)
{
	struct script_path at = {.root = root};
	struct reader r = {L, script_state_of(L), text, text, text + len, &at};

	luaL_checkstack(L, 10, NULL);
	r.s->key_count = 0;
	read(&r, &at);
	skip_blanks(&r);
	if (r.p < r.end)
		malformed(&r, "text behind the value");
}
