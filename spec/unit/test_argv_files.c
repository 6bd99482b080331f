/* SPDX-License-Identifier: MIT */
/* Paths in an argv: host paths are refused however they are written, files are moved into the
 * jail, and what leaves the jail is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "argv_call.h"

#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MOST     8

struct files {
	struct arena arena;
	char *argv[MOST + 1];
	size_t argc;
	struct conf_strings paths;
	struct hcp_err err;
};

static void files_free(struct files *f)
{
	arena_free(&f->arena);
}
#define AUTO_FILES __attribute__((cleanup(files_free))) struct files

/* `words` apart by '|'. */
static int rewrite(struct files *f, const char *words, bool has_jail, const char *jail)
{
	static const char *flags[] = {"--file", "-f"};
	static const struct conf_strings file_flags = {.count = 2, .items = flags};
	const struct argv_files how = {&file_flags, has_jail, jail};
	char *at = arena_strdup(&f->arena, words), *word;

	f->argc = 1;
	while ((word = strsep(&at, "|"))) {
		assert_true(f->argc < MOST);
		f->argv[f->argc++] = word;
	}
	return argv_rewrite_files(f->argv, f->argc, &how, &f->arena, &f->paths, &f->err);
}

static const char *joined(struct files *f, const char *const *items, size_t count)
{
	const char *text = count ? items[0] : "";

	for (size_t i = 1; i < count; i++)
		text = arena_printf(&f->arena, "%s|%s", text, items[i]);
	return text;
}

static void denied(const char *words, bool has_jail, const char *why)
{
	AUTO_FILES f = {0};

	if (rewrite(&f, words, has_jail, "/workspace") == 0)
		fail_msg("%s passed", words);
	assert_int_equal(f.err.code, HCP_E_DENIED);
	assert_string_equal(f.err.text, why);
}

static void becomes(const char *words, const char *want, const char *paths)
{
	AUTO_FILES f = {0};

	if (rewrite(&f, words, true, "/workspace") < 0)
		fail_msg("%s: %s", words, f.err.text);
	assert_string_equal(joined(&f, (const char *const *)f.argv + 1, f.argc - 1), want);
	assert_null(f.argv[0]);
	assert_null(f.argv[f.argc]);
	assert_string_equal(joined(&f, f.paths.items, f.paths.count), paths);
}

static void host_paths_are_refused_in_every_mode(void **state)
{
	static const char *const rows[] = {"/etc",
					   "/etc/",
					   "/etc/passwd",
					   "/home/x",
					   "/root",
					   "/Users/x/y",
					   "//etc/passwd",
					   "/./etc/passwd",
					   "/x/../etc/passwd",
					   "/../etc",
					   "/x/y/../../home",
					   "///.//etc//",
					   "/usr/../../etc/x",
					   "/etc/x/../passwd",
					   "a|/etc/x",
					   "--config=/etc/x",
					   "-c=/etc/x",
					   "key=/home/x",
					   "a=b=/root/x",
					   "--a=//etc",
					   "--a=/x/../etc/y",
					   "--file|/etc/x",
					   "--file=/etc/x",
					   "-f|/root",
					   "-f/etc/x",
					   "-f=/etc/x",
					   "--|/etc/x",
					   "--|--file=/etc",
					   "workspace:/etc/x",
					   "--a=workspace:/etc",
					   "-fworkspace:/home/x",
					   "--file|//root",
					   "/workspace/../etc/passwd",
					   "--file|/workspace/../home/x"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		denied(rows[i], true, "sandbox: host path not allowed");
		denied(rows[i], false, "sandbox: host path not allowed");
	}
}

