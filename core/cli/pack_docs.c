/* SPDX-License-Identifier: MIT */
/* hcp pack docs: a pack's manifest as Markdown, for its README or a site. Text of the pack is
 * shown as text: nothing in it is obeyed by a terminal or ends a cell of a table. */
#include "cli/cli.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As Markdown's own text; in a cell, "|" and ends of lines would end it. */
static void put(const char *text, bool cell)
{
	AUTO_BUF plain = {0};

	cli_add_plain(&plain, text, strlen(text), !cell);
	for (size_t i = 0; i < plain.len; i++) {
		if (strchr(cell ? "\\`*_<>[]|" : "\\`*_<>[]", plain.data[i]))
			putchar('\\');
		putchar(plain.data[i]);
	}
}

static bool has(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) if (str_eq(json_string_value(one), name)) return true;
	return false;
}

/* "string", "integer or null", "one of "a", "b"". */
static void put_type(const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type"),
		     *words = json_object_get(schema, "enum"), *one;
	size_t i;

	if (json_is_string(type))
		put(json_string_value(type), true);
	json_array_foreach(type, i, one)
	{
		fputs(i ? " or " : "", stdout);
		put(json_string_value(one), true);
	}
	json_array_foreach(words, i, one)
	{
		char *text = json_dumps(one, JSON_ENCODE_ANY);

		fputs(i ? ", " : type ? ": " : "", stdout);
		put(text ? text : "", true);
		free(text);
	}
}

static void put_args(const json_t *args)
{
	json_t *properties = json_object_get(args, "properties"), *schema;
	const json_t *required = json_object_get(args, "required");
	const char *name;

	if (!json_object_size(properties))
		return;
	puts("\n| argument | | type | |\n|---|---|---|---|");
	json_object_foreach(properties, name, schema)
	{
		fputs("| ", stdout);
		put(name, true);
		printf(" | %s | ", has(required, name) ? "required" : "");
		put_type(schema);
		fputs(" | ", stdout);
		put(cli_text(schema, "description"), true);
		puts(" |");
	}
}

static void put_examples(const json_t *examples)
{
	const json_t *one;
	size_t i;

	json_array_foreach(examples, i, one)
	{
		AUTO_BUF plain = {0};
		char *text = json_dumps(one, 0);

		cli_add_plain(&plain, text ? text : "", text ? strlen(text) : 0, false);
		printf("%s    %s\n", i ? "" : "\nFor example:\n\n",
		       plain.data ? plain.data : "");
		free(text);
	}
}

static void put_command(const char *verb, const json_t *command)
{
	const json_t *confirm = json_object_get(command, "confirm");
	const char *timeout = cli_text(command, "timeout");

	fputs("\n## ", stdout);
	put(verb, true);
	fputs("\n\n", stdout);
	put(cli_text(command, "summary"), true);
	printf(" (%s%s%s%s).\n", cli_text(command, "effect"),
	       json_is_true(confirm)     ? ", asks for consent"
	       : json_is_string(confirm) ? ", asks a person for consent"
					 : "",
	       *timeout ? ", at most " : "", timeout);
	if (*cli_text(command, "description")) {
		putchar('\n');
		put(cli_text(command, "description"), false);
		putchar('\n');
	}
	put_args(json_object_get(command, "args"));
	put_examples(json_object_get(command, "examples"));
}

void cli_pack_docs(const json_t *pack)
{
	const char *verb;
	json_t *command;

	fputs("# ", stdout);
	put(cli_text(pack, "pack_id"), true);
	fputs("\n\n", stdout);
	put(cli_text(pack, "summary"), true);
	printf(". Version %s.\n", cli_text(pack, "version"));
	json_object_foreach(json_object_get(pack, "commands"), verb, command)
	    put_command(verb, command);
}
