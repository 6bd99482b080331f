/* SPDX-License-Identifier: MIT */
/* What the CLI knows of packs: only what the library's describe tells. */
#include "cli/cli.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *cli_describe(struct cli *c, const char *pack)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	json_t *value = NULL;
	hcp_str text;

	if (hcp_describe(c->rt, c->call, pack, &res, &err) == HCP_OK) {
		text = hcp_result_json(res);
		value = json_read(text.data, text.len);
	}
	hcp_result_free(res);
	return value;
}

static const char *tail_of(const char *key)
{
	const char *dot = strchr(key, '.');

	return dot ? dot + 1 : key;
}

/* One key whose tail is these words, or NULL where there is none or more than one. */
static const char *by_tail(const json_t *commands, const char *joined)
{
	const char *key, *found = NULL;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)commands, key, v)
	{
		if (strcmp(tail_of(key), joined) != 0)
			continue;
		if (found)
			return NULL;
		found = key;
	}
	return found;
}

const char *cli_verb_words(const json_t *manifest, const char *key)
{
	const json_t *commands = json_object_get(manifest, "commands");
	const char *tail = tail_of(key);

	if (json_object_get(commands, tail) || by_tail(commands, tail) != key)
		return key;
	return tail;
}

char *cli_verb_key(const json_t *manifest, char *const *words, int count)
{
	const json_t *commands = json_object_get(manifest, "commands");
	AUTO_BUF joined = {0};
	const char *key;

	for (int i = 0; i < count; i++) {
		if (i)
			buf_putc(&joined, ' ');
		buf_puts(&joined, words[i]);
	}
	if (joined.failed || !joined.data)
		return NULL;
	if (json_object_get(commands, joined.data))
		return strdup(joined.data);
	key = by_tail(commands, joined.data);
	return strdup(key ? key : joined.data);
}

void cli_consider(struct cli_guess *g, const char *candidate)
{
	unsigned d = str_distance(g->word, candidate);

	/* a word that shares less than half with the candidate doesn't mean it */
	if (d < g->least && d * 2 <= strlen(candidate)) {
		g->least = d;
		g->best = candidate;
	}
}

static void guess_pack(struct cli *c, const char *pack)
{
	json_t *all = cli_describe(c, NULL), *p;
	struct cli_guess g = {.word = pack, .least = 3};
	const char *error = NULL;
	size_t i;

	json_array_foreach(json_object_get(all, "packs"), i, p)
	{
		const char *id = json_string_value(json_object_get(p, "pack_id"));

		if (id && strcmp(id, pack) != 0)
			cli_consider(&g, id);
		else if (id)
			error = json_string_value(json_object_get(p, "error"));
	}
	if (g.best && !error)
		cli_hint("did you mean: %s", g.best);
	json_decref(all);
}

static void guess_verb(struct cli *c, const char *pack, const char *verb)
{
	json_t *manifest = cli_describe(c, pack), *v;
	struct cli_guess g = {.word = verb, .least = 4};
	const char *key;

	json_object_foreach(json_object_get(manifest, "commands"), key, v)
	    cli_consider(&g, key);
	if (g.best && strcmp(g.best, verb) != 0)
		cli_hint("did you mean: %s", g.best);
	json_decref(manifest);
}

/* What a nested command asks for isn't known here, so nothing is promised of it. */
static void explain_consent(struct cli *c, const hcp_result *res, const char *pack,
			    const char *verb)
{
	json_t *manifest = cli_describe(c, pack);
	const json_t *command = json_object_get(json_object_get(manifest, "commands"), verb);
	const json_t *consent = json_object_get(command, "confirm");

	if (hcp_result_step(res) != 6)
		cli_hint("a command that this one calls asks for consent");
	else if (json_is_true(consent))
		cli_hint("this command asks for consent: add %s",
			 c->linked ? "--confirm" : "confirm=true");
	else if (consent)
		cli_hint("the operator wants a person to confirm this: no argument does");
	json_decref(manifest);
}

/* With the options that this call had: without them it would be another session's business. */
static void hint_activate(const struct cli *c, const char *pack)
{
	const char *const options[][2] = {
	    {"--root", c->root}, {"--state", c->state}, {"--session", c->session}};
	AUTO_BUF given = {0};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i][1])
			buf_printf(&given, "%s %s ", options[i][0], options[i][1]);
	if (!given.failed)
		cli_hint("run: hcp %sactivate %s", given.data ? given.data : "", pack);
}

void cli_explain_refusal(struct cli *c, const hcp_result *res, const char *pack,
			 const char *verb)
{
	hcp_str error = hcp_result_error(res);

	if (!pack)
		return;
	if (hcp_result_step(res) == 1 && str_starts(error.data, "unknown pack"))
		guess_pack(c, pack);
	else if (hcp_result_step(res) == 2 && !strchr(error.data, ':')) /* else it says why */
		hint_activate(c, pack);
	else if (hcp_result_step(res) == 3 && verb)
		guess_verb(c, pack, verb);
	else if (verb && strcmp(error.data, "confirm required") == 0)
		explain_consent(c, res, pack, verb);
	else if (str_starts(error.data, "sandbox: ") && strstr(error.data, " unavailable: "))
		cli_hint("what this host gives, and how to get more: hcp doctor");
}
