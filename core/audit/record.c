/* SPDX-License-Identifier: MIT */
/* What a record says, in an order that never changes and within a length that never fails: a
 * caller who sends a megabyte as a pack id must not be able to keep its denial out of the log.
 * Nothing here knows the file or the chain. */
#include "audit/record.h"

#include "audit/chain.h"
#include "base/json.h"
#include "base/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#define BODY_MAX (LIMIT_AUDIT_LINE - CHAIN_OVERHEAD)

/* Most bytes of a value as it stands in the line, quotes included. Legal names are far below;
 * even with every field at its limit the args' digest still fits. */
enum { CAP_NAME = 260, CAP_VERB = 400, CAP_PRINCIPAL = 1030, CAP_LIST = 520, CAP_TEXT = 2560 };
static_assert(13 * CAP_NAME + CAP_VERB + CAP_PRINCIPAL + 4 * CAP_LIST + 3 * CAP_TEXT + 1024 <
		  BODY_MAX,
	      "a record without args always fits");

static const char *const kind_names[] = {
    [AUDIT_NONE] = NULL,       [AUDIT_GENESIS] = "genesis",
    [AUDIT_BEGIN] = "begin",   [AUDIT_END] = "end",
    [AUDIT_DENY] = "deny",     [AUDIT_RECOVER] = "recover",
    [AUDIT_ROTATE] = "rotate", [AUDIT_CHECKPOINT] = "checkpoint",
    [AUDIT_REMOVE] = "remove",
};

const char *record_kind_name(enum audit_kind kind)
{
	if ((size_t)kind >= sizeof(kind_names) / sizeof(kind_names[0]))
		return NULL;
	return kind_names[kind];
}

static void add_key(struct buf *out, const char *key)
{
	if (out->len > 0)
		buf_putc(out, ',');
	buf_putc(out, '"');
	buf_puts(out, key);
	buf_puts(out, "\":");
}

/* No further back than one sequence, so that bytes which are no UTF-8 at all end it, too. */
static size_t character_start(const char *s, size_t n)
{
	for (size_t back = 0; back < 4 && n - back > 0; back++)
		if (((unsigned char)s[n - back] & 0xc0) != 0x80)
			return n - back;
	return n;
}

/* The longest beginning that fits, found from how much the rest grew by escaping, and a mark
 * with the whole length. */
static void add_cut(struct buf *out, const char *s, size_t len, size_t cap)
{
	size_t start = out->len, room = cap - 40, size;
	size_t keep = len < room ? len : character_start(s, room);

	for (;;) {
		json_add_string(out, s, keep);
		size = out->len - start;
		if (out->failed || size <= room)
			break;
		out->len = start;
		keep = character_start(s, keep * room / size);
	}
	if (out->failed)
		return;
	out->len--; /* the closing quote */
	buf_printf(out, "\u2026 (%zu bytes)\"", len);
}

static void add_bytes(struct buf *out, const char *key, const char *s, size_t len, size_t cap)
{
	size_t start;

	add_key(out, key);
	start = out->len;
	if (len < cap) {
		json_add_string(out, s, len);
		if (out->failed || out->len - start <= cap)
			return;
		out->len = start;
	}
	add_cut(out, s, len, cap);
}

static void add_text(struct buf *out, const char *key, const char *s, size_t cap)
{
	if (s)
		add_bytes(out, key, s, strlen(s), cap);
}

static void add_number(struct buf *out, const char *key, int64_t value)
{
	if (value < 0)
		return;
	add_key(out, key);
	buf_printf(out, "%" PRId64, value);
}

