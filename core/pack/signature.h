/* SPDX-License-Identifier: MIT */
/* pack.sig: by whom a pack is. It lies in the pack's folder and signs all the other files. */
#ifndef HCP_PACK_SIGNATURE_H
#define HCP_PACK_SIGNATURE_H

#include "pack/pack.h"
#include "secret/key.h"

/* The key whose signature p carries; "" where it has none. A signature that doesn't hold is an
 * error, whoever's it is. */
int signature_check(const struct pack *p, char signer[SIGN_KEY_SIZE],
		    struct hcp_err *err) HCP_MUST_CHECK;
/* The text of pack.sig. */
int signature_make(const struct pack *p, const struct sign_key *k, struct buf *out,
		   struct hcp_err *err) HCP_MUST_CHECK;

#endif
