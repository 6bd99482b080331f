/* SPDX-License-Identifier: MIT */
/* Finding secrets in text. An encoding is not made of the secret and searched for: the text is
 * decoded as far as it agrees, so that one function a kind covers every spelling of it and no
 * second copy of the secret comes to be. */
#include "secret/redact.h"

#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

struct span { /* what is left of the text, and what is looked for */
	const unsigned char *at, *end;
	const unsigned char *bytes;
	size_t len;
};

int redact_add(struct redact *r, struct secret *s)
{
	struct secret **grown = realloc(r->items, (r->count + 1) * sizeof(struct secret *));

	if (!grown)
		return -1;
	r->items = grown;
	r->items[r->count++] = secret_hold(s);
	return 0;
}

void redact_clear(struct redact *r)
{
	for (size_t i = 0; i < r->count; i++)
		secret_drop(r->items[i]);
	free(r->items);
	*r = (struct redact){0};
}

bool redact_has(const struct redact *r)
{
	for (; r; r = r->above)
		if (r->count)
			return true;
	return false;
}

/* ---- how a byte may be spelt; each gives the bytes of text that agree, 0: none ---- */

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t match_plain(const struct span *s)
{
	return (size_t)(s->end - s->at) >= s->len && memcmp(s->at, s->bytes, s->len) == 0
		   ? s->len
		   : 0;
}

static size_t match_hex(const struct span *s)
{
	if ((size_t)(s->end - s->at) / 2 < s->len)
		return 0;
	for (size_t i = 0; i < s->len; i++)
		if (hex_digit(s->at[2 * i]) != s->bytes[i] >> 4 ||
		    hex_digit(s->at[2 * i + 1]) != (s->bytes[i] & 15))
			return 0;
	return 2 * s->len;
}

/* %41, and + for a space. */
static size_t match_percent(const struct span *s)
{
	const unsigned char *p = s->at;

	for (size_t i = 0; i < s->len; i++) {
		if (p == s->end)
			return 0;
		if (*p == '%' && s->end - p >= 3 && hex_digit(p[1]) >= 0 &&
		    hex_digit(p[2]) >= 0) {
			if ((hex_digit(p[1]) << 4 | hex_digit(p[2])) != s->bytes[i])
				return 0;
			p += 3;
		} else if (*p == s->bytes[i] || (*p == '+' && s->bytes[i] == ' ')) {
			p++;
		} else {
			return 0;
		}
	}
	return (size_t)(p - s->at);
}

static long hex_four(const unsigned char *p, const unsigned char *end)
{
	long value = 0;

	for (int i = 0; i < 4; i++) {
		if (p + i >= end || hex_digit(p[i]) < 0)
			return -1;
		value = value << 4 | hex_digit(p[i]);
	}
	return value;
}

/* One \uXXXX or a pair of them as UTF-8; *used: bytes of text. 0: none stands there. */
static size_t unescape_u(const unsigned char *p, const unsigned char *end, unsigned char out[4],
			 size_t *used)
{
	long c = hex_four(p + 2, end), low;

	*used = 6;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
		low = hex_four(p + 8, end);
		if (low < 0xdc00 || low > 0xdfff)
			return 0;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*used = 12;
	}
	if (c < 0)
		return 0;
	return utf8_put((unsigned)c, out);
}

/* The bytes that the JSON text at p stands for. */
static size_t unescape(const unsigned char *p, const unsigned char *end, unsigned char out[4],
		       size_t *used)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	*used = 1;
	out[0] = *p;
	if (*p != '\\' || end - p < 2)
		return 1;
	if (p[1] == 'u')
		return unescape_u(p, end, out, used);
	letter = p[1] ? strchr(letters, p[1]) : NULL;
	if (!letter)
		return 1;
	*used = 2;
	out[0] = (unsigned char)values[letter - letters];
	return 1;
}

static size_t match_json(const struct span *s)
{
	const unsigned char *p = s->at;
	unsigned char bytes[4];
	size_t used, n;

	for (size_t i = 0; i < s->len; i += n, p += used) {
		n = p < s->end ? unescape(p, s->end, bytes, &used) : 0;
		if (!n || n > s->len - i || memcmp(bytes, s->bytes + i, n) != 0)
			return 0;
	}
	return (size_t)(p - s->at);
}

