/* SPDX-License-Identifier: MIT */
/* hcp_secret_*: the root's owner keeps secrets. A broken policy is no bar: the secret may be
 * what mends it. */
#include "runtime/runtime.h"

#include "secret/secret.h"

static int check_owner(const struct snapshot *s, struct hcp_err *err)
{
	if (s->root.fd < 0) {
		*err = s->broken;
		return -1;
	}
	if (root_is_ours(&s->root))
		return 0;
	return hcp_fail(err, HCP_E_DENIED, "only the owner of the root folder keeps secrets");
}

hcp_status hcp_secret_set(hcp_runtime *rt, const char *name, hcp_str value, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	int rc;

	if (!rt || !name || (!value.data && value.len))
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	rc = check_owner(s, &why);
	if (rc == 0)
		rc = secret_write(&s->root, name, (const unsigned char *)value.data, value.len,
				  &why);
	snapshot_put(s);
	return rc == 0 ? HCP_OK : runtime_error(err, &why);
}

hcp_status hcp_secret_rm(hcp_runtime *rt, const char *name, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	int rc;

	if (!rt || !name)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	rc = check_owner(s, &why);
	if (rc == 0)
		rc = secret_remove(&s->root, name, &why);
	snapshot_put(s);
	return rc == 0 ? HCP_OK : runtime_error(err, &why);
}

/* Each is read as a run would read it, and let go. */
static json_t *one_json(const struct root *root, const char *name)
{
	struct secret *secret = NULL;
	struct hcp_err why = {0};
	int rc = secret_read(root, name, &secret, &why);

	secret_drop(secret);
	return json_pack("{s:s,s:s*}", "name", name, "error", rc == 0 ? NULL : why.text);
}

static json_t *list_json(const struct snapshot *s, struct hcp_err *err)
{
	struct conf_strings names = {0};
	struct arena a = {0};
	json_t *list = NULL;

	if (check_owner(s, err) == 0 && secret_list(&s->root, &a, &names, err) == 0) {
		list = json_array();
		for (size_t i = 0; i < names.count; i++)
			json_array_append_new(list, one_json(&s->root, names.items[i]));
	}
	arena_free(&a);
	return list ? json_pack("{s:o}", "secrets", list) : NULL;
}

hcp_status hcp_secret_list(hcp_runtime *rt, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct snapshot *s;
	json_t *value;

	if (out)
		*out = NULL;
	if (!rt || !out)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	value = list_json(s, &why);
	snapshot_put(s);
	return result_give(value, &why, out, err);
}
