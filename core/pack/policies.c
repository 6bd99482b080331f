/* SPDX-License-Identifier: MIT */
/* policy.yaml of a pack: what each of its commands requires. It can only ask, never grant. A
 * command without an entry can't run, and an entry without a command is an error, since a
 * misspelt key would otherwise leave its command without the confirmation it was meant to have.
 */
#include "pack/manifest.h"

#include "base/str.h"

static struct pack_command *find_command(struct pack *p, const char *key)
{
	for (size_t i = 0; i < p->command_count; i++)
		if (str_eq(p->commands[i].key, key))
			return &p->commands[i];
	return NULL;
}

/* There is no way to require nothing. */
static int default_capability(struct pack *p, struct pack_policy *policy, struct hcp_err *err)
{
	const char **item = arena_array(&p->arena, 1, sizeof(*item));

	if (item)
		*item = arena_printf(&p->arena, "%s.%s", p->id, policy->verb_key);
	if (!item || !*item)
		return hcp_fail_nomem(err);
	policy->capabilities.items = item;
	policy->capabilities.count = 1;
	return 0;
}

static int read_entry(struct pack *p, const struct conf_ctx *c, const struct yaml_pair *pair,
		      struct pack_policy *out, struct hcp_err *err)
{
	struct pack_command *cmd = find_command(p, pair->key->text);
	struct policy_conf conf = {0};
	char name[YAML_QUOTE];

	yaml_quote(pair->key->text, name);
	if (!cmd)
		return conf_fail(c, pair->key, err, "the manifest has no command %s", name);
	if (conf_read(c, pair->value, &pack_policy_table, &conf, err) < 0)
		return -1;
	out->verb_key = cmd->key;
	out->capabilities = conf.capability;
	out->confirm = conf.confirm == CONF_TRUE;
	out->land_brain = conf.privacy.land == 2;
	out->line = pair->key->line;
	cmd->policy = out;
	return out->capabilities.count ? 0 : default_capability(p, out, err);
}

static int read_entries(struct pack *p, const struct conf_ctx *c, const struct yaml_node *map,
			struct hcp_err *err)
{
	int rc = 0;

	p->policies = arena_array(&p->arena, map->count + 1, sizeof(*p->policies));
	if (!p->policies)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < map->count && (rc == 0 || c->all); i++) {
		rc |= read_entry(p, c, &map->pairs[i], &p->policies[i], err);
		p->policy_count = i + 1;
	}
	return rc;
}

int pack_load_policies(struct pack *p, struct conf_faults *all, struct hcp_err *err)
{
	const struct pack_file *f = pack_file(p, "policy.yaml");
	struct conf_ctx c = {.arena = &p->arena, .all = all};
	struct policies_conf conf = {0};
	const struct yaml_node *root;
	int rc;

	if (!f)
		return 0;
	c.file = arena_printf(&p->arena, "%s/%s", p->shown, f->path);
	if (!c.file)
		return hcp_fail_nomem(err);
	if (!f->text)
		return hcp_fail(err, HCP_E_CONFIG, "%s is not a regular file", c.file);
	if (yaml_parse(&p->arena, c.file, f->text, f->size, &root, err) < 0 ||
	    pack_check_format(&c, root, err) < 0)
		return -1;
	rc = conf_read(&c, root, &pack_policies_table, &conf, err);
	if (conf.policies && (rc == 0 || all))
		rc |= read_entries(p, &c, conf.policies, err);
	return rc;
}
