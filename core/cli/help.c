/* SPDX-License-Identifier: MIT */
/* --help of linked commands, from what the manifest says. Its text is the pack author's and is
 * shown with no character that a terminal would obey. */
#include "cli/flags.h"

#include "base/json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void say(struct buf *out, const char *text)
{
	cli_add_plain(out, text, strlen(text), true);
}

static void show(struct buf *out)
{
	if (out->failed)
		cli_fail(0, "out of memory");
	else
		fwrite(out->data ? out->data : "", 1, out->len, stdout);
}

/* ---- a pack ---- */

/* `words` as far as they go begin the verb's. */
static bool begins(const char *verb, char *const *words, int count)
{
	for (int i = 0; i < count; i++) {
		size_t len = strlen(words[i]);

		if (strncmp(verb, words[i], len) != 0 || (verb[len] && verb[len] != ' '))
			return false;
		verb += len + (verb[len] == ' ');
	}
	return true;
}

static bool any_begins(const json_t *manifest, char *const *words, int count)
{
	json_t *commands = json_object_get(manifest, "commands"), *v;
	const char *key;

	json_object_foreach(commands, key, v)
	{
		if (begins(cli_verb_words(manifest, key), words, count))
			return true;
	}
	return false;
}

void help_pack(const char *name, const json_t *manifest, char *const *words, int count)
{
	json_t *commands = json_object_get(manifest, "commands"), *v;
	AUTO_BUF out = {0};
	const char *key, *verb;

	if (!any_begins(manifest, words, count))
		count = 0;
	buf_printf(&out, "usage: %s <verb> [--flags]\n", name);
	say(&out, cli_text(manifest, "summary"));
	buf_puts(&out, "\n\nverbs:\n");
	json_object_foreach(commands, key, v)
	{
		verb = cli_verb_words(manifest, key);
		if (!begins(verb, words, count))
			continue;
		buf_printf(&out, "  %-18s ", verb);
		say(&out, cli_text(v, "summary"));
		buf_putc(&out, '\n');
	}
	buf_printf(
	    &out,
	    "\nFlags and examples of a verb: %s <verb> --help. Options of hcp stand before "
	    "the verb.\n",
	    name);
	show(&out);
}

/* ---- a command ---- */

static void add_flag_name(struct buf *out, const char *prefix, const char *key)
{
	buf_puts(out, prefix);
	for (; *key; key++)
		buf_putc(out, *key == '_' ? '-' : *key);
}

static const char *type_name(const json_t *schema)
{
	static const char *const types[][2] = {{"array", "..."},   {"object", "JSON"},
					       {"string", "TEXT"}, {"number", "NUMBER"},
					       {"integer", "N"},   {"boolean", "true|false"}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (cli_allows(schema, types[i][0]))
			return types[i][1];
	return "VALUE";
}

/* A value as a word of the command line. */
static void add_word(struct buf *out, const json_t *value)
{
	AUTO_BUF text = {0};
	bool bare;

	if (json_is_string(value))
		buf_add(&text, json_string_value(value), json_string_length(value));
	else
		json_add_value(&text, value);
	out->failed |= text.failed;
	bare = text.len > 0;
	for (size_t i = 0; i < text.len; i++)
		bare &= isalnum((unsigned char)text.data[i]) ||
			strchr("_-.,:/@%+=", text.data[i]) != NULL;
	if (bare) {
		say(out, text.data);
		return;
	}
	buf_putc(out, '\'');
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, text.data[i]);
	buf_putc(out, '\'');
}

static void add_values(struct buf *out, const json_t *schema)
{
	const json_t *listed = json_object_get(schema, "enum"), *v;
	size_t i;

	if (!listed) {
		buf_puts(out, type_name(schema));
		return;
	}
	json_array_foreach(listed, i, v)
	{
		if (i)
			buf_putc(out, '|');
		add_word(out, v);
	}
}

static bool is_required(const json_t *args, const char *key)
{
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(args, "required"), i, v)
	{
		if (strcmp(json_string_value(v), key) == 0)
			return true;
	}
	return false;
}

static void add_note(struct buf *out, const json_t *args, const char *key, const json_t *schema)
{
	const json_t *preset = json_object_get(schema, "default");
	const char *text =
	    cli_text(json_object_get(json_object_get(args, "properties"), key), "description");

	if (!*text)
		text = cli_text(schema, "description");
	if (*text)
		buf_putc(out, ' ');
	say(out, text);
	if (is_required(args, key))
		buf_puts(out, " (required)");
	if (preset) {
		buf_puts(out, " (default ");
		add_word(out, preset);
		buf_putc(out, ')');
	}
}

