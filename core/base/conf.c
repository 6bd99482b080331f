/* SPDX-License-Identifier: MIT */
/* Reads a mapping by its table. Between the tree and the structs of the loaders, it never
 * converts one kind of value into another and never skips what it doesn't know: a typing error
 * in a policy must not become a permission. Messages name keys and kinds, never a value. */
#include "base/conf.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL (2 * YAML_QUOTE + 32)

#define FAULTS_MAX 1000

void conf_faults_add(struct conf_faults *all, const struct hcp_err *fault)
{
	struct hcp_err *grown;

	if (!all || all->count == FAULTS_MAX)
		return;
	grown = realloc(all->items, (all->count + 1) * sizeof(*grown));
	if (!grown) {
		all->failed = true;
		return;
	}
	all->items = grown;
	all->items[all->count++] = *fault;
}

void conf_faults_free(struct conf_faults *all)
{
	free(all->items);
	*all = (struct conf_faults){0};
}

int conf_fail(const struct conf_ctx *c, const struct yaml_node *at, struct hcp_err *err,
	      const char *fmt, ...)
{
	struct hcp_err fault = {0};
	char text[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	hcp_fail_at(&fault, c->file, at ? at->line : 0, at ? at->column : 0, "%s", text);
	conf_faults_add(c->all, &fault);
	if (err && err->code == HCP_E_NONE)
		*err = fault;
	return -1;
}

/* The known word that a typing error away is closest, NULL where none is likely. */
struct guess {
	const char *word;
	unsigned distance;
};

static void consider(struct guess *g, const char *text, const char *word)
{
	unsigned distance = str_distance(text, word);
	size_t len = strlen(word);

	if (distance <= (len <= 3   ? 1
			 : len <= 8 ? 2
				    : 3) &&
	    distance < len && (!g->word || distance < g->distance))
		*g = (struct guess){word, distance};
}

/* ` (did you mean "x"?)` or nothing. */
static const char *hint(const struct guess *g, char out[LABEL])
{
	out[0] = '\0';
	if (g->word)
		snprintf(out, LABEL, " (did you mean \"%s\"?)", g->word);
	return out;
}

static int wrong_kind(const struct conf_ctx *c, const struct yaml_node *node, const char *label,
		      const char *wanted, struct hcp_err *err)
{
	return conf_fail(c, node, err, "%s must be %s, not %s", label, wanted,
			 yaml_kind_name(node->kind));
}

/* The text lives as long as the tree. */
static int read_string(const struct conf_ctx *c, const struct yaml_node *node,
		       const struct conf_field *f, const char *label, const char **out,
		       struct hcp_err *err)
{
	const char *why;

	if (node->kind != YAML_STR)
		/* a scalar that somebody wrote would be a string in quotes */
		return conf_fail(c, node, err, "%s must be a string, not %s%s", label,
				 yaml_kind_name(node->kind), node->len ? ": quote it" : "");
	if (memchr(node->text, '\0', node->len))
		return conf_fail(c, node, err, "%s can't hold a NUL character", label);
	why = f->check ? f->check(node->text) : NULL;
	if (why)
		return conf_fail(c, node, err, "%s %s", label, why);
	*out = node->text;
	return 0;
}

static int read_strings(const struct conf_ctx *c, const struct yaml_node *node,
			const struct conf_field *f, const char *label, struct conf_strings *out,
			struct hcp_err *err)
{
	bool one_ok = f->type == CONF_ONE_OR_MORE;
	bool single = one_ok && node->kind != YAML_SEQ;
	size_t count = single ? 1 : node->count;
	const char **items;
	char item[LABEL];
	int rc = 0;

	if (one_ok && (node->kind == YAML_MAP || node->kind == YAML_NULL))
		return wrong_kind(c, node, label, "a string or a list of strings", err);
	if (!single && node->kind != YAML_SEQ)
		return wrong_kind(c, node, label, "a list of strings", err);
	if (one_ok && !count)
		return conf_fail(c, node, err, "%s must hold at least one string", label);
	items = arena_array(c->arena, count ? count : 1, sizeof(*items));
	if (!items)
		return hcp_fail_nomem(err);
	snprintf(item, sizeof(item), "%s%s", single ? "" : "each item of ", label);
	for (size_t i = 0; i < count && (rc == 0 || c->all); i++)
		rc |= read_string(c, single ? node : node->items[i], f, item, &items[i], err);
	if (rc < 0)
		return -1;
	*out = (struct conf_strings){count, items, true, node->line, node->column};
	return 0;
}

static int read_env(const struct conf_ctx *c, const struct yaml_node *node,
		    const struct conf_field *f, const char *label, struct conf_env *out,
		    struct hcp_err *err)
{
	const char **names, **values;
	char name[YAML_QUOTE], item[LABEL];

	if (node->kind != YAML_MAP)
		return wrong_kind(c, node, label, "a mapping of names to strings", err);
	names = arena_array(c->arena, node->count + 1, sizeof(*names));
	values = arena_array(c->arena, node->count + 1, sizeof(*values));
	if (!names || !values)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_pair *pair = &node->pairs[i];

		/* environ(7): what stands before the first '=' is the name, so that "A=B" would
		 * set another variable than the one that was judged */
		names[i] = pair->key->text;
		yaml_quote(names[i], name);
		if (!*names[i] || strchr(names[i], '='))
			return conf_fail(c, pair->key, err,
					 "%s in %s can't be the name of a variable", name,
					 label);
		snprintf(item, sizeof(item), "%s in %s", name, label);
		if (read_string(c, pair->value, f, item, &values[i], err))
			return -1;
	}
	*out = (struct conf_env){node->count, names, values, node->line, node->column};
	return 0;
}

