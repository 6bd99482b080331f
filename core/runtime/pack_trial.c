/* SPDX-License-Identifier: MIT */
/* hcp_pack_trial: a root of its own for a pack's tests. It holds a copy of that pack, active,
 * and a policy that grants what the pack requires and nothing of any other; tests then go
 * through the same pipeline as everybody. Nothing of the real root but the pack gets there. */
#include "runtime/runtime.h"

#include "base/fd.h"
#include "pack/pack.h"
#include "pack/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_POLICY "spec/policy.yaml" /* an operator's, by the pack's author */

static int make_folder(int at, const char *name, int *fd, struct hcp_err *err)
{
	if (mkdirat(at, name, 0755) < 0 || fchmodat(at, name, 0755, 0) < 0)
		return hcp_fail_errno(err, "%s", name);
	*fd = fd_above_stdio(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	return *fd < 0 ? hcp_fail_errno(err, "%s", name) : 0;
}

/* JSON is YAML. Takes `value`; NULL is memory that ran out. */
static int put(int dir, const char *name, json_t *value, struct hcp_err *err)
{
	AUTO_FREE char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;

	json_decref(value);
	if (!text)
		return hcp_fail_nomem(err);
	return fd_write_fresh(dir, name, 0644, text, strlen(text), err);
}

/* Each once: a key of an object. */
static void add(json_t *set, const char *text)
{
	json_object_set_new(set, text, json_true());
}

/* Takes `set`. */
static json_t *list_of(json_t *set)
{
	json_t *list = json_array(), *one;
	const char *text;

	json_object_foreach(set, text, one) json_array_append_new(list, json_string(text));
	json_decref(set);
	return list;
}

static json_t *capabilities(const struct pack *p)
{
	json_t *set = json_object();

	for (size_t i = 0; i < p->policy_count; i++)
		for (size_t k = 0; k < p->policies[i].capabilities.count; k++)
			add(set, p->policies[i].capabilities.items[k]);
	return list_of(set);
}

static json_t *programs(const struct pack *p)
{
	json_t *set = json_object();

	for (size_t i = 0; i < p->command_count; i++)
		if (strcmp(p->commands[i].kind, "wrap") == 0)
			add(set, p->commands[i].wrap.bin);
	return list_of(set);
}

static json_t *grants(const struct pack *p)
{
	return json_pack("{s:i,s:[{s:s,s:o}]}", "hcp", 1, "grants", "principal", "*",
			 "capabilities", capabilities(p));
}

static json_t *block(const struct pack *p)
{
	return json_pack("{s:i,s:{s:{s:o}}}", "hcp", 1, "packs", p->id, "bins", programs(p));
}

static int copy_policy(const struct pack *p, int dir, struct hcp_err *err)
{
	AUTO_FREE char *text = NULL;
	AUTO_FD from =
	    fd_above_stdio(openat(p->fd, OWN_POLICY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
	size_t len;

	if (from < 0)
		return hcp_fail_errno(err, "%s/" OWN_POLICY, p->shown);
	if (fd_read_all(from, LIMIT_YAML, &text, &len, err) < 0)
		return -1;
	return fd_write_fresh(dir, "pack.yaml", 0644, text, len, err);
}

static int lay_policies(const struct pack *p, int root, struct hcp_err *err)
{
	AUTO_FD dir = -1;

	if (make_folder(root, "policies", &dir, err) < 0 ||
	    put(dir, "grants.yaml", grants(p), err) < 0)
		return -1;
	return pack_file(p, OWN_POLICY) ? copy_policy(p, dir, err)
					: put(dir, "pack.yaml", block(p), err);
}

static int lay_pack(const struct pack *p, int root, struct hcp_err *err)
{
	struct stage stage = {.fd = -1};
	AUTO_FD dir = -1;
	int rc = make_folder(root, "packs", &dir, err);

	if (rc == 0)
		rc = stage_begin(&stage, dir, err);
	if (rc == 0)
		rc = stage_fill(&stage, p->path, err);
	if (rc == 0)
		rc = stage_take(&stage, p->id, err);
	stage_end(&stage);
	return rc;
}

static int lay_out(const struct pack *p, const char *dir, struct hcp_err *err)
{
	AUTO_FD top = fd_above_stdio(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), root = -1;

	if (top < 0)
		return hcp_fail_errno(err, "%s", dir);
	if (make_folder(top, "root", &root, err) < 0)
		return -1;
	if (put(root, "hcp.yaml",
		json_pack("{s:i,s:{s:{s:[s]}}}", "hcp", 1, "sessions", "default", "packs",
			  p->id),
		err) < 0)
		return -1;
	return lay_pack(p, root, err) < 0 ? -1 : lay_policies(p, root, err);
}

static json_t *told(const struct snapshot *s, const struct pack *p)
{
	json_t *commands = json_array();

	for (size_t i = 0; i < p->command_count; i++)
		json_array_append_new(commands, json_string(p->commands[i].key));
	return json_pack("{s:s,s:s,s:o}", "pack_id", p->id, "data", s->root.data, "commands",
			 commands);
}

hcp_status hcp_pack_trial(hcp_runtime *rt, const char *pack, const char *dir, hcp_result **out,
			  hcp_error *err)
{
	struct hcp_err why = {0};
	struct pack *p = NULL;
	struct snapshot *s;
	json_t *value;
	int rc;

	if (out)
		*out = NULL;
	if (!rt || !pack || !dir || !out)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	rc = s->root.fd < 0 ? -1 : pack_open(&s->root, &s->set, pack, &p, &why);
	if (s->root.fd < 0)
		why = s->broken;
	if (rc == 0)
		rc = lay_out(p, dir, &why);
	value = rc == 0 ? told(s, p) : NULL;
	pack_close(p);
	snapshot_put(s);
	return result_give(value, &why, out, err);
}
