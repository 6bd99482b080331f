/* SPDX-License-Identifier: MIT */
/* The activation store: what is believed of a file, who may change it, and that two writers and
 * a full disk lose nothing. */
#include "session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int setup(void **state)
{
	static struct world w;

	world_begin(&w);
	world_must_open(&w);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static bool is_active(struct world *w, const char *session, const char *pack)
{
	bool active = true;

	memset(&w->err, 0, sizeof(w->err));
	if (session_is_active(&w->root, &w->set, session, pack, &active, &w->err) < 0)
		fail_msg("%s", w->err.text);
	return active;
}

static bool set(struct world *w, const char *session, const char *pack, bool on)
{
	bool changed = false;

	memset(&w->err, 0, sizeof(w->err));
	if (session_set(&w->root, &w->set, session, pack, on, &changed, &w->err) < 0)
		fail_msg("%s", w->err.text);
	return changed;
}

static void refused(struct world *w, const char *session, const char *pack, bool on,
		    enum hcp_code code, const char *why)
{
	bool changed = true;

	memset(&w->err, 0, sizeof(w->err));
	assert_int_equal(session_set(&w->root, &w->set, session, pack, on, &changed, &w->err),
			 -1);
	assert_false(changed);
	if (!strstr(w->err.text, why) || w->err.code != code)
		fail_msg("\"%s\" (%d) instead of \"%s\"", w->err.text, (int)w->err.code, why);
}

/* The list, joined by blanks. */
static const char *list(struct world *w, const char *session)
{
	static char out[4096];
	struct session_list l;
	struct arena a = {0};

	memset(&w->err, 0, sizeof(w->err));
	if (session_read(&w->root, &w->set, session, &a, &l, &w->err) < 0)
		fail_msg("%s", w->err.text);
	out[0] = '\0';
	for (size_t i = 0; i < l.count; i++)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "",
			 l.packs[i]);
	arena_free(&a);
	return out;
}

