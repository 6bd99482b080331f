/* SPDX-License-Identifier: MIT */
/* hcp secret: values come from stdin alone; a word would show in /proc and in the shell's
 * history. No value is ever printed. */
#include "cli/cli.h"

#include "base/limits.h"

#include <string.h>
#include <unistd.h>

static int set(struct cli *c, const char *name)
{
	static char value[LIMIT_SECRET + 1]; /* too much for a stack, and wiped below */
	hcp_error err = {.size = sizeof(err)};
	/* one byte over the limit is read: the library says what is wrong with it */
	ssize_t len = cli_read(STDIN_FILENO, value, sizeof(value));
	hcp_status status = HCP_OK;
	int code = 0;

	if (len < 0)
		code = cli_fail(CLI_RUNTIME, "stdin can't be read");
	else
		status = hcp_secret_set(c->rt, name, (hcp_str){value, (size_t)len}, &err);
	explicit_bzero(value, sizeof(value));
	return status == HCP_OK ? code : cli_status(status, &err);
}

static int list(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_secret_list(c->rt, &res, &err);
	int code = status == HCP_OK ? cli_print_json(c, hcp_result_json(res))
				    : cli_status(status, &err);

	hcp_result_free(res);
	return code;
}

static int rm(struct cli *c, const char *name)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_status status = hcp_secret_rm(c->rt, name, &err);

	return status == HCP_OK ? 0 : cli_status(status, &err);
}

int cmd_secret(struct cli *c)
{
	const char *what = c->argc > 0 ? c->argv[0] : "";

	if (strcmp(what, "set") == 0 && c->argc == 2)
		return set(c, c->argv[1]);
	if (strcmp(what, "rm") == 0 && c->argc == 2)
		return rm(c, c->argv[1]);
	if (strcmp(what, "list") == 0 && c->argc == 1)
		return list(c);
	return cli_usage(cli_verb_of(cmd_secret), NULL);
}