static void add_flag(struct buf *out, const json_t *args, const char *key)
{
	const json_t *schema = cli_schema_of(args, key), *items;
	AUTO_BUF flag = {0};
	struct flag own;

	add_flag_name(&flag, "--", key);
	if (flag_find(args, flag.data ? flag.data : "", &own) && own.is_switch) {
		flag.len = 0;
		add_flag_name(&flag, "--[no-]", key);
	} else {
		items = cli_allows(schema, "array") ? cli_schema_items(args, schema) : NULL;
		buf_putc(&flag, ' ');
		add_values(&flag, items ? items : schema);
		if (items)
			buf_puts(&flag, " ...");
	}
	out->failed |= flag.failed;
	buf_puts(out, "  ");
	cli_add_plain(out, flag.data ? flag.data : "", flag.len, false);
	for (size_t i = flag.len; i < 24; i++)
		buf_putc(out, ' ');
	add_note(out, args, key, schema);
	buf_putc(out, '\n');
}

static void add_flags(struct buf *out, const json_t *command)
{
	const json_t *args = json_object_get(command, "args"), *confirm;
	json_t *v;
	const char *key;

	buf_puts(out, "\nflags:\n");
	json_object_foreach(json_object_get(args, "properties"), key, v)
	    add_flag(out, args, key);
	confirm = json_object_get(command, "confirm");
	if (json_is_true(confirm))
		buf_puts(out,
			 "  --confirm                consent, which this command asks for\n");
	else if (confirm)
		buf_puts(out,
			 "  (the operator wants a person to confirm this: no flag does)\n");
	buf_puts(out, "  --args JSON              arguments as one JSON object\n"
		      "  --json                   one line of JSON, on a terminal, too\n"
		      "  --raw                    print the result alone\n");
}

/* ---- examples ---- */

/* What a flag can't say goes by --args. */
static bool is_plain(const json_t *v)
{
	const json_t *item;
	size_t i;

	if (json_is_object(v) || json_is_null(v))
		return false;
	json_array_foreach(v, i, item)
	{
		if (json_is_object(item) || json_is_array(item) || json_is_null(item))
			return false;
	}
	return !json_is_array(v) || json_array_size(v) > 0;
}

static void add_one(struct buf *out, const char *key, const json_t *value)
{
	bool leading = json_is_string(value) && str_starts(json_string_value(value), "--");

	buf_putc(out, ' ');
	if (json_is_false(value)) {
		add_flag_name(out, "--no-", key);
		return;
	}
	add_flag_name(out, "--", key);
	if (json_is_true(value))
		return;
	buf_putc(out, leading ? '=' : ' ');
	add_word(out, value);
}

static void add_example(struct buf *out, const char *called, json_t *example)
{
	json_t *value, *rest = json_object(), *item;
	const char *key;
	size_t i;

	buf_printf(out, "  %s", called);
	json_object_foreach(example, key, value)
	{
		if (!is_plain(value))
			json_object_set(rest, key, value);
		else if (json_is_array(value))
			json_array_foreach(value, i, item) add_one(out, key, item);
		else
			add_one(out, key, value);
	}
	if (json_object_size(rest) > 0) {
		buf_puts(out, " --args ");
		add_word(out, rest);
	}
	json_decref(rest);
	buf_putc(out, '\n');
}

static void add_examples(struct buf *out, const char *called, const json_t *command)
{
	json_t *all = json_object_get(command, "examples"), *example;
	AUTO_BUF lines = {0};
	size_t i;

	if (json_array_size(all) == 0)
		return;
	buf_puts(out, "\nexamples:\n");
	json_array_foreach(all, i, example) add_example(&lines, called, example);
	out->failed |= lines.failed;
	cli_add_plain(out, lines.data ? lines.data : "", lines.len, true);
}

void help_command(const char *name, const json_t *manifest, const char *key)
{
	const json_t *command = json_object_get(json_object_get(manifest, "commands"), key);
	const char *more = cli_text(command, "description");
	AUTO_BUF out = {0}, called = {0};

	buf_printf(&called, "%s %s", name, cli_verb_words(manifest, key));
	buf_printf(&out, "usage: %s [--flags]\n", called.data ? called.data : name);
	say(&out, cli_text(command, "summary"));
	buf_putc(&out, '\n');
	if (*more) {
		buf_putc(&out, '\n');
		say(&out, more);
		buf_putc(&out, '\n');
	}
	add_flags(&out, command);
	add_examples(&out, called.data ? called.data : name, command);
	show(&out);
}
