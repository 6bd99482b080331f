/* SPDX-License-Identifier: MIT */
/* Lines over descriptors: whatever the pieces they come in, at the limit and beyond it, and to
 * a reader that is slow or gone. */
#include "face/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Feeds `text` in pieces of `step` bytes through a pipe; writes what came out as
 * "[line][line]<long>". */
static void feed(const char *text, size_t len, size_t step, bool end, struct buf *out)
{
	struct face_in in = {0};
	struct face_line line;
	enum face_next next;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	in.fd = fds[0];
	for (size_t at = 0; at < len || (end && !in.ended); at += step) {
		size_t n = at < len ? (len - at < step ? len - at : step) : 0;

		if (n)
			assert_int_equal(write(fds[1], text + at, n), n);
		else
			close(fds[1]);
		assert_int_equal(face_read(&in), 0);
		while ((next = face_next(&in, &line)) != FACE_NONE) {
			if (next == FACE_LONG) {
				buf_puts(out, "<long>");
				continue;
			}
			buf_putc(out, '[');
			buf_add(out, line.text, line.len < 20 ? line.len : 20);
			buf_putc(out, ']');
		}
		assert_true(in.held.len <= FACE_LIMIT + 2 + 65536);
	}
	face_in_done(&in);
	close(fds[0]);
	if (!end)
		close(fds[1]);
}

static void come_in_any_pieces(void **state)
{
	static const char text[] = "one\ntwo\r\n\n\r\nfo\rur\nrest";
	(void)state;

	for (size_t step = 1; step < sizeof(text); step++) {
		AUTO_BUF open = {0}, ended = {0};

		feed(text, sizeof(text) - 1, step, false, &open);
		assert_string_equal(open.data, "[one][two][][][fo\rur]");
		feed(text, sizeof(text) - 1, step, true, &ended);
		assert_string_equal(ended.data, "[one][two][][][fo\rur][rest]");
	}
}

static void have_a_limit(void **state)
{
	static const size_t lengths[] = {FACE_LIMIT, FACE_LIMIT + 1, 3 * FACE_LIMIT};
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		char *text = malloc(lengths[i] + 7);
		AUTO_BUF out = {0}, cut = {0};

		assert_non_null(text);
		memset(text, 'x', lengths[i]);
		memcpy(text + lengths[i], "\nafter\n", 7);
		feed(text, lengths[i] + 7, 60000, false, &out);
		assert_string_equal(out.data,
				    i == 0 ? "[xxxxxxxxxxxxxxxxxxxx][after]" : "<long>[after]");
		feed(text, lengths[i], 60000, true, &cut);
		assert_string_equal(cut.data, i == 0 ? "[xxxxxxxxxxxxxxxxxxxx]" : "<long>");
		free(text);
	}
}

static void go_out_without_blocking(void **state)
{
	static char text[300000], back[sizeof(text) + 1];
	struct face_out out = {0};
	size_t got = 0;
	int fds[2];
	(void)state;

	assert_int_equal(pipe(fds), 0);
	out.fd = fds[1];
	memset(text, 'y', sizeof(text));
	face_add(&out, text, sizeof(text));
	while (face_waiting(&out) > 0) {
		struct pollfd p[] = {{fds[1], POLLOUT, 0}, {fds[0], POLLIN, 0}};

		assert_true(poll(p, 2, -1) > 0);
		if (p[0].revents)
			face_write(&out);
		else
			got += (size_t)read(fds[0], back + got, sizeof(back) - got);
	}
	while (got < sizeof(back))
		got += (size_t)read(fds[0], back + got, sizeof(back) - got);
	assert_memory_equal(back, text, sizeof(text));
	assert_int_equal(back[sizeof(text)], '\n');
	assert_false(out.dead);
	close(fds[0]);
	face_add(&out, "x", 1);
	face_write(&out);
	assert_true(out.dead);
	assert_int_equal(face_waiting(&out), 0);
	face_out_done(&out);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(come_in_any_pieces),
	    cmocka_unit_test(have_a_limit),
	    cmocka_unit_test(go_out_without_blocking),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
