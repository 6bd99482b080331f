/* SPDX-License-Identifier: MIT */
/* The memory of secrets. libsodium puts each between two pages without access, locks it, asks
 * that core dumps leave it out, and wipes it when it is freed. */
#include "secret/secret.h"

#include "base/limits.h"

#include <sodium.h>
#include <stdlib.h>

struct secret {
	size_t len;
	unsigned holders;
	unsigned char *bytes; /* from sodium_malloc */
};

struct secret *secret_new(size_t len)
{
	struct secret *s;

	if (len == 0 || len > LIMIT_SECRET || sodium_init() < 0)
		return NULL;
	s = malloc(sizeof(*s));
	if (!s)
		return NULL;
	s->bytes = sodium_malloc(len);
	if (!s->bytes) {
		free(s);
		return NULL;
	}
	s->len = len;
	s->holders = 1;
	return s;
}

struct secret *secret_hold(struct secret *s)
{
	__atomic_add_fetch(&s->holders, 1, __ATOMIC_RELAXED);
	return s;
}

void secret_drop(struct secret *s)
{
	if (!s || __atomic_sub_fetch(&s->holders, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	sodium_free(s->bytes);
	free(s);
}

unsigned char *secret_bytes(struct secret *s)
{
	return s->bytes;
}

size_t secret_len(const struct secret *s)
{
	return s->len;
}

void secret_cut(struct secret *s, size_t len)
{
	if (len > 0 && len < s->len)
		s->len = len;
}