static int read_enum(const struct conf_ctx *c, const struct yaml_node *node,
		     const struct conf_field *f, const char *label, int *out,
		     struct hcp_err *err)
{
	char list[512] = "", tip[LABEL];
	struct guess near = {0};
	size_t used = 0;

	for (int i = 0; f->names[i]; i++) {
		const char *joint = !i ? "" : f->names[i + 1] ? ", " : " or ";
		int n;

		if (node->kind == YAML_STR && str_eq(node->text, f->names[i])) {
			*out = i + 1;
			return 0;
		}
		if (node->kind == YAML_STR)
			consider(&near, node->text, f->names[i]);
		n = snprintf(list + used, sizeof(list) - used, "%s%s", joint, f->names[i]);
		if (n > 0 && (size_t)n < sizeof(list) - used)
			used += (size_t)n;
	}
	return conf_fail(c, node, err, "%s must be %s%s", label, list, hint(&near, tip));
}

static int read_bool(const struct conf_ctx *c, const struct yaml_node *node, const char *label,
		     enum conf_bool *out, struct hcp_err *err)
{
	if (node->kind != YAML_BOOL)
		return wrong_kind(c, node, label, "true or false", err);
	*out = node->b ? CONF_TRUE : CONF_FALSE;
	return 0;
}

static int read_int(const struct conf_ctx *c, const struct yaml_node *node, const char *label,
		    int64_t *out, struct hcp_err *err)
{
	if (node->kind == YAML_INT && node->i >= 0) {
		*out = node->i;
		return 0;
	}
	if (node->kind == YAML_INT)
		return conf_fail(c, node, err, "%s can't be negative", label);
	if (node->kind == YAML_FLOAT)
		return conf_fail(c, node, err, "%s must be a whole number", label);
	return wrong_kind(c, node, label, "a whole number", err);
}

static int read_duration(const struct conf_ctx *c, const struct yaml_node *node,
			 const char *label, int64_t *out, struct hcp_err *err)
{
	int64_t ms = node->kind == YAML_STR ? unit_duration_ms(node->text) : -1;

	if (ms <= 0)
		return conf_fail(
		    c, node, err,
		    "%s must be a duration like 10s, 500ms, 15m or 1h, a year at most", label);
	*out = ms;
	return 0;
}

static int read_size(const struct conf_ctx *c, const struct yaml_node *node, const char *label,
		     int64_t *out, struct hcp_err *err)
{
	int64_t bytes = -1;

	if (node->kind == YAML_INT)
		bytes = node->i;
	else if (node->kind == YAML_STR)
		bytes = unit_size(node->text);
	if (bytes <= 0)
		return conf_fail(c, node, err, "%s must be a size like 64K, 256M or 1G", label);
	*out = bytes;
	return 0;
}

