/* SPDX-License-Identifier: MIT */
/* A table of keys as JSON Schema (draft 7, which editors know). It is for who writes a file:
 * the loader never looks at it, and no key stands in it that has no row. */
#include "base/conf.h"

#include <jansson.h>
#include <string.h>

#define DRAFT "http://json-schema.org/draft-07/schema#"

struct maker {
	json_t *defs; /* a table each, but for the first */
	bool failed;  /* memory ran out, or a row's shape is no JSON */
};

static json_t *table_schema(struct maker *m, const struct conf_table *t, bool top);

static json_t *made(struct maker *m, json_t *value)
{
	m->failed |= !value;
	return value;
}

static void put(struct maker *m, json_t *object, const char *key, json_t *value)
{
	m->failed |= json_object_set_new(object, key, value) < 0;
}

/* "a template entry" -> "template_entry" */
static void def_name(const char *what, char out[64])
{
	static const char *const articles[] = {"a ", "an ", "the "};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(articles) / sizeof(articles[0]); i++)
		if (strncmp(what, articles[i], strlen(articles[i])) == 0) {
			what += strlen(articles[i]);
			break;
		}
	for (; *what && n < 63; what++)
		if (*what != '\'')
			out[n++] = *what == ' ' ? '_' : *what;
	out[n] = '\0';
}

/* NULL for no table. */
static json_t *reference(struct maker *m, const struct conf_table *t)
{
	char name[64];

	if (!t)
		return NULL;
	def_name(t->what, name);
	if (!json_object_get(m->defs, name)) {
		/* there before what it holds: a schema holds schemas */
		put(m, m->defs, name, json_object());
		put(m, m->defs, name, table_schema(m, t, false));
	}
	return made(m, json_pack("{s:s+}", "$ref", "#/definitions/", name));
}

static json_t *shape_of(struct maker *m, const struct conf_field *f)
{
	return f->shape ? made(m, json_loads(f->shape, 0, NULL)) : NULL;
}

static json_t *names_of(struct maker *m, const char *const *names)
{
	json_t *list = made(m, json_array());

	for (; *names; names++)
		m->failed |= json_array_append_new(list, json_string(*names)) < 0;
	return list;
}

static json_t *keys_of(struct maker *m, const struct conf_table *t)
{
	json_t *list = made(m, json_array());

	for (size_t i = 0; i < t->count; i++)
		m->failed |= json_array_append_new(list, json_string(t->fields[i].key)) < 0;
	return list;
}

/* Either where there are two; anything where nothing is said. */
static json_t *any_of(struct maker *m, json_t *one, json_t *other)
{
	if (one && other)
		return made(m, json_pack("{s:[o,o]}", "anyOf", one, other));
	return one ? one : other ? other : made(m, json_object());
}

static json_t *list_of(struct maker *m, json_t *item)
{
	return made(m, json_pack("{s:s,s:o}", "type", "array", "items", item));
}

static json_t *each_of(struct maker *m, const struct conf_field *f)
{
	return any_of(m, reference(m, f->each), shape_of(m, f));
}

/* What the reader of the node makes of it. */
static json_t *node_schema(struct maker *m, const struct conf_field *f)
{
	if (f->names)
		return made(m, json_pack("{s:[{s:o},{s:s,s:{s:o},s:i}]}", "anyOf", "enum",
					 names_of(m, f->names), "type", "array", "items",
					 "enum", names_of(m, f->names), "minItems", 1));
	if (f->each)
		return any_of(m, reference(m, f->sub), list_of(m, reference(m, f->each)));
	return any_of(m, reference(m, f->sub), shape_of(m, f));
}

static json_t *map_schema(struct maker *m, const struct conf_field *f)
{
	if (f->sub)
		return reference(m, f->sub);
	return made(
	    m, json_pack("{s:s,s:o}", "type", "object", "additionalProperties", each_of(m, f)));
}

