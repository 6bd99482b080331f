/* SPDX-License-Identifier: MIT */
/* Numbers compared as what they say, not as what a double makes of them. Pure. */
#ifndef HCP_PACK_NUMBER_H
#define HCP_PACK_NUMBER_H

#include <jansson.h>
#include <stdbool.h>

/* <0, 0, >0: exact, an integer against a real, too. Both must be numbers. */
int number_compare(const json_t *a, const json_t *b);
/* No fraction: 1 and 1.0 and 1e300. */
bool number_is_whole(const json_t *n);
/* Whether n is a multiple of `of` (greater than 0), both taken as the shortest decimals that
 * read back to them: 0.3 is one of 0.1. */
bool number_is_multiple(const json_t *n, const json_t *of);

#endif
