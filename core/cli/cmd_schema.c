/* SPDX-License-Identifier: MIT */
/* hcp schema: what may stand in a YAML file, as JSON Schema, for editors and for who writes
 * such files without one. */
#include "cli/cli.h"

int cmd_schema(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = HCP_EINVAL;

	if (c->argc == 1)
		status = hcp_schema(c->argv[0], &res, &err);
	if (status == HCP_EINVAL)
		return cli_usage(cli_verb_of(cmd_schema), NULL);
	return cli_print_result(c, status, res, &err);
}
