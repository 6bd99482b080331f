/* SPDX-License-Identifier: MIT */
#include "pack/signature.h"

#include "base/json.h"
#include "pack/manifest.h"

#include <stdio.h>
#include <string.h>

/* What is signed: the digest of every file but pack.sig itself, id and version being in
 * pack.yaml. */
static size_t message(const struct pack *p, char out[128])
{
	char digest[PACK_DIGEST_SIZE];
	int n;

	pack_digest(p, PACK_SIGNATURE, digest);
	n = snprintf(out, 128, "hcp pack signature 1\n%s\n", digest);
	return n > 0 ? (size_t)n : 0;
}

static const char *member(const json_t *v, const char *key, size_t size)
{
	const char *s = json_string_value(json_object_get(v, key));

	return s && strlen(s) == size - 1 ? s : NULL;
}

int signature_check(const struct pack *p, char signer[SIGN_KEY_SIZE], struct hcp_err *err)
{
	const struct pack_file *f = pack_file(p, PACK_SIGNATURE);
	const char *key, *signature;
	char text[128];
	json_t *v;
	bool holds;

	signer[0] = '\0';
	if (!f)
		return 0;
	v = f->text ? json_parse(f->text, f->size, 4, NULL) : NULL;
	key = member(v, "public_key", SIGN_KEY_SIZE);
	signature = member(v, "signature", SIGN_SIZE);
	holds = key && signature && json_object_size(v) == 3 &&
		json_integer_value(json_object_get(v, "hcp")) == 1 &&
		sign_holds(text, message(p, text), signature, key);
	if (holds)
		memcpy(signer, key, SIGN_KEY_SIZE);
	json_decref(v);
	return holds ? 0
		     : hcp_fail(err, HCP_E_DENIED,
				"pack %s: " PACK_SIGNATURE " doesn't sign these files", p->id);
}

int signature_make(const struct pack *p, const struct sign_key *k, struct buf *out,
		   struct hcp_err *err)
{
	char text[128], key[SIGN_KEY_SIZE], signature[SIGN_SIZE];

	sign_text(k, text, message(p, text), signature);
	sign_key_public(k, key);
	buf_printf(out, "{\"hcp\":1,\"public_key\":\"%s\",\"signature\":\"%s\"}\n", key,
		   signature);
	return out->failed ? hcp_fail_nomem(err) : 0;
}
