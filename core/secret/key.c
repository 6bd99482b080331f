/* SPDX-License-Identifier: MIT */
#include "secret/key.h"

#include "base/fd.h"
#include "base/trust.h"
#include "secret/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define SEED_HEX (2 * crypto_sign_SEEDBYTES)

_Static_assert(sizeof(((struct sign_key *)0)->public) == crypto_sign_PUBLICKEYBYTES &&
		   sizeof(((struct sign_key *)0)->secret) == crypto_sign_SECRETKEYBYTES &&
		   SIGN_SIZE == 2 * crypto_sign_BYTES + 1,
	       "the sizes of Ed25519");

void sign_key_wipe(struct sign_key *k)
{
	sodium_memzero(k, sizeof(*k));
}

static bool unhex(const char *hex, size_t hex_len, unsigned char *out, size_t size)
{
	size_t len = 0;

	return sodium_hex2bin(out, size, hex, hex_len, NULL, &len, NULL) == 0 && len == size;
}

int sign_key_load(const struct root *root, const char *name, const char *command,
		  struct sign_key *k, struct hcp_err *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES];
	struct secret *text = NULL;
	struct hcp_err why = {0};
	bool good;

	memset(k, 0, sizeof(*k));
	errno = 0;
	if (secret_read(root, name, &text, &why) < 0)
		return errno == ENOENT ? hcp_fail(err, HCP_E_CONFIG,
						  "%s/secrets/%s is missing: `%s` makes one",
						  root->path, name, command)
				       : hcp_fail(err, why.code, "%s", why.text);
	good = unhex((const char *)secret_bytes(text), secret_len(text), seed, sizeof(seed));
	secret_drop(text);
	if (good)
		crypto_sign_seed_keypair(k->public, k->secret, seed);
	sodium_memzero(seed, sizeof(seed));
	return good ? 0
		    : hcp_fail(err, HCP_E_CONFIG, "%s/secrets/%s: must be %d hex digits",
			       root->path, name, (int)SEED_HEX);
}

static int write_seed(int dir, const char *name, struct hcp_err *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES];
	char text[SEED_HEX + 2];
	AUTO_FD fd = fd_above_stdio(
	    openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
	int rc;

	if (fd < 0)
		return hcp_fail(err, HCP_E_SYS, "%s", strerrordesc_np(errno));
	randombytes_buf(seed, sizeof(seed));
	sodium_bin2hex(text, sizeof(text), seed, sizeof(seed));
	text[SEED_HEX] = '\n';
	rc = fd_write_all(fd, text, SEED_HEX + 1, err);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(seed, sizeof(seed));
	if (rc == 0 && (fchmod(fd, 0600) < 0 || fsync(fd) < 0 || fsync(dir) < 0))
		rc = hcp_fail(err, HCP_E_SYS, "%s", strerrordesc_np(errno));
	/* half a key would be found by the next one who looks */
	if (rc < 0)
		unlinkat(dir, name, 0);
	return rc;
}

int sign_key_create(const struct root *root, const char *name, struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FD dir = -1;

	if (sodium_init() < 0)
		return hcp_fail(err, HCP_E_SYS, "libsodium doesn't start");
	if (mkdirat(root->fd, "secrets", 0700) < 0 && errno != EEXIST)
		return hcp_fail_errno(err, "%s/secrets", root->path);
	if (trust_open_dir(root->fd, "secrets", root->path, &dir, err) < 0)
		return -1;
	if (write_seed(dir, name, &why) < 0)
		return hcp_fail(err, why.code, "%s/secrets/%s: %s", root->path, name, why.text);
	return 0;
}

void sign_key_public(const struct sign_key *k, char out[SIGN_KEY_SIZE])
{
	sodium_bin2hex(out, SIGN_KEY_SIZE, k->public, sizeof(k->public));
}

void sign_text(const struct sign_key *k, const char *text, size_t len, char out[SIGN_SIZE])
{
	unsigned char sig[crypto_sign_BYTES];

	crypto_sign_detached(sig, NULL, (const unsigned char *)text, len, k->secret);
	sodium_bin2hex(out, SIGN_SIZE, sig, sizeof(sig));
}

bool sign_holds(const char *text, size_t len, const char *signature, const char *public_key)
{
	unsigned char sig[crypto_sign_BYTES], public[crypto_sign_PUBLICKEYBYTES];

	return unhex(signature, strlen(signature), sig, sizeof(sig)) &&
	       unhex(public_key, strlen(public_key), public, sizeof(public)) &&
	       crypto_sign_verify_detached(sig, (const unsigned char *)text, len, public) == 0;
}
