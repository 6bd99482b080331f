/* SPDX-License-Identifier: MIT */
/* A linked command: its words become the envelope that hcp exec would make, and go the same
 * way. hcp's options stand before the verb; behind it the command's own arguments come first.
 */
#include "cli/complete.h"
#include "cli/flags.h"
#include "cli/link.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
	struct cli *c;
	const char *pack;
	json_t *manifest; /* NULL: the pack doesn't load */
	char **words;     /* behind hcp's options */
	int count;
	int verb_words; /* how many of them name the verb */
	char *key;
};

static void call_free(struct call *l)
{
	free(l->key);
	json_decref(l->manifest);
}

static bool declared(const struct call *l, const char *key)
{
	return json_object_get(json_object_get(l->manifest, "commands"), key) != NULL;
}

/* The longest run of plain words that is a verb; else all of them, for the pipeline to refuse.
 */
static int find_verb(struct call *l)
{
	int plain = 0;

	while (plain < l->count && l->words[plain][0] != '-' && !strchr(l->words[plain], '='))
		plain++;
	for (int n = plain; n > 0; n--) {
		free(l->key);
		l->key = cli_verb_key(l->manifest, l->words, n);
		l->verb_words = n;
		if (!l->key)
			return cli_fail(CLI_RUNTIME, "out of memory");
		if (declared(l, l->key))
			return 0;
	}
	free(l->key);
	l->key = plain ? cli_verb_key(l->manifest, l->words, plain) : NULL;
	l->verb_words = plain;
	return 0;
}

static bool asks_help(const struct call *l)
{
	for (int i = 0; i < l->count && strcmp(l->words[i], "--") != 0; i++)
		if (strcmp(l->words[i], "--help") == 0 || strcmp(l->words[i], "-h") == 0)
			return true;
	return l->c->help;
}

static int help(const struct call *l)
{
	if (!l->manifest)
		return cli_fail(CLI_RUNTIME, "the pack %s doesn't load: hcp packs says why",
				l->pack);
	if (l->key && declared(l, l->key))
		help_command(l->c->linked, l->manifest, l->key);
	else
		help_pack(l->c->linked, l->manifest, l->words, l->verb_words);
	return 0;
}

static int run(struct call *l)
{
	const json_t *command =
	    json_object_get(json_object_get(l->manifest, "commands"), l->key);
	AUTO_BUF called = {0};
	struct flags f = {
	    .c = l->c, .words = l->words + l->verb_words, .count = l->count - l->verb_words};
	json_t *args;

	buf_puts(&called, l->c->linked);
	for (int i = 0; i < l->verb_words; i++)
		buf_printf(&called, " %s", l->words[i]);
	if (called.failed)
		return cli_fail(CLI_RUNTIME, "out of memory");
	f.called = called.data;
	args = flags_read(&f, json_object_get(command, "args"));
	if (!args)
		return CLI_USAGE;
	return cli_with_args(l->c, l->pack, l->key, args, cli_exec);
}

static int no_verb(const struct call *l)
{
	if (l->count > 0)
		cli_fail(CLI_USAGE, "unknown option %s: flags come behind the verb",
			 l->words[0]);
	fprintf(stderr, "usage: %s <verb> [--flags] (%s --help lists them)\n", l->c->linked,
		l->c->linked);
	return CLI_USAGE;
}

static int answer(struct call *l)
{
	int status;

	status = cli_open(l->c, asks_help(l) ? CLI_LOOKS : CLI_RUNS);
	if (status == 0) {
		l->manifest = cli_describe(l->c, l->pack);
		status = find_verb(l);
	}
	if (status)
		return status;
	if (asks_help(l))
		return help(l);
	return l->key ? run(l) : no_verb(l);
}

/* hcp's options, up to the first word that is none. 0 or the exit status. */
static int take_options(struct call *l)
{
	while (l->count > 0 && cli_find_option(NULL, l->words[0])) {
		int taken = 0;

		if (cli_take_option(l->c, NULL, l->words, l->count, &taken) < 0)
			return CLI_USAGE;
		l->words += taken + 1;
		l->count -= taken + 1;
	}
	return 0;
}

/* `words` end with the one that is being written, which names no verb yet. */
static int complete(struct call *l)
{
	const char *word = l->count > 0 ? l->words[--l->count] : "";

	if (take_options(l) || cli_open(l->c, CLI_LOOKS))
		return 0;
	l->manifest = cli_describe(l->c, l->pack);
	if (l->manifest && find_verb(l) == 0)
		complete_linked(l->manifest, l->key ? l->key : "", l->words, l->count, word);
	return 0;
}

/* Options before the verb win over what was said when the link was made. */
static int answer_as(struct cli *c, const struct link_file *link, char **words, int count)
{
	struct call l = {.c = c, .pack = link->pack_id, .words = words, .count = count};
	const char *within = getenv("HCP_PACK_ID");
	int status;

	c->root = link->root;
	c->state = link->state;
	c->session = link->session;
	if (count > 0 && strcmp(words[0], COMPLETE) == 0) {
		l.words++;
		l.count--;
		status = complete(&l);
		call_free(&l);
		return status;
	}
	status = take_options(&l);
	if (status)
		return status;
	if (c->version) {
		cli_print_version();
		return 0;
	}
	if (within && strcmp(within, link->pack_id) == 0)
		return cli_fail(CLI_USAGE,
				"a program of the pack %s calls %s, which is that pack", within,
				c->linked);
	status = answer(&l);
	call_free(&l);
	return status;
}

int cli_linked(struct cli *c, char **words, int count)
{
	struct arena arena = {0};
	struct link_file link;
	struct hcp_err err = {0};
	char text[1024];
	const char *slash;
	int read, status;

	if (count == 0)
		return cli_usage(NULL, CLI_LINKED " is for files that hcp link makes");
	read = link_read(AT_FDCWD, words[0], &arena, &link, &err);
	hcp_err_format(&err, text, sizeof(text));
	slash = strrchr(words[0], '/');
	c->linked = slash ? slash + 1 : words[0];
	if (read > 0)
		status = answer_as(c, &link, words + 1, count - 1);
	else if (read < 0)
		status = cli_fail(CLI_RUNTIME, "%s", text);
	else
		status = cli_usage(NULL, CLI_LINKED " is for files that hcp link makes");
	arena_free(&arena);
	return status;
}
