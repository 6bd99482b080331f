/* SPDX-License-Identifier: MIT */
/* What a schema does to values: defaults filled in, secrets left out, its own text given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schema_text.h"

#include <stdio.h>

static void filled(const struct text *t, const char *json, const char *want)
{
	json_t *v = json_of(json);

	assert_int_equal(schema_fill_defaults(t->s, v), 0);
	expect_json(v, want);
	json_decref(v);
}

static void defaults(void **state)
{
	AUTO_TEXT t = {0};

	(void)state;
	text_load(
	    &t, "$defs: { d: { type: string, default: from ref } }\n"
		"args: { properties: {\n"
		"  a: { default: 1 }, n: { default: null }, f: { default: false },\n"
		"  r: { $ref: \"#/$defs/d\" }, o: { properties: { x: { default: [1] } } } } }");
	filled(&t, "{}", "{\"a\":1,\"n\":null,\"f\":false,\"r\":\"from ref\"}");
	filled(&t, "{\"r\":\"r\",\"a\":null,\"f\":0,\"n\":0}",
	       "{\"r\":\"r\",\"a\":null,\"f\":0,\"n\":0}");
	filled(&t, "{\"o\":{},\"a\":2,\"n\":2,\"f\":2,\"r\":\"\"}",
	       "{\"o\":{\"x\":[1]},\"a\":2,\"n\":2,\"f\":2,\"r\":\"\"}");
	filled(&t, "{\"o\":[{}],\"a\":2,\"n\":2,\"f\":2,\"r\":\"\"}",
	       "{\"o\":[{}],\"a\":2,\"n\":2,\"f\":2,\"r\":\"\"}");
}

static void defaults_beneath(void **state)
{
	AUTO_TEXT t = {0}, tree = {0}, near = {0};

	(void)state;
	text_load(&t, "output: { items: { properties: { a: { default: 1 } }, "
		      "additionalProperties: { properties: { b: { default: 2 } } } } }");
	filled(&t, "[{},{\"a\":3,\"m\":{},\"n\":[]},7]",
	       "[{\"a\":1},{\"a\":3,\"m\":{\"b\":2},\"n\":[]},7]");
	/* a default is taken as written, so this one ends */
	text_load(&tree,
		  "$defs: { n: { properties: { sub: { $ref: \"#/$defs/n\", default: {} }, "
		  "v: { default: 1 } } } }\n"
		  "output: { $ref: \"#/$defs/n\" }");
	filled(&tree, "{}", "{\"sub\":{},\"v\":1}");
	filled(&tree, "{\"sub\":{}}", "{\"sub\":{\"sub\":{},\"v\":1},\"v\":1}");
	text_load(&near, "$defs: { d: { default: far } }\n"
			 "args: { properties: { a: { $ref: \"#/$defs/d\", default: near } } }");
	filled(&near, "{}", "{\"a\":\"near\"}");
}

/* Two calls share nothing: what one does to its copy isn't seen by the next. */
static void a_default_is_a_copy(void **state)
{
	json_t *v = json_object();
	AUTO_TEXT t = {0};

	(void)state;
	text_load(&t, "args: { properties: { l: { default: [1, { a: 2 }] } } }");
	assert_int_equal(schema_fill_defaults(t.s, v), 0);
	json_object_set_new(json_array_get(json_object_get(v, "l"), 1), "a", json_integer(9));
	json_array_append_new(json_object_get(v, "l"), json_true());
	json_decref(v);
	filled(&t, "{}", "{\"l\":[1,{\"a\":2}]}");
}

