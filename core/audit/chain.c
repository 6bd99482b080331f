/* SPDX-License-Identifier: MIT */
/* What makes the log a chain. Each line ends in `,"prev":"P","hash":"H"}`: H is the SHA-256 of
 * the line's bytes before `,"hash":`, P is the H of the line before. Pure; judges bytes, never
 * a value that was parsed and written again. */
#include "audit/chain.h"

#include "base/limits.h"
#include "base/time.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define HASH_LEN (CHAIN_HASH_SIZE - 1)
#define TIME_LEN (CHAIN_TIME_SIZE - 1)

static const char seq_key[] = "{\"seq\":";
static const char time_key[] = ",\"time\":\"";
static const char kind_key[] = "\",\"kind\":\"";
static const char prev_key[] = ",\"prev\":\"";
static const char hash_key[] = "\",\"hash\":\"";
static const char line_end[] = "\"}";

#define LEN(text) (sizeof(text) - 1)
/* From `,"prev"` to the closing brace. */
#define SUFFIX_LEN (LEN(prev_key) + HASH_LEN + LEN(hash_key) + HASH_LEN + LEN(line_end))
/* From `,"hash"` (without the quote that closes prev) to the closing brace. */
#define UNHASHED_LEN (LEN(hash_key) - 1 + HASH_LEN + LEN(line_end))

void chain_start(struct chain_tip *tip)
{
	memset(tip, 0, sizeof(*tip));
	memset(tip->hash, '0', HASH_LEN);
}

static char *digits(char *p, int value, int width)
{
	for (int i = width - 1; i >= 0; i--, value /= 10)
		p[i] = (char)('0' + value % 10);
	return p + width;
}

void chain_format_time(int64_t unix_us, char out[CHAIN_TIME_SIZE])
{
	const int64_t last = 253402300799999999; /* 9999-12-31T23:59:59.999999Z */
	int64_t us = unix_us < 0 ? 0 : unix_us > last ? last : unix_us;
	int sec = (int)(us / 1000000 % 86400), year, month, day;
	char *p = out;

	time_civil(us / 1000000 / 86400, &year, &month, &day);
	p = digits(p, year, 4);
	*p++ = '-';
	p = digits(p, month, 2);
	*p++ = '-';
	p = digits(p, day, 2);
	*p++ = 'T';
	p = digits(p, sec / 3600, 2);
	*p++ = ':';
	p = digits(p, sec / 60 % 60, 2);
	*p++ = ':';
	p = digits(p, sec % 60, 2);
	*p++ = '.';
	p = digits(p, (int)(us % 1000000), 6);
	*p++ = 'Z';
	*p = '\0';
}

