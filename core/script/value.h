/* SPDX-License-Identifier: MIT */
/* Values between JSON and Lua. Integers are exact to 64 bits, floats come back as they went;
 * what Lua or JSON can't hold is an error that names its path. A table remembers that it was an
 * array (so an empty one stays one) and in which order its keys came, in a registry table with
 * weak keys: scripts have no metatables to look at. */
#ifndef HCP_SCRIPT_VALUE_H
#define HCP_SCRIPT_VALUE_H

#include "script/state.h"

/* Where a value stands: one of these for each level, so that errors can name the path. */
struct script_path {
	const struct script_path *up; /* the table that holds it; NULL: the outermost value */
	const char *root;             /* the outermost value's name: "args", "result" */
	const char *key;              /* its key in an object; NULL: it has an index */
	size_t key_len;
	lua_Integer index;
	const void *table; /* itself, where it is a table on the way out: tells cycles */
	unsigned depth;    /* tables around it */
};
/* Raises `<path>: <message>`. */
int script_value_error(lua_State *L, const struct script_path *path, const char *fmt, ...)
    HCP_PRINTF(3, 4);
/* For the members of the table at `at`; raises where that is one level too deep. */
struct script_path script_path_into(lua_State *L, const struct script_path *at);

/* Once a state, before any other of these. */
void script_values_open(lua_State *L);
/* Pushes. NULL is nil. */
void script_push_json(lua_State *L, const json_t *v, const char *root);
/* Pushes what the JSON text says; a NUL must stand behind it. Raises where it isn't JSON. */
void script_read_json(lua_State *L, const char *text, size_t len, const char *root);
/* Appends the value at `index` as compact JSON; nil is null. Raises beyond `limit` bytes. */
void script_write_json(lua_State *L, int index, const char *root, size_t limit,
		       struct buf *out);

/* The same where a handle may stand for a string: `secret` writes what stands for it. */
void script_write_json_with(lua_State *L, int index, const char *root, size_t limit,
			    void (*secret)(lua_State *L, struct secret *s, struct buf *out),
			    struct buf *out);

void script_push_null(lua_State *L);
/* What the table at `index` is known to be. */
void script_mark_array(lua_State *L, int index);
void script_mark_object(lua_State *L, int index);
/* Pushes true (array), false (object), a list (an object's keys in order) or nil (not known).
 */
int script_push_mark(lua_State *L, int index);
/* The keys of the object on the top came as s->keys[from..]: remembers the order where it isn't
 * the one that they are written in anyway, and drops them. */
void script_keep_order(lua_State *L, size_t from);

/* The stack s->keys. */
void script_key_add(lua_State *L, const char *text, size_t len);
void script_key_sort(struct script_state *s, size_t from);
int script_key_compare(const void *a, const void *b);

#endif
