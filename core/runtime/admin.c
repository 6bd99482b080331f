/* SPDX-License-Identifier: MIT */
/* What people and programs may ask beside runs: which packs there are, what their commands
 * take, which are activated. Nothing here runs anything. */
#include "runtime/runtime.h"

#include "exec/exec.h"
#include "session/session.h"

#include <string.h>

static const char *session_of(const hcp_call *c)
{
	return c ? c->session : "default";
}

static json_t *strings_json(const struct conf_strings *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->count; i++)
		if (json_array_append_new(list, json_string(s->items[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* A pack that doesn't load stays in the list, with the reason: it must not vanish. */
static json_t *one_pack(struct snapshot *s, const char *session, const char *id)
{
	struct hcp_err err = {0};
	struct pack *p = NULL;
	bool active = false;
	json_t *j;

	if (session_is_active(&s->root, &s->set, session, id, &active, &err) < 0)
		active = false;
	if (pack_open(&s->root, &s->set, id, &p, &err) < 0)
		return json_pack("{s:s,s:b,s:s}", "pack_id", id, "active", active, "error",
				 err.text);
	j = json_pack("{s:s,s:s,s:s,s:b,s:s,s:b,s:s*}", "pack_id", p->id, "version", p->version,
		      "summary", p->summary, "active", active, "digest", p->digest,
		      "development", !p->locked, "signer", p->signer);
	pack_close(p);
	return j;
}

static json_t *describe_all(struct snapshot *s, const char *session, struct hcp_err *err)
{
	struct arena a = {0};
	struct conf_strings ids = {0};
	json_t *list, *top = NULL;

	if (pack_list(&s->root, &s->set, &a, &ids, err) < 0) {
		arena_free(&a);
		return NULL;
	}
	list = json_array();
	for (size_t i = 0; i < ids.count; i++)
		json_array_append_new(list, one_pack(s, session, ids.items[i]));
	if (list)
		top = json_pack("{s:s,s:o}", "session", session, "packs", list);
	arena_free(&a);
	return top;
}

/* The consent that the operator's overlays ask for beyond the pack's own. */
static int add_consent(json_t *pack, const struct policy_pack *granted, struct hcp_err *err)
{
	const struct policy_overlay *overlay;
	json_t *command, *consent;
	const char *key;

	json_object_foreach(json_object_get(pack, "commands"), key, command)
	{
		overlay = granted ? policy_overlay(granted, key) : NULL;
		if (!overlay || !(overlay->confirm || overlay->confirm_person))
			continue;
		consent = overlay->confirm_person ? json_string("person") : json_true();
		if (json_object_set_new(command, "confirm", consent) < 0)
			return hcp_fail_nomem(err);
	}
	return 0;
}

json_t *runtime_describe(struct snapshot *s, const char *id, struct hcp_err *err)
{
	struct pack *p = NULL;
	json_t *j;

	if (pack_open(&s->root, &s->set, id, &p, err) < 0)
		return NULL;
	j = pack_describe(p, err);
	pack_close(p);
	if (j && add_consent(j, policy_pack(s->policy, id), err) < 0) {
		json_decref(j);
		j = NULL;
	}
	return j;
}

hcp_status hcp_describe(hcp_runtime *rt, hcp_call *c, const char *pack, hcp_result **out,
			hcp_error *err)
{
	struct snapshot *s;
	struct hcp_err why = {0};
	json_t *value = NULL;
	hcp_status status;

	if (out)
		*out = NULL;
	if (!rt || !out || (c && c->rt != rt))
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	why = s->broken;
	if (why.code == HCP_E_NONE)
		value = pack ? runtime_describe(s, pack, &why)
			     : describe_all(s, session_of(c), &why);
	status = result_give(value, &why, out, err);
	snapshot_put(s);
	return status;
}

static int activate(struct snapshot *s, const char *session, const char *id, bool on,
		    int *changed, struct hcp_err *err)
{
	struct pack *p = NULL;
	bool did = false;

	if (s->broken.code != HCP_E_NONE) {
		*err = s->broken;
		return -1;
	}
	/* a pack that can't be loaded isn't activated: the message comes now, not at the first
	 * run */
	if (on && pack_open(&s->root, &s->set, id, &p, err) < 0)
		return -1;
	pack_close(p);
	if (session_set(&s->root, &s->set, session, id, on, &did, err) < 0)
		return -1;
	*changed = did;
	return 0;
}

hcp_status hcp_activate(hcp_runtime *rt, hcp_call *c, const char *pack, int on, int *changed,
			hcp_error *err)
{
	struct snapshot *s;
	struct hcp_err why = {0};
	int did = 0;

	if (changed)
		*changed = 0;
	if (!rt || !pack || (c && c->rt != rt))
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	if (activate(s, session_of(c), pack, on != 0, &did, &why) < 0 && why.code == HCP_E_NONE)
		hcp_fail(&why, HCP_E_SYS, "the session could not be changed");
	snapshot_put(s);
	if (changed)
		*changed = did;
	return runtime_error(err, &why);
}

static json_t *session_json(struct snapshot *s, const char *name, struct hcp_err *err)
{
	struct session_list list = {0};
	struct arena a = {0};
	json_t *packs, *top = NULL;

	if (session_read(&s->root, &s->set, name, &a, &list, err) == 0) {
		packs = strings_json(
		    &(struct conf_strings){.count = list.count, .items = list.packs});
		top = packs ? json_pack("{s:s,s:o}", "session", name, "packs", packs) : NULL;
	}
	arena_free(&a);
	return top;
}

hcp_status hcp_session(hcp_runtime *rt, hcp_call *c, hcp_result **out, hcp_error *err)
{
	struct snapshot *s;
	struct hcp_err why = {0};
	json_t *value = NULL;
	hcp_status status;

	if (out)
		*out = NULL;
	if (!rt || !out || (c && c->rt != rt))
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	why = s->broken;
	if (why.code == HCP_E_NONE)
		value = session_json(s, session_of(c), &why);
	status = result_give(value, &why, out, err);
	snapshot_put(s);
	return status;
}
