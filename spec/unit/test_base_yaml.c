/* SPDX-License-Identifier: MIT */
/* The YAML reader: what it takes, what it makes of it, and for everything that it refuses the
 * line and the column it names. */
#include "base/limits.h"
#include "base/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int teardown(void **state)
{
	arena_free(*state);
	return 0;
}

static int setup(void **state)
{
	static struct arena arena;

	*state = &arena;
	return 0;
}

static const struct yaml_node *read(void **state, const char *text)
{
	struct hcp_err err = {0};
	const struct yaml_node *root;

	if (yaml_parse(*state, "f.yaml", text, strlen(text), &root, &err))
		fail_msg("%s\nat %d:%d: %s", text, err.line, err.column, err.text);
	assert_non_null(root);
	return root;
}

static void refuse(void **state, const char *text, size_t len, int line, int column,
		   const char *why)
{
	struct hcp_err err = {0};
	const struct yaml_node *root = (const struct yaml_node *)&err;

	if (!yaml_parse(*state, "f.yaml", text, len, &root, &err))
		fail_msg("accepted: %.200s", text);
	assert_null(root);
	if (err.line != line || err.column != column || !strstr(err.text, why))
		fail_msg("%.200s\nwanted %d:%d: %s\ngot %d:%d: %s", text, line, column, why,
			 err.line, err.column, err.text);
	assert_int_equal(err.code, HCP_E_CONFIG);
	assert_string_equal(err.file, "f.yaml");
}

