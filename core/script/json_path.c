/* SPDX-License-Identifier: MIT */
/* Finds a string inside JSON text without building values: a secret of an answer goes from
 * locked memory into locked memory and nowhere else. The text was judged before. Pure. */
#include "script/l_http.h"

#include "base/str.h"

#include <string.h>

struct text {
	const char *p, *end;
};

static void skip_space(struct text *t)
{
	while (t->p < t->end && strchr(" \t\r\n", *t->p) && *t->p)
		t->p++;
}

static void skip_string(struct text *t)
{
	for (t->p++; t->p < t->end && *t->p != '"'; t->p++)
		t->p += *t->p == '\\';
	t->p++;
}

static void skip_value(struct text *t)
{
	size_t depth = 0;

	do {
		skip_space(t);
		if (t->p >= t->end)
			return;
		if (*t->p == '"') {
			skip_string(t);
			continue;
		}
		if (*t->p == '{' || *t->p == '[') {
			depth++;
		} else if (*t->p == '}' || *t->p == ']') {
			depth--;
		} else if (*t->p != ',' && *t->p != ':') {
			while (t->p < t->end && !strchr(",]} \t\r\n", *t->p))
				t->p++;
			continue;
		}
		t->p++;
	} while (depth > 0 && t->p < t->end);
}

static int hex4(const char *p, unsigned *out)
{
	static const char digits[] = "0123456789abcdef";

	*out = 0;
	for (int i = 0; i < 4; i++) {
		const char *d = p[i] ? strchr(digits, p[i] | 0x20) : NULL;

		if (!d)
			return -1;
		*out = *out << 4 | (unsigned)(d - digits);
	}
	return 0;
}

/* \uXXXX, or two of them; *p stands behind the "u". */
static int put_escape(const char **p, const char *end, unsigned char *out, size_t *len)
{
	unsigned high, low;

	if (end - *p < 4 || hex4(*p, &high) < 0)
		return -1;
	*p += 4;
	if (high >= 0xd800 && high < 0xdc00) {
		if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u' ||
		    hex4(*p + 2, &low) < 0 || low < 0xdc00 || low > 0xdfff)
			return -1;
		*p += 6;
		high = 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
	} else if (high >= 0xdc00 && high < 0xe000) {
		return -1;
	}
	*len += utf8_put(high, out + *len);
	return 0;
}

int json_path_decode(const char *at, size_t size, unsigned char *out, size_t *len)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *end = at + size, *which;

	*len = 0;
	while (at < end) {
		if (*at != '\\') {
			out[(*len)++] = (unsigned char)*at++;
			continue;
		}
		if (end - at < 2)
			return -1;
		at += 2;
		if (at[-1] == 'u') {
			if (put_escape(&at, end, out, len) < 0)
				return -1;
			continue;
		}
		which = strchr(from, at[-1]);
		out[(*len)++] = (unsigned char)(which && *which ? to[which - from] : at[-1]);
	}
	return 0;
}

static bool is_name(const char *at, size_t size, const char *name, size_t len)
{
	unsigned char plain[256];
	size_t n;

	if (!memchr(at, '\\', size))
		return size == len && memcmp(at, name, len) == 0;
	return size <= sizeof(plain) && json_path_decode(at, size, plain, &n) == 0 &&
	       n == len && memcmp(plain, name, len) == 0;
}

/* Into the member of that name; false where the value isn't an object that has it. */
static bool enter(struct text *t, const char *name, size_t len)
{
	const char *at;

	skip_space(t);
	if (t->p >= t->end || *t->p != '{')
		return false;
	for (t->p++;;) {
		skip_space(t);
		if (t->p >= t->end || *t->p != '"')
			return false;
		at = t->p + 1;
		skip_string(t);
		if (is_name(at, (size_t)(t->p - 1 - at), name, len)) {
			skip_space(t);
			t->p++; /* the colon */
			skip_space(t);
			return t->p < t->end;
		}
		skip_space(t);
		t->p++;
		skip_value(t);
		skip_space(t);
		if (t->p >= t->end || *t->p != ',')
			return false;
		t->p++;
	}
}

int json_path_string(const char *text, size_t len, const char *path, const char **at,
		     size_t *size)
{
	struct text t = {text, text + len};
	size_t n;

	*at = NULL;
	*size = 0;
	for (;; path += n + 1) {
		n = strcspn(path, ".");
		if (!enter(&t, path, n))
			return 1;
		if (!path[n])
			break;
	}
	if (*t.p != '"')
		return *t.p == 'n' ? 1 : -1;
	*at = t.p + 1;
	skip_string(&t);
	*size = (size_t)(t.p - 1 - *at);
	return 0;
}
