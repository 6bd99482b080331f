/* SPDX-License-Identifier: MIT */
/* hcp_pack_lint: all that is wrong with one pack, at once. What it calls an error is what the
 * loader and the compiler of scripts refuse; what loads and is probably not meant is a warning.
 * It runs nothing and changes nothing. */
#include "runtime/problems.h"

#include "base/fd.h"
#include "script/script.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct pack_lint {
	struct root root;
	struct settings set;
	struct pack *pack;
	const struct pack_command *command; /* that is looked at */
	struct problems found;
	char manifest[PATH_MAX];
	bool dashes, extension; /* told of this command */
};

/* ---- scripts ---- */

/* Whether a command or the mint hook is this file. */
static bool is_verb(const struct pack *p, const char *path)
{
	for (size_t i = 0; i < p->command_count; i++)
		if (p->commands[i].script && strcmp(p->commands[i].script, path) == 0)
			return true;
	return p->mint && strcmp(p->mint->hook, path) == 0;
}

/* "script: verbs/month.lua:4: why": the place apart, as with YAML. */
static void add_script_fault(struct pack_lint *l, const char *path, const struct hcp_err *err)
{
	char file[PATH_MAX], begin[PATH_MAX];
	struct hcp_err fault = {0};
	const char *text = err->text;
	int line = 0, n = 0;

	snprintf(begin, sizeof(begin), "script: %s:", path);
	snprintf(file, sizeof(file), "%s/%s", l->pack->shown, path);
	if (str_starts(text, begin) && sscanf(text + strlen(begin), "%d: %n", &line, &n) == 1 &&
	    n)
		text += strlen(begin) + (size_t)n;
	else
		line = 0;
	hcp_fail_at(&fault, file, line, 0, "%s", text);
	conf_faults_add(&l->found.errors, &fault);
}

static void check_scripts(struct pack_lint *l)
{
	const struct pack *p = l->pack;

	for (size_t i = 0; i < p->file_count; i++) {
		const struct pack_file *f = &p->files[i];
		const size_t n = strlen(f->path);
		struct hcp_err err = {0};

		if (!f->text || n < 5 || strcmp(f->path + n - 4, ".lua") != 0)
			continue;
		/* what is required and what is run compile alike; specs aren't scripts of hcp
		 */
		if (strncmp(f->path, "spec/", 5) == 0 && !is_verb(p, f->path))
			continue;
		if (script_check(SCRIPT_VERB, f->path, f->text, f->size, &err) < 0)
			add_script_fault(l, f->path, &err);
	}
}

/* ---- commands ---- */

static bool optional(void *user, const char *name)
{
	const struct pack_lint *l = user;
	const struct schema *args = l->command->args;

	return args && !schema_is_required(args, name) && !schema_has_default(args, name);
}

static void say(void *user, enum argv_advice what, const char *option)
{
	struct pack_lint *l = user;
	const struct pack_command *c = l->command;

	switch (what) {
	case ARGV_NO_LITERAL:
		problems_warn(&l->found, l->manifest, c->line,
			      "\"%s\": no word of its command line is the pack's own", c->key);
		return;
	case ARGV_SWALLOWS:
		problems_warn(
		    &l->found, l->manifest, c->line,
		    "\"%s\": without its value, which may be absent, %s takes the next "
		    "word: write %s=…, or { when: …, then: [%s, …] }",
		    c->key, option, option, option);
		return;
	case ARGV_DASHES:
		if (!l->dashes)
			problems_warn(
			    &l->found, l->manifest, c->line,
			    "\"%s\": behind \"--\" the appended %s is an operand: set "
			    "json_flag: []",
			    c->key, c->wrap.json_flag.items[0]);
		l->dashes = true;
		return;
	case ARGV_EXTENSION:
		l->extension = true;
		return;
	}
}

static bool is_default_flag(const struct conf_strings *flag)
{
	return flag->count == 1 && strcmp(flag->items[0], "--json") == 0;
}

/* Keys beyond the specification: another runtime would refuse them or, worse, leave them out.
 */
static void note_extensions(struct pack_lint *l)
{
	const struct pack_wrap *w = &l->command->wrap;
	const char *key = l->extension                       ? "when/each"
			  : !is_default_flag(&w->json_flag)  ? "json_flag"
			  : w->stdin_kind != PACK_STDIN_NONE ? "stdin"
			  : w->result != PACK_RESULT_AUTO    ? "result"
			  : w->files.count                   ? "files"
			  : w->deny_prefix.count > 1         ? "deny_prefix"
							     : NULL;

	if (key)
		problems_note(&l->found, l->manifest, l->command->line,
			      "\"%s\" is not portable: it uses %s", l->command->key, key);
}

