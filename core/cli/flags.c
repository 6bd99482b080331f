/* SPDX-License-Identifier: MIT */
/* Flags of a linked command into its args object. A flag is a property of the command's schema,
 * then one of the keys that every command has, then an option of hcp; what is none of these is
 * an argument only where the schema takes any. Never a prompt, never a guess at a value. */
#include "cli/flags.h"

#include <string.h>

/* "_" and "-" are alike. */
static bool alike(const char *key, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!key[i] ||
		    (key[i] != name[i] && !(strchr("_-", key[i]) && strchr("_-", name[i]))))
			return false;
	return !key[len];
}

static const char *property(const json_t *schema, const char *name, size_t len)
{
	json_t *all = json_object_get(schema, "properties"), *v;
	const char *key, *found = NULL;
	int hits = 0;

	json_object_foreach(all, key, v)
	{
		if (strlen(key) == len && strncmp(key, name, len) == 0)
			return key;
		if (alike(key, name, len)) {
			found = key;
			hits++;
		}
	}
	return hits == 1 ? found : NULL;
}

/* What every command takes, whatever its schema says. */
static const char *reserved(const char *name, size_t len)
{
	static const char *const keys[] = {"confirm", "apply", "mode"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i]) == len && strncmp(keys[i], name, len) == 0)
			return keys[i];
	return NULL;
}

static bool is_switch(const json_t *schema, const char *key)
{
	const json_t *own = cli_schema_of(schema, key);
	const json_t *type = json_object_get(own, "type");

	if (!own)
		return strcmp(key, "confirm") == 0 || strcmp(key, "apply") == 0;
	return json_is_string(type) && strcmp(json_string_value(type), "boolean") == 0;
}

bool flag_find(const json_t *schema, const char *word, struct flag *out)
{
	size_t len;

	*out = (struct flag){0};
	if (!str_starts(word, "--") || !word[2])
		return false;
	word += 2;
	len = strcspn(word, "=");
	out->equals = word[len] ? word + len + 1 : NULL;
	out->key = property(schema, word, len);
	if (!out->key)
		out->key = reserved(word, len);
	if (!out->key && len > 3 && strncmp(word, "no-", 3) == 0) {
		out->key = property(schema, word + 3, len - 3);
		out->no = out->key != NULL;
		if (out->no && !is_switch(schema, out->key))
			*out = (struct flag){0};
	}
	out->is_switch = out->key && is_switch(schema, out->key);
	return out->key != NULL;
}

/* Whether what the schema doesn't name is an argument, too. */
static bool is_open(const json_t *schema)
{
	const json_t *more = json_object_get(schema, "additionalProperties");

	return !schema || json_is_true(more) || json_is_object(more);
}

static void guess(const struct flags *f, const char *word)
{
	char name[64];
	struct cli_guess g = {.word = name, .least = 3};
	json_t *all = json_object_get(f->args.schema, "properties"), *v;
	size_t len = strcspn(word + strspn(word, "-"), "=");
	const char *key;

	if (len >= sizeof(name))
		return;
	memcpy(name, word + strspn(word, "-"), len);
	name[len] = '\0';
	json_object_foreach(all, key, v) cli_consider(&g, key);
	cli_consider(&g, "confirm");
	for (const struct cli_option *o = cli_options; o->name; o++)
		cli_consider(&g, o->name + 2);
	for (const struct cli_option *o = cli_run_options; o->name; o++)
		cli_consider(&g, o->name + 2);
	if (g.best)
		cli_hint("did you mean: --%s", g.best);
}

static int unknown(const struct flags *f, const char *word)
{
	cli_fail(-1, "%s has no flag %s", f->called, word);
	guess(f, word);
	return -1;
}

/* A word that begins with "--" is no value: a forgotten one would swallow the next flag. */
static int value_of(const struct flags *f, int *i, const char *equals, const char **out)
{
	const char *word = f->words[*i];

	*out = equals;
	if (equals)
		return 0;
	if (*i + 1 >= f->count || str_starts(f->words[*i + 1], "--"))
		return cli_fail(-1, "%s needs a value%s", word,
				*i + 1 < f->count ? "; one that begins with -- is written "
						    "--flag=VALUE"
						  : "");
	*out = f->words[++*i];
	return 0;
}

static int take_known(struct flags *f, const struct flag *flag, int *i)
{
	const char *text;

	if (flag->no && flag->equals)
		return cli_fail(-1, "%s takes no value", f->words[*i]);
	if (flag->is_switch && !flag->equals)
		return cli_args_text(&f->args, flag->key, flag->no ? "false" : "true");
	if (value_of(f, i, flag->equals, &text) < 0)
		return -1;
	return cli_args_text(&f->args, flag->key, text);
}

/* Of a command that takes anything: a flag without a value is true. */
static int take_undescribed(struct flags *f, int *i)
{
	const char *word = f->words[*i] + 2, *equals = strchr(word, '=');
	char key[256];
	size_t len = equals ? (size_t)(equals - word) : strlen(word);

	if (len == 0 || len >= sizeof(key))
		return unknown(f, f->words[*i]);
	memcpy(key, word, len);
	key[len] = '\0';
	if (equals)
		return cli_args_text(&f->args, key, equals + 1);
	if (*i + 1 >= f->count || str_starts(f->words[*i + 1], "--"))
		return cli_args_text(&f->args, key, "true");
	return cli_args_text(&f->args, key, f->words[++*i]);
}

/* Those with a value say where and as whom to run, which is settled by now. */
static int take_option(struct flags *f, int *i)
{
	if (cli_find_option(NULL, f->words[*i])->value)
		return cli_fail(-1, "%s is an option of hcp: it stands before the verb",
				f->words[*i]);
	return cli_take_option(f->c, NULL, f->words, f->count, i);
}

static int take_flag(struct flags *f, int *i)
{
	const char *word = f->words[*i], *text;
	struct flag flag;

	if (flag_find(f->args.schema, word, &flag))
		return take_known(f, &flag, i);
	if (strncmp(word, "--args", 6) == 0 && (!word[6] || word[6] == '=')) {
		if (value_of(f, i, word[6] ? word + 7 : NULL, &text) < 0)
			return -1;
		return cli_args_object(&f->args, text);
	}
	if (cli_find_option(NULL, word))
		return take_option(f, i);
	if (str_starts(word, "--") && is_open(f->args.schema))
		return take_undescribed(f, i);
	return unknown(f, word);
}

static int take(struct flags *f, int *i)
{
	const char *word = f->words[*i];

	if (word[0] == '-' && word[1])
		return take_flag(f, i);
	if (strchr(word, '='))
		return cli_args_word(&f->args, word);
	return cli_fail(-1, "unexpected word \"%s\": arguments are flags (%s --help)", word,
			f->called);
}

json_t *flags_read(struct flags *f, const json_t *schema)
{
	int rc = cli_args_begin(&f->args, schema), i;

	for (i = 0; rc == 0 && i < f->count && strcmp(f->words[i], "--") != 0; i++)
		rc = take(f, &i);
	/* behind "--" as behind that of hcp exec */
	for (i++; rc == 0 && i < f->count; i++)
		rc = cli_args_word(&f->args, f->words[i]);
	return cli_args_end(&f->args, rc);
}
