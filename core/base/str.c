/* SPDX-License-Identifier: MIT */
/* Text for everything above: buffers, UTF-8 and the closed sets of names. What these name
 * checks let through becomes file names and log fields, so each of them is a list of what is
 * allowed. */
#include "base/str.h"

#include "base/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

/* Room for `more` bytes and the NUL. */
static bool reserve(struct buf *b, size_t more)
{
	size_t need, cap;
	char *data;

	if (b->failed || more >= SIZE_MAX / 2 - b->len) {
		b->failed = true;
		return false;
	}
	need = b->len + more + 1;
	if (need <= b->cap)
		return true;
	cap = b->cap < 32 ? 64 : b->cap * 2;
	if (cap < need)
		cap = need;
	data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if (!reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

bool str_eq(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t utf8_len(const char *s, size_t left)
{
	const unsigned char *u = (const unsigned char *)s;

	if (left == 0)
		return 0;
	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4 || left < 2 || !is_tail(u[1]))
		return 0;
	if (u[0] < 0xe0)
		return 2;
	if (left < 3 || !is_tail(u[2]))
		return 0;
	if (u[0] < 0xf0) {
		bool overlong = u[0] == 0xe0 && u[1] < 0xa0;
		bool surrogate = u[0] == 0xed && u[1] > 0x9f;

		return overlong || surrogate ? 0 : 3;
	}
	if (left < 4 || !is_tail(u[3]))
		return 0;
	if ((u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return 4;
}

bool utf8_valid(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_len(s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

size_t utf8_put(unsigned c, unsigned char out[4])
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (unsigned char)(0xc0 | c >> 6);
		out[1] = (unsigned char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (unsigned char)(0xe0 | c >> 12);
		out[1] = (unsigned char)(0x80 | (c >> 6 & 63));
		out[2] = (unsigned char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | c >> 18);
	out[1] = (unsigned char)(0x80 | (c >> 12 & 63));
	out[2] = (unsigned char)(0x80 | (c >> 6 & 63));
	out[3] = (unsigned char)(0x80 | (c & 63));
	return 4;
}

void utf8_clean(struct buf *out, const char *s, size_t len)
{
	size_t from = 0, i = 0;

	while (i < len) {
		size_t n = utf8_len(s + i, len - i);

		if (n > 0) {
			i += n;
			continue;
		}
		buf_add(out, s + from, i - from);
		buf_puts(out, "\xef\xbf\xbd");
		from = ++i;
	}
	buf_add(out, s + from, len - from);
}

/* isalnum() asks the host's locale; names don't. */
static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool name_is_id(const char *s)
{
	size_t n = 0;

	if (!is_word(s[0]))
		return false;
	for (; s[n] && n <= LIMIT_ID; n++) {
		if (!is_word(s[n]) && !strchr("._-", s[n]))
			return false;
		if (s[n] == '.' && s[n + 1] == '.')
			return false;
	}
	return n <= LIMIT_ID;
}

bool name_is_session(const char *s)
{
	size_t n = 0;

	for (; s[n] && n <= LIMIT_ID; n++) {
		if (!is_word(s[n]) && !strchr("._-", s[n]))
			return false;
	}
	return n > 0 && n <= LIMIT_ID;
}

bool name_is_verb(const char *s)
{
	size_t n = 0;

	for (; s[n] && n <= LIMIT_VERB; n++) {
		if (is_word(s[n]))
			continue;
		if (!strchr(". -_", s[n]) || n == 0 || !is_word(s[n + 1]))
			return false;
	}
	return n > 0 && n <= LIMIT_VERB;
}

struct unit {
	const char *name;
	int64_t factor;
};
static const struct unit durations[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit counts[] = {{"G", 1000000000}, {"M", 1000000}, {"K", 1000}, {"", 1}};
static const struct unit sizes[] = {{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t parse_unit(const char *s, const struct unit *units, size_t count)
{
	int64_t n = 0;
	const char *p = s;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (n > (INT64_MAX - 9) / 10)
			return -1;
		n = n * 10 + (*p - '0');
	}
	if (p == s)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (str_eq(p, units[i].name))
			return n > INT64_MAX / units[i].factor ? -1 : n * units[i].factor;
	}
	return -1;
}

static void format_unit(int64_t n, const struct unit *units, size_t count, char out[32])
{
	size_t i = 0;

	while (i + 1 < count && (n == 0 || n % units[i].factor != 0))
		i++;
	snprintf(out, 32, "%lld%s", (long long)(n / units[i].factor), units[i].name);
}

int64_t unit_duration_ms(const char *s)
{
	int64_t ms = parse_unit(s, durations, COUNT(durations));

	return ms > LIMIT_DURATION_MS ? -1 : ms;
}

int64_t unit_size(const char *s)
{
	return parse_unit(s, sizes, COUNT(sizes));
}

void unit_format_duration(int64_t ms, char out[32])
{
	format_unit(ms, durations, COUNT(durations), out);
}

void unit_format_size(int64_t bytes, char out[32])
{
	format_unit(bytes, sizes, COUNT(sizes), out);
}

void unit_format_count(int64_t n, char out[32])
{
	format_unit(n, counts, COUNT(counts), out);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The restricted form: a transposition counts once and isn't edited further. */
unsigned str_distance(const char *a, const char *b)
{
	enum { MAX = 64 };
	unsigned rows[3][MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t an = strlen(a), bn = strlen(b);

	if (an > MAX || bn > MAX)
		return 1000;
	for (size_t j = 0; j <= bn; j++)
		last[j] = before[j] = (unsigned)j;
	for (size_t i = 1; i <= an; i++) {
		unsigned *spare = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= bn; j++) {
			unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = least(best, least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = least(best, before[j - 2] + 1);
			row[j] = best;
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[bn];
}
