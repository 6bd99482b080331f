/* SPDX-License-Identifier: MIT */
/* hcp packs: what is installed, what is active, what is broken and why. */
#include "cli/cli.h"

#include <stdio.h>

static const char *text(const json_t *pack, const char *key)
{
	const char *s = json_string_value(json_object_get(pack, key));

	return s ? s : "";
}

int cmd_packs(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status;
	json_t *top, *p;
	size_t i;
	int code = 0;

	if (c->argc > 0)
		return cli_usage(cli_verb_of(cmd_packs), "packs takes no words");
	status = hcp_describe(c->rt, c->call, NULL, &res, &err);
	if (status != HCP_OK)
		return cli_status(status, &err);
	if (!cli_for_people(c)) {
		code = cli_print_json(c, hcp_result_json(res));
	} else {
		top = cli_value(res);
		json_array_foreach(json_object_get(top, "packs"), i, p)
		    printf("%c %-20s %-10s %-4s %s%s\n",
			   json_is_true(json_object_get(p, "active")) ? '*' : ' ',
			   text(p, "pack_id"), text(p, "version"),
			   json_is_true(json_object_get(p, "development")) ? "dev" : "",
			   text(p, "summary"), text(p, "error"));
		json_decref(top);
	}
	hcp_result_free(res);
	return code;
}
