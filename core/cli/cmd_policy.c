/* SPDX-License-Identifier: MIT */
/* hcp policy: what is wrong with it, who may do what, and whether it says what its tests
 * expect. Every verdict is the library's. */
#include "cli/cli.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cli_option cli_policy_options[] = {
    {"--principal", NULL, "ID", "show: what this principal may do; an id, or one as JSON",
     offsetof(struct cli, principal)},
    {NULL, NULL, NULL, NULL, 0},
};

/* ---- lint ---- */

static int lint(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_policy_lint(c->rt, &res, &err);

	return status == HCP_OK ? cli_problems(c, res) : cli_status(status, &err);
}

/* ---- show ---- */

/* The person's consent aside: whether step 5 lets the principal through. */
static json_t *verdict(struct cli *c, const char *pack, const char *verb, int *code)
{
	const hcp_suppose as = {.size = sizeof(as), .principal = c->principal, .activated = 1};
	json_t *envelope = json_pack("{s:s,s:s}", "pack_id", pack, "verb_key", verb);
	char *words = envelope ? json_dumps(envelope, JSON_COMPACT) : NULL;
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = HCP_ENOMEM;
	json_t *j = NULL;

	if (words)
		status = hcp_explain(c->rt, c->call, hcp_str_from(words), &as, &res, &err);
	if (status != HCP_OK) {
		*code = cli_status(status, &err);
	} else if (hcp_result_ok(res) || hcp_result_step(res) > 5) {
		j = json_pack("{s:s,s:s,s:b,s:b}", "pack_id", pack, "verb_key", verb, "allowed",
			      1, "confirm",
			      strcmp(hcp_result_error(res).data, "confirm required") == 0);
	} else {
		j = json_pack("{s:s,s:s,s:b,s:s}", "pack_id", pack, "verb_key", verb, "allowed",
			      0, "error", hcp_result_error(res).data);
	}
	if (!j && *code == 0)
		*code = cli_fail(CLI_RUNTIME, "out of memory");
	hcp_result_free(res);
	json_decref(envelope);
	free(words);
	return j;
}

static int add_pack(struct cli *c, const char *pack, json_t *list)
{
	json_t *manifest = cli_describe(c, pack), *one, *v;
	const char *verb;
	int code = 0;

	json_object_foreach(json_object_get(manifest, "commands"), verb, v)
	{
		one = code == 0 ? verdict(c, pack, verb, &code) : NULL;
		if (one)
			json_array_append_new(list, one);
	}
	json_decref(manifest);
	return code;
}

static void print_verdict(const json_t *v)
{
	const bool allowed = json_is_true(json_object_get(v, "allowed"));
	const bool confirm = json_is_true(json_object_get(v, "confirm"));

	printf("%-3s %s %s%s%s%s\n", allowed ? "yes" : "no", cli_text(v, "pack_id"),
	       cli_text(v, "verb_key"), confirm ? " (asks for consent)" : "",
	       allowed ? "" : ": ", cli_text(v, "error"));
}

static int print_value(struct cli *c, const json_t *value)
{
	char *line = json_dumps(value, JSON_COMPACT);
	int code = line ? cli_print_json(c, hcp_str_from(line))
			: cli_fail(CLI_RUNTIME, "out of memory");

	free(line);
	return code;
}

static int show_principal(struct cli *c)
{
	json_t *packs = cli_describe(c, NULL), *list = json_array(), *p, *top;
	hcp_error err = {.size = sizeof(err)};
	size_t i;
	int code = 0;

	if (!packs) {
		json_decref(list);
		return cli_status(hcp_check(c->rt, &err), &err);
	}
	json_array_foreach(json_object_get(packs, "packs"), i, p) if (code == 0) code =
	    add_pack(c, cli_text(p, "pack_id"), list);
	json_decref(packs);
	top = json_pack("{s:s,s:o}", "principal", c->principal, "commands", list);
	if (code == 0 && !top)
		code = cli_fail(CLI_USAGE, "the principal is not UTF-8");
	if (code == 0 && cli_for_people(c))
		json_array_foreach(list, i, p) print_verdict(p);
	else if (code == 0)
		code = print_value(c, top);
	json_decref(top);
	return code;
}

static int show_command(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	json_t *manifest = cli_describe(c, c->argv[0]);
	char *verb = cli_verb_key(manifest, c->argv + 1, c->argc - 1);
	hcp_result *res = NULL;
	hcp_status status =
	    verb ? hcp_policy_who(c->rt, c->argv[0], verb, &res, &err) : HCP_ENOMEM;
	int code = status == HCP_OK ? cli_print_json(c, hcp_result_json(res))
				    : cli_status(status, &err);

	hcp_result_free(res);
	free(verb);
	json_decref(manifest);
	return code;
}

static int show(struct cli *c)
{
	if (c->principal && c->argc == 0)
		return show_principal(c);
	if (!c->principal && c->argc >= 2)
		return show_command(c);
	return cli_usage(cli_verb_of(cmd_policy),
			 "show takes --principal, or a pack and a verb");
}

int cmd_policy(struct cli *c)
{
	const char *name = c->argc > 0 ? c->argv[0] : "";

	c->argv++;
	c->argc--;
	if (strcmp(name, "show") == 0)
		return show(c);
	if (c->principal)
		return cli_usage(cli_verb_of(cmd_policy), "--principal belongs to show");
	if (strcmp(name, "lint") == 0 && c->argc == 0)
		return lint(c);
	if (strcmp(name, "test") == 0 && c->argc == 1)
		return cli_policy_test(c, c->argv[0]);
	return cli_usage(cli_verb_of(cmd_policy), NULL);
}
