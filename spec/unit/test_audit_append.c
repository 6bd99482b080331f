/* SPDX-License-Identifier: MIT */
/* Appending: many writers, killed writers, full disks, held locks, swapped files. */
#include "audit_log.h"
#include "base/limits.h"

#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void first_record_is_genesis(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	struct stat st;
	json_t *all;

	/* opening alone leaves no file */
	assert_int_equal(access(log_path(l, "audit.jsonl"), F_OK), -1);
	log_add(a, AUDIT_DENY);
	all = log_records(l, "audit.jsonl");
	assert_int_equal(json_array_size(all), 2);
	assert_string_equal(log_text(json_array_get(all, 0), "kind"), "genesis");
	assert_string_equal(log_text(json_array_get(all, 1), "kind"), "deny");
	json_decref(all);
	assert_int_equal(stat(log_path(l, "audit.jsonl"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(log_path(l, "audit.head"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(log_path(l, "."), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	audit_close(a);
	/* the next one goes on */
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	assert_int_equal(log_check_dense(l), 3);
	audit_close(a);
}

static void a_strange_umask_changes_nothing(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	mode_t old = umask(0777);
	struct stat st;

	log_add(a, AUDIT_DENY);
	umask(0);
	audit_close(a);
	umask(old);
	assert_int_equal(stat(log_path(l, "audit.jsonl"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

enum { PROCESSES = 8, EACH = 50 };

static void *append_many(void *audit)
{
	struct hcp_err err = {0};

	for (int i = 0; i < EACH; i++)
		if (log_try(audit, AUDIT_BEGIN, &err) < 0) {
			fprintf(stderr, "append: %s\n", err.text);
			return audit;
		}
	return NULL;
}

/* A host that forks after opening: the children share its descriptions of every file. */
static void forked_hosts_exclude_each_other(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	int status, failures = 0;

	log_add(a, AUDIT_BEGIN);
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			_exit(append_many(a) != NULL);
	assert_null(append_many(a));
	while (wait(&status) > 0)
		failures += status != 0;
	assert_int_equal(failures, 0);
	assert_int_equal(log_check_dense(l), (PROCESSES + 1) * EACH + 2);
	audit_close(a);
}

/* Killed at any moment, a writer leaves at most one torn record, and the next one mends it. */
static void killed_writers_cost_nothing(void **state)
{
	struct log *l = *state;
	struct audit *a;
	unsigned seed = 1;

	for (int round = 0; round < 60; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			a = log_open(l);
			for (;;)
				log_add(a, AUDIT_BEGIN);
		}
		usleep(500 + (useconds_t)rand_r(&seed) % 4000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		a = log_open(l);
		log_add(a, AUDIT_DENY);
		audit_close(a);
	}
	assert_true(log_check_dense(l) > 60);
}

static void held_lock_is_given_up_after_its_deadline(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	int64_t start;
	int lock;

	log_add(a, AUDIT_DENY);
	lock = open(log_path(l, "audit.lock"), O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	start = now_ms();
	log_refused(a, "audit.lock is held for over 5 s");
	assert_in_range(now_ms() - start, 4900, 7000);
	close(lock);
	log_add(a, AUDIT_DENY);
	assert_int_equal(log_check_dense(l), 3);
	audit_close(a);
}

/* People delete *.lock files. Whoever still holds the old one must not write beside the new. */
static void a_lock_file_tidied_away(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l), *b = log_open(l);

	log_add(a, AUDIT_DENY);
	log_add(b, AUDIT_DENY);
	assert_int_equal(unlink(log_path(l, "audit.lock")), 0);
	log_add(a, AUDIT_DENY);
	log_add(b, AUDIT_DENY);
	assert_int_equal(access(log_path(l, "audit.lock"), F_OK), 0);
	assert_int_equal(log_check_dense(l), 5);
	audit_close(a);
	audit_close(b);
}

static void torn_tail_is_kept_aside(void **state)
{
	static const char torn[] = "{\"seq\":4,\"time\":\"2026-";
	struct log *l = *state;
	struct audit *a = log_open(l);
	size_t len;
	char *text, *kept;
	json_t *all;
	FILE *f;

	log_add(a, AUDIT_DENY);
	log_add(a, AUDIT_DENY);
	f = fopen(log_path(l, "audit.jsonl"), "ae");
	assert_non_null(f);
	fputs(torn, f);
	fclose(f);
	log_add(a, AUDIT_DENY);
	all = log_records(l, "audit.jsonl");
	assert_string_equal(log_text(json_array_get(all, 3), "kind"), "recover");
	assert_non_null(strstr(log_text(json_array_get(all, 3), "detail"), "audit.torn-4"));
	json_decref(all);
	assert_int_equal(log_check_dense(l), 5);
	kept = log_read(l, "audit.torn-4", &len);
	assert_int_equal(len, sizeof(torn) - 1);
	assert_memory_equal(kept, torn, len);
	free(kept);
	text = log_read(l, "audit.jsonl", &len);
	assert_null(strstr(text, "2026-{"));
	free(text);
	audit_close(a);
}

/* Pages that a power failure left unwritten are zeros, and there may be a newline behind. */
static void zeros_at_the_end_are_torn_too(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	char zeros[5000] = {0};
	FILE *f;

	log_add(a, AUDIT_DENY);
	audit_close(a);
	memcpy(zeros + 4000, "\"}\nrest\n", 8);
	f = fopen(log_path(l, "audit.jsonl"), "ae");
	assert_int_equal(fwrite(zeros, 1, sizeof(zeros), f), sizeof(zeros));
	fclose(f);
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	assert_int_equal(log_check_dense(l), 4);
	audit_close(a);
}

/* What a crash doesn't explain stops everything. */
static void a_foreign_line_stops_the_log(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l), *b;
	FILE *f;

	log_add(a, AUDIT_DENY);
	f = fopen(log_path(l, "audit.jsonl"), "ae");
	fputs("hello\n", f);
	fclose(f);
	log_refused(a, "log damaged after record 2");
	b = log_open(l);
	log_refused(b, "log damaged after record 2");
	audit_close(a);
	audit_close(b);
}

static void deleting_the_log_is_noticed(void **state)
{
	static const char *const gone[][2] = {
	    {"audit.jsonl", NULL}, {"audit.head", NULL}, {"audit.jsonl", "audit.head"}};
	struct log *l = *state;

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		struct audit *a = log_open(l), *fresh;
		bool all = gone[i][1] != NULL;

		log_add(a, AUDIT_DENY);
		for (size_t k = 0; k < 2 && gone[i][k]; k++)
			assert_int_equal(unlink(log_path(l, gone[i][k])), 0);
		log_refused(a, "log truncated");
		log_refused(a, "log truncated");
		fresh = log_open(l);
		/* with both gone only a running host can know */
		if (!all)
			log_refused(fresh, "log truncated");
		audit_close(a);
		audit_close(fresh);
		unlink(log_path(l, "audit.jsonl"));
		unlink(log_path(l, "audit.head"));
	}
}

static void truncating_the_log_is_noticed(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l), *fresh;
	size_t len;
	char *text, *last;

	for (int i = 0; i < 5; i++)
		log_add(a, AUDIT_DENY);
	text = log_read(l, "audit.jsonl", &len);
	last = memrchr(text, '\n', len - 1);
	/* by a byte, by a record, wholly; and as a copy of the same bytes in another file */
	assert_int_equal(truncate(log_path(l, "audit.jsonl"), (off_t)len - 1), 0);
	log_refused(a, "log truncated");
	assert_int_equal(truncate(log_path(l, "audit.jsonl"), last + 1 - text), 0);
	log_refused(a, "log truncated");
	assert_int_equal(truncate(log_path(l, "audit.jsonl"), 0), 0);
	log_refused(a, "log truncated");
	fresh = log_open(l);
	log_refused(fresh, "log truncated");
	log_write(l, "copy", text, len);
	assert_int_equal(rename(log_path(l, "copy"), log_path(l, "audit.jsonl")), 0);
	log_refused(a, "log truncated");
	log_refused(fresh, "log truncated");
	free(text);
	audit_close(a);
	audit_close(fresh);
}

/* Cut and filled up to the old length with lines of one's own. */
static void a_tail_replaced_in_place_is_noticed(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	size_t len;
	char *text;

	for (int i = 0; i < 5; i++)
		log_add(a, AUDIT_DENY);
	text = log_read(l, "audit.jsonl", &len);
	text[len - 10] = text[len - 10] == '0' ? '1' : '0';
	log_write(l, "audit.jsonl", text, len);
	log_refused(a, "log truncated");
	free(text);
	audit_close(a);
}

static void a_damaged_head_stops_the_log(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);

	log_add(a, AUDIT_DENY);
	log_write(l, "audit.head", "{}", 2);
	log_refused(a, "audit.head is damaged");
	audit_close(a);
}

static void links_and_fifos_are_refused(void **state)
{
	static const char *const names[] = {"audit.jsonl", "audit.head", "audit.lock"};
	struct log *l = *state;

	for (size_t i = 0; i < 3; i++) {
		struct audit *a = log_open(l);

		unlink(log_path(l, "audit.lock"));
		assert_int_equal(symlink("/etc/passwd", log_path(l, names[i])), 0);
		log_refused(a, "is a symbolic link");
		unlink(log_path(l, names[i]));
		assert_int_equal(mkfifo(log_path(l, names[i]), 0600), 0);
		log_refused(a, "is not a regular file");
		unlink(log_path(l, names[i]));
		assert_int_equal(mkdir(log_path(l, names[i]), 0700), 0);
		log_refused(a, names[i]);
		rmdir(log_path(l, names[i]));
		unlink(log_path(l, "audit.head"));
		audit_close(a);
	}
}

static void others_may_not_write_the_log(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);

	log_add(a, AUDIT_DENY);
	assert_int_equal(chmod(log_path(l, "audit.jsonl"), 0620), 0);
	audit_close(a);
	a = log_open(l);
	log_refused(a, "is writable by others");
	assert_int_equal(chmod(log_path(l, "audit.jsonl"), 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(log_path(l, "audit.jsonl"), 12345, 0), 0);
		audit_close(a);
		a = log_open(l);
		log_refused(a, "is owned by uid 12345");
	}
	audit_close(a);
}

static void an_open_folder_is_refused(void **state)
{
	struct log *l = *state;
	struct hcp_err err = {0};
	struct audit *a = log_open(l);

	audit_close(a);
	assert_int_equal(chmod(log_path(l, "."), 0750), 0);
	assert_int_equal(audit_open(&l->root, &l->set, &a, &err), -1);
	assert_null(a);
	assert_non_null(strstr(err.text, "is open to others"));
}

static void path_of_the_operator(void **state)
{
	static const struct {
		const char *path, *why;
	} bad[] = {
	    {"audit.jsonl", "must be absolute"},  {"/tmp/", "must end in a file's name"},
	    {"/tmp/..", "must end in"},           {"/tmp/x.lock", "may not end in"},
	    {"/tmp/x.head", "may not end in"},    {"/nonexistent/x.log", "No such file"},
	    {"/tmp/x.log", "writable by others"},
	};
	struct log *l = *state;
	struct audit *a;
	char path[200];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hcp_err err = {0};

		l->set.audit_path = bad[i].path;
		assert_int_equal(audit_open(&l->root, &l->set, &a, &err), -1);
		if (!strstr(err.text, bad[i].why))
			fail_msg("%s: %s", bad[i].path, err.text);
	}
	snprintf(path, sizeof(path), "%s/hcp.log", l->state);
	l->set.audit_path = path;
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/hcp.head", l->state);
	assert_int_equal(access(path, F_OK), 0);
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit lim;

	getrlimit(RLIMIT_FSIZE, &lim);
	lim.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

/* At every length of the room that is left: the host lives, the log stays whole, the error says
 * which file and why. */
static void a_file_size_limit_denies(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	struct rlimit lim;
	struct stat st;

	getrlimit(RLIMIT_FSIZE, &lim);
	log_add(a, AUDIT_DENY);
	assert_int_equal(stat(log_path(l, "audit.jsonl"), &st), 0);
	for (rlim_t room = 0; room < 300; room += 7) {
		limit_file_size((rlim_t)st.st_size + room);
		log_refused(a, "audit.jsonl: File too large");
		setrlimit(RLIMIT_FSIZE, &lim);
		assert_int_equal(log_check_dense(l), 2);
	}
	log_add(a, AUDIT_DENY);
	assert_int_equal(log_check_dense(l), 3);
	audit_close(a);
}

static volatile sig_atomic_t xfsz_seen;

static void on_xfsz(int sig)
{
	(void)sig;
	xfsz_seen++;
}

/* The host's handler doesn't hear of it, and a signal that waited before still waits. */
static void the_hosts_own_xfsz_is_left_alone(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	struct sigaction sa = {.sa_handler = on_xfsz}, old;
	sigset_t xfsz, mask, before;
	struct rlimit lim;

	getrlimit(RLIMIT_FSIZE, &lim);
	log_add(a, AUDIT_DENY);
	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	sigaction(SIGXFSZ, &sa, &old);
	limit_file_size(300);
	log_refused(a, "File too large");
	assert_int_equal(xfsz_seen, 0);
	pthread_sigmask(SIG_BLOCK, &xfsz, &before);
	pthread_kill(pthread_self(), SIGXFSZ);
	log_refused(a, "File too large");
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGXFSZ), 1);
	assert_int_equal(xfsz_seen, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(xfsz_seen, 1);
	setrlimit(RLIMIT_FSIZE, &lim);
	sigaction(SIGXFSZ, &old, NULL);
	audit_close(a);
}

static void a_full_disk_denies_and_heals(void **state)
{
	struct log *l = *state;
	struct hcp_err err = {0};
	struct audit *a;
	int n = 0;

	if (geteuid() != 0 || mount("tmpfs", l->state, "tmpfs", 0, "size=64k,mode=700") < 0) {
		skip();
		return;
	}
	a = log_open(l);
	while (log_try(a, AUDIT_DENY, &err) == 0)
		n++;
	if (!strstr(err.text, "audit.jsonl: No space left on device"))
		fail_msg("got: %s", err.text);
	assert_true(n > 50);
	assert_int_equal(log_check_dense(l), n + 1);
	for (int i = 0; i < 20; i++) {
		log_refused(a, "No space left on device");
		assert_int_equal(log_check_dense(l), n + 1);
	}
	assert_int_equal(mount("tmpfs", l->state, "tmpfs", MS_REMOUNT, "size=256k"), 0);
	log_add(a, AUDIT_DENY);
	assert_int_equal(log_check_dense(l), n + 2);
	audit_close(a);
	fd_close(&l->root.state_fd);
	assert_int_equal(umount(l->state), 0);
}

static void a_read_only_folder_denies(void **state)
{
	struct log *l = *state;
	struct audit *a;

	if (geteuid() != 0 || mount("tmpfs", l->state, "tmpfs", 0, "size=64k,mode=700") < 0) {
		skip();
		return;
	}
	a = log_open(l);
	assert_int_equal(mount("tmpfs", l->state, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
	log_refused(a, "audit.lock: Read-only file system");
	assert_int_equal(mount("tmpfs", l->state, "tmpfs", MS_REMOUNT, NULL), 0);
	log_add(a, AUDIT_DENY);
	audit_close(a);
	fd_close(&l->root.state_fd);
	assert_int_equal(umount(l->state), 0);
}

/* Nobody reads them: the log doesn't wait, and it says so. */
static void copies_never_delay(void **state)
{
	struct log *l = *state;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_FD fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char got[LIMIT_AUDIT_LINE];
	struct audit *a;
	int n = 0;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", l->state);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	l->set.audit_syslog = at.sun_path;
	a = log_open(l);
	log_add(a, AUDIT_DENY);
	assert_int_equal(audit_copy_error(a), 0);
	for (; n < 20000 && audit_copy_error(a) == 0; n++)
		log_add(a, AUDIT_DENY);
	assert_in_range(n, 1, 19999);
	assert_true(recv(fd, got, sizeof(got), 0) > 0);
	assert_memory_equal(got, "<86>hcp[", 8);
	/* once there is room again, they come again */
	while (recv(fd, got, sizeof(got), MSG_DONTWAIT) > 0)
		;
	log_add(a, AUDIT_DENY);
	assert_int_equal(audit_copy_error(a), 0);
	assert_true(recv(fd, got, sizeof(got), MSG_DONTWAIT) > 0);
	assert_memory_equal(got, "<84>hcp[", 8);
	audit_close(a);
	assert_int_equal(log_check_dense(l), n + 3);
}

static void the_head_knows_where_the_log_ends(void **state)
{
	struct log *l = *state;
	struct audit *a = log_open(l);
	size_t len, log_len;
	char *head, *text, wanted[64];

	for (int i = 0; i < 3; i++) {
		l->set.audit_sync = i == 1 ? AUDIT_SYNC_ALWAYS : AUDIT_SYNC_OS;
		audit_close(a);
		a = log_open(l);
		log_add(a, AUDIT_DENY);
		text = log_read(l, "audit.jsonl", &log_len);
		head = log_read(l, "audit.head", &len);
		snprintf(wanted, sizeof(wanted), "\"size\":%zu,\"seq\":%d,", log_len, i + 2);
		if (!strstr(head, wanted))
			fail_msg("wanted %s in %s", wanted, head);
		free(text);
		free(head);
	}
	audit_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    LOG_TEST(first_record_is_genesis),
	    LOG_TEST(a_strange_umask_changes_nothing),
	    LOG_TEST(forked_hosts_exclude_each_other),
	    LOG_TEST(killed_writers_cost_nothing),
	    LOG_TEST(held_lock_is_given_up_after_its_deadline),
	    LOG_TEST(a_lock_file_tidied_away),
	    LOG_TEST(torn_tail_is_kept_aside),
	    LOG_TEST(zeros_at_the_end_are_torn_too),
	    LOG_TEST(a_foreign_line_stops_the_log),
	    LOG_TEST(deleting_the_log_is_noticed),
	    LOG_TEST(truncating_the_log_is_noticed),
	    LOG_TEST(a_tail_replaced_in_place_is_noticed),
	    LOG_TEST(a_damaged_head_stops_the_log),
	    LOG_TEST(links_and_fifos_are_refused),
	    LOG_TEST(others_may_not_write_the_log),
	    LOG_TEST(an_open_folder_is_refused),
	    LOG_TEST(path_of_the_operator),
	    LOG_TEST(a_file_size_limit_denies),
	    LOG_TEST(the_hosts_own_xfsz_is_left_alone),
	    LOG_TEST(a_full_disk_denies_and_heals),
	    LOG_TEST(a_read_only_folder_denies),
	    LOG_TEST(copies_never_delay),
	    LOG_TEST(the_head_knows_where_the_log_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
