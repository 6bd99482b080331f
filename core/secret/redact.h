/* SPDX-License-Identifier: MIT */
/* Takes secrets out of what leaves a run. A secret is found plain and in the encodings that
 * programs put it into: JSON escapes, hexadecimal, base64 of both alphabets wherever it begins,
 * percent-encoding; of each in whatever spelling. Pure. */
#ifndef HCP_SECRET_REDACT_H
#define HCP_SECRET_REDACT_H

#include "base/str.h"
#include "secret/secret.h"

#include <jansson.h>

#define REDACTED "[redacted]"

/* Secrets of a run, and those of the runs above it. Zero value: none. */
struct redact {
	struct secret **items;
	size_t count;
	const struct redact *above;
};
/* Keeps a hold on s until redact_clear. -1: out of memory, nothing was kept. */
int redact_add(struct redact *r, struct secret *s) HCP_MUST_CHECK;
void redact_clear(struct redact *r);
bool redact_has(const struct redact *r);

/* Appends the text with each secret replaced. */
void redact_text(const struct redact *r, const char *text, size_t len, struct buf *out);
/* The same for JSON text, which stays JSON: a number that holds a secret becomes a string. */
void redact_json(const struct redact *r, const char *text, size_t len, struct buf *out);
/* A copy of a value, keys and strings redacted. A new reference; NULL: out of memory. */
json_t *redact_value(const struct redact *r, const json_t *value);

#endif
