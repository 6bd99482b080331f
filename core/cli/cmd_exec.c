/* SPDX-License-Identifier: MIT */
/* hcp exec: one envelope in, one result envelope on stdout. */
#include "cli/cli.h"

#include <stdio.h>

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
	text = json_read(value.data, value.len);
	if (!text)
		return cli_print_json(c, value);
	status = cli_print_text(json_string_value(text), json_string_length(text));
	json_decref(text);
	return status;
}

static int tell(struct cli *c, const hcp_result *res, const char *pack, const char *verb)
{
	int printed = c->raw ? print_raw(c, res) : cli_print_json(c, hcp_result_json(res));

	if (c->verbose)
		fprintf(stderr, "hcp: run %s\n", hcp_result_run_id(res).data);
	if (!hcp_result_ok(res))
		cli_explain_refusal(c, res, pack, verb);
	return printed ? printed : hcp_result_exit(res);
}

static int run_envelope(struct cli *c, const char *text, size_t len, const char *pack,
			const char *verb)
{
	struct cli_files *files = NULL;
	hcp_result *res = NULL;
	hcp_status status;
	int code = files_begin(c, &files), late;

	if (code == 0 && c->progress)
		code = progress_begin(c);
	if (code) {
		files_end(files, false);
		return code;
	}
	status = hcp_exec(c->rt, c->call, (hcp_str){text, len}, &res);
	if (c->progress)
		progress_end();
	late = files_end(files, status == HCP_OK && hcp_result_ok(res));
	code = status == HCP_OK ? tell(c, res, pack, verb)
				: cli_fail(CLI_RUNTIME, "%s", hcp_status_text(status));
	hcp_result_free(res);
	return late ? late : code;
}

static void tell_denial(void *user, hcp_str line)
{
	(void)user;
	fprintf(stderr, "denied: %s\n", line.data);
}

int cli_exec(struct cli *c, const char *text, size_t len, const char *pack, const char *verb)
{
	if (c->trace_denials && hcp_call_trace_denials(c->call, tell_denial, NULL) != HCP_OK)
		return cli_fail(CLI_RUNTIME, "the run can't be traced");
	return run_envelope(c, text, len, pack, verb);
}

int cmd_exec(struct cli *c)
{
	return cli_with_envelope(c, cli_verb_of(cmd_exec), cli_exec);
}
