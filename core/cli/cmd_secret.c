/* SPDX-License-Identifier: MIT */
/* hcp secret: values come from stdin alone; a word would show in /proc and in the shell's
 * history. No value is ever printed. */
#include "cli/cli.h"

#include "base/limits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct cli_verb *self(void)
{
	const struct cli_verb *v = cli_verbs;

	while (v->run != cmd_secret)
		v++;
	return v;
}

/* One byte over the limit is read: the library says what is wrong with it. */
static ssize_t read_stdin(char *out, size_t room)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n != 0 && len < room) {
		n = read(STDIN_FILENO, out + len, room - len);
		if (n < 0 && errno != EINTR)
			return -1;
		len += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)len;
}

static int set(struct cli *c, const char *name)
{
	static char value[LIMIT_SECRET + 1]; /* too much for a stack, and wiped below */
	hcp_error err = {.size = sizeof(err)};
	ssize_t len = read_stdin(value, sizeof(value));
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
	return cli_usage(self(), NULL);
}
