/* SPDX-License-Identifier: MIT */
/* hcp exec: an envelope from words or from stdin, one result envelope on stdout. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_verb *self(void)
{
	return &cli_verbs[0];
}

/* --raw: strings as they are, everything else as JSON; nothing on stdout for a failure. */
static int print_raw(struct cli *c, const hcp_result *res)
{
	hcp_str value = hcp_result_value(res);
	json_t *text;
	int status;

	if (!hcp_result_ok(res)) {
		fprintf(stderr, "hcp: %s\n", hcp_result_error(res).data);
		return 0;
	}
	if (value.len == 0 || value.data[0] != '"')
		return cli_print_json(c, value);
	text = json_loadb(value.data, value.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!text)
		return cli_print_json(c, value);
	status = cli_print_text(json_string_value(text), json_string_length(text));
	json_decref(text);
	return status;
}

static int run_envelope(struct cli *c, const char *text, size_t len, const char *pack,
			const char *verb)
{
	hcp_result *res = NULL;
	hcp_status status = hcp_exec(c->rt, c->call, (hcp_str){text, len}, &res);
	int printed, code;

	if (status != HCP_OK)
		return cli_fail(CLI_RUNTIME, "%s", hcp_status_text(status));
	printed = c->raw ? print_raw(c, res) : cli_print_json(c, hcp_result_json(res));
	if (c->verbose)
		fprintf(stderr, "hcp: run %s\n", hcp_result_run_id(res).data);
	if (!hcp_result_ok(res))
		cli_explain_refusal(c, res, pack, verb);
	code = printed ? printed : hcp_result_exit(res);
	hcp_result_free(res);
	return code;
}

static int exec_stdin(struct cli *c)
{
	AUTO_FREE char *text = NULL;
	struct hcp_err err = {0};
	size_t len = 0;

	if (c->rest < c->argc)
		return cli_usage(self(), "exec - takes its arguments from the envelope");
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
	return run_envelope(c, text, len, NULL, NULL);
}

static const json_t *command_schema(const json_t *manifest, const char *verb)
{
	const json_t *commands = json_object_get(manifest, "commands");

	return json_object_get(json_object_get(commands, verb), "args");
}

static int exec_args(struct cli *c, const json_t *manifest, const char *pack, const char *verb)
{
	json_t *args =
	    cli_args(command_schema(manifest, verb), c->argv + c->rest, c->argc - c->rest);
	json_t *envelope;
	struct buf text = {0};
	int status;

	if (!args)
		return CLI_USAGE;
	envelope = json_pack("{s:s,s:s,s:o}", "pack_id", pack, "verb_key", verb, "args", args);
	if (!envelope)
		return cli_fail(CLI_USAGE, "the arguments are not UTF-8");
	json_add_value(&text, envelope);
	json_decref(envelope);
	if (text.failed)
		status = cli_fail(CLI_RUNTIME, "out of memory");
	else
		status = run_envelope(c, text.data, text.len, pack, verb);
	buf_free(&text);
	return status;
}

/* No word of a verb holds "=": the first that does begins the arguments, "--" or not. */
static void find_args(struct cli *c)
{
	for (int i = 0; i < c->rest; i++)
		if (strchr(c->argv[i], '='))
			c->rest = i;
}

int cmd_exec(struct cli *c)
{
	json_t *manifest;
	char *verb;
	int status;

	find_args(c);
	if (c->rest == 1 && strcmp(c->argv[0], "-") == 0)
		return exec_stdin(c);
	if (c->rest < 2)
		return cli_usage(self(), "exec needs a pack and a verb");
	manifest = cli_describe(c, c->argv[0]);
	verb = cli_verb_key(manifest, c->argv + 1, c->rest - 1);
	if (!verb)
		status = cli_fail(CLI_RUNTIME, "out of memory");
	else
		status = exec_args(c, manifest, c->argv[0], verb);
	free(verb);
	json_decref(manifest);
	return status;
}