static void on_and_off(void **state)
{
	struct world *w = *state;
	struct stat st;
	char path[512];

	assert_false(is_active(w, "default", "ledger"));
	assert_string_equal(list(w, "default"), "");
	assert_int_equal(stat(w->state, &st), -1); /* asking creates nothing */
	assert_true(set(w, "default", "ledger", true));
	assert_false(set(w, "default", "ledger", true));
	assert_true(is_active(w, "default", "ledger"));
	assert_false(is_active(w, "default", "ledge"));
	assert_false(is_active(w, "default", "ledger2"));
	assert_false(is_active(w, "other", "ledger"));
	assert_true(set(w, "default", "a", true));
	assert_true(set(w, "default", "z", true));
	assert_true(set(w, "default", "m", true));
	assert_string_equal(list(w, "default"), "a ledger m z");
	assert_true(set(w, "default", "ledger", false));
	assert_false(set(w, "default", "ledger", false));
	assert_false(is_active(w, "default", "ledger"));
	assert_string_equal(list(w, "default"), "a m z");
	world_path(w, "state/sessions/default.packs", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	world_path(w, "state/sessions", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* another runtime finds what this one left */
	world_must_open(w);
	assert_true(is_active(w, "default", "m"));
	assert_int_equal(w->root.state_fd >= 0, 1);
}

static void the_umask_takes_nothing_from_it(void **state)
{
	struct world *w = *state;
	mode_t before = umask(0777);
	char path[512];
	struct stat st;

	assert_true(set(w, "default", "a", true));
	assert_true(set(w, "default", "b", true));
	umask(before);
	assert_string_equal(list(w, "default"), "a b");
	world_path(w, "state/sessions/default.packs", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	world_path(w, "state/sessions/.lock", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void names(void **state)
{
	static const char *const odd[] = {".", "..", ".lock", "a.packs", "a.new", "-", "a"};
	struct world *w = *state;
	bool active = true;

	refused(w, "a/b", "p", true, HCP_E_INVALID, "not the name of a session");
	refused(w, "", "p", true, HCP_E_INVALID, "not the name of a session");
	refused(w, "s", "../p", true, HCP_E_INVALID, "not a pack id");
	refused(w, "s", "", true, HCP_E_INVALID, "not a pack id");
	refused(w, "s", "a\nb", true, HCP_E_INVALID, "not a pack id");
	assert_int_equal(session_is_active(&w->root, &w->set, "s", "a/b", &active, &w->err),
			 -1);
	assert_false(active);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_true(set(w, odd[i], "p", true));
		assert_string_equal(list(w, odd[i]), "p");
	}
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_true(set(w, odd[i], "p", false));
		assert_string_equal(list(w, odd[i]), "");
	}
}

static void settings_activate(void **state)
{
	struct world *w = *state;

	world_put(w, "root/hcp.yaml",
		  "hcp: 1\nsessions: { default: { packs: [z, ledger] } }\n");
	world_must_open(w);
	assert_true(is_active(w, "default", "ledger"));
	assert_false(is_active(w, "other", "ledger"));
	assert_string_equal(list(w, "default"), "ledger z");
	assert_string_equal(list(w, "other"), "");
	assert_false(set(w, "default", "ledger", true));
	assert_true(set(w, "default", "m", true));
	assert_string_equal(list(w, "default"), "ledger m z");
	refused(w, "default", "ledger", false, HCP_E_INVALID, "is activated by hcp.yaml");
}

static void only_the_operator(void **state)
{
	struct world *w = *state;

	world_put(w, "root/hcp.yaml", "hcp: 1\nactivate: operator\n");
	world_must_open(w);
	assert_true(set(w, "default", "ledger", true)); /* the owner of the root */
	if (geteuid() != 0)
		return;
	assert_int_equal(fchown(w->root.fd, 4242, 0), 0);
	refused(w, "default", "m", true, HCP_E_DENIED, "activate: operator");
	refused(w, "default", "ledger", false, HCP_E_DENIED, "activate: operator");
	assert_true(is_active(w, "default", "ledger"));
	w->set.activate_operator = false;
	assert_true(set(w, "default", "m", true));
}

static void damaged(struct world *w, const char *why)
{
	struct session_list l = {1, NULL};
	struct arena a = {0};
	bool active = true;

	memset(&w->err, 0, sizeof(w->err));
	assert_int_equal(
	    session_is_active(&w->root, &w->set, "default", "ledger", &active, &w->err), -1);
	assert_false(active);
	if (!strstr(w->err.text, why))
		fail_msg("\"%s\" instead of \"%s\"", w->err.text, why);
	memset(&w->err, 0, sizeof(w->err));
	assert_int_equal(session_read(&w->root, &w->set, "default", &a, &l, &w->err), -1);
	assert_int_equal(l.count, 0);
	arena_free(&a);
	refused(w, "default", "m", true, w->err.code, why);
}

static void damage_is_a_denial(void **state)
{
	static const char *const texts[] = {
	    "ledger",           /* torn */
	    "ledger\n\n",       /* an empty line */
	    "\nledger\n",       /* the same at the start */
	    "m\nledger\n",      /* not sorted */
	    "ledger\nledger\n", /* twice */
	    "ledger\n../x\n",   /* no id */
	    "ledger \n",        /* a blank */
	    "ledger\r\n",       /* another line end */
	    "# note\nledger\n", /* by hand */
	};
	struct world *w = *state;
	char path[512], big[70000];
	int fd;

	set(w, "default", "ledger", true);
	world_path(w, "state/sessions/default.packs", path);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		world_put(w, "state/sessions/default.packs", texts[i]);
		assert_int_equal(chmod(path, 0600), 0);
		damaged(w, "is damaged");
	}
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "ledger\n\0x\n", 10), 10);
	close(fd);
	damaged(w, "is damaged");
	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	world_put(w, "state/sessions/default.packs", big);
	assert_int_equal(chmod(path, 0600), 0);
	damaged(w, "is over 65536 bytes");
	world_put(w, "state/sessions/default.packs", "ledger\n");
	damaged(w, "is open to others: chmod 600");
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(is_active(w, "default", "ledger"));
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 4242, 0), 0);
		damaged(w, "belongs to another user");
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	damaged(w, "not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	damaged(w, "Too many levels of symbolic links");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	damaged(w, "not a regular file");
}

static void state_of_another(void **state)
{
	struct world *w = *state;
	bool active = true;

	world_mkdirs(w, "state/sessions/");
	assert_int_equal(
	    session_is_active(&w->root, &w->set, "default", "ledger", &active, &w->err), -1);
	assert_false(active);
	assert_non_null(strstr(w->err.text, "chmod 700"));
}

