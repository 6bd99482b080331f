/* SPDX-License-Identifier: MIT */
/* Any template with any args: it compiles or is refused with its place, and what renders is
 * what a plain reading of the template gives, token by token.
 * Input: a YAML list, a line "%%", the args as JSON; without that line there are none. */
#include "argv/template.h"
#include "base/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "\n%%\n";
static const char *dash[] = {"-", "@"}, *flag[] = {"--json"}, *files[] = {"--file", "-f"};
static const struct conf_strings deny = {.count = 2, .items = dash};
static const struct conf_strings json_flag = {.count = 1, .items = flag};
static const struct conf_strings file_flags = {.count = 2, .items = files};

struct reading {
	const struct argv_template *t;
	const json_t *args, *item;
	struct arena *arena;
	char **argv;
	size_t argc, at; /* at: the element that comes next */
};

static void expect(struct reading *r, const char *text)
{
	if (r->at >= r->argc || !*text || strcmp(r->argv[r->at++], text) != 0)
		abort();
}

static const json_t *value_of(const struct reading *r, const struct piece *p)
{
	return p->kind == PIECE_ITEM ? r->item : json_object_get(r->args, p->text);
}

static void read_token(struct reading *r, const struct token *t)
{
	const struct piece *first = NULL;
	struct hcp_err err = {0};
	AUTO_BUF text = {0};
	const char *s;

	for (size_t i = 0; t->verb && i < r->t->verb.count; i++)
		expect(r, r->t->verb.items[i]);
	for (size_t i = 0; i < t->count; i++) {
		const struct piece *p = &t->pieces[i];

		if (p->kind == PIECE_TEXT)
			s = p->text;
		else if (argv_string(value_of(r, p), p->text, r->arena, &s, &err) < 0)
			abort();
		buf_add(&text, s, p->kind == PIECE_TEXT ? p->len : strlen(s));
		first = first || !text.len ? first : p;
	}
	if (!text.len)
		return;
	/* --flag= with nothing behind it */
	if (t->count == 2 && first == t->pieces && first->kind == PIECE_TEXT &&
	    t->pieces[1].kind != PIECE_TEXT && text.data[0] == '-' && text.len == first->len &&
	    text.data[text.len - 1] == '=')
		return;
	if (strchr("-@", text.data[0]) && first->kind != PIECE_TEXT &&
	    !json_is_number(value_of(r, first)))
		abort();
	expect(r, text.data);
}

static void read_tokens(struct reading *r, const struct entry *e)
{
	for (size_t i = 0; i < e->count; i++)
		read_token(r, &e->tokens[i]);
}

static bool is_given(const json_t *v)
{
	if (!v || json_is_null(v) || json_is_false(v))
		return false;
	if (json_is_string(v))
		return json_string_length(v) > 0;
	if (json_is_array(v) || json_is_object(v))
		return json_is_array(v) ? json_array_size(v) > 0 : json_object_size(v) > 0;
	return true;
}

static void read_entry(struct reading *r, const struct entry *e)
{
	const json_t *v = e->name ? json_object_get(r->args, e->name) : NULL;

	if (e->kind == ENTRY_TOKEN || (e->kind == ENTRY_WHEN && is_given(v)))
		read_tokens(r, e);
	if (e->kind != ENTRY_EACH || !v || json_is_null(v))
		return;
	for (size_t i = 0; i < (json_is_array(v) ? json_array_size(v) : 1); i++) {
		r->item = json_is_array(v) ? json_array_get(v, i) : v;
		read_tokens(r, e);
	}
	r->item = NULL;
}

static void check_argv(const struct argv_template *t, const json_t *args, struct arena *a,
		       char **argv, size_t argc)
{
	struct reading r = {.t = t, .args = args, .arena = a, .argv = argv, .argc = argc};

	if (argc < 2 || argv[0] || argv[argc])
		abort();
	r.at = 1;
	for (size_t i = 0; i < t->count; i++)
		read_entry(&r, &t->entries[i]);
	expect(&r, "--json");
	if (r.at != argc)
		abort();
}

/* Where one of four names begins the whole element, whatever dots and slashes stand before. */
static bool is_host_path(const char *s)
{
	static const char *const names[] = {"/etc", "/home", "/root", "/Users"};

	for (size_t i = 0; i < 4; i++) {
		size_t n = strlen(names[i]);

		if (str_starts(s, names[i]) && (!s[n] || s[n] == '/') && !strstr(s, ".."))
			return true;
	}
	return false;
}

static void check_path(const char *path)
{
	if (!*path || *path == '/' || strcmp(path, "..") == 0 || str_starts(path, "../") ||
	    strstr(path, "/../") || strstr(path, "//"))
		abort();
}

static void check_files(char **argv, size_t argc, bool has_jail, struct arena *a)
{
	const struct argv_files f = {&file_flags, has_jail, "/workspace"};
	struct conf_strings paths;
	struct hcp_err err = {0};

	if (argv_rewrite_files(argv, argc, &f, a, &paths, &err) < 0) {
		if (err.code != HCP_E_DENIED || !err.text[0])
			abort();
		return;
	}
	if (paths.count > argc || (!has_jail && paths.count) || argv[0] || argv[argc])
		abort();
	for (size_t i = 1; i < argc; i++) {
		if (!*argv[i] || is_host_path(argv[i]) || str_starts(argv[i], "workspace:"))
			abort();
	}
	for (size_t i = 0; i < paths.count; i++)
		check_path(paths.items[i]);
}

static void render(const struct argv_template *t, const json_t *args, bool has_jail)
{
	const struct argv_rules rules = {&deny, &json_flag};
	struct arena a = {0};
	struct hcp_err err = {0};
	size_t argc;
	char **argv;

	if (argv_render(t, args, &rules, &a, &argv, &argc, &err) == 0) {
		check_argv(t, args, &a, argv, argc);
		check_files(argv, argc, has_jail, &a);
	} else if (err.code != HCP_E_INVALID || !str_starts(err.text, "invalid args: ")) {
		abort();
	}
	arena_free(&a);
}

static void run(const struct conf_ctx *c, const struct yaml_node *node, bool is_cli,
		const json_t *args)
{
	const struct argv_command cmd = {.verb_key = "demo.go  far", .is_cli = is_cli};
	const struct argv_template *t;
	struct hcp_err err = {0};

	if (argv_compile(c, node, &cmd, &t, &err) == 0) {
		if (argv_is_pass_through(t) && !argv_has_no_literal(t))
			abort();
		render(t, args, is_cli);
	} else if (err.code != HCP_E_CONFIG || !err.text[0] || err.line < 1) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *cut = size ? memmem(text, size, mark, sizeof(mark) - 1) : NULL;
	size_t len = cut ? (size_t)(cut - text) + 1 : size;
	size_t rest = cut ? size - len - (sizeof(mark) - 2) : 0;
	struct arena a = {0};
	struct conf_ctx c = {.arena = &a, .file = "fuzz.yaml"};
	const struct yaml_node *node;
	json_t *args = json_parse(text + size - rest, rest, LIMIT_ENVELOPE_DEPTH, NULL);

	if (!json_is_object(args)) {
		json_decref(args);
		args = json_object();
	}
	if (yaml_parse(&a, c.file, text, len, &node, NULL) == 0) {
		run(&c, node, true, args);
		run(&c, node, false, args);
	}
	json_decref(args);
	arena_free(&a);
	return 0;
}
