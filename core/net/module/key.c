/* SPDX-License-Identifier: MIT */
/* Keys out of PEM text and out of a JWK's numbers. A key of another kind than the algorithm
 * wants, or a weak one, is none. */
#include "net/module/module.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <string.h>

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192

bool net_key_fits(EVP_PKEY *key, enum net_alg alg)
{
	char group[32] = "";
	int bits = EVP_PKEY_get_bits(key);

	switch (alg) {
	case NET_RS256:
		return EVP_PKEY_is_a(key, "RSA") && bits >= RSA_BITS_MIN &&
		       bits <= RSA_BITS_MAX;
	case NET_ES256:
		return EVP_PKEY_is_a(key, "EC") &&
		       EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1 &&
		       strcmp(group, "prime256v1") == 0;
	case NET_EDDSA:
		return EVP_PKEY_is_a(key, "ED25519") == 1;
	case NET_ALG_NONE:
		break;
	}
	return false;
}

/* No key here has a passphrase, and nobody is asked for one. */
static int no_passphrase(char *out, int size, int rw, void *user)
{
	(void)out, (void)size, (void)rw, (void)user;
	return -1;
}

EVP_PKEY *net_key_from_pem(struct net_bytes pem, bool secret)
{
	BIO *in = pem.len < 65536 ? BIO_new_mem_buf(pem.data, (int)pem.len) : NULL;
	EVP_PKEY *key = NULL;

	if (in && secret)
		key = PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL);
	else if (in)
		key = PEM_read_bio_PUBKEY(in, NULL, no_passphrase, NULL);
	BIO_free(in);
	return key;
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return key;
}

static EVP_PKEY *rsa(const struct net_key *k)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	BIGNUM *n =
	    k->a.len <= RSA_BITS_MAX / 8 ? BN_bin2bn(k->a.data, (int)k->a.len, NULL) : NULL;
	BIGNUM *e = k->b.len <= 8 ? BN_bin2bn(k->b.data, (int)k->b.len, NULL) : NULL;
	EVP_PKEY *key = NULL;

	if (build && n && e && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1)
		key = from_params("RSA", build);
	BN_free(n);
	BN_free(e);
	OSSL_PARAM_BLD_free(build);
	return key;
}

static EVP_PKEY *ec(const struct net_key *k)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	unsigned char point[65] = {4};
	EVP_PKEY *key = NULL;

	if (build && k->a.len == 32 && k->b.len == 32) {
		memcpy(point + 1, k->a.data, 32);
		memcpy(point + 33, k->b.data, 32);
		if (OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME,
						    "prime256v1", 0) == 1 &&
		    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point,
						     sizeof(point)) == 1)
			key = from_params("EC", build);
	}
	OSSL_PARAM_BLD_free(build);
	return key;
}

EVP_PKEY *net_key_from_numbers(enum net_alg alg, const struct net_key *k)
{
	switch (alg) {
	case NET_RS256:
		return rsa(k);
	case NET_ES256:
		return ec(k);
	case NET_EDDSA:
		return k->a.len == 32
			   ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, k->a.data, 32)
			   : NULL;
	case NET_ALG_NONE:
		break;
	}
	return NULL;
}
