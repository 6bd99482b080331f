/* SPDX-License-Identifier: MIT */
/* A secret value: bytes in locked memory between guard pages, kept out of core dumps and wiped
 * when their last holder lets go. Nothing here prints, compares or logs one, and no %s takes
 * one. */
#ifndef HCP_SECRET_SECRET_H
#define HCP_SECRET_SECRET_H

#include "root/root.h"

struct secret;

/* `len` bytes (1 to LIMIT_SECRET) to be filled in, with one holder. NULL: no memory, or a
 * length that none may have. Once it is filled in, any thread may hold, read and drop it. */
struct secret *secret_new(size_t len);
struct secret *secret_hold(struct secret *s);
void secret_drop(struct secret *s); /* NULL is fine */
unsigned char *secret_bytes(struct secret *s);
size_t secret_len(const struct secret *s);
/* Takes bytes off the end; at least one must stay. */
void secret_cut(struct secret *s, size_t len);

/* <root>/secrets/<name>, mode 0600 in a folder of mode 0700, judged like any file of the policy
 * and read straight into locked memory. One newline at its end isn't part of it. The caller
 * drops *out; err says what is wrong and never what stands in the file. */
int secret_read(const struct root *root, const char *name, struct secret **out,
		struct hcp_err *err) HCP_MUST_CHECK;

/* The folder secrets/, judged; ENOENT in errno where there is none. The caller closes *out. */
int secret_open_folder(const struct root *root, int *out, struct hcp_err *err) HCP_MUST_CHECK;

/* ---- keeping them (store.c); for the root's owner ---- */

/* Puts a value under a name, 0600 in a folder that is made 0700; it appears whole or not at
 * all. */
int secret_write(const struct root *root, const char *name, const unsigned char *bytes,
		 size_t len, struct hcp_err *err) HCP_MUST_CHECK;
/* HCP_E_INVALID where there is none of that name. */
int secret_remove(const struct root *root, const char *name,
		  struct hcp_err *err) HCP_MUST_CHECK;
/* Names, sorted, in the arena. */
int secret_list(const struct root *root, struct arena *a, struct conf_strings *out,
		struct hcp_err *err) HCP_MUST_CHECK;

#endif
