/* SPDX-License-Identifier: MIT */
/* What a pack asks for, as sentences: whoever accepts a new version reads those that are new.
 */
#ifndef HCP_PACK_NEEDS_H
#define HCP_PACK_NEEDS_H

#include "pack/pack.h"

/* A list of strings, a new reference; NULL: out of memory. Those that `than` (NULL: nothing)
 * needs, too, are left out. */
json_t *needs_beyond(const struct pack *p, const struct pack *than);

#endif