static void properties_are_asked_for(void **state)
{
	AUTO_TEXT t = {0};

	(void)state;
	text_load(
	    &t,
	    "$defs:\n"
	    "  pin: { writeOnly: true }\n"
	    "  more: { properties: { far: {}, both: { writeOnly: true } }, required: [far] }\n"
	    "args:\n"
	    "  $ref: \"#/$defs/more\"\n"
	    "  properties: { a: {}, p: { $ref: \"#/$defs/pin\" }, both: {},\n"
	    "    in: { items: { properties: { p: { $ref: \"#/$defs/pin\" } } } } }\n"
	    "  required: [a]\n");
	assert_true(schema_has_property(t.s, "a"));
	assert_true(schema_has_property(t.s, "far"));
	assert_false(schema_has_property(t.s, "b"));
	assert_false(schema_has_property(t.s, ""));
	assert_true(schema_is_required(t.s, "a"));
	assert_true(schema_is_required(t.s, "far"));
	assert_false(schema_is_required(t.s, "p"));
	assert_false(schema_is_write_only(t.s, "a"));
	assert_true(schema_is_write_only(t.s, "p"));
	assert_true(schema_is_write_only(t.s, "both"));
	/* whose argv would show what lies within */
	assert_true(schema_is_write_only(t.s, "in"));
	assert_false(schema_is_write_only(t.s, "none"));
}

static void shown(const struct text *t, const char *json, const char *want)
{
	json_t *v = json_of(json), *copy = schema_without_secrets(t->s, v);

	expect_json(copy, want);
	json_decref(copy);
	/* the value itself stays whole */
	expect_json(v, json);
	json_decref(v);
}

static const char secrets[] =
    "$defs:\n"
    "  pin: { type: string, writeOnly: true }\n"
    "  card: { properties: { no: { $ref: \"#/$defs/pin\" }, name: {} } }\n"
    "  tree: { properties: { pin: { $ref: \"#/$defs/pin\" }, sub: { items: { $ref: "
    "\"#/$defs/tree\" } } } }\n"
    "args:\n"
    "  properties:\n"
    "    a: {}\n"
    "    pin: { $ref: \"#/$defs/pin\" }\n"
    "    card: { $ref: \"#/$defs/card\" }\n"
    "    cards: { items: { $ref: \"#/$defs/card\" } }\n"
    "    pins: { items: { $ref: \"#/$defs/pin\" } }\n"
    "    map: { additionalProperties: { $ref: \"#/$defs/pin\" }, properties: { ok: {} } }\n"
    "    tree: { $ref: \"#/$defs/tree\" }\n";

static void secrets_are_left_out(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"a\":{\"pin\":1}}", "{\"a\":{\"pin\":1}}"},
	    {"{\"a\":1,\"pin\":\"x\"}", "{\"a\":1}"},
	    {"{\"pin\":{\"deep\":[\"x\"]}}", "{}"},
	    {"{\"card\":{\"no\":\"x\",\"name\":\"n\"}}", "{\"card\":{\"name\":\"n\"}}"},
	    {"{\"cards\":[{\"no\":\"x\"},{\"name\":2}]}", "{\"cards\":[{},{\"name\":2}]}"},
	    {"{\"pins\":[\"x\",\"y\"]}", "{\"pins\":[]}"},
	    {"{\"map\":{\"ok\":1,\"k\":\"x\"}}", "{\"map\":{\"ok\":1}}"},
	    {"{\"tree\":{\"pin\":\"x\",\"sub\":[{\"pin\":\"y\",\"sub\":[]}]}}",
	     "{\"tree\":{\"sub\":[{\"sub\":[]}]}}"},
	};
	AUTO_TEXT t = {0};

	(void)state;
	text_load(&t, secrets);
	for (size_t i = 0; i < COUNT(rows); i++)
		shown(&t, rows[i][0], rows[i][1]);
}

/* A value that fits nothing may be the secret in the wrong place. */
static void secrets_in_the_wrong_place_too(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"pim\":\"x\"}", "{}"},
	    {"{\"card\":\"x\"}", "{}"},
	    {"{\"card\":[\"x\"]}", "{}"},
	    {"{\"card\":{\"nr\":\"x\",\"name\":1}}", "{\"card\":{\"name\":1}}"},
	    {"{\"cards\":\"x\"}", "{}"},
	    {"{\"cards\":{\"no\":\"x\"}}", "{\"cards\":{}}"},
	    {"{\"cards\":[\"x\",{\"name\":1}]}", "{\"cards\":[{\"name\":1}]}"},
	    {"{\"pins\":\"x\"}", "{}"},
	    {"{\"tree\":{\"sub\":{\"pin\":\"x\"}}}", "{\"tree\":{\"sub\":{}}}"},
	    {"[\"x\"]", "{}"},
	    {"\"x\"", "{}"},
	};
	AUTO_TEXT t = {0};

	(void)state;
	text_load(&t, secrets);
	for (size_t i = 0; i < COUNT(rows); i++)
		shown(&t, rows[i][0], rows[i][1]);
}

