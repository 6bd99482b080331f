/* SPDX-License-Identifier: MIT */
/* A Lua table that grows puts its keys into their new places one by one, in a step that no hook
 * interrupts. Numbers can be chosen that lie apart in one size and all in one place in the
 * next: half a million of them would take minutes. So the allocator looks at the large tables
 * there are whenever Lua asks for the nodes of one: where the keys of any would crowd, it is
 * refused.
 *
 * This knows how Lua 5.4 lays out a node. With a Lua that does it otherwise the answer is a
 * guess about bytes that are there in any case, and spec/unit/test_script_limits.c fails. */
#include "script/state.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define NODES_MIN (1U << 15) /* what crowds in smaller ones is over soon */
#define CROWD     512        /* keys that one meets on its way, on the average */

struct node { /* ltable.c's Node */
	uint64_t value;
	unsigned char type, key_type;
	int next;
	union {
		uint64_t integer;
		double number;
	} key;
};
enum { TYPE = 0x0f, TYPE_AND_KIND = 0x3f, INTEGER = 0x03, FLOAT = 0x13 };

static size_t nodes_in(size_t size)
{
	size_t nodes = size / sizeof(struct node);

	return size % sizeof(struct node) == 0 && nodes >= NODES_MIN &&
		       (nodes & (nodes - 1)) == 0
		   ? nodes
		   : 0;
}

/* ltable.c's l_hashfloat */
static unsigned hash_number(double n)
{
	int exponent;
	unsigned u;

	if (!isfinite(n))
		return 0;
	n = frexp(n, &exponent) * -(double)INT_MIN;
	u = (unsigned)exponent + (unsigned)(int64_t)n;
	return u <= INT_MAX ? u : ~u;
}

/* Whether the keys of `count` nodes crowd among `nodes`; `met` has room for as many numbers.
 * Strings needn't be looked at: theirs crowd in every size or in none. */
static bool crowds(const char *from, size_t count, uint32_t *met, size_t nodes)
{
	uint64_t places = (nodes - 1) | 1, pairs = 0, place;
	struct node n;

	memset(met, 0, nodes * sizeof(*met));
	for (size_t i = 0; i < count; i++) {
		memcpy(&n, from + i * sizeof(n), sizeof(n));
		if ((n.type & TYPE) == 0)
			continue; /* nil */
		if ((n.key_type & TYPE_AND_KIND) == INTEGER)
			place = n.key.integer % places;
		else if ((n.key_type & TYPE_AND_KIND) == FLOAT)
			place = hash_number(n.key.number) % places;
		else
			continue;
		pairs += met[place]++;
	}
	return pairs > (uint64_t)nodes * CROWD;
}

bool script_tables_add(struct script_tables *t, void *nodes, size_t size)
{
	size_t count = nodes_in(size);

	if (count == 0)
		return true;
	for (size_t i = 0; i < t->count; i++)
		if (crowds(t->at[i].nodes, t->at[i].size / sizeof(struct node), nodes, count))
			return false;
	if (t->count == SCRIPT_TABLES)
		return false;
	t->at[t->count].nodes = nodes;
	t->at[t->count++].size = size;
	return true;
}

void script_tables_drop(struct script_tables *t, const void *nodes, size_t size)
{
	for (size_t i = 0; nodes_in(size) && i < t->count; i++)
		if (t->at[i].nodes == nodes) {
			t->at[i] = t->at[--t->count];
			return;
		}
}
