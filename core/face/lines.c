/* SPDX-License-Identifier: MIT */
/* Where bytes from outside become lines, before anything judges them. A descriptor may be
 * shared with other processes, so its flags are never changed; SIGPIPE is ignored by the
 * program. */
#include "face/lines.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_ONCE (64 * 1024)

/* Makes room by forgetting what was given out. */
static void compact(struct face_in *in)
{
	if (in->taken == 0)
		return;
	in->held.len -= in->taken;
	memmove(in->held.data, in->held.data + in->taken, in->held.len);
	in->looked -= in->taken;
	in->taken = 0;
}

int face_read(struct face_in *in)
{
	char space[READ_AT_ONCE];
	ssize_t n = read(in->fd, space, sizeof(space));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		in->ended = true;
		return 0;
	}
	compact(in);
	buf_add(&in->held, space, (size_t)n);
	return in->held.failed ? -1 : 0;
}

static enum face_next give(struct face_in *in, size_t len, size_t with_end,
			   struct face_line *line)
{
	bool skipped = in->skipping;

	line->text = in->held.data + in->taken;
	line->len = len;
	in->taken += with_end;
	in->looked = in->taken;
	in->skipping = false;
	if (skipped)
		return face_next(in, line);
	if (len > 0 && line->text[len - 1] == '\r')
		line->len--;
	return line->len > FACE_LIMIT ? FACE_LONG : FACE_LINE;
}

/* A line without an end so far: told once it is too long, and held no longer. */
static enum face_next without_end(struct face_in *in, size_t len, struct face_line *line)
{
	bool told = in->skipping;

	if (in->ended)
		return len > 0 ? give(in, len, len, line) : FACE_NONE;
	in->looked = in->held.len;
	if (len <= FACE_LIMIT + 1)
		return FACE_NONE;
	in->taken = in->looked = in->held.len;
	in->skipping = true;
	return told ? FACE_NONE : FACE_LONG;
}

enum face_next face_next(struct face_in *in, struct face_line *line)
{
	size_t left = in->held.len - in->looked;
	const char *from = in->held.data + in->looked;
	const char *end = left ? memchr(from, '\n', left) : NULL;
	size_t len = in->held.len - in->taken;

	*line = (struct face_line){"", 0};
	if (!end)
		return without_end(in, len, line);
	len = (size_t)(end - (in->held.data + in->taken));
	return give(in, len, len + 1, line);
}

void face_in_done(struct face_in *in)
{
	buf_free(&in->held);
}

void face_add(struct face_out *out, const char *text, size_t len)
{
	if (out->dead)
		return;
	if (out->written == out->waiting.len)
		out->written = out->waiting.len = 0;
	buf_add(&out->waiting, text, len);
	buf_putc(&out->waiting, '\n');
	if (out->waiting.failed)
		out->dead = true;
}

void face_write(struct face_out *out)
{
	size_t len = face_waiting(out);
	const char *from = out->waiting.data + out->written;
	ssize_t n;

	if (len == 0 || out->dead)
		return;
	if (out->socket)
		n = send(out->fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	else /* poll(2) says writable for PIPE_BUF bytes */
		n = write(out->fd, from, len < PIPE_BUF ? len : PIPE_BUF);
	if (n >= 0)
		out->written += (size_t)n;
	else if (errno != EINTR && errno != EAGAIN)
		out->dead = true;
	if (out->written == out->waiting.len) {
		buf_free(&out->waiting);
		out->written = 0;
	}
}

size_t face_waiting(const struct face_out *out)
{
	return out->dead ? 0 : out->waiting.len - out->written;
}

void face_out_done(struct face_out *out)
{
	buf_free(&out->waiting);
}
