/* SPDX-License-Identifier: MIT */
/* A compiled schema, for core/pack/schema_*.c alone. Nothing here changes once it is compiled,
 * so that runs may share it. */
#ifndef HCP_PACK_SCHEMA_NODE_H
#define HCP_PACK_SCHEMA_NODE_H

#include "pack/pattern.h"
#include "pack/schema.h"

enum schema_type {
	SCHEMA_NULL = 1 << 0,
	SCHEMA_BOOLEAN = 1 << 1,
	SCHEMA_INTEGER = 1 << 2,
	SCHEMA_NUMBER = 1 << 3,
	SCHEMA_STRING = 1 << 4,
	SCHEMA_ARRAY = 1 << 5,
	SCHEMA_OBJECT = 1 << 6
};

struct schema_property {
	const char *name;
	struct schema *schema;
};
enum schema_additional {
	ADDITIONAL_NONE = 0, /* additionalProperties: false, written beside `properties` */
	ADDITIONAL_UNKNOWN,  /* implied at the top: a $ref's properties are known, too */
	ADDITIONAL_ANY,
	ADDITIONAL_SCHEMA
};
struct schema {
	struct schema *next;             /* the next one of the same compilation */
	json_t *source;                  /* of the first of a compilation: owned, else NULL */
	const struct schema_defs *defs;  /* of the first */
	const struct schema *ref;        /* what $ref names, NULL where none */
	unsigned types;                  /* enum schema_type, 0: any */
	bool write_only, secret, unique; /* secret: it or something beneath it is write_only */
	bool top;
	enum schema_additional additional;
	const struct schema *additional_schema, *items;
	size_t property_count;
	struct schema_property *properties;
	struct conf_strings required;
	int64_t min_items, max_items, min_length, max_length; /* -1: none */
	/* Borrowed from `source`; NULL: none. */
	const json_t *minimum, *maximum, *above, *below, *multiple_of;
	const json_t *allowed, *exactly, *fallback; /* enum, const, default */
	struct pattern *pattern;
	const char *pattern_text;
};

struct schema_def {
	const char *name;
	const struct yaml_node *node;
	struct schema *schema;
};
struct schema_defs {
	json_t *source;
	struct schema *list; /* all of them, by `next` */
	size_t count;
	struct schema_def *items;
};

const struct schema_def *schema_find_def(const struct schema_defs *d, const char *name);
/* The property as declared here or by what $ref names, NULL where it isn't. */
const struct schema *schema_find_property(const struct schema *s, const char *name);
const struct schema *schema_own_property(const struct schema *s, const char *name);
/* A copy in which 1.0 is 1, so that json_equal means JSON Schema's "equal". */
json_t *schema_plain(const json_t *value);
/* "#/$defs/x" -> "x", NULL for any other reference. */
const char *schema_ref_name(const char *ref);

#endif
