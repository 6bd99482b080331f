/* SPDX-License-Identifier: MIT */
/* The options that every verb takes, and how one is read into struct cli by its table row. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#define OPT(member) offsetof(struct cli, member)
const struct cli_option cli_options[] = {
    {"--root", NULL, "DIR", "the root folder (else $HCP_ROOT, ~/.config/hcp, /etc/hcp)",
     OPT(root)},
    {"--state", NULL, "DIR", "the state folder (else $HCP_STATE, ~/.local/state/hcp)",
     OPT(state)},
    {"--session", NULL, "NAME", "the session (else $HCP_SESSION, \"default\")", OPT(session)},
    {"--tenant", NULL, "NAME", "the tenant to act in", OPT(tenant)},
    {"--project", NULL, "NAME", "the project to act in", OPT(project)},
    {"--token-file", NULL, "FILE", "a file with the caller's token (else $HCP_TOKEN_FILE)",
     OPT(token_file)},
    {"--token-fd", NULL, "N", "a descriptor to read the caller's token from", OPT(token_fd)},
    {"--deadline", NULL, "TIME", "a limit on the whole run: 10s, 500ms", OPT(deadline)},
    {"--json", NULL, NULL, "one line of JSON, on a terminal, too", OPT(json)},
    {"--verbose", "-v", NULL, "run id and log lines on stderr (also -v)", OPT(verbose)},
    {"--help", "-h", NULL, "this text (also -h)", OPT(help)},
    {"--version", "-V", NULL, "the version (also -V)", OPT(version)},
    {NULL, NULL, NULL, NULL, 0},
};

const struct cli_option cli_run_options[] = {
    {"--raw", NULL, NULL, "print the result alone", OPT(raw)},
    {"--progress", NULL, NULL, "the program's stderr and the time on stderr, as they come",
     OPT(progress)},
    {"--in", NULL, "FILE[:NAME]...", "a file for an ephemeral workspace", OPT(in)},
    {"--out", NULL, "NAME[:FILE]...", "a file out of it, where the run is ok", OPT(out)},
    {"--keep", NULL, NULL, "leave the ephemeral workspace of a run that fails", OPT(keep)},
    {"--trace-denials", NULL, NULL, "tell on stderr what the program was refused (slow)",
     OPT(trace_denials)},
    {NULL, NULL, NULL, NULL, 0},
};

void cli_print_options(const struct cli_option *o)
{
	for (; o && o->name; o++)
		printf("  %-12s %-5s %s\n", o->name, o->value ? o->value : "", o->help);
}

static const struct cli_option *find_option(const struct cli_option *o, const char *word,
					    size_t len)
{
	for (; o && o->name; o++) {
		if (strlen(o->name) == len && strncmp(o->name, word, len) == 0)
			return o;
		if (o->brief && strlen(o->brief) == len && strncmp(o->brief, word, len) == 0)
			return o;
	}
	return NULL;
}

const struct cli_option *cli_find_option(const struct cli_verb *verb, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct cli_option *o = find_option(cli_options, word, len);

	if (!o)
		o = find_option(cli_run_options, word, len);
	return o || !verb ? o : find_option(verb->options, word, len);
}

/* Of a list the first value. */
static bool was_given(const struct cli *c, const struct cli_option *o)
{
	const char *member = (const char *)c + o->offset;

	return o->value ? *(const char *const *)(const void *)member != NULL
			: *(const bool *)(const void *)member;
}

const char *cli_run_option(const struct cli *c)
{
	for (const struct cli_option *o = cli_run_options; o->name; o++)
		if (was_given(c, o))
			return o->name;
	return NULL;
}

static int add_value(const struct cli_option *o, const char **list, const char *value)
{
	int i = 0;

	while (list[i])
		i++;
	if (i == CLI_LIST)
		return cli_fail(-1, "%s is given more than %d times", o->name, CLI_LIST);
	list[i] = value;
	return 0;
}

int cli_take_option(struct cli *c, const struct cli_verb *verb, char **argv, int argc, int *i)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	const struct cli_option *o = cli_find_option(verb, word);
	char *member;

	if (!o)
		return cli_fail(-1, "unknown option %s", word);
	member = (char *)c + o->offset;
	if (!o->value) {
		if (equals)
			return cli_fail(-1, "%s takes no value", o->name);
		*(bool *)(void *)member = true;
		return 0;
	}
	if (!equals && *i + 1 >= argc)
		return cli_fail(-1, "%s needs a value", o->name);
	if (strstr(o->value, "..."))
		return add_value(o, (const char **)(void *)member,
				 equals ? equals + 1 : argv[++*i]);
	*(const char **)(void *)member = equals ? equals + 1 : argv[++*i];
	return 0;
}
