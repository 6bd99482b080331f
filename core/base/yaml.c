/* SPDX-License-Identifier: MIT */
/* From libyaml's events to a tree in one pass. Everything of YAML that lets one text mean two
 * things, or a small text a big tree, is refused here with its place: anchors, aliases, tags,
 * merge keys, duplicate keys, the line breaks that only YAML 1.1 knows. Nothing is guessed and
 * no part of a refused document is ever handed out. libyaml follows YAML 1.1, so what a plain
 * scalar means is decided here by the core schema of YAML 1.2.2 (10.3.2), not by it. */
#include "base/yaml.h"

#include "base/limits.h"

#include <yaml.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An open collection: what was read of it stands on the builder's stack from `base` on. */
struct frame {
	struct yaml_node *node;
	size_t base;
};

struct builder {
	struct arena *arena;
	const char *file;
	struct hcp_err *err;
	const char *text;
	size_t len;
	size_t byte, index; /* the last place `seek` found: a byte and its character */
	const struct yaml_node **stack; /* finished nodes whose collection is still open */
	size_t top, cap;
	struct frame frames[LIMIT_YAML_DEPTH];
	unsigned depth;
	size_t nodes;
	locale_t c_locale; /* a host that uses the library may have set a decimal comma */
};

static int fail(const struct builder *b, yaml_mark_t at, const char *what)
{
	return hcp_fail_at(b->err, b->file, (int)at.line + 1, (int)at.column + 1, "%s", what);
}

static int fail_node(const struct builder *b, const struct yaml_node *at, const char *what)
{
	return hcp_fail_at(b->err, b->file, at->line, at->column, "%s", what);
}

/* libyaml's reader knows only a byte offset. */
static int fail_byte(const struct builder *b, size_t byte, const char *what)
{
	int line = 1, column = 1;

	for (size_t i = 0; i < byte && i < b->len; i++) {
		unsigned char c = (unsigned char)b->text[i];

		if (c == '\n' || (c == '\r' && (i + 1 == b->len || b->text[i + 1] != '\n'))) {
			line++;
			column = 1;
		} else if ((c & 0xc0) != 0x80) {
			column++;
		}
	}
	return hcp_fail_at(b->err, b->file, line, column, "%s", what);
}

/* The byte at a mark, 0 at the end. Marks count characters and come in order, so that all calls
 * together walk the text once. */
static char seek(struct builder *b, yaml_mark_t at)
{
	if (at.index < b->index)
		b->byte = b->index = 0;
	while (b->index < at.index && b->byte < b->len) {
		b->byte++;
		while (b->byte < b->len && ((unsigned char)b->text[b->byte] & 0xc0) == 0x80)
			b->byte++;
		b->index++;
	}
	return b->byte < b->len ? b->text[b->byte] : '\0';
}

/* libyaml breaks lines at U+0085, U+2028 and U+2029, YAML 1.2 and most editors don't: what a
 * reviewer sees as one line would be two keys. Escaped in double quotes they are fine. */
static int refuse_old_breaks(const struct builder *b)
{
	static const char *const breaks[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		const char *p = memmem(b->text, b->len, breaks[i], strlen(breaks[i]));

		if (p && (!first || p < first))
			first = p;
	}
	if (!first)
		return 0;
	return fail_byte(b, (size_t)(first - b->text),
			 "found a Unicode line separator: write it as an escape");
}

static int fail_syntax(struct builder *b, const yaml_parser_t *p)
{
	const char *problem = p->problem ? p->problem : "not YAML";
	yaml_mark_t at = p->problem_mark;
	char found, what[256];
	int n;

	if (p->error == YAML_MEMORY_ERROR)
		return hcp_fail_nomem(b->err);
	if (p->error == YAML_READER_ERROR)
		return fail_byte(b, p->problem_offset, problem);
	found = seek(b, at);
	if (strstr(problem, "tab character") ||
	    (found == '\t' && strstr(problem, "cannot start any token")))
		return fail(b, at, "found a tab where spaces must indent");
	if (strstr(problem, "cannot start any token")) {
		snprintf(what, sizeof(what), "a plain value can't start with '%c': quote it",
			 found);
		return fail(b, at, what);
	}
	if (!p->context)
		return fail(b, at, problem);
	/* libyaml notices a key without its ':' only on some later line */
	if (strcmp(p->context, "while scanning a simple key") == 0)
		return fail(b, p->context_mark, "could not find the ':' of this key");
	n = snprintf(what, sizeof(what), "%s %s", problem, p->context);
	if (n > 0 && (size_t)n < sizeof(what) && p->context_mark.line != at.line)
		snprintf(what + n, sizeof(what) - (size_t)n, " that starts on line %zu",
			 p->context_mark.line + 1);
	return fail(b, at, what);
}