static json_t *value_schema(struct maker *m, const struct conf_field *f)
{
	switch (f->type) {
	case CONF_NODE:
		return node_schema(m, f);
	case CONF_MAP:
		return map_schema(m, f);
	case CONF_LIST:
		return list_of(m, each_of(m, f));
	case CONF_STRING:
		return json_pack("{s:s}", "type", "string");
	case CONF_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case CONF_INT:
		return f->shape ? shape_of(m, f)
				: json_pack("{s:s,s:i}", "type", "integer", "minimum", 0);
	case CONF_DURATION:
		return json_pack("{s:s,s:s}", "type", "string", "pattern",
				 "^[0-9]+(ms|s|m|h)$");
	case CONF_SIZE:
		return json_pack("{s:[s,s],s:i,s:s}", "type", "integer", "string", "minimum", 1,
				 "pattern", "^[0-9]+[KMG]?$");
	case CONF_STRINGS:
		return json_pack("{s:s,s:{s:s}}", "type", "array", "items", "type", "string");
	case CONF_ONE_OR_MORE:
		return json_pack("{s:[s,s],s:{s:s},s:i}", "type", "string", "array", "items",
				 "type", "string", "minItems", 1);
	case CONF_ENV:
		return json_pack("{s:s,s:{s:s}}", "type", "object", "additionalProperties",
				 "type", "string");
	case CONF_ENUM:
		return json_pack("{s:o}", "enum", names_of(m, f->names));
	case CONF_TABLE:
		return reference(m, f->sub);
	}
	return NULL;
}

static json_t *field_schema(struct maker *m, const struct conf_field *f)
{
	json_t *value = made(m, value_schema(m, f));

	if (!f->doc)
		return value;
	/* what stands beside a $ref doesn't count in draft 7 */
	if (json_object_get(value, "$ref"))
		value = made(m, json_pack("{s:[o]}", "allOf", value));
	put(m, value, "description", json_string(f->doc));
	return value;
}

/* Of each row whose mappings have a namer, too: one that says nothing goes by this one's. */
static json_t *heirs(struct maker *m, const struct conf_table *t)
{
	json_t *all = made(m, json_object());

	for (size_t i = 0; i < t->count; i++) {
		const struct conf_table *each = t->fields[i].each;

		if (each && each->namer)
			put(m, all, t->fields[i].key,
			    json_pack("{s:{s:{s:{s:[s]}},s:{s:{s:o}}}}", "additionalProperties",
				      "if", "not", "required", each->namer, "then",
				      "propertyNames", "enum", keys_of(m, each)));
	}
	return all;
}

/* Beside another kind than `named` one more mapping may stand. At the top, nothing said is
 * `named`. */
static void add_named(struct maker *m, json_t *schema, const struct conf_table *t, bool top)
{
	json_t *when =
	    made(m, json_pack("{s:{s:{s:s}}}", "properties", t->namer, "const", t->named));

	if (!top)
		put(m, when, "required", json_pack("[s]", t->namer));
	put(m, schema, "additionalProperties", json_pack("{s:s}", "type", "object"));
	put(m, schema, "if", when);
	put(m, schema, "then",
	    json_pack("{s:{s:o},s:o}", "propertyNames", "enum", keys_of(m, t), "properties",
		      heirs(m, t)));
}

static json_t *table_schema(struct maker *m, const struct conf_table *t, bool top)
{
	json_t *properties = made(m, json_object()), *required = made(m, json_array());
	json_t *schema;

	for (size_t i = 0; i < t->count; i++) {
		const struct conf_field *f = &t->fields[i];

		put(m, properties, f->key, field_schema(m, f));
		if (f->required)
			m->failed |= json_array_append_new(required, json_string(f->key)) < 0;
	}
	schema =
	    made(m, json_pack("{s:s,s:o,s:o,s:b}", "type", "object", "properties", properties,
			      "required", required, "additionalProperties", 0));
	if (t->namer)
		add_named(m, schema, t, top);
	return schema;
}

json_t *conf_schema(const struct conf_table *top)
{
	struct maker m = {.defs = json_object()};
	json_t *schema = table_schema(&m, top, true);

	put(&m, schema, "$schema", json_string(DRAFT));
	put(&m, schema, "definitions", m.defs);
	if (!m.failed)
		return schema;
	json_decref(schema);
	return NULL;
}
