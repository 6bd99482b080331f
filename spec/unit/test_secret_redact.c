/* SPDX-License-Identifier: MIT */
/* Redaction: a secret is gone in every encoding and wherever it begins, and nothing else is. */
#include "secret/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const char token[] = "p\"ss/w\xc3\xb6rd\\ 42+\xf0\x9f\x94\x91!";
static struct redact list;

static void add(struct redact *r, const void *bytes, size_t len)
{
	struct secret *s = secret_new(len);

	assert_non_null(s);
	memcpy(secret_bytes(s), bytes, len);
	assert_int_equal(redact_add(r, s), 0);
	secret_drop(s);
}

static int setup(void **state)
{
	(void)state;
	add(&list, token, strlen(token));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	redact_clear(&list);
	return 0;
}

static const char *clean(const char *text, size_t len)
{
	static char out[8192];
	AUTO_BUF b = {0};

	redact_text(&list, text, len, &b);
	assert_false(b.failed);
	assert_true(b.len < sizeof(out));
	memcpy(out, b.data ? b.data : "", b.len);
	out[b.len] = '\0';
	return out;
}

static const char *clean_text(const char *text)
{
	return clean(text, strlen(text));
}

static void plain(void **state)
{
	char text[256];

	(void)state;
	snprintf(text, sizeof(text), "a %s%s b", token, token);
	assert_string_equal(clean_text(text), "a [redacted][redacted] b");
	assert_string_equal(clean_text(token), "[redacted]");
	assert_string_equal(clean(token, strlen(token) - 1),
			    "p\"ss/w\xc3\xb6rd\\ 42+\xf0\x9f\x94\x91");
	assert_string_equal(clean_text(""), "");
	assert_string_equal(clean_text("nothing of it"), "nothing of it");
}

static void json_escapes(void **state)
{
	(void)state;
	assert_string_equal(clean_text("x p\\\"ss/w\xc3\xb6rd\\\\ 42+\xf0\x9f\x94\x91! y"),
			    "x [redacted] y");
	assert_string_equal(clean_text("p\\\"ss\\/w\\u00f6rd\\\\ 42+\\ud83d\\udd11!"),
			    "[redacted]");
	assert_string_equal(
	    clean_text(
		"\\u0070\\u0022\\u0073\\u0073\\u002F\\u0077\\u00F6\\u0072\\u0064\\u005c\\u0020"
		"\\u0034\\u0032\\u002b\\uD83D\\uDD11\\u0021"),
	    "[redacted]");
	assert_string_equal(clean_text("p\\u0022ss/w\\u00f6rd\\\\ 42+\\ud83d!"),
			    "p\\u0022ss/w\\u00f6rd\\\\ 42+\\ud83d!");
}

static void percent(void **state)
{
	(void)state;
	assert_string_equal(clean_text("u=p%22ss%2Fw%C3%B6rd%5C%2042%2B%F0%9F%94%91%21&x=1"),
			    "u=[redacted]&x=1");
	assert_string_equal(clean_text("u=p%22ss/w%c3%b6rd%5c+42%2b%f0%9f%94%91!"),
			    "u=[redacted]");
	assert_string_equal(clean_text("u=p%22ss/w%c3%b6rd%5c+42%2b%f0%9f%94%91?"),
			    "u=p%22ss/w%c3%b6rd%5c+42%2b%f0%9f%94%91?");
}

static void hexadecimal(void **state)
{
	char hex[256], text[300];
	(void)state;

	sodium_bin2hex(hex, sizeof(hex), (const unsigned char *)token, strlen(token));
	snprintf(text, sizeof(text), "f%s0", hex);
	assert_string_equal(clean_text(text), "f[redacted]0");
	for (char *p = text; *p; p++)
		*p = *p >= 'a' && (p - text) % 2 ? (char)(*p - 32) : *p;
	assert_string_equal(clean_text(text), "f[redacted]0");
}

/* Wherever the secret stands in what is encoded: no three digits in a row that tell of it stay.
 */
