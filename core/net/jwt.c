/* SPDX-License-Identifier: MIT */
/* Judges a JSON Web Token. The caller says which algorithms and which issuer and audience it
 * takes; nothing of the token's own header chooses more than a key among those that the caller
 * gave. HMAC isn't taken at all, so no public key can pass for a shared one. */
#include "net/net.h"

#include "base/json.h"
#include "base/limits.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define JWT_DEPTH 16

static const char *const names[] = {NULL, "RS256", "ES256", "EdDSA"};

enum net_alg jwt_alg(const char *name)
{
	for (int i = NET_RS256; i <= NET_EDDSA; i++)
		if (name && strcmp(names[i], name) == 0)
			return (enum net_alg)i;
	return NET_ALG_NONE;
}

static int refuse(struct hcp_err *err, const char *why)
{
	return hcp_fail(err, HCP_E_DENIED, "%s", why);
}

/* malloc'ed with room for a byte behind; NULL: not base64url, or no memory. */
static unsigned char *decode(const char *text, size_t len, size_t *out)
{
	unsigned char *bytes = malloc(len + 1);

	*out = 0;
	if (bytes && sodium_base642bin(bytes, len, text, len, NULL, out, NULL,
				       sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0)
		return bytes;
	free(bytes);
	return NULL;
}

static json_t *decode_object(const char *text, size_t len)
{
	struct hcp_err none = {0};
	size_t size;
	unsigned char *bytes = decode(text, len, &size);
	json_t *v = bytes ? json_parse((const char *)bytes, size, JWT_DEPTH, &none) : NULL;

	free(bytes);
	if (json_is_object(v))
		return v;
	json_decref(v);
	return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	const char *s = json_string_value(v);

	return s && strlen(s) == json_string_length(v) ? s : NULL;
}

/* ---- the key ---- */

static bool fits(const json_t *jwk, enum net_alg alg)
{
	static const char *const types[] = {NULL, "RSA", "EC", "OKP"};
	static const char *const curves[] = {NULL, NULL, "P-256", "Ed25519"};
	const char *kty = text_of(jwk, "kty"), *crv = text_of(jwk, "crv"),
		   *use = text_of(jwk, "use"), *own = text_of(jwk, "alg");

	if (!kty || strcmp(kty, types[alg]) != 0)
		return false;
	if (curves[alg] && (!crv || strcmp(crv, curves[alg]) != 0))
		return false;
	if (json_object_get(jwk, "use") && (!use || strcmp(use, "sig") != 0))
		return false;
	return !json_object_get(jwk, "alg") || (own && strcmp(own, names[alg]) == 0);
}

/* The key of that kid; a token that names none is taken where the set holds but one that fits.
 */
static const json_t *choose(const json_t *jwks, const char *kid, enum net_alg alg,
			    struct hcp_err *err)
{
	const json_t *keys = json_object_get(jwks, "keys"), *jwk, *found = NULL;
	const char *id;
	size_t i;

	if (!json_is_array(keys)) {
		hcp_fail(err, HCP_E_INVALID, "the key set has no list of keys");
		return NULL;
	}
	json_array_foreach(keys, i, jwk)
	{
		id = text_of(jwk, "kid");
		if (!fits(jwk, alg) || (kid && (!id || strcmp(id, kid) != 0)))
			continue;
		if (found) {
			refuse(err, kid ? "several keys have the token's kid"
					: "the token names no key and there are several");
			return NULL;
		}
		found = jwk;
	}
	if (!found)
		refuse(err, "no key for the token: unknown kid");
	return found;
}

static int verify_with(const struct net_module *m, enum net_alg alg, const json_t *jwk,
		       struct net_bytes data, struct net_bytes sig, struct hcp_err *err)
{
	const char *first = text_of(jwk, alg == NET_RS256 ? "n" : "x"),
		   *second = text_of(jwk, alg == NET_RS256 ? "e" : "y");
	struct net_key key = {0};
	unsigned char *a = first ? decode(first, strlen(first), &key.a.len) : NULL;
	unsigned char *b = second ? decode(second, strlen(second), &key.b.len) : NULL;
	int rc;

	key.a.data = a;
	key.b.data = b;
	if (!a || (alg != NET_EDDSA && !b))
		rc = hcp_fail(err, HCP_E_INVALID, "the key set holds a broken key");
	else
		rc = m->verify(alg, &key, data, sig, err);
	free(a);
	free(b);
	return rc;
}

static int check_signature(const struct net_module *m, const struct jwt_demand *d,
			   const json_t *header, struct net_bytes data, struct net_bytes sig,
			   struct hcp_err *err)
{
	enum net_alg alg = jwt_alg(text_of(header, "alg"));
	struct net_key pem = {.pem = d->key};
	const char *kid = text_of(header, "kid");
	const json_t *jwk;

	if (alg == NET_ALG_NONE || !(d->algs & 1U << alg))
		return refuse(err, "the token's algorithm isn't taken");
	if (json_object_get(header, "crit"))
		return refuse(err, "the token has a critical header");
	if (json_object_get(header, "kid") && !kid)
		return refuse(err, "the token's kid is no text");
	if (d->key.data)
		return m->verify(alg, &pem, data, sig, err);
	jwk = choose(d->jwks, kid, alg, err);
	return jwk ? verify_with(m, alg, jwk, data, sig, err) : -1;
}

/* ---- the claims ---- */

static bool one_of(const json_t *wanted, const json_t *value)
{
	const json_t *item;
	size_t i;

	if (json_is_string(wanted))
		return json_equal(wanted, value);
	json_array_foreach(wanted, i, item)
	{
		if (json_is_string(item) && json_equal(item, value))
			return true;
	}
	return false;
}

static bool is_for(const json_t *wanted, const json_t *aud)
{
	const json_t *item;
	size_t i;

	if (json_is_string(aud))
		return one_of(wanted, aud);
	json_array_foreach(aud, i, item)
	{
		if (json_is_string(item) && one_of(wanted, item))
			return true;
	}
	return false;
}

static int check_times(const json_t *claims, const struct jwt_demand *d, struct hcp_err *err)
{
	const json_t *exp = json_object_get(claims, "exp"),
		     *nbf = json_object_get(claims, "nbf"),
		     *iat = json_object_get(claims, "iat");
	double now = (double)d->now_s, leeway = (double)d->leeway_s;

	if (!json_is_number(exp))
		return refuse(err, "the token has no exp");
	if (!(json_number_value(exp) + leeway > now))
		return refuse(err, "the token is expired");
	if (nbf && !(json_is_number(nbf) && json_number_value(nbf) - leeway <= now))
		return refuse(err, "the token isn't valid yet");
	if (iat && !(json_is_number(iat) && json_number_value(iat) - leeway <= now))
		return refuse(err, "the token was issued in the future");
	return 0;
}

static int check_claims(const json_t *claims, const struct jwt_demand *d, struct hcp_err *err)
{
	const char *iss = text_of(claims, "iss");

	if (check_times(claims, d, err) < 0)
		return -1;
	if (!iss || strcmp(iss, d->issuer) != 0)
		return refuse(err, "the token is of another issuer");
	if (!is_for(d->audience, json_object_get(claims, "aud")))
		return refuse(err, "the token is for another audience");
	return 0;
}

static int check_demand(const struct jwt_demand *d, struct hcp_err *err)
{
	if (!d->algs)
		return hcp_fail(err, HCP_E_INVALID, "no algorithm is named");
	if (!d->issuer || !*d->issuer)
		return hcp_fail(err, HCP_E_INVALID, "no issuer is named");
	if (!json_is_string(d->audience) && json_array_size(d->audience) == 0)
		return hcp_fail(err, HCP_E_INVALID, "no audience is named");
	if (!d->jwks == !d->key.data)
		return hcp_fail(err, HCP_E_INVALID, "either jwks or key is needed");
	if (d->leeway_s < 0 || d->leeway_s > 300)
		return hcp_fail(err, HCP_E_INVALID, "leeway must be from 0 to 300 seconds");
	return 0;
}

json_t *jwt_verify(const struct net_module *m, const char *token, size_t len,
		   const struct jwt_demand *d, struct hcp_err *err)
{
	const char *dot = memchr(token, '.', len), *second, *tail;
	json_t *header, *claims = NULL;
	struct net_bytes sig = {0};
	unsigned char *bytes;
	size_t rest;

	if (check_demand(d, err) < 0)
		return NULL;
	if (len > LIMIT_TOKEN)
		return refuse(err, "the token is too long"), NULL;
	second = dot ? memchr(dot + 1, '.', len - (size_t)(dot + 1 - token)) : NULL;
	if (!second)
		return refuse(err, "the token is no JWT"), NULL;
	tail = second + 1;
	rest = len - (size_t)(tail - token);
	header = decode_object(token, (size_t)(dot - token));
	sig.data = bytes = decode(tail, rest, &sig.len);
	if (!header || !bytes || sig.len == 0)
		refuse(err, "the token is no JWT");
	else if (check_signature(
		     m, d, header,
		     (struct net_bytes){(const unsigned char *)token, (size_t)(second - token)},
		     sig, err) == 0)
		claims = decode_object(dot + 1, (size_t)(second - dot - 1));
	if (header && bytes && sig.len && !claims)
		refuse(err, "the token is no JWT"); /* unless another reason stands */
	if (claims && check_claims(claims, d, err) < 0) {
		json_decref(claims);
		claims = NULL;
	}
	json_decref(header);
	free(bytes);
	return claims;
}