static int read_node(const struct conf_ctx *c, const struct yaml_node *node, const char *label,
		     enum yaml_kind kind, const struct yaml_node **out, struct hcp_err *err)
{
	if (kind != YAML_NONE && node->kind != kind)
		return wrong_kind(c, node, label, yaml_kind_name(kind), err);
	*out = node;
	return 0;
}

int conf_value(const struct conf_ctx *c, const struct yaml_node *node,
	       const struct conf_field *f, void *out, struct hcp_err *err)
{
	void *at = (char *)out + f->offset;
	char label[YAML_QUOTE];

	yaml_quote(f->key, label);
	switch (f->type) {
	case CONF_NODE:
		return read_node(c, node, label, YAML_NONE, at, err);
	case CONF_MAP:
		return read_node(c, node, label, YAML_MAP, at, err);
	case CONF_LIST:
		return read_node(c, node, label, YAML_SEQ, at, err);
	case CONF_STRING:
		return read_string(c, node, f, label, at, err);
	case CONF_BOOL:
		return read_bool(c, node, label, at, err);
	case CONF_INT:
		return read_int(c, node, label, at, err);
	case CONF_DURATION:
		return read_duration(c, node, label, at, err);
	case CONF_SIZE:
		return read_size(c, node, label, at, err);
	case CONF_STRINGS:
	case CONF_ONE_OR_MORE:
		return read_strings(c, node, f, label, at, err);
	case CONF_ENV:
		return read_env(c, node, f, label, at, err);
	case CONF_ENUM:
		return read_enum(c, node, f, label, at, err);
	case CONF_TABLE:
		if (node->kind != YAML_MAP)
			return wrong_kind(c, node, label, "a mapping", err);
		return conf_read(c, node, f->sub, at, err);
	}
	return conf_fail(c, node, err, "%s can't be read", label);
}

static const struct conf_field *find(const struct conf_table *table, const char *key)
{
	for (size_t i = 0; i < table->count; i++)
		if (str_eq(table->fields[i].key, key))
			return &table->fields[i];
	return NULL;
}

static int fail_unknown(const struct conf_ctx *c, const struct yaml_node *key,
			const struct conf_table *table, struct hcp_err *err)
{
	char name[YAML_QUOTE], tip[LABEL];
	struct guess near = {0};

	for (size_t i = 0; i < table->count; i++)
		consider(&near, key->text, table->fields[i].key);
	yaml_quote(key->text, name);
	return conf_fail(c, key, err, "unknown key %s in %s%s", name, table->what,
			 hint(&near, tip));
}

static int read_pair(const struct conf_ctx *c, const struct yaml_pair *pair,
		     const struct conf_table *table, void *out, struct hcp_err *err)
{
	const struct conf_field *f = find(table, pair->key->text);

	return f ? conf_value(c, pair->value, f, out, err)
		 : fail_unknown(c, pair->key, table, err);
}

static int check_required(const struct conf_ctx *c, const struct yaml_node *map,
			  const struct conf_table *table, struct hcp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < table->count && (rc == 0 || c->all); i++)
		if (table->fields[i].required && !yaml_get(map, table->fields[i].key))
			rc = conf_fail(c, map, err, "%s needs \"%s\"", table->what,
				       table->fields[i].key);
	return rc;
}

int conf_read(const struct conf_ctx *c, const struct yaml_node *map,
	      const struct conf_table *table, void *out, struct hcp_err *err)
{
	int rc = 0;

	if (map->kind != YAML_MAP)
		return wrong_kind(c, map, table->what, "a mapping", err);
	for (size_t i = 0; i < map->count && (rc == 0 || c->all); i++)
		rc |= read_pair(c, &map->pairs[i], table, out, err);
	if (rc == 0 || c->all)
		rc |= check_required(c, map, table, err);
	return rc;
}

int conf_check_format(const struct conf_ctx *c, const struct yaml_node *top,
		      struct hcp_err *err)
{
	const struct yaml_node *hcp = yaml_get(top, "hcp");
	bool number = hcp && hcp->kind == YAML_INT && hcp->i >= 0;

	if (number && hcp->i == 1)
		return 0;
	/* what is no number was told by conf_read */
	if (!number && c->all)
		return -1;
	return conf_fail(c, hcp, err, "\"hcp\" must be 1, the only format version there is");
}
