/* SPDX-License-Identifier: MIT */
/* A stretch of a log, line by line, through one buffer whatever the length of the log. */
#ifndef HCP_AUDIT_LINES_H
#define HCP_AUDIT_LINES_H

#include "audit/chain.h"

struct lines {
	int fd;
	uint64_t at, end; /* of what wasn't given out yet */
	char *buf;
	size_t have, used;
	bool cut;        /* the line given out last goes on */
	uint64_t number; /* of the line given out last, 1-based from where reading began */
};
/* One line as it stands. */
struct line {
	const char *text; /* without the newline; until the next call */
	size_t len;
	uint64_t offset;
	bool whole; /* a newline ends it within LIMIT_AUDIT_LINE; else what there is of it */
};

int lines_open(struct lines *l, int fd, uint64_t from, uint64_t end,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* 1: a line; 0: the end; -1: err. A line that is too long comes cut, once. */
int lines_next(struct lines *l, struct line *out, struct hcp_err *err) HCP_MUST_CHECK;
void lines_close(struct lines *l);
#define AUTO_LINES __attribute__((cleanup(lines_close))) struct lines

/* Follows the chain from *tip, whose record ends at `from`, checking each line's hash; stops
 * before the first line that isn't the next record. *good is where the last one ends; *tip is
 * that record. */
int lines_follow(int fd, uint64_t from, uint64_t end, struct chain_tip *tip, uint64_t *good,
		 struct hcp_err *err) HCP_MUST_CHECK;

#endif