static void base64_of_every_alignment(void **state)
{
	static const int variants[] = {sodium_base64_VARIANT_ORIGINAL,
				       sodium_base64_VARIANT_URLSAFE_NO_PADDING};
	char raw[256], b64[512], want[64];

	(void)state;
	for (size_t before = 0; before < 7; before++)
		for (size_t after = 0; after < 4; after++)
			for (size_t v = 0; v < 2; v++) {
				const char *got, *cut;

				memset(raw, 'A', sizeof(raw));
				memcpy(raw + before, token, strlen(token));
				sodium_bin2base64(b64, sizeof(b64), (unsigned char *)raw,
						  before + strlen(token) + after, variants[v]);
				got = clean_text(b64);
				cut = strstr(got, "[redacted]");
				if (!cut)
					fail_msg("%zu %zu: %s", before, after, got);
				/* a digit in front is shared with its neighbour */
				assert_true((size_t)(cut - got) <= (before * 8 + 5) / 6 + 1);
				assert_true(strlen(cut + 10) <= (after * 8 + 5) / 6 + 2);
				snprintf(want, sizeof(want), "%.*s", (int)(cut - got), b64);
				assert_memory_equal(got, want, strlen(want));
			}
}

static void several_and_those_above(void **state)
{
	struct redact inner = {.above = &list};
	AUTO_BUF b = {0};
	char text[256];

	(void)state;
	add(&inner, "second-secret", 13);
	add(&inner, "second", 6);
	snprintf(text, sizeof(text), "%s second-secret second", token);
	redact_text(&inner, text, strlen(text), &b);
	assert_string_equal(b.data, "[redacted] [redacted] [redacted]");
	assert_true(redact_has(&inner));
	redact_clear(&inner);
	assert_false(redact_has(&inner));
	assert_true(redact_has(&list));
}

static const char *json(const char *text)
{
	static char out[1024];
	AUTO_BUF b = {0};
	struct json_error_t why;
	json_t *parsed;
	char *edge = sodium_malloc(strlen(text)); /* nothing may be read behind it */

	assert_non_null(edge);
	memcpy(edge, text, strlen(text));
	redact_json(&list, edge, strlen(text), &b);
	sodium_free(edge);
	assert_false(b.failed);
	snprintf(out, sizeof(out), "%s", b.data);
	parsed = json_loads(out, JSON_DECODE_ANY, &why);
	if (!parsed)
		fail_msg("no JSON any more: %s", out);
	json_decref(parsed);
	return out;
}

static void json_stays_json(void **state)
{
	(void)state;
	add(&list, "27182818", 8);
	assert_string_equal(
	    json("{\"a\":[1,27182818,-1.27182818e5,true,null],\"b 27182818\":{}}"),
	    "{\"a\":[1,\"[redacted]\",\"[redacted]\",true,null],\"b [redacted]\":{}}");
	assert_string_equal(json("\"x p\\\"ss/w\\u00f6rd\\\\ 42+\\ud83d\\udd11! y\""),
			    "\"x [redacted] y\"");
	assert_string_equal(json("null"), "null");
	assert_string_equal(json("27182818"), "\"[redacted]\"");
	assert_string_equal(json("\"\\\\27182818\\\"\""), "\"\\\\[redacted]\\\"\"");
	/* an escape is never cut in two */
	add(&list, "\\0041234567", 11);
	add(&list, "A12345678", 9);
	add(&list, "ends\"with\\", 10);
	assert_string_equal(json("\"\\\\u004112345678\""), "\"[redacted]\"");
	assert_string_equal(json("\"ends\\\"with\\\\\""), "\"[redacted]\"");
	assert_string_equal(json("\"\\\\0041234567\""), "\"[redacted]\"");
	assert_string_equal(json("\"keeps its spelling \\u0041\""),
			    "\"keeps its spelling \\u0041\"");
	assert_string_equal(json("12.50"), "12.50");
	assert_string_equal(json("[]"), "[]");
	assert_string_equal(json("[ \"a\" , 2 ]"), "[ \"a\" , 2 ]");
}

static void values(void **state)
{
	json_t *v = json_pack("{s:s,s:[s,i]}", "k27182818", "x", "l", "--pin=27182818", 5),
	       *got;
	char *text;

	(void)state;
	add(&list, "27182818", 8);
	got = redact_value(&list, v);
	assert_non_null(got);
	text = json_dumps(got, JSON_COMPACT);
	assert_string_equal(text, "{\"k[redacted]\":\"x\",\"l\":[\"--pin=[redacted]\",5]}");
	free(text);
	json_decref(got);
	json_decref(v);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(plain),
	    T(json_escapes),
	    T(percent),
	    T(hexadecimal),
	    T(base64_of_every_alignment),
	    T(several_and_those_above),
	    T(json_stays_json),
	    T(values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
