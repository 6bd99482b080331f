/* SPDX-License-Identifier: MIT */
/* One entry of `commands:`. What a command says about itself is judged here as a whole: kind,
 * script, schemas, examples, and whether it is a way to the program itself. Whether it may run
 * is never decided here. */
#include "pack/manifest.h"

#include "base/limits.h"
#include "base/str.h"

#include <string.h>
#include <sys/stat.h>

/* The words after the first '.' of a verb key, or all of it (6.4). */
static const char *tail_of(const char *key)
{
	const char *dot = strchr(key, '.');

	return dot ? dot + 1 : key;
}

static bool is_health_name(const char *key)
{
	return str_eq(tail_of(key), "doctor") || str_eq(tail_of(key), "status");
}

static int set_key(const struct manifest *m, const struct yaml_node *key,
		   struct pack_command *cmd, struct hcp_err *err)
{
	char name[YAML_QUOTE];

	yaml_quote(key->text, name);
	cmd->key = key->text;
	cmd->line = key->line;
	cmd->column = key->column;
	if (!name_is_verb(key->text) && !str_eq(key->text, "*"))
		return conf_fail(
		    &m->ctx, key, err,
		    "%s is no verb key: words of letters and digits, joined by one "
		    "of '.', ' ', '-', '_', at most %d bytes",
		    name, LIMIT_VERB);
	return 0;
}

/* The pack's pairs, each overridden by the command's of that name, then the command's own. */
static const struct yaml_node *merge(struct arena *a, const struct yaml_node *base,
				     const struct yaml_node *own)
{
	struct yaml_node *map;
	struct yaml_pair *pairs;
	const struct yaml_node *value;
	size_t n = 0;

	if (!base || !own)
		return own ? own : base;
	map = arena_alloc(a, sizeof(*map));
	pairs = arena_array(a, base->count + own->count + 1, sizeof(*pairs));
	if (!map || !pairs)
		return NULL;
	for (size_t i = 0; i < base->count; i++) {
		value = yaml_get(own, base->pairs[i].key->text);
		pairs[n++] = (struct yaml_pair){base->pairs[i].key,
						value ? value : base->pairs[i].value};
	}
	for (size_t i = 0; i < own->count; i++)
		if (!yaml_get(base, own->pairs[i].key->text))
			pairs[n++] = own->pairs[i];
	*map = *own;
	map->count = n;
	map->pairs = pairs;
	return map;
}

static int read_rows(const struct manifest *m, const struct yaml_node *node,
		     struct command_conf *conf, struct pack_command *cmd, struct hcp_err *err)
{
	const struct yaml_node *kind = yaml_get(node, "kind"), *rest, *own, *inherited;

	if (node->kind != YAML_MAP)
		return conf_read(&m->ctx, node, &pack_command_table, conf, err);
	cmd->kind = kind && kind->kind == YAML_STR ? kind->text : m->conf.kind;
	if (pack_split_own(m, node, cmd->kind, &rest, &own, err) < 0)
		return -1;
	conf->wrap = m->conf.wrap;
	/* whole values: a command's workspace doesn't inherit the pack's name for it */
	if (yaml_get(yaml_get(node, "wrap"), "workspace"))
		memset(&conf->wrap.workspace, 0, sizeof(conf->wrap.workspace));
	if (conf_read(&m->ctx, rest, &pack_command_table, conf, err) < 0)
		return -1;
	inherited = str_eq(cmd->kind, m->conf.kind) ? m->own : NULL;
	cmd->own = merge(m->ctx.arena, inherited, own);
	return inherited && !cmd->own ? hcp_fail_nomem(err) : 0;
}

static int set_script(const struct manifest *m, const struct yaml_node *node,
		      const struct command_conf *conf, struct pack_command *cmd,
		      struct hcp_err *err)
{
	const struct yaml_node *at = yaml_get(node, "script");
	bool composite = str_eq(cmd->kind, "composite");
	const struct pack_file *f;
	size_t n;

	if (!conf->script)
		return composite ? conf_fail(&m->ctx, PACK_PLACE(cmd), err,
					     "a composite needs \"script\"")
				 : 0;
	if (str_eq(cmd->kind, "wrap"))
		return conf_fail(&m->ctx, at, err, "a command of kind wrap has no \"script\"");
	n = strlen(conf->script);
	if (composite && (n <= 4 || strcmp(conf->script + n - 4, ".lua")))
		return conf_fail(&m->ctx, at, err, "\"script\" must end in .lua");
	f = pack_file(m->pack, conf->script);
	if (!f || !S_ISREG(f->mode))
		return conf_fail(&m->ctx, at, err, "the pack has no file \"%s\"", conf->script);
	cmd->script = conf->script;
	return 0;
}

static int set_schemas(const struct manifest *m, const struct command_conf *conf,
		       struct pack_command *cmd, struct hcp_err *err)
{
	const struct schema_defs *defs = m->pack->defs;

