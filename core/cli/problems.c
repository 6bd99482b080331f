/* SPDX-License-Identifier: MIT */
/* What a lint found: a line each for people, the library's JSON for programs. */
#include "cli/cli.h"

#include <stdio.h>

static void print_problem(const json_t *p)
{
	const char *file = cli_text(p, "file");

	printf("%s", file);
	if (cli_number(p, "line"))
		printf(":%lld", cli_number(p, "line"));
	if (cli_number(p, "column"))
		printf(":%lld", cli_number(p, "column"));
	printf("%s%s: %s\n", *file ? ": " : "", cli_text(p, "level"), cli_text(p, "text"));
}

int cli_problems(const struct cli *c, hcp_result *res)
{
	json_t *top, *problem;
	int code = 0;
	size_t i;

	if (!cli_for_people(c)) {
		code = cli_print_json(c, hcp_result_json(res));
	} else {
		top = cli_value(res);
		json_array_foreach(json_object_get(top, "problems"), i, problem)
		    print_problem(problem);
		json_decref(top);
	}
	if (code == 0 && !hcp_result_ok(res))
		code = 1;
	hcp_result_free(res);
	return code;
}
