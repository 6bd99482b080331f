/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_TRACE_H
#define HCP_BOX_TRACE_H

#include "box/box.h"

#include <stdint.h>

struct trace {
	int fd; /* where the init's struct box_denial come from; -1: nobody asked */
	box_trace_fn *fn;
	void *user;
	uint64_t told[512]; /* digests: each refusal is told once */
	size_t told_count;
};
/* Tells of all that has come in. Never blocks: fd doesn't. */
void trace_take(struct trace *t);

#endif
