/* SPDX-License-Identifier: MIT */
/* Any bytes: the scanner and jansson agree on what is JSON, apart from what a value can't hold
 * and how deep a text may go, and what the scanner copies is the same text again. */
#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* JSON, but no value of jansson's: a number out of range, a key with a NUL inside. */
static bool holds_too_much(const json_error_t *why)
{
	enum json_error_code code = json_error_code(why);

	return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

/* Deeper than asked for; or a NUL byte, which jansson passes over behind a number. */
static bool is_stricter(const struct json_scan *scan, const char *text, size_t size)
{
	if (scan->at < size && text[scan->at] == '\0')
		return true;
	return strcmp(scan->why, "nested too deeply") == 0;
}

static void check_agreement(bool mine, const struct json_scan *scan, const char *text,
			    size_t size)
{
	json_error_t why;
	json_t *v = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);

	if (v && !mine && !is_stricter(scan, text, size))
		abort();
	if (!v && mine && !holds_too_much(&why))
		abort();
	json_decref(v);
}

/* Where both read a value, it is the same. */
static void check_value(const char *text, size_t size)
{
	struct hcp_err err = {0};
	json_error_t why;
	json_t *mine = json_parse(text, size, LIMIT_STDOUT_DEPTH, &err);
	json_t *v = json_loadb(text, size,
			       JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &why);

	if (mine && (!v || !json_equal(mine, v)))
		abort();
	json_decref(mine);
	json_decref(v);
}

static void check_copy(const struct buf *out, char first)
{
	AUTO_BUF again = {0};
	struct json_scan scan;

	if (!out->len || out->data[0] != first)
		abort();
	if (json_scan(out->data, out->len, LIMIT_STDOUT_DEPTH, &again, &scan) != JSON_GOOD)
		abort();
	if (again.len != out->len || memcmp(again.data, out->data, out->len) != 0)
		abort();
}

/* What is written is JSON, and reads back to what it was. */
static void check_writer(const char *text, size_t size)
{
	struct hcp_err err = {0};
	json_t *v = json_parse(text, size, LIMIT_ENVELOPE_DEPTH, &err), *again;
	AUTO_BUF out = {0};

	if (!v && (err.code != HCP_E_INVALID || !err.text[0] || strchr(err.text, '\n')))
		abort();
	if (!v)
		return;
	json_add_value(&out, v);
	again = json_parse(out.data, out.len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!again || !json_equal(v, again))
		abort();
	json_decref(again);
	json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* exactly as long as it is, for the sanitizer */
	AUTO_BUF out = {0};
	struct json_scan scan;
	bool good;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	good = json_scan(text, size, LIMIT_STDOUT_DEPTH, &out, &scan) == JSON_GOOD;
	if (good != !scan.why || scan.at > size)
		abort();
	check_agreement(good, &scan, text, size);
	if (good)
		check_copy(&out, scan.first);
	check_value(text, size);
	check_writer(text, size);
	free(text);
	return 0;
}
