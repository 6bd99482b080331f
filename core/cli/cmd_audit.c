/* SPDX-License-Identifier: MIT */
/* hcp audit: a table of its own verbs. What reads lines is in cmd_audit_read.c; here are those
 * that judge the log and look after it. */
#include "cli/cli.h"

#include "base/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define OPT(member) offsetof(struct cli, member)
const struct cli_option cli_audit_options[] = {
    {"--checkpoint", NULL, "FILE", "verify: a checkpoint that the log must lead to",
     OPT(checkpoint)},
    {"--key", NULL, "HEX", "verify: the public key that signed it (else secrets/audit_key's)",
     OPT(key)},
    {"--follow", "-f", NULL, "tail: go on with what is written (also -f)", OPT(follow)},
    {"--lines", "-n", "N", "tail: so many lines (also -n; else 10)", OPT(lines)},
    {"--format", NULL, "F", "export: csv or otlp", OPT(format)},
    {"--create", NULL, NULL, "key: make secrets/audit_key", OPT(create)},
    {NULL, NULL, NULL, NULL, 0},
};

#define CHECKPOINT_MAX 4096

static int verify_verb(struct cli *c);
static int recover_verb(struct cli *c);
static int rotate_verb(struct cli *c);
static int checkpoint_verb(struct cli *c);
static int key_verb(struct cli *c);

static const struct sub {
	const char *name, *usage;
	int (*run)(struct cli *c);
	int least, most;     /* words; most -1: any number */
	const char *options; /* that it takes, each with a space behind */
} subs[] = {
    {"verify", "verify [--checkpoint FILE [--key HEX]]", verify_verb, 0, 0,
     "--checkpoint --key "},
    {"tail", "tail [-f] [-n N]", audit_tail_verb, 0, 0, "--follow --lines "},
    {"show", "show RUN", audit_show_verb, 1, 1, ""},
    {"grep", "grep FIELD=VALUE...", audit_grep_verb, 1, -1, ""},
    {"export", "export --format csv|otlp [FIELD=VALUE...]", audit_export_verb, 0, -1,
     "--format "},
    {"recover", "recover", recover_verb, 0, 0, ""},
    {"rotate", "rotate", rotate_verb, 0, 0, ""},
    {"checkpoint", "checkpoint", checkpoint_verb, 0, 0, ""},
    {"key", "key [--create]", key_verb, 0, 0, "--create "},
};
#define SUBS (sizeof(subs) / sizeof(subs[0]))

static int usage_of(const struct sub *only)
{
	for (size_t i = 0; i < SUBS; i++)
		if (!only || only == &subs[i])
			fprintf(stderr, "%s hcp audit %s\n",
				i == 0 || only ? "usage:" : "      ", subs[i].usage);
	return CLI_USAGE;
}

static bool is_given(const struct cli *c, const struct cli_option *o)
{
	const char *member = (const char *)c + o->offset;

	if (!o->value)
		return *(const bool *)(const void *)member;
	return *(const char *const *)(const void *)member != NULL;
}

/* An option that another of the verbs takes would be ignored by this one. */
static const char *foreign_option(const struct cli *c, const struct sub *s)
{
	char word[32];

	for (const struct cli_option *o = cli_audit_options; o->name; o++) {
		snprintf(word, sizeof(word), "%s ", o->name);
		if (is_given(c, o) && !strstr(s->options, word))
			return o->name;
	}
	return NULL;
}

int cmd_audit(struct cli *c)
{
	const char *name = c->argc > 0 ? c->argv[0] : "", *foreign;
	const struct sub *s = subs;

	while (s < subs + SUBS && strcmp(s->name, name) != 0)
		s++;
	if (s == subs + SUBS)
		return usage_of(NULL);
	c->argv++;
	c->argc--;
	foreign = foreign_option(c, s);
	if (foreign)
		cli_fail(CLI_USAGE, "audit %s takes no %s", name, foreign);
	if (foreign || c->argc < s->least || (s->most >= 0 && c->argc > s->most))
		return usage_of(s);
	return s->run(c);
}

static void print_finding(const json_t *f)
{
	if (*cli_text(f, "file"))
		printf("%s:", cli_text(f, "file"));
	if (cli_number(f, "line") > 0)
		printf("%lld:", cli_number(f, "line"));
	printf("%s%s: %s%s\n", *cli_text(f, "file") ? " " : "", cli_text(f, "damage"),
	       cli_text(f, "text"),
	       json_is_true(json_object_get(f, "known")) ? " (known)" : "");
}

static void print_verdict(const json_t *v)
{
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(v, "findings"), i, f) print_finding(f);
	printf("%s: %lld records in %lld files, %lld damages, %lld of them known, %lld runs "
	       "without an end\n",
	       json_is_true(json_object_get(v, "intact")) ? "intact" : "damaged",
	       cli_number(v, "records"), cli_number(v, "segments"), cli_number(v, "damages"),
	       cli_number(v, "known"), cli_number(v, "orphans"));
}

static int show_verdict(const struct cli *c, const hcp_result *res)
{
	hcp_str json = hcp_result_json(res);
	json_t *v = json_read(json.data, json.len);
	int code = 0;

	if (!v)
		return cli_fail(CLI_RUNTIME, "out of memory");
	if (cli_for_people(c))
		print_verdict(v);
	else
		code = cli_print_json(c, json);
	if (code == 0 && !json_is_true(json_object_get(v, "intact")))
		code = 1;
	json_decref(v);
	return code;
}

static int read_file(const char *path, char **out, size_t *len)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct hcp_err err = {0};

	if (fd < 0)
		return cli_fail(-1, "%s: can't be opened", path);
	if (fd_read_all(fd, CHECKPOINT_MAX, out, len, &err) < 0)
		return cli_fail(-1, "%s: %s", path, err.text);
	return 0;
}

static int verify_verb(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	AUTO_FREE char *known = NULL;
	hcp_result *res = NULL;
	hcp_status status;
	size_t len = 0;
	int code;

	if (c->key && !c->checkpoint)
		return cli_fail(CLI_USAGE, "--key goes with --checkpoint");
	if (c->checkpoint && read_file(c->checkpoint, &known, &len) < 0)
		return CLI_RUNTIME;
	status = hcp_audit_verify(c->rt, (hcp_str){known, len}, c->key, &res, &err);
	if (status != HCP_OK)
		return cli_status(status, &err);
	code = show_verdict(c, res);
	hcp_result_free(res);
	return code;
}

static int recover_verb(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_audit_recover(c->rt, &res, &err);

	return cli_print_result(c, status, res, &err);
}

/* 1: segments stayed that should have gone. */
static int rotate_verb(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_audit_rotate(c->rt, &res, &err);
	json_t *v = NULL;
	int code;

	if (status == HCP_OK)
		v = cli_value(res);
	code = cli_print_result(c, status, res, &err);
	if (code == 0 && cli_number(v, "left") > 0)
		code = cli_fail(1, "%s", cli_text(v, "reason"));
	json_decref(v);
	return code;
}

/* One line, on a terminal, too: it is what `verify --checkpoint` reads. */
static int checkpoint_verb(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_audit_checkpoint(c->rt, &res, &err);
	int code;

	if (status != HCP_OK)
		return cli_print_result(c, status, res, &err);
	code = cli_print_text(hcp_result_json(res).data, hcp_result_json(res).len);
	hcp_result_free(res);
	return code;
}

static int key_verb(struct cli *c)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_audit_key(c->rt, c->create, &res, &err);

	return cli_print_result(c, status, res, &err);
}
