/* SPDX-License-Identifier: MIT */
/* Which root is believed, what hcp.yaml may say, and who may own the state. */
#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

#include <errno.h>
#include <sys/wait.h>

static int setup(void **state)
{
	static struct world w;

	world_begin(&w);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static void refused(struct world *w, const char *why)
{
	if (world_open(w) == 0)
		fail_msg("opened, instead of: %s", why);
	if (!strstr(w->text, why))
		fail_msg("\"%s\" instead of \"%s\"", w->text, why);
	assert_int_equal(w->err.code, HCP_E_CONFIG);
	root_close(&w->root);
}

static void named_root_never_falls_through(void **state)
{
	struct world *w = *state;
	char path[512];

	world_path(w, "nowhere", path);
	w->req.root = path;
	w->req.env_root = w->top;
	refused(w, "nowhere: No such file");
	w->req.root = NULL;
	w->req.env_root = path;
	refused(w, "nowhere: No such file");
	w->req.env_root = "";
	refused(w, "$HCP_ROOT is empty");
	w->req.root = "";
	refused(w, "--root is empty");
}

static void order_of_discovery(void **state)
{
	struct world *w = *state;
	char config[512], home[512], path[512];

	world_path(w, "config", config);
	world_path(w, "home", home);
	w->req.root = NULL;
	w->req.xdg_config_home = config;
	w->req.home = home;

	world_must_open(w);
	assert_string_equal(w->root.path, w->data);
	world_mkdirs(w, "etc/");
	world_must_open(w);
	assert_string_equal(w->root.path, w->etc);
	world_mkdirs(w, "home/.config/hcp/");
	world_must_open(w);
	assert_string_equal(w->root.path, w->etc);
	w->req.xdg_config_home = "";
	world_must_open(w);
	assert_non_null(strstr(w->root.path, "/home/.config/hcp"));
	w->req.xdg_config_home = config;
	world_mkdirs(w, "config/hcp/");
	world_must_open(w);
	assert_non_null(strstr(w->root.path, "/config/hcp"));
	w->req.env_root = w->top;
	world_must_open(w);
	assert_string_equal(w->root.path, w->top);
	w->req.root = w->data;
	world_must_open(w);
	assert_string_equal(w->root.path, w->data);

	/* what is there but can't be the root is no reason to look on */
	w->req.root = w->req.env_root = NULL;
	world_path(w, "config/hcp", path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/nowhere", path), 0);
	refused(w, "config/hcp: No such file");
	assert_int_equal(unlink(path), 0);
	world_put(w, "config/hcp", "");
	refused(w, "config/hcp: Not a directory");
	w->req.xdg_config_home = "config";
	refused(w, "$XDG_CONFIG_HOME is not an absolute path");
	w->req.xdg_config_home = NULL;
	w->req.home = "home";
	refused(w, "$HOME is not an absolute path");
}

static void no_root_at_all(void **state)
{
	struct world *w = *state;

	w->req.root = w->req.data = NULL;
	refused(w, "no root folder: give --root or make ");
}

static void trust_of_the_root(void **state)
{
	struct world *w = *state;

	assert_int_equal(chmod(w->top, 0777), 0);
	refused(w, "is writable by others: chmod ");
	assert_int_equal(chmod(w->top, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(w->top, 4242, 0), 0);
		refused(w, "is owned by uid 4242");
		assert_int_equal(chown(w->top, 0, 0), 0);
	}
	world_put(w, "root/hcp.yaml", "hcp: 1\n");
	world_must_open(w);
	assert_string_equal(w->root.real, w->top);
}

static void settings_and_defaults(void **state)
{
	struct world *w = *state;
	char path[512];

	world_must_open(w);
	assert_int_equal(w->set.packs.count, 1);
	assert_string_equal(w->set.packs.items[0], "packs");
	assert_int_equal(w->set.lua_memory, 64 << 20);
	assert_int_equal(w->set.lua_instructions, 100000000);
	assert_int_equal(w->set.lua_timeout_ms, 5000);
	assert_int_equal(w->set.audit_sync, AUDIT_SYNC_ALWAYS);
	assert_int_equal(w->set.audit_args, AUDIT_ARGS_REDACTED);
	assert_null(w->set.audit_path);
	assert_null(w->set.audit_syslog);
	assert_int_equal(w->set.audit_rotate_bytes, 0);
	assert_int_equal(w->set.audit_rotate_ms, 0);
	assert_int_equal(w->set.audit_keep, 0);
	assert_false(w->set.lock || w->set.activate_operator);

	world_put(
	    w, "root/hcp.yaml",
	    "hcp: 1\npacks: [a, /b]\nstate: var\ntenant: acme\nproject_id: p1\n"
	    "sessions: { default: { packs: [ledger] }, .: { packs: [] } }\n"
	    "audit: { path: log/a.jsonl, sync: os, args: keys, keep: 3, syslog: /dev/log,\n"
	    "  rotate: { size: 1M, age: 24h } }\n"
	    "lua: { memory: 1M, instructions: 3K, timeout: 1s }\n"
	    "lock: true\nactivate: operator\ncgroup: /sys/fs/cgroup/hcp\n");
	w->req.state = NULL;
	world_must_open(w);
	world_path(w, "root/var", path);
	assert_string_equal(w->root.state, path);
	assert_int_equal(w->set.packs.count, 2);
	assert_string_equal(w->set.tenant, "acme");
	assert_string_equal(w->set.project_id, "p1");
	assert_int_equal(w->set.session_count, 2);
	assert_string_equal(w->set.sessions[0].name, "default");
	assert_string_equal(w->set.sessions[0].packs.items[0], "ledger");
	world_path(w, "root/log/a.jsonl", path);
	assert_string_equal(w->set.audit_path, path);
	assert_int_equal(w->set.audit_sync, AUDIT_SYNC_OS);
	assert_int_equal(w->set.audit_args, AUDIT_ARGS_KEYS);
	assert_int_equal(w->set.audit_rotate_bytes, 1 << 20);
	assert_int_equal(w->set.audit_rotate_ms, 86400000);
	assert_int_equal(w->set.audit_keep, 3);
	assert_string_equal(w->set.audit_syslog, "/dev/log");
	assert_int_equal(w->set.lua_memory, 1 << 20);
	assert_int_equal(w->set.lua_instructions, 3000);
	assert_int_equal(w->set.lua_timeout_ms, 1000);
	assert_true(w->set.lock && w->set.activate_operator);
	assert_string_equal(w->set.cgroup, "/sys/fs/cgroup/hcp");
}

static const struct {
	const char *text;
	int line;
	const char *why;
} broken[] = {
    {"packs: [a]\n", 1, "hcp.yaml needs \"hcp\""},
    {"hcp: 2\n", 1, "\"hcp\" must be 1"},
    {"hcp: '1'\n", 1, "\"hcp\" must be a whole number"},
    {"", 1, ""},
    {"hcp: 1\nunknown: 1\n", 2, "unknown key \"unknown\""},
    {"hcp: 1\nhcp: 1\n", 2, "duplicate key"},
    {"hcp: 1\npacks: packs\n", 2, "\"packs\" must be a list"},
    {"hcp: 1\npacks: ['']\n", 2, "can't be empty"},
    {"hcp: 1\npacks: [../x]\n", 2, "can't hold \"..\""},
    {"hcp: 1\nstate: ''\n", 2, "\"state\" can't be empty"},
    {"hcp: 1\nstate: ~/x\n", 2, "can't begin with \"~\""},
    {"hcp: 1\nstate: a/..\n", 2, "can't hold \"..\""},
    {"hcp: 1\ntenant: a/b\n", 2, "\"tenant\" must be 1 to 64"},
    {"hcp: 1\nproject_id: ..\n", 2, "\"project_id\" must be 1 to 64"},
    {"hcp: 1\nsessions:\n  a/b: { packs: [] }\n", 3, "can't be the name of a session"},
    {"hcp: 1\nsessions:\n  a: {}\n", 3, "a session needs \"packs\""},
    {"hcp: 1\nsessions:\n  a:\n    packs: [x/y]\n", 4, "must be 1 to 64"},
    {"hcp: 1\nsessions: []\n", 2, "\"sessions\" must be a mapping"},
    {"hcp: 1\naudit: { sync: maybe }\n", 2, "\"sync\" must be always or os"},
    {"hcp: 1\naudit: { args: all }\n", 2, "\"args\" must be none, keys or redacted"},
    {"hcp: 1\naudit: { path: '' }\n", 2, "\"path\" can't be empty"},
    {"hcp: 1\naudit:\n  rotate: { size: 65535 }\n", 3, "\"size\" must be at least 64K"},
    {"hcp: 1\naudit:\n  rotate:\n    age: 59s\n", 4, "\"age\" must be at least 1m"},
    {"hcp: 1\naudit: { rotate: 64M }\n", 2, "\"rotate\" must be a mapping"},
    {"hcp: 1\naudit:\n  sync: os\n  keep: 0\n", 4, "\"keep\" must be at least 1"},
    {"hcp: 1\naudit: { keep: -1 }\n", 2, "\"keep\" can't be negative"},
    {"hcp: 1\naudit: { syslog: dev/log }\n", 2, "\"syslog\" must be an absolute path"},
    {"hcp: 1\naudit: { syslog: true }\n", 2, "\"syslog\" must be a string"},
    {"hcp: 1\naudit: { syslog: "
     "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
     "xx"
     "xxxxxxxxxxxxxxxxxx }\n",
     2, "\"syslog\" is longer than a socket's path can be"},
    {"hcp: 1\nlua: { memory: big }\n", 2, "\"memory\" must be a size"},
    {"hcp: 1\nlua: { memory: 0 }\n", 2, "\"memory\" must be a size"},
    {"hcp: 1\nlua: { instructions: 0 }\n", 2, "must be a count like"},
    {"hcp: 1\nlua: { instructions: -1 }\n", 2, "must be a count like"},
    {"hcp: 1\nlua: { instructions: 1.5 }\n", 2, "must be a count like"},
    {"hcp: 1\nlua: { instructions: 100MB }\n", 2, "must be a count like"},
    {"hcp: 1\nlua: { instructions: 99999999999G }\n", 2, "must be a count like"},
    {"hcp: 1\nlua: { instructions: M }\n", 2, "must be a count like"},
    {"hcp: 1\nlua: { timeout: 5 }\n", 2, "\"timeout\" must be a duration"},
    {"hcp: 1\nlock: yes\n", 2, "\"lock\" must be true or false"},
    {"hcp: 1\nactivate: everybody\n", 2, "\"activate\" must be invoker or operator"},
    {"hcp: 1\ncgroup: relative\n", 2, "\"cgroup\" must be an absolute path"},
    {"hcp: 1\ncgroup: /a/../b\n", 2, "can't hold \"..\""},
};

static void broken_settings(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		world_put(w, "root/hcp.yaml", broken[i].text);
		refused(w, broken[i].why);
		if (w->err.line != broken[i].line || !strstr(w->err.file, "/root/hcp.yaml"))
			fail_msg("%s\nwas refused at %s:%d", broken[i].text, w->err.file,
				 w->err.line);
	}
}

static void settings_are_judged_before_they_are_read(void **state)
{
	struct world *w = *state;
	char path[512], *big;

	world_put(w, "root/hcp.yaml", "hcp: 1\n");
	world_path(w, "root/hcp.yaml", path);
	assert_int_equal(chmod(path, 0666), 0);
	refused(w, "hcp.yaml is writable by others: chmod ");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	refused(w, "is a symbolic link");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	refused(w, "is not a regular file");
	assert_int_equal(unlink(path), 0);
	big = calloc(1, LIMIT_YAML + 2);
	assert_non_null(big);
	memset(big, '#', LIMIT_YAML + 1);
	world_put(w, "root/hcp.yaml", big);
	free(big);
	refused(w, "is over 1048576 bytes");
}

static void order_of_states(void **state)
{
	struct world *w = *state;
	char path[512], home[512], cwd[512];

	world_path(w, "home", home);
	w->req.state = "/a//";
	w->req.env_state = "/b";
	w->req.xdg_state_home = "/d";
	w->req.home = home;
	world_put(w, "root/hcp.yaml", "hcp: 1\nstate: /c/\n");
	world_must_open(w);
	assert_string_equal(w->root.state, "/a");
	w->req.state = NULL;
	world_must_open(w);
	assert_string_equal(w->root.state, "/b");
	w->req.env_state = NULL;
	world_must_open(w);
	assert_string_equal(w->root.state, "/c");
	world_put(w, "root/hcp.yaml", "hcp: 1\n");
	world_must_open(w);
	assert_string_equal(w->root.state, "/d/hcp");
	w->req.xdg_state_home = NULL;
	world_must_open(w);
	world_path(w, "home/.local/state/hcp", path);
	assert_string_equal(w->root.state, path);
	w->req.state = "here";
	world_must_open(w);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(path, sizeof(path), "%.400s/here", cwd);
	assert_string_equal(w->root.state, path);
	w->req.state = "";
	refused(w, "--state is empty");
	w->req.state = NULL;
	w->req.env_state = "";
	refused(w, "$HCP_STATE is empty");
	w->req.env_state = NULL;
	w->req.xdg_state_home = "d";
	refused(w, "$XDG_STATE_HOME is not an absolute path");
	w->req.home = w->req.xdg_state_home = NULL;
	refused(w, "no state folder");
}

static void state_refused(struct world *w, const char *why)
{
	struct hcp_err err = {0};

	world_must_open(w);
	assert_int_equal(root_open_state(&w->root, &err), -1);
	assert_int_equal(w->root.state_fd, -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" instead of \"%s\"", err.text, why);
}

static void state_is_ours_alone(void **state)
{
	struct world *w = *state;
	char path[512], other[512];
	struct stat st;

	world_path(w, "x/y/state", path);
	w->req.state = path;
	world_must_open(w);
	assert_int_equal(root_find_state(&w->root, &w->err), 0);
	assert_int_equal(w->root.state_fd, -1);
	assert_int_equal(root_open_state(&w->root, &w->err), 0);
	assert_true(w->root.state_fd > 2);
	assert_int_equal(fstat(w->root.state_fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(w->dir, &st), 0);
	world_path(w, "x", other);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);

	assert_int_equal(chmod(path, 0750), 0);
	state_refused(w, "is open to others: chmod 700 ");
	assert_int_equal(chmod(path, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 4242, 4242), 0);
		state_refused(w, "is owned by uid 4242, not by the user hcp runs as");
		assert_int_equal(chown(path, 0, 0), 0);
	}
	world_path(w, "x/y/other", other);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	state_refused(w, "is a symbolic link");
	assert_int_equal(unlink(path), 0);
	world_put(w, "x/y/state", "");
	state_refused(w, "Not a directory");
}

