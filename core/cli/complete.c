/* SPDX-License-Identifier: MIT */
/* What may follow the words on a command line: verbs, packs, flags and listed values, a line
 * each on stdout, with a tab and a description where there is one. It looks only: no run, no
 * state, no question. What a pack says is shown with no control character in it. */
#include "cli/complete.h"

#include "cli/flags.h"

#include <stdio.h>
#include <string.h>

/* `start` stands before the text, as "--kind=". A text with a control character is left out:
 * what would be put on the line is not what the pack says. */
static void offer(const char *word, const char *start, const char *text, const char *about)
{
	AUTO_BUF out = {0}, safe = {0};

	buf_printf(&out, "%s%s", start, text);
	if (out.failed || !str_starts(out.data, word))
		return;
	cli_add_plain(&safe, out.data, out.len, false);
	if (safe.failed || strcmp(safe.data, out.data) != 0 || strchr(safe.data, '\t'))
		return;
	if (*about) {
		buf_putc(&safe, '\t');
		cli_add_plain(&safe, about, strcspn(about, "\n"), false);
	}
	if (!safe.failed)
		puts(safe.data);
}

static void offer_option(const char *word, const struct cli_option *o)
{
	for (; o && o->name; o++)
		offer(word, "", o->name, o->help);
}

static void offer_packs(struct cli *c, const char *word)
{
	json_t *all = cli_describe(c, NULL), *p;
	size_t i;

	json_array_foreach(json_object_get(all, "packs"), i, p)
	    offer(word, "", cli_text(p, "pack_id"), cli_text(p, "summary"));
	json_decref(all);
}

/* The next word of each verb that begins with these words. */
static void offer_verbs(const char *word, const json_t *manifest, char *const *words, int count)
{
	json_t *commands = json_object_get(manifest, "commands"), *v;
	const char *key;

	json_object_foreach(commands, key, v)
	{
		const char *verb = cli_verb_words(manifest, key);
		char next[160];
		size_t len;
		int i = 0;

		for (; i < count && strncmp(verb, words[i], len = strlen(words[i])) == 0 &&
		       verb[len] == ' ';
		     i++)
			verb += len + 1;
		len = strcspn(verb, " ");
		if (i < count || len >= sizeof(next))
			continue;
		memcpy(next, verb, len);
		next[len] = '\0';
		offer(word, "", next, verb[len] ? "" : cli_text(v, "summary"));
	}
}

/* What the schema lists: `start` as "--kind=", "kind=" or "". */
static void offer_values(const char *word, const char *start, const json_t *args,
			 const char *key)
{
	const json_t *schema = cli_schema_of(args, key), *items = NULL, *v;
	size_t i;

	if (!schema)
		return;
	if (cli_allows(schema, "array"))
		items = cli_schema_items(args, schema);
	schema = items ? items : schema;
	if (cli_allows(schema, "boolean")) {
		offer(word, start, "true", "");
		offer(word, start, "false", "");
	}
	json_array_foreach(json_object_get(schema, "enum"), i, v)
	{
		if (json_is_string(v))
			offer(word, start, json_string_value(v), "");
	}
}

static void offer_args(const char *word, const json_t *args)
{
	json_t *v, *all = json_object_get(args, "properties");
	const char *key, *equals = strchr(word, '=');
	char start[160];

	if (equals && (size_t)(equals - word) < sizeof(start) - 1) {
		snprintf(start, sizeof(start), "%.*s", (int)(equals - word), word);
		json_object_foreach(all, key, v)
		{
			if (strcmp(key, start) != 0)
				continue;
			strcat(start, "=");
			offer_values(word, start, args, key);
			return;
		}
		return;
	}
	json_object_foreach(all, key, v)
	{
		if ((size_t)snprintf(start, sizeof(start), "%s=", key) < sizeof(start))
			offer(word, "", start, cli_text(v, "description"));
	}
}

/* ---- hcp itself ---- */

struct line {
	struct cli *c;
	const char *word; /* what is being written */
	char **words;     /* behind the verb; no options */
	int count;
};

static void offer_word(const struct line *l, const char *token, size_t len)
{
	char text[64];

	if (len >= sizeof(text))
		return;
	memcpy(text, token, len);
	text[len] = '\0';
	if (str_starts(text, "<pack_id>"))
		offer_packs(l->c, l->word);
	else if (text[0] >= 'a' && text[0] <= 'z')
		offer(l->word, "", text, "");
}

