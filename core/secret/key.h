/* SPDX-License-Identifier: MIT */
/* Signing keys: an Ed25519 seed among the root's secrets, in hex, so that it goes through
 * `hcp secret set` like any other. The secret half stays in struct sign_key, which wipes
 * itself. What is signed names its purpose first, so that no signature of anything else fits.
 */
#ifndef HCP_SECRET_KEY_H
#define HCP_SECRET_KEY_H

#include "root/root.h"

#define SIGN_KEY_SIZE (2 * 32 + 1) /* a public key in hex, NUL included */
#define SIGN_SIZE     (2 * 64 + 1) /* a signature, the same */

struct sign_key {
	unsigned char public[32], secret[64];
};
void sign_key_wipe(struct sign_key *k);
#define AUTO_SIGN_KEY __attribute__((cleanup(sign_key_wipe))) struct sign_key

/* <root>/secrets/<name>; `command` makes one, for the message where there is none. */
int sign_key_load(const struct root *root, const char *name, const char *command,
		  struct sign_key *k, struct hcp_err *err) HCP_MUST_CHECK;
/* Never over one that is there. */
int sign_key_create(const struct root *root, const char *name,
		    struct hcp_err *err) HCP_MUST_CHECK;
void sign_key_public(const struct sign_key *k, char out[SIGN_KEY_SIZE]);
void sign_text(const struct sign_key *k, const char *text, size_t len, char out[SIGN_SIZE]);
/* Signature and key in hex, exactly that long; false where either is anything else. */
bool sign_holds(const char *text, size_t len, const char *signature, const char *public_key);

#endif