static int base64_digit(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/* Six bits of the secret; those behind its end are not there. */
static int six_bits(const struct span *s, size_t bit)
{
	unsigned two = (unsigned)s->bytes[bit / 8] << 8;

	if (bit / 8 + 1 < s->len)
		two |= s->bytes[bit / 8 + 1];
	return (int)(two >> (10 - bit % 8) & 63);
}

/* base64(1) breaks its lines. */
static size_t over_breaks(const struct span *s, size_t at)
{
	while (s->at + at < s->end && (s->at[at] == '\n' || s->at[at] == '\r'))
		at++;
	return at;
}

/* The digit that holds the secret's last bits and others behind them, and padding. */
static size_t base64_tail(const struct span *s, size_t used, size_t bit)
{
	size_t left = 8 * s->len - bit, at = over_breaks(s, used), most;
	const unsigned char *p = s->at + at;

	if (!left || p >= s->end || base64_digit(*p) < 0 ||
	    base64_digit(*p) >> (6 - left) != six_bits(s, bit) >> (6 - left))
		return used;
	most = at + 3;
	for (at++, p++; at < most && p < s->end && *p == '='; p++)
		at++;
	return at;
}

/* The secret begins `before` bytes into a group of three. Of the digit before the first that is
 * all its own nothing is asked: it tells less than a byte. */
static size_t match_base64(const struct span *s, size_t before)
{
	size_t bit = before ? 6 * (before + 1) - 8 * before : 0, used = 0;

	for (; bit + 6 <= 8 * s->len; bit += 6, used++) {
		used = used ? over_breaks(s, used) : 0;
		if (s->at + used >= s->end || base64_digit(s->at[used]) != six_bits(s, bit))
			return 0;
	}
	return used ? base64_tail(s, used, bit) : 0;
}

/* ---- the text ---- */

static size_t longest(const struct span *s)
{
	const size_t all[] = {match_plain(s),    match_json(s),      match_percent(s),
			      match_hex(s),      match_base64(s, 0), match_base64(s, 1),
			      match_base64(s, 2)};
	size_t most = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		most = all[i] > most ? all[i] : most;
	return most;
}

/* How much of the text from `at` on is a secret. */
static size_t secret_at(const struct redact *r, const unsigned char *at,
			const unsigned char *end)
{
	size_t most = 0, n;

	for (; r; r = r->above)
		for (size_t i = 0; i < r->count; i++) {
			const struct span s = {at, end, secret_bytes(r->items[i]),
					       secret_len(r->items[i])};

			n = longest(&s);
			most = n > most ? n : most;
		}
	return most;
}

void redact_text(const struct redact *r, const char *text, size_t len, struct buf *out)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + len, *kept = p;
	size_t n;

	while (p < end && redact_has(r)) {
		n = secret_at(r, p, end);
		if (!n) {
			p++;
			continue;
		}
		buf_add(out, kept, (size_t)(p - kept));
		buf_puts(out, REDACTED);
		kept = p += n;
	}
	buf_add(out, kept, (size_t)(end - kept));
}

static bool is_between_tokens(char c)
{
	return c && strchr(",:]}[{ \t\r\n", c);
}

/* The end of the string or scalar that begins at p. No NUL need stand behind the text. */
static const char *token_end(const char *p, const char *end)
{
	if (*p != '"') {
		while (p < end && *p != '"' && !is_between_tokens(*p))
			p++;
		return p;
	}
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p + 1 : end;
}

static bool is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

/* What the string says is judged, not how it is spelt; one that holds no secret keeps its
 * spelling. */
static void redact_string(const struct redact *r, const char *p, const char *end,
			  struct buf *out)
{
	const unsigned char *at = (const unsigned char *)p + 1;
	const unsigned char *last = (const unsigned char *)end - 1;
	AUTO_BUF said = {0}, clean = {0};
	unsigned char bytes[4];
	size_t used, n;

	for (; at < last; at += used) {
		n = unescape(at, last, bytes, &used);
		if (!n)
			used = 1;
		buf_add(&said, n ? bytes : at, n ? n : 1);
	}
	redact_text(r, said.data ? said.data : "", said.len, &clean);
	out->failed |= said.failed || clean.failed;
	if (is_same(&said, &clean))
		buf_add(out, p, (size_t)(end - p));
	else
		json_add_string(out, clean.data, clean.len);
}

static void redact_token(const struct redact *r, const char *p, const char *end,
			 struct buf *out)
{
	AUTO_BUF clean = {0};

	if (*p == '"' && end - p >= 2) {
		redact_string(r, p, end, out);
		return;
	}
	redact_text(r, p, (size_t)(end - p), &clean);
	out->failed |= clean.failed;
	if (clean.len == (size_t)(end - p) && memcmp(clean.data, p, clean.len) == 0)
		buf_add(out, p, clean.len);
	else
		buf_puts(out, "\"" REDACTED "\"");
}

void redact_json(const struct redact *r, const char *text, size_t len, struct buf *out)
{
	const char *p = text, *end = text + len, *next;

	while (p < end) {
		if (is_between_tokens(*p)) {
			buf_add(out, p++, 1);
			continue;
		}
		next = token_end(p, end);
		redact_token(r, p, next, out);
		p = next;
	}
}

json_t *redact_value(const struct redact *r, const json_t *value)
{
	struct hcp_err err = {0};
	AUTO_BUF text = {0}, clean = {0};

	json_add_value(&text, value);
	redact_json(r, text.data ? text.data : "", text.len, &clean);
	if (text.failed || clean.failed)
		return NULL;
	return json_parse(clean.data, clean.len, LIMIT_STDOUT_DEPTH, &err);
}
