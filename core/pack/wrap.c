/* SPDX-License-Identifier: MIT */
/* The `wrap:` of one command: the pack's defaults with the command's own keys over them, and
 * its template compiled. Names of arguments are judged here, where the schema is at hand, so
 * that no run ever meets an unknown one. */
#include "pack/manifest.h"

#include "base/str.h"

#include <string.h>

/* What is being merged: the pack's `wrap:` and the command's, either may be NULL. */
struct wraps {
	const struct manifest *m;
	const struct yaml_node *own;
	const struct pack_command *cmd;
};

/* Where a merged key was written. */
static const struct yaml_node *node_of(const struct wraps *w, const char *key)
{
	const struct yaml_node *n = yaml_get(w->own, key);

	return n ? n : yaml_get(w->m->wrap, key);
}

static size_t find_name(const struct conf_env *env, const char *name)
{
	size_t i = 0;

	while (i < env->count && !str_eq(env->names[i], name))
		i++;
	return i;
}

/* The only key that merges instead of being replaced. */
static int merge_env(struct arena *a, const struct conf_env *base, const struct conf_env *own,
		     struct conf_env *out, struct hcp_err *err)
{
	*out = *own;
	out->count = 0;
	out->names = arena_array(a, base->count + own->count + 1, sizeof(*out->names));
	out->values = arena_array(a, base->count + own->count + 1, sizeof(*out->values));
	if (!out->names || !out->values)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < base->count; i++) {
		out->names[out->count] = base->names[i];
		out->values[out->count++] = base->values[i];
	}
	for (size_t i = 0; i < own->count; i++) {
		size_t at = find_name(out, own->names[i]);

		out->names[at] = own->names[i];
		out->values[at] = own->values[i];
		out->count += at == out->count;
	}
	return 0;
}

static int set_env(const struct wraps *w, const struct command_conf *conf,
		   struct pack_command *cmd, struct hcp_err *err)
{
	const struct yaml_node *own = yaml_get(w->own, "agent_env");

	cmd->wrap.agent_env = conf->wrap.agent_env;
	if (!own)
		return 0;
	return merge_env(w->m->ctx.arena, &w->m->conf.wrap.agent_env, &conf->wrap.agent_env,
			 &cmd->wrap.agent_env, err);
}

static int one_string(struct arena *a, const char *s, struct conf_strings *out,
		      struct hcp_err *err)
{
	if (out->given)
		return 0;
	out->items = arena_array(a, 1, sizeof(*out->items));
	if (!out->items)
		return hcp_fail_nomem(err);
	out->items[0] = s;
	out->count = 1;
	return 0;
}

static bool holds(const struct conf_strings *s, const char *text)
{
	for (size_t i = 0; i < s->count; i++)
		if (str_eq(s->items[i], text))
			return true;
	return false;
}

static int set_lists(const struct wraps *w, const struct command_conf *conf,
		     struct pack_command *cmd, struct hcp_err *err)
{
	struct pack_wrap *wrap = &cmd->wrap;

	wrap->file_flags = conf->wrap.file_flags;
	wrap->json_flag = conf->wrap.json_flag;
	wrap->deny_prefix = conf->wrap.deny_prefix;
	wrap->files = conf->wrap.files;
	if (one_string(w->m->ctx.arena, "--json", &wrap->json_flag, err) < 0 ||
	    one_string(w->m->ctx.arena, "-", &wrap->deny_prefix, err) < 0)
		return -1;
	/* the list adds prefixes; one that lacked "-" would let options be smuggled in */
	if (!holds(&wrap->deny_prefix, "-"))
		return conf_fail(&w->m->ctx, node_of(w, "deny_prefix"), err,
				 "\"deny_prefix\" must hold \"-\"");
	return 0;
}

/* A command without args takes any; else the name must be a declared one. */
static int check_argument(const struct wraps *w, const char *key, const char *name,
			  struct hcp_err *err)
{
	if (!w->cmd->args || schema_has_property(w->cmd->args, name))
		return 0;
	return conf_fail(&w->m->ctx, node_of(w, key), err,
			 "\"%s\" names \"%s\", which is no declared property of \"%s\"", key,
			 name, w->cmd->key);
}

static int set_stdin(const struct wraps *w, const struct command_conf *conf,
		     struct pack_command *cmd, struct hcp_err *err)
{
	const char *from = conf->wrap.stdin_from;
	struct pack_wrap *wrap = &cmd->wrap;

	if (!from || str_eq(from, "none"))
		return 0;
	if (str_eq(from, "json")) {
		wrap->stdin_kind = PACK_STDIN_JSON;
		return 0;
	}
	/* the row's check saw "{{" and "}}" around it */
	wrap->stdin_arg = arena_strndup(w->m->ctx.arena, from + 2, strlen(from) - 4);
	if (!wrap->stdin_arg)
		return hcp_fail_nomem(err);
	wrap->stdin_kind = PACK_STDIN_ARG;
	return check_argument(w, "stdin", wrap->stdin_arg, err);
}

