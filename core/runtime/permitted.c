/* SPDX-License-Identifier: MIT */
/* hcp_permitted: what a face may offer to one principal. Every command is asked about by the
 * steps that would judge its run, as far as they know nothing of arguments. */
#include "runtime/runtime.h"

#include "exec/explain.h"
#include "session/session.h"

#include <stdlib.h>

#define STEP_CAPABILITY 5

struct permits {
	hcp_runtime *rt;
	struct snapshot *snap;
	hcp_call *call;
};

static int is_permitted(const struct permits *p, const char *pack, const char *verb, bool *out)
{
	struct explain e = {.last = STEP_CAPABILITY};
	struct run *r = malloc(sizeof(*r));
	json_t *args = json_object();

	*out = false;
	if (r && args) {
		exec_init(r, p->rt, p->snap, p->call, NULL);
		envelope_words(r, pack, verb, args);
		exec_explain(r, &e);
		*out = r->ok && r->permitted;
		exec_free(r);
		explain_free(&e);
	}
	json_decref(args);
	free(r);
	return r && args ? 0 : -1;
}

static int keep_permitted(const struct permits *p, const char *id, json_t *commands)
{
	const char *key;
	json_t *command;
	void *next;
	bool may;

	json_object_foreach_safe(commands, next, key, command)
	{
		if (is_permitted(p, id, key, &may) < 0)
			return -1;
		if (!may)
			json_object_del(commands, key);
	}
	return 0;
}

static int add_pack(const struct permits *p, const char *id, json_t *list, struct hcp_err *err)
{
	struct hcp_err why = {0};
	json_t *pack = runtime_describe(p->snap, id, &why);

	if (!pack)
		return why.code == HCP_E_NOMEM ? hcp_fail_nomem(err) : 0;
	if (keep_permitted(p, id, json_object_get(pack, "commands")) == 0)
		return json_array_append_new(list, pack) < 0 ? hcp_fail_nomem(err) : 0;
	json_decref(pack);
	return hcp_fail_nomem(err);
}

static json_t *permitted(const struct permits *p, struct hcp_err *err)
{
	struct session_list session = {0};
	struct arena a = {0};
	json_t *list = json_array(), *top = NULL;
	int rc = list ? session_read(&p->snap->root, &p->snap->set, p->call->session, &a,
				     &session, err)
		      : -1;

	for (size_t i = 0; rc == 0 && i < session.count; i++)
		rc = add_pack(p, session.packs[i], list, err);
	if (rc == 0)
		top = json_pack("{s:O}", "packs", list);
	json_decref(list);
	arena_free(&a);
	return top;
}

hcp_status hcp_permitted(hcp_runtime *rt, hcp_call *c, hcp_result **out, hcp_error *err)
{
	struct permits p = {.rt = rt, .call = c};
	struct hcp_err why = {0};
	json_t *value = NULL;

	if (out)
		*out = NULL;
	if (!rt || !out || !c || c->rt != rt)
		return HCP_EINVAL;
	p.snap = runtime_snapshot(rt);
	why = p.snap->broken;
	if (why.code == HCP_E_NONE)
		value = permitted(&p, &why);
	snapshot_put(p.snap);
	return result_give(value, &why, out, err);
}
