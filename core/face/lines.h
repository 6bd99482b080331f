/* SPDX-License-Identifier: MIT */
/* Lines over descriptors, bounded on both sides, for an event loop: nothing here blocks longer
 * than poll(2) promised, and no peer makes it hold more than the limits below. */
#ifndef HCP_FACE_LINES_H
#define HCP_FACE_LINES_H

#include "base/limits.h"
#include "base/str.h"

#define FACE_LIMIT LIMIT_ENVELOPE    /* one line without its newline, bytes */
#define FACE_FULL  (4 * 1024 * 1024) /* of unwritten answers: ask for no more before */

struct face_in {
	int fd; /* borrowed; read once poll(2) said so, so it may be a blocking one */
	struct buf held;
	size_t taken;  /* bytes of `held` that face_next has given out */
	size_t looked; /* bytes of `held` that hold no newline beyond `taken` */
	bool skipping; /* the rest of a line that was too long */
	bool ended;    /* end of file, or a read error; what is held may still have lines */
};
enum face_next {
	FACE_NONE = 0, /* read more first; at the end: there is none */
	FACE_LINE,
	FACE_LONG /* a line over FACE_LIMIT began; the rest of it is dropped */
};
struct face_line {
	const char *text; /* borrowed until the next call; no newline, nor a "\r" before it */
	size_t len;
};
/* To be called when fd is readable: one read(2). -1: out of memory. */
int face_read(struct face_in *in) HCP_MUST_CHECK;
/* At the end of the file what has no newline is a line, too. */
enum face_next face_next(struct face_in *in, struct face_line *line);
void face_in_done(struct face_in *in); /* doesn't close fd */

struct face_out {
	int fd; /* borrowed */
	bool socket;
	struct buf waiting;
	size_t written;
	bool dead; /* nobody reads any more, or memory ran out: nothing more is written */
};
/* Queues `text` and a newline. What holds a newline itself is not to be given. */
void face_add(struct face_out *out, const char *text, size_t len);
/* To be called when fd is writable: one write(2) of what a pipe takes without blocking. */
void face_write(struct face_out *out);
size_t face_waiting(const struct face_out *out); /* bytes */
void face_out_done(struct face_out *out);

#endif
