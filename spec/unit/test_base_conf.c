/* SPDX-License-Identifier: MIT */
/* Configuration by tables: every type's values, and every message with its place. */
#include "base/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct inner {
	int64_t depth;
	const char *name;
};
struct command {
	const char *summary, *id;
	const struct yaml_node *any, *args, *list;
	enum conf_bool lock;
	int64_t cpu, timeout_ms, memory;
	struct conf_strings grants, run;
	struct conf_env env;
	int net;
	struct inner inner;
};

static const char *lower(const char *text)
{
	if (!*text)
		return "can't be empty";
	return strspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text)
		   ? NULL
		   : "must be lower case";
}

static const char *const nets[] = {"none", "loopback", "host", NULL};
static const struct conf_field inner_fields[] = {
    {.key = "depth", .type = CONF_INT, .offset = offsetof(struct inner, depth)},
    {.key = "name",
     .type = CONF_STRING,
     .offset = offsetof(struct inner, name),
     .required = true},
};
static const struct conf_table inner_table = CONF_ROWS("inner", inner_fields);

#define ROW(k, t, member) .key = k, .type = t, .offset = offsetof(struct command, member)
static const struct conf_field fields[] = {
    {ROW("summary", CONF_STRING, summary), .required = true},
    {ROW("id", CONF_STRING, id), .check = lower},
    {ROW("any", CONF_NODE, any)},
    {ROW("args", CONF_MAP, args)},
    {ROW("list", CONF_LIST, list)},
    {ROW("lock", CONF_BOOL, lock)},
    {ROW("cpu", CONF_INT, cpu)},
    {ROW("timeout", CONF_DURATION, timeout_ms)},
    {ROW("memory", CONF_SIZE, memory)},
    {ROW("grants", CONF_STRINGS, grants), .check = lower},
    {ROW("run", CONF_ONE_OR_MORE, run), .check = lower},
    {ROW("env", CONF_ENV, env)},
    {ROW("net", CONF_ENUM, net), .names = nets},
    {ROW("inner", CONF_TABLE, inner), .sub = &inner_table},
};
static const struct conf_table table = CONF_ROWS("a command", fields);

