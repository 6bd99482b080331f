/* SPDX-License-Identifier: MIT */
/* hcp.lock, beside hcp.yaml: what every file of an added pack was when it was added, and whose
 * key signed it. JSON that hcp alone writes; a file that isn't exactly such JSON refuses the
 * packs of this root. A pack that it doesn't know is somebody's work in progress. */
#ifndef HCP_PACK_LOCKFILE_H
#define HCP_PACK_LOCKFILE_H

#include "pack/pack.h"

#define LOCKFILE "hcp.lock"

/* *out NULL: there is none. A new reference. */
int lockfile_read(const struct root *root, json_t **out, struct hcp_err *err) HCP_MUST_CHECK;
/* {version, signer, files: {path: "f <sha256>"}}, borrowed; NULL: a pack that wasn't added. */
json_t *lockfile_entry(const json_t *lock, const char *id);
/* The entry of a pack as it was read; signer NULL: nobody signed it. NULL: out of memory. */
json_t *lockfile_entry_of(const struct pack *p, const char *signer);
/* Puts (entry, taken) or removes (NULL) one and replaces the file. */
int lockfile_set(const struct root *root, const char *id, json_t *entry,
		 struct hcp_err *err) HCP_MUST_CHECK;
/* Judges a pack as it was read and sets p->locked and p->signer. HCP_E_DENIED: "pack <id>:
 * digest mismatch: <file>". */
int lockfile_check(const struct root *root, struct pack *p, struct hcp_err *err) HCP_MUST_CHECK;

#endif
