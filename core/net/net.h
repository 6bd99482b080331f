/* SPDX-License-Identifier: MIT */
/* The network and signatures for scripts. What a script may reach is decided here, in pure
 * code, before the module is asked and again for each address; an empty list reaches nothing.
 */
#ifndef HCP_NET_NET_H
#define HCP_NET_NET_H

#include "base/conf.h"
#include "net/module.h"

#include <jansson.h>

#define NET_TIMEOUT_MS 10000
#define NET_BODY_MAX   (256 * 1024)
#define NET_HEAD_MAX   (64 * 1024)

/* One a runtime: the module, once it is loaded, and key sets that were fetched. Any thread. */
struct net;
struct net *net_new(const char *module_path); /* NULL path: not installed. NULL: no memory */
void net_free(struct net *n);
/* Loads the module where it isn't. NULL: err says why. */
const struct net_module *net_module(struct net *n, struct hcp_err *err);

/* What one script may reach. */
struct net_grant {
	struct net *net;
	const struct conf_strings *hosts; /* host:port, or http://host:port; NULL: none */
	struct net_bytes ca;
};

/* ---- hosts.c, pure ---- */

struct net_target {
	char host[256]; /* lower case; an IPv6 address in brackets */
	unsigned port;
	bool plain;
	size_t authority_end; /* where path, query or nothing begins in the URL */
};
/* Takes https:// and http:// URLs with neither user nor fragment apart, and refuses hosts that
 * aren't listed. */
int net_target(const struct conf_strings *hosts, const char *url, struct net_target *out,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* Whether a connection may go to `addr`: it is an address of the public internet, or
 * "address:port" itself is listed. */
bool net_may_connect(const struct conf_strings *hosts, const struct sockaddr *addr);

/* ---- key sets by URL and by who vouched for the server, kept a while ---- */

/* A set of at most `max_age_s` that was fetched under the same `ca`, a new reference; NULL:
 * fetch it. */
json_t *net_cache_get(struct net *n, const char *url, struct net_bytes ca, int64_t max_age_s);
void net_cache_put(struct net *n, const char *url, struct net_bytes ca, const json_t *keys);

/* ---- jwt.c ---- */

struct jwt_demand {
	unsigned algs;          /* bits 1U << enum net_alg */
	const json_t *jwks;     /* or */
	struct net_bytes key;   /* a public key, PEM */
	const json_t *audience; /* a string, or a list of which one must be named */
	const char *issuer;
	int64_t leeway_s, now_s;
};
/* Judges a token (RFC 7519, 8725) and gives its claims, a new reference. HCP_E_DENIED: it is
 * refused; HCP_E_INVALID: the demand is unfit. */
json_t *jwt_verify(const struct net_module *m, const char *token, size_t len,
		   const struct jwt_demand *d, struct hcp_err *err);
enum net_alg jwt_alg(const char *name); /* NET_ALG_NONE: none that is taken */

#endif
