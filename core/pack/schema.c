/* SPDX-License-Identifier: MIT */
/* Schemas from YAML. Whatever isn't understood fails the load: a keyword that was skipped would
 * be a check that its author believes in and nobody makes. */
#include "pack/schema_node.h"

#include "base/json.h"
#include "pack/number.h"

#include <stdlib.h>
#include <string.h>

struct compiler {
	const struct conf_ctx *ctx;
	const struct schema_defs *defs;
	struct schema *list; /* all nodes so far, children before what holds them */
};

struct schema_conf {
	const struct yaml_node *type, *allowed, *exactly, *properties, *additional, *items;
	const struct yaml_node *minimum, *maximum, *above, *below, *multiple_of;
	const struct yaml_node *fallback, *examples;
	struct conf_strings required;
	int64_t min_items, max_items, min_length, max_length;
	enum conf_bool unique, write_only;
	const char *pattern, *ref, *title, *description, *format;
};
#define ROW(k, t, member, ...)                                                                 \
	{                                                                                      \
		.key = k, .type = t, .offset = offsetof(struct schema_conf, member),           \
		__VA_ARGS__                                                                    \
	}
#define A_NUMBER "{\"type\": \"number\"}"
static const char *const type_names[] = {"null",   "boolean", "integer", "number",
					 "string", "array",   "object",  NULL};
static const struct conf_field schema_fields[] = {
    ROW("type", CONF_NODE, type, .names = type_names),
    ROW("enum", CONF_LIST, allowed),
    ROW("const", CONF_NODE, exactly),
    ROW("properties", CONF_MAP, properties, .each = &schema_keyword_table),
    ROW("required", CONF_STRINGS, required),
    ROW("additionalProperties", CONF_NODE, additional, .sub = &schema_keyword_table,
	.shape = "{\"type\": \"boolean\"}"),
    ROW("items", CONF_MAP, items, .sub = &schema_keyword_table),
    ROW("minItems", CONF_INT, min_items),
    ROW("maxItems", CONF_INT, max_items),
    ROW("uniqueItems", CONF_BOOL, unique),
    ROW("minimum", CONF_NODE, minimum, .shape = A_NUMBER),
    ROW("maximum", CONF_NODE, maximum, .shape = A_NUMBER),
    ROW("exclusiveMinimum", CONF_NODE, above, .shape = A_NUMBER),
    ROW("exclusiveMaximum", CONF_NODE, below, .shape = A_NUMBER),
    ROW("multipleOf", CONF_NODE, multiple_of, .shape = A_NUMBER),
    ROW("minLength", CONF_INT, min_length),
    ROW("maxLength", CONF_INT, max_length),
    ROW("pattern", CONF_STRING, pattern),
    ROW("$ref", CONF_STRING, ref),
    ROW("default", CONF_NODE, fallback),
    ROW("title", CONF_STRING, title),
    ROW("description", CONF_STRING, description),
    ROW("examples", CONF_LIST, examples),
    ROW("format", CONF_STRING, format),
    ROW("writeOnly", CONF_BOOL, write_only),
};
const struct conf_table schema_keyword_table = CONF_ROWS("a schema", schema_fields);

/* ---- what others ask of a node ---- */

const char *schema_ref_name(const char *ref)
{
	static const char prefix[] = "#/$defs/";

	return str_starts(ref, prefix) && ref[sizeof(prefix) - 1] ? ref + sizeof(prefix) - 1
								  : NULL;
}

const struct schema_def *schema_find_def(const struct schema_defs *d, const char *name)
{
	for (size_t i = 0; d && i < d->count; i++)
		if (str_eq(d->items[i].name, name))
			return &d->items[i];
	return NULL;
}

const struct schema *schema_own_property(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->property_count; i++)
		if (str_eq(s->properties[i].name, name))
			return s->properties[i].schema;
	return NULL;
}

const struct schema *schema_find_property(const struct schema *s, const char *name)
{
	const struct schema *found = NULL;

	for (; s && !found; s = s->ref)
		found = schema_own_property(s, name);
	return found;
}

/* ---- types ---- */

#define TYPE_COUNT (sizeof(type_names) / sizeof(type_names[0]) - 1)

