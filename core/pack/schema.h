/* SPDX-License-Identifier: MIT */
/* The subset of JSON Schema 2020-12 that args and outputs are declared in. Compiled from YAML
 * at load (an unknown keyword fails the load with its place), then pure. Patterns are PCRE2
 * with match limits; a pattern that runs into one is a fault, never a pass. multipleOf is
 * decimal arithmetic. */
#ifndef HCP_PACK_SCHEMA_H
#define HCP_PACK_SCHEMA_H

#include "base/conf.h"
#include "base/str.h"

#include <jansson.h>

struct schema;
extern const struct conf_table schema_keyword_table; /* the keywords that there are */

struct schema_defs; /* the manifest's $defs, compiled on first reference */
int schema_defs_compile(const struct conf_ctx *c, const struct yaml_node *defs,
			struct schema_defs **out, struct hcp_err *err) HCP_MUST_CHECK;

/* `top` true: an args object: `type: object` is implied, additionalProperties defaults to
 * false, the reserved names confirm, apply and mode may not be properties. Freed by schema_free
 * (PCRE2 code); its memory is the arena's. */
int schema_compile(const struct conf_ctx *c, const struct yaml_node *node,
		   const struct schema_defs *defs, bool top, struct schema **out,
		   struct hcp_err *err) HCP_MUST_CHECK;
void schema_free(struct schema *s);
void schema_defs_free(struct schema_defs *d);

/* Appends every fault to `faults`, "<path>: <why>" joined by "; " ("args.items[3].name" is the
 * path "items[3].name"; the value itself is "args"/"result", given by `root_name`). Returns the
 * number of faults, -1 when memory ran out. Values of writeOnly properties never appear in a
 * fault. */
int schema_validate(const struct schema *s, const json_t *value, const char *root_name,
		    struct buf *faults);
/* Adds what `default` says to objects, in place, recursively. -1: out of memory. */
int schema_fill_defaults(const struct schema *s, json_t *value) HCP_MUST_CHECK;

/* Whether an args schema declares this property, and whether it is writeOnly. */
bool schema_has_property(const struct schema *s, const char *name);
bool schema_is_write_only(const struct schema *s, const char *name);
bool schema_is_required(const struct schema *s, const char *name);
bool schema_has_default(const struct schema *s, const char *name);
/* A copy of value without writeOnly values (a new reference; NULL: out of memory), for the
 * audit log. */
json_t *schema_without_secrets(const struct schema *s, const json_t *value);
/* The schema as JSON Schema text for agents, `$ref` resolved within "$defs". A new reference.
 */
json_t *schema_to_json(const struct schema *s);

#endif