static void scalars(void **state)
{
	static const struct {
		const char *text;
		enum yaml_kind kind;
		double number;
	} rows[] = {
	    {"null", YAML_NULL, 0},
	    {"Null", YAML_NULL, 0},
	    {"NULL", YAML_NULL, 0},
	    {"~", YAML_NULL, 0},
	    {"", YAML_NULL, 0},
	    {"nUll", YAML_STR, 0},
	    {"true", YAML_BOOL, 1},
	    {"false", YAML_BOOL, 0},
	    {"True", YAML_STR, 0},
	    {"TRUE", YAML_STR, 0},
	    {"yes", YAML_STR, 0},
	    {"no", YAML_STR, 0},
	    {"on", YAML_STR, 0},
	    {"off", YAML_STR, 0},
	    {"y", YAML_STR, 0},
	    {"0", YAML_INT, 0},
	    {"-0", YAML_INT, 0},
	    {"12", YAML_INT, 12},
	    {"+12", YAML_INT, 12},
	    {"-12", YAML_INT, -12},
	    {"010", YAML_INT, 10},
	    {"0o10", YAML_INT, 8},
	    {"0x1F", YAML_INT, 31},
	    {"0x1f", YAML_INT, 31},
	    {"0o8", YAML_STR, 0},
	    {"0x", YAML_STR, 0},
	    {"0o", YAML_STR, 0},
	    {"0x0x1", YAML_STR, 0},
	    {"-0x1", YAML_STR, 0},
	    {"0X1", YAML_STR, 0},
	    {"0b1", YAML_STR, 0},
	    {"1_000", YAML_STR, 0},
	    {"1:30", YAML_STR, 0},
	    {"2024-01-01", YAML_STR, 0},
	    {"+", YAML_STR, 0},
	    {"9223372036854775807", YAML_INT, 9223372036854775807.0},
	    {"-9223372036854775808", YAML_INT, -9223372036854775808.0},
	    {"1.5", YAML_FLOAT, 1.5},
	    {"-.5", YAML_FLOAT, -.5},
	    {"1.", YAML_FLOAT, 1},
	    {"1e3", YAML_FLOAT, 1000},
	    {"1.5E-1", YAML_FLOAT, .15},
	    {"+1e+3", YAML_FLOAT, 1000},
	    {".", YAML_STR, 0},
	    {"1e", YAML_STR, 0},
	    {"1e+", YAML_STR, 0},
	    {"1.2.3", YAML_STR, 0},
	    {"e3", YAML_STR, 0},
	    {".e3", YAML_STR, 0},
	    {"0x1p3", YAML_STR, 0},
	    {"inf", YAML_STR, 0},
	    {"nan", YAML_STR, 0},
	    {".inf", YAML_FLOAT, HUGE_VAL},
	    {"+.INF", YAML_FLOAT, HUGE_VAL},
	    {"-.Inf", YAML_FLOAT, -HUGE_VAL},
	    {"-.nan", YAML_STR, 0},
	    {".iNf", YAML_STR, 0},
	    {"10s", YAML_STR, 0},
	    {"a b", YAML_STR, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct yaml_node *n;
		char text[64];

		snprintf(text, sizeof(text), "k: %s\n", rows[i].text);
		n = yaml_get(read(state, text), "k");
		if (n->kind != rows[i].kind)
			fail_msg("%s is %s", rows[i].text, yaml_kind_name(n->kind));
		assert_string_equal(n->text, rows[i].text);
		assert_int_equal(n->len, strlen(rows[i].text));
		if (n->kind == YAML_BOOL)
			assert_int_equal(n->b, rows[i].number > 0);
		else
			assert_true(n->f >= rows[i].number && n->f <= rows[i].number);
	}
	assert_true(isnan(yaml_get(read(state, "k: .nan"), "k")->f));
	assert_true(yaml_get(read(state, "k: -9223372036854775808"), "k")->i == INT64_MIN);
	assert_true(yaml_get(read(state, "k: 0x7fffffffffffffff"), "k")->i == INT64_MAX);
}

/* Quotes and blocks make a string of anything. */
static void strings(void **state)
{
	static const char *const rows[][2] = {
	    {"k: 'null'", "null"},
	    {"k: \"12\"", "12"},
	    {"k: ''", ""},
	    {"k: 'true'", "true"},
	    {"k: |\n  12\n", "12\n"},
	    {"k: >-\n  true\n", "true"},
	    {"k: \"a\\nb\\u2028\"", "a\nb\xe2\x80\xa8"},
	    {"k: a\n  b", "a b"},
	    {"k: \xc3\xa4 # no", "\xc3\xa4"},
	    {"k: 'it''s'", "it's"},
	    {"k:\tx", "x"},
	    {"k: a\r\n  b\r\n", "a b"},
	    {"\xef\xbb\xbfk: a", "a"},
	    {"%YAML 1.2\n---\nk: a\n...\n", "a"},
	    {"--- \nk: a\n# end\n", "a"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct yaml_node *n = yaml_get(read(state, rows[i][0]), "k");

		assert_non_null(n);
		assert_int_equal(n->kind, YAML_STR);
		assert_string_equal(n->text, rows[i][1]);
	}
}

static void tree(void **state)
{
	const struct yaml_node *root = read(state, "# a pack\n"
						   "a: {x: 1, y: [p, q]}\n"
						   "list:\n"
						   "- one\n"
						   "-   b: 2\n"
						   "    c: 3\n"
						   "empty: []\n"
						   "none: {}\n");
	const struct yaml_node *n;

	assert_int_equal(root->kind, YAML_MAP);
	assert_int_equal(root->count, 4);
	assert_int_equal(root->line, 2);
	assert_int_equal(root->column, 1);
	assert_string_equal(root->pairs[1].key->text, "list");
	assert_int_equal(root->pairs[1].key->line, 3);
	n = yaml_get(yaml_get(root, "a"), "y");
	assert_int_equal(n->kind, YAML_SEQ);
	assert_int_equal(n->count, 2);
	assert_string_equal(n->items[1]->text, "q");
	assert_int_equal(n->items[1]->line, 2);
	assert_int_equal(n->items[1]->column, 18);
	n = yaml_get(root, "list");
	assert_int_equal(n->count, 2);
	assert_int_equal(n->items[1]->kind, YAML_MAP);
	assert_int_equal(n->items[1]->line, 5);
	assert_int_equal(n->items[1]->column, 5);
	assert_int_equal(yaml_get(n->items[1], "c")->i, 3);
	assert_int_equal(yaml_get(root, "empty")->count, 0);
	assert_int_equal(yaml_get(root, "none")->kind, YAML_MAP);
	assert_null(yaml_get(root, "nothing"));
	assert_null(yaml_get(n, "c"));
	assert_null(yaml_get(NULL, "c"));
	assert_int_equal(read(state, "[1]")->kind, YAML_SEQ);
	assert_int_equal(read(state, "~")->kind, YAML_NULL);
	assert_int_equal(read(state, "\"\"")->kind, YAML_STR);
}

/* A key is its text, whatever the scalar would be as a value. */
static void keys(void **state)
{
	const struct yaml_node *root = read(state, "1: a\ntrue: b\n1.0: c\n'': d\n'null': e\n"
						   "'<<': f\n? g\n: h\n? i\n");

	assert_string_equal(yaml_get(root, "1")->text, "a");
	assert_string_equal(yaml_get(root, "true")->text, "b");
	assert_string_equal(yaml_get(root, "1.0")->text, "c");
	assert_string_equal(yaml_get(root, "")->text, "d");
	assert_string_equal(yaml_get(root, "null")->text, "e");
	assert_string_equal(yaml_get(root, "<<")->text, "f");
	assert_string_equal(yaml_get(root, "g")->text, "h");
	assert_int_equal(yaml_get(root, "i")->kind, YAML_NULL);
}

static void refusals(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *why;
	} rows[] = {
	    /* nothing there */
	    {"", 1, 1, "empty"},
	    {"# only a comment\n", 1, 1, "empty"},
	    {"---\n", 1, 1, "empty"},
	    {"---\n...\n", 1, 1, "empty"},
	    /* one text, two meanings */
	    {"a: &x 1\n", 1, 4, "anchors"},
	    {"a:\n  b: &x\n    c: 1\n", 2, 6, "anchors"},
	    {"a: &x [1]\n", 1, 4, "anchors"},
	    {"&x a: 1\n", 1, 1, "anchors"},
	    {"a: 1\nb: *a\n", 2, 4, "aliases"},
	    {"a: 1\n*a : 2\n", 2, 1, "aliases"},
	    {"a: !!str 1\n", 1, 4, "tags"},
	    {"a: !x {}\n", 1, 4, "tags"},
	    {"a: !x []\n", 1, 4, "tags"},
	    {"a: ! 12\n", 1, 4, "tags"},
	    {"\xc3\xa4: 1\na: ! '12'\n", 2, 4, "tags"},
	    {"\xef\xbb\xbf"
	     "a: ! 12\n",
	     1, 4, "tags"},
	    {"a: !\n", 1, 4, "tags"},
	    {"!x a: 1\n", 1, 1, "tags"},
	    {"a: !<tag:yaml.org,2002:int> 1\n", 1, 4, "tags"},
	    {"a: !u!x 1\n", 1, 4, "undefined tag handle"},
	    {"a:\n  <<: {b: 1}\n", 2, 3, "merge keys"},
	    {"a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key \"a\": the first one is on line 1"},
	    {"x:\n  a: 1\n  \"a\": 3\n", 3, 3, "the first one is on line 2"},
	    {"{1: a, '1': b}\n", 1, 8, "duplicate key \"1\""},
	    {"b: 1\nz: 2\na: 3\nz: 1\na: 4\nz: 4\n", 4, 1, "\"z\": the first one is on line 2"},
	    {"\"a\\nb\": 1\n\"a\\nb\": 1\n", 2, 1, "key \"a\\x0ab\":"},
	    {"\"\\u009b\": 1\n\"\\u009b\": 1\n", 2, 1, "key \"\\x9b\":"},
	    {"a: 1\n---\nb: 1\n", 2, 1, "one document"},
	    {"a: 1\n...\n---\n", 3, 1, "one document"},
	    {"---\n---\na: 1\n", 2, 1, "one document"},
	    {"%YAML 1.1\n---\na: 1\n", 1, 1, "only YAML 1.2"},
	    {"%YAML 2.0\n---\na: 1\n", 1, 1, "incompatible"},
	    {"%TAG ! tag:x,2000:\n---\na: 1\n", 1, 1, "%TAG"},
	    {"a: x\xe2\x80\xa8"
	     "b: y\n",
	     1, 5, "line separator"},
	    {"a: x\nb: \xc3\xa4\xc2\x85", 2, 5, "line separator"},
	    {"a: \"\xe2\x80\xa9\"", 1, 5, "line separator"},
	    /* keys */
	    {"[a]: 1\n", 1, 1, "a key can't be a list or a mapping"},
	    {"? {a: 1}\n: 1\n", 1, 3, "a key can't be a list or a mapping"},
	    {"a: 1\n~: 2\n", 2, 1, "null"},
	    {"null: 2\n", 1, 1, "null"},
	    {": 2\n", 1, 1, "did not find expected key"},
	    {"{a: 1, : 2}\n", 1, 8, "did not find expected node content"},
	    {"? \n: 2\n", 1, 2, "null"},
	    /* numbers */
	    {"a: 9223372036854775808\n", 1, 4, "64 bits"},
	    {"a: -9223372036854775809\n", 1, 4, "64 bits"},
	    {"a:\n- 0xffffffffffffffff\n", 2, 3, "64 bits"},
	    {"a: 0o7777777777777777777777777\n", 1, 4, "64 bits"},
	    {"a: 1e999\n", 1, 4, "fit into a float"},
	    /* characters */
	    {"a: \"x\\0y\"\n", 1, 4, "NUL"},
	    {"a: 1\nb: \"\\x00\"\n", 2, 4, "NUL"},
	    {"a: 1\nb: \xff\n", 2, 4, "UTF-8"},
	    {"\xc3\xa4: \xc3\n", 1, 5, "UTF-8"},
	    {"a: \xc0\x80\n", 1, 4, "UTF-8"},
	    {"a: \xed\xa0\x80\n", 1, 4, "Unicode"},
	    {"a: \xf4\x90\x80\x80\n", 1, 4, "Unicode"},
	    {"a: 1\r\nb: \x01\r\n", 2, 4, "control characters"},
	    {"a: 1\rb: \x7f\r\n", 2, 4, "control characters"},
	    {"\xff\xfe"
	     "a",
	     1, 1, "UTF-8"},
	    {"a: \"\\ud800\"\n", 1, 7, "Unicode character escape"},
	    /* the writing itself */
	    {"a:\n\tb: 1\n", 2, 1, "found a tab where spaces must indent"},
	    {"a: 1\n\tb: 2\n", 2, 1, "found a tab where spaces must indent"},
	    {"a: |\n\tx\n", 2, 1, "found a tab where spaces must indent"},
	    {"a: @x\n", 1, 4, "a plain value can't start with '@': quote it"},
	    {"a: `x`\n", 1, 4, "a plain value can't start with '`': quote it"},
	    {"a: *\n", 1, 5, "alias"},
	    {"a: b: c\n", 1, 5, "mapping values are not allowed"},
	    {"a: 1\nbcd\ne: 1\n", 2, 1, "could not find the ':' of this key"},
	    {"a: [1, 2\nb: 1\n", 2, 2, "that starts on line 1"},
	    {"a: 'x\n\n", 3, 1, "quoted scalar that starts on line 1"},
	    {"a: 1\n b: 2\n", 2, 3, "mapping values are not allowed"},
	    {"a: 1\n}\n", 2, 1, "did not find expected"},
	    {"- a\nb: 1\n", 2, 1, "did not find expected '-' indicator"},
	    {"a: \"\\q\"\n", 1, 5, "unknown escape"},
	    {"{a: 1", 2, 1, "did not find expected ',' or '}'"},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		refuse(state, rows[i].text, strlen(rows[i].text), rows[i].line, rows[i].column,
		       rows[i].why);
	refuse(state, "a: 1\nb: \0\n", 10, 2, 4, "control characters");
	refuse(state, "a: 1\n\0b", 7, 2, 1, "control characters");
}

static char *repeat(const char *text, size_t count, const char *tail)
{
	size_t len = strlen(text);
	char *out = malloc(len * count + strlen(tail) + 1);

	assert_non_null(out);
	for (size_t i = 0; i < count; i++)
		memcpy(out + i * len, text, len);
	strcpy(out + len * count, tail);
	return out;
}

static void limits(void **state)
{
	char *text = repeat("[", LIMIT_YAML_DEPTH, "");
	char *closed = repeat("]", LIMIT_YAML_DEPTH, "");
	char both[2 * LIMIT_YAML_DEPTH + 1];

	snprintf(both, sizeof(both), "%s%s", text, closed);
	read(state, both);
	free(text);
	free(closed);

	text = repeat("[", 100000, "");
	refuse(state, text, strlen(text), 1, LIMIT_YAML_DEPTH + 1, "nested too deep");
	free(text);
	text = repeat("{a: ", 1000, "");
	refuse(state, text, strlen(text), 1, 4 * LIMIT_YAML_DEPTH + 1, "nested too deep");
	free(text);
	text = repeat("- ", 1000, "");
	refuse(state, text, strlen(text), 1, 2 * LIMIT_YAML_DEPTH + 1, "nested too deep");
	free(text);

	/* the list itself is a node too */
	text = repeat("- a\n", LIMIT_YAML_NODES - 1, "");
	assert_int_equal(read(state, text)->count, LIMIT_YAML_NODES - 1);
	free(text);
	text = repeat("- a\n", LIMIT_YAML_NODES, "");
	refuse(state, text, strlen(text), LIMIT_YAML_NODES, 3, "too many values");
	free(text);

	text = repeat("#", LIMIT_YAML - 5, "\na: 1");
	assert_int_equal(strlen(text), LIMIT_YAML);
	read(state, text);
	free(text);
	text = repeat("#", LIMIT_YAML - 4, "\na: 1");
	refuse(state, text, strlen(text), 0, 0, "larger than");
	free(text);
}

/* 60,000 keys; pairwise comparison would take minutes. */
static void big_mapping(void **state)
{
	size_t cap = 60000 * 16, used = 0;
	char *text = malloc(cap);

	assert_non_null(text);
	for (int i = 0; i < 60000; i++)
		used += (size_t)snprintf(text + used, cap - used, "k%d: 1\n", i * 7919 % 60000);
	assert_int_equal(read(state, text)->count, 60000);
	snprintf(text + used, cap - used, "k0: 2\n");
	refuse(state, text, strlen(text), 60001, 1,
	       "duplicate key \"k0\": the first one is on line 1");
	free(text);
}

/* The first error wins, and a caller without interest in it may give none. */
static void first_error(void **state)
{
	struct hcp_err err = {.code = HCP_E_DENIED, .text = "before"};
	const struct yaml_node *root;

	assert_int_equal(yaml_parse(*state, "f", "a: &x", 5, &root, &err), -1);
	assert_string_equal(err.text, "before");
	assert_int_equal(yaml_parse(*state, "f", "a: &x", 5, &root, NULL), -1);
}

static void quoting(void **state)
{
	static const char line[] = "\"a\\x0ab\\x7f\\x9b\xc3\xa4\"";
	char out[YAML_QUOTE], text[400];

	(void)state;
	yaml_quote("", out);
	assert_string_equal(out, "\"\"");
	yaml_quote("a\nb\x7f\xc2\x9b\xc3\xa4", out);
	assert_string_equal(out, line);
	for (size_t len = 0; len < 300; len++) {
		static const char *const units[] = {"x",    "\n",   "\xf0\x9f\x98\x80",
						    "\x80", "\xc2", "\xc2\x80"};

		for (size_t u = 0; u < COUNT(units); u++) {
			size_t used = 0;

			text[0] = '\0';
			while (used + strlen(units[u]) <= len)
				used += (size_t)snprintf(text + used, 8, "%s", units[u]);
			memset(out, 'z', sizeof(out));
			yaml_quote(text, out);
			assert_non_null(memchr(out, '\0', sizeof(out)));
			assert_int_equal(out[strlen(out) - 1], '"');
			if (strlen(text) > 100)
				assert_string_equal(out + strlen(out) - 4, "...\"");
		}
	}
}

static void to_json(void **state)
{
	const struct yaml_node *root = read(state, "z: 1\na: [true, ~, 1.5, 'x', {}]\n"
						   "m: {1: -9223372036854775808}\n");
	struct hcp_err err = {0};
	json_t *j = yaml_to_json(root, "f.yaml", &err);
	char *text;

	assert_non_null(j);
	text = json_dumps(j, JSON_COMPACT);
	assert_string_equal(text, "{\"z\":1,\"a\":[true,null,1.5,\"x\",{}],"
				  "\"m\":{\"1\":-9223372036854775808}}");
	free(text);
	json_decref(j);

	assert_null(yaml_to_json(read(state, "a:\n- 1\n- .nan\n"), "f.yaml", &err));
	assert_int_equal(err.line, 3);
	assert_int_equal(err.column, 3);
	assert_string_equal(err.text, "JSON has no number for .nan");
	err = (struct hcp_err){0};
	assert_null(yaml_to_json(read(state, "a: {b: -.inf}"), "f.yaml", &err));
	assert_int_equal(err.column, 8);
	err = (struct hcp_err){0};
	assert_null(yaml_to_json(&(struct yaml_node){.line = 2}, "f.yaml", &err));
	assert_int_equal(err.line, 2);
}

static void locale_is_ignored(void **state)
{
	/* where the machine has no such locale the C one stays, and this shows less */
	setlocale(LC_ALL, "de_DE.UTF-8");
	assert_true(yaml_get(read(state, "k: 1.5"), "k")->f > 1.4);
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(scalars, setup, teardown),
	    cmocka_unit_test_setup_teardown(strings, setup, teardown),
	    cmocka_unit_test_setup_teardown(tree, setup, teardown),
	    cmocka_unit_test_setup_teardown(keys, setup, teardown),
	    cmocka_unit_test_setup_teardown(refusals, setup, teardown),
	    cmocka_unit_test_setup_teardown(limits, setup, teardown),
	    cmocka_unit_test_setup_teardown(big_mapping, setup, teardown),
	    cmocka_unit_test_setup_teardown(first_error, setup, teardown),
	    cmocka_unit_test_setup_teardown(quoting, setup, teardown),
	    cmocka_unit_test_setup_teardown(to_json, setup, teardown),
	    cmocka_unit_test_setup_teardown(locale_is_ignored, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