static int add_type(const struct compiler *k, const struct yaml_node *node, struct schema *s,
		    struct hcp_err *err)
{
	char quoted[YAML_QUOTE];

	for (unsigned i = 0; node->kind == YAML_STR && i < TYPE_COUNT; i++)
		if (strcmp(type_names[i], node->text) == 0) {
			s->types |= 1U << i;
			return 0;
		}
	yaml_quote(node->text ? node->text : "", quoted);
	return conf_fail(k->ctx, node, err,
			 "\"type\" must be null (in quotes), boolean, integer, number, string, "
			 "array or object, not %s",
			 node->kind == YAML_STR ? quoted : yaml_kind_name(node->kind));
}

static int set_types(const struct compiler *k, const struct schema_conf *conf, struct schema *s,
		     struct hcp_err *err)
{
	const struct yaml_node *type = conf->type;

	if (!type)
		return 0;
	if (type->kind != YAML_SEQ)
		return add_type(k, type, s, err);
	if (!type->count)
		return conf_fail(k->ctx, type, err, "\"type\" must hold at least one");
	for (size_t i = 0; i < type->count; i++)
		if (add_type(k, type->items[i], s, err) < 0)
			return -1;
	return 0;
}

/* ---- numbers, texts and lists ---- */

static int set_number(const struct compiler *k, const struct yaml_node *node,
		      const json_t *json, const char *key, const json_t **out,
		      struct hcp_err *err)
{
	if (!node)
		return 0;
	*out = json_object_get(json, key);
	if (!json_is_number(*out))
		return conf_fail(k->ctx, node, err, "\"%s\" must be a number, not %s", key,
				 yaml_kind_name(node->kind));
	return 0;
}

static int set_numbers(const struct compiler *k, const struct schema_conf *conf,
		       const json_t *json, struct schema *s, struct hcp_err *err)
{
	if (set_number(k, conf->minimum, json, "minimum", &s->minimum, err) < 0 ||
	    set_number(k, conf->maximum, json, "maximum", &s->maximum, err) < 0 ||
	    set_number(k, conf->above, json, "exclusiveMinimum", &s->above, err) < 0 ||
	    set_number(k, conf->below, json, "exclusiveMaximum", &s->below, err) < 0 ||
	    set_number(k, conf->multiple_of, json, "multipleOf", &s->multiple_of, err) < 0)
		return -1;
	if (s->multiple_of && json_number_value(s->multiple_of) <= 0)
		return conf_fail(k->ctx, conf->multiple_of, err,
				 "\"multipleOf\" must be more than 0");
	return 0;
}

static int set_pattern(const struct compiler *k, const struct yaml_node *node,
		       const struct schema_conf *conf, struct schema *s, struct hcp_err *err)
{
	struct hcp_err why = {0};

	if (!conf->pattern)
		return 0;
	s->pattern_text = conf->pattern;
	s->pattern = pattern_compile(conf->pattern, &why);
	if (s->pattern)
		return 0;
	if (why.code == HCP_E_NOMEM)
		return hcp_fail_nomem(err);
	return conf_fail(k->ctx, yaml_get(node, "pattern"), err,
			 "\"pattern\" is no regular expression: %s", why.text);
}

static int set_values(const struct compiler *k, const struct schema_conf *conf,
		      const json_t *json, struct schema *s, struct hcp_err *err)
{
	if (conf->allowed && !conf->allowed->count)
		return conf_fail(k->ctx, conf->allowed, err,
				 "\"enum\" must hold at least one value");
	s->allowed = conf->allowed ? json_object_get(json, "enum") : NULL;
	s->exactly = conf->exactly ? json_object_get(json, "const") : NULL;
	s->fallback = conf->fallback ? json_object_get(json, "default") : NULL;
	s->required = conf->required;
	s->min_items = conf->min_items;
	s->max_items = conf->max_items;
	s->min_length = conf->min_length;
	s->max_length = conf->max_length;
	s->unique = conf->unique == CONF_TRUE;
	s->write_only = conf->write_only == CONF_TRUE;
	return 0;
}

/* ---- what lies beneath ---- */

