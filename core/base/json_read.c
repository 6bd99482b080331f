/* SPDX-License-Identifier: MIT */
/* From JSON text to values. jansson's own reader drops bytes of strings and numbers, without a
 * word, where its buffer can't grow; an argument would then be another. So the scanner judges,
 * this builds, and memory that runs out is an error. */
#include "base/json.h"

#include "base/limits.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a text that the scanner took: what must stand somewhere, stands there. */
struct reader {
	const char *text;
	size_t len, at;
	struct buf word; /* the string or number that was read last, and a NUL */
	struct hcp_err *err;
};

static json_t *read_value(struct reader *r);

static void *nomem(struct reader *r)
{
	hcp_fail_nomem(r->err);
	return NULL;
}

static void *bad(struct reader *r, size_t at, const char *why)
{
	hcp_fail(r->err, HCP_E_INVALID, "%s at byte %zu", why, at);
	return NULL;
}

/* The next byte that isn't white space; NUL at the end. */
static char peek(struct reader *r)
{
	while (r->at < r->len && strchr(" \t\r\n", r->text[r->at]))
		r->at++;
	return r->at < r->len ? r->text[r->at] : '\0';
}

static unsigned hex4(struct reader *r)
{
	char digits[5];

	memcpy(digits, r->text + r->at, 4);
	digits[4] = '\0';
	r->at += 4;
	return (unsigned)strtoul(digits, NULL, 16);
}

/* Behind "\u". */
static void add_code(struct reader *r)
{
	unsigned code = hex4(r);
	unsigned char bytes[4];

	if (code >= 0xd800 && code <= 0xdbff) {
		r->at += 2;
		code = 0x10000 + ((code - 0xd800) << 10) + (hex4(r) - 0xdc00);
	}
	buf_add(&r->word, bytes, utf8_put(code, bytes));
}

/* At a backslash. */
static void add_escape(struct reader *r)
{
	static const char names[] = "bfnrt", means[] = "\b\f\n\r\t";
	char c = r->text[r->at + 1];
	const char *name = strchr(names, c);

	r->at += 2;
	if (c == 'u')
		add_code(r);
	else
		buf_putc(&r->word, name ? means[name - names] : c);
}

/* At a quote; the string is in r->word. -1: out of memory. */
static int read_word(struct reader *r)
{
	r->word.len = 0;
	r->at++;
	while (r->text[r->at] != '"') {
		size_t n = 0;

		if (r->text[r->at] == '\\') {
			add_escape(r);
			continue;
		}
		while (r->text[r->at + n] != '"' && r->text[r->at + n] != '\\')
			n++;
		buf_add(&r->word, r->text + r->at, n);
		r->at += n;
	}
	r->at++;
	buf_putc(&r->word, '\0');
	return r->word.failed ? -1 : 0;
}

static json_t *read_string(struct reader *r)
{
	if (read_word(r) < 0)
		return nomem(r);
	return json_stringn_nocheck(r->word.data, r->word.len - 1);
}

/* The number as text, with the point that strtod(3) wants in the host's locale. */
static int read_digits(struct reader *r, bool *whole)
{
	r->word.len = 0;
	*whole = true;
	for (; r->at < r->len && r->text[r->at] && strchr("+-.0123456789eE", r->text[r->at]);
	     r->at++) {
		char c = r->text[r->at];

		*whole = *whole && !strchr(".eE", c);
		if (c == '.')
			buf_puts(&r->word, localeconv()->decimal_point);
		else
			buf_putc(&r->word, c);
	}
	buf_putc(&r->word, '\0');
	return r->word.failed ? -1 : 0;
}

static json_t *read_number(struct reader *r)
{
	size_t at = r->at;
	long long whole = 0;
	double real = 0;
	bool is_whole;

	if (read_digits(r, &is_whole) < 0)
		return nomem(r);
	errno = 0;
	if (is_whole)
		whole = strtoll(r->word.data, NULL, 10);
	else
		real = strtod(r->word.data, NULL);
	/* ERANGE with a small result is a number next to 0 */
	if (errno == ERANGE && (is_whole || isinf(real)))
		return bad(r, at, "a number that is too big");
	return is_whole ? json_integer(whole) : json_real(real);
}

static json_t *read_array(struct reader *r)
{
	json_t *array = json_array(), *value;

	r->at++;
	if (!array)
		return NULL;
	while (peek(r) != ']') {
		value = read_value(r);
		if (!value || json_array_append_new(array, value) < 0) {
			json_decref(array);
			return NULL;
		}
		if (peek(r) == ',')
			r->at++;
	}
	r->at++;
	return array;
}

/* A member; -1 where there can't be one. */
static int read_member(struct reader *r, json_t *object)
{
	size_t at = r->at;
	char *key;
	json_t *value;
	int rc = -1;

	if (read_word(r) < 0)
		return nomem(r), -1;
	if (strlen(r->word.data) != r->word.len - 1)
		return bad(r, at, "a NUL in a key"), -1;
	if (json_object_get(object, r->word.data))
		return bad(r, at, "a duplicate key"), -1;
	key = strdup(r->word.data);
	if (!key)
		return nomem(r), -1;
	peek(r);
	r->at++; /* the colon */
	value = read_value(r);
	if (value)
		rc = json_object_set_new_nocheck(object, key, value);
	free(key);
	return rc;
}

static json_t *read_object(struct reader *r)
{
	json_t *object = json_object();

	r->at++;
	if (!object)
		return NULL;
	while (peek(r) != '}') {
		if (read_member(r, object) < 0) {
			json_decref(object);
			return NULL;
		}
		if (peek(r) == ',')
			r->at++;
	}
	r->at++;
	return object;
}

static json_t *read_name(struct reader *r)
{
	char c = r->text[r->at];

	r->at += c == 'f' ? 5 : 4;
	return c == 'n' ? json_null() : json_boolean(c == 't');
}

static json_t *read_value(struct reader *r)
{
	switch (peek(r)) {
	case '{':
		return read_object(r);
	case '[':
		return read_array(r);
	case '"':
		return read_string(r);
	case 't':
	case 'f':
	case 'n':
		return read_name(r);
	default:
		return read_number(r);
	}
}

json_t *json_parse(const char *text, size_t len, unsigned max_depth, struct hcp_err *err)
{
	struct hcp_err why = {0};
	struct reader r = {.text = text, .len = len, .err = &why};
	struct json_scan scan;
	json_t *value;

	if (json_scan(text, len, max_depth, NULL, &scan) != JSON_GOOD) {
		hcp_fail(err, HCP_E_INVALID, "%s at byte %zu", scan.why, scan.at);
		return NULL;
	}
	value = read_value(&r);
	buf_free(&r.word);
	if (!value && why.code == HCP_E_NONE)
		hcp_fail_nomem(err);
	else if (!value)
		hcp_fail(err, why.code, "%s", why.text);
	return value;
}

json_t *json_read(const char *text, size_t len)
{
	struct hcp_err err = {0};

	return json_parse(text, len, LIMIT_STDOUT_DEPTH, &err);
}
