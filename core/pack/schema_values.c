/* SPDX-License-Identifier: MIT */
/* What a schema does to values besides judging them: defaults, secrets, its own text. */
#include "pack/schema_node.h"

#include <string.h>

bool schema_has_property(const struct schema *s, const char *name)
{
	return schema_find_property(s, name) != NULL;
}

bool schema_is_write_only(const struct schema *s, const char *name)
{
	bool secret = false;

	for (; s; s = s->ref) {
		const struct schema *property = schema_own_property(s, name);

		secret = secret || (property && property->secret);
	}
	return secret;
}

bool schema_is_required(const struct schema *s, const char *name)
{
	for (; s; s = s->ref)
		for (size_t i = 0; i < s->required.count; i++)
			if (str_eq(s->required.items[i], name))
				return true;
	return false;
}

/* ---- defaults ---- */

static const json_t *default_of(const struct schema *s)
{
	for (; s; s = s->ref)
		if (s->fallback)
			return s->fallback;
	return NULL;
}

bool schema_has_default(const struct schema *s, const char *name)
{
	return default_of(schema_find_property(s, name)) != NULL;
}

static int fill_members(const struct schema *s, json_t *object)
{
	for (size_t i = 0; i < s->property_count; i++) {
		const struct schema_property *p = &s->properties[i];
		json_t *member = json_object_get(object, p->name);

		/* a default is taken as it is written: one that led to further defaults could
		 * go on for ever */
		if (member ? schema_fill_defaults(p->schema, member) < 0
			   : default_of(p->schema) &&
				 json_object_set_new(object, p->name,
						     json_deep_copy(default_of(p->schema))) < 0)
			return -1;
	}
	return 0;
}

static int fill_additional(const struct schema *s, json_t *object)
{
	const char *name;
	json_t *member;

	json_object_foreach(object, name, member)
	{
		if (!schema_own_property(s, name) &&
		    schema_fill_defaults(s->additional_schema, member) < 0)
			return -1;
	}
	return 0;
}

int schema_fill_defaults(const struct schema *s, json_t *value)
{
	for (; s; s = s->ref) {
		if (json_is_object(value) &&
		    (fill_members(s, value) < 0 ||
		     (s->additional_schema && fill_additional(s, value) < 0)))
			return -1;
		for (size_t i = 0; s->items && i < json_array_size(value); i++)
			if (schema_fill_defaults(s->items, json_array_get(value, i)) < 0)
				return -1;
	}
	return 0;
}

/* ---- secrets ---- */

/* A new reference; NULL with *failed unset: nothing of it may be shown. Where a schema knows of
 * a secret only what it declares is shown: a value of another shape or under a misspelt name
 * may be that secret. */
static json_t *show(const struct schema *s, const json_t *value, bool *failed);

static json_t *show_member(const struct schema *s, const char *name, const json_t *value,
			   bool *failed)
{
	json_t *shown = NULL;
	bool known = false;

	for (; s; s = s->ref) {
		const struct schema *rule = schema_own_property(s, name);
		json_t *next;

		if (!rule)
			rule = s->additional_schema;
		if (!rule)
			continue;
		next = show(rule, known ? shown : value, failed);
		json_decref(shown);
		known = true;
		shown = next;
		if (!shown)
			break;
	}
	return shown;
}

static json_t *show_object(const struct schema *s, const json_t *value, bool *failed)
{
	json_t *out = json_object();
	const char *name;
	json_t *member, *shown;

	json_object_foreach((json_t *)(uintptr_t)value, name, member)
	{
		shown = show_member(s, name, member, failed);
		if (shown && json_object_set_new(out, name, shown) < 0)
			*failed = true;
	}
	*failed = *failed || !out;
	return out;
}

static json_t *show_list(const struct schema *items, const json_t *value, bool *failed)
{
	json_t *out = json_array(), *shown;

	for (size_t i = 0; i < json_array_size(value); i++) {
		shown = show(items, json_array_get(value, i), failed);
		if (shown && json_array_append_new(out, shown) < 0)
			*failed = true;
	}
	*failed = *failed || !out;
	return out;
}

static json_t *show(const struct schema *s, const json_t *value, bool *failed)
{
	const struct schema *items = NULL;
	json_t *copy;

	if (!s->secret) {
		copy = json_deep_copy(value);
		*failed = *failed || !copy;
		return copy;
	}
	for (const struct schema *n = s; n; n = n->ref) {
		if (n->write_only)
			return NULL;
		/* the stricter of two */
		if (n->items && (!items || n->items->secret))
			items = n->items;
	}
	if (json_is_object(value))
		return show_object(s, value, failed);
	return items && json_is_array(value) ? show_list(items, value, failed) : NULL;
}

json_t *schema_without_secrets(const struct schema *s, const json_t *value)
{
	bool failed = false;
	json_t *shown = show(s, value, &failed);

	if (!shown && !failed)
		shown = json_object();
	if (!failed)
		return shown;
	json_decref(shown);
	return NULL;
}

/* ---- its own text ---- */

static int add_defs(const struct schema_defs *defs, const json_t *text, json_t *out);

static int add_def(const struct schema_defs *defs, const char *name, json_t *out)
{
	json_t *text = json_object_get(defs->source, name);

	if (json_object_get(out, name))
		return 0;
	if (json_object_set_new(out, name, json_deep_copy(text)) < 0)
		return -1;
	return add_defs(defs, text, out);
}

static int add_member_defs(const struct schema_defs *defs, const json_t *map, json_t *out)
{
	const char *name;
	json_t *text;

	json_object_foreach((json_t *)(uintptr_t)map, name, text)
	{
		if (add_defs(defs, text, out) < 0)
			return -1;
	}
	return 0;
}

/* Follows the keywords that hold schemas: an example may hold a "$ref" of its own. */
static int add_defs(const struct schema_defs *defs, const json_t *text, json_t *out)
{
	const char *ref = json_string_value(json_object_get(text, "$ref"));

	if (!text)
		return 0;

	if (ref && add_def(defs, schema_ref_name(ref), out) < 0)
		return -1;
	if (add_member_defs(defs, json_object_get(text, "properties"), out) < 0)
		return -1;
	if (add_defs(defs, json_object_get(text, "additionalProperties"), out) < 0)
		return -1;
	return add_defs(defs, json_object_get(text, "items"), out);
}

json_t *schema_to_json(const struct schema *s)
{
	json_t *out = json_deep_copy(s->source), *defs = json_object();
	int rc = out && defs ? 0 : -1;

	if (rc == 0 && s->top && !json_object_get(out, "type"))
		rc = json_object_set_new(out, "type", json_string("object"));
	if (rc == 0 && s->additional == ADDITIONAL_UNKNOWN)
		rc = json_object_set_new(out, "additionalProperties", json_false());
	if (rc == 0 && s->defs)
		rc = add_defs(s->defs, s->source, defs);
	if (rc == 0 && json_object_size(defs))
		rc = json_object_set(out, "$defs", defs);
	json_decref(defs);
	if (rc == 0)
		return out;
	json_decref(out);
	return NULL;
}
