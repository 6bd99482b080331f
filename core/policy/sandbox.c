/* SPDX-License-Identifier: MIT */
/* A block's `sandbox:` and `limits:`. What isn't written is the most restrictive there is; a
 * key that would have no effect beside another is an error, because somebody believes in it. */
#include "policy/load.h"

#include "base/str.h"

#include <limits.h>
#include <pwd.h>
#include <string.h>

static int read_count(const struct policy_loader *l, const struct yaml_node *map,
		      const char *key, int64_t value, struct hcp_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);

	if (n && (value <= 0 || value > INT_MAX))
		return conf_fail(&l->ctx, n, err, "\"%s\" must be from 1 to %d", key, INT_MAX);
	return 0;
}

int policy_read_limits(const struct policy_loader *l, const struct yaml_node *map,
		       struct policy_limits *out, struct hcp_err *err)
{
	if (!map)
		return 0;
	if (conf_read(&l->ctx, map, &policy_limits_table, out, err) < 0 ||
	    read_count(l, map, "processes", out->processes, err) < 0)
		return -1;
	return read_count(l, map, "open_files", out->open_files, err);
}

static int read_ports(const struct policy_loader *l, const struct yaml_node *list,
		      struct policy_sandbox *out, struct hcp_err *err)
{
	if (!list || list->kind != YAML_SEQ || !list->count)
		return conf_fail(&l->ctx, list, err,
				 "\"connect\" must be a list of at least one port");
	out->connect_ports =
	    arena_array(l->ctx.arena, list->count, sizeof(*out->connect_ports));
	if (!out->connect_ports)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < list->count; i++) {
		const struct yaml_node *n = list->items[i];

		if (n->kind != YAML_INT || n->i < 1 || n->i > 65535)
			return conf_fail(&l->ctx, n, err, "a port must be from 1 to 65535");
		out->connect_ports[i] = (uint16_t)n->i;
	}
	out->connect_count = list->count;
	return 0;
}

static int read_network(const struct policy_loader *l, const struct yaml_node *n,
			struct policy_sandbox *out, struct hcp_err *err)
{
	if (!n)
		return 0;
	if (n->kind == YAML_STR && str_eq(n->text, "none"))
		return 0;
	if (n->kind == YAML_STR && str_eq(n->text, "host")) {
		out->network = POLICY_NET_HOST;
		return 0;
	}
	if (n->kind != YAML_MAP || n->count != 1 || !yaml_get(n, "connect"))
		return conf_fail(&l->ctx, n, err,
				 "\"network\" must be none, host or { connect: [443] }");
	out->network = POLICY_NET_CONNECT;
	return read_ports(l, yaml_get(n, "connect"), out, err);
}

static int read_folders(const struct policy_loader *l, const struct yaml_node *list, bool write,
			struct policy_folder **out, size_t *count, struct hcp_err *err)
{
	int rc = 0;

	if (!list)
		return 0;
	*out = arena_array(l->ctx.arena, list->count + 1, sizeof(**out));
	if (!*out)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < list->count && policy_goes_on(l, rc); i++) {
		const struct yaml_node *n = list->items[i];

		if (n->kind != YAML_STR)
			rc = conf_fail(&l->ctx, n, err, "a host path must be a string, not %s",
				       yaml_kind_name(n->kind));
		else
			rc |= policy_check_folder(l, n, n->text, write, false, err);
		(*out)[i] = (struct policy_folder){.path = n->text, .write = write};
	}
	if (rc == 0)
		*count = list->count;
	return rc;
}

/* A path in both lists would be what the order of mounts makes of it. */
static int check_lists(const struct policy_loader *l, const struct yaml_node *writes,
		       const struct policy_sandbox *s, struct hcp_err *err)
{
	for (size_t w = 0; w < s->write_count; w++)
		for (size_t r = 0; r < s->read_count; r++)
			if (strcmp(s->write[w].path, s->read[r].path) == 0)
				return conf_fail(&l->ctx, writes->items[w], err,
						 "%s is in \"read\" and in \"write\"",
						 s->write[w].path);
	return 0;
}

static int find_user(const char *name, uid_t *out)
{
	struct passwd pw, *found = NULL;
	char room[8192];

	if (getpwnam_r(name, &pw, room, sizeof(room), &found) != 0 || !found)
		return -1;
	*out = found->pw_uid;
	return 0;
}

/* Kept as a number: whatever the name means later, this is who was looked at. */
static int read_user(const struct policy_loader *l, const struct yaml_node *n,
		     struct policy_sandbox *out, struct hcp_err *err)
{
	uid_t uid = 0;

	if (!n)
		return 0;
	if (n->kind == YAML_INT && n->i >= 0 && n->i < UINT_MAX)
		uid = (uid_t)n->i;
	else if (n->kind != YAML_STR)
		return conf_fail(&l->ctx, n, err, "\"user\" must be a user's name or number");
	else if (find_user(n->text, &uid) < 0)
		return conf_fail(&l->ctx, n, err, "\"user\" names nobody on this host");
	if (uid == 0)
		return conf_fail(&l->ctx, n, err, "\"user\" can't be root");
	out->user = arena_printf(l->ctx.arena, "%u", (unsigned)uid);
	return out->user ? 0 : hcp_fail_nomem(err);
}

static int check_native(const struct policy_loader *l, const struct yaml_node *map,
			const struct policy_sandbox *s, struct hcp_err *err)
{
	static const char *const moot[] = {"tier", "network", "read", "write", "user"};
	const struct yaml_node *n;

	if (s->mode == POLICY_SANDBOX && s->because)
		return conf_fail(&l->ctx, yaml_get(map, "because"), err,
				 "\"because\" belongs to mode native-local");
	if (s->mode != POLICY_NATIVE_LOCAL)
		return 0;
	for (size_t i = 0; i < sizeof(moot) / sizeof(moot[0]); i++) {
		n = yaml_get(map, moot[i]);
		if (n)
			return conf_fail(&l->ctx, n, err,
					 "\"%s\" means nothing in mode native-local", moot[i]);
	}
	if (!s->because)
		return conf_fail(&l->ctx, map, err,
				 "mode native-local needs \"because\", the reason");
	return 0;
}

int policy_read_sandbox(const struct policy_loader *l, const struct yaml_node *map,
			struct policy_sandbox *out, struct hcp_err *err)
{
	struct policy_sandbox_conf conf = {0};
	int rc;

	rc = conf_read(&l->ctx, map, &policy_sandbox_table, &conf, err);
	if (!policy_goes_on(l, rc))
		return -1;
	out->mode = conf.mode == 2 ? POLICY_NATIVE_LOCAL : POLICY_SANDBOX;
	out->tier = conf.tier == 2 ? POLICY_LIGHT : POLICY_STRONG;
	out->because = conf.because;
	rc |= check_native(l, map, out, err);
	if (policy_goes_on(l, rc))
		rc |= policy_read_limits(l, conf.limits, &out->limits, err);
	if (policy_goes_on(l, rc))
		rc |= read_network(l, conf.network, out, err);
	if (policy_goes_on(l, rc))
		rc |= read_user(l, conf.user, out, err);
	if (policy_goes_on(l, rc))
		rc |= read_folders(l, conf.read, false, &out->read, &out->read_count, err);
	if (policy_goes_on(l, rc))
		rc |= read_folders(l, conf.write, true, &out->write, &out->write_count, err);
	return rc == 0 ? check_lists(l, conf.write, out, err) : -1;
}
