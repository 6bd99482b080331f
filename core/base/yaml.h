/* SPDX-License-Identifier: MIT */
/* A YAML document as a tree with positions: 1.2 core schema with `true` and `false` as the only
 * booleans; anchors, aliases, tags, merge keys, duplicate keys, non-string keys, several
 * documents, more than LIMIT_YAML bytes or LIMIT_YAML_DEPTH levels are errors with line and
 * column. yaml.c is the only file that knows libyaml, yaml_tree.c answers from the tree. */
#ifndef HCP_BASE_YAML_H
#define HCP_BASE_YAML_H

#include "base/arena.h"

#include <jansson.h>
#include <stdbool.h>

enum yaml_kind {
	YAML_NONE = 0, /* no node */
	YAML_NULL,
	YAML_BOOL,
	YAML_INT,
	YAML_FLOAT,
	YAML_STR,
	YAML_SEQ,
	YAML_MAP
};

struct yaml_node;
struct yaml_pair {
	const struct yaml_node *key; /* a scalar; its text is the key */
	const struct yaml_node *value;
};
struct yaml_node {
	enum yaml_kind kind;
	int line, column; /* 1-based */
	const char *text; /* a scalar's text, NUL-terminated */
	size_t len;       /* its bytes; a text with a NUL inside never gets here */
	bool b;           /* YAML_BOOL */
	long long i;      /* YAML_INT */
	double f;         /* YAML_FLOAT and YAML_INT */
	size_t count;     /* items or pairs */
	const struct yaml_node **items;
	const struct yaml_pair *pairs;
};

/* `file` is how messages spell it. All nodes live in the arena. An empty document is an error.
 */
int yaml_parse(struct arena *a, const char *file, const char *text, size_t len,
	       const struct yaml_node **out, struct hcp_err *err) HCP_MUST_CHECK;
/* The value of a key, NULL where there is none or node isn't a map. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
/* "a string", "a list", ... for messages. */
const char *yaml_kind_name(enum yaml_kind kind);
/* A text in quotes on one line for messages: control characters escaped, cut where longer. */
#define YAML_QUOTE 96
void yaml_quote(const char *text, char out[YAML_QUOTE]);
/* The same value as JSON (a new reference), key order kept; NaN and infinities are errors. */
json_t *yaml_to_json(const struct yaml_node *node, const char *file, struct hcp_err *err);

#endif