static int compile_node(struct compiler *k, const struct yaml_node *node, const json_t *json,
			struct schema *s, struct hcp_err *err);

static struct schema *compile_child(struct compiler *k, const struct yaml_node *node,
				    const json_t *json, struct hcp_err *err)
{
	struct schema *s = arena_alloc(k->ctx->arena, sizeof(*s));

	if (!s)
		hcp_fail_nomem(err);
	return s && compile_node(k, node, json, s, err) == 0 ? s : NULL;
}

static int set_properties(struct compiler *k, const struct schema_conf *conf,
			  const json_t *json, struct schema *s, struct hcp_err *err)
{
	const json_t *values = json_object_get(json, "properties");
	size_t count = conf->properties ? conf->properties->count : 0;

	s->properties = arena_array(k->ctx->arena, count, sizeof(*s->properties));
	if (!s->properties && count)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const struct yaml_pair *pair = &conf->properties->pairs[i];
		const char *name = pair->key->text;

		s->properties[i].name = name;
		s->properties[i].schema =
		    compile_child(k, pair->value, json_object_get(values, name), err);
		if (!s->properties[i].schema)
			return -1;
		s->property_count++;
	}
	return 0;
}

static int set_additional(struct compiler *k, const struct schema_conf *conf,
			  const json_t *json, struct schema *s, struct hcp_err *err)
{
	const struct yaml_node *node = conf->additional;

	s->additional = ADDITIONAL_ANY;
	if (!node)
		return 0;
	if (node->kind == YAML_BOOL) {
		s->additional = node->b ? ADDITIONAL_ANY : ADDITIONAL_NONE;
		return 0;
	}
	if (node->kind != YAML_MAP)
		return conf_fail(k->ctx, node, err,
				 "\"additionalProperties\" must be true, false or a schema");
	s->additional = ADDITIONAL_SCHEMA;
	s->additional_schema =
	    compile_child(k, node, json_object_get(json, "additionalProperties"), err);
	return s->additional_schema ? 0 : -1;
}

static int set_items(struct compiler *k, const struct schema_conf *conf, const json_t *json,
		     struct schema *s, struct hcp_err *err)
{
	if (!conf->items)
		return 0;
	s->items = compile_child(k, conf->items, json_object_get(json, "items"), err);
	return s->items ? 0 : -1;
}

static int set_ref(const struct compiler *k, const struct yaml_node *node,
		   const struct schema_conf *conf, struct schema *s, struct hcp_err *err)
{
	const struct schema_def *def;
	const char *name;
	char quoted[YAML_QUOTE];

	if (!conf->ref)
		return 0;
	node = yaml_get(node, "$ref");
	name = schema_ref_name(conf->ref);
	yaml_quote(conf->ref, quoted);
	if (!name)
		return conf_fail(k->ctx, node, err,
				 "\"$ref\" must be \"#/$defs/<name>\", not %s", quoted);
	def = schema_find_def(k->defs, name);
	if (!def)
		return conf_fail(k->ctx, node, err, "the pack's $defs has nothing for %s",
				 quoted);
	s->ref = def->schema;
	return 0;
}

/* A name that can't be given can't be required either. */
static int check_required(const struct compiler *k, const struct yaml_node *node,
			  const struct schema *s, struct hcp_err *err)
{
	char quoted[YAML_QUOTE];

	if (s->additional != ADDITIONAL_NONE && s->additional != ADDITIONAL_UNKNOWN)
		return 0;
	for (size_t i = 0; i < s->required.count; i++) {
		const char *name = s->required.items[i];

		if (s->additional == ADDITIONAL_UNKNOWN ? schema_find_property(s, name)
							: schema_own_property(s, name))
			continue;
		yaml_quote(name, quoted);
		return conf_fail(k->ctx, yaml_get(node, "required"), err,
				 "\"required\" names %s, which is no declared property",
				 quoted);
	}
	return 0;
}

static int compile_node(struct compiler *k, const struct yaml_node *node, const json_t *json,
			struct schema *s, struct hcp_err *err)
{
	struct schema_conf conf = {
	    .min_items = -1, .max_items = -1, .min_length = -1, .max_length = -1};

