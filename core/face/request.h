/* SPDX-License-Identifier: MIT */
/* One line of a client: what it asks of the server, judged as far as the server must. What it
 * asks of hcp is the library's to judge. */
#ifndef HCP_FACE_REQUEST_H
#define HCP_FACE_REQUEST_H

#include "base/str.h"
#include "face/lines.h"

#include <jansson.h>

struct request_line {
	json_t *top;     /* NULL: not JSON */
	char *id;        /* as JSON text; NULL: none */
	char *cancel;    /* the id that is to be cancelled; NULL: an envelope */
	const char *bad; /* what is wrong with `id`, static; NULL: nothing */
};
/* -1: out of memory. */
int request_read(const struct face_line *line, struct request_line *out) HCP_MUST_CHECK;
void request_done(struct request_line *r);
/* A result envelope of the server's own. */
void request_refusal(const json_t *top, const char *error, struct buf *out);
/* `json` is a result envelope; gets `id` as its last member where there is one. */
void request_answer(const char *json, size_t len, const char *id, struct buf *out);

#endif
