/* SPDX-License-Identifier: MIT */
/* The hcp program: a table of verbs over the public library. Only this folder prints or exits.
 */
#ifndef HCP_CLI_CLI_H
#define HCP_CLI_CLI_H

#include "base/json.h"
#include "base/str.h"
#include "include/hcp.h"

#include <stdbool.h>
#include <sys/types.h>

#define CLI_USAGE   2
#define CLI_RUNTIME 125
#define CLI_DENIED  126
#define CLI_LIST    16 /* times that one option may be given */

#define CLI_LINKED "linked" /* `#!<hcp> linked`, the first line of a link's file */

struct cli {
	const char *root, *state, *session, *tenant, *project, *deadline, *principal,
	    *token_file, *token_fd;
	bool json, raw, verbose, help, version, trace_denials, progress;
	const char *checkpoint, *key, *format, *lines; /* audit */
	bool follow, create;
	const char *run;                  /* explain */
	bool composite, accept, coverage; /* pack */
	const char *socket, *http;        /* serve */
	const char *host[CLI_LIST + 1], *origin[CLI_LIST + 1];
	bool stdio;
	int argc;             /* words that are no options, the verb's own name left out */
	char **argv, **words; /* within `words`, which main frees */
	int rest; /* index of the first word behind "--"; argc where there was none */
	const char *in[CLI_LIST + 1], *out[CLI_LIST + 1]; /* exec; a NULL ends each */
	bool keep;
	const char *dir, *as; /* link */
	const char *linked;   /* the name that a linked command was called by; NULL: hcp */
	hcp_runtime *rt;
	hcp_call *call;
};

struct cli_option {
	/* brief: "-f" or NULL; value NULL: a switch; one that ends in "..." may be repeated */
	const char *name, *brief, *value, *help;
	size_t offset; /* of a member of struct cli */
};
enum cli_runtime {
	CLI_ALONE = 0, /* needs none */
	CLI_RUNS,
	CLI_LOOKS, /* opens it without creating anything */
	CLI_MCP    /* its runs come by MCP */
};
struct cli_verb {
	const char *name, *usage, *summary;
	int (*run)(struct cli *c);
	enum cli_runtime runtime;
	const struct cli_option *options; /* of this verb alone; ends with a NULL name */
};
extern const struct cli_verb cli_verbs[];                      /* ends with a NULL name */
const struct cli_verb *cli_verb_of(int (*run)(struct cli *c)); /* of those */

extern const struct cli_option cli_options[];     /* of every verb */
extern const struct cli_option cli_run_options[]; /* of exec and linked commands */
void cli_print_options(const struct cli_option *o);
/* The row for a word ("--root=x", "-h") among those of every verb, of runs and of `verb` (NULL:
 * none); NULL where there is none. */
const struct cli_option *cli_find_option(const struct cli_verb *verb, const char *word);
/* Takes the option at argv[*i]; *i moves to its value where that is a word of its own. -1: a
 * message was printed. */
int cli_take_option(struct cli *c, const struct cli_verb *verb, char **argv, int argc, int *i);
/* One of cli_run_options that was given; NULL: none. */
const char *cli_run_option(const struct cli *c);
/* Opens runtime and call by the options, and has signals cancel. 0 or the exit status. */
int cli_open(struct cli *c, enum cli_runtime how);
/* The same for a server: its face, and no signal is taken. */
int cli_open_as(struct cli *c, enum cli_runtime how, hcp_face face);
void cli_print_version(void);

int cmd_exec(struct cli *c);
int cmd_link(struct cli *c);
int cmd_unlink(struct cli *c);
int cmd_completion(struct cli *c);
/* `words`: the link's file, then what followed its name. */
int cli_linked(struct cli *c, char **words, int count);
int cmd_activate(struct cli *c);
int cmd_deactivate(struct cli *c);
int cmd_session(struct cli *c);
int cmd_packs(struct cli *c);
int cmd_workspace(struct cli *c);
int cmd_explain(struct cli *c);
int cli_explain_run(struct cli *c, const char *id); /* by the audit log */
int cmd_policy(struct cli *c);
int cmd_secret(struct cli *c);
int cmd_pack(struct cli *c);
int cli_pack_new(struct cli *c, const char *id);
void cli_pack_docs(const json_t *pack); /* what hcp_describe gave, as Markdown */
int cli_pack_test(struct cli *c, const char *pack);
int cli_pack_add(struct cli *c, const char *path);
int cli_pack_remove(struct cli *c, const char *pack);
int cli_pack_verify(struct cli *c, const char *pack, bool judge); /* pack NULL: all */
int cli_pack_sign(struct cli *c, const char *dir);
int cli_pack_keygen(struct cli *c);
int cli_policy_test(struct cli *c, const char *path);
int cmd_doctor(struct cli *c);
int cmd_audit(struct cli *c);
int cmd_mcp(struct cli *c);
int cmd_serve(struct cli *c);
int cmd_schema(struct cli *c);

extern const struct cli_option cli_audit_options[], cli_explain_options[], cli_policy_options[],
    cli_link_options[], cli_pack_options[], cli_serve_options[];
