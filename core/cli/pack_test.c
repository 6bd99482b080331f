/* SPDX-License-Identifier: MIT */
/* hcp pack test: a pack's busted specs, in a root that lasts as long as they do. busted runs
 * with the rights of whoever called, as an author's own program does; what it runs through hcp
 * meets every step. The real root is only read. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/str.h"
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HCP_LUA "lua5.4"

extern char **environ;

struct trial {
	char dir[PATH_MAX];
	json_t *told; /* what hcp_pack_trial said */
};

/* Programs of a run as root pass through it, and see nothing else. */
static int make_dir(struct trial *t)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(t->dir, sizeof(t->dir), "%s/hcp-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(t->dir) || chmod(t->dir, 0711) < 0)
		return cli_fail(CLI_RUNTIME, "%s: %s", t->dir, strerror(errno));
	return 0;
}

static void remove_dir(const struct trial *t)
{
	struct hcp_err err = {0};

	if (tree_remove(AT_FDCWD, t->dir, &err) < 0)
		cli_fail(1, "%s is left: %s", t->dir, err.text);
}

static int lay_out(struct cli *c, const char *pack, struct trial *t)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_result *res = NULL;
	hcp_status status = hcp_pack_trial(c->rt, pack, t->dir, &res, &err);

	if (status != HCP_OK)
		return cli_status(status, &err);
	t->told = cli_value(res);
	hcp_result_free(res);
	return t->told ? 0 : cli_fail(CLI_RUNTIME, "out of memory");
}

static int set(const char *name, const char *value, const char *end)
{
	AUTO_BUF text = {0};

	buf_printf(&text, "%s%s", value, end);
	return text.failed || setenv(name, text.data, 1) < 0
		   ? cli_fail(CLI_RUNTIME, "out of memory")
		   : 0;
}

/* hcp.test, the pack's own modules, then where the caller's Lua looks: helpers of an author's
 * are found as ever. */
static int set_path(const struct trial *t)
{
	const char *caller = getenv("LUA_PATH_5_4");
	AUTO_BUF path = {0};

	if (!caller)
		caller = getenv("LUA_PATH");
	buf_printf(&path, "%s/lua/?.lua;./?.lua;%s", cli_text(t->told, "data"),
		   caller ? caller : ";;");
	return path.failed ? cli_fail(CLI_RUNTIME, "out of memory")
			   : set("LUA_PATH_5_4", path.data, "");
}

/* Whatever of the caller's would lead hcp elsewhere is replaced. */
static int set_environment(const struct trial *t, const char *pack)
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0)
		return cli_fail(CLI_RUNTIME, "/proc/self/exe: %s", strerror(errno));
	own[n] = '\0';
	unsetenv("HCP_SESSION");
	unsetenv("HCP_TOKEN_FILE");
	return set("HCP_ROOT", t->dir, "/root") || set("HCP_STATE", t->dir, "/state") ||
		       set("HCP_TEST_DIR", t->dir, "") || set("HCP_TEST_PROGRAM", own, "") ||
		       set("HCP_TEST_PACK", pack, "") || set_path(t)
		   ? CLI_RUNTIME
		   : 0;
}

/* Ctrl-C is for busted: hcp goes on to remove what it made. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return cli_fail(CLI_RUNTIME, "busted: %s", strerror(errno));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

static int run_busted(const struct trial *t)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	static char name[] = "busted", lua[] = "--lua=" HCP_LUA, pattern[] = "--pattern=_spec",
		    folder[] = "spec";
	char *const argv[] = {name, lua, pattern, folder, NULL};
	posix_spawnattr_t how;
	sigset_t set;
	pid_t pid;
	int rc;

	if (chdir(t->dir) < 0 || chdir("root/packs") < 0 || chdir(getenv("HCP_TEST_PACK")) < 0)
		return cli_fail(CLI_RUNTIME, "%s: %s", t->dir, strerror(errno));
	if (access("spec", R_OK) < 0)
		return cli_fail(1, "the pack has no spec/: put busted specs there, *_spec.lua");
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		sigaddset(&set, ignored[i]);
		signal(ignored[i], SIG_IGN);
	}
	if (posix_spawnattr_init(&how) != 0)
		return cli_fail(CLI_RUNTIME, "out of memory");
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&how, &set);
	rc = posix_spawnp(&pid, argv[0], NULL, &how, argv, environ);
	posix_spawnattr_destroy(&how);
	if (rc != 0)
		return cli_fail(CLI_RUNTIME, "busted: %s: on Debian it is in lua-busted",
				strerror(rc));
	return wait_for(pid);
}

/* ---- coverage ---- */

static int count(void *user, hcp_str line)
{
	json_t *record = json_read(line.data, line.len), *ran = user;
	const char *verb = cli_text(record, "verb");
	json_int_t times = json_integer_value(json_object_get(ran, verb));

	if (!*cli_text(record, "error"))
		json_object_set_new(ran, verb, json_integer(times + 1));
	json_decref(record);
	return 0;
}

/* By the log of what ran: commands, whether asked for by a spec or by a script. */
static int read_log(json_t *ran)
{
	static const char *const where[] = {"kind=end"};
	hcp_error err = {.size = sizeof(err)};
	hcp_options *o = hcp_options_new();
	hcp_runtime *rt = NULL;
	hcp_status status = o ? hcp_open(o, &rt, &err) : HCP_ENOMEM;

	if (status == HCP_OK)
		status = hcp_audit_read(rt, where, 1, HCP_AUDIT_STORED, count, ran, NULL, &err);
	hcp_close(rt);
	hcp_options_free(o);
	return status == HCP_OK ? 0 : cli_status(status, &err);
}

static int print_coverage(const struct trial *t)
{
	json_t *ran = json_object(), *verb;
	int code = read_log(ran), never = 0;
	size_t i;

	json_array_foreach(json_object_get(t->told, "commands"), i, verb)
	{
		json_int_t times =
		    json_integer_value(json_object_get(ran, json_string_value(verb)));

		never += times == 0;
		printf("%-30s %" JSON_INTEGER_FORMAT "\n", json_string_value(verb), times);
	}
	json_decref(ran);
	if (code == 0 && never)
		return cli_fail(1, "%d of the pack's commands never ran to a good end", never);
	return code;
}

int cli_pack_test(struct cli *c, const char *pack)
{
	struct trial t = {.told = NULL};
	int code = make_dir(&t);

	if (code != 0)
		return code;
	code = lay_out(c, pack, &t);
	if (code == 0)
		code = set_environment(&t, pack);
	if (code == 0)
		code = run_busted(&t);
	if (code == 0 && c->coverage)
		code = print_coverage(&t);
	json_decref(t.told);
	remove_dir(&t);
	return code;
}
