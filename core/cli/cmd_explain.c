/* SPDX-License-Identifier: MIT */
/* hcp explain: the library's explanation, as JSON or laid out for people. */
#include "cli/cli.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct cli_option cli_explain_options[] = {
    {"--principal", NULL, "ID", "for somebody else: an id, or a principal as JSON",
     offsetof(struct cli, principal)},
    {"--run", NULL, "ID", "why that run ended as it did, by the audit log",
     offsetof(struct cli, run)},
    {NULL, NULL, NULL, NULL, 0},
};

static void print_reason(const json_t *reason)
{
	const json_t *line = json_object_get(reason, "line");
	const char *file = cli_text(reason, "file");

	printf("               ");
	if (*file && line)
		printf("%s:%d: ", file, (int)json_integer_value(line));
	else if (*file)
		printf("%s: ", file);
	puts(cli_text(reason, "text"));
}

static void print_step(const json_t *step)
{
	const char *error = cli_text(step, "error");
	json_t *reason;
	size_t i;

	printf("%d %-12s %s%s%s\n", (int)json_integer_value(json_object_get(step, "step")),
	       cli_text(step, "name"), cli_text(step, "verdict"), *error ? ": " : "", error);
	json_array_foreach(json_object_get(step, "because"), i, reason) print_reason(reason);
}

static void print_list(const char *name, const json_t *list)
{
	json_t *item;
	size_t i;

	if (!list)
		return;
	printf("%-14s", name);
	json_array_foreach((json_t *)(uintptr_t)list, i, item)
	    printf(" %s", json_string_value(item));
	putchar('\n');
}

static void print_place(const json_t *place)
{
	const char *from = cli_text(place, "from"), *at = cli_text(place, "at");

	printf("               %-6s %s %s", cli_text(place, "kind"),
	       json_is_true(json_object_get(place, "write")) ? "rw" : "ro", at);
	if (*from && strcmp(from, at) != 0)
		printf(" from %s", from);
	putchar('\n');
}

static void print_sandbox(const json_t *box)
{
	json_t *place;
	size_t i;

	if (!box)
		return;
	printf("sandbox        tier %s, %s in %s\n", cli_text(box, "tier"),
	       cli_text(box, "bin"), cli_text(box, "cwd"));
	json_array_foreach(json_object_get(box, "places"), i, place) print_place(place);
}

static int print_for_people(hcp_str json)
{
	json_t *top = json_read(json.data, json.len), *step;
	size_t i;

	if (!top)
		return cli_fail(CLI_RUNTIME, "out of memory");
	json_array_foreach(json_object_get(top, "steps"), i, step) print_step(step);
	print_list("argv", json_object_get(top, "argv"));
	print_list("environment", json_object_get(top, "env"));
	print_sandbox(json_object_get(top, "sandbox"));
	json_decref(top);
	return 0;
}

static int explain(struct cli *c, const char *envelope, size_t len, const char *pack,
		   const char *verb)
{
	const hcp_suppose as = {.size = sizeof(as), .principal = c->principal};
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status =
	    hcp_explain(c->rt, c->call, (hcp_str){envelope, len}, &as, &res, &err);
	int code;

	if (status != HCP_OK)
		return cli_status(status, &err);
	code = cli_for_people(c) ? print_for_people(hcp_result_json(res))
				 : cli_print_json(c, hcp_result_json(res));
	if (!hcp_result_ok(res))
		cli_explain_refusal(c, res, pack, verb);
	if (code == 0)
		code = hcp_result_exit(res);
	hcp_result_free(res);
	return code;
}

int cmd_explain(struct cli *c)
{
	int status;

	if (c->run && (c->argc > 0 || c->principal))
		return cli_usage(cli_verb_of(cmd_explain),
				 "--run ID stands alone: the log has the rest");
	/* only a log that is open can be read */
	status = cli_open(c, c->run ? CLI_RUNS : CLI_LOOKS);
	if (status)
		return status;
	if (!c->run)
		return cli_with_envelope(c, cli_verb_of(cmd_explain), explain);
	return cli_explain_run(c, c->run);
}
