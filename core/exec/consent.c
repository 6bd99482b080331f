/* SPDX-License-Identifier: MIT */
/* A person's consent: to one principal, pack, command and set of arguments, told apart by a
 * digest over all of them, and good once. What is asked is made here, from what would run; the
 * answer comes back as the digest and is compared with that of the run that wants to redeem it.
 * A script's or a model's word must never get here. */
#include "exec/exec.h"

#include "pack/schema.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_TEXT (2 * crypto_hash_sha256_BYTES + 1)

/* A list of values has one text: nothing in one field can pass for another. */
static char *canonical(const struct run *r)
{
	const struct principal *p = &r->principal;
	json_t *all =
	    json_pack("[s,s,s?,s,s,s,b,O]", p->id, p->tenant, p->project, r->pack->id,
		      r->pack->digest, r->command->key, r->mode == RUN_MODE_MOCK, r->args);
	char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(all);
	return text;
}

static int digest_of(const struct run *r, char out[DIGEST_TEXT])
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char *text = canonical(r);

	if (!text)
		return -1;
	crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	free(text);
	sodium_bin2hex(out, DIGEST_TEXT, hash, sizeof(hash));
	return 0;
}

/* Secrets are part of what was agreed to, but nobody is shown them. */
static json_t *shown_args(const struct run *r)
{
	json_t *shown = r->command->args ? schema_without_secrets(r->command->args, r->args)
					 : json_incref(r->args);
	json_t *clean;

	if (!shown || !redact_has(&r->redact))
		return shown;
	clean = redact_value(&r->redact, shown);
	json_decref(shown);
	return clean;
}

static json_t *question(const struct run *r, const char *digest)
{
	const struct principal *p = &r->principal;
	json_t *args = shown_args(r);

	if (!args)
		return NULL;
	return json_pack("{s:s,s:s,s:s,s:s*,s:s,s:s,s:s,s:b,s:o}", "digest", digest,
			 "principal", p->id, "tenant", p->tenant, "project_id", p->project,
			 "pack_id", r->pack->id, "verb_key", r->command->key, "summary",
			 r->command->summary, "hidden", !json_equal(args, r->args), "args",
			 args);
}

int consent_redeem(struct run *r)
{
	char digest[DIGEST_TEXT], *given = r->call->consent;

	if (!given || r->parent || digest_of(r, digest) < 0)
		return -1;
	if (strlen(given) == strlen(digest) &&
	    sodium_memcmp(given, digest, strlen(digest)) == 0) {
		*given = '\0';
		return 0;
	}
	r->question = question(r, digest);
	return -1;
}