	if (node->kind != YAML_MAP)
		return conf_fail(k->ctx, node, err, "a schema must be a mapping, not %s",
				 yaml_kind_name(node->kind));
	if (conf_read(k->ctx, node, &schema_keyword_table, &conf, err) < 0 ||
	    set_types(k, &conf, s, err) < 0 || set_numbers(k, &conf, json, s, err) < 0 ||
	    set_values(k, &conf, json, s, err) < 0 || set_ref(k, node, &conf, s, err) < 0 ||
	    set_properties(k, &conf, json, s, err) < 0 ||
	    set_additional(k, &conf, json, s, err) < 0 || set_items(k, &conf, json, s, err) < 0)
		return -1;
	/* on the list before it owns what only the list's owner frees */
	s->next = k->list;
	k->list = s;
	return set_pattern(k, node, &conf, s, err);
}

/* ---- once all nodes are there ---- */

static bool find_secret(const struct schema *s)
{
	bool secret = s->write_only || (s->ref && s->ref->secret) ||
		      (s->items && s->items->secret) ||
		      (s->additional_schema && s->additional_schema->secret);

	for (size_t i = 0; i < s->property_count; i++)
		secret = secret || s->properties[i].schema->secret;
	return secret;
}

/* Again and again because of references: they may lead anywhere, in circles, too. */
static void mark_secrets(struct schema *list)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (struct schema *s = list; s; s = s->next)
			if (!s->secret && find_secret(s))
				s->secret = changed = true;
	}
}

static int check_default(const struct compiler *k, const struct yaml_node *node,
			 const struct schema *s, struct hcp_err *err)
{
	AUTO_BUF faults = {0};
	const struct schema *from = s;
	int n = 0;

	/* the one that would be filled in may be what $ref names: it must fit here, too */
	while (from && !from->fallback)
		from = from->ref;
	if (from)
		n = schema_validate(s, from->fallback, "default", &faults);

	if (n < 0 || faults.failed)
		return hcp_fail_nomem(err);
	if (n > 0)
		return conf_fail(k->ctx, yaml_get(node, from == s ? "default" : "$ref"), err,
				 "the default doesn't fit: %s", faults.data);
	return 0;
}

/* `node` and s side by side. */
static int check_node(const struct compiler *k, const struct yaml_node *node,
		      const struct schema *s, struct hcp_err *err)
{
	const struct yaml_node *properties = yaml_get(node, "properties");

	if (check_required(k, node, s, err) < 0 || check_default(k, node, s, err) < 0)
		return -1;
	for (size_t i = 0; i < s->property_count; i++)
		if (check_node(k, properties->pairs[i].value, s->properties[i].schema, err) < 0)
			return -1;
	if (s->additional_schema && check_node(k, yaml_get(node, "additionalProperties"),
					       s->additional_schema, err) < 0)
		return -1;
	return s->items ? check_node(k, yaml_get(node, "items"), s->items, err) : 0;
}

static void free_list(struct schema *list)
{
	for (struct schema *s = list; s; s = s->next) {
		pattern_free(s->pattern);
		s->pattern = NULL;
	}
}

/* ---- $defs ---- */

static const char *judge_name(const char *name)
{
	static const char all[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

	return *name && !name[strspn(name, all)]
		   ? NULL
		   : "must be of letters, digits, \"_\", \".\" and \"-\"";
}

/* All names first: definitions may refer to each other. */
static int list_defs(const struct conf_ctx *c, const struct yaml_node *node,
		     struct schema_defs *d, struct hcp_err *err)
{
	char quoted[YAML_QUOTE];

	if (node->kind != YAML_MAP)
		return conf_fail(c, node, err, "\"$defs\" must be a mapping, not %s",
				 yaml_kind_name(node->kind));
	d->items = arena_array(c->arena, node->count, sizeof(*d->items));
	if (!d->items && node->count)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_node *key = node->pairs[i].key;
		struct schema *s = arena_alloc(c->arena, sizeof(*s));

		yaml_quote(key->text, quoted);
		if (judge_name(key->text))
			return conf_fail(c, key, err, "%s in \"$defs\" %s", quoted,
					 judge_name(key->text));
		if (!s)
			return hcp_fail_nomem(err);
		d->items[d->count++] = (struct schema_def){key->text, node->pairs[i].value, s};
	}
	return 0;
}

