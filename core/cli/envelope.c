/* SPDX-License-Identifier: MIT */
/* An envelope from words or from stdin, for the verbs that take one. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the envelope is for, and by which verb it was asked. */
struct request {
	struct cli *c;
	const struct cli_verb *verb;
	cli_envelope_fn *use;
};

static int from_stdin(const struct request *q)
{
	struct cli *c = q->c;
	AUTO_FREE char *text = NULL;
	struct hcp_err err = {0};
	size_t len = 0;

	if (c->argc > 1)
		return cli_usage(q->verb, "- takes the arguments from the envelope");
	/* one byte over the limit is read: the library says what is wrong with it */
	if (fd_read_all(STDIN_FILENO, LIMIT_ENVELOPE + 1, &text, &len, &err) < 0 &&
	    err.code != HCP_E_LIMIT)
		return cli_fail(CLI_RUNTIME, "stdin: %s", err.text);
	if (err.code == HCP_E_LIMIT) {
		text = calloc(1, LIMIT_ENVELOPE + 2);
		if (!text)
			return cli_fail(CLI_RUNTIME, "out of memory");
		len = LIMIT_ENVELOPE + 1;
	}
	return q->use(c, text, len, NULL, NULL);
}

static const json_t *command_schema(const json_t *manifest, const char *verb)
{
	const json_t *commands = json_object_get(manifest, "commands");

	return json_object_get(json_object_get(commands, verb), "args");
}

int cli_with_args(struct cli *c, const char *pack, const char *verb, json_t *args,
		  cli_envelope_fn *use)
{
	json_t *envelope;
	struct buf text = {0};
	int status;

	envelope = json_pack("{s:s,s:s,s:o}", "pack_id", pack, "verb_key", verb, "args", args);
	if (!envelope)
		return cli_fail(CLI_USAGE, "the arguments are not UTF-8");
	json_add_value(&text, envelope);
	json_decref(envelope);
	if (text.failed)
		status = cli_fail(CLI_RUNTIME, "out of memory");
	else
		status = use(c, text.data, text.len, pack, verb);
	buf_free(&text);
	return status;
}

static int from_words(const struct request *q, const json_t *manifest, const char *pack,
		      const char *verb)
{
	struct cli *c = q->c;
	json_t *args =
	    cli_args(command_schema(manifest, verb), c->argv + c->rest, c->argc - c->rest);

	return args ? cli_with_args(c, pack, verb, args, q->use) : CLI_USAGE;
}

/* No word of a verb holds "=": the first that does begins the arguments, "--" or not. */
static void find_args(struct cli *c)
{
	for (int i = 0; i < c->rest; i++)
		if (strchr(c->argv[i], '='))
			c->rest = i;
}

int cli_with_envelope(struct cli *c, const struct cli_verb *verb, cli_envelope_fn *use)
{
	const struct request q = {c, verb, use};
	json_t *manifest;
	char *key;
	int status;

	find_args(c);
	if (c->rest > 0 && strcmp(c->argv[0], "-") == 0)
		return from_stdin(&q);
	if (c->rest < 2)
		return cli_usage(verb, "a pack and a verb are needed");
	manifest = cli_describe(c, c->argv[0]);
	key = cli_verb_key(manifest, c->argv + 1, c->rest - 1);
	if (!key)
		status = cli_fail(CLI_RUNTIME, "out of memory");
	else
		status = from_words(&q, manifest, c->argv[0], key);
	free(key);
	json_decref(manifest);
	return status;
}
