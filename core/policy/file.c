/* SPDX-License-Identifier: MIT */
/* One policy file: providers, principals, roles and grants go to the lists that all files
 * share. Nothing is decided here but whether the text is one that may decide. */
#include "policy/load.h"

#include "base/fd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct policy_place policy_place_of(struct policy_loader *l, const struct yaml_node *n)
{
	return (struct policy_place){l->ctx.file, n->line, n->column, l->nth++};
}

int policy_fail_again(const struct policy_loader *l, struct hcp_err *err,
		      const struct policy_place *first, const struct policy_place *again,
		      const char *what, const char *name)
{
	struct hcp_err fault = {0};

	hcp_fail_at(&fault, again->file, again->line, again->column,
		    "%s%s%s is in %s:%d already", what, *name ? " " : "", name, first->file,
		    first->line);
	conf_faults_add(l->all, &fault);
	if (err->code == HCP_E_NONE)
		*err = fault;
	return -1;
}

int policy_grow(struct arena *a, void *items, size_t count, size_t add, size_t size,
		struct hcp_err *err)
{
	void *old, *grown = arena_array(a, count + add + 1, size);

	if (!grown)
		return hcp_fail_nomem(err);
	memcpy(&old, items, sizeof(old));
	if (count)
		memcpy(grown, old, count * size);
	memcpy(items, &grown, sizeof(grown));
	return 0;
}

/* 1: the script is there, 0: it isn't, -1: whether it is can't be said. */
static int find_script(const struct policy_loader *l, const char *path, struct hcp_err *why)
{
	int fd = -1;

	if (root_open_file(l->root, path, true, &fd, why) == 0) {
		fd_close(&fd);
		return 1;
	}
	return why->code == HCP_E_SYS && errno == ENOENT ? 0 : -1;
}

int policy_check_script(const struct policy_loader *l, const struct yaml_node *at,
			const char *folder, const char *what, const char *name,
			struct hcp_err *err)
{
	struct hcp_err why = {0};
	char path[128];
	int found;

	snprintf(path, sizeof(path), "policies/%s/%s.lua", folder, name);
	found = find_script(l, path, &why);
	if (found > 0)
		return 0;
	if (found == 0)
		return conf_fail(&l->ctx, at, err, "there is no %s %s: %s is missing", what,
				 name, path);
	return conf_fail(&l->ctx, at, err, "%s %s: %s", what, name, why.text);
}

/* A script, or the host's own; both would leave open which of them decides. */
static int check_provider(const struct policy_loader *l, const struct yaml_node *at,
			  const char *name, struct hcp_err *err)
{
	struct hcp_err why = {0};
	char path[128];
	int found;

	if (!l->root->brings_provider || !l->root->brings_provider(l->root->host, name))
		return policy_check_script(l, at, "auth", "provider", name, err);
	snprintf(path, sizeof(path), "policies/auth/%s.lua", name);
	found = find_script(l, path, &why);
	if (found == 0)
		return 0;
	if (found > 0)
		return conf_fail(&l->ctx, at, err, "provider %s is the host's own and %s, too",
				 name, path);
	return conf_fail(&l->ctx, at, err, "provider %s: %s", name, why.text);
}

static int read_auth_entry(const struct policy_loader *l, const struct yaml_node *n,
			   struct policy_auth *out, struct hcp_err *err)
{
	struct policy_auth_conf conf = {0};

	if (conf_read(&l->ctx, n, &policy_auth_table, &conf, err) < 0)
		return -1;
	out->provider = conf.provider;
	if (conf.when.token != CONF_UNSET)
		out->when_token = conf.when.token == CONF_TRUE ? 1 : -1;
	out->when_face = policy_face_name(conf.when.face);
	out->hosts = conf.hosts;
	out->secrets = conf.secrets;
	out->with = conf.with;
	out->file = l->ctx.file;
	out->line = n->line;
	return check_provider(l, yaml_get(n, "provider"), conf.provider, err);
}

/* One entry may stand without the list around it. */
static int read_auth(struct policy_loader *l, const struct yaml_node *n, struct hcp_err *err)
{
	const struct yaml_node *const *items = n->kind == YAML_SEQ ? n->items : &n;
	struct policy_place at = policy_place_of(l, n);
	size_t count = n->kind == YAML_SEQ ? n->count : 1;
	struct policy *p = l->policy;
	int rc = 0;

	if (p->auth_given)
		return policy_fail_again(l, err, &p->auth_at, &at, "\"auth\"", "");
	if (n->kind != YAML_SEQ && n->kind != YAML_MAP)
		return conf_fail(&l->ctx, n, err,
				 "\"auth\" must be a list or a mapping, not %s",
				 yaml_kind_name(n->kind));
	if (policy_grow(&p->arena, &p->auth, 0, count, sizeof(*p->auth), err) < 0)
		return -1;
	for (size_t i = 0; i < count && policy_goes_on(l, rc); i++)
		rc |= read_auth_entry(l, items[i], &p->auth[i], err);
	p->auth_count = rc == 0 ? count : 0;
	p->auth_given = true;
	p->auth_at = at;
	return rc;
}

static int check_key(const struct policy_loader *l, const struct yaml_node *key,
		     const char *what, struct hcp_err *err)
{
	const char *why = policy_check_word(key->text);
	char name[YAML_QUOTE];

	if (!why)
		return 0;
	yaml_quote(key->text, name);
	return conf_fail(&l->ctx, key, err, "%s %s %s", what, name, why);
}

