/* SPDX-License-Identifier: MIT */
/* JSON text: a strict scanner that keeps a number's text as it is (RFC 8259, UTF-8 checked, no
 * duplicates judged), a reader that makes jansson's values, and a writer. */
#ifndef HCP_BASE_JSON_H
#define HCP_BASE_JSON_H

#include "base/str.h"

#include <jansson.h>

enum json_verdict {
	JSON_BAD = 0, /* not JSON; *why and *at say what and where */
	JSON_GOOD
};
struct json_scan {
	const char *why; /* static text */
	size_t at;       /* byte offset */
	char first;      /* first byte of the value: '{' '[' '"' or of a number or word */
};
/* Judges `text` as one JSON value with white space around it, nested at most `max_depth`. Where
 * `out` is given, appends the value with the white space between its tokens left out. */
enum json_verdict json_scan(const char *text, size_t len, unsigned max_depth, struct buf *out,
			    struct json_scan *scan);

/* A JSON string with quotes; control characters, DEL, U+2028 and U+2029 escaped, bytes that
 * are no UTF-8 become U+FFFD. */
void json_add_string(struct buf *out, const char *s, size_t len);
void json_add_cstring(struct buf *out, const char *s);
/* A value, compact, key order kept, floats as json_format_real. */
void json_add_value(struct buf *out, const json_t *value);

/* json_scan, then values: duplicate keys and numbers that no value holds are refused, NUL in
 * strings is allowed. A new reference, or NULL with err set (HCP_E_INVALID, one line that says
 * what and at which byte; HCP_E_NOMEM). */
json_t *json_parse(const char *text, size_t len, unsigned max_depth, struct hcp_err *err);

/* The same for a text of hcp's own: NULL where memory ran out. */
json_t *json_read(const char *text, size_t len);

/* A finite double as JSON text, the shortest that reads back to the same double, recognisable
 * as a float: "0.1", "1e+21", "1000.0", "-0.0". */
void json_format_real(double value, char out[40]);
/* JavaScript's String(number) of a finite double: "0.1", "1e+21", "1000", "0" for -0. */
void json_format_js(double value, char out[40]);

#endif
