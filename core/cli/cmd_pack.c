/* SPDX-License-Identifier: MIT */
/* hcp pack: for who writes one. What is judged is judged by the library's own loader. */
#include "cli/cli.h"

#include "base/str.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct cli_option cli_pack_options[] = {
    {"--composite", NULL, NULL, "new: a command in Lua instead of a program's",
     offsetof(struct cli, composite)},
    {"--accept", NULL, NULL, "add: take a new version that asks for more",
     offsetof(struct cli, accept)},
    {"--coverage", NULL, NULL, "test: how often each command ran; 1 where one never did",
     offsetof(struct cli, coverage)},
    {NULL, NULL, NULL, NULL, 0},
};

static int lint(struct cli *c, const char *pack)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_pack_lint(c->rt, pack, &res, &err);

	return status == HCP_OK ? cli_problems(c, res) : cli_status(status, &err);
}

/* ---- show ---- */

/* A pack's text, with nothing in it that a terminal would obey. */
static void print_plain(const char *text)
{
	AUTO_BUF plain = {0};

	cli_add_plain(&plain, text, strlen(text), false);
	fputs(plain.data ? plain.data : "", stdout);
}

static void print_type(const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type"), *one;
	const json_t *words = json_object_get(schema, "enum");
	const char *gap = "  ";
	size_t i;

	if (json_is_string(type))
		printf("%s%s", gap, json_string_value(type));
	json_array_foreach(type, i, one) printf("%s%s", i ? "|" : gap, json_string_value(one));
	json_array_foreach(words, i, one) if (json_is_string(one))
	{
		fputs(i ? "|" : gap, stdout);
		print_plain(json_string_value(one));
	}
}

static int is_required(const json_t *args, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(args, "required"), i,
			   one) if (strcmp(json_string_value(one), name) == 0) return 1;
	return 0;
}

static void print_args(const json_t *args)
{
	const char *name;
	json_t *schema;

	json_object_foreach(json_object_get(args, "properties"), name, schema)
	{
		fputs("      ", stdout);
		print_plain(name);
		fputs(is_required(args, name) ? "" : "?", stdout);
		print_type(schema);
		fputs(json_object_get(schema, "description") ? "  " : "", stdout);
		print_plain(cli_text(schema, "description"));
		putchar('\n');
	}
}

static void print_card(const json_t *pack)
{
	const char *verb;
	json_t *command;

	printf("%s %s\n%s\n", cli_text(pack, "pack_id"), cli_text(pack, "version"),
	       cli_text(pack, "summary"));
	json_object_foreach(json_object_get(pack, "commands"), verb, command)
	{
		const json_t *confirm = json_object_get(command, "confirm");

		printf("\n  %s  (%s%s)\n      %s\n", verb, cli_text(command, "effect"),
		       json_is_true(confirm) || json_is_string(confirm) ? ", asks for consent"
									: "",
		       cli_text(command, "summary"));
		print_args(json_object_get(command, "args"));
	}
}

static int describe(struct cli *c, const char *pack, void (*print)(const json_t *pack))
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_describe(c->rt, c->call, pack, &res, &err);
	json_t *top;
	int code = 0;

	if (status != HCP_OK)
		return cli_status(status, &err);
	if (!print) {
		code = cli_print_json(c, hcp_result_json(res));
	} else {
		top = cli_value(res);
		print(top);
		json_decref(top);
	}
	hcp_result_free(res);
	return code;
}

static int show(struct cli *c, const char *pack)
{
	return describe(c, pack, cli_for_people(c) ? print_card : NULL);
}

static int docs(struct cli *c, const char *pack)
{
	return describe(c, pack, cli_pack_docs);
}

static int keygen(struct cli *c, const char *none)
{
	(void)none;
	return cli_pack_keygen(c);
}

static int list(struct cli *c, const char *none)
{
	return cli_pack_verify(c, none, false);
}

static int verify(struct cli *c, const char *pack)
{
	return cli_pack_verify(c, pack, true);
}

/* Each takes `least` to `most` words. */
static const struct {
	const char *name;
	int (*run)(struct cli *c, const char *word);
	int least, most;
} verbs[] = {
    {"new", cli_pack_new, 1, 1},
    {"lint", lint, 1, 1},
    {"test", cli_pack_test, 1, 1},
    {"show", show, 1, 1},
    {"docs", docs, 1, 1},
    {"add", cli_pack_add, 1, 1},
    {"remove", cli_pack_remove, 1, 1},
    {"list", list, 0, 0},
    {"verify", verify, 0, 1},
    {"sign", cli_pack_sign, 1, 1},
    {"keygen", keygen, 0, 0},
};

int cmd_pack(struct cli *c)
{
	int words = c->argc - 1;

	for (size_t i = 0; words >= 0 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(c->argv[0], verbs[i].name) == 0 && words >= verbs[i].least &&
		    words <= verbs[i].most)
			return verbs[i].run(c, words ? c->argv[1] : NULL);
	return cli_usage(cli_verb_of(cmd_pack), NULL);
}
