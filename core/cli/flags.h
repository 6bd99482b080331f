/* SPDX-License-Identifier: MIT */
/* Flags of linked commands. */
#ifndef HCP_CLI_FLAGS_H
#define HCP_CLI_FLAGS_H

#include "cli/cli.h"

struct flag {
	const char *key;    /* the argument; borrowed from the schema or static */
	const char *equals; /* what stands behind "="; NULL: nothing does */
	bool is_switch;     /* true or false, and needs no value */
	bool no;            /* --no-<key> */
};
/* What a word ("--from", "--from=x", "--no-dry-run") means to a command with this schema (NULL:
 * it has none). False: it is no argument that the schema or hcp names. */
bool flag_find(const json_t *schema, const char *word, struct flag *out);

struct flags {
	struct cli *c;      /* takes hcp's own options */
	const char *called; /* "ledger transfer", for messages */
	char **words;
	int count;
	struct cli_args args;
};
/* The args object of c, called, words and count. NULL: a message was printed. */
json_t *flags_read(struct flags *f, const json_t *schema);

/* --help: of a pack, or (key given) of one command, on stdout. `words` begin those of the
 * commands that are listed. */
void help_pack(const char *name, const json_t *manifest, char *const *words, int count);
void help_command(const char *name, const json_t *manifest, const char *key);

#endif
