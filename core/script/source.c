/* SPDX-License-Identifier: MIT */
/* Takes Lua source in: text only, of bounded size, and without to-be-closed variables.
 * `<close>` is an attribute of a `local` statement and nothing else, so only names behind
 * `local` are looked at; `a <close> b` compares. The scan must see tokens as Lua does: what
 * hides in a string or a comment here must hide there. Where a source is malformed it may stop
 * early: Lua refuses the same place. */
#include "script/state.h"

#include "base/limits.h"

#include <string.h>

struct lexer {
	const char *p, *end;
	int line;
};
enum token { TOKEN_END = 0, TOKEN_NAME, TOKEN_OTHER };
struct lexeme {
	enum token kind;
	const char *text;
	size_t len;
};

/* ASCII, whatever the locale, as llex.c has it. */
static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The level of a long bracket that opens at p, "[[" being 0; -1: none opens here. */
static int long_level(const struct lexer *x, const char *p)
{
	int level = 0;

	for (p++; p < x->end && *p == '='; p++)
		level++;
	return p < x->end && *p == '[' ? level : -1;
}

static void skip_long(struct lexer *x, int level)
{
	int run;

	for (x->p += level + 2; x->p < x->end;) {
		if (*x->p == '\n')
			x->line++;
		if (*x->p++ != ']')
			continue;
		for (run = 0; x->p < x->end && *x->p == '='; x->p++)
			run++;
		if (run == level && x->p < x->end && *x->p == ']') {
			x->p++;
			return;
		}
	}
}

static void skip_comment(struct lexer *x)
{
	int level;

	x->p += 2;
	if (x->p < x->end && *x->p == '[' && (level = long_level(x, x->p)) >= 0) {
		skip_long(x, level);
		return;
	}
	while (x->p < x->end && *x->p != '\n' && *x->p != '\r')
		x->p++;
}

/* A backslash takes the next byte with it, which is all that matters for finding the end: \z
 * skips white space, and a newline that is neither escaped nor skipped ends the whole chunk
 * with an error. */
static void skip_string(struct lexer *x)
{
	char quote = *x->p++;

	while (x->p < x->end && *x->p != quote) {
		if (*x->p == '\\' && x->p + 1 < x->end)
			x->p++;
		if (*x->p++ == '\n')
			x->line++;
	}
	if (x->p < x->end)
		x->p++;
}

static void skip_blanks(struct lexer *x)
{
	while (x->p < x->end) {
		if (*x->p == '-' && x->p + 1 < x->end && x->p[1] == '-') {
			skip_comment(x);
		} else if (*x->p == ' ' || (*x->p >= '\t' && *x->p <= '\r')) {
			if (*x->p++ == '\n')
				x->line++;
		} else {
			return;
		}
	}
}

/* Lua reads a number as far as hexadecimal digits, points, letters and signs behind an exponent
 * go; the sign may end the token here, for no name follows one. */
static void skip_word(struct lexer *x, bool number)
{
	while (x->p < x->end && (is_word(*x->p) || (number && *x->p == '.')))
		x->p++;
}

static struct lexeme next(struct lexer *x)
{
	struct lexeme t = {TOKEN_OTHER, NULL, 0};
	int level;

	skip_blanks(x);
	t.text = x->p;
	if (x->p == x->end) {
		t.kind = TOKEN_END;
	} else if (*x->p == '"' || *x->p == '\'') {
		skip_string(x);
	} else if (*x->p == '[' && (level = long_level(x, x->p)) >= 0) {
		skip_long(x, level);
	} else if (is_digit(*x->p) ||
		   (*x->p == '.' && x->p + 1 < x->end && is_digit(x->p[1]))) {
		skip_word(x, true);
	} else if (is_word(*x->p)) {
		t.kind = TOKEN_NAME;
		skip_word(x, false);
	} else {
		x->p++;
	}
	t.len = (size_t)(x->p - t.text);
	return t;
}

static bool is(const struct lexeme *t, const char *text)
{
	return t->len == strlen(text) && memcmp(t->text, text, t->len) == 0;
}

/* Behind `local`: Name ['<' Name '>'] {',' Name ['<' Name '>']}. Leaves the first token that is
 * none of it in *t. */
static bool closes(struct lexer *x, struct lexeme *t)
{
	do {
		*t = next(x);
		if (t->kind != TOKEN_NAME || is(t, "function"))
			return false;
		*t = next(x);
		if (!is(t, "<"))
			continue;
		*t = next(x);
		if (is(t, "close"))
			return true;
		*t = next(x); /* the '>' */
		*t = next(x);
	} while (is(t, ","));
	return false;
}

static int line_that_closes(const char *text, size_t len)
{
	struct lexer x = {text, text + len, 1};
	struct lexeme t = next(&x);

	while (t.kind != TOKEN_END) {
		if (t.kind != TOKEN_NAME || !is(&t, "local"))
			t = next(&x);
		else if (closes(&x, &t))
			return x.line;
	}
	return 0;
}

#define PIECE 256

struct source {
	const char *p;
	size_t len;
};

/* In small pieces: what Lua does with one may take as long as all before it did, a long chain
 * of `or` or of `elseif` for one, and no hook interrupts it. */
static const char *next_piece(lua_State *L, void *from, size_t *len)
{
	struct source *s = from;
	const char *piece = s->p;

	if (script_over(&script_state_of(L)->meter))
		script_raise_killed(L);
	*len = s->len < PIECE ? s->len : PIECE;
	s->p += *len;
	s->len -= *len;
	return piece;
}

/* Without the place that luaL_error would put in front: a module's fault is not the line's that
 * requires it. */
static void refuse(lua_State *L, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	lua_pushvfstring(L, fmt, ap);
	va_end(ap);
	lua_error(L);
}

void script_load(lua_State *L, const char *name, const char *text, size_t len)
{
	struct source from = {text, len};
	int line;

	if (len > LIMIT_SCRIPT)
		refuse(L, "%s: over %d bytes", name, LIMIT_SCRIPT);
	if (len > 0 && text[0] == LUA_SIGNATURE[0])
		refuse(L, "%s: compiled Lua is refused", name);
	line = line_that_closes(text, len);
	if (line)
		refuse(L, "%s:%d: to-be-closed variables are not part of hcp's Lua", name,
		       line);
	lua_pushfstring(L, "@%s", name);
	if (lua_load(L, next_piece, &from, lua_tostring(L, -1), "t") != LUA_OK)
		lua_error(L);
	lua_remove(L, -2);
}
