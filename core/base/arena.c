/* SPDX-License-Identifier: MIT */
/* Bump allocation in blocks of at least 4 KiB. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

#define BLOCK_MIN 4064

void arena_free(struct arena *a)
{
	struct arena_block *next;

	for (struct arena_block *b = a->head; b; b = next) {
		next = b->next;
		free(b);
	}
	a->head = NULL;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->head;
	size_t room;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!b || b->size - b->used < size) {
		room = size > BLOCK_MIN ? size : BLOCK_MIN;
		b = calloc(1, sizeof(*b) + room);
		if (!b)
			return NULL;
		b->size = room;
		/* a block made for one large piece goes behind the one still in use */
		if (a->head && size > BLOCK_MIN) {
			b->next = a->head->next;
			a->head->next = b;
		} else {
			b->next = a->head;
			a->head = b;
		}
	}
	p = b->data + b->used;
	b->used += size;
	return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / 2 / size)
		return NULL;
	return arena_alloc(a, count * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = len < SIZE_MAX ? arena_alloc(a, len + 1) : NULL;

	if (p && len)
		memcpy(p, s, len);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}