static void other_paths_stay(void **state)
{
	static const char *const rows[] = {"/usr/bin/x",
					   "/tmp/etc",
					   "/etcetera",
					   "/homes/x",
					   "/rooty",
					   "/users/x",
					   "/ETC",
					   "/etc/../usr",
					   "/etc/..",
					   "/home/x/../../tmp",
					   "etc/passwd",
					   "./etc",
					   "../etc/passwd",
					   "x/etc",
					   "a:/etc",
					   "http://host/etc",
					   "--a=etc",
					   "-x/etc",
					   "=",
					   "--a=",
					   "/",
					   "/.",
					   "x workspace:y",
					   "xworkspace:y"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		becomes(rows[i], rows[i], "");
}

/* The jail's own place, beneath /home, is no argument's doing. */
static void judged_before_rewriting(void **state)
{
	AUTO_FILES f = {0};

	(void)state;
	assert_int_equal(rewrite(&f, "workspace:a|--file=b", true, "/home/u/jail"), 0);
	assert_string_equal(f.argv[1], "/home/u/jail/a");
	assert_string_equal(f.argv[2], "--file=/home/u/jail/b");
	assert_string_equal(joined(&f, f.paths.items, f.paths.count), "a|b");
}

static void workspace_tokens(void **state)
{
	static const char *const rows[][3] = {
	    {"workspace:a/b", "/workspace/a/b", "a/b"},
	    {"workspace:", "/workspace", "."},
	    {"workspace:.", "/workspace", "."},
	    {"workspace:/", "/workspace", "."},
	    {"workspace:/a", "/workspace/a", "a"},
	    {"workspace:a/../b/./c//d/", "/workspace/b/c/d", "b/c/d"},
	    {"workspace:a/..", "/workspace", "."},
	    {"workspace:..a", "/workspace/..a", "..a"},
	    {"workspace:a b", "/workspace/a b", "a b"},
	    {"--out=workspace:a", "--out=/workspace/a", "a"},
	    {"-o=workspace:a", "-o=/workspace/a", "a"},
	    {"key=workspace:a", "key=workspace:a", ""},
	    {"-oworkspace:a", "-oworkspace:a", ""},
	    {"--|workspace:a", "--|/workspace/a", "a"},
	    {"x|workspace:a|y|workspace:b", "x|/workspace/a|y|/workspace/b", "a|b"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		becomes(rows[i][0], rows[i][1], rows[i][2]);
}

static void file_flags(void **state)
{
	static const char *const rows[][3] = {
	    {"--file|a", "--file|/workspace/a", "a"},
	    {"--file=a", "--file=/workspace/a", "a"},
	    {"--file=a=b", "--file=/workspace/a=b", "a=b"},
	    {"-f|a", "-f|/workspace/a", "a"},
	    {"-fa", "-f/workspace/a", "a"},
	    {"-f=a", "-f=/workspace/a", "a"},
	    {"--file|workspace:a", "--file|/workspace/a", "a"},
	    {"--file=workspace:a", "--file=/workspace/a", "a"},
	    {"--file|a/../b", "--file|/workspace/b", "b"},
	    {"--file|-x", "--file|/workspace/-x", "-x"},
	    {"--file|--file|b", "--file|/workspace/--file|b", "--file"},
	    /* a "--" that is a flag's value ends no options */
	    {"--file|--|--file=a", "--file|/workspace/--|--file=/workspace/a", "--|a"},
	    {"--|--file|a", "--|--file|a", ""},
	    {"--|--file=a", "--|--file=a", ""},
	    {"--|-fa", "--|-fa", ""},
	    {"--file", "--file", ""},
	    {"--file=", "--file=", ""},
	    {"--files=a", "--files=a", ""},
	    {"--fil|a", "--fil|a", ""},
	    {"x--file|a", "x--file|a", ""},
	    {"--file|/usr/share/x", "--file|/usr/share/x", ""},
	    {"--file|/workspace/a/../b", "--file|/workspace/b", "b"},
	    {"--file=/workspace", "--file=/workspace", "."},
	    {"--file|/workspaces/a", "--file|/workspaces/a", ""},
	    {"--file|/workspace/../usr/x", "--file|/workspace/../usr/x", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		becomes(rows[i][0], rows[i][1], rows[i][2]);
}

static void nothing_leaves_the_jail(void **state)
{
	static const char *const rows[] = {"workspace:..",
					   "workspace:../x",
					   "workspace:/../x",
					   "workspace:a/../../b",
					   "workspace:a/../../workspace/b",
					   "--x=workspace:..",
					   "--file|../x",
					   "--file=a/../..",
					   "-f..",
					   "-f|./../x"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		denied(rows[i], true, "sandbox: path escapes workspace");
}

static void without_a_jail_there_is_no_file(void **state)
{
	static const char *const bad[] = {
	    "workspace:a", "--x=workspace:a", "--file|a",    "--file=a",
	    "-fa",         "--|workspace:a",  "workspace:.."};
	AUTO_FILES f = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		denied(bad[i], false, "sandbox: no workspace");
	assert_int_equal(rewrite(&f, "a|--file=/usr/x|--x=y|--|--file", false, NULL), 0);
	assert_string_equal(f.argv[2], "--file=/usr/x");
	assert_int_equal(f.paths.count, 0);
}

static void a_path_may_grow_too_long(void **state)
{
	static const char jail[] = "/workspace/";
	size_t most = LIMIT_ARGV_TOKEN - (sizeof(jail) - 1);
	char *words = malloc(most + 16);

	(void)state;
	assert_non_null(words);
	strcpy(words, "workspace:");
	memset(words + 10, 'x', most + 1);
	words[10 + most + 1] = '\0';
	denied(words, true, "invalid args: too long");
	words[10 + most] = '\0';
	{
		AUTO_FILES f = {0};

		assert_int_equal(rewrite(&f, words, true, "/workspace"), 0);
		assert_int_equal(strlen(f.argv[1]), LIMIT_ARGV_TOKEN);
	}
	free(words);
}

static void no_flags_at_all(void **state)
{
	const struct argv_files how = {NULL, true, "/workspace"};
	char flag[] = "--file", value[] = "a", ws[] = "workspace:b";
	char *argv[] = {NULL, flag, value, ws, NULL};
	struct conf_strings paths;
	struct arena a = {0};
	struct hcp_err err = {0};

	(void)state;
	assert_int_equal(argv_rewrite_files(argv, 4, &how, &a, &paths, &err), 0);
	assert_string_equal(argv[2], "a");
	assert_string_equal(argv[3], "/workspace/b");
	assert_int_equal(paths.count, 1);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(host_paths_are_refused_in_every_mode),
	    cmocka_unit_test(other_paths_stay),
	    cmocka_unit_test(judged_before_rewriting),
	    cmocka_unit_test(workspace_tokens),
	    cmocka_unit_test(file_flags),
	    cmocka_unit_test(nothing_leaves_the_jail),
	    cmocka_unit_test(without_a_jail_there_is_no_file),
	    cmocka_unit_test(a_path_may_grow_too_long),
	    cmocka_unit_test(no_flags_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
