/* SPDX-License-Identifier: MIT */
/* A template and one call of it, for the unit tests of argv/. Included after cmocka.h. */
#ifndef HCP_SPEC_ARGV_CALL_H
#define HCP_SPEC_ARGV_CALL_H

#include "argv/argv.h"
#include "base/json.h"
#include "base/limits.h"

#include <string.h>

/* Zero value plus what a test sets; freed by call_free. */
struct call {
	const char *verb; /* NULL: "go" */
	bool is_cli;
	const char *(*judge)(void *, const char *);
	struct conf_strings deny, json; /* not given: the defaults */
	struct arena arena;
	const struct argv_template *t;
	char **argv;
	size_t argc;
	struct hcp_err err;
};

static inline void call_free(struct call *c)
{
	arena_free(&c->arena);
}
#define AUTO_CALL __attribute__((cleanup(call_free))) struct call

static inline int call_compile(struct call *c, const char *yaml)
{
	const struct conf_ctx ctx = {&c->arena, "pack.yaml"};
	const struct argv_command cmd = {c->verb ? c->verb : "go", c->judge, NULL, c->is_cli};
	const struct yaml_node *node;

	c->err = (struct hcp_err){0};
	if (yaml_parse(&c->arena, ctx.file, yaml, strlen(yaml), &node, &c->err) < 0)
		fail_msg("%s", c->err.text);
	return argv_compile(&ctx, node, &cmd, &c->t, &c->err);
}

static inline int call_render(struct call *c, const char *json)
{
	const struct argv_rules rules = {c->deny.given ? &c->deny : NULL,
					 c->json.given ? &c->json : NULL};
	struct hcp_err bad = {0};
	json_t *args = json_parse(json, strlen(json), LIMIT_ENVELOPE_DEPTH, &bad);
	int rc;

	if (!args)
		fail_msg("%s: %s", json, bad.text);
	c->err = (struct hcp_err){0};
	rc = argv_render(c->t, args, &rules, &c->arena, &c->argv, &c->argc, &c->err);
	json_decref(args);
	return rc;
}

/* The elements behind argv[0], each in brackets. */
static inline const char *call_text(struct call *c)
{
	const char *text = "";

	assert_null(c->argv[0]);
	assert_null(c->argv[c->argc]);
	for (size_t i = 1; i < c->argc; i++)
		text = arena_printf(&c->arena, "%s[%s]", text, c->argv[i]);
	return text;
}

/* What `yaml` gives for `json` is `want`, without the json flag. */
static inline void call_expect(struct call *c, const char *yaml, const char *json,
			       const char *want)
{
	c->json.given = true;
	if (call_compile(c, yaml) < 0 || call_render(c, json) < 0)
		fail_msg("%s with %s: %s", yaml, json, c->err.text);
	assert_string_equal(call_text(c), want);
}

static inline void call_refuse(struct call *c, const char *yaml, const char *json,
			       const char *why)
{
	if (call_compile(c, yaml) < 0)
		fail_msg("%s: %s", yaml, c->err.text);
	assert_int_equal(call_render(c, json), -1);
	assert_int_equal(c->err.code, HCP_E_INVALID);
	assert_string_equal(c->err.text, why);
	assert_null(c->argv);
	assert_int_equal(c->argc, 0);
}

#endif