/* Of two schemas for one value the stricter holds. */
static void secrets_by_either_schema(void **state)
{
	AUTO_TEXT beside = {0}, whole = {0};

	(void)state;
	text_load(&beside, "$defs: { d: { properties: { p: { writeOnly: true }, q: {} } } }\n"
			   "args: { $ref: \"#/$defs/d\", properties: { p: {}, r: {} } }");
	shown(&beside, "{\"p\":\"x\",\"q\":1,\"r\":2}", "{\"q\":1,\"r\":2}");
	text_load(&whole, "$defs: { d: { writeOnly: true } }\n"
			  "output: { $ref: \"#/$defs/d\", properties: { a: {} } }");
	shown(&whole, "{\"a\":\"x\"}", "{}");
}

static void without_secrets_all_is_shown(void **state)
{
	AUTO_TEXT t = {0};

	(void)state;
	text_load(&t, "args: { properties: { a: { writeOnly: false } } }");
	shown(&t, "{\"a\":[1,{\"b\":null}],\"c\":2}", "{\"a\":[1,{\"b\":null}],\"c\":2}");
	shown(&t, "[1]", "[1]");
}

static void text_is(const char *yaml, const char *want)
{
	AUTO_TEXT t = {0};
	json_t *v;

	text_load(&t, yaml);
	v = schema_to_json(t.s);
	expect_json(v, want);
	json_decref(v);
}

static void its_own_text(void **state)
{
	(void)state;
	text_is("args: {}", "{\"type\":\"object\",\"additionalProperties\":false}");
	text_is("args: { properties: { a: { type: [integer, \"null\"], default: 1 } }, "
		"required: [a] }",
		"{\"properties\":{\"a\":{\"type\":[\"integer\",\"null\"],\"default\":1}},"
		"\"required\":[\"a\"],\"type\":\"object\",\"additionalProperties\":false}");
	text_is("args: { type: object, additionalProperties: true }",
		"{\"type\":\"object\",\"additionalProperties\":true}");
	text_is("output: { minimum: 0.1, title: T }", "{\"minimum\":0.1,\"title\":\"T\"}");
}

static void its_own_text_with_defs(void **state)
{
	(void)state;
	/* only what is reached, once, in circles, too */
	text_is(
	    "$defs: { a: { items: { $ref: \"#/$defs/b\" } }, b: { properties: { x: { $ref: "
	    "\"#/$defs/a\" } } }, c: { type: string } }\n"
	    "output: { additionalProperties: { $ref: \"#/$defs/a\" } }",
	    "{\"additionalProperties\":{\"$ref\":\"#/$defs/a\"},\"$defs\":{\"a\":{\"items\":"
	    "{\"$ref\":\"#/$defs/b\"}},\"b\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/"
	    "a\"}}}}}");
	/* a value that looks like a reference is none, a property may be called so */
	text_is("$defs: { c: {} }\n"
		"output: { examples: [{ $ref: \"#/$defs/c\" }], properties: { $ref: {} } }",
		"{\"examples\":[{\"$ref\":\"#/$defs/c\"}],\"properties\":{\"$ref\":{}}}");
	text_is("$defs: { c: {} }\noutput: {}", "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults),
	    cmocka_unit_test(defaults_beneath),
	    cmocka_unit_test(a_default_is_a_copy),
	    cmocka_unit_test(properties_are_asked_for),
	    cmocka_unit_test(secrets_are_left_out),
	    cmocka_unit_test(secrets_in_the_wrong_place_too),
	    cmocka_unit_test(secrets_by_either_schema),
	    cmocka_unit_test(without_secrets_all_is_shown),
	    cmocka_unit_test(its_own_text),
	    cmocka_unit_test(its_own_text_with_defs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
