/* SPDX-License-Identifier: MIT */
/* hcp activate, deactivate and session. */
#include "cli/cli.h"

#include <stdio.h>

static int show(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_session(c->rt, c->call, &res, &err);
	json_t *top, *pack;
	size_t i;
	int code = 0;

	if (status != HCP_OK)
		return cli_status(status, &err);
	if (!cli_for_people(c)) {
		code = cli_print_json(c, hcp_result_json(res));
	} else {
		top = cli_value(res);
		printf("session %s\n", json_string_value(json_object_get(top, "session")));
		json_array_foreach(json_object_get(top, "packs"), i, pack)
		    printf("  %s\n", json_string_value(pack));
		json_decref(top);
	}
	hcp_result_free(res);
	return code;
}

static int change(struct cli *c, int on)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_status status;

	if (c->argc < 1)
		return cli_usage(cli_verb_of(on ? cmd_activate : cmd_deactivate),
				 "name at least one pack");
	for (int i = 0; i < c->argc; i++) {
		status = hcp_activate(c->rt, c->call, c->argv[i], on, NULL, &err);
		if (status != HCP_OK)
			return cli_status(status, &err);
	}
	return show(c);
}

int cmd_activate(struct cli *c)
{
	return change(c, 1);
}

int cmd_deactivate(struct cli *c)
{
	return change(c, 0);
}

int cmd_session(struct cli *c)
{
	if (c->argc > 0)
		return cli_usage(cli_verb_of(cmd_session), "session takes no words");
	return show(c);
}
