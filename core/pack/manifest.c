/* SPDX-License-Identifier: MIT */
/* From the text of pack.yaml to a struct pack: the manifest itself; commands, their wrap and
 * the policies have files of their own. A manifest loads whole or not at all, and nothing in it
 * is guessed. Never opens a file and never looks at the operator's policy. */
#include "pack/manifest.h"

#include "base/limits.h"
#include "base/str.h"

#include <string.h>

static bool is_key_of(const struct conf_table *table, const char *key)
{
	for (size_t i = 0; i < table->count; i++)
		if (str_eq(table->fields[i].key, key))
			return true;
	return false;
}

/* A shallow copy without one pair. */
static const struct yaml_node *without(struct arena *a, const struct yaml_node *map,
				       size_t drop)
{
	struct yaml_node *copy = arena_alloc(a, sizeof(*copy));
	struct yaml_pair *pairs = arena_array(a, map->count, sizeof(*pairs));

	if (!copy || !pairs)
		return NULL;
	memcpy(pairs, map->pairs, drop * sizeof(*pairs));
	memcpy(pairs + drop, map->pairs + drop + 1, (map->count - drop - 1) * sizeof(*pairs));
	*copy = *map;
	copy->pairs = pairs;
	copy->count = map->count - 1;
	return copy;
}

int pack_split_own(const struct manifest *m, const struct yaml_node *map, const char *kind,
		   const struct yaml_node **rest, const struct yaml_node **own,
		   struct hcp_err *err)
{
	*rest = map;
	*own = NULL;
	/* wrap has its row in the tables */
	if (str_eq(kind, "wrap"))
		return 0;
	if (is_key_of(&pack_manifest_table, kind) || is_key_of(&pack_command_table, kind))
		return conf_fail(&m->ctx, yaml_get(map, "kind"), err,
				 "\"%s\" can't be a kind: it is a key of the manifest", kind);
	for (size_t i = 0; i < map->count; i++) {
		if (!str_eq(map->pairs[i].key->text, kind))
			continue;
		if (map->pairs[i].value->kind != YAML_MAP)
			return conf_fail(&m->ctx, map->pairs[i].value, err,
					 "\"%s\" must be a mapping, not %s", kind,
					 yaml_kind_name(map->pairs[i].value->kind));
		*own = map->pairs[i].value;
		if ((*own)->count > MANIFEST_NAMES)
			return conf_fail(&m->ctx, *own, err, "\"%s\" holds more than %d keys",
					 kind, MANIFEST_NAMES);
		*rest = without(m->ctx.arena, map, i);
		return *rest ? 0 : hcp_fail_nomem(err);
	}
	return 0;
}

int pack_check_format(const struct conf_ctx *c, const struct yaml_node *root,
		      struct hcp_err *err)
{
	const struct yaml_node *hcp = yaml_get(root, "hcp");

	if (hcp && hcp->kind == YAML_INT && hcp->i != 1)
		return conf_fail(c, hcp, err,
				 "format version %lld is not supported, this release reads 1",
				 hcp->i);
	return 0;
}

static const struct yaml_node *string_at(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *n = yaml_get(map, key);

	return n && n->kind == YAML_STR ? n : NULL;
}

static int read_header(struct manifest *m, const struct yaml_node *root, struct hcp_err *err)
{
	/* a kind that is no string falls through to the table, which says so */
	const struct yaml_node *kind = string_at(root, "kind"), *rest;

	m->conf.kind = "wrap";
	m->wrap = yaml_get(root, "wrap");
	if (pack_check_format(&m->ctx, root, err) < 0 ||
	    pack_split_own(m, root, kind ? kind->text : "wrap", &rest, &m->own, err) < 0 ||
	    conf_read(&m->ctx, rest, &pack_manifest_table, &m->conf, err) < 0)
		return -1;
	if (!str_eq(m->conf.pack_id, m->pack->id))
		return conf_fail(&m->ctx, yaml_get(root, "pack_id"), err,
				 "pack_id is \"%s\", but the folder is called \"%s\"",
				 m->conf.pack_id, m->pack->id);
	return pack_check_agent_env(m, m->wrap, err);
}

static const char *find_twice(const struct conf_strings *s)
{
	for (size_t i = 0; i < s->count; i++)
		for (size_t j = 0; j < i; j++)
			if (str_eq(s->items[i], s->items[j]))
				return s->items[i];
	return NULL;
}

static int read_mint(const struct manifest *m, const struct yaml_node *node,
		     struct hcp_err *err)
{
	const struct mint_conf *conf = &m->conf.mint;
	struct pack_mint *mint = arena_alloc(m->ctx.arena, sizeof(*mint));
	const char *twice;
	const struct pack_file *f;

	if (!mint)
		return hcp_fail_nomem(err);
	if (conf->env.count > MANIFEST_NAMES)
		return conf_fail(&m->ctx, yaml_get(node, "env"), err,
				 "\"env\" of mint holds more than %d names", MANIFEST_NAMES);
	twice = find_twice(&conf->env);
	if (!conf->env.count || twice)
		return conf_fail(&m->ctx, yaml_get(node, "env"), err,
				 twice ? "\"env\" of mint names \"%s\" twice"
				       : "\"env\" of mint must hold at least one name%s",
				 twice ? twice : "");
	f = pack_file(m->pack, conf->hook);
	if (!str_starts(conf->hook, "policies:") && (!f || !f->text))
		return conf_fail(&m->ctx, yaml_get(node, "hook"), err,
				 "the pack has no file \"%s\"", conf->hook);
	*mint = (struct pack_mint){conf->hook, conf->ttl_ms, conf->env, conf->deliver == 2,
				   node->line};
	m->pack->mint = mint;
	return 0;
}