static int read_principals(struct policy_loader *l, const struct yaml_node *map,
			   struct hcp_err *err)
{
	struct policy *p = l->policy;
	int rc = 0;

	if (policy_grow(&p->arena, &p->principals, p->principal_count, map->count,
			sizeof(*p->principals), err) < 0)
		return -1;
	for (size_t i = 0; i < map->count && policy_goes_on(l, rc); i++) {
		const struct yaml_pair *pair = &map->pairs[i];
		struct policy_principal *who = &p->principals[p->principal_count++];

		who->id = pair->key->text;
		who->at = policy_place_of(l, pair->key);
		rc |= check_key(l, pair->key, "principal", err);
		rc |= conf_read(&l->ctx, pair->value, &policy_principal_table, who, err);
	}
	return rc;
}

static int read_roles(struct policy_loader *l, const struct yaml_node *map, struct hcp_err *err)
{
	struct policy *p = l->policy;
	int rc = 0;

	if (policy_grow(&p->arena, &p->roles, p->role_count, map->count, sizeof(*p->roles),
			err) < 0)
		return -1;
	for (size_t i = 0; i < map->count && policy_goes_on(l, rc); i++) {
		const struct yaml_pair *pair = &map->pairs[i];
		struct policy_role *role = &p->roles[p->role_count++];
		struct policy_role_conf conf = {0};

		rc |= check_key(l, pair->key, "role", err);
		rc |= conf_value(&l->ctx, pair->value, &policy_role_row, &conf, err);
		role->name = pair->key->text;
		role->capabilities = conf.capabilities;
		role->at = policy_place_of(l, pair->key);
	}
	return rc;
}

static int read_signers(struct policy_loader *l, const struct yaml_node *map,
			struct hcp_err *err)
{
	struct policy *p = l->policy;
	int rc = 0;

	if (policy_grow(&p->arena, &p->signers, p->signer_count, map->count,
			sizeof(*p->signers), err) < 0)
		return -1;
	p->signers_given = true;
	for (size_t i = 0; i < map->count && policy_goes_on(l, rc); i++) {
		const struct yaml_pair *pair = &map->pairs[i];
		struct policy_place at = policy_place_of(l, pair->key);
		struct policy_signer_conf conf = {0};

		rc |= check_key(l, pair->key, "signer", err);
		rc |= conf_value(&l->ctx, pair->value, &policy_signer_row, &conf, err);
		for (size_t k = 0; k < p->signer_count; k++)
			if (strcmp(p->signers[k].name, pair->key->text) == 0)
				rc = policy_fail_again(l, err, &p->signers[k].at, &at, "signer",
						       pair->key->text);
		if (rc == 0)
			p->signers[p->signer_count++] =
			    (struct policy_signer){pair->key->text, conf.key, at};
	}
	return rc;
}

static int read_grant(struct policy_loader *l, const struct yaml_node *n,
		      struct policy_grant *out, struct hcp_err *err)
{
	if (conf_read(&l->ctx, n, &policy_grant_table, out, err) < 0)
		return -1;
	out->at = policy_place_of(l, n);
	if (!out->principal == !out->role)
		return conf_fail(&l->ctx, n, err,
				 "a grant needs \"principal\" or \"role\", one of the two");
	if (out->role && out->roles.given)
		return conf_fail(&l->ctx, yaml_get(n, "roles"), err,
				 "a role can't be granted roles");
	if (!out->capabilities.count && !out->roles.count)
		return conf_fail(
		    &l->ctx, n, err,
		    "the grant grants nothing: give \"capabilities\" or \"roles\"");
	return 0;
}

static int read_grants(struct policy_loader *l, const struct yaml_node *list,
		       struct hcp_err *err)
{
	struct policy *p = l->policy;
	int rc = 0;

	if (policy_grow(&p->arena, &p->grants, p->grant_count, list->count, sizeof(*p->grants),
			err) < 0)
		return -1;
	for (size_t i = 0; i < list->count && policy_goes_on(l, rc); i++) {
		struct policy_grant grant = {0};

		if (read_grant(l, list->items[i], &grant, err) < 0)
			rc = -1;
		else
			p->grants[p->grant_count++] = grant;
	}
	return rc;
}

int policy_loader_text(struct policy_loader *l, const char *file, const char *text, size_t len,
		       struct hcp_err *err)
{
	struct policy_file_conf conf = {0};
	const struct yaml_node *top;
	struct hcp_err fault = {0};
	int rc;

	l->ctx = (struct conf_ctx){&l->policy->arena, file, l->all};
	if (yaml_parse(l->ctx.arena, file, text, len, &top, &fault) < 0) {
		conf_faults_add(l->all, &fault);
		if (err->code == HCP_E_NONE)
			*err = fault;
		return -1;
	}
	rc = conf_read(&l->ctx, top, &policy_file_table, &conf, err);
	if (policy_goes_on(l, rc))
		rc |= conf_check_format(&l->ctx, top, err);
	if (policy_goes_on(l, rc) && conf.auth)
		rc |= read_auth(l, conf.auth, err);
	if (policy_goes_on(l, rc) && conf.principals)
		rc |= read_principals(l, conf.principals, err);
	if (policy_goes_on(l, rc) && conf.roles)
		rc |= read_roles(l, conf.roles, err);
	if (policy_goes_on(l, rc) && conf.grants)
		rc |= read_grants(l, conf.grants, err);
	if (policy_goes_on(l, rc) && conf.signers)
		rc |= read_signers(l, conf.signers, err);
	if (policy_goes_on(l, rc))
		rc |= policy_read_blocks(l, conf.packs, err);
	return rc;
}
