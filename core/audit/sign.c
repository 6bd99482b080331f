/* SPDX-License-Identifier: MIT */
/* `hcp audit checkpoint`: the end of the chain, signed, to be kept where whoever can write the
 * log can't reach. The key lies among the root's secrets. */
#include "audit/place.h"

#include "audit/inspect.h"
#include "base/json.h"
#include "secret/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY     "audit_key"
#define COMMAND "hcp audit key --create"

int audit_key_public(const struct root *root, char public_key[AUDIT_KEY_SIZE],
		     struct hcp_err *err)
{
	AUTO_SIGN_KEY k = {0};

	public_key[0] = '\0';
	if (sign_key_load(root, KEY, COMMAND, &k, err) < 0)
		return -1;
	sign_key_public(&k, public_key);
	return 0;
}

int audit_key_create(const struct root *root, char public_key[AUDIT_KEY_SIZE],
		     struct hcp_err *err)
{
	public_key[0] = '\0';
	return sign_key_create(root, KEY, err) < 0 ? -1
						   : audit_key_public(root, public_key, err);
}

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
	char text[200], public[SIGN_KEY_SIZE], signature[SIGN_SIZE];
	struct audit_checkpoint c = {0};
	AUTO_SIGN_KEY k = {0};

	/* the key first: without one there is nothing to record */
	if (sign_key_load(root, KEY, COMMAND, &k, err) < 0 || append_checkpoint(a, &c, err) < 0)
		return -1;
	sign_text(&k, text, message(&c, text), signature);
	sign_key_public(&k, public);
	buf_printf(out,
		   "{\"hcp\":1,\"seq\":%" PRIu64 ",\"time\":\"%s\",\"hash\":\"%s\","
		   "\"public_key\":\"%s\",\"signature\":\"%s\"}\n",
		   c.seq, c.time, c.hash, public, signature);
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

int audit_checkpoint_read(const char *text, size_t len, const char *public_key,
			  struct audit_checkpoint *out, struct hcp_err *err)
{
	char signature[SIGN_SIZE], signed_text[200];
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
	if (!sign_holds(signed_text, message(&c, signed_text), signature, public_key))
		return hcp_fail(err, HCP_E_INVALID, "the checkpoint isn't signed by that key");
	*out = c;
	return 0;
}