static void check_wrap(struct pack_lint *l)
{
	const struct pack_command *c = l->command;
	const struct argv_advisor ask = {c->wrap.json_flag.count > 0, optional, say, l};

	l->dashes = l->extension = false;
	argv_advise(c->argv, &ask);
	note_extensions(l);
}

static void check_command(struct pack_lint *l)
{
	const struct pack_command *c = l->command;

	if (!c->policy)
		problems_warn(&l->found, l->manifest, c->line,
			      "\"%s\" has no entry in policy.yaml: it can't run", c->key);
	if (!c->args && !c->health && !c->internal)
		problems_warn(&l->found, l->manifest, c->line,
			      "\"%s\" has no args schema: it takes anything", c->key);
	if (strcmp(c->kind, "wrap") == 0)
		check_wrap(l);
}

static void check_uses(struct pack_lint *l)
{
	const struct pack *p = l->pack;

	for (size_t i = 0; i < p->uses.count; i++) {
		const char *dot = strchr(p->uses.items[i], '.');
		char id[LIMIT_ID + 1];
		struct pack *other = NULL;
		struct hcp_err err = {0};

		snprintf(id, sizeof(id), "%.*s", (int)(dot ? dot - p->uses.items[i] : 0),
			 p->uses.items[i]);
		if (pack_try(&l->root, &l->set, id, &other, &err) < 0)
			problems_warn(&l->found, l->manifest, p->uses.line,
				      "uses %s: that pack isn't there or doesn't load",
				      p->uses.items[i]);
		else if (dot && !pack_command(other, dot + 1))
			problems_warn(&l->found, l->manifest, p->uses.line,
				      "uses %s: that pack has no such command",
				      p->uses.items[i]);
		pack_close(other);
	}
}

static void check_requires(struct pack_lint *l)
{
	struct conf_strings missing = {0};
	struct hcp_err err = {0};

	if (pack_missing(l->pack, "/usr/local/bin:/usr/bin:/bin", &l->pack->arena, &missing,
			 &err) < 0) {
		conf_faults_add(&l->found.errors, &err);
		return;
	}
	for (size_t i = 0; i < missing.count; i++)
		problems_warn(&l->found, l->manifest, l->pack->requires.line,
			      "requires %s, which isn't on this machine", missing.items[i]);
}

static void look(struct pack_lint *l, const char *id)
{
	struct hcp_err err = {0};

	if (pack_inspect(&l->root, &l->set, id, &l->found.errors, &l->pack, &err) < 0) {
		if (err.code == HCP_E_NONE)
			hcp_fail(&err, HCP_E_DENIED, "unknown pack %.*s", LIMIT_ID, id);
		conf_faults_add(&l->found.errors, &err);
		return;
	}
	snprintf(l->manifest, sizeof(l->manifest), "%s/pack.yaml", l->pack->shown);
	check_scripts(l);
	if (l->found.errors.count)
		return;
	for (size_t i = 0; i < l->pack->command_count; i++) {
		l->command = &l->pack->commands[i];
		check_command(l);
	}
	problems_of_mint(&l->found, l->pack);
	problems_of_capabilities(&l->found, l->pack);
	check_uses(l);
	check_requires(l);
}

hcp_status hcp_pack_lint(hcp_runtime *rt, const char *pack, hcp_result **out, hcp_error *err)
{
	struct hcp_err why = {0};
	struct pack_lint l = {.root = {.fd = -1, .state_fd = -1, .data_fd = -1}};
	AUTO_FREE char *data = where_data();
	struct root_request q;

	if (out)
		*out = NULL;
	if (!rt || !pack || !out)
		return HCP_EINVAL;
	q = runtime_root_request(&rt->options, data);
	if (root_open(&l.root, &l.set, &q, &why) == 0) {
		look(&l, pack);
		*out = problems_result(&l.found);
		if (!*out)
			hcp_fail_nomem(&why);
	}
	pack_close(l.pack);
	problems_free(&l.found);
	root_close(&l.root);
	return *out ? HCP_OK : runtime_error(err, &why);
}
