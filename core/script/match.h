/* SPDX-License-Identifier: MIT */
/* Lua patterns (§6.4.1 of the Lua manual) as a matcher that can be stopped. Knows no lua_State:
 * whoever calls it raises and pushes. */
#ifndef HCP_SCRIPT_MATCH_H
#define HCP_SCRIPT_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#define MATCH_CAPTURES 32

enum match_verdict {
	MATCH_NO = 0,
	MATCH_YES,
	MATCH_BAD,    /* the pattern is malformed: `why` */
	MATCH_STOPPED /* spend said so */
};

enum { MATCH_OPEN = -1, MATCH_POSITION = -2 };
struct match_capture {
	const char *start;
	ptrdiff_t len; /* or MATCH_OPEN, MATCH_POSITION */
};

struct match {
	/* set by the caller */
	const char *subject, *subject_end;
	const char *pattern, *pattern_end;       /* without the anchor */
	bool (*spend)(void *user, size_t steps); /* true: stop */
	void *user;
	/* results */
	const char *end; /* MATCH_YES: behind the match */
	const char *why; /* MATCH_BAD: as Lua words it; a "%d" in it is why_number */
	int why_number;
	size_t count;
	struct match_capture captures[MATCH_CAPTURES];
	/* match.c's own */
	enum match_verdict verdict;
	unsigned depth;
	size_t steps;
};

/* The first match at `at` or behind it, *at becoming its start; only there where anchored. */
enum match_verdict match_first(struct match *m, const char **at, bool anchored);

#endif