static void add_before_args(struct buf *out, const struct audit_record *r)
{
	add_text(out, "kind", record_kind_name(r->kind), CAP_NAME);
	add_text(out, "run_id", r->run_id, CAP_NAME);
	add_text(out, "parent_run_id", r->parent_run_id, CAP_NAME);
	add_text(out, "face", r->face, CAP_NAME);
	add_number(out, "uid", r->uid);
	add_number(out, "pid", r->pid);
	add_text(out, "session", r->session, CAP_NAME);
	add_text(out, "principal", r->principal, CAP_PRINCIPAL);
	add_text(out, "tenant", r->tenant, CAP_NAME);
	add_text(out, "project", r->project, CAP_NAME);
	add_text(out, "pack", r->pack, CAP_NAME);
	add_text(out, "pack_version", r->pack_version, CAP_NAME);
	add_text(out, "pack_digest", r->pack_digest, CAP_NAME);
	add_text(out, "policy_digest", r->policy_digest, CAP_NAME);
	add_text(out, "verb", r->verb, CAP_VERB);
}

static void add_after_args(struct buf *out, const struct audit_record *r)
{
	add_text(out, "mode", r->mode, CAP_NAME);
	add_number(out, "step", r->step);
	if (r->error)
		add_bytes(out, "error", r->error,
			  r->error_len ? r->error_len : strlen(r->error), CAP_TEXT);
	add_number(out, "exit_code", r->exit_code);
	add_number(out, "signal", r->signal);
	add_number(out, "duration_us", r->duration_us);
	add_number(out, "bytes_out", r->bytes_out);
	add_text(out, "tier", r->tier, CAP_NAME);
	add_text(out, "layers", r->layers, CAP_LIST);
	add_text(out, "limits_held", r->limits_held, CAP_LIST);
	add_text(out, "because", r->because, CAP_TEXT);
	add_text(out, "binding_id", r->binding_id, CAP_LIST);
	add_text(out, "revoke_error", r->revoke_error, CAP_LIST);
	add_text(out, "detail", r->detail, CAP_TEXT);
}

static void args_keys(struct buf *out, const json_t *args)
{
	/* jansson iterates through a pointer that isn't const, and changes nothing */
	union {
		const json_t *in;
		json_t *it;
	} u = {.in = args};
	const char *key;
	json_t *value;
	size_t n = 0;

	if (json_is_array(args)) {
		json_add_value(out, args);
		return;
	}
	buf_putc(out, '[');
	json_object_foreach(u.it, key, value)
	{
		if (n++ > 0)
			buf_putc(out, ',');
		json_add_cstring(out, key);
	}
	buf_putc(out, ']');
}

static void args_text(struct buf *out, const json_t *args, enum audit_args level)
{
	switch (level) {
	case AUDIT_ARGS_NONE:
		return;
	case AUDIT_ARGS_KEYS:
		args_keys(out, args);
		return;
	case AUDIT_ARGS_REDACTED:
		json_add_value(out, args);
		return;
	}
}

static void args_digest(struct buf *args)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(sum) + 1];
	size_t len = args->len;

	crypto_hash_sha256(sum, (const unsigned char *)args->data, len);
	sodium_bin2hex(hex, sizeof(hex), sum, sizeof(sum));
	args->len = 0;
	buf_printf(args, "{\"digest\":\"sha256:%s\",\"bytes\":%zu}", hex, len);
}

int record_body(const struct audit_record *r, enum audit_args level, struct buf *out,
		struct hcp_err *err)
{
	AUTO_BUF args = {0};
	AUTO_BUF rest = {0};

	if (!record_kind_name(r->kind))
		return hcp_fail(err, HCP_E_INVALID, "a record without a kind");
	add_before_args(out, r);
	add_after_args(&rest, r);
	if (r->args)
		args_text(&args, r->args, level);
	/* ,"args": and the comma before the rest */
	if (args.len > 0 && out->len + args.len + rest.len + 10 > BODY_MAX)
		args_digest(&args);
	if (args.len > 0) {
		add_key(out, "args");
		buf_add(out, args.data, args.len);
	}
	if (rest.len > 0) {
		buf_putc(out, ',');
		buf_add(out, rest.data, rest.len);
	}
	if (out->failed || args.failed || rest.failed)
		return hcp_fail_nomem(err);
	if (out->len > BODY_MAX)
		return hcp_fail(err, HCP_E_LIMIT, "a record of %zu bytes is too long",
				out->len);
	return 0;
}
