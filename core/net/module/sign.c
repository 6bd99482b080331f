/* SPDX-License-Identifier: MIT */
/* Signatures as JWS wants them: RSA with SHA-256 (PKCS#1 1.5), ECDSA on P-256 as r and s of 32
 * bytes each, Ed25519. It signs nothing with a key that the algorithm doesn't fit. */
#include "net/module/module.h"

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

static const EVP_MD *digest_of(enum net_alg alg)
{
	return alg == NET_EDDSA ? NULL : EVP_sha256();
}

/* From OpenSSL's DER. */
static int to_pair(unsigned char *sig, size_t *len)
{
	const unsigned char *p = sig;
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &p, (long)*len);
	int rc = -1;

	if (pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), sig, 32) == 32 &&
	    BN_bn2binpad(ECDSA_SIG_get0_s(pair), sig + 32, 32) == 32)
		rc = 0;
	*len = 64;
	ECDSA_SIG_free(pair);
	return rc;
}

static int to_der(struct net_bytes sig, unsigned char out[80], size_t *len)
{
	ECDSA_SIG *pair = ECDSA_SIG_new();
	BIGNUM *r = sig.len == 64 ? BN_bin2bn(sig.data, 32, NULL) : NULL;
	BIGNUM *s = sig.len == 64 ? BN_bin2bn(sig.data + 32, 32, NULL) : NULL;
	int size = -1;

	if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
		r = s = NULL; /* the pair's */
		size = i2d_ECDSA_SIG(pair, NULL);
		if (size > 0 && size <= 80)
			size = i2d_ECDSA_SIG(pair, &out);
		else
			size = -1;
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(pair);
	*len = size > 0 ? (size_t)size : 0;
	return size > 0 ? 0 : -1;
}

int net_sign(enum net_alg alg, struct net_bytes pem, struct net_bytes data,
	     unsigned char out[NET_SIGNATURE_MAX], size_t *len, struct hcp_err *err)
{
	EVP_PKEY *key = net_key_from_pem(pem, true);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int rc = -1;

	*len = NET_SIGNATURE_MAX;
	if (!key || !net_key_fits(key, alg))
		hcp_fail(err, HCP_E_INVALID, "the key is no private key for the algorithm");
	else if (!ctx || EVP_DigestSignInit(ctx, NULL, digest_of(alg), NULL, key) != 1 ||
		 EVP_DigestSign(ctx, out, len, data.data, data.len) != 1 ||
		 (alg == NET_ES256 && to_pair(out, len) < 0))
		hcp_fail(err, HCP_E_SYS, "the signature failed");
	else
		rc = 0;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return rc;
}

static int check(EVP_PKEY *key, enum net_alg alg, struct net_bytes data, struct net_bytes sig)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char der[80];
	size_t size;
	int good = 0;

	if (alg == NET_ES256) {
		if (to_der(sig, der, &size) < 0)
			goto out;
		sig = (struct net_bytes){der, size};
	}
	good = ctx && EVP_DigestVerifyInit(ctx, NULL, digest_of(alg), NULL, key) == 1 &&
	       EVP_DigestVerify(ctx, sig.data, sig.len, data.data, data.len) == 1;
out:
	EVP_MD_CTX_free(ctx);
	return good ? 0 : -1;
}

int net_verify(enum net_alg alg, const struct net_key *k, struct net_bytes data,
	       struct net_bytes signature, struct hcp_err *err)
{
	EVP_PKEY *key =
	    k->pem.data ? net_key_from_pem(k->pem, false) : net_key_from_numbers(alg, k);
	int rc = -1;

	if (!key || !net_key_fits(key, alg))
		hcp_fail(err, HCP_E_INVALID, "the key is no public key for the algorithm");
	else if (check(key, alg, data, signature) < 0)
		hcp_fail(err, HCP_E_DENIED, "the token's signature is wrong");
	else
		rc = 0;
	EVP_PKEY_free(key);
	ERR_clear_error();
	return rc;
}
