/* SPDX-License-Identifier: MIT */
/* `packs:`, one block a pack: which programs it may run, what they may touch, and what the
 * operator tightens. An overlay has no way to take away what the pack itself demands. */
#include "policy/load.h"

#include "base/str.h"

#include <string.h>

static int read_bin(const struct policy_loader *l, const struct yaml_node *n,
		    struct policy_bin *out, struct hcp_err *err)
{
	struct policy_bin_conf conf = {0};
	int rc;

	if (n->kind == YAML_MAP)
		rc = conf_read(&l->ctx, n, &policy_bin_table, &conf, err);
	else
		rc = conf_value(&l->ctx, n, &policy_bin_row, &conf, err);
	*out = (struct policy_bin){conf.path, conf.sha256};
	return rc;
}

static int read_bins(const struct policy_loader *l, const struct yaml_node *list,
		     struct policy_pack *out, struct hcp_err *err)
{
	int rc = 0;

	if (!list)
		return 0;
	out->bins = arena_array(l->ctx.arena, list->count + 1, sizeof(*out->bins));
	if (!out->bins)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < list->count && policy_goes_on(l, rc); i++) {
		struct policy_bin *bin = &out->bins[out->bin_count];

		if (read_bin(l, list->items[i], bin, err) < 0) {
			rc = -1;
			continue;
		}
		/* with two digests either would do */
		for (size_t k = 0; k < out->bin_count; k++)
			if (strcmp(out->bins[k].path, bin->path) == 0)
				rc = conf_fail(&l->ctx, list->items[i], err,
					       "bin %s is listed twice", bin->path);
		out->bin_count++;
	}
	return rc;
}

static int read_workspace(const struct policy_loader *l, const struct yaml_pair *pair,
			  struct policy_folder *out, struct hcp_err *err)
{
	struct policy_workspace_conf conf = {0};
	char name[YAML_QUOTE];

	yaml_quote(pair->key->text, name);
	if (!name_is_id(pair->key->text))
		return conf_fail(&l->ctx, pair->key, err, "%s can't be the name of a workspace",
				 name);
	if (conf_read(&l->ctx, pair->value, &policy_workspace_table, &conf, err) < 0)
		return -1;
	*out = (struct policy_folder){pair->key->text, conf.path, conf.write == CONF_TRUE};
	return policy_check_folder(l, yaml_get(pair->value, "path"), out->path, out->write,
				   true, err);
}

static int read_workspaces(const struct policy_loader *l, const struct yaml_node *map,
			   struct policy_pack *out, struct hcp_err *err)
{
	int rc = 0;

	if (!map)
		return 0;
	out->workspaces = arena_array(l->ctx.arena, map->count + 1, sizeof(*out->workspaces));
	if (!out->workspaces)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < map->count && policy_goes_on(l, rc); i++) {
		rc |= read_workspace(l, &map->pairs[i], &out->workspaces[i], err);
		out->workspace_count++;
	}
	return rc;
}

static int read_confirm(const struct policy_loader *l, const struct yaml_node *n,
			struct policy_overlay *out, struct hcp_err *err)
{
	if (!n)
		return 0;
	if (n->kind == YAML_BOOL && n->b) {
		out->confirm = true;
		return 0;
	}
	if (n->kind == YAML_STR && str_eq(n->text, "person")) {
		out->confirm = out->confirm_person = true;
		return 0;
	}
	return conf_fail(&l->ctx, n, err,
			 "\"confirm\" must be true or person: an overlay only tightens");
}

static int read_overlay(const struct policy_loader *l, const struct yaml_pair *pair,
			struct policy_overlay *out, struct hcp_err *err)
{
	struct policy_overlay_conf conf = {0};
	char name[YAML_QUOTE];
	int rc;

