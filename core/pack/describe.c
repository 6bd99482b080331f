/* SPDX-License-Identifier: MIT */
/* A pack as its invokers see it. Holds nothing that helps to get around a policy: no program
 * path, no environment, no script, no internal command. */
#include "pack/manifest.h"

#include "base/str.h"

/* In the order of the enum; a value out of range is the strictest one. */
static const char *effect_name(enum pack_effect effect)
{
	switch (effect) {
	case PACK_READ:
		return "read";
	case PACK_WRITE:
		return "write";
	case PACK_DESTRUCTIVE:
		break;
	}
	return "destructive";
}

/* Takes `value`; NULL is memory that ran out. */
static int set(json_t *object, const char *key, json_t *value, struct hcp_err *err)
{
	if (json_object_set_new(object, key, value) < 0)
		return hcp_fail_nomem(err);
	return 0;
}

static int set_yaml(json_t *object, const char *key, const struct yaml_node *node,
		    const struct pack *p, struct hcp_err *err)
{
	json_t *value = yaml_to_json(node, p->shown, err);

	return value ? set(object, key, value, err) : -1;
}

static int set_optional(json_t *j, const struct pack *p, const struct pack_command *c,
			struct hcp_err *err)
{
	char duration[32];

	if (c->description && set(j, "description", json_string(c->description), err) < 0)
		return -1;
	if (c->timeout_ms) {
		unit_format_duration(c->timeout_ms, duration);
		if (set(j, "timeout", json_string(duration), err) < 0)
			return -1;
	}
	if (c->health && set(j, "health", json_true(), err) < 0)
		return -1;
	if (c->policy && c->policy->confirm && set(j, "confirm", json_true(), err) < 0)
		return -1;
	if (c->args && set(j, "args", schema_to_json(c->args), err) < 0)
		return -1;
	if (c->output && set(j, "output", schema_to_json(c->output), err) < 0)
		return -1;
	return c->examples ? set_yaml(j, "examples", c->examples, p, err) : 0;
}

static int add_command(json_t *commands, const struct pack *p, const struct pack_command *c,
		       struct hcp_err *err)
{
	json_t *j = json_pack("{s:s,s:s,s:s}", "summary", c->summary, "kind", c->kind, "effect",
			      effect_name(c->effect));

	if (!j)
		return hcp_fail_nomem(err);
	if (set_optional(j, p, c, err) < 0) {
		json_decref(j);
		return -1;
	}
	return set(commands, c->key, j, err);
}

json_t *pack_describe(const struct pack *p, struct hcp_err *err)
{
	json_t *commands = json_object();
	json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:O}", "pack_id", p->id, "version", p->version,
			      "summary", p->summary, "bin", p->bin, "commands", commands);

	if (!j)
		hcp_fail_nomem(err);
	for (size_t i = 0; j && i < p->command_count; i++) {
		if (p->commands[i].internal ||
		    add_command(commands, p, &p->commands[i], err) == 0)
			continue;
		json_decref(j);
		j = NULL;
	}
	json_decref(commands);
	return j;
}
