/* SPDX-License-Identifier: MIT */
/* Any schema with any value: it compiles or is refused with its place, and judging, filling and
 * hiding keep their promises. Input: a YAML mapping {$defs, args}, a line "%%", a JSON value;
 * without that line the value is an empty object. */
#include "pack/schema_node.h"

#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "\n%%\n";

struct texts {
	const char *yaml, *json;
	size_t yaml_len, json_len;
};

static size_t occurrences(const char *in, size_t len, const char *what, size_t n)
{
	const char *end = in + len, *at = in;
	size_t count = 0;

	while (at < end && (at = memmem(at, (size_t)(end - at), what, n))) {
		count++;
		at++;
	}
	return count;
}

/* A value that stands nowhere else is told apart from names and from the schema's own words. */
static bool is_marker(const struct texts *t, const json_t *v)
{
	return json_string_length(v) >= 6 &&
	       occurrences(t->json, t->json_len, json_string_value(v), json_string_length(v)) ==
		   1 &&
	       !occurrences(t->yaml, t->yaml_len, json_string_value(v), json_string_length(v));
}

static bool is_secret(const struct schema *s)
{
	for (; s; s = s->ref)
		if (s->write_only)
			return true;
	return false;
}

/* No fault holds a string that was given, a writeOnly one least of all. */
static void check_silence(const struct texts *t, const struct schema *s, const json_t *value,
			  const struct buf *faults, const json_t *shown)
{
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)(uintptr_t)value, name, member)
	{
		const struct schema *own = schema_own_property(s, name);

		if (own && is_secret(own) && json_object_get(shown, name))
			abort();
		if (is_marker(t, member) && faults->len &&
		    memmem(faults->data, faults->len, json_string_value(member),
			   json_string_length(member)))
			abort();
	}
}

static void check_shown(const struct schema *s, const json_t *shown)
{
	json_t *again = schema_without_secrets(s, shown);

	if (!again || !json_equal(shown, again))
		abort();
	json_decref(again);
}

static void check_text(const struct schema *s)
{
	json_t *text = schema_to_json(s);
	AUTO_BUF out = {0};
	struct json_scan scan;

	if (!json_is_object(text))
		abort();
	json_add_value(&out, text);
	if (json_scan(out.data, out.len, LIMIT_STDOUT_DEPTH, NULL, &scan) != JSON_GOOD)
		abort();
	json_decref(text);
}

static void judge(const struct texts *t, const struct schema *s, json_t *value)
{
	json_t *shown = schema_without_secrets(s, value);
	AUTO_BUF faults = {0}, filled = {0};
	int before = schema_validate(s, value, "value", &faults), after;

	if (!shown || before < 0 || (before > 0) != (faults.len > 0))
		abort();
	if (s->secret)
		check_shown(s, shown);
	else if (!json_equal(shown, value))
		abort();
	check_silence(t, s, value, &faults, shown);
	json_decref(shown);
	if (schema_fill_defaults(s, value) < 0)
		abort();
	after = schema_validate(s, value, "value", &filled);
	/* a pattern that met its limit leaves the others untold */
	if (after > before && !strstr(filled.data, "within the limits"))
		abort();
}

static void run(const struct texts *t, const struct conf_ctx *c, const struct yaml_node *node,
		const struct schema_defs *defs, bool top)
{
	struct schema *s;
	struct hcp_err err = {0};
	json_t *value;

	if (schema_compile(c, node, defs, top, &s, &err) < 0) {
		if (err.code != HCP_E_CONFIG || !err.text[0] || err.line < 1)
			abort();
		return;
	}
	value = json_parse(t->json, t->json_len, LIMIT_ENVELOPE_DEPTH, NULL);
	if (!value)
		value = json_object();
	judge(t, s, value);
	check_text(s);
	json_decref(value);
	schema_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *cut = size ? memmem(text, size, mark, sizeof(mark) - 1) : NULL;
	size_t len = cut ? (size_t)(cut - text) + 1 : size;
	size_t rest = cut ? size - len - (sizeof(mark) - 2) : 0;
	struct texts t = {text, text + size - rest, len, rest};
	struct arena a = {0};
	struct conf_ctx c = {.arena = &a, .file = "fuzz.yaml"};
	const struct yaml_node *node, *part;
	struct schema_defs *defs = NULL;
	struct hcp_err err = {0};

	if (yaml_parse(&a, c.file, text, len, &node, NULL) == 0) {
		part = yaml_get(node, "$defs");
		if (part && schema_defs_compile(&c, part, &defs, &err) < 0 &&
		    (err.code != HCP_E_CONFIG || !err.text[0] || err.line < 1))
			abort();
		part = yaml_get(node, "args");
		if (part) {
			run(&t, &c, part, defs, true);
			run(&t, &c, part, defs, false);
		}
		schema_defs_free(defs);
	}
	arena_free(&a);
	return 0;
}
