/* SPDX-License-Identifier: MIT */
/* Which tenant and project a principal acts in. Pure. What a caller asks for is a wish: it
 * holds only where the provider or the operator says that it is the principal's. */
#include "policy/load.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static int to_principal(const void *id, const void *principal)
{
	return strcmp(id, ((const struct policy_principal *)principal)->id);
}

const struct policy_principal *policy_find_principal(const struct policy *p, const char *id)
{
	return p->principal_count ? bsearch(id, p->principals, p->principal_count,
					    sizeof(*p->principals), to_principal)
				  : NULL;
}

const struct policy_place *policy_principal_place(const struct policy *p, const char *id)
{
	const struct policy_principal *known = policy_find_principal(p, id);

	return known ? &known->at : NULL;
}

static bool lists(const struct conf_strings *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

/* Adds what isn't there yet, so that doing it again for a nested run changes nothing. */
static int add_all(struct arena *a, struct conf_strings *list, const struct conf_strings *more,
		   struct hcp_err *err)
{
	const char **items;
	size_t count = list->count;

	if (!more->count)
		return 0;
	items = arena_array(a, list->count + more->count, sizeof(*items));
	if (!items)
		return hcp_fail_nomem(err);
	if (count)
		memcpy(items, list->items, count * sizeof(*items));
	for (size_t i = 0; i < more->count; i++)
		if (!lists(list, more->items[i]))
			items[count++] = more->items[i];
	list->items = items;
	list->count = count;
	return 0;
}

/* Where provider and operator name a tenant each, the principal has both and the operator's is
 * the one that counts unasked. */
int policy_add_known(const struct policy *p, struct principal *who, struct arena *a,
		     struct hcp_err *err)
{
	const struct policy_principal *known = policy_find_principal(p, who->id);
	struct conf_strings own = {.count = 1, .items = &who->own_tenant};

	if (!known)
		return 0;
	if (add_all(a, &who->tenants, &known->tenants, err) < 0 ||
	    add_all(a, &who->projects, &known->projects, err) < 0 ||
	    add_all(a, &who->roles, &known->roles, err) < 0)
		return -1;
	if (!known->tenant)
		return 0;
	if (who->own_tenant && add_all(a, &who->tenants, &own, err) < 0)
		return -1;
	who->own_tenant = known->tenant;
	return 0;
}

static int resolve_tenant(const struct principal *who, const char *asked, const char **out,
			  struct hcp_err *err)
{
	const char *tenant = asked ? asked : who->own_tenant ? who->own_tenant : "default";
	bool has_none = !who->own_tenant && !who->tenants.count;
	bool is_its_own = str_eq(tenant, who->own_tenant) || lists(&who->tenants, tenant);

	if (!name_is_id(tenant) || (has_none ? strcmp(tenant, "default") != 0 : !is_its_own))
		return hcp_fail(err, HCP_E_DENIED, "denied: tenant %s", tenant);
	*out = tenant;
	return 0;
}

static int resolve_project(const struct principal *who, const char *asked, const char **out,
			   struct hcp_err *err)
{
	const char *project = asked ? asked : who->own_project;
	bool is_its_own =
	    str_eq(project, who->own_project) || (project && lists(&who->projects, project));

	*out = NULL;
	if (!project)
		return 0;
	if (!name_is_id(project) || !is_its_own)
		return hcp_fail(err, HCP_E_DENIED, "denied: project %s", project);
	*out = project;
	return 0;
}

static int check_roles(const struct policy *p, const struct principal *who, struct hcp_err *err)
{
	for (size_t i = 0; i < who->roles.count; i++)
		if (!policy_role_is_defined(p, who->roles.items[i]))
			return hcp_fail(err, HCP_E_DENIED, "denied: unknown role %s",
					who->roles.items[i]);
	return 0;
}

int policy_identity(const struct policy *p, struct principal *who, const char *asked_tenant,
		    const char *asked_project, bool land_brain, struct arena *a,
		    struct hcp_err *err)
{
	const char *tenant = NULL, *project = NULL;

	who->tenant = who->project = NULL;
	if (!who->id)
		return hcp_fail(err, HCP_E_DENIED, "denied: unauthenticated");
	if (policy_add_known(p, who, a, err) < 0 ||
	    resolve_tenant(who, asked_tenant, &tenant, err) < 0 ||
	    resolve_project(who, asked_project, &project, err) < 0)
		return -1;
	if (land_brain && !project)
		return hcp_fail(err, HCP_E_DENIED,
				"denied: privacy.land brain requires project_id");
	if (check_roles(p, who, err) < 0)
		return -1;
	who->tenant = tenant;
	who->project = project;
	return 0;
}