#define WRITERS 8
#define PACKS   20

static void write_many(struct world *w, int writer)
{
	char id[32];

	for (int i = 0; i < PACKS; i++) {
		snprintf(id, sizeof(id), "p%d-%d", writer, i);
		if (!set(w, "default", id, true))
			_exit(1);
		if (i % 4 == 3 && !set(w, "default", id, false))
			_exit(2);
	}
	_exit(0);
}

static void two_writers_lose_nothing(void **state)
{
	struct world *w = *state;
	struct session_list l;
	struct arena a = {0};
	pid_t pids[WRITERS];
	int status, done = 0;
	char id[32];

	/* every writer opens its own */
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			world_must_open(w);
			write_many(w, i);
		}
	}
	/* a reader at any moment finds a list that is whole */
	while (done < WRITERS) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			assert_int_equal(status, 0);
			done++;
		}
		assert_int_equal(session_read(&w->root, &w->set, "default", &a, &l, &w->err),
				 0);
	}
	assert_int_equal(session_read(&w->root, &w->set, "default", &a, &l, &w->err), 0);
	assert_int_equal(l.count, WRITERS * PACKS * 3 / 4);
	for (int i = 0; i < WRITERS * PACKS; i++) {
		snprintf(id, sizeof(id), "p%d-%d", i / PACKS, i % PACKS);
		assert_int_equal(is_active(w, "default", id), i % PACKS % 4 != 3);
	}
	arena_free(&a);
}

static size_t count_files(const struct world *w)
{
	size_t count = 0;
	char path[512];
	DIR *dir;

	world_path(w, "state/sessions", path);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void a_full_disk_loses_nothing(void **state)
{
	struct world *w = *state;
	struct rlimit old, none = {0, 0};

	set(w, "default", "ledger", true);
	set(w, "default", "z", true);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	refused(w, "default", "m", true, HCP_E_SYS, "File too large");
	refused(w, "default", "ledger", false, HCP_E_SYS, "/state/sessions/default.new: ");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_string_equal(list(w, "default"), "ledger z");
	assert_int_equal(count_files(w), 2); /* the session and the lock */
}

/* A writer that was killed left its new file behind. */
static void leftovers_are_no_obstacle(void **state)
{
	struct world *w = *state;

	set(w, "default", "ledger", true);
	world_put(w, "state/sessions/default.new", "half");
	assert_string_equal(list(w, "default"), "ledger");
	assert_true(set(w, "default", "m", true));
	assert_string_equal(list(w, "default"), "ledger m");
	assert_int_equal(count_files(w), 2);
}

static void a_lock_that_never_comes(void **state)
{
	struct world *w = *state;
	char path[512];
	int fd;

	set(w, "default", "ledger", true);
	world_path(w, "state/sessions/.lock", path);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	refused(w, "default", "m", true, HCP_E_TIMEOUT, "are locked by another process");
	assert_true(is_active(w, "default", "ledger")); /* readers don't wait */
	close(fd);
	assert_true(set(w, "default", "m", true));
}

static void too_many_packs(void **state)
{
	struct world *w = *state;
	char path[512], id[80];
	FILE *out;

	set(w, "default", "a", true);
	world_path(w, "state/sessions/default.packs", path);
	out = fopen(path, "w");
	assert_non_null(out);
	for (int i = 0; i < 1024; i++)
		fprintf(out, "p%062d\n", i);
	assert_int_equal(fclose(out), 0);
	snprintf(id, sizeof(id), "p%062d", 1023);
	assert_true(is_active(w, "default", id));
	refused(w, "default", "q", true, HCP_E_LIMIT, "too many packs");
	assert_true(is_active(w, "default", id));
	assert_true(set(w, "default", id, false));
	assert_true(set(w, "default", "q", true));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(on_and_off),
	    T(the_umask_takes_nothing_from_it),
	    T(names),
	    T(settings_activate),
	    T(only_the_operator),
	    T(damage_is_a_denial),
	    T(state_of_another),
	    T(two_writers_lose_nothing),
	    T(a_full_disk_loses_nothing),
	    T(leftovers_are_no_obstacle),
	    T(a_lock_that_never_comes),
	    T(too_many_packs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
