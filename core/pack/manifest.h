/* SPDX-License-Identifier: MIT */
/* Private to pack/: what the tables of the two YAML files fill in, and the parts of the loader.
 * Nothing here opens a file: texts come from the reading that pack->files holds. */
#ifndef HCP_PACK_MANIFEST_H
#define HCP_PACK_MANIFEST_H

#include "pack/pack.h"

/* What one list or mapping of names may hold: they are compared pair by pair and copied into
 * each command. */
#define MANIFEST_NAMES 256

struct wrap_conf {
	const char *bin;
	const struct yaml_node *argv_template;
	struct {
		int mode;
		const char *name;
	} workspace;
	struct conf_env agent_env;
	const char *home_env;
	struct conf_strings file_flags, json_flag, deny_prefix, files;
	const char *stdin_from;
	int result;
};
struct mint_conf {
	const char *hook;
	int64_t ttl_ms;
	struct conf_strings env;
	int deliver;
};
struct manifest_conf {
	int64_t hcp;
	const char *pack_id, *version, *summary, *bin, *kind;
	struct conf_strings requires, uses;
	struct wrap_conf wrap;
	struct mint_conf mint;
	const struct yaml_node *defs, *commands;
};
struct command_conf {
	const char *summary, *description, *kind, *script;
	struct wrap_conf wrap; /* begins as the pack's */
	const struct yaml_node *cli, *args, *output, *examples;
	int effect, lock;
	int64_t timeout_ms;
	enum conf_bool internal, health, bootstrap;
};
struct policies_conf {
	int64_t hcp;
	const struct yaml_node *policies;
};
struct policy_conf {
	struct conf_strings capability;
	enum conf_bool confirm;
	struct {
		int land;
	} privacy;
};

extern const struct conf_table pack_command_table, pack_wrap_table, pack_policy_table;

/* NULL where it may be set for a child, else what it must be. Judges agent_env, home_env and
 * the names of a Binding alike. */
const char *pack_check_env_name(const char *name);
/* A relative path without "", "." and ".." parts. */
bool pack_path_is_inside(const char *path);

/* One load of a manifest. */
struct manifest {
	struct pack *pack;
	struct conf_ctx ctx;
	struct manifest_conf conf;
	const struct yaml_node *wrap; /* the pack's `wrap:` as written, or NULL */
	const struct yaml_node *own;  /* the mapping named as the pack's kind, or NULL */
};
/* Takes the mapping called `kind` out of `map`: *rest is what the table may judge, *own the
 * mapping, NULL where there is none. */
int pack_split_own(const struct manifest *m, const struct yaml_node *map, const char *kind,
		   const struct yaml_node **rest, const struct yaml_node **own,
		   struct hcp_err *err) HCP_MUST_CHECK;

/* Refuses a format version other than 1. Judged before anything else: a later format may have
 * keys that this one doesn't know. */
int pack_check_format(const struct conf_ctx *c, const struct yaml_node *root,
		      struct hcp_err *err) HCP_MUST_CHECK;
/* pack.yaml and policy.yaml as p->files holds them; p->id, p->shown and p->files are set. On
 * failure *p holds what was compiled so far, for pack_close. `all` as in conf_ctx. */
int pack_load(struct pack *p, struct conf_faults *all, struct hcp_err *err) HCP_MUST_CHECK;
/* A fault of a command as a whole, told at its key. */
#define PACK_PLACE(cmd)                                                                        \
	(&(const struct yaml_node){.line = (cmd)->line, .column = (cmd)->column})
int pack_load_command(const struct manifest *m, const struct yaml_pair *pair,
		      struct pack_command *cmd, struct hcp_err *err) HCP_MUST_CHECK;
/* The names in a `wrap:`'s agent_env; its values may be anything. */
int pack_check_agent_env(const struct manifest *m, const struct yaml_node *wrap,
			 struct hcp_err *err) HCP_MUST_CHECK;
/* Sets cmd->wrap and cmd->argv. `own` is the command's `wrap:` as written, or NULL. */
int pack_load_wrap(const struct manifest *m, const struct command_conf *conf,
		   const struct yaml_node *own, struct pack_command *cmd,
		   struct hcp_err *err) HCP_MUST_CHECK;
int pack_load_policies(struct pack *p, struct conf_faults *all,
		       struct hcp_err *err) HCP_MUST_CHECK;

/* One of the settings' folders that packs lie in. 1: open, 0: there is none, -1: error. */
int pack_open_parent(const struct root *root, const char *dir, int *out,
		     struct hcp_err *err) HCP_MUST_CHECK;
/* The first of them that holds a folder `id`: *dir is its name as the settings have it. 1, 0,
 * -1 as above. */
int pack_find(const struct root *root, const struct settings *set, const char *id, int *fd,
	      const char **dir, struct hcp_err *err) HCP_MUST_CHECK;
void pack_mark(const struct stat *st, struct pack_mark *out);
/* Reads the folder p->fd: p->files and p->digest. */
int pack_read(struct pack *p, struct hcp_err *err) HCP_MUST_CHECK;
/* The digest of what was read, one path left out (NULL: none). */
void pack_digest(const struct pack *p, const char *without, char text[PACK_DIGEST_SIZE]);

#endif