static int set_workspace(const struct wraps *w, const struct command_conf *conf,
			 struct pack_command *cmd, struct hcp_err *err)
{
	struct pack_wrap *wrap = &cmd->wrap;
	int mode = conf->wrap.workspace.mode;

	wrap->workspace = mode ? (enum pack_workspace)(mode - 1) : PACK_WS_PACK;
	wrap->workspace_name = conf->wrap.workspace.name;
	if (wrap->workspace_name && wrap->workspace != PACK_WS_WORKSPACE)
		return conf_fail(&w->m->ctx, node_of(w, "workspace"), err,
				 "only a workspace of mode workspace has a \"name\"");
	return 0;
}

static int set_program(const struct wraps *w, const struct command_conf *conf,
		       struct pack_command *cmd, struct hcp_err *err)
{
	struct pack_wrap *wrap = &cmd->wrap;

	wrap->bin = conf->wrap.bin;
	wrap->home_env = conf->wrap.home_env ? conf->wrap.home_env : "HOME";
	wrap->result =
	    conf->wrap.result ? (enum pack_result)(conf->wrap.result - 1) : PACK_RESULT_AUTO;
	if (!wrap->bin)
		return conf_fail(&w->m->ctx, PACK_PLACE(cmd), err,
				 "\"%s\" is of kind wrap and needs \"bin\" in wrap", cmd->key);
	if (wrap->files.count > MANIFEST_NAMES)
		return conf_fail(&w->m->ctx, node_of(w, "files"), err,
				 "\"files\" holds more than %d names", MANIFEST_NAMES);
	for (size_t i = 0; i < wrap->files.count; i++)
		if (check_argument(w, "files", wrap->files.items[i], err) < 0)
			return -1;
	return 0;
}

int pack_check_agent_env(const struct manifest *m, const struct yaml_node *wrap,
			 struct hcp_err *err)
{
	const struct yaml_node *env = yaml_get(wrap, "agent_env");

	if (env && env->count > MANIFEST_NAMES)
		return conf_fail(&m->ctx, env, err, "\"agent_env\" holds more than %d names",
				 MANIFEST_NAMES);
	for (size_t i = 0; env && i < env->count; i++) {
		const char *why = pack_check_env_name(env->pairs[i].key->text);
		char name[YAML_QUOTE];

		yaml_quote(env->pairs[i].key->text, name);
		if (why)
			return conf_fail(&m->ctx, env->pairs[i].key, err,
					 "%s in \"agent_env\" %s", name, why);
	}
	return 0;
}

static const char *judge_placeholder(void *user, const char *name)
{
	const struct pack_command *cmd = user;

	if (!schema_has_property(cmd->args, name))
		return "is no declared property";
	if (schema_is_write_only(cmd->args, name))
		return "is writeOnly: argv shows in /proc; pass it by stdin or files";
	return NULL;
}

static int set_argv(const struct wraps *w, const struct command_conf *conf,
		    struct pack_command *cmd, struct hcp_err *err)
{
	struct argv_command judge = {
	    .verb_key = cmd->key,
	    .placeholder = cmd->args ? judge_placeholder : NULL,
	    .user = cmd,
	    .is_cli = conf->cli != NULL,
	};
	const struct conf_ctx *c = &w->m->ctx;
	const struct yaml_node *own = yaml_get(w->own, "argv_template");

	if (conf->cli && own)
		return conf_fail(c, own, err,
				 "\"%s\" has a \"cli\", too: one of the two must go", cmd->key);
	if (conf->cli)
		return argv_compile(c, conf->cli, &judge, &cmd->argv, err);
	if (conf->wrap.argv_template)
		return argv_compile(c, conf->wrap.argv_template, &judge, &cmd->argv, err);
	return argv_compile_default(c, &judge, &cmd->argv, err);
}

/* Other kinds: their `cli` is how they look on a command line. It is judged and not kept. */
static int check_other_kind(const struct wraps *w, const struct command_conf *conf,
			    struct pack_command *cmd, struct hcp_err *err)
{
	int rc;

	if (w->own)
		return conf_fail(&w->m->ctx, w->own, err,
				 "\"%s\" is of kind %s and has no \"wrap\"", cmd->key,
				 cmd->kind);
	if (!conf->cli)
		return 0;
	rc = set_argv(w, conf, cmd, err);
	cmd->argv = NULL;
	return rc;
}

int pack_load_wrap(const struct manifest *m, const struct command_conf *conf,
		   const struct yaml_node *own, struct pack_command *cmd, struct hcp_err *err)
{
	const struct wraps w = {m, own, cmd};

	if (!str_eq(cmd->kind, "wrap"))
		return check_other_kind(&w, conf, cmd, err);
	if (pack_check_agent_env(m, own, err) < 0 || set_env(&w, conf, cmd, err) < 0 ||
	    set_lists(&w, conf, cmd, err) < 0 || set_workspace(&w, conf, cmd, err) < 0 ||
	    set_stdin(&w, conf, cmd, err) < 0 || set_program(&w, conf, cmd, err) < 0)
		return -1;
	return set_argv(&w, conf, cmd, err);
}
