/* SPDX-License-Identifier: MIT */
/* From template to argv (§6.4 steps 1 to 3 and 7). Pure: nothing here opens, resolves or runs
 * anything. A template is compiled once at load; rendering gives an array, never a command
 * line. */
#ifndef HCP_ARGV_ARGV_H
#define HCP_ARGV_ARGV_H

#include "base/conf.h"

#include <jansson.h>

struct argv_template;
extern const struct conf_table argv_entry_table; /* an entry that is no plain token */

/* What the compiler must know of the command. */
struct argv_command {
	const char *verb_key;
	/* Judges a placeholder's name at load: NULL where it may be used, else why not ("is no
	 * declared property", "is writeOnly: argv shows in /proc; pass it by stdin or files").
	 * NULL function: a command without `args`, any name goes. */
	const char *(*placeholder)(void *user, const char *name);
	void *user;
	bool is_cli; /* cli[]: the first token is the bin's name and is dropped; no {{verb}} */
};
/* `node` is the YAML sequence of tokens, `{when, then}` and `{each, then}` entries. */
int argv_compile(const struct conf_ctx *c, const struct yaml_node *node,
		 const struct argv_command *cmd, const struct argv_template **out,
		 struct hcp_err *err) HCP_MUST_CHECK;
/* The default template ["{{verb}}"]. */
int argv_compile_default(const struct conf_ctx *c, const struct argv_command *cmd,
			 const struct argv_template **out, struct hcp_err *err) HCP_MUST_CHECK;

/* A pass-through hands the caller the program itself: tokens that are nothing but one
 * placeholder for an argument list. `no_literal`: no token holds a literal (lint warns). */
bool argv_is_pass_through(const struct argv_template *t);
bool argv_has_no_literal(const struct argv_template *t);

/* What loads and is probably not meant. */
enum argv_advice {
	ARGV_NO_LITERAL, /* nothing of the command line is the author's */
	ARGV_SWALLOWS,   /* an option's value may be absent; `option` is its literal */
	ARGV_DASHES,     /* a literal "--", behind which the appended flag is an operand */
	ARGV_EXTENSION   /* `when` or `each`, which other runtimes don't know */
};
struct argv_advisor {
	bool flag_follows;                              /* json_flag isn't empty */
	bool (*optional)(void *user, const char *name); /* the argument may be absent */
	void (*say)(void *user, enum argv_advice what, const char *option);
	void *user;
};
void argv_advise(const struct argv_template *t, const struct argv_advisor *ask);

struct argv_rules {
	const struct conf_strings *deny_prefix; /* ["-"] by default */
	const struct conf_strings *json_flag;   /* ["--json"] by default */
};
/* argv[0] is left NULL for the caller to set; tokens follow, then the json flag, then NULL.
 * Error texts are the envelope's: `invalid args: <name>: may not start with "-"`.
 * HCP_E_INVALID. */
int argv_render(const struct argv_template *t, const json_t *args,
		const struct argv_rules *rules, struct arena *a, char ***argv, size_t *argc,
		struct hcp_err *err) HCP_MUST_CHECK;

/* JavaScript's String() of a value, as §6.4 wants it: list items joined by ','; absent and null
 * empty; an object is an error. *out is the arena's; may hold no NUL. `name` is for the
 * message. */
int argv_string(const json_t *value, const char *name, struct arena *a, const char **out,
		struct hcp_err *err) HCP_MUST_CHECK;
/* {{verb}}'s words: verb_key after its first '.', or the whole key, split on white space. */
int argv_verb_words(const char *verb_key, struct arena *a, struct conf_strings *out);

/* §6.4 step 7, on a rendered argv (argv[0] is left alone). */
struct argv_files {
	const struct conf_strings *file_flags;
	bool has_jail;           /* workspace mode ephemeral or workspace */
	const char *jail_inside; /* what the child sees: "/workspace" */
};
/* Judges host paths first ("sandbox: host path not allowed"), then rewrites `workspace:` tokens
 * and file_flags values in place (new strings from the arena). Each rewritten path, relative to
 * the jail, normalised, without "..", is added to *paths for the caller to check for links.
 * Errors are the envelope's, HCP_E_DENIED. */
int argv_rewrite_files(char **argv, size_t argc, const struct argv_files *files,
		       struct arena *a, struct conf_strings *paths,
		       struct hcp_err *err) HCP_MUST_CHECK;

#endif
