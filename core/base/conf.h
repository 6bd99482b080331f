/* SPDX-License-Identifier: MIT */
/* Configuration read by tables: each key of each format is one row, so that the loaders, the
 * messages and the published schemas can't disagree. An unknown key, a wrong type or a missing
 * required key is an error with its place, and a likely spelling where there is one. */
#ifndef HCP_BASE_CONF_H
#define HCP_BASE_CONF_H

#include "base/yaml.h"

#include <stdint.h>

enum conf_type {
	CONF_NODE = 0,    /* const struct yaml_node *: anything; the caller reads it */
	CONF_MAP,         /* const struct yaml_node *, a mapping */
	CONF_LIST,        /* const struct yaml_node *, a sequence */
	CONF_STRING,      /* const char * */
	CONF_BOOL,        /* enum conf_bool */
	CONF_INT,         /* int64_t, not negative */
	CONF_DURATION,    /* int64_t, milliseconds, more than 0 */
	CONF_SIZE,        /* int64_t, bytes, more than 0 */
	CONF_STRINGS,     /* struct conf_strings: a list of strings */
	CONF_ONE_OR_MORE, /* struct conf_strings: a string or a list of at least one */
	CONF_ENV,         /* struct conf_env: a mapping of strings to strings */
	CONF_ENUM,        /* int: 1 + index into `names` (0: not given) */
	CONF_TABLE        /* a struct at `offset`, read by `sub` */
};
enum conf_bool { CONF_UNSET = 0, CONF_FALSE, CONF_TRUE };

struct conf_strings {
	size_t count;
	const char **items;
	bool given; /* an empty list that was written differs from none */
	int line, column;
};
struct conf_env {
	size_t count;
	const char **names, **values;
	int line, column;
};

struct conf_table;
struct conf_field {
	const char *key;
	enum conf_type type;
	size_t offset;
	bool required;
	const char *const *names;     /* CONF_ENUM: NULL-terminated */
	const struct conf_table *sub; /* CONF_TABLE */
	/* For the published schema alone, what the reader of the node makes of it: `sub`, what
	 * the mapping itself holds; `each`, what each value of a mapping or item of a list
	 * does; `shape`, JSON Schema of what else it (without `each`, of a mapping or list:
	 * each of its values) may be. `names` on a CONF_NODE: one of them or a list. */
	const struct conf_table *each;
	const char *shape;
	/* Judges a string (each one of a list): NULL, or what it must be ("must be a name"). */
	const char *(*check)(const char *text);
	const char *doc; /* one line, for the published schema */
};
struct conf_table {
	const char *what; /* "a command", for messages */
	const struct conf_field *fields;
	size_t count;
	/* "kind" and "wrap": the value of that key names one more mapping that may stand here,
	 * unless it is this one, which has its row. NULL: what has no row can't stand here. */
	const char *namer, *named;
};
#define CONF_ROWS(text, rows, ...)                                                             \
	{                                                                                      \
		.what = text, .fields = rows, .count = sizeof(rows) / sizeof((rows)[0]),       \
		__VA_ARGS__                                                                    \
	}

/* Every fault of every file, for who wants to mend them all at once. */
struct conf_faults {
	struct hcp_err *items; /* malloc'ed */
	size_t count;
	bool failed; /* memory ran out: some are missing */
};
void conf_faults_add(struct conf_faults *all, const struct hcp_err *fault);
void conf_faults_free(struct conf_faults *all);

struct conf_ctx {
	struct arena *arena;
	const char *file;
	/* NULL: the first fault ends the reading. Else each is added here and the reading goes
	 * on with the next key or entry; it fails all the same. */
	struct conf_faults *all;
};
/* Fills *out (offsets of the table). Keys that aren't written leave their members as they were.
 */
int conf_read(const struct conf_ctx *c, const struct yaml_node *map,
	      const struct conf_table *table, void *out, struct hcp_err *err) HCP_MUST_CHECK;
/* One value by one row's rules; out is what the row's offset counts from. */
int conf_value(const struct conf_ctx *c, const struct yaml_node *node,
	       const struct conf_field *f, void *out, struct hcp_err *err) HCP_MUST_CHECK;
/* `hcp`, the format version, which conf_read has seen: 0 where it is the number 1. */
int conf_check_format(const struct conf_ctx *c, const struct yaml_node *top,
		      struct hcp_err *err) HCP_MUST_CHECK;
/* conf_schema.c: the table as JSON Schema, for editors. It takes all that the loader takes and
 * refuses what the loader refuses for an unknown key, a missing one or a wrong type. A new
 * reference; NULL: out of memory. */
struct json_t *conf_schema(const struct conf_table *top) HCP_MUST_CHECK;
/* hcp_fail_at with the node's place; added to c->all, too. */
int conf_fail(const struct conf_ctx *c, const struct yaml_node *at, struct hcp_err *err,
	      const char *fmt, ...) HCP_PRINTF(4, 5) __attribute__((cold));

#endif
