/* SPDX-License-Identifier: MIT */
/* The hcp program: a table of verbs over the public library. Only this folder prints or exits.
 */
#ifndef HCP_CLI_CLI_H
#define HCP_CLI_CLI_H

#include "include/hcp.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define CLI_USAGE   2
#define CLI_RUNTIME 125
#define CLI_DENIED  126

struct cli {
	const char *root, *state, *session, *tenant, *project, *deadline, *principal,
	    *token_file, *token_fd;
	bool json, raw, verbose, help, version, trace_denials;
	const char *checkpoint, *key, *format, *lines; /* audit */
	bool follow, create;
	int argc; /* words that are no options, the verb's own name left out */
	char **argv;
	int rest; /* index of the first word behind "--"; argc where there was none */
	hcp_runtime *rt;
	hcp_call *call;
};

struct cli_option {
	const char *name, *brief, *value, *help; /* brief: "-f" or NULL; value NULL: a switch */
	size_t offset;                           /* of a member of struct cli */
};
enum cli_runtime {
	CLI_ALONE = 0, /* needs none */
	CLI_RUNS,
	CLI_LOOKS /* opens it without creating anything */
};
struct cli_verb {
	const char *name, *usage, *summary;
	int (*run)(struct cli *c);
	enum cli_runtime runtime;
	const struct cli_option *options; /* of this verb alone; ends with a NULL name */
};
extern const struct cli_verb cli_verbs[];                      /* ends with a NULL name */
const struct cli_verb *cli_verb_of(int (*run)(struct cli *c)); /* of those */

int cmd_exec(struct cli *c);
int cmd_activate(struct cli *c);
int cmd_deactivate(struct cli *c);
int cmd_session(struct cli *c);
int cmd_packs(struct cli *c);
int cmd_workspace(struct cli *c);
int cmd_explain(struct cli *c);
int cmd_policy(struct cli *c);
int cmd_secret(struct cli *c);
int cli_policy_test(struct cli *c, const char *path);
int cmd_doctor(struct cli *c);
int cmd_audit(struct cli *c);

extern const struct cli_option cli_audit_options[], cli_explain_options[], cli_policy_options[];
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
/* Prints JSON text and a newline on stdout: pretty on a terminal unless --json. 0 or
 * CLI_RUNTIME. */
int cli_print_json(const struct cli *c, hcp_str json);
int cli_print_text(const char *text, size_t len);
/* A member of an object; "" and 0 where there is none of that kind. */
const char *cli_text(const json_t *object, const char *key);
long long cli_number(const json_t *object, const char *key);
/* All that fd gives, `room` bytes at most, with no copy elsewhere; -1: errno says why. */
ssize_t cli_read(int fd, char *out, size_t room);
bool cli_for_people(const struct cli *c); /* stdout is a terminal and --json wasn't given */

/* Gives the call the token that the options or $HCP_TOKEN_FILE name. 0 or the exit status. */
int cli_token(struct cli *c);

/* describe as a value; NULL where the pack doesn't load. */
json_t *cli_describe(struct cli *c, const char *pack);
/* The verb_key that words name in a manifest, by the whole key or by its §6.4 tail; malloc'ed.
 */
char *cli_verb_key(const json_t *manifest, char *const *words, int count);
/* The args object of k=v, k:=json and k@=file words, typed by the command's schema (NULL:
 * untyped). NULL: a message was printed. */
json_t *cli_args(const json_t *schema, char *const *words, int count);
/* Makes the envelope that words or stdin describe, and hands it on; pack and verb are NULL
 * where it came from stdin. */
typedef int cli_envelope_fn(struct cli *c, const char *text, size_t len, const char *pack,
			    const char *verb);
int cli_with_envelope(struct cli *c, const struct cli_verb *verb, cli_envelope_fn *use);
/* Hints on stderr for a refused run: what to run, what was probably meant. */
void cli_explain_refusal(struct cli *c, const hcp_result *res, const char *pack,
			 const char *verb);

#endif
