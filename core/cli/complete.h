/* SPDX-License-Identifier: MIT */
/* Completion: what shells ask for by `hcp __complete <words> <word>`. */
#ifndef HCP_CLI_COMPLETE_H
#define HCP_CLI_COMPLETE_H

#include "cli/cli.h"

#define COMPLETE "__complete" /* no verb of a pack: those begin with a letter or digit */

/* For hcp itself: c->argv holds the words before `word`, options taken out. */
void complete_words(struct cli *c, const struct cli_verb *verb, const char *word);
/* For a linked command: `words` are those behind hcp's options, `key` the verb that they name
 * so far, as far as there is one. */
void complete_linked(const json_t *manifest, const char *key, char *const *words, int count,
		     const char *word);

#endif