static void the_umask_takes_nothing_from_it(void **state)
{
	struct world *w = *state;
	char path[512];
	struct stat st;
	mode_t before;
	int fd = -1;

	world_path(w, "p/q/state", path);
	w->req.state = path;
	world_must_open(w);
	before = umask(0777);
	assert_int_equal(root_open_state(&w->root, &w->err), 0);
	assert_int_equal(root_state_dir(&w->root, "a/b", &fd, &w->err), 0);
	umask(before);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	fd_close(&fd);
	world_path(w, "p/q", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void folders_of_the_state(void **state)
{
	static const char *const bad[] = {"", "/a", "a//b", "a/", "../a", "a/..", "./a"};
	struct world *w = *state;
	struct stat st;
	char path[512];
	int fd = -1;

	world_must_open(w);
	assert_int_equal(root_state_dir(&w->root, "a", &fd, &w->err), -1);
	assert_int_equal(root_open_state(&w->root, &(struct hcp_err){0}), 0);
	assert_int_equal(root_state_dir(&w->root, "a/-/c", &fd, &w->err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	fd_close(&fd);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(root_state_dir(&w->root, bad[i], &fd, &w->err), -1);
		assert_int_equal(fd, -1);
	}
	world_path(w, "state/b", path);
	assert_int_equal(symlink("a", path), 0);
	memset(&w->err, 0, sizeof(w->err));
	assert_int_equal(root_state_dir(&w->root, "b/-", &fd, &w->err), -1);
	assert_non_null(strstr(w->err.text, "is a symbolic link"));
	world_path(w, "state/a", path);
	assert_int_equal(chmod(path, 0755), 0);
	memset(&w->err, 0, sizeof(w->err));
	assert_int_equal(root_state_dir(&w->root, "a/-", &fd, &w->err), -1);
	assert_non_null(strstr(w->err.text, "is open to others"));
	/* the last one may be a sandbox user's */
	assert_int_equal(root_state_dir(&w->root, "a", &fd, &w->err), 0);
	fd_close(&fd);
}

static void looking_makes_no_folder_of_the_state(void **state)
{
	struct world *w = *state;
	char path[512];
	int fd = 7;

	world_must_open(w);
	assert_int_equal(root_state_find(&w->root, "a/-/c", &fd, &w->err), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(root_open_state(&w->root, &w->err), 0);
	assert_int_equal(root_state_find(&w->root, "a/-/c", &fd, &w->err), 0);
	assert_int_equal(fd, -1);
	world_path(w, "state/a", path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(root_state_dir(&w->root, "a/-", &fd, &w->err), 0);
	fd_close(&fd);
	assert_int_equal(root_state_find(&w->root, "a/-", &fd, &w->err), 0);
	assert_true(fd >= 0);
	fd_close(&fd);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(root_state_find(&w->root, "a/-", &fd, &w->err), -1);
	assert_non_null(strstr(w->err.text, "is open to others"));
	assert_int_equal(fd, -1);
}

static int try_read(struct world *w, const char *rel, bool fallback, char **out)
{
	size_t len;

	memset(&w->err, 0, sizeof(w->err));
	errno = ENOENT; /* of an earlier call: never taken for this one's */
	return root_read(&w->root, rel, fallback, 100, out, &len, &w->err);
}

static void reading_and_falling_back(void **state)
{
	struct world *w = *state;
	char path[512], *text;

	world_put(w, "root/adapters/a.lua", "root");
	world_put(w, "data/adapters/a.lua", "data");
	world_put(w, "data/adapters/b.lua", "data");
	world_put(w, "data/secrets/s", "data");
	world_put(w, "data/policies/auth/os_user.lua", "data");
	world_must_open(w);
	assert_int_equal(try_read(w, "adapters/a.lua", true, &text), 0);
	assert_string_equal(text, "root");
	free(text);
	assert_int_equal(try_read(w, "adapters/b.lua", true, &text), 0);
	assert_string_equal(text, "data");
	free(text);
	assert_int_equal(try_read(w, "policies/auth/os_user.lua", true, &text), 0);
	free(text);
	assert_int_equal(try_read(w, "adapters/b.lua", false, &text), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(w->err.code, HCP_E_SYS);
	assert_int_equal(try_read(w, "adapters/c.lua", true, &text), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(w->err.code, HCP_E_SYS);
	assert_null(text);
	/* secrets are the root's own, whatever a caller says */
	assert_int_equal(try_read(w, "secrets/s", true, &text), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(w->err.code, HCP_E_SYS);
	/* a file that can't be trusted isn't replaced by another one */
	world_path(w, "root/adapters/a.lua", path);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(try_read(w, "adapters/a.lua", true, &text), -1);
	assert_int_not_equal(errno, ENOENT);
	assert_non_null(strstr(w->err.text, "is writable by others"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("b.lua", path), 0);
	assert_int_equal(try_read(w, "adapters/a.lua", true, &text), -1);
	assert_int_not_equal(errno, ENOENT);
	assert_int_equal(try_read(w, "adapters/../adapters/b.lua", true, &text), -1);
	assert_int_not_equal(errno, ENOENT);
	world_put(w, "root/adapters/d.lua",
		  "0123456789012345678901234567890123456789012345678901234567890123456789"
		  "0123456789012345678901234567890123456789");
	assert_int_equal(try_read(w, "adapters/d.lua", true, &text), -1);
	assert_non_null(strstr(w->err.text, "is over 100 bytes"));
}

/* As another user, in a process of its own; 0: opened, 1: refused with `why`. */
static void as_nobody(struct world *w, const char *why)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct root root;
		struct settings set;
		struct hcp_err err = {0};
		char text[2048];
		int rc;

		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(9);
		rc = root_open_with(&root, &set, &w->req, w->etc, &err);
		hcp_err_format(&err, text, sizeof(text));
		if ((rc == 0) != !why || (why && !strstr(text, why))) {
			fprintf(stderr, "\"%s\" instead of \"%s\"\n", text, why ? why : "");
			_exit(1);
		}
		root_close(&root);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void lock_holds_for_all_but_the_owner(void **state)
{
	struct world *w = *state;
	char state_dir[512], config[512], path[512];

	if (geteuid() != 0)
		skip();
	world_path(w, "etc/var", state_dir);
	world_put(w, "etc/hcp.yaml", "hcp: 1\nlock: true\nstate: var\n");
	world_must_open(w); /* the owner of etc */
	as_nobody(w, "says lock: true, so");
	w->req.root = NULL;
	as_nobody(w, "the state folder is");
	w->req.state = NULL;
	as_nobody(w, NULL);
	w->req.state = state_dir;
	as_nobody(w, NULL);
	w->req.state = NULL;
	w->req.env_state = "/tmp/mine";
	as_nobody(w, "the state folder is");
	w->req.env_state = NULL;
	w->req.env_root = w->top;
	as_nobody(w, "can't be the root");
	w->req.env_root = NULL;
	world_path(w, "config", config);
	world_mkdirs(w, "config/hcp/");
	w->req.xdg_config_home = config;
	as_nobody(w, "can't be the root");
	w->req.xdg_config_home = NULL;

	/* another name of the same folder is the same root */
	world_path(w, "alias", path);
	assert_int_equal(symlink("etc", path), 0);
	w->req.root = path;
	as_nobody(w, NULL);

	/* without `state:` nothing of the environment chooses it */
	w->req.root = NULL;
	world_put(w, "etc/hcp.yaml", "hcp: 1\nlock: true\n");
	w->req.xdg_state_home = "/tmp/mine";
	as_nobody(w, "the state folder is");
	w->req.xdg_state_home = NULL;
	w->req.home = "/tmp/mine";
	as_nobody(w, "the state folder is");
	w->req.home = "/nonexistent"; /* nobody's, by the password database */
	as_nobody(w, NULL);
}

static void lock_is_judged_whatever_root_is_named(void **state)
{
	struct world *w = *state;

	world_put(w, "etc/hcp.yaml", "hcp: 1\nlock: maybe\n");
	refused(w, "/etc/hcp.yaml:2: \"lock\" must be true or false");
	world_put(w, "etc/hcp.yaml", "hcp: 1\nlock: false\n");
	world_must_open(w);
	assert_int_equal(chmod(w->etc, 0777), 0);
	refused(w, "is writable by others");
	assert_int_equal(chmod(w->etc, 0755), 0);
	/* lock counts in the system's folder only */
	world_put(w, "root/hcp.yaml", "hcp: 1\nlock: true\n");
	if (geteuid() == 0)
		as_nobody(w, NULL);
}

static void resolving_what_is_not_there_yet(void **state)
{
	struct world *w = *state;
	char path[512], want[512];
	const char *out;

	world_must_open(w);
	world_path(w, "link", path);
	assert_int_equal(symlink("root", path), 0);
	strcat(path, "/a/b");
	world_path(w, "root/a/b", want);
	assert_int_equal(root_resolve(&w->root.arena, path, &out, &w->err), 0);
	assert_string_equal(out, want);
	assert_int_equal(root_resolve(&w->root.arena, "/nowhere", &out, &w->err), 0);
	assert_string_equal(out, "/nowhere");
	assert_int_equal(root_resolve(&w->root.arena, "/", &out, &w->err), 0);
	assert_string_equal(out, "/");
	assert_int_equal(root_resolve(&w->root.arena, "/nowhere/../tmp", &out, &w->err), -1);
	assert_null(out);
	assert_int_equal(root_resolve(&w->root.arena, "relative", &out, &w->err), -1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(named_root_never_falls_through),
	    T(order_of_discovery),
	    T(no_root_at_all),
	    T(trust_of_the_root),
	    T(settings_and_defaults),
	    T(broken_settings),
	    T(settings_are_judged_before_they_are_read),
	    T(order_of_states),
	    T(state_is_ours_alone),
	    T(the_umask_takes_nothing_from_it),
	    T(folders_of_the_state),
	    T(looking_makes_no_folder_of_the_state),
	    T(reading_and_falling_back),
	    T(lock_holds_for_all_but_the_owner),
	    T(lock_is_judged_whatever_root_is_named),
	    T(resolving_what_is_not_there_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
