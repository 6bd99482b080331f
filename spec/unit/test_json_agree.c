/* SPDX-License-Identifier: MIT */
/* Values grown from a fixed seed, written, then damaged: the scanner and jansson say the same
 * about each text, and what was written reads back to what it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

#define VALUES  4000
#define DAMAGES 12

static uint32_t next(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

static json_t *grow_string(uint32_t *seed)
{
	static const char *const parts[] = {"a",
					    "\"",
					    "\\",
					    "/",
					    "\n",
					    "\x1f",
					    "\xc3\xa9",
					    "\xe2\x80\xa8",
					    "\x7f",
					    " ",
					    "\xf0\x9f\x98\x80",
					    "u0041"};
	AUTO_BUF text = {0};

	for (uint32_t n = next(seed, 5); n > 0; n--)
		buf_puts(&text, parts[next(seed, sizeof(parts) / sizeof(parts[0]))]);
	if (next(seed, 16) == 0)
		buf_putc(&text, '\0');
	return json_stringn(text.len ? text.data : "", text.len);
}

static json_t *grow_number(uint32_t *seed)
{
	static const double reals[] = {0.1, -0.0, 1e21, 5e-324, 1.7976931348623157e308,
				       2.5, -3e-7};
	static const json_int_t ints[] = {0, -1, 10, 9007199254740993, INT64_MAX, INT64_MIN};

	return next(seed, 2) ? json_real(reals[next(seed, 7)])
			     : json_integer(ints[next(seed, 6)]);
}

static json_t *grow(uint32_t *seed, unsigned depth)
{
	uint32_t kind = next(seed, depth < 4 ? 7 : 5);
	char key[8] = "k";
	json_t *v;

	if (kind < 2)
		return kind ? grow_string(seed) : grow_number(seed);
	if (kind < 5)
		return kind == 2 ? json_null() : json_boolean(kind == 3);
	v = kind == 5 ? json_array() : json_object();
	for (uint32_t n = next(seed, 4); n > 0; n--) {
		key[1] = (char)('0' + n);
		if (kind == 5)
			json_array_append_new(v, grow(seed, depth + 1));
		else
			json_object_set_new(v, key, grow(seed, depth + 1));
	}
	return v;
}

/* The values, too, are jansson's. */
static void reads_alike(const char *text, size_t len)
{
	struct hcp_err err = {0};
	json_error_t why;
	json_t *v = json_loadb(text, len,
			       JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &why);
	json_t *mine = json_parse(text, len, LIMIT_STDOUT_DEPTH, &err);

	if (v ? !mine || !json_equal(v, mine) : mine != NULL)
		fail_msg("%.*s: %s, %s", (int)len, text, v ? "a value" : why.text,
			 mine ? "another value" : err.text);
	json_decref(mine);
	json_decref(v);
}

static void agree(const char *text, size_t len, unsigned counts[2])
{
	struct json_scan scan;
	json_error_t why;
	json_t *v = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	bool mine = json_scan(text, len, LIMIT_STDOUT_DEPTH, NULL, &scan) == JSON_GOOD;

	/* JSON, but beyond what a value holds */
	if (!v && mine && json_error_code(&why) == json_error_numeric_overflow)
		return;
	if (mine != (v != NULL))
		fail_msg("%.*s: %s", (int)len, text, v ? scan.why : why.text);
	counts[mine]++;
	json_decref(v);
	reads_alike(text, len);
}

/* One byte changed, left out or put in, or a piece doubled. No NUL: see below. */
static void damage(uint32_t *seed, const struct buf *from, struct buf *out)
{
	static const char bytes[] = "{}[],:\"\\0123456789.eE+-tfnu \n\x01\x80\xc3\xff";
	size_t at = next(seed, (uint32_t)from->len), size = 1 + next(seed, 4);
	uint32_t how = next(seed, 4);
	char c = bytes[next(seed, sizeof(bytes) - 1)];

	size = size < from->len - at ? size : from->len - at;
	out->len = 0;
	buf_add(out, from->data, at);
	if (how < 2)
		buf_putc(out, c);
	if (how == 2)
		buf_add(out, from->data + at, size);
	if (how == 1 || how == 2)
		buf_add(out, from->data + at, from->len - at);
	else
		buf_add(out, from->data + at + 1, from->len - at - 1);
}

static void written_and_damaged(void **state)
{
	unsigned counts[2] = {0, 0};
	AUTO_BUF text = {0}, again = {0}, broken = {0};
	uint32_t seed = 20;

	(void)state;
	for (unsigned i = 0; i < VALUES; i++) {
		json_t *v = grow(&seed, 0), *back;
		struct hcp_err err = {0};
		struct json_scan scan;

		text.len = again.len = 0;
		json_add_value(&text, v);
		/* compact already: the copy is the text */
		assert_int_equal(json_scan(text.data, text.len, 64, &again, &scan), JSON_GOOD);
		assert_int_equal(again.len, text.len);
		assert_memory_equal(again.data, text.data, text.len);
		back = json_parse(text.data, text.len, 64, &err);
		if (!back || !json_equal(v, back))
			fail_msg("%s: %s", text.data, back ? "differs" : err.text);
		for (unsigned n = 0; n < DAMAGES; n++) {
			damage(&seed, &text, &broken);
			agree(broken.data, broken.len, counts);
		}
		json_decref(back);
		json_decref(v);
	}
	/* neither of the two is the rule */
	assert_true(counts[0] > VALUES && counts[1] > VALUES);
}

/* jansson passes over a NUL behind a number, the scanner doesn't. */
static void a_nul_byte_is_never_json(void **state)
{
	static const struct {
		const char *text;
		size_t len, at;
	} rows[] = {
	    {"1\0", 2, 1},         {"[12\0,3]", 7, 3}, {"[1\0]", 4, 2},
	    {"{\"a\":1\0}", 8, 6}, {"\0", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hcp_err err = {0};
		struct json_scan scan;

		assert_int_equal(json_scan(rows[i].text, rows[i].len, 64, NULL, &scan),
				 JSON_BAD);
		assert_int_equal(scan.at, rows[i].at);
		assert_null(json_parse(rows[i].text, rows[i].len, 64, &err));
		assert_int_equal(err.code, HCP_E_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(written_and_damaged),
	    cmocka_unit_test(a_nul_byte_is_never_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