static int setup(void **state)
{
	static struct arena arena;

	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static int load(void **state, const char *text, struct command *out, struct hcp_err *err)
{
	const struct conf_ctx c = {.arena = *state, .file = "pack.yaml"};
	const struct yaml_node *root;

	*err = (struct hcp_err){0};
	if (yaml_parse(*state, c.file, text, strlen(text), &root, err))
		fail_msg("%s\n%d:%d: %s", text, err->line, err->column, err->text);
	return conf_read(&c, root, &table, out, err);
}

static struct command read(void **state, const char *text)
{
	struct command out = {0};
	struct hcp_err err;

	if (load(state, text, &out, &err))
		fail_msg("%s\n%d:%d: %s", text, err.line, err.column, err.text);
	return out;
}

static void all_types(void **state)
{
	struct command c = read(state, "summary: 'a: b'\n"
				       "id: abc\n"
				       "any: ~\n"
				       "args: {x: 1}\n"
				       "list: [1, 2]\n"
				       "lock: false\n"
				       "cpu: 0\n"
				       "timeout: 1500ms\n"
				       "memory: 64K\n"
				       "grants: [a, b]\n"
				       "run: x\n"
				       "env:\n"
				       "  A: b\n"
				       "  C: ''\n"
				       "net: host\n"
				       "inner: {depth: 3, name: ''}\n");

	assert_string_equal(c.summary, "a: b");
	assert_string_equal(c.id, "abc");
	assert_int_equal(c.any->kind, YAML_NULL);
	assert_int_equal(yaml_get(c.args, "x")->i, 1);
	assert_int_equal(c.list->count, 2);
	assert_int_equal(c.lock, CONF_FALSE);
	assert_int_equal(c.cpu, 0);
	assert_int_equal(c.timeout_ms, 1500);
	assert_int_equal(c.memory, 65536);
	assert_true(c.grants.given);
	assert_int_equal(c.grants.count, 2);
	assert_string_equal(c.grants.items[1], "b");
	assert_int_equal(c.grants.line, 10);
	assert_int_equal(c.grants.column, 9);
	assert_int_equal(c.run.count, 1);
	assert_string_equal(c.run.items[0], "x");
	assert_int_equal(c.env.count, 2);
	assert_string_equal(c.env.names[1], "C");
	assert_string_equal(c.env.values[0], "b");
	assert_string_equal(c.env.values[1], "");
	assert_int_equal(c.env.line, 13);
	assert_int_equal(c.env.column, 3);
	assert_int_equal(c.net, 3);
	assert_int_equal(c.inner.depth, 3);
	assert_string_equal(c.inner.name, "");
}

/* What isn't written stays as it was, and an empty list differs from none. */
static void defaults(void **state)
{
	struct command c = {.cpu = 7, .net = 2, .lock = CONF_TRUE};
	struct hcp_err err;

	assert_int_equal(load(state, "summary: x\n", &c, &err), 0);
	assert_int_equal(c.cpu, 7);
	assert_int_equal(c.net, 2);
	assert_int_equal(c.lock, CONF_TRUE);
	assert_false(c.grants.given);
	assert_null(c.id);

	c = read(state, "summary: x\ngrants: []\nenv: {}\nlock: true\n");
	assert_true(c.grants.given);
	assert_int_equal(c.grants.count, 0);
	assert_int_equal(c.env.count, 0);
	assert_int_equal(c.lock, CONF_TRUE);
	assert_int_equal(read(state, "{summary: x, run: [a, b]}").run.count, 2);
	assert_int_equal(read(state, "{summary: x, memory: 4096}").memory, 4096);
	assert_int_equal(read(state, "{summary: x, memory: '4096'}").memory, 4096);
	assert_string_equal(read(state, "{summary: yes}").summary, "yes");
}

static void refusals(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *why;
	} rows[] = {
	    /* keys */
	    {"summary: x\ngranst: []\n", 2, 1,
	     "unknown key \"granst\" in a command (did you mean \"grants\"?)"},
	    {"sumary: x\n", 1, 1,
	     "unknown key \"sumary\" in a command (did you mean \"summary\"?)"},
	    {"summary: x\nwhatever: 1\n", 2, 1, "unknown key \"whatever\" in a command"},
	    {"summary: x\nSummary: 1\n", 2, 1,
	     "unknown key \"Summary\" in a command (did you mean \"summary\"?)"},
	    {"summary: x\nx: 1\n", 2, 1, "unknown key \"x\" in a command"},
	    {"summary: x\n\"\\e[2J\": 1\n", 2, 1, "unknown key \"\\x1b[2J\" in a command"},
	    {"1: x\n", 1, 1, "unknown key \"1\" in a command"},
	    {"\n\nid: abc\ncpu: 1\n", 3, 1, "a command needs \"summary\""},
	    {"{}", 1, 1, "a command needs \"summary\""},
	    {"[]", 1, 1, "a command must be a mapping, not a list"},
	    {"x", 1, 1, "a command must be a mapping, not a string"},
	    /* strings */
	    {"summary: 1.0\n", 1, 10, "\"summary\" must be a string, not a number: quote it"},
	    {"summary: 10\n", 1, 10, "\"summary\" must be a string, not a number: quote it"},
	    {"summary: true\n", 1, 10, "\"summary\" must be a string, not a boolean: quote it"},
	    {"summary: ~\n", 1, 10, "\"summary\" must be a string, not null: quote it"},
	    {"summary:\n", 1, 9, "\"summary\" must be a string, not null"},
	    {"summary: []\n", 1, 10, "\"summary\" must be a string, not a list"},
	    {"summary: {}\n", 1, 10, "\"summary\" must be a string, not a mapping"},
	    {"summary: x\nid: ABC\n", 2, 5, "\"id\" must be lower case"},
	    {"summary: x\nid: ''\n", 2, 5, "\"id\" can't be empty"},
	    /* lists of strings */
	    {"grants: a\n", 1, 9, "\"grants\" must be a list of strings, not a string"},
	    {"grants:\n", 1, 8, "\"grants\" must be a list of strings, not null"},
	    {"grants:\n- a\n- 2\n", 3, 3,
	     "each item of \"grants\" must be a string, not a number: quote it"},
	    {"grants: [a, B]\n", 1, 13, "each item of \"grants\" must be lower case"},
	    {"run: []\n", 1, 6, "\"run\" must hold at least one string"},
	    {"run: {}\n", 1, 6, "\"run\" must be a string or a list of strings, not a mapping"},
	    {"run: ~\n", 1, 6, "\"run\" must be a string or a list of strings, not null"},
	    {"run: 1\n", 1, 6, "\"run\" must be a string, not a number: quote it"},
	    {"run: A\n", 1, 6, "\"run\" must be lower case"},
	    {"run: [a, [b]]\n", 1, 10, "each item of \"run\" must be a string, not a list"},
	    /* mappings and lists as they are */
	    {"args: []\n", 1, 7, "\"args\" must be a mapping, not a list"},
	    {"args:\n", 1, 6, "\"args\" must be a mapping, not null"},
	    {"list: {}\n", 1, 7, "\"list\" must be a list, not a mapping"},
	    /* the environment */
	    {"env: []\n", 1, 6, "\"env\" must be a mapping of names to strings, not a list"},
	    {"env:\n  PORT: 80\n", 2, 9,
	     "\"PORT\" in \"env\" must be a string, not a number: quote it"},
	    {"env: {'A=B': x}\n", 1, 7, "\"A=B\" in \"env\" can't be the name of a variable"},
	    {"env: {'': x}\n", 1, 7, "\"\" in \"env\" can't be the name of a variable"},
	    /* numbers and words */
	    {"lock: yes\n", 1, 7, "\"lock\" must be true or false, not a string"},
	    {"lock: 1\n", 1, 7, "\"lock\" must be true or false, not a number"},
	    {"cpu: -1\n", 1, 6, "\"cpu\" can't be negative"},
	    {"cpu: 1.5\n", 1, 6, "\"cpu\" must be a whole number"},
	    {"cpu: '1'\n", 1, 6, "\"cpu\" must be a whole number, not a string"},
	    {"timeout: 10\n", 1, 10,
	     "\"timeout\" must be a duration like 10s, 500ms, 15m or 1h, a year at most"},
	    {"timeout: 0s\n", 1, 10,
	     "\"timeout\" must be a duration like 10s, 500ms, 15m or 1h, a year at most"},
	    {"timeout: soon\n", 1, 10,
	     "\"timeout\" must be a duration like 10s, 500ms, 15m or 1h, a year at most"},
	    {"memory: 0\n", 1, 9, "\"memory\" must be a size like 64K, 256M or 1G"},
	    {"memory: -4\n", 1, 9, "\"memory\" must be a size like 64K, 256M or 1G"},
	    {"memory: 1.5\n", 1, 9, "\"memory\" must be a size like 64K, 256M or 1G"},
	    {"memory: []\n", 1, 9, "\"memory\" must be a size like 64K, 256M or 1G"},
	    {"memory: 5 apples\n", 1, 9, "\"memory\" must be a size like 64K, 256M or 1G"},
	    {"net: any\n", 1, 6, "\"net\" must be none, loopback or host"},
	    {"net: lopback\n", 1, 6,
	     "\"net\" must be none, loopback or host (did you mean \"loopback\"?)"},
	    {"net: true\n", 1, 6, "\"net\" must be none, loopback or host"},
	    /* a table in a table */
	    {"inner: x\n", 1, 8, "\"inner\" must be a mapping, not a string"},
	    {"inner: {depth: 1}\n", 1, 8, "inner needs \"name\""},
	    {"inner:\n  nam: x\n", 2, 3,
	     "unknown key \"nam\" in inner (did you mean \"name\"?)"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct command out = {0};
		struct hcp_err err;

		if (!load(state, rows[i].text, &out, &err))
			fail_msg("accepted: %s", rows[i].text);
		if (err.line != rows[i].line || err.column != rows[i].column ||
		    strcmp(err.text, rows[i].why) != 0)
			fail_msg("%s\nwanted %d:%d: %s\ngot %d:%d: %s", rows[i].text,
				 rows[i].line, rows[i].column, rows[i].why, err.line,
				 err.column, err.text);
		assert_int_equal(err.code, HCP_E_CONFIG);
		assert_string_equal(err.file, "pack.yaml");
	}
}

/* The parser keeps a NUL out; a node from anywhere else meets the same refusal here. */
static void nul(void **state)
{
	const struct conf_ctx c = {.arena = *state, .file = "f"};
	const struct yaml_node n = {.kind = YAML_STR, .text = "a\0b", .len = 3, .line = 4};
	const struct conf_field f = {.key = "k", .type = CONF_STRING};
	struct hcp_err err = {0};
	const char *out = NULL;

	assert_int_equal(conf_value(&c, &n, &f, &out, &err), -1);
	assert_string_equal(err.text, "\"k\" can't hold a NUL character");
	assert_int_equal(err.line, 4);
	assert_null(out);
}

static void place(void **state)
{
	const struct conf_ctx c = {.arena = *state, .file = "f"};
	const struct yaml_node n = {.line = 3, .column = 9};
	struct hcp_err err = {0};
	char text[64];

	assert_int_equal(conf_fail(&c, &n, &err, "%d apples", 5), -1);
	hcp_err_format(&err, text, sizeof(text));
	assert_string_equal(text, "f:3: 5 apples (column 9)");
	assert_int_equal(conf_fail(&c, &n, &err, "later"), -1);
	assert_string_equal(err.text, "5 apples");
	err = (struct hcp_err){0};
	assert_int_equal(conf_fail(&c, NULL, &err, "x"), -1);
	assert_int_equal(err.line, 0);
	assert_int_equal(conf_fail(&c, &n, NULL, "x"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(all_types, setup, teardown),
	    cmocka_unit_test_setup_teardown(defaults, setup, teardown),
	    cmocka_unit_test_setup_teardown(refusals, setup, teardown),
	    cmocka_unit_test_setup_teardown(nul, setup, teardown),
	    cmocka_unit_test_setup_teardown(place, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
