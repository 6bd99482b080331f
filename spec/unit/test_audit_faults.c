/* SPDX-License-Identifier: MIT */
/* A crash after any system call, and an error of any call that changes files: the chain stays
 * whole, every record that was answered for is there, and the log goes on. Crashes are made
 * with ptrace; errors by definitions that stand before the C library's. */
#include "audit/inspect.h"
#include "audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

/* ---- errors ---- */

enum call {
	WRITE,
	PWRITE,
	FTRUNCATE,
	FDATASYNC,
	FSYNC,
	RENAMEAT,
	PREAD,
	FLOCK,
	OPENAT,
	FSTAT,
	FSTATAT,
	UNLINKAT,
	CALLS
};

static struct {
	bool on;
	enum call call;
	int nth, error;
	bool half; /* a write writes half before it fails */
	bool hit;
} fault;

static bool fails(enum call call)
{
	if (!fault.on || call != fault.call || fault.nth-- != 0)
		return false;
	fault.hit = true;
	errno = fault.error;
	return true;
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (fails(WRITE)) {
		if (!fault.half)
			return -1;
		/* the next one says why */
		fault.half = false;
		fault.nth = 0;
		return syscall(SYS_write, fd, data, len / 2);
	}
	return syscall(SYS_write, fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return fails(PWRITE) ? -1 : syscall(SYS_pwrite64, fd, data, len, at);
}

ssize_t pread(int fd, void *data, size_t len, off_t at)
{
	return fails(PREAD) ? -1 : syscall(SYS_pread64, fd, data, len, at);
}

int ftruncate(int fd, off_t len)
{
	return fails(FTRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, fd, len);
}

int fdatasync(int fd)
{
	return fails(FDATASYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	return fails(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fails(RENAMEAT) ? -1
			       : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int flock(int fd, int operation)
{
	/* letting go of a lock that is held can't fail */
	return operation != LOCK_UN && fails(FLOCK) ? -1
						    : (int)syscall(SYS_flock, fd, operation);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode = 0;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return fails(OPENAT) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int fstat(int fd, struct stat *st)
{
	return fails(FSTAT) ? -1 : (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return fails(FSTATAT) ? -1 : (int)syscall(SYS_newfstatat, dir, path, st, flags);
}

int unlinkat(int dir, const char *path, int flags)
{
	return fails(UNLINKAT) ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags);
}

/* ---- what is done ---- */

static struct hcp_err why; /* of what was done last */

static int append(struct audit *a)
{
	return log_try(a, AUDIT_DENY, &why);
}

static int rotate(struct audit *a)
{
	char name[NAME_MAX + 1];

	return audit_rotate(a, 0, name, &why);
}

static int recover(struct audit *a)
{
	struct audit_recovery r;

	return audit_recover(a, &r, &why);
}

static int retain(struct audit *a)
{
	struct audit_removal r;

	return audit_retain(a, &r, &why);
}

/* States that it is done in. */
static void nothing(struct log *l)
{
	(void)l;
}

static void some_records(struct log *l)
{
	struct audit *a = log_open(l);

	for (int i = 0; i < 3; i++)
		log_add(a, AUDIT_DENY);
	audit_close(a);
}

static void torn(struct log *l)
{
	FILE *f;

	some_records(l);
	f = fopen(log_path(l, "audit.jsonl"), "ae");
	fputs("{\"seq\":5,\"time", f);
	fclose(f);
}

static void rotated(struct log *l)
{
	struct audit *a;

	some_records(l);
	a = log_open(l);
	assert_int_equal(rotate(a), 0);
	audit_close(a);
}

static void large(struct log *l)
{
	some_records(l);
	l->set.audit_rotate_bytes = 1000;
}

static void old(struct log *l)
{
	some_records(l);
	usleep(2000);
	l->set.audit_rotate_ms = 1;
}

static void three_segments(struct log *l)
{
	rotated(l);
	rotated(l);
	rotated(l);
	l->set.audit_keep = 1;
}

static void moved_away(struct log *l)
{
	some_records(l);
	assert_int_equal(rename(log_path(l, "audit.jsonl"), log_path(l, "gone")), 0);
}

static void headless(struct log *l)
{
	some_records(l);
	assert_int_equal(unlink(log_path(l, "audit.head")), 0);
}

static const struct scenario {
	const char *name;
	void (*before)(struct log *);
	int (*act)(struct audit *);
	bool damaged; /* what verify says once records are lost */
	bool removes; /* records go, and verify knows that they did */
} scenarios[] = {
    {"first append", nothing, append, false, false},
    {"append", some_records, append, false, false},
    {"append after a torn record", torn, append, false, false},
    {"append after a rotation", rotated, append, false, false},
    {"append that rotates by size", large, append, false, false},
    {"append that rotates by age", old, append, false, false},
    {"rotate", some_records, rotate, false, false},
    {"first rotate", nothing, rotate, false, false},
    {"retain", three_segments, retain, false, true},
    {"recover a missing log", moved_away, recover, true, false},
    {"recover a missing head", headless, recover, false, false},
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void note(void *user, const struct audit_finding *f)
{
	if (f->damage != AUDIT_ORPHANED && !f->known)
		snprintf(user, 200, "%s: %s", audit_damage_name(f->damage), f->text);
}

/* After whatever happened: it goes on, at least `records` are there, nothing is damaged. */
static void goes_on(const struct scenario *s, struct log *l, uint64_t records, const char *when,
		    int n)
{
	struct audit *a = log_open(l);
	char damage[200] = "";
	struct audit_verdict v;
	struct hcp_err err = {0};

	if (s->act == recover && recover(a) < 0)
		fail_msg("%s, %s %d: recovering again fails", s->name, when, n);
	if (log_try(a, AUDIT_DENY, &err) < 0)
		fail_msg("%s, %s %d: %s", s->name, when, n, err.text);
	if (audit_verify(a, NULL, note, damage, &v, &err) < 0)
		fail_msg("%s, %s %d: %s", s->name, when, n, err.text);
	if (*damage || (!s->damaged && v.damages > 0))
		fail_msg("%s, %s %d: %s", s->name, when, n, damage);
	if (v.records < records + 1)
		fail_msg("%s, %s %d: %d of %d records", s->name, when, n, (int)v.records,
			 (int)records + 1);
	audit_close(a);
}

static uint64_t count(struct log *l)
{
	struct audit *a = log_open(l);
	struct audit_verdict v;

	assert_int_equal(audit_verify(a, NULL, NULL, NULL, &v, NULL), 0);
	audit_close(a);
	return v.records;
}

static struct log *begin(const struct scenario *s)
{
	void *fresh = NULL;
	struct log *l;

	if (log_setup(&fresh) < 0 || !fresh)
		exit(2);
	l = fresh;
	l->set.audit_sync = AUDIT_SYNC_ALWAYS;
	s->before(l);
	return l;
}

static void end(struct log *l)
{
	void *state = l;

	log_teardown(&state);
}

/* ---- crashes ---- */

/* Lets the child act, and kills it when its nth system call is done. True: it came so far. */
static bool crash_after(const struct scenario *s, struct log *l, int nth)
{
	int status, stops = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct audit *a = log_open(l);

		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		_exit(s->act(a) < 0);
	}
	assert_true(pid > 0);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	/* each call stops the child twice: before and after */
	while (stops < 2 * nth) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0)
			break;
		waitpid(pid, &status, 0);
		if (!WIFSTOPPED(status))
			return false;
		stops++;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return true;
}

static void crashes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SCENARIOS; i++) {
		const struct scenario *s = &scenarios[i];
		bool more = true;
		int n;

		for (n = 1; more; n++) {
			struct log *l = begin(s);
			uint64_t records = s->damaged || s->removes ? 0 : count(l);

			more = crash_after(s, l, n);
			goes_on(s, l, records, "crash after call", n);
			end(l);
		}
		/* else nothing was killed at all */
		assert_true(n > 10);
	}
}

/* False: there is no nth call of that kind. */
static bool error_of(const struct scenario *s, enum call call, bool half, int nth)
{
	static const int causes[] = {ENOSPC, EIO, EDQUOT};
	struct log *l = begin(s);
	uint64_t records = s->damaged || s->removes ? 0 : count(l);
	struct audit *a = log_open(l);
	int rc;

	memset(&fault, 0, sizeof(fault));
	fault.call = call;
	fault.half = half;
	fault.nth = nth;
	fault.error = causes[nth % 3];
	memset(&why, 0, sizeof(why));
	fault.on = true;
	rc = s->act(a);
	fault.on = false;
	if (strstr(why.text, "truncated"))
		fail_msg("%s: call %d fails the %d. time: %s", s->name, (int)call, nth,
			 why.text);
	/* a file whose name can't be looked at is opened anew instead */
	if (fault.hit && rc == 0 && call != FSTATAT)
		fail_msg("%s: call %d fails the %d. time and nobody minds", s->name, (int)call,
			 nth);
	if (!fault.hit && rc < 0)
		fail_msg("%s: fails by itself", s->name);
	audit_close(a);
	goes_on(s, l, records, "error of call", nth);
	end(l);
	return fault.hit;
}

static void errors(void **state)
{
	unsigned hits = 0;

	(void)state;
	for (size_t i = 0; i < SCENARIOS; i++)
		for (int k = 0; k < 2 * CALLS; k++)
			for (int n = 0; error_of(&scenarios[i], (enum call)(k / 2), k % 2, n);
			     n++)
				hits++;
	assert_true(hits > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(crashes),
	    cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
