/* SPDX-License-Identifier: MIT */
/* An arena owns everything that lives as long as one run, one pack or one configuration
 * snapshot; `const T *` beside it is borrowed. Freed as a whole, never piece by piece. Not
 * thread-safe. */
#ifndef HCP_BASE_ARENA_H
#define HCP_BASE_ARENA_H

#include "base/err.h"

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head; /* zero value: an empty arena, ready for use */
};

void arena_free(struct arena *a);
/* Zeroed, aligned for any type; NULL when memory ran out. count * size is checked. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size);
/* Copies with a NUL behind; NULL when memory ran out. */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) HCP_PRINTF(2, 3);

#endif
