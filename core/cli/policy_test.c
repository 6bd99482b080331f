/* SPDX-License-Identifier: MIT */
/* hcp policy test FILE: envelopes, who sends them, and what must come of it. Each is judged as
 * hcp explain judges it, with every pack activated; nothing is run. A test that expects a
 * refusal names the reason: refused for another one is not what was meant. */
#include "cli/cli.h"

#include "base/conf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(conf, k, t, member, text, ...)                                                     \
	{                                                                                      \
		.key = k, .type = t, .offset = offsetof(struct conf, member), .doc = text,     \
		__VA_ARGS__                                                                    \
	}

struct file_conf {
	int64_t hcp;
	const struct yaml_node *tests;
};
struct test_conf {
	const char *name, *tenant, *project_id, *error;
	const struct yaml_node *principal, *envelope;
	enum conf_bool ok;
};

static const struct conf_field file_rows[] = {
    ROW(file_conf, "hcp", CONF_INT, hcp, "format version: 1", .required = true),
    ROW(file_conf, "tests", CONF_LIST, tests, "the tests", .required = true),
};
static const struct conf_table file_table = CONF_ROWS("a policy test", file_rows);

static const struct conf_field test_rows[] = {
    ROW(test_conf, "name", CONF_STRING, name, "what it is about"),
    ROW(test_conf, "principal", CONF_NODE, principal, "who: an id, or what a provider gives",
	.required = true),
    ROW(test_conf, "tenant", CONF_STRING, tenant, "the tenant that is asked for"),
    ROW(test_conf, "project_id", CONF_STRING, project_id, "the project that is asked for"),
    ROW(test_conf, "envelope", CONF_MAP, envelope, "what is sent", .required = true),
    ROW(test_conf, "ok", CONF_BOOL, ok, "whether nothing refuses it", .required = true),
    ROW(test_conf, "error", CONF_STRING, error, "the whole error where it is refused"),
};
static const struct conf_table test_table = CONF_ROWS("a test", test_rows);

static char *json_text(const struct conf_ctx *ctx, const struct yaml_node *n,
		       struct hcp_err *err)
{
	json_t *value = yaml_to_json(n, ctx->file, err);
	char *line = value ? json_dumps(value, JSON_COMPACT) : NULL;

	if (value && !line)
		hcp_fail_nomem(err);
	json_decref(value);
	return line;
}

static char *principal_text(const struct conf_ctx *ctx, const struct yaml_node *n,
			    struct hcp_err *err)
{
	if (n->kind == YAML_STR)
		return strdup(n->text);
	if (n->kind == YAML_MAP)
		return json_text(ctx, n, err);
	conf_fail(ctx, n, err, "\"principal\" must be an id or a mapping");
	return NULL;
}

static int read_test(const struct conf_ctx *ctx, const struct yaml_node *n,
		     struct test_conf *out, struct hcp_err *err)
{
	if (conf_read(ctx, n, &test_table, out, err) < 0)
		return -1;
	if (out->ok == CONF_FALSE && !out->error)
		return conf_fail(ctx, n, err,
				 "a test that expects a refusal needs \"error\", its reason");
	if (out->ok == CONF_TRUE && out->error)
		return conf_fail(ctx, yaml_get(n, "error"), err, "what is ok has no \"error\"");
	return 0;
}

/* What came of it, beside what was expected. A new reference. */
static json_t *compare(const struct yaml_node *n, const struct test_conf *t,
		       const hcp_result *res)
{
	const char *got = hcp_result_ok(res) ? NULL : hcp_result_error(res).data;
	bool passed = t->ok == CONF_TRUE ? !got : str_eq(got, t->error);

	return json_pack("{s:b,s:s*,s:i,s:s*,s:{s:b,s:s*,s:i}}", "passed", passed, "name",
			 t->name, "line", n->line, "expected", t->error, "got", "ok", !got,
			 "error", got, "step", hcp_result_step(res));
}

