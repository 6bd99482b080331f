/* SPDX-License-Identifier: MIT */
/* Backtracking over Lua patterns, written from the manual. A pattern is a stranger's as much as
 * a subject, and `a?a?a?aaa` takes exponential time: each step is charged, each turn of each
 * loop is a step, and once stopped or malformed nothing is tried any more. Classes are ASCII.
 *
 * What makes it quick is not to try what can't succeed: where the next thing that must match is
 * a class, only places whose character it takes are looked at (`needed`). */
#include "script/match.h"

#include <string.h>

#define DEPTH_MAX 200 /* as Lua has it */
#define CHARGE    256 /* steps that are charged together */

static bool spend(struct match *m, size_t steps)
{
	m->steps += steps;
	if (m->steps >= CHARGE) {
		if (m->spend(m->user, m->steps))
			m->verdict = MATCH_STOPPED;
		m->steps = 0;
	}
	return m->verdict != MATCH_NO;
}

static const char *bad(struct match *m, const char *why)
{
	if (m->verdict == MATCH_NO) {
		m->verdict = MATCH_BAD;
		m->why = why;
	}
	return NULL;
}

/* ---- single characters ---- */

static bool is_lower(unsigned char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(unsigned char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(unsigned char c)
{
	return is_lower(c) || is_upper(c) || is_digit(c);
}

static bool in_class(unsigned char c, unsigned char name)
{
	bool in;

	switch (name | 0x20) {
	case 'a':
		in = is_lower(c) || is_upper(c);
		break;
	case 'c':
		in = c < 0x20 || c == 0x7f;
		break;
	case 'd':
		in = is_digit(c);
		break;
	case 'g':
		in = c > 0x20 && c < 0x7f;
		break;
	case 'l':
		in = is_lower(c);
		break;
	case 'p':
		in = c > 0x20 && c < 0x7f && !is_alnum(c);
		break;
	case 's':
		in = c == ' ' || (c >= '\t' && c <= '\r');
		break;
	case 'u':
		in = is_upper(c);
		break;
	case 'w':
		in = is_alnum(c);
		break;
	case 'x':
		in = is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
		break;
	case 'z': /* gone from the manual, but not from Lua */
		in = c == 0;
		break;
	default:
		return name == c;
	}
	return is_upper(name) ? !in : in;
}

/* p is behind the '['; `end` is the ']' that closes. */
static bool in_set(unsigned char c, const char *p, const char *end)
{
	bool complement = p < end && *p == '^', in = false;

	for (p += complement; p < end && !in; p++) {
		if (*p == '%') {
			p++;
			in = in_class(c, (unsigned char)*p);
		} else if (end - p > 2 && p[1] == '-') {
			in = (unsigned char)p[0] <= c && c <= (unsigned char)p[2];
			p += 2;
		} else {
			in = (unsigned char)*p == c;
		}
	}
	return in != complement;
}

/* Behind the single-character class at p; NULL where it is malformed. */
static const char *class_end(struct match *m, const char *p)
{
	const char *end = m->pattern_end, *from = p;

	if (*p == '%')
		return end - p > 1 ? p + 2 : bad(m, "malformed pattern (ends with '%%')");
	if (*p++ != '[')
		return p;
	if (p < end && *p == '^')
		p++;
	do { /* a ']' that comes first is one of the set */
		if (p >= end)
			return bad(m, "malformed pattern (missing ']')");
		p += *p == '%' && end - p > 1 ? 2 : 1;
	} while (p >= end || *p != ']');
	return spend(m, (size_t)(p - from)) ? NULL : p + 1;
}

static bool fits(unsigned char c, const char *p, const char *end)
{
	switch (*p) {
	case '.':
		return true;
	case '%':
		return in_class(c, (unsigned char)p[1]);
	case '[':
		return in_set(c, p + 1, end - 1);
	default:
		return (unsigned char)*p == c;
	}
}

/* Whether the class p..end takes the character at s. */
static bool takes(struct match *m, const char *s, const char *p, const char *end)
{
	return s < m->subject_end && !spend(m, (size_t)(end - p)) &&
	       fits((unsigned char)*s, p, end);
}

/* The first c from s on, or the end. */
static const char *find_char(struct match *m, const char *s, char c)
{
	const char *at = memchr(s, c, (size_t)(m->subject_end - s));

	if (!at)
		at = m->subject_end;
	spend(m, (size_t)(at - s) / 16);
	return at;
}

/* Behind the characters from s on that the class takes, or else behind those that it doesn't.
 */
static const char *pass(struct match *m, const char *s, const char *p, const char *end,
			bool taken)
{
	size_t each = (size_t)(end - p), steps = 0;

	if (taken && each == 4 && p[0] == '[' && p[1] == '^' && p[2] != '%')
		return find_char(m, s, p[2]); /* [^x], the most usual of sets */
	for (; s < m->subject_end && fits((unsigned char)*s, p, end) == taken; s++) {
		steps += each;
		if (steps < CHARGE)
			continue;
		if (spend(m, steps))
			return s;
		steps = 0;
	}
	spend(m, steps);
	return s;
}

/* The last character from s on and no further than `at` that the class takes, or NULL. */
static const char *back(struct match *m, const char *s, const char *at, const char *p,
			const char *end)
{
	size_t each = (size_t)(end - p), steps = 0;

	if (at == m->subject_end && at-- == s)
		return NULL;
	for (; !fits((unsigned char)*at, p, end); at--) {
		steps += each;
		if (at == s || (steps >= CHARGE && spend(m, steps)))
			return NULL;
		steps = steps < CHARGE ? steps : 0;
	}
	spend(m, steps);
	return at;
}

static bool is_special(char c)
{
	return c == 'b' || c == 'f' || is_digit((unsigned char)c);
}

static bool is_repetition(char c)
{
	return c == '*' || c == '?' || c == '-';
}

/* The class that a match of what is at p must begin with, its end in *end; NULL where there may
 * be none, or where matching there is an error that m->verdict tells or `run` will find. */
static const char *needed(struct match *m, const char *p, const char **end)
{
	char c = p < m->pattern_end ? *p : '(';

	if (c == '(' || c == ')' || c == '$' || m->depth >= DEPTH_MAX)
		return NULL;
	if (c == '%' && m->pattern_end - p > 1 && is_special(p[1]))
		return NULL;
	*end = class_end(m, p);
	if (!*end || (*end < m->pattern_end && is_repetition(**end)))
		return NULL;
	return p;
}

/* ---- items ---- */

static const char *run(struct match *m, const char *s, const char *p);

/* As many as possible, then fewer. */
static const char *most(struct match *m, const char *s, const char *p, const char *end)
{
	const char *last = pass(m, s, p, end, true), *next_end = NULL, *r;
	const char *next = needed(m, end + 1, &next_end);

	for (; m->verdict == MATCH_NO; last--) {
		if (next && !(last = back(m, s, last, next, next_end)))
			return NULL;
		r = run(m, last, end + 1);
		if (r || last == s || spend(m, 1))
			return r;
	}
	return NULL;
}

/* As few as possible, then more. */
static const char *fewest(struct match *m, const char *s, const char *p, const char *end)
{
	const char *next_end = NULL, *next = needed(m, end + 1, &next_end), *r = NULL;

	for (; m->verdict == MATCH_NO; s++) {
		if (!next || takes(m, s, next, next_end))
			r = run(m, s, end + 1);
		if (r || m->verdict != MATCH_NO || !takes(m, s, p, end))
			return r;
	}
	return NULL;
}

static const char *open_capture(struct match *m, const char *s, const char *p, ptrdiff_t kind)
{
	const char *r;

	if (m->count >= MATCH_CAPTURES)
		return bad(m, "too many captures");
	m->captures[m->count++] = (struct match_capture){s, kind};
	r = run(m, s, p);
	if (!r)
		m->count--;
	return r;
}

static const char *close_capture(struct match *m, const char *s, const char *p)
{
	size_t i = m->count;
	const char *r;

	do {
		if (i == 0)
			return bad(m, "invalid pattern capture");
	} while (m->captures[--i].len != MATCH_OPEN);
	m->captures[i].len = s - m->captures[i].start;
	r = run(m, s, p);
	if (!r)
		m->captures[i].len = MATCH_OPEN;
	return r;
}

/* %1: what that capture took. */
static const char *again(struct match *m, const char *s, char digit)
{
	int i = digit - '1';
	ptrdiff_t len;

	if (i < 0 || (size_t)i >= m->count || m->captures[i].len == MATCH_OPEN) {
		m->why_number = i + 1;
		return bad(m, "invalid capture index %%%d");
	}
	len = m->captures[i].len;
	if (len < 0 || m->subject_end - s < len || spend(m, (size_t)len / 16))
		return NULL;
	return memcmp(m->captures[i].start, s, (size_t)len) == 0 ? s + len : NULL;
}

/* %bxy: p is at the x. */
static const char *balanced(struct match *m, const char *s, const char *p)
{
	const char *from = s;
	size_t open = 1;

	if (m->pattern_end - p < 2)
		return bad(m, "malformed pattern (missing arguments to '%%b')");
	if (s == m->subject_end || *s != p[0])
		return NULL;
	for (s++; s < m->subject_end; s++) {
		if (*s == p[1] && --open == 0)
			return spend(m, (size_t)(s - from)) ? NULL : s + 1;
		if (*s == p[0] && p[0] != p[1])
			open++;
	}
	spend(m, (size_t)(s - from));
	return NULL;
}

/* %f[set]: p is at the '['. The ends of the subject count as '\0'. Gives what is behind the
 * set in the pattern. */
static const char *frontier(struct match *m, const char *s, const char *p)
{
	const char *end;
	unsigned char before, here;

	if (p >= m->pattern_end || *p != '[')
		return bad(m, "missing '[' after '%%f' in pattern");
	end = class_end(m, p);
	if (!end)
		return NULL;
	before = s == m->subject ? 0 : (unsigned char)s[-1];
	here = s == m->subject_end ? 0 : (unsigned char)*s;
	return !in_set(before, p + 1, end - 1) && in_set(here, p + 1, end - 1) ? end : NULL;
}

/* A single-character class with what stands behind it. True: *out is the answer; false: go on
 * at *s and *p. Recursion is for what may have to be taken back, and only that. */
static bool repeat(struct match *m, const char **s, const char **p, const char **out)
{
	const char *from = *p, *end = class_end(m, from);
	char how = end && end < m->pattern_end ? *end : '\0';
	bool hit = end && takes(m, *s, from, end);

	*out = NULL;
	if (m->verdict != MATCH_NO)
		return true;
	if (!hit) {
		*p = end + 1;
		return how != '*' && how != '?' && how != '-';
	}
	switch (how) {
	case '*':
		*out = most(m, *s, from, end);
		return true;
	case '+':
		*out = most(m, *s + 1, from, end);
		return true;
	case '-':
		*out = fewest(m, *s, from, end);
		return true;
	case '?':
		*out = run(m, *s + 1, end + 1);
		*p = end + 1;
		return *out || m->verdict != MATCH_NO;
	default:
		++*s;
		*p = end;
		return false;
	}
}

/* %b, %f and %1 at p. False: it is a class. */
static bool special(struct match *m, const char **s, const char **p)
{
	const char *at = *p + 1;

	if (at >= m->pattern_end)
		return false;
	if (*at == 'b') {
		*s = balanced(m, *s, at + 1);
		*p = at + 3;
	} else if (*at == 'f') {
		*p = frontier(m, *s, at + 1);
		if (!*p)
			*s = NULL;
	} else if (is_digit((unsigned char)*at)) {
		*s = again(m, *s, *at);
		*p = at + 1;
	} else {
		return false;
	}
	return true;
}

static const char *items(struct match *m, const char *s, const char *p)
{
	const char *out;

	while (p < m->pattern_end) {
		if (spend(m, 1))
			return NULL;
		if (*p == '(') {
			if (m->pattern_end - p > 1 && p[1] == ')')
				return open_capture(m, s, p + 2, MATCH_POSITION);
			return open_capture(m, s, p + 1, MATCH_OPEN);
		}
		if (*p == ')')
			return close_capture(m, s, p + 1);
		if (*p == '$' && p + 1 == m->pattern_end)
			return s == m->subject_end ? s : NULL;
		if (*p == '%' && special(m, &s, &p)) {
			if (!s)
				return NULL;
			continue;
		}
		if (repeat(m, &s, &p, &out))
			return out;
	}
	return s;
}

static const char *run(struct match *m, const char *s, const char *p)
{
	const char *r;

	if (m->depth >= DEPTH_MAX)
		return bad(m, "pattern too complex");
	m->depth++;
	r = items(m, s, p);
	m->depth--;
	return r;
}

static enum match_verdict match_at(struct match *m, const char *at)
{
	m->count = 0;
	m->depth = 0;
	m->verdict = MATCH_NO;
	m->end = run(m, at, m->pattern);
	if (m->verdict == MATCH_NO && m->end)
		m->verdict = MATCH_YES;
	return m->verdict;
}

/* Most places are none where a match begins, and told so by their first character. */
static const char *skip(struct match *m, const char *s, const char *p, const char *end)
{
	m->verdict = MATCH_NO;
	if (end - p > 1 || *p == '.')
		return pass(m, s, p, end, false);
	return find_char(m, s, *p);
}

enum match_verdict match_first(struct match *m, const char **at, bool anchored)
{
	const char *end = NULL, *p = m->pattern;
	enum match_verdict v;

	m->verdict = MATCH_NO;
	m->depth = 0;
	p += p < m->pattern_end && *p == '(';
	p = anchored ? NULL : needed(m, p, &end);
	for (;; (*at)++) {
		if (p)
			*at = skip(m, *at, p, end);
		v = match_at(m, *at);
		if (v != MATCH_NO || anchored || *at == m->subject_end)
			return v;
	}
}
