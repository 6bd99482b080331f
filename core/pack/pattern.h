/* SPDX-License-Identifier: MIT */
/* Regular expressions of schemas: PCRE2 in UTF mode, with JavaScript's `$`, \uXXXX and unset
 * back references; no verbs, callouts or \C. A pattern is a pack author's and the text a
 * stranger's: steps, depth and memory of a match are limited. */
#ifndef HCP_PACK_PATTERN_H
#define HCP_PACK_PATTERN_H

#include "base/err.h"

#include <stddef.h>

struct pattern;

enum pattern_verdict {
	PATTERN_FAILED = 0, /* a limit or lack of memory: neither of the two below is known */
	PATTERN_OTHER,      /* it doesn't match */
	PATTERN_MATCHES     /* somewhere in the text, as JSON Schema has it */
};
/* NULL with *err set (HCP_E_INVALID: why the pattern is none). Freed by pattern_free. */
struct pattern *pattern_compile(const char *text, struct hcp_err *err);
void pattern_free(struct pattern *p);
/* `text` must be UTF-8. Thread-safe. */
enum pattern_verdict pattern_match(const struct pattern *p, const char *text, size_t len);

#endif
