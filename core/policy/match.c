/* SPDX-License-Identifier: MIT */
/* The decision: is this capability granted to this principal? Pure, over typed fields, in no
 * order: a capability is granted where some grant matches, and nothing else grants. */
#include "policy/load.h"

#include <stdlib.h>
#include <string.h>

/* "*", "ledger.*" (something must follow the dot), or the same text. */
static bool capability_matches(const char *pattern, const char *capability)
{
	size_t len = strlen(pattern);

	if (strcmp(pattern, "*") == 0)
		return true;
	if (len < 2 || strcmp(pattern + len - 2, ".*") != 0)
		return strcmp(pattern, capability) == 0;
	return strncmp(pattern, capability, len - 1) == 0 && capability[len - 1];
}

static bool principal_matches(const char *pattern, const char *id)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, id, len - 1) == 0;
	return strcmp(pattern, id) == 0;
}

static bool lists(const struct conf_strings *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static bool gives(const struct conf_strings *patterns, const char *capability)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (capability_matches(patterns->items[i], capability))
			return true;
	return false;
}

static bool holds_here(const struct policy_grant *g, const struct principal *who)
{
	return !g->tenants.given || lists(&g->tenants, who->tenant);
}

static bool has_role(const struct policy *p, const struct principal *who, const char *role,
		     struct policy_reason *why)
{
	const struct policy_principal *known;

	why->role = role;
	if (lists(&who->roles, role)) {
		known = policy_find_principal(p, who->id);
		why->gives_role = known && lists(&known->roles, role) ? &known->at : NULL;
		return true;
	}
	for (size_t i = 0; i < p->grant_count; i++) {
		const struct policy_grant *g = &p->grants[i];

		why->gives_role = &g->at;
		if (lists(&g->roles, role) && holds_here(g, who) && g->principal &&
		    principal_matches(g->principal, who->id))
			return true;
	}
	return false;
}

bool policy_grants(const struct policy *p, const struct principal *who, const char *capability,
		   struct policy_reason *why)
{
	struct policy_reason none;

	why = why ? why : &none;
	for (size_t i = 0; i < p->grant_count; i++) {
		const struct policy_grant *g = &p->grants[i];

		*why = (struct policy_reason){.gives = &g->at};
		if (gives(&g->capabilities, capability) && holds_here(g, who) &&
		    (g->principal ? principal_matches(g->principal, who->id)
				  : has_role(p, who, g->role, why)))
			return true;
	}
	for (size_t i = 0; i < p->role_count; i++) {
		*why = (struct policy_reason){.gives = &p->roles[i].at};
		if (gives(&p->roles[i].capabilities, capability) &&
		    has_role(p, who, p->roles[i].name, why))
			return true;
	}
	*why = (struct policy_reason){0};
	return false;
}

static int permit_all(const struct policy *p, const struct principal *who,
		      const struct pack *pack, const struct pack_command *cmd,
		      const struct conf_strings *capabilities, struct hcp_err *err)
{
	for (size_t i = 0; i < capabilities->count; i++)
		if (!policy_grants(p, who, capabilities->items[i], NULL))
			return hcp_fail(err, HCP_E_DENIED, "denied: missing %s for %s.%s",
					capabilities->items[i], pack->id, cmd->key);
	return 0;
}

int policy_permit(const struct policy *p, const struct principal *who, const struct pack *pack,
		  const struct pack_command *cmd, const struct policy_overlay *overlay,
		  struct hcp_err *err)
{
	if (!who->id || !who->tenant)
		return hcp_fail(err, HCP_E_DENIED, "denied: unauthenticated");
	if (!cmd->policy || !cmd->policy->capabilities.count)
		return hcp_fail(err, HCP_E_DENIED, "no policy for %s", cmd->key);
	if (permit_all(p, who, pack, cmd, &cmd->policy->capabilities, err) < 0)
		return -1;
	if (!overlay)
		return 0;
	if (permit_all(p, who, pack, cmd, &overlay->capabilities, err) < 0)
		return -1;
	if (overlay->deny)
		return hcp_fail(err, HCP_E_DENIED, "denied: %s", overlay->deny);
	return 0;
}

const struct policy_auth *policy_auth_for(const struct policy *p, bool has_token,
					  const char *face)
{
	static const struct policy_auth os_user = {.provider = "os_user"};

	for (size_t i = 0; i < p->auth_count; i++) {
		const struct policy_auth *a = &p->auth[i];

		if (a->when_token && (a->when_token > 0) != has_token)
			continue;
		if (a->when_face && strcmp(a->when_face, face) != 0)
			continue;
		return a;
	}
	return p->auth_given ? NULL : &os_user;
}

static int to_role(const void *name, const void *role)
{
	return strcmp(name, ((const struct policy_role *)role)->name);
}

const struct policy_role *policy_find_role(const struct policy *p, const char *name)
{
	return p->role_count
		   ? bsearch(name, p->roles, p->role_count, sizeof(*p->roles), to_role)
		   : NULL;
}

bool policy_role_is_defined(const struct policy *p, const char *name)
{
	if (policy_find_role(p, name))
		return true;
	for (size_t i = 0; i < p->grant_count; i++)
		if (p->grants[i].role && strcmp(p->grants[i].role, name) == 0)
			return true;
	return false;
}
