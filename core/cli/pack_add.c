/* SPDX-License-Identifier: MIT */
/* hcp pack add, remove, list, verify, sign and keygen. What a pack asks for is shown before
 * anything of it counts; yes is an option, since nothing here ever prompts. */
#include "cli/cli.h"

#include <stdio.h>

static void print_needs(const json_t *top, const char *before)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(top, "needs"), i, one)
	{
		AUTO_BUF plain = {0};

		cli_add_plain(&plain, json_string_value(one), json_string_length(one), false);
		fprintf(stderr, "%s%s\n", before, plain.data ? plain.data : "");
	}
}

int cli_pack_add(struct cli *c, const char *path)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_pack_add(c->rt, path, c->accept, &res, &err);
	bool added = hcp_result_ok(res);
	json_t *top;
	int code;

	if (status != HCP_OK)
		return cli_status(status, &err);
	top = cli_value(res);
	if (json_array_size(json_object_get(top, "needs"))) {
		fprintf(stderr, "%s %s asks for%s:\n", cli_text(top, "pack_id"),
			cli_text(top, "version"),
			json_object_get(top, "was") ? ", beyond what it had" : "");
		print_needs(top, "  ");
	}
	if (!added)
		cli_hint("nothing was changed; to take it: hcp pack add --accept");
	code = cli_print_json(c, hcp_result_json(res));
	json_decref(top);
	hcp_result_free(res);
	return code == 0 && !added ? 1 : code;
}

int cli_pack_remove(struct cli *c, const char *pack)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_status status = hcp_pack_remove(c->rt, pack, &err);

	return status == HCP_OK ? 0 : cli_status(status, &err);
}

static void print_added(const json_t *p)
{
	const char *error = cli_text(p, "error"), *name = cli_text(p, "name"),
		   *key = cli_text(p, "signer");

	printf("%-20s %-10s %s%s%s\n", cli_text(p, "pack_id"), cli_text(p, "version"),
	       !*key   ? "not signed"
	       : *name ? name
		       : key,
	       *error ? "  " : "", error);
}

int cli_pack_verify(struct cli *c, const char *pack, bool judge)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_pack_verify(c->rt, pack, &res, &err);
	const json_t *p;
	json_t *top;
	size_t i;
	int code = 0;

	if (status != HCP_OK)
		return cli_status(status, &err);
	if (!cli_for_people(c)) {
		code = cli_print_json(c, hcp_result_json(res));
	} else {
		top = cli_value(res);
		json_array_foreach(json_object_get(top, "packs"), i, p) print_added(p);
		json_decref(top);
	}
	if (code == 0 && judge && !hcp_result_ok(res))
		code = 1;
	hcp_result_free(res);
	return code;
}

int cli_pack_sign(struct cli *c, const char *dir)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_pack_sign(c->rt, dir, &res, &err);

	return cli_print_result(c, status, res, &err);
}

int cli_pack_keygen(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_pack_key(c->rt, 1, &res, &err);

	return cli_print_result(c, status, res, &err);
}
