/* SPDX-License-Identifier: MIT */
/* Who may run a command: everybody whom the policy names is asked about, by the decision that a
 * run is judged by. Nothing here decides. */
#include "policy/load.h"

#include <string.h>

struct query {
	const struct policy *p;
	const struct pack *pack;
	const struct pack_command *cmd;
	const struct policy_overlay *overlay;
	json_t *tenants; /* an object: a key for each tenant that is named anywhere */
	json_t *asked;   /* the same for who was asked about */
	json_t *list;
	bool failed;
};

static bool is_permitted(const struct query *q, struct principal *who, const char *tenant)
{
	struct hcp_err err = {0};

	who->tenant = tenant;
	return policy_permit(q->p, who, q->pack, q->cmd, q->overlay, &err) == 0;
}

/* Tenants that were named one by one. No tenant is called "*", so what holds there holds
 * wherever the policy doesn't look at the tenant. */
static void add_answer(struct query *q, const char *kind, const char *name,
		       struct principal *who)
{
	json_t *one = json_pack("{s:s}", kind, name), *tenants = json_array(), *v;
	bool anywhere = is_permitted(q, who, "*");
	const char *tenant;

	json_object_foreach(q->tenants, tenant,
			    v) if (!anywhere && is_permitted(q, who, tenant))
	    json_array_append_new(tenants, json_string(tenant));
	if (!anywhere && json_array_size(tenants))
		q->failed |= json_object_set(one, "tenants", tenants) < 0;
	if (anywhere || json_array_size(tenants))
		q->failed |= json_array_append(q->list, one) < 0;
	json_decref(tenants);
	json_decref(one);
}

static void ask_principal(struct query *q, const char *id)
{
	struct principal who = {.id = id};
	struct arena a = {0};
	struct hcp_err err = {0};

	if (json_object_get(q->asked, id))
		return;
	q->failed |= json_object_set_new(q->asked, id, json_true()) < 0;
	if (policy_add_known(q->p, &who, &a, &err) < 0)
		q->failed = true;
	else
		add_answer(q, "principal", id, &who);
	arena_free(&a);
}

/* Somebody who has the role and nothing else: the id is no one's. */
static void ask_role(struct query *q, const char *role)
{
	struct principal who = {.id = "", .roles = {.count = 1, .items = &role}};

	if (json_object_get(q->asked, role))
		return;
	q->failed |= json_object_set_new(q->asked, role, json_true()) < 0;
	add_answer(q, "role", role, &who);
}

static void name_tenants(struct query *q, const struct conf_strings *tenants)
{
	for (size_t i = 0; i < tenants->count; i++)
		q->failed |=
		    json_object_set_new(q->tenants, tenants->items[i], json_true()) < 0;
}

static void ask_all(struct query *q)
{
	const struct policy *p = q->p;

	for (size_t i = 0; i < p->grant_count; i++)
		name_tenants(q, &p->grants[i].tenants);
	for (size_t i = 0; i < p->principal_count; i++)
		ask_principal(q, p->principals[i].id);
	for (size_t i = 0; i < p->grant_count; i++)
		if (p->grants[i].principal)
			ask_principal(q, p->grants[i].principal);
	json_object_clear(q->asked);
	for (size_t i = 0; i < p->role_count; i++)
		ask_role(q, p->roles[i].name);
	for (size_t i = 0; i < p->grant_count; i++)
		if (p->grants[i].role)
			ask_role(q, p->grants[i].role);
}

json_t *policy_who_json(const struct policy *p, const struct pack *pack,
			const struct pack_command *cmd, const struct policy_overlay *overlay)
{
	struct query q = {.p = p,
			  .pack = pack,
			  .cmd = cmd,
			  .overlay = overlay,
			  .tenants = json_object(),
			  .asked = json_object(),
			  .list = json_array()};

	ask_all(&q);
	json_decref(q.tenants);
	json_decref(q.asked);
	if (!q.failed)
		return q.list;
	json_decref(q.list);
	return NULL;
}
