/* SPDX-License-Identifier: MIT */
/* What loads and is probably not meant, of one template. Pure, and never a reason to refuse. */
#include "argv/template.h"

#include <string.h>

/* The text of a token that is one literal, which ends where the token does; or NULL. */
static const char *literal(const struct token *t)
{
	bool one = !t->verb && t->count == 1 && t->pieces[0].kind == PIECE_TEXT;

	return one ? t->pieces[0].text : NULL;
}

static bool is_option(const char *text)
{
	return text && text[0] == '-' && text[1] && strcmp(text, "--") != 0 &&
	       strcmp(text, "--end-of-options") != 0 && !strchr(text, '=');
}

/* `--out {{file}}`: without the argument the option would take the next token for its value. */
static bool swallows(const struct entry *option, const struct entry *value,
		     const struct argv_advisor *ask)
{
	const struct token *t = value->tokens;

	return option->kind == ENTRY_TOKEN && value->kind == ENTRY_TOKEN &&
	       option->count == 1 && value->count == 1 && !t->verb && t->count == 1 &&
	       t->pieces[0].kind == PIECE_ARG && is_option(literal(option->tokens)) &&
	       ask->optional(ask->user, t->pieces[0].text);
}

static void advise_entry(const struct argv_template *t, size_t i,
			 const struct argv_advisor *ask)
{
	const char *token;

	if (i + 1 < t->count && swallows(&t->entries[i], &t->entries[i + 1], ask))
		ask->say(ask->user, ARGV_SWALLOWS, literal(t->entries[i].tokens));
	for (size_t n = 0; ask->flag_follows && n < t->entries[i].count; n++) {
		token = literal(&t->entries[i].tokens[n]);
		if (token && strcmp(token, "--") == 0)
			ask->say(ask->user, ARGV_DASHES, NULL);
	}
	if (t->entries[i].kind != ENTRY_TOKEN)
		ask->say(ask->user, ARGV_EXTENSION, NULL);
}

void argv_advise(const struct argv_template *t, const struct argv_advisor *ask)
{
	if (argv_has_no_literal(t))
		ask->say(ask->user, ARGV_NO_LITERAL, NULL);
	for (size_t i = 0; i < t->count; i++)
		advise_entry(t, i, ask);
}
