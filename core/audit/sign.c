/* SPDX-License-Identifier: MIT */
/* `hcp audit checkpoint`: the end of the chain, signed, to be kept where whoever can write the
 * log can't reach. The key lies among the root's secrets and never leaves this file. */
#include "audit/place.h"

#include "audit/inspect.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_PATH "secrets/audit_key"
#define SEED_HEX (2 * crypto_sign_SEEDBYTES)

struct key {
	unsigned char public[crypto_sign_PUBLICKEYBYTES];
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
};

static void key_wipe(struct key *k)
{
	sodium_memzero(k, sizeof(*k));
}
#define AUTO_KEY __attribute__((cleanup(key_wipe))) struct key

/* The file holds the seed in hex, so that it goes through `hcp secret set` like any other. */
static int read_seed(const struct root *root, char text[SEED_HEX + 2], struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FD fd = -1;
	struct stat st;
	ssize_t n;

	if (trust_open_file(root->fd, KEY_PATH, root->path, &fd, &why) < 0)
		return errno == ENOENT
			   ? hcp_fail(err, HCP_E_CONFIG,
				      "%s/%s is missing: `hcp audit key --create` makes one",
				      root->path, KEY_PATH)
			   : hcp_fail(err, why.code, "%s", why.text);
	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s/%s", root->path, KEY_PATH);
	if (st.st_mode & 077)
		return hcp_fail(err, HCP_E_CONFIG, "%s/%s is open to others: chmod 600 it",
				root->path, KEY_PATH);
	n = read(fd, text, SEED_HEX + 2);
	if (n < 0)
		return hcp_fail_errno(err, "%s/%s", root->path, KEY_PATH);
	if (n != SEED_HEX && !(n == SEED_HEX + 1 && text[SEED_HEX] == '\n'))
		return hcp_fail(err, HCP_E_CONFIG, "%s/%s: must be %d hex digits", root->path,
				KEY_PATH, (int)SEED_HEX);
	return 0;
}

static int key_load(const struct root *root, struct key *k, struct hcp_err *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES];
	char text[SEED_HEX + 2];
	size_t len = 0;
	int rc = read_seed(root, text, err);

	if (rc == 0 &&
	    (sodium_hex2bin(seed, sizeof(seed), text, SEED_HEX, NULL, &len, NULL) < 0 ||
	     len != sizeof(seed)))
		rc = hcp_fail(err, HCP_E_CONFIG, "%s/%s: must be %d hex digits", root->path,
			      KEY_PATH, (int)SEED_HEX);
	if (rc == 0)
		crypto_sign_seed_keypair(k->public, k->secret, seed);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(seed, sizeof(seed));
	return rc;
}

int audit_key_public(const struct root *root, char public_key[AUDIT_KEY_SIZE],
		     struct hcp_err *err)
{
	AUTO_KEY k = {0};

	public_key[0] = '\0';
	if (key_load(root, &k, err) < 0)
		return -1;
	sodium_bin2hex(public_key, AUDIT_KEY_SIZE, k.public, sizeof(k.public));
	return 0;
}

