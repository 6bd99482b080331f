/* SPDX-License-Identifier: MIT */
/* hcp workspace: into a pack's kept workspace and out of it, by stdin and stdout. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_verb *self(void)
{
	const struct cli_verb *v = cli_verbs;

	while (v->run != cmd_workspace)
		v++;
	return v;
}

static const struct {
	const char *name;
	hcp_workspace_op op;
	int fd;
	bool needs_path;
} ops[] = {
    {"ls", HCP_WORKSPACE_LS, -1, false},
    {"get", HCP_WORKSPACE_GET, STDOUT_FILENO, true},
    {"put", HCP_WORKSPACE_PUT, STDIN_FILENO, true},
    {"rm", HCP_WORKSPACE_RM, -1, true},
};

int cmd_workspace(struct cli *c)
{
	const char *name = c->argc > 0 ? c->argv[0] : "", *path;
	hcp_result *res = NULL;
	hcp_status status;
	size_t i = 0;
	int code;

	while (i < sizeof(ops) / sizeof(ops[0]) && strcmp(ops[i].name, name) != 0)
		i++;
	if (i == sizeof(ops) / sizeof(ops[0]) || c->argc < 2 || c->argc > 3 ||
	    (ops[i].needs_path && c->argc < 3))
		return cli_usage(self(), NULL);
	path = c->argc > 2 ? c->argv[2] : NULL;
	status = hcp_workspace(c->rt, c->call, ops[i].op, c->argv[1], path, ops[i].fd, &res);
	if (status != HCP_OK)
		return cli_fail(CLI_RUNTIME, "%s", hcp_status_text(status));
	code = hcp_result_exit(res);
	/* what get fetched is all that belongs on stdout; of a failure nothing may be taken for
	 * a file */
	if (ops[i].op == HCP_WORKSPACE_GET) {
		if (!hcp_result_ok(res))
			cli_fail(0, "%s", hcp_result_error(res).data);
	} else if (cli_print_json(c, hcp_result_json(res)) != 0) {
		code = CLI_RUNTIME;
	}
	if (!hcp_result_ok(res))
		cli_explain_refusal(c, res, c->argv[1], NULL);
	hcp_result_free(res);
	return code;
}