static void hash_hex(const char *data, size_t len, char out[CHAIN_HASH_SIZE])
{
	unsigned char sum[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(sum, (const unsigned char *)data, len);
	sodium_bin2hex(out, CHAIN_HASH_SIZE, sum, sizeof(sum));
}

static char *put(char *p, const char *data, size_t len)
{
	memcpy(p, data, len);
	return p + len;
}

int chain_line(struct chain_tip *tip, int64_t now_us, const char *body, size_t body_len,
	       char *line, size_t *len, struct hcp_err *err)
{
	struct chain_tip next;
	char *p = line;

	*len = 0;
	if (body_len > LIMIT_AUDIT_LINE - CHAIN_OVERHEAD)
		return hcp_fail(err, HCP_E_LIMIT, "a record of %zu bytes is too long",
				body_len);
	if (tip->seq == UINT64_MAX)
		return hcp_fail(err, HCP_E_LIMIT, "no sequence number is left");
	next.seq = tip->seq + 1;
	chain_format_time(now_us, next.time);
	/* fixed width, so the order of the bytes is that of the times */
	if (strcmp(next.time, tip->time) < 0)
		memcpy(next.time, tip->time, sizeof(next.time));
	p += snprintf(p, LEN(seq_key) + 21, "%s%" PRIu64, seq_key, next.seq);
	p = put(p, time_key, LEN(time_key));
	p = put(p, next.time, TIME_LEN);
	p = put(p, "\",", 2);
	p = put(p, body, body_len);
	p = put(p, prev_key, LEN(prev_key));
	p = put(p, tip->hash, HASH_LEN);
	p = put(p, "\"", 1);
	hash_hex(line, (size_t)(p - line), next.hash);
	p = put(p, hash_key + 1, LEN(hash_key) - 1);
	p = put(p, next.hash, HASH_LEN);
	p = put(p, line_end, LEN(line_end));
	*p++ = '\n';
	*len = (size_t)(p - line);
	*tip = next;
	return 0;
}

/* A cursor that only moves over what was expected. */
static bool skip(const char **p, const char *end, const char *text, size_t len)
{
	if ((size_t)(end - *p) < len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

static bool take_number(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t n = 0;

	while (s < end && *s >= '0' && *s <= '9') {
		if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return false;
		s++;
	}
	if (s == *p || (**p == '0' && s - *p > 1))
		return false;
	*p = s;
	*out = n;
	return true;
}

static bool take_time(const char **p, const char *end, char out[CHAIN_TIME_SIZE])
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";
	const char *s = *p;

	if ((size_t)(end - s) < TIME_LEN)
		return false;
	for (size_t i = 0; i < TIME_LEN; i++)
		if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
			return false;
	memcpy(out, s, TIME_LEN);
	out[TIME_LEN] = '\0';
	*p = s + TIME_LEN;
	return true;
}

static bool take_hash(const char **p, const char *end, char out[CHAIN_HASH_SIZE])
{
	const char *s = *p;

	if ((size_t)(end - s) < HASH_LEN)
		return false;
	for (size_t i = 0; i < HASH_LEN; i++)
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	memcpy(out, s, HASH_LEN);
	out[HASH_LEN] = '\0';
	*p = s + HASH_LEN;
	return true;
}

static bool take_kind(const char **p, const char *end, char out[CHAIN_KIND_SIZE])
{
	size_t n = 0;

	while (*p + n < end && (*p)[n] >= 'a' && (*p)[n] <= 'z')
		n++;
	if (n == 0 || n >= CHAIN_KIND_SIZE)
		return false;
	memcpy(out, *p, n);
	out[n] = '\0';
	*p += n;
	return true;
}

bool chain_parse(const char *line, size_t len, struct chain_link *out)
{
	const char *p = line, *end = line + len, *tail;

	memset(out, 0, sizeof(*out));
	if (len < SUFFIX_LEN || len >= LIMIT_AUDIT_LINE || memchr(line, '\0', len))
		return false;
	tail = end - SUFFIX_LEN;
	return skip(&p, tail, seq_key, LEN(seq_key)) && take_number(&p, tail, &out->seq) &&
	       skip(&p, tail, time_key, LEN(time_key)) && take_time(&p, tail, out->time) &&
	       skip(&p, tail, kind_key, LEN(kind_key)) && take_kind(&p, tail, out->kind) &&
	       skip(&p, tail, "\"", 1) && skip(&tail, end, prev_key, LEN(prev_key)) &&
	       take_hash(&tail, end, out->prev) && skip(&tail, end, hash_key, LEN(hash_key)) &&
	       take_hash(&tail, end, out->hash) && skip(&tail, end, line_end, LEN(line_end)) &&
	       tail == end;
}

bool chain_parse_time(const char *line, size_t len, char out[CHAIN_TIME_SIZE])
{
	const char *p = line, *end = line + len;
	uint64_t seq;

	return skip(&p, end, seq_key, LEN(seq_key)) && take_number(&p, end, &seq) &&
	       skip(&p, end, time_key, LEN(time_key)) && take_time(&p, end, out);
}

void chain_hash(const char *line, size_t len, char out[CHAIN_HASH_SIZE])
{
	hash_hex(line, len < UNHASHED_LEN ? 0 : len - UNHASHED_LEN, out);
}

bool chain_hash_holds(const char *line, size_t len, const struct chain_link *link)
{
	char hash[CHAIN_HASH_SIZE];

	chain_hash(line, len, hash);
	return strcmp(hash, link->hash) == 0;
}

bool chain_follows(const struct chain_tip *tip, const struct chain_link *link)
{
	return link->seq == tip->seq + 1 && link->seq != 0 &&
	       strcmp(link->prev, tip->hash) == 0;
}

void chain_advance(struct chain_tip *tip, const struct chain_link *link)
{
	tip->seq = link->seq;
	memcpy(tip->time, link->time, sizeof(tip->time));
	memcpy(tip->hash, link->hash, sizeof(tip->hash));
}

void chain_format_missing(uint64_t first, uint64_t last, char out[80])
{
	if (first == last)
		snprintf(out, 80, "record %" PRIu64 " is missing", first);
	else
		snprintf(out, 80, "records %" PRIu64 " to %" PRIu64 " are missing", first,
			 last);
}

void chain_end(const char *hash, char out[CHAIN_END_SIZE + 1])
{
	snprintf(out, CHAIN_END_SIZE + 1, "%s%.*s%s\n", hash_key + 1, (int)HASH_LEN, hash,
		 line_end);
}

bool chain_parse_end(const char end[CHAIN_END_SIZE], char hash[CHAIN_HASH_SIZE])
{
	char again[CHAIN_END_SIZE + 1];

	memcpy(hash, end + LEN(hash_key) - 1, HASH_LEN);
	hash[HASH_LEN] = '\0';
	chain_end(hash, again);
	return memcmp(again, end, CHAIN_END_SIZE) == 0;
}

void chain_head_format(const struct chain_head *h, char out[CHAIN_HEAD_SIZE])
{
	int n;

	memset(out, ' ', CHAIN_HEAD_SIZE);
	n = snprintf(out, CHAIN_HEAD_SIZE,
		     "{\"inode\":%" PRIu64 ",\"size\":%" PRIu64 ",\"seq\":%" PRIu64
		     ",\"time\":\"%s\",\"hash\":\"%s\"}",
		     h->inode, h->size, h->tip.seq, h->tip.time, h->tip.hash);
	/* at most 227 bytes, so the NUL lies inside */
	if (n > 0 && n < CHAIN_HEAD_SIZE)
		out[n] = ' ';
	out[CHAIN_HEAD_SIZE - 1] = '\n';
}

static bool skip_text(const char **p, const char *end, const char *text)
{
	return skip(p, end, text, strlen(text));
}

bool chain_head_parse(const char *text, size_t len, struct chain_head *out)
{
	const char *p = text, *end = text + len;
	char again[CHAIN_HEAD_SIZE];

	memset(out, 0, sizeof(*out));
	if (len != CHAIN_HEAD_SIZE || !skip_text(&p, end, "{\"inode\":") ||
	    !take_number(&p, end, &out->inode) || !skip_text(&p, end, ",\"size\":") ||
	    !take_number(&p, end, &out->size) || !skip_text(&p, end, ",\"seq\":") ||
	    !take_number(&p, end, &out->tip.seq) || !skip_text(&p, end, ",\"time\":\""))
		return false;
	/* before the first record there is no time */
	if (out->tip.seq > 0 && !take_time(&p, end, out->tip.time))
		return false;
	if (!skip_text(&p, end, "\",\"hash\":\"") || !take_hash(&p, end, out->tip.hash))
		return false;
	/* one spelling only: a head that a crash tore has another */
	chain_head_format(out, again);
	return memcmp(again, text, CHAIN_HEAD_SIZE) == 0;
}