	yaml_quote(pair->key->text, name);
	if (!name_is_verb(pair->key->text) && strcmp(pair->key->text, "*") != 0)
		return conf_fail(&l->ctx, pair->key, err, "%s can't be the key of a verb",
				 name);
	rc = conf_read(&l->ctx, pair->value, &policy_overlay_table, &conf, err);
	if (!policy_goes_on(l, rc))
		return -1;
	out->verb_key = pair->key->text;
	out->guard = conf.guard;
	out->deny = conf.deny;
	out->capabilities = conf.capability;
	out->land_brain = conf.privacy.land == 1;
	out->file = l->ctx.file;
	out->line = pair->key->line;
	out->column = pair->key->column;
	rc |= read_confirm(l, conf.confirm, out, err);
	if (policy_goes_on(l, rc))
		rc |= policy_read_limits(l, conf.limits, &out->limits, err);
	if (policy_goes_on(l, rc) && conf.guard)
		rc |= policy_check_script(l, yaml_get(pair->value, "guard"), "guards", "guard",
					  conf.guard, err);
	return rc;
}

int policy_read_overlays(const struct policy_loader *l, const struct yaml_node *map,
			 struct policy_pack *out, struct hcp_err *err)
{
	int rc = 0;

	if (!map)
		return 0;
	out->overlays = arena_array(l->ctx.arena, map->count + 1, sizeof(*out->overlays));
	if (!out->overlays)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < map->count && policy_goes_on(l, rc); i++) {
		struct policy_overlay overlay = {0};

		if (read_overlay(l, &map->pairs[i], &overlay, err) < 0)
			rc = -1;
		else
			out->overlays[out->overlay_count++] = overlay;
	}
	return rc;
}

/* `exec:` is enforced by Landlock, which native-local hasn't. */
static int check_exec(const struct policy_loader *l, const struct yaml_node *map,
		      const struct policy_pack *out, struct hcp_err *err)
{
	if (out->exec_given && out->sandbox.mode == POLICY_NATIVE_LOCAL)
		return conf_fail(&l->ctx, yaml_get(map, "exec"), err,
				 "\"exec\" means nothing in mode native-local");
	return 0;
}

static int read_block(const struct policy_loader *l, const struct yaml_pair *pair,
		      struct policy_pack *out, struct hcp_err *err)
{
	struct policy_block_conf conf = {0};
	char name[YAML_QUOTE];
	int rc;

	yaml_quote(pair->key->text, name);
	if (!name_is_id(pair->key->text))
		return conf_fail(&l->ctx, pair->key, err, "%s can't be a pack id", name);
	*out = *policy_pack_default();
	rc = conf_read(&l->ctx, pair->value, &policy_block_table, &conf, err);
	if (!policy_goes_on(l, rc))
		return -1;
	out->pack_id = pair->key->text;
	out->digest = conf.digest;
	out->bootstrap = conf.bootstrap == CONF_TRUE;
	out->exec = conf.exec;
	out->exec_given = conf.exec.given;
	out->mint_hosts = conf.mint.hosts;
	out->mint_secrets = conf.mint.secrets;
	out->mint_with = conf.mint.with;
	out->http_hosts = conf.http.hosts;
	out->file = l->ctx.file;
	out->line = pair->key->line;
	rc |= read_bins(l, conf.bins, out, err);
	if (policy_goes_on(l, rc) && conf.sandbox)
		rc |= policy_read_sandbox(l, conf.sandbox, &out->sandbox, err);
	if (policy_goes_on(l, rc))
		rc |= check_exec(l, pair->value, out, err);
	if (policy_goes_on(l, rc))
		rc |= read_workspaces(l, conf.workspaces, out, err);
	if (policy_goes_on(l, rc))
		rc |= policy_read_overlays(l, conf.commands, out, err);
	return rc;
}

int policy_read_blocks(struct policy_loader *l, const struct yaml_node *packs,
		       struct hcp_err *err)
{
	struct policy *p = l->policy;
	int rc = 0;

	if (!packs)
		return 0;
	if (policy_grow(&p->arena, &p->blocks, p->block_count, packs->count, sizeof(*p->blocks),
			err) < 0)
		return -1;
	for (size_t i = 0; i < packs->count && policy_goes_on(l, rc); i++) {
		struct policy_block *b = &p->blocks[p->block_count];

		rc |= read_block(l, &packs->pairs[i], &b->pack, err);
		b->at = policy_place_of(l, packs->pairs[i].key);
		if (b->pack.pack_id)
			p->block_count++;
	}
	return rc;
}