/* NULL: it could not be judged; err, or *code with a message printed. */
static json_t *judge(struct cli *c, const struct conf_ctx *ctx, const struct yaml_node *n,
		     int *code, struct hcp_err *err)
{
	struct test_conf t = {0};
	AUTO_FREE char *who = NULL, *envelope = NULL;
	hcp_suppose as = {.size = sizeof(as), .activated = 1};
	hcp_error why = {.size = sizeof(why)};
	hcp_result *res = NULL;
	hcp_status status;
	json_t *j = NULL;

	if (read_test(ctx, n, &t, err) < 0 || !(who = principal_text(ctx, t.principal, err)) ||
	    !(envelope = json_text(ctx, t.envelope, err)))
		return NULL;
	as.principal = who;
	status = hcp_call_identity(c->call, t.tenant, t.project_id);
	if (status == HCP_OK)
		status = hcp_explain(c->rt, c->call, hcp_str_from(envelope), &as, &res, &why);
	if (status == HCP_OK)
		j = compare(n, &t, res);
	else
		*code = cli_status(status, &why);
	hcp_result_free(res);
	return j;
}

static void print_test(const json_t *j)
{
	const json_t *got = json_object_get(j, "got");
	const char *name = json_string_value(json_object_get(j, "name"));
	const char *expected = json_string_value(json_object_get(j, "expected"));
	const char *error = json_string_value(json_object_get(got, "error"));

	printf("%s line %d%s%s\n", json_is_true(json_object_get(j, "passed")) ? "ok  " : "FAIL",
	       (int)json_integer_value(json_object_get(j, "line")), name ? ": " : "",
	       name ? name : "");
	if (!json_is_true(json_object_get(j, "passed")))
		printf("     expected %s\n     got      %s\n", expected ? expected : "ok",
		       error ? error : "ok");
}

static int report(struct cli *c, json_t *list, size_t failed)
{
	size_t count = json_array_size(list), i;
	json_t *top, *one;
	char *line;
	int code = failed ? 1 : 0;

	if (cli_for_people(c)) {
		json_array_foreach(list, i, one) print_test(one);
		printf("%zu of %zu passed\n", count - failed, count);
		return code;
	}
	top = json_pack("{s:b,s:i,s:i,s:O}", "ok", !failed, "passed", (int)(count - failed),
			"failed", (int)failed, "tests", list);
	line = top ? json_dumps(top, JSON_COMPACT) : NULL;
	if (!line || cli_print_json(c, hcp_str_from(line)) != 0)
		code = CLI_RUNTIME;
	free(line);
	json_decref(top);
	return code;
}

static int run_tests(struct cli *c, const struct conf_ctx *ctx, const char *text, size_t len,
		     struct hcp_err *err)
{
	struct file_conf conf = {0};
	const struct yaml_node *top;
	json_t *list = json_array(), *one;
	size_t failed = 0;
	int code = 0;

	if (yaml_parse(ctx->arena, ctx->file, text, len, &top, err) == 0 &&
	    conf_read(ctx, top, &file_table, &conf, err) == 0 &&
	    conf_check_format(ctx, top, err) == 0 && !conf.tests->count)
		conf_fail(ctx, conf.tests, err, "there is no test");
	for (size_t i = 0; err->code == HCP_E_NONE && !code && i < conf.tests->count; i++) {
		one = judge(c, ctx, conf.tests->items[i], &code, err);
		if (one && !json_is_true(json_object_get(one, "passed")))
			failed++;
		if (json_array_append_new(list, one) < 0 && !code)
			hcp_fail_nomem(err);
	}
	if (err->code == HCP_E_NONE && !code)
		code = report(c, list, failed);
	json_decref(list);
	return code;
}

int cli_policy_test(struct cli *c, const char *path)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	struct arena a = {0};
	const struct conf_ctx ctx = {.arena = &a, .file = path};
	struct hcp_err err = {0};
	char why[1600];
	size_t len;
	int code;

	if (fd < 0)
		return cli_fail(CLI_RUNTIME, "%s can't be opened", path);
	if (fd_read_all(fd, LIMIT_YAML, &text, &len, &err) < 0)
		return cli_fail(CLI_RUNTIME, "%s: %s", path, err.text);
	code = run_tests(c, &ctx, text, len, &err);
	if (err.code != HCP_E_NONE) {
		hcp_err_format(&err, why, sizeof(why));
		code = cli_fail(CLI_RUNTIME, "%s", why);
	}
	arena_free(&a);
	return code;
}
