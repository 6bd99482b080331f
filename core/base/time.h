/* SPDX-License-Identifier: MIT */
/* Times as text, RFC 3339 in UTC. Pure: nothing asks the clock, the environment or the locale.
 */
#ifndef HCP_BASE_TIME_H
#define HCP_BASE_TIME_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The date of a day counted from 1970-01-01. */
void time_civil(int64_t days, int *year, int *month, int *day);

#define TIME_TEXT_SIZE 21
/* "2024-02-29T23:59:59Z" from seconds since 1970; -1 outside of the years 1 to 9999. */
int time_format(int64_t seconds, char out[TIME_TEXT_SIZE]) HCP_MUST_CHECK;
/* "2024-02-29T23:59:59.25+01:00" to microseconds since 1970; what is finer is cut. -1: not RFC
 * 3339. */
int time_parse(const char *text, size_t len, int64_t *us) HCP_MUST_CHECK;

#endif
