/* SPDX-License-Identifier: MIT */
/* The parts of hcp-net.so. */
#ifndef HCP_NET_MODULE_MODULE_H
#define HCP_NET_MODULE_MODULE_H

#include "net/module.h"

/* http.c */
int net_http(const struct net_request *q, struct net_response *out, struct hcp_err *err);
/* sign.c */
int net_sign(enum net_alg alg, struct net_bytes pem, struct net_bytes data,
	     unsigned char out[NET_SIGNATURE_MAX], size_t *len, struct hcp_err *err);
int net_verify(enum net_alg alg, const struct net_key *key, struct net_bytes data,
	       struct net_bytes signature, struct hcp_err *err);

/* key.c: whether a key is what the algorithm wants, of a size that is safe. */
struct evp_pkey_st;
bool net_key_fits(struct evp_pkey_st *key, enum net_alg alg);
/* NULL: not a PEM key of that kind. The caller frees it. */
struct evp_pkey_st *net_key_from_pem(struct net_bytes pem, bool secret);
struct evp_pkey_st *net_key_from_numbers(enum net_alg alg, const struct net_key *key);

#endif