static int write_seed(int dir, const struct root *root, struct hcp_err *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES];
	char text[SEED_HEX + 2];
	struct hcp_err why = {0};
	AUTO_FD fd = -1;
	int rc;

	fd = fd_above_stdio(openat(dir, "audit_key",
				   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
	if (fd < 0)
		return hcp_fail_errno(err, "%s/%s", root->path, KEY_PATH);
	randombytes_buf(seed, sizeof(seed));
	sodium_bin2hex(text, sizeof(text), seed, sizeof(seed));
	text[SEED_HEX] = '\n';
	rc = fd_write_all(fd, text, SEED_HEX + 1, &why);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(seed, sizeof(seed));
	if (rc < 0)
		rc = hcp_fail(err, why.code, "%s/%s: %s", root->path, KEY_PATH, why.text);
	else if (fchmod(fd, 0600) < 0 || fsync(fd) < 0 || fsync(dir) < 0)
		rc = hcp_fail_errno(err, "%s/%s", root->path, KEY_PATH);
	/* half a key would be found by the next one who looks */
	if (rc < 0)
		unlinkat(dir, "audit_key", 0);
	return rc;
}

int audit_key_create(const struct root *root, char public_key[AUDIT_KEY_SIZE],
		     struct hcp_err *err)
{
	AUTO_FD dir = -1;

	public_key[0] = '\0';
	if (sodium_init() < 0)
		return hcp_fail(err, HCP_E_SYS, "libsodium doesn't start");
	if (mkdirat(root->fd, "secrets", 0700) < 0 && errno != EEXIST)
		return hcp_fail_errno(err, "%s/secrets", root->path);
	if (trust_open_dir(root->fd, "secrets", root->path, &dir, err) < 0 ||
	    write_seed(dir, root, err) < 0)
		return -1;
	return audit_key_public(root, public_key, err);
}

/* The signed bytes name their purpose, so that no signature of anything else fits. */
static size_t message(const struct audit_checkpoint *c, char out[200])
{
	int n = snprintf(out, 200, "hcp audit checkpoint 1\n%" PRIu64 "\n%s\n%s\n", c->seq,
			 c->time, c->hash);

	return n > 0 && n < 200 ? (size_t)n : 0;
}

static int append_checkpoint(struct audit *a, struct audit_checkpoint *out, struct hcp_err *err)
{
	const struct audit_record r = {
	    .kind = AUDIT_CHECKPOINT,
	    .uid = geteuid(),
	    .pid = getpid(),
	    .step = -1,
	    .exit_code = -1,
	    .signal = -1,
	    .duration_us = -1,
	    .bytes_out = -1,
	};
	struct chain_head at;

	if (place_append(a, &r, &at, err) < 0)
		return -1;
	out->seq = at.tip.seq;
	memcpy(out->time, at.tip.time, sizeof(out->time));
	memcpy(out->hash, at.tip.hash, sizeof(out->hash));
	return 0;
}

int audit_sign(struct audit *a, const struct root *root, struct buf *out, struct hcp_err *err)
{
	unsigned char sig[crypto_sign_BYTES];
	char text[200], public[AUDIT_KEY_SIZE], hex[2 * sizeof(sig) + 1];
	struct audit_checkpoint c = {0};
	AUTO_KEY k = {0};

	/* the key first: without one there is nothing to record */
	if (key_load(root, &k, err) < 0 || append_checkpoint(a, &c, err) < 0)
		return -1;
	crypto_sign_detached(sig, NULL, (const unsigned char *)text, message(&c, text),
			     k.secret);
	sodium_bin2hex(public, sizeof(public), k.public, sizeof(k.public));
	sodium_bin2hex(hex, sizeof(hex), sig, sizeof(sig));
	buf_printf(out,
		   "{\"hcp\":1,\"seq\":%" PRIu64 ",\"time\":\"%s\",\"hash\":\"%s\","
		   "\"public_key\":\"%s\",\"signature\":\"%s\"}\n",
		   c.seq, c.time, c.hash, public, hex);
	return out->failed ? hcp_fail_nomem(err) : 0;
}

static bool take(const json_t *v, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(v, key));

	if (!s || strlen(s) != size - 1)
		return false;
	memcpy(out, s, size);
	return true;
}

static bool unhex(const char *hex, unsigned char *out, size_t size)
{
	size_t len = 0;

	return sodium_hex2bin(out, size, hex, strlen(hex), NULL, &len, NULL) == 0 &&
	       len == size;
}

static bool holds(const struct audit_checkpoint *c, const char *signature,
		  const char *public_key)
{
	unsigned char sig[crypto_sign_BYTES], public[crypto_sign_PUBLICKEYBYTES];
	char text[200];

	return unhex(signature, sig, sizeof(sig)) &&
	       unhex(public_key, public, sizeof(public)) &&
	       crypto_sign_verify_detached(sig, (const unsigned char *)text, message(c, text),
					   public) == 0;
}

int audit_checkpoint_read(const char *text, size_t len, const char *public_key,
			  struct audit_checkpoint *out, struct hcp_err *err)
{
	char signature[2 * crypto_sign_BYTES + 1];
	struct audit_checkpoint c = {0};
	json_t *v, *seq;
	bool whole;

	memset(out, 0, sizeof(*out));
	v = json_parse(text, len, 4, err);
	if (!v)
		return -1;
	seq = json_object_get(v, "seq");
	whole = json_integer_value(json_object_get(v, "hcp")) == 1 && json_is_integer(seq) &&
		json_integer_value(seq) > 0 && take(v, "time", c.time, sizeof(c.time)) &&
		take(v, "hash", c.hash, sizeof(c.hash)) &&
		take(v, "signature", signature, sizeof(signature));
	c.seq = (uint64_t)json_integer_value(seq);
	json_decref(v);
	if (!whole)
		return hcp_fail(err, HCP_E_INVALID, "no checkpoint");
	if (!holds(&c, signature, public_key))
		return hcp_fail(err, HCP_E_INVALID, "the checkpoint isn't signed by that key");
	*out = c;
	return 0;
}