/* a: { $ref: b }, b: { $ref: a } says nothing and would never end. */
static int check_circles(const struct compiler *k, const struct schema_defs *d,
			 struct hcp_err *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct schema *s = d->items[i].schema;
		size_t steps = 0;

		while (s && steps++ <= d->count)
			s = s->ref;
		if (s)
			return conf_fail(
			    k->ctx, d->items[i].node, err,
			    "\"%s\" in \"$defs\" refers to itself and nothing else",
			    d->items[i].name);
	}
	return 0;
}

static int compile_defs(struct compiler *k, struct schema_defs *d, struct hcp_err *err)
{
	for (size_t i = 0; i < d->count; i++)
		if (compile_node(k, d->items[i].node,
				 json_object_get(d->source, d->items[i].name),
				 d->items[i].schema, err) < 0)
			return -1;
	mark_secrets(k->list);
	if (check_circles(k, d, err) < 0)
		return -1;
	for (size_t i = 0; i < d->count; i++)
		if (check_node(k, d->items[i].node, d->items[i].schema, err) < 0)
			return -1;
	return 0;
}

int schema_defs_compile(const struct conf_ctx *c, const struct yaml_node *defs,
			struct schema_defs **out, struct hcp_err *err)
{
	struct schema_defs *d = arena_alloc(c->arena, sizeof(*d));
	struct compiler k = {.ctx = c, .defs = d};

	*out = NULL;
	if (!d)
		return hcp_fail_nomem(err);
	if (list_defs(c, defs, d, err) < 0)
		return -1;
	d->source = yaml_to_json(defs, c->file, err);
	if (!d->source)
		return -1;
	if (compile_defs(&k, d, err) < 0) {
		free_list(k.list);
		json_decref(d->source);
		return -1;
	}
	d->list = k.list;
	*out = d;
	return 0;
}

void schema_defs_free(struct schema_defs *d)
{
	if (!d)
		return;
	free_list(d->list);
	json_decref(d->source);
}

/* ---- args and output ---- */

static int check_reserved(const struct compiler *k, const struct yaml_node *node,
			  const struct schema *s, struct hcp_err *err)
{
	static const char *const reserved[] = {"confirm", "apply", "mode"};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (schema_find_property(s, reserved[i]))
			return conf_fail(k->ctx, node, err,
					 "\"%s\" is hcp's own and can't be a property",
					 reserved[i]);
	return 0;
}

static int finish_top(const struct compiler *k, const struct yaml_node *node, struct schema *s,
		      struct hcp_err *err)
{
	if (s->types && s->types != SCHEMA_OBJECT)
		return conf_fail(k->ctx, yaml_get(node, "type"), err,
				 "\"args\" are an object: \"type\" can be nothing else");
	s->types = SCHEMA_OBJECT;
	s->top = true;
	if (!yaml_get(node, "additionalProperties"))
		s->additional = ADDITIONAL_UNKNOWN;
	return check_reserved(k, node, s, err);
}

int schema_compile(const struct conf_ctx *c, const struct yaml_node *node,
		   const struct schema_defs *defs, bool top, struct schema **out,
		   struct hcp_err *err)
{
	struct compiler k = {.ctx = c, .defs = defs};
	struct schema *s = arena_alloc(c->arena, sizeof(*s));
	json_t *source;

	*out = NULL;
	if (!s)
		return hcp_fail_nomem(err);
	source = yaml_to_json(node, c->file, err);
	if (!source)
		return -1;
	if (compile_node(&k, node, source, s, err) < 0 ||
	    (top && finish_top(&k, node, s, err) < 0))
		goto fail;
	mark_secrets(k.list);
	if (check_node(&k, node, s, err) < 0)
		goto fail;
	s->source = source;
	s->defs = defs;
	*out = s;
	return 0;
fail:
	free_list(k.list);
	json_decref(source);
	return -1;
}

/* The top one was listed last, so it heads the list. */
void schema_free(struct schema *s)
{
	if (!s)
		return;
	free_list(s);
	json_decref(s->source);
	s->source = NULL;
}