static bool is_null(const char *s)
{
	return !*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") ||
	       !strcmp(s, "NULL");
}

static bool all_of(const char *s, const char *set)
{
	return *s && !s[strspn(s, set)];
}

/* The base of the integer s is, 0 where it is none. 0o and 0x take no sign. */
static int int_base(const char *s)
{
	if (s[0] == '0' && s[1] == 'o')
		return all_of(s + 2, "01234567") ? 8 : 0;
	if (s[0] == '0' && s[1] == 'x')
		return all_of(s + 2, "0123456789abcdefABCDEF") ? 16 : 0;
	if (*s == '-' || *s == '+')
		s++;
	return all_of(s, "0123456789") ? 10 : 0;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(const char *s)
{
	static const char digits[] = "0123456789";
	size_t whole, fraction = 0;

	if (*s == '-' || *s == '+')
		s++;
	whole = strspn(s, digits);
	s += whole;
	if (*s == '.') {
		s++;
		fraction = strspn(s, digits);
		s += fraction;
	}
	if (!whole && !fraction)
		return false;
	if (*s != 'e' && *s != 'E')
		return !*s;
	s++;
	if (*s == '-' || *s == '+')
		s++;
	return all_of(s, digits);
}

static bool is_special_float(const char *s, double *f)
{
	const char *word = *s == '-' || *s == '+' ? s + 1 : s;

	if (!strcmp(word, ".inf") || !strcmp(word, ".Inf") || !strcmp(word, ".INF"))
		*f = *s == '-' ? -HUGE_VAL : HUGE_VAL;
	else if (!strcmp(s, ".nan") || !strcmp(s, ".NaN") || !strcmp(s, ".NAN"))
		*f = (double)NAN;
	else
		return false;
	return true;
}

/* What a plain scalar means. */
static int resolve(const struct builder *b, struct yaml_node *n)
{
	const char *s = n->text;
	int base = int_base(s);

	n->kind = YAML_STR;
	if (base) {
		errno = 0;
		n->i = strtoll(base == 10 ? s : s + 2, NULL, base);
		if (errno)
			return fail_node(b, n, "the number doesn't fit into 64 bits");
		n->f = (double)n->i;
		n->kind = YAML_INT;
	} else if (is_special_float(s, &n->f)) {
		n->kind = YAML_FLOAT;
	} else if (is_float(s)) {
		n->f = strtod_l(s, NULL, b->c_locale);
		if (!isfinite(n->f))
			return fail_node(b, n, "the number doesn't fit into a float");
		n->kind = YAML_FLOAT;
	} else if (is_null(s)) {
		n->kind = YAML_NULL;
	} else if (!strcmp(s, "true") || !strcmp(s, "false")) {
		n->b = *s == 't';
		n->kind = YAML_BOOL;
	}
	return 0;
}

static bool wants_key(const struct builder *b)
{
	const struct frame *f = b->depth ? &b->frames[b->depth - 1] : NULL;

	return f && f->node->kind == YAML_MAP && (b->top - f->base) % 2 == 0;
}

static struct yaml_node *new_node(struct builder *b, enum yaml_kind kind, yaml_mark_t at)
{
	struct yaml_node *n;

	if (b->nodes++ >= LIMIT_YAML_NODES) {
		fail(b, at, "the file holds too many values");
		return NULL;
	}
	n = arena_alloc(b->arena, sizeof(*n));
	if (!n) {
		hcp_fail_nomem(b->err);
		return NULL;
	}
	n->kind = kind;
	n->line = (int)at.line + 1;
	n->column = (int)at.column + 1;
	return n;
}

static int push(struct builder *b, const struct yaml_node *n)
{
	if (b->top == b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 64;
		const struct yaml_node **grown = reallocarray(b->stack, cap, sizeof(*b->stack));

		if (!grown)
			return hcp_fail_nomem(b->err);
		b->stack = grown;
		b->cap = cap;
	}
	b->stack[b->top++] = n;
	return 0;
}

static int refuse_properties(const struct builder *b, yaml_mark_t at, bool anchor, bool tag)
{
	if (anchor)
		return fail(b, at, "anchors (&) are not allowed");
	if (tag)
		return fail(b, at, "tags (!) are not allowed");
	return 0;
}

static int scalar(struct builder *b, const yaml_event_t *e)
{
	const char *value = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	/* libyaml swallows a lone "!" before a scalar and leaves only the place it starts at;
	 * no scalar starts with one itself */
	bool tagged = e->data.scalar.tag || seek(b, e->start_mark) == '!';
	struct yaml_node *n;

	if (refuse_properties(b, e->start_mark, e->data.scalar.anchor, tagged))
		return -1;
	n = new_node(b, YAML_STR, e->start_mark);
	if (!n)
		return -1;
	if (memchr(value, '\0', len))
		return fail(b, e->start_mark, "a string can't hold a NUL character");
	n->text = arena_strndup(b->arena, value, len);
	n->len = len;
	if (!n->text)
		return hcp_fail_nomem(b->err);
	if (plain && resolve(b, n))
		return -1;
	if (wants_key(b)) {
		if (n->kind == YAML_NULL)
			return fail_node(b, n, "a key can't be null: quote it");
		if (plain && !strcmp(n->text, "<<"))
			return fail_node(b, n, "merge keys (<<) are not allowed");
	}
	return push(b, n);
}

static int open_collection(struct builder *b, enum yaml_kind kind, const yaml_event_t *e,
			   bool anchor, bool tag)
{
	struct yaml_node *n;

	if (refuse_properties(b, e->start_mark, anchor, tag))
		return -1;
	if (wants_key(b))
		return fail(b, e->start_mark, "a key can't be a list or a mapping");
	if (b->depth == LIMIT_YAML_DEPTH)
		return fail(b, e->start_mark, "nested too deep");
	n = new_node(b, kind, e->start_mark);
	if (!n)
		return -1;
	b->frames[b->depth++] = (struct frame){n, b->top};
	return 0;
}

/* By text, then by place. */
static int order_keys(const void *left, const void *right)
{
	const struct yaml_node *a = *(const struct yaml_node *const *)left;
	const struct yaml_node *b = *(const struct yaml_node *const *)right;
	int by_text = strcmp(a->text, b->text);

	if (by_text)
		return by_text;
	return a->line != b->line ? a->line - b->line : a->column - b->column;
}

/* Sorts the keys, so that a stranger's big mapping costs n log n and equal keys stand together,
 * the first one first. */
static int refuse_duplicates(const struct builder *b, const struct yaml_node **keys,
			     size_t count)
{
	const struct yaml_node *first = NULL, *again = NULL;
	char name[YAML_QUOTE];

	qsort(keys, count, sizeof(*keys), order_keys);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(keys[i - 1]->text, keys[i]->text) != 0)
			continue;
		if (again && (keys[i]->line > again->line || (keys[i]->line == again->line &&
							      keys[i]->column > again->column)))
			continue;
		first = keys[i - 1];
		again = keys[i];
	}
	if (!again)
		return 0;
	yaml_quote(again->text, name);
	return hcp_fail_at(b->err, b->file, again->line, again->column,
			   "duplicate key %s: the first one is on line %d", name, first->line);
}

