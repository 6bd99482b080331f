/* SPDX-License-Identifier: MIT */
/* JSON text without values: the scanner judges and copies a child's output, so that numbers
 * keep the digits they were printed with; the writer makes every line that leaves the runtime.
 * The scanner needs no memory but its output and no stack but one bit a level. */
#include "base/json.h"

#include "base/limits.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the scanner waits for. */
enum want {
	WANT_VALUE = 0,
	WANT_FIRST_VALUE, /* behind '[': a value or ']' */
	WANT_FIRST_KEY,   /* behind '{': a key or '}' */
	WANT_KEY,
	WANT_COLON,
	WANT_NEXT, /* behind a value within something: ',' or its end */
	WANT_END
};

struct scanner {
	const char *text;
	size_t len, at;
	struct buf *out;
	const char *why;
	unsigned depth, max_depth;
	unsigned char in_object[(LIMIT_STDOUT_DEPTH + 8) / 8]; /* one bit a level */
};

static bool bad(struct scanner *s, const char *why)
{
	s->why = why;
	return false;
}

/* Passes on the bytes from `from` to where the scanner is. */
static bool keep(struct scanner *s, size_t from)
{
	if (s->out)
		buf_add(s->out, s->text + from, s->at - from);
	return true;
}

static int peek(const struct scanner *s)
{
	return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static void skip_space(struct scanner *s)
{
	while (s->at < s->len && strchr(" \t\r\n", s->text[s->at]) && s->text[s->at] != '\0')
		s->at++;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* Four hex digits at `at`, or -1. */
static int hex4(const struct scanner *s, size_t at)
{
	int value = 0;

	if (s->len - at < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		int c = (unsigned char)s->text[at + i];

		if (is_digit(c))
			c -= '0';
		else if (c >= 'a' && c <= 'f')
			c -= 'a' - 10;
		else if (c >= 'A' && c <= 'F')
			c -= 'A' - 10;
		else
			return -1;
		value = value * 16 + c;
	}
	return value;
}

/* At a backslash. Surrogates must come in pairs: half of one is no character. */
static bool escape(struct scanner *s)
{
	int code, low;

	s->at++;
	if (peek(s) != 'u') {
		if (peek(s) <= 0 || !strchr("\"\\/bfnrt", peek(s)))
			return bad(s, "an escape that isn't one");
		s->at++;
		return true;
	}
	code = hex4(s, s->at + 1);
	if (code < 0)
		return bad(s, "\\u needs four hex digits");
	s->at += 5;
	if (code < 0xd800 || code > 0xdfff)
		return true;
	if (code > 0xdbff || s->len - s->at < 6 || s->text[s->at] != '\\' ||
	    s->text[s->at + 1] != 'u')
		return bad(s, "half a surrogate pair");
	low = hex4(s, s->at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return bad(s, "half a surrogate pair");
	s->at += 6;
	return true;
}

static bool string(struct scanner *s)
{
	size_t from = s->at++;

	for (;;) {
		int c = peek(s);
		size_t n;

		if (c < 0)
			return bad(s, "a string without its end");
		if (c == '"')
			break;
		if (c < 0x20)
			return bad(s, "a control character in a string");
		if (c == '\\') {
			if (!escape(s))
				return false;
			continue;
		}
		n = utf8_len(s->text + s->at, s->len - s->at);
		if (n == 0)
			return bad(s, "invalid UTF-8");
		s->at += n;
	}
	s->at++;
	return keep(s, from);
}

static bool digits(struct scanner *s)
{
	size_t from = s->at;

	while (is_digit(peek(s)))
		s->at++;
	return s->at > from ? true : bad(s, "a number that isn't one");
}

static bool number(struct scanner *s)
{
	size_t from = s->at;

	if (peek(s) == '-')
		s->at++;
	if (peek(s) == '0')
		s->at++;
	else if (!digits(s))
		return false;
	if (is_digit(peek(s)))
		return bad(s, "a number with a leading zero");
	if (peek(s) == '.') {
		s->at++;
		if (!digits(s))
			return false;
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		if (!digits(s))
			return false;
	}
	return keep(s, from);
}

static bool word(struct scanner *s, const char *w)
{
	size_t n = strlen(w), from = s->at;

	if (s->len - s->at < n || memcmp(s->text + s->at, w, n) != 0)
		return bad(s, "not a value");
	s->at += n;
	return keep(s, from);
}

static bool punctuation(struct scanner *s)
{
	s->at++;
	return keep(s, s->at - 1);
}

static bool open(struct scanner *s, bool object)
{
	unsigned byte = s->depth / 8, bit = 1u << (s->depth % 8);

	if (s->depth >= s->max_depth || s->depth >= LIMIT_STDOUT_DEPTH)
		return bad(s, "nested too deeply");
	if (object)
		s->in_object[byte] = (unsigned char)(s->in_object[byte] | bit);
	else
		s->in_object[byte] = (unsigned char)(s->in_object[byte] & ~bit);
	s->depth++;
	return punctuation(s);
}

static bool inside_object(const struct scanner *s)
{
	return s->depth > 0 && s->in_object[(s->depth - 1) / 8] & 1u << ((s->depth - 1) % 8);
}

static enum want after_value(const struct scanner *s)
{
	return s->depth > 0 ? WANT_NEXT : WANT_END;
}

static bool close(struct scanner *s, enum want *want)
{
	s->depth--;
	*want = after_value(s);
	return punctuation(s);
}

static bool value(struct scanner *s, enum want *want)
{
	int c = peek(s);

	if (c == '{') {
		*want = WANT_FIRST_KEY;
		return open(s, true);
	}
	if (c == '[') {
		*want = WANT_FIRST_VALUE;
		return open(s, false);
	}
	*want = after_value(s);
	if (c == '"')
		return string(s);
	if (c == '-' || is_digit(c))
		return number(s);
	if (c == 't')
		return word(s, "true");
	if (c == 'f')
		return word(s, "false");
	if (c == 'n')
		return word(s, "null");
	return bad(s, "not a value");
}

static bool next(struct scanner *s, enum want *want)
{
	bool object = inside_object(s);

	if (peek(s) == ',') {
		*want = object ? WANT_KEY : WANT_VALUE;
		return punctuation(s);
	}
	if (peek(s) == (object ? '}' : ']'))
		return close(s, want);
	return bad(s, object ? "expected ',' or '}'" : "expected ',' or ']'");
}

static bool step(struct scanner *s, enum want *want)
{
	if (peek(s) < 0)
		return bad(s, "it ends too early");
	switch (*want) {
	case WANT_VALUE:
		return value(s, want);
	case WANT_FIRST_VALUE:
		return peek(s) == ']' ? close(s, want) : value(s, want);
	case WANT_FIRST_KEY:
		if (peek(s) == '}')
			return close(s, want);
		/* fall through */
	case WANT_KEY:
		*want = WANT_COLON;
		return peek(s) == '"' ? string(s) : bad(s, "expected a key in quotes");
	case WANT_COLON:
		*want = WANT_VALUE;
		return peek(s) == ':' ? punctuation(s) : bad(s, "expected ':'");
	case WANT_NEXT:
		return next(s, want);
	case WANT_END:
		return bad(s, "text behind the value");
	}
	return bad(s, "not JSON");
}

enum json_verdict json_scan(const char *text, size_t len, unsigned max_depth, struct buf *out,
			    struct json_scan *scan)
{
	struct scanner s = {.text = text, .len = len, .out = out, .max_depth = max_depth};
	enum want want = WANT_VALUE;
	bool good = true;

	*scan = (struct json_scan){0};
	skip_space(&s);
	if (s.at < len)
		scan->first = text[s.at];
	while (good && (want != WANT_END || s.at < len)) {
		good = step(&s, &want);
		if (good)
			skip_space(&s);
	}
	scan->why = s.why;
	scan->at = s.at;
	return good ? JSON_GOOD : JSON_BAD;
}

static const char *short_escape(unsigned char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

/* Bytes at s that stand in a JSON string as they are. */
static size_t plain_run(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)s[i];
		size_t n = utf8_len(s + i, len - i);

		if (n == 0 || c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
			break;
		/* U+2028 and U+2029 end a line for readers that speak JavaScript */
		if (n == 3 && c == 0xe2 && (unsigned char)s[i + 1] == 0x80 &&
		    ((unsigned char)s[i + 2] & 0xfe) == 0xa8)
			break;
		i += n;
	}
	return i;
}

void json_add_string(struct buf *out, const char *s, size_t len)
{
	size_t i = 0;

	buf_putc(out, '"');
	while (i < len) {
		size_t n = plain_run(s + i, len - i);
		unsigned char c;

		buf_add(out, s + i, n);
		i += n;
		if (i == len)
			break;
		c = (unsigned char)s[i];
		n = utf8_len(s + i, len - i);
		if (short_escape(c))
			buf_puts(out, short_escape(c));
		else if (n == 3)
			buf_puts(out, (unsigned char)s[i + 2] == 0xa8 ? "\\u2028" : "\\u2029");
		else if (n == 1)
			buf_printf(out, "\\u%04x", c);
		else
			buf_puts(out, "\xef\xbf\xbd");
		i += n > 0 ? n : 1;
	}
	buf_putc(out, '"');
}

void json_add_cstring(struct buf *out, const char *s)
{
	json_add_string(out, s, strlen(s));
}

static void add_object(struct buf *out, const json_t *object)
{
	/* jansson's iterators take no const; nothing is changed */
	json_t *o = (json_t *)(uintptr_t)object;
	const char *comma = "";

	buf_putc(out, '{');
	for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
		buf_puts(out, comma);
		json_add_string(out, json_object_iter_key(it), json_object_iter_key_len(it));
		buf_putc(out, ':');
		json_add_value(out, json_object_iter_value(it));
		comma = ",";
	}
	buf_putc(out, '}');
}

static void add_array(struct buf *out, const json_t *array)
{
	buf_putc(out, '[');
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			buf_putc(out, ',');
		json_add_value(out, json_array_get(array, i));
	}
	buf_putc(out, ']');
}

void json_add_value(struct buf *out, const json_t *v)
{
	char real[40];

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		add_object(out, v);
		break;
	case JSON_ARRAY:
		add_array(out, v);
		break;
	case JSON_STRING:
		json_add_string(out, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
		buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		break;
	case JSON_REAL:
		json_format_real(json_real_value(v), real);
		buf_puts(out, real);
		break;
	case JSON_TRUE:
		buf_puts(out, "true");
		break;
	case JSON_FALSE:
		buf_puts(out, "false");
		break;
	case JSON_NULL:
		buf_puts(out, "null");
		break;
	}
}

/* The fewest significant digits that read back to the same double, and its decimal exponent:
 * 0.d1d2... * 10^*point. *value is finite and positive. The host's locale may write ',' for the
 * point and read it back, too; digits are picked out one by one. */
static size_t shortest_digits(double value, char digits_out[20], int *point)
{
	char text[40];
	size_t n = 0;

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *p = text; *p && *p != 'e'; p++) {
		if (is_digit(*p))
			digits_out[n++] = *p;
	}
	*point = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
	while (n > 1 && digits_out[n - 1] == '0')
		n--;
	digits_out[n] = '\0';
	return n;
}

