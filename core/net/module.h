/* SPDX-License-Identifier: MIT */
/* The door between the library and hcp-net.so, which alone is linked with libcurl and OpenSSL:
 * loading them costs more than a run, so it is loaded when a script first asks for the network
 * or a signature. Plain C on both sides; neither frees what is the other's. */
#ifndef HCP_NET_MODULE_H
#define HCP_NET_MODULE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

#define NET_MODULE_VERSION 1
#define NET_MODULE_SYMBOL  "hcp_net_module"

struct net_bytes {
	const unsigned char *data;
	size_t len;
};

struct net_request {
	const char *method, *url; /* judged by net_target */
	bool plain;               /* http, which the operator listed as such */
	const char *const *lines; /* "Name: value", without line ends */
	size_t line_count;
	struct net_bytes body; /* data NULL: none */
	struct net_bytes ca;   /* PEM; data NULL: the system's authorities */
	int64_t deadline_ns;   /* CLOCK_MONOTONIC, absolute; never 0 */
	const int *cancelled;  /* read with atomics; NULL: never */
	/* Asked of each address before a connection to it is begun. */
	bool (*allow)(void *user, const struct sockaddr *addr);
	void *user;
};

/* Memory of the caller's, filled in as far as it reaches; more is an error. */
struct net_response {
	long status;
	unsigned char *head, *body; /* head: "name: value\n"... of the last answer */
	size_t head_len, head_cap, body_len, body_cap;
};

enum net_alg { NET_ALG_NONE = 0, NET_RS256, NET_ES256, NET_EDDSA };
#define NET_SIGNATURE_MAX 1024 /* RSA of 8192 bits */

/* RSA: a is n, b is e. P-256: a is x, b is y. Ed25519: a is x. Big-endian, as a JWK has them.
 * Where pem is given, it alone counts. */
struct net_key {
	struct net_bytes pem, a, b;
};

struct net_module {
	int version;
	int (*http)(const struct net_request *q, struct net_response *out, struct hcp_err *err);
	/* pem: PKCS#1, SEC1 or PKCS#8. A signature as JWS has it: ES256 is r and s. */
	int (*sign)(enum net_alg alg, struct net_bytes pem, struct net_bytes data,
		    unsigned char out[NET_SIGNATURE_MAX], size_t *len, struct hcp_err *err);
	/* 0: the signature is good. HCP_E_DENIED: it isn't; others: the key can't be used. */
	int (*verify)(enum net_alg alg, const struct net_key *key, struct net_bytes data,
		      struct net_bytes signature, struct hcp_err *err);
};

#endif
