/* SPDX-License-Identifier: MIT */
/* Any bytes from a client, in pieces as the first byte says: lines come out as they went in,
 * and each becomes a request whose refusal is one line of JSON with the id that it had. */
#include "base/json.h"
#include "face/request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct request_line *asked)
{
	AUTO_BUF json = {0}, line = {0};
	struct hcp_err err = {0};
	json_t *v;

	request_refusal(asked->top, "refused", &json);
	request_answer(json.data, json.len, asked->id, &line);
	if (json.failed || line.failed || memchr(line.data, '\n', line.len))
		abort();
	v = json_parse(line.data, line.len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!v || !json_is_false(json_object_get(v, "ok")) ||
	    (asked->id != NULL) != (json_object_get(v, "id") != NULL) ||
	    (asked->id &&
	     !json_equal(json_object_get(v, "id"), json_object_get(asked->top, "id"))))
		abort();
	json_decref(v);
}

static void take(const struct face_line *line)
{
	struct request_line asked;

	if (line->len > FACE_LIMIT || memchr(line->text, '\n', line->len))
		abort();
	if (request_read(line, &asked) < 0 || (asked.id && asked.cancel) ||
	    (!asked.top && (asked.id || asked.cancel || asked.bad)))
		abort();
	check_answer(&asked);
	request_done(&asked);
}

/* What is left of the bytes after a line was read from them. */
static const uint8_t *expect_line(const struct face_line *line, const uint8_t *at,
				  const uint8_t *end)
{
	const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
	size_t len = (size_t)((stop ? stop : end) - at);

	if (len > 0 && at[len - 1] == '\r')
		len--;
	if (line->len != len || (len && memcmp(line->text, at, len) != 0))
		abort();
	return stop ? stop + 1 : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct face_in in = {0};
	struct face_line line;
	const uint8_t *at, *next, *end = data + size;
	size_t step, n;
	int fds[2];

	if (size < 2 || size > 32768)
		return 0;
	step = (size_t)data[0] + 1;
	at = next = data + 1;
	if (pipe(fds) < 0)
		abort();
	in.fd = fds[0];
	while (!in.ended) {
		n = (size_t)(end - at) < step ? (size_t)(end - at) : step;
		if (n == 0)
			close(fds[1]);
		else if (write(fds[1], at, n) != (ssize_t)n)
			abort();
		at += n;
		if (face_read(&in) < 0)
			abort();
		while (face_next(&in, &line) == FACE_LINE) {
			next = expect_line(&line, next, end);
			take(&line);
		}
	}
	if (next != end)
		abort();
	face_in_done(&in);
	close(fds[0]);
	return 0;
}