/* Number::toString of ECMA-262, for n digits and a point as above. */
static void js_layout(const char *d, size_t n, int point, char *out, size_t size)
{
	int len = (int)n;

	if (point > 21 || point < -5) {
		snprintf(out, size, "%c%s%se%+d", d[0], n > 1 ? "." : "", d + 1, point - 1);
	} else if (point <= 0) {
		snprintf(out, size, "0.%.*s%s", -point, "000000", d);
	} else if (point >= len) {
		memcpy(out, d, n);
		memset(out + n, '0', (size_t)(point - len));
		out[point] = '\0';
	} else {
		snprintf(out, size, "%.*s.%s", point, d, d + point);
	}
}

void json_format_js(double value, char out[40])
{
	char d[20];
	int point = 0;
	size_t n, at = 0;

	if (value == 0) {
		strcpy(out, "0");
		return;
	}
	if (value < 0)
		out[at++] = '-';
	n = shortest_digits(fabs(value), d, &point);
	js_layout(d, n, point, out + at, 40 - at);
}

void json_format_real(double value, char out[40])
{
	if (value == 0) {
		strcpy(out, signbit(value) ? "-0.0" : "0.0");
		return;
	}
	json_format_js(value, out);
	if (!strpbrk(out, ".e"))
		strcat(out, ".0");
}