	if (conf->args && schema_compile(&m->ctx, conf->args, defs, true, &cmd->args, err) < 0)
		return -1;
	if (conf->output &&
	    schema_compile(&m->ctx, conf->output, defs, false, &cmd->output, err) < 0)
		return -1;
	return 0;
}

/* As a run would see it: without the reserved keys, defaults filled in. */
static int check_example(const struct manifest *m, const struct pack_command *cmd,
			 const struct yaml_node *node, json_t *value, struct hcp_err *err)
{
	AUTO_BUF faults = {0};
	int n;

	json_object_del(value, "confirm");
	json_object_del(value, "apply");
	json_object_del(value, "mode");
	if (!cmd->args)
		return 0;
	if (schema_fill_defaults(cmd->args, value) < 0)
		return hcp_fail_nomem(err);
	n = schema_validate(cmd->args, value, "args", &faults);
	if (n < 0 || faults.failed)
		return hcp_fail_nomem(err);
	if (n > 0)
		return conf_fail(&m->ctx, node, err, "the example doesn't fit: %s",
				 faults.data);
	return 0;
}

static int check_examples(const struct manifest *m, const struct pack_command *cmd,
			  struct hcp_err *err)
{
	const size_t count = cmd->examples ? cmd->examples->count : 0;
	int rc = 0;

	for (size_t i = 0; i < count && (rc == 0 || m->ctx.all); i++) {
		const struct yaml_node *node = cmd->examples->items[i];
		json_t *value;

		if (node->kind != YAML_MAP) {
			rc = conf_fail(&m->ctx, node, err,
				       "an example must be a mapping of arguments, not %s",
				       yaml_kind_name(node->kind));
			continue;
		}
		value = yaml_to_json(node, m->ctx.file, err);
		if (!value)
			return -1;
		rc |= check_example(m, cmd, node, value, err);
		json_decref(value);
	}
	return rc;
}

/* The enums' zero values are the strictest, and what isn't written stays zero. */
static int set_traits(const struct manifest *m, const struct yaml_node *node,
		      const struct command_conf *conf, struct pack_command *cmd,
		      struct hcp_err *err)
{
	bool named = is_health_name(cmd->key);

	cmd->summary = conf->summary;
	cmd->description = conf->description;
	cmd->examples = conf->examples;
	cmd->timeout_ms = conf->timeout_ms;
	cmd->internal = conf->internal == CONF_TRUE;
	cmd->bootstrap = conf->bootstrap == CONF_TRUE;
	cmd->effect = conf->effect ? (enum pack_effect)(conf->effect - 1) : PACK_DESTRUCTIVE;
	if (conf->lock)
		cmd->lock = (enum pack_lock)(conf->lock - 1);
	else
		cmd->lock = cmd->effect == PACK_READ ? PACK_LOCK_SHARED : PACK_LOCK_EXCLUSIVE;
	if (named && conf->health == CONF_FALSE)
		return conf_fail(&m->ctx, yaml_get(node, "health"), err,
				 "\"%s\" is a health command by its name", cmd->key);
	cmd->health = named || conf->health == CONF_TRUE;
	return 0;
}

static int check_pass_through(const struct manifest *m, const struct pack_command *cmd,
			      struct hcp_err *err)
{
	bool whole = str_eq(cmd->key, "*") || (cmd->argv && argv_is_pass_through(cmd->argv));

	if (!whole || cmd->bootstrap)
		return 0;
	return conf_fail(&m->ctx, PACK_PLACE(cmd), err,
			 "\"%s\" hands its caller the program itself: name its commands, or "
			 "mark a pass-through with bootstrap: true",
			 cmd->key);
}

/* What the schemas compiled to is needed by all that follows. */
static int set_parts(const struct manifest *m, const struct yaml_node *node,
		     const struct command_conf *conf, struct pack_command *cmd,
		     struct hcp_err *err)
{
	bool all = m->ctx.all;
	int rc = 0;

	if (set_schemas(m, conf, cmd, err) < 0)
		return -1;
	rc |= set_script(m, node, conf, cmd, err);
	if (rc == 0 || all)
		rc |= pack_load_wrap(m, conf, yaml_get(node, "wrap"), cmd, err);
	if (rc == 0 || all)
		rc |= check_examples(m, cmd, err);
	return rc < 0 ? -1 : check_pass_through(m, cmd, err);
}

int pack_load_command(const struct manifest *m, const struct yaml_pair *pair,
		      struct pack_command *cmd, struct hcp_err *err)
{
	struct command_conf conf = {0};

	if (set_key(m, pair->key, cmd, err) < 0 ||
	    read_rows(m, pair->value, &conf, cmd, err) < 0 ||
	    set_traits(m, pair->value, &conf, cmd, err) < 0)
		return -1;
	return set_parts(m, pair->value, &conf, cmd, err);
}