int audit_tail_verb(struct cli *c);
int audit_show_verb(struct cli *c);
int audit_grep_verb(struct cli *c);
int audit_export_verb(struct cli *c);

/* "hcp: …" on stderr. Returns `status`. */
int cli_fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int cli_usage(const struct cli_verb *verb, const char *why);
/* A line for people on stderr: "hint: …". */
void cli_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The error of a library call that isn't a run. Gives the exit status. */
int cli_status(hcp_status status, const hcp_error *err);
/* Prints what a call of the library gave, and frees it. */
int cli_print_result(const struct cli *c, hcp_status status, hcp_result *res,
		     const hcp_error *err);
/* A result's JSON as a value, the caller's; NULL: out of memory. */
json_t *cli_value(const hcp_result *res);
/* Prints JSON text and a newline on stdout: pretty on a terminal unless --json. 0 or
 * CLI_RUNTIME. */
int cli_print_json(const struct cli *c, hcp_str json);
/* Prints what a lint found, and frees it. The exit status: 1 where there is an error. */
int cli_problems(const struct cli *c, hcp_result *res);
int cli_print_text(const char *text, size_t len);
/* Appends text of packs and programs with nothing in it that a terminal would obey: control
 * characters become "?", but for newlines where `lines` is set. */
void cli_add_plain(struct buf *out, const char *text, size_t len, bool lines);
/* A member of an object; "" and 0 where there is none of that kind. */
const char *cli_text(const json_t *object, const char *key);
long long cli_number(const json_t *object, const char *key);
/* All that fd gives, `room` bytes at most, with no copy elsewhere; -1: errno says why. */
ssize_t cli_read(int fd, char *out, size_t room);
bool cli_for_people(const struct cli *c); /* stdout is a terminal and --json wasn't given */

/* From here to the end of the call's run: what its programs write to stderr, and how long it
 * takes where stderr is a terminal. 0 or the exit status; end it where that was 0. */
int progress_begin(struct cli *c);
void progress_end(void);

/* Opens what --in and --out name and gives it to the call. 0 or the exit status. */
struct cli_files;
int files_begin(struct cli *c, struct cli_files **out);
/* Closes all; what came out gets its name where `ok` is set. Also after a failed begin. */
int files_end(struct cli_files *all, bool ok);

/* Gives the call the token that the options or $HCP_TOKEN_FILE name. 0 or the exit status. */
int cli_token(struct cli *c);

/* describe as a value; NULL where the pack doesn't load. */
json_t *cli_describe(struct cli *c, const char *pack);
/* The verb_key that words name in a manifest, by the whole key or by its §6.4 tail; malloc'ed.
 */
char *cli_verb_key(const json_t *manifest, char *const *words, int count);
/* The words that call a command: its tail, or the key where that is another's, too. Borrowed.
 */
const char *cli_verb_words(const json_t *manifest, const char *key);
/* The schema of one argument, references resolved; NULL where nothing describes it. */
const json_t *cli_schema_of(const json_t *args, const char *key);
/* The schema of a list's items; NULL where there is none. */
const json_t *cli_schema_items(const json_t *args, const json_t *schema);
bool cli_allows(const json_t *schema, const char *type);
/* An args object that grows by words; each is typed by the command's schema. -1: a message was
 * printed. */
struct cli_args {
	const json_t *schema; /* borrowed; NULL: untyped */
	json_t *all;
	json_t *whole; /* the names that came with their whole value, which no word adds to */
	bool stdin_read;
};
int cli_args_begin(struct cli_args *a, const json_t *schema);
int cli_args_word(struct cli_args *a, const char *word); /* k=v, k:=json or k@=file */
int cli_args_text(struct cli_args *a, const char *key, const char *text);
int cli_args_object(struct cli_args *a, const char *text); /* JSON */
json_t *cli_args_end(struct cli_args *a, int rc); /* the object; NULL where rc is not 0 */
/* The args object of k=v, k:=json and k@=file words, typed by the command's schema (NULL:
 * untyped). NULL: a message was printed. */
json_t *cli_args(const json_t *schema, char *const *words, int count);
/* Makes the envelope that words or stdin describe, and hands it on; pack and verb are NULL
 * where it came from stdin. */
typedef int cli_envelope_fn(struct cli *c, const char *text, size_t len, const char *pack,
			    const char *verb);
int cli_with_envelope(struct cli *c, const struct cli_verb *verb, cli_envelope_fn *use);
/* The same for a pack, a verb and arguments that are known; takes `args`. */
int cli_with_args(struct cli *c, const char *pack, const char *verb, json_t *args,
		  cli_envelope_fn *use);
/* Runs an envelope and prints what came of it: hcp exec and linked commands alike. */
int cli_exec(struct cli *c, const char *text, size_t len, const char *pack, const char *verb);
/* The candidate that `word` was probably meant to be; NULL: none is near. */
struct cli_guess {
	const char *word, *best;
	unsigned least; /* the distance that is too far */
};
void cli_consider(struct cli_guess *g, const char *candidate);
/* Hints on stderr for a refused run: what to run, what was probably meant. */
void cli_explain_refusal(struct cli *c, const hcp_result *res, const char *pack,
			 const char *verb);

#endif
