/* SPDX-License-Identifier: MIT */
/* A schema from a text, for the unit tests of pack/schema*.c. Included after cmocka.h. */
#ifndef HCP_SPEC_SCHEMA_TEXT_H
#define HCP_SPEC_SCHEMA_TEXT_H

#include "base/json.h"
#include "base/limits.h"
#include "pack/schema.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Zero value: nothing yet; freed by text_free. */
struct text {
	struct arena arena;
	struct schema_defs *defs;
	struct schema *s;
	struct hcp_err err;
};

static inline void text_free(struct text *t)
{
	schema_free(t->s);
	schema_defs_free(t->defs);
	arena_free(&t->arena);
}
#define AUTO_TEXT __attribute__((cleanup(text_free))) struct text

/* `yaml`: $defs, and `args` (an args object) or `output` (any value). */
static inline int text_compile(struct text *t, const char *yaml)
{
	const struct conf_ctx c = {&t->arena, "pack.yaml"};
	const struct yaml_node *top, *defs, *args;

	if (yaml_parse(&t->arena, c.file, yaml, strlen(yaml), &top, &t->err) < 0)
		return -1;
	defs = yaml_get(top, "$defs");
	args = yaml_get(top, "args");
	if (defs && schema_defs_compile(&c, defs, &t->defs, &t->err) < 0)
		return -1;
	if (!args && !yaml_get(top, "output"))
		return 0;
	return schema_compile(&c, args ? args : yaml_get(top, "output"), t->defs, args != NULL,
			      &t->s, &t->err);
}

static inline void text_load(struct text *t, const char *yaml)
{
	if (text_compile(t, yaml) < 0)
		fail_msg("%s: line %d: %s", yaml, t->err.line, t->err.text);
}

static inline json_t *json_of(const char *text)
{
	struct hcp_err err = {0};
	json_t *v = json_parse(text, strlen(text), LIMIT_STDOUT_DEPTH, &err);

	if (!v)
		fail_msg("%s: %s", text, err.text);
	return v;
}

/* All faults of `json`, "" where it fits; free() it. */
static inline char *faults_of(const struct text *t, const char *json)
{
	AUTO_BUF faults = {0};
	json_t *v = json_of(json);
	int n = schema_validate(t->s, v, "args", &faults);
	char *out = strdup(faults.len ? faults.data : "");

	json_decref(v);
	assert_non_null(out);
	assert_true(n >= 0);
	assert_int_equal(n > 0, *out != '\0');
	return out;
}

static inline void expect_faults(const struct text *t, const char *json, const char *want)
{
	char *got = faults_of(t, json);

	if (strcmp(got, want) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", json, got, want);
	free(got);
}

static inline void expect_json(const json_t *v, const char *want)
{
	AUTO_BUF out = {0};

	assert_non_null(v);
	json_add_value(&out, v);
	assert_string_equal(out.data, want);
}

#endif