/* A bootstrap command stands for a pack that has no named commands yet; beside some, it would
 * be a way around them. */
static int check_bootstrap(const struct manifest *m, struct hcp_err *err)
{
	const struct pack *p = m->pack;
	const struct pack_command *boot = NULL;

	for (size_t i = 0; i < p->command_count && !boot; i++)
		if (p->commands[i].bootstrap)
			boot = &p->commands[i];
	if (!boot)
		return 0;
	for (size_t i = 0; i < p->command_count; i++) {
		const struct pack_command *c = &p->commands[i];

		if (c != boot && !c->health)
			return conf_fail(&m->ctx, PACK_PLACE(c), err,
					 "beside the bootstrap command \"%s\" a pack may "
					 "have health commands only, and \"%s\" is none",
					 boot->key, c->key);
	}
	return 0;
}

/* Both would be the one file $HCP_FILES/<name>. */
static int check_files(const struct manifest *m, struct hcp_err *err)
{
	const struct pack *p = m->pack;

	for (size_t i = 0; p->mint && p->mint->deliver_file && i < p->command_count; i++) {
		const struct conf_strings *files = &p->commands[i].wrap.files;

		for (size_t k = 0; k < files->count * p->mint->env.count; k++) {
			const char *name = files->items[k / p->mint->env.count];

			if (strcmp(name, p->mint->env.items[k % p->mint->env.count]) == 0)
				return conf_fail(&m->ctx, PACK_PLACE(&p->commands[i]), err,
						 "\"%s\": \"files\" names %s, which \"mint\" "
						 "delivers as a file of that name",
						 p->commands[i].key, name);
		}
	}
	return 0;
}

static int read_commands(const struct manifest *m, struct hcp_err *err)
{
	const struct yaml_node *map = m->conf.commands;
	struct pack *p = m->pack;
	int rc = 0;

	if (map->count > LIMIT_COMMANDS)
		return conf_fail(&m->ctx, map, err, "more than %d commands", LIMIT_COMMANDS);
	p->commands =
	    arena_array(m->ctx.arena, map->count ? map->count : 1, sizeof(*p->commands));
	if (!p->commands)
		return hcp_fail_nomem(err);
	/* counted one by one, so that pack_close frees what a failure leaves half made */
	for (size_t i = 0; i < map->count && (rc == 0 || m->ctx.all); i++) {
		p->command_count = i + 1;
		rc |= pack_load_command(m, &map->pairs[i], &p->commands[i], err);
	}
	return rc < 0 || check_files(m, err) < 0 ? -1 : check_bootstrap(m, err);
}

/* Also one that no command uses; whether each command has its arguments is seen with it. */
static int check_template(const struct manifest *m, struct hcp_err *err)
{
	const struct argv_command any = {.verb_key = "any"};
	const struct argv_template *ignored;

	return m->conf.wrap.argv_template
		   ? argv_compile(&m->ctx, m->conf.wrap.argv_template, &any, &ignored, err)
		   : 0;
}

/* What stands beside the header. With m->ctx.all each part is read, whatever the others say. */
static int read_parts(const struct manifest *m, const struct yaml_node *root,
		      struct hcp_err *err)
{
	const struct yaml_node *mint = yaml_get(root, "mint");
	int rc = 0;

	if (mint && m->conf.mint.hook)
		rc |= read_mint(m, mint, err);
	if (m->conf.defs && (rc == 0 || m->ctx.all))
		rc |= schema_defs_compile(&m->ctx, m->conf.defs, &m->pack->defs, err);
	if (rc == 0 || m->ctx.all)
		rc |= check_template(m, err);
	/* references to definitions that don't compile would be told as missing */
	if (m->conf.commands && rc == 0)
		rc |= read_commands(m, err);
	return rc;
}

static int read_manifest(struct pack *p, const struct pack_file *f, struct conf_faults *all,
			 struct hcp_err *err)
{
	struct manifest m = {.pack = p, .ctx = {.arena = &p->arena, .all = all}};
	const struct yaml_node *root;
	int rc;

	m.ctx.file = arena_printf(&p->arena, "%s/%s", p->shown, f->path);
	if (!m.ctx.file)
		return hcp_fail_nomem(err);
	if (yaml_parse(&p->arena, m.ctx.file, f->text, f->size, &root, err) < 0)
		return -1;
	rc = read_header(&m, root, err);
	if (rc < 0 && !all)
		return -1;
	p->version = m.conf.version;
	p->summary = m.conf.summary;
	p->bin = m.conf.bin ? m.conf.bin : p->id;
	p->requires = m.conf.requires;
	p->uses = m.conf.uses;
	return read_parts(&m, root, err) < 0 ? -1 : rc;
}

/* Text that is no YAML ends a file without a conf_ctx having seen it. */
static int told(int rc, struct conf_faults *all, size_t before, const struct hcp_err *why,
		struct hcp_err *err)
{
	if (rc < 0 && all && all->count == before)
		conf_faults_add(all, why);
	if (rc < 0 && err->code == HCP_E_NONE)
		*err = *why;
	return rc;
}

int pack_load(struct pack *p, struct conf_faults *all, struct hcp_err *err)
{
	const struct pack_file *f = pack_file(p, "pack.yaml");
	size_t before = all ? all->count : 0;
	struct hcp_err why = {0};
	int rc;

	if (!f || !f->text)
		return hcp_fail(err, HCP_E_CONFIG, "%s/pack.yaml is not a regular file",
				p->shown);
	rc = told(read_manifest(p, f, all, &why), all, before, &why, err);
	/* without the commands every entry would be told as strange */
	if (rc == 0 || (all && p->commands)) {
		before = all ? all->count : 0;
		why = (struct hcp_err){0};
		rc |= told(pack_load_policies(p, all, &why), all, before, &why, err);
	}
	return rc;
}