static void offer_command(const struct line *l)
{
	json_t *manifest = cli_describe(l->c, l->words[0]);
	char *key = cli_verb_key(manifest, l->words + 1, l->count - 1);
	const json_t *command =
	    json_object_get(json_object_get(manifest, "commands"), key ? key : "");

	if (command)
		offer_args(l->word, json_object_get(command, "args"));
	offer_verbs(l->word, manifest, l->words + 1, l->count - 1);
	free(key);
	json_decref(manifest);
}

/* The token at place `n` of one way to call a verb, its own name not counted. */
static const char *token_at(const char *usage, int n, size_t *len)
{
	for (;; n--) {
		usage += strspn(usage, " ");
		*len = strcspn(usage, " ");
		if (n == 0 || !*len || (*usage == '|' && *len == 1))
			return usage;
		usage += *len;
	}
}

/* A verb's usage line is the table of what follows it: ways apart by " | ", words by "|". */
static void offer_by_usage(const struct line *l, const char *usage)
{
	const char *way = usage + strcspn(usage, " "), *token, *last = "";
	size_t len, part, name = strcspn(usage, " ");

	for (; way; way = strstr(way, " | ") ? strstr(way, " | ") + 2 : NULL) {
		if (strncmp(way + 1, usage, name + 1) == 0)
			way += name + 1;
		token = token_at(way, l->count, &len);
		for (; len; token += part + (part < len), len -= part + (part < len)) {
			part = strcspn(token, "|");
			if (part > len)
				part = len;
			/* `show` in two ways */
			if (strncmp(token, last, part + 1) != 0)
				offer_word(l, token, part);
			last = token;
		}
	}
}

static void offer_verb_names(const char *word)
{
	for (const struct cli_verb *v = cli_verbs; v->name; v++)
		offer(word, "", v->name, v->summary);
}

void complete_words(struct cli *c, const struct cli_verb *verb, const char *word)
{
	struct line l = {c, word, c->argv + 1, c->rest - 1};

	if (word[0] == '-') {
		offer_option(word, cli_options);
		offer_option(word, verb ? verb->options : NULL);
	} else if (c->rest == 0) {
		offer_verb_names(word);
	} else if (verb && cli_open(c, CLI_LOOKS) == 0) {
		/* what holds "=" is an argument and no word of a verb */
		while (l.count > 0 && strchr(l.words[l.count - 1], '='))
			l.count--;
		if ((verb->run == cmd_exec || verb->run == cmd_explain) && l.count > 0)
			offer_command(&l);
		else
			offer_by_usage(&l, verb->usage);
	}
}

/* ---- a linked command ---- */

static void offer_switches(const char *word, const struct cli_option *o)
{
	for (; o->name; o++)
		if (!o->value)
			offer(word, "", o->name, o->help);
}

static void offer_flags(const char *word, const json_t *command)
{
	const json_t *args = json_object_get(command, "args");
	json_t *v;
	const char *key;
	char name[160];
	struct flag flag;

	json_object_foreach(json_object_get(args, "properties"), key, v)
	{
		if ((size_t)snprintf(name, sizeof(name), "--%s", key) >= sizeof(name))
			continue;
		offer(word, "", name, cli_text(v, "description"));
		if (flag_find(args, name, &flag) && flag.is_switch)
			offer(word, "--no-", key, "");
	}
	if (json_is_true(json_object_get(command, "confirm")))
		offer(word, "", "--confirm", "consent");
	offer(word, "", "--args", "arguments as one JSON object");
	offer_switches(word, cli_options);
	offer_switches(word, cli_run_options);
}

void complete_linked(const json_t *manifest, const char *key, char *const *words, int count,
		     const char *word)
{
	const json_t *command = json_object_get(json_object_get(manifest, "commands"), key);
	const json_t *args = json_object_get(command, "args");
	struct flag flag;
	char start[160];

	if (!command) {
		if (word[0] == '-' && count == 0) {
			offer_option(word, cli_options);
			offer_option(word, cli_run_options);
		} else {
			offer_verbs(word, manifest, words, count);
		}
	} else if (flag_find(args, word, &flag) && flag.equals) {
		snprintf(start, sizeof(start), "%.*s", (int)(flag.equals - word), word);
		offer_values(word, start, args, flag.key);
	} else if (word[0] == '-') {
		offer_flags(word, command);
	} else if (count > 0 && flag_find(args, words[count - 1], &flag) && !flag.is_switch &&
		   !flag.equals) {
		offer_values(word, "", args, flag.key);
	} else {
		offer_verbs(word, manifest, words, count);
	}
}