static int close_map(struct builder *b, struct yaml_node *n, const struct yaml_node **from)
{
	struct yaml_pair *pairs = arena_array(b->arena, n->count, sizeof(*pairs));

	if (!pairs)
		return hcp_fail_nomem(b->err);
	for (size_t i = 0; i < n->count; i++)
		pairs[i] = (struct yaml_pair){from[2 * i], from[2 * i + 1]};
	n->pairs = pairs;
	/* the pairs are safe now and their place on the stack is free for the keys alone */
	for (size_t i = 0; i < n->count; i++)
		from[i] = pairs[i].key;
	return refuse_duplicates(b, from, n->count);
}

static int close_collection(struct builder *b)
{
	struct frame f = b->frames[--b->depth];
	size_t count = b->top - f.base;

	f.node->count = f.node->kind == YAML_MAP ? count / 2 : count;
	if (count && f.node->kind == YAML_MAP) {
		if (close_map(b, f.node, b->stack + f.base))
			return -1;
	} else if (count) {
		f.node->items = arena_array(b->arena, count, sizeof(*f.node->items));
		if (!f.node->items)
			return hcp_fail_nomem(b->err);
		memcpy(f.node->items, b->stack + f.base, count * sizeof(*f.node->items));
	}
	b->top = f.base;
	return push(b, f.node);
}

