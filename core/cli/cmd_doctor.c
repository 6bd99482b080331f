/* SPDX-License-Identifier: MIT */
/* hcp doctor: what this host gives a run, why not more, and what to do about it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void print_row(const json_t *row, const char *name, const char *about)
{
	printf("  %-10s %-9s %s%s%s\n", name, cli_text(row, "state"), about,
	       *about && *cli_text(row, "why") ? ": " : "", cli_text(row, "why"));
	if (*cli_text(row, "fix"))
		printf("  %-20s %s\n", "", cli_text(row, "fix"));
}

static void print_report(const json_t *top)
{
	const json_t *row;
	size_t i;

	printf("tier %s%s%s\n\nlayers\n", cli_text(top, "tier"),
	       *cli_text(top, "why") ? ": " : "", cli_text(top, "why"));
	json_array_foreach(json_object_get(top, "layers"), i, row)
	    print_row(row, cli_text(row, "layer"), "");
	puts("\nchecks");
	json_array_foreach(json_object_get(top, "checks"), i, row)
	    print_row(row, cli_text(row, "check"), cli_text(row, "about"));
	if (json_array_size(json_object_get(top, "health")))
		puts("\nhealth commands of packs, not run here");
	json_array_foreach(json_object_get(top, "health"), i, row)
	    printf("  %s\n", cli_text(row, "run"));
}

int cmd_doctor(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status;
	json_t *top;
	int code = 0, verdict;

	if (c->argc > 0)
		return cli_usage(cli_verb_of(cmd_doctor), "doctor takes no words");
	status = hcp_doctor(c->rt, &res, &err);
	if (status != HCP_OK)
		return cli_status(status, &err);
	if (cli_for_people(c)) {
		top = cli_value(res);
		print_report(top);
		json_decref(top);
	} else {
		code = cli_print_json(c, hcp_result_json(res));
	}
	verdict = hcp_result_exit(res);
	hcp_result_free(res);
	return code ? code : verdict;
}
