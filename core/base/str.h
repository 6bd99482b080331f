/* SPDX-License-Identifier: MIT */
/* Text: a growable buffer, UTF-8, names and units. Pure. */
#ifndef HCP_BASE_STR_H
#define HCP_BASE_STR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growable byte buffer, malloc'ed, always with a NUL behind its bytes once it holds any. Zero
 * value: empty. When memory runs out `failed` sticks and further additions do nothing, so a
 * writer checks once at its end. */
struct buf {
	char *data;
	size_t len, cap;
	bool failed;
};
void buf_free(struct buf *b);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) HCP_PRINTF(2, 3);
#define AUTO_BUF __attribute__((cleanup(buf_free))) struct buf

bool str_eq(const char *a, const char *b); /* both may be NULL; NULL equals nothing */
bool str_starts(const char *s, const char *prefix);

/* Bytes of the UTF-8 sequence at s (1 to 4, shortest form, no surrogate, at most U+10FFFF), 0
 * where it is none. */
size_t utf8_len(const char *s, size_t left);
bool utf8_valid(const char *s, size_t len);
/* Writes the code point c, which utf8_len would take; how many bytes. */
size_t utf8_put(unsigned c, unsigned char out[4]);
/* Appends s with every byte that is no UTF-8 replaced by U+FFFD. */
void utf8_clean(struct buf *out, const char *s, size_t len);

/* [A-Za-z0-9][A-Za-z0-9._-]{0,63} without "..": pack ids, tenants, projects. */
bool name_is_id(const char *s);
/* [A-Za-z0-9_.-]{1,64}: sessions; ".." is one, so no session is a file name by itself. */
bool name_is_session(const char *s);
/* Words of [A-Za-z0-9] joined by single '.', ' ', '-' or '_', at most 128 bytes: verb keys. */
bool name_is_verb(const char *s);

/* "500ms" "10s" "15m" "1h" -> milliseconds, a year at most; "64K" "256M" "1G" or plain bytes ->
 * bytes. -1 where it is neither. */
int64_t unit_duration_ms(const char *s);
int64_t unit_size(const char *s);
/* The inverse, shortest exact form: 10000 -> "10s". out holds at least 32 bytes. */
void unit_format_duration(int64_t ms, char out[32]);
void unit_format_size(int64_t bytes, char out[32]);
/* A count: 100000000 -> "100M", by thousands. */
void unit_format_count(int64_t n, char out[32]);

/* Damerau-Levenshtein, for did-you-mean; a large number for words over 64 bytes. */
unsigned str_distance(const char *a, const char *b);

#endif