static int start_document(const struct builder *b, const yaml_event_t *e)
{
	const yaml_version_directive_t *v = e->data.document_start.version_directive;

	/* the root node stays on the stack: a second document finds it there */
	if (b->top)
		return fail(b, e->start_mark, "only one document is allowed in a file");
	if (v && (v->major != 1 || v->minor != 2))
		return fail(b, e->start_mark, "only YAML 1.2 is read");
	if (e->data.document_start.tag_directives.start !=
	    e->data.document_start.tag_directives.end)
		return fail(b, e->start_mark, "%TAG is not allowed");
	return 0;
}

static int take(struct builder *b, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		return start_document(b, e);
	case YAML_ALIAS_EVENT:
		return fail(b, e->start_mark, "aliases (*) are not allowed: quote it");
	case YAML_SCALAR_EVENT:
		return scalar(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(b, YAML_SEQ, e, e->data.sequence_start.anchor != NULL,
				       e->data.sequence_start.tag != NULL);
	case YAML_MAPPING_START_EVENT:
		return open_collection(b, YAML_MAP, e, e->data.mapping_start.anchor != NULL,
				       e->data.mapping_start.tag != NULL);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_collection(b);
	}
	return fail(b, e->start_mark, "not understood");
}

static int run(struct builder *b, yaml_parser_t *p)
{
	yaml_event_t e;
	bool end = false;

	yaml_parser_set_encoding(p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(p, (const unsigned char *)b->text, b->len);
	while (!end) {
		int rc;

		if (!yaml_parser_parse(p, &e))
			return fail_syntax(b, p);
		end = e.type == YAML_STREAM_END_EVENT;
		rc = take(b, &e);
		yaml_event_delete(&e);
		if (rc)
			return -1;
	}
	if (b->top != 1 || (b->stack[0]->kind == YAML_NULL && !b->stack[0]->len))
		return hcp_fail_at(b->err, b->file, 1, 1, "the file is empty");
	return 0;
}

int yaml_parse(struct arena *a, const char *file, const char *text, size_t len,
	       const struct yaml_node **out, struct hcp_err *err)
{
	struct builder b = {.arena = a, .file = file, .err = err, .text = text, .len = len};
	yaml_parser_t parser;
	int rc = -1;

	*out = NULL;
	if (len > LIMIT_YAML)
		return hcp_fail_at(err, file, 0, 0, "the file is larger than %d bytes",
				   LIMIT_YAML);
	/* libyaml passes over it, but counts it as a column: the first key would be indented */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		b.text += 3;
		b.len -= 3;
	}
	if (refuse_old_breaks(&b))
		return -1;
	b.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!b.c_locale)
		return hcp_fail_nomem(err);
	if (yaml_parser_initialize(&parser)) {
		rc = run(&b, &parser);
		yaml_parser_delete(&parser);
	} else {
		hcp_fail_nomem(err);
	}
	if (!rc)
		*out = b.stack[0];
	free(b.stack);
	freelocale(b.c_locale);
	return rc;
}
