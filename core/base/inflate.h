/* SPDX-License-Identifier: MIT */
/* Gzip (RFC 1952) of one member, read whole into memory, nothing left out: an archive is small
 * and is judged before any of it is used. */
#ifndef HCP_BASE_INFLATE_H
#define HCP_BASE_INFLATE_H

#include "base/str.h"

/* Appends what `data` holds to *out, at most `limit` bytes (more: HCP_E_LIMIT). Cut short,
 * damaged (its checksum is compared) or followed by anything: HCP_E_INVALID. */
int inflate_gzip(const unsigned char *data, size_t len, size_t limit, struct buf *out,
		 struct hcp_err *err) HCP_MUST_CHECK;

#endif
