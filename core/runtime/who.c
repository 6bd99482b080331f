/* SPDX-License-Identifier: MIT */
/* hcp_policy_who: what a command asks for and who has it. It reads as a run reads, and tells.
 */
#include "runtime/runtime.h"

static int add_capabilities(json_t *list, const struct conf_strings *names, const char *file,
			    int line)
{
	for (size_t i = 0; i < names->count; i++)
		if (json_array_append_new(list, json_pack("{s:s,s:s,s:i}", "capability",
							  names->items[i], "file", file, "line",
							  line)) < 0)
			return -1;
	return 0;
}

static json_t *requires_json(const struct pack *pack, const struct pack_command *cmd,
			     const struct policy_overlay *o, struct arena *a)
{
	const char *file = arena_printf(a, "%s/policy.yaml", pack->shown);
	json_t *list = json_array();

	if (file &&
	    add_capabilities(list, &cmd->policy->capabilities, file, cmd->policy->line) == 0 &&
	    (!o || add_capabilities(list, &o->capabilities, o->file, o->line) == 0))
		return list;
	json_decref(list);
	return NULL;
}

static const char *confirm_of(const struct pack_command *cmd, const struct policy_overlay *o)
{
	if (o && o->confirm_person)
		return "person";
	return cmd->policy->confirm || (o && o->confirm) ? "true" : NULL;
}

static json_t *answer(const struct policy *p, const struct pack *pack,
		      const struct pack_command *cmd, struct arena *a)
{
	const struct policy_pack *pp = policy_pack(p, pack->id);
	const struct policy_overlay *o = pp ? policy_overlay(pp, cmd->key) : NULL;

	return json_pack("{s:s,s:s,s:o,s:s*,s:s*,s:s*,s:o}", "pack_id", pack->id, "verb_key",
			 cmd->key, "requires", requires_json(pack, cmd, o, a), "confirm",
			 confirm_of(cmd, o), "guard", o ? o->guard : NULL, "deny",
			 o ? o->deny : NULL, "who", policy_who_json(p, pack, cmd, o));
}

static json_t *ask(struct snapshot *s, const char *id, const char *verb, struct hcp_err *err)
{
	const struct pack_command *cmd;
	struct pack *pack = NULL;
	struct arena a = {0};
	json_t *value = NULL;

	if (s->broken.code != HCP_E_NONE) {
		*err = s->broken;
		return NULL;
	}
	if (!root_is_ours(&s->root)) {
		hcp_fail(err, HCP_E_DENIED,
			 "only the owner of the root folder may ask who may");
		return NULL;
	}
	if (pack_open(&s->root, &s->set, id, &pack, err) < 0)
		return NULL;
	cmd = pack_command(pack, verb);
	if (policy_check_pack(s->policy, pack, err) < 0)
		value = NULL;
	else if (!cmd || !cmd->policy)
		hcp_fail(err, HCP_E_DENIED, "no policy for %s", verb);
	else if (!(value = answer(s->policy, pack, cmd, &a)))
		hcp_fail_nomem(err);
	arena_free(&a);
	pack_close(pack);
	return value;
}

hcp_status hcp_policy_who(hcp_runtime *rt, const char *pack, const char *verb_key,
			  hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	json_t *value;

	if (out)
		*out = NULL;
	if (!rt || !out || !pack || !verb_key)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	value = ask(s, pack, verb_key, &why);
	snapshot_put(s);
	return result_give(value, &why, out, err);
}

static json_t *provider(const struct snapshot *s, const hcp_call *c, struct hcp_err *err)
{
	const struct policy_auth *auth;
	json_t *value;

	if (s->broken.code != HCP_E_NONE) {
		*err = s->broken;
		return NULL;
	}
	auth = policy_auth_for(s->policy, c->token != NULL,
			       runtime_face_name(c->rt->options.face));
	value = json_pack("{s:s*}", "provider", auth ? auth->provider : NULL);
	if (!value)
		hcp_fail_nomem(err);
	return value;
}

hcp_status hcp_policy_provider(hcp_runtime *rt, hcp_call *c, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	json_t *value;

	if (out)
		*out = NULL;
	if (!rt || !out || !c || c->rt != rt)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	value = provider(s, c, &why);
	snapshot_put(s);
	return result_give(value, &why, out, err);
}
