/* SPDX-License-Identifier: MIT */
/* Limits that hold for a run's tree as a whole, where the operator names a cgroup v2 folder
 * that is delegated to the runtime. The init joins it before it does anything, so that nothing
 * of the run is outside. What can't be set fails the run: a limit that doesn't hold isn't one.
 */
#include "box/cgroup.h"

#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PREFIX      "hcp-"
#define FOLDER      (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEATH_MS    30000 /* for the kernel to take a killed tree down */
#define POLL_MIN_NS 10000000ll

static int unavailable(struct hcp_err *err, const char *what)
{
	return hcp_fail_errno(err, "sandbox: cgroup unavailable: %s", what);
}

static int write_file(int dir, const char *name, const char *text)
{
	AUTO_FD fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t len = strlen(text);

	return fd >= 0 && write(fd, text, len) == (ssize_t)len ? 0 : -1;
}

static int read_file(int dir, const char *name, char *out, size_t size)
{
	AUTO_FD fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -1 : 0;
}

static int set(int dir, const char *name, int64_t value, struct hcp_err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return write_file(dir, name, text) < 0 ? unavailable(err, name) : 0;
}

/* ---- the operator's folder */

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = strstr(list, word); p; p = strstr(p + 1, word))
		if ((p == list || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\n' || !p[len]))
			return true;
	return false;
}

static int enable_controllers(int parent, const char *path, struct hcp_err *err)
{
	char have[256], on[256];

	if (read_file(parent, "cgroup.controllers", have, sizeof(have)) < 0 ||
	    read_file(parent, "cgroup.subtree_control", on, sizeof(on)) < 0)
		return unavailable(err, path);
	if (!has_word(have, "memory") || !has_word(have, "pids"))
		return hcp_fail(err, HCP_E_CONFIG,
				"sandbox: cgroup unavailable: %s isn't given the controllers "
				"memory and pids",
				path);
	if (has_word(on, "memory") && has_word(on, "pids"))
		return 0;
	if (write_file(parent, "cgroup.subtree_control", "+memory +pids") == 0)
		return 0;
	if (errno == EBUSY)
		return hcp_fail(err, HCP_E_CONFIG,
				"sandbox: cgroup unavailable: there are processes in %s "
				"itself: name an empty folder",
				path);
	return unavailable(err, "cgroup.subtree_control");
}

static int open_parent(const char *path, struct cgroup *out, struct hcp_err *err)
{
	struct statfs fs;

	out->parent_fd = fd_above_stdio(open(path, FOLDER));
	if (out->parent_fd < 0 || fstatfs(out->parent_fd, &fs) < 0)
		return unavailable(err, path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return hcp_fail(err, HCP_E_CONFIG,
				"sandbox: cgroup unavailable: %s is no cgroup v2 folder", path);
	return enable_controllers(out->parent_fd, path, err);
}

/* ---- the run's */

/* A folder that nobody locks is of a runtime that was killed; so is what runs in it. One that
 * isn't empty yet is swept by a later run. */
static void sweep(int parent)
{
	int copy = openat(parent, ".", FOLDER);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		AUTO_FD fd = -1;

		if (!str_starts(e->d_name, PREFIX))
			continue;
		fd = openat(parent, e->d_name, FOLDER);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (write_file(fd, "cgroup.kill", "1") == 0)
			unlinkat(parent, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	else
		fd_close(&copy);
}

/* Another run's sweep may take the folder between its making and its locking. */
static int make_locked(struct cgroup *c, struct hcp_err *err)
{
	struct stat st;

	for (int tries = 0; tries < 100; tries++) {
		if (mkdirat(c->parent_fd, c->name, 0700) < 0 && errno != EEXIST)
			return unavailable(err, c->name);
		c->fd = fd_above_stdio(openat(c->parent_fd, c->name, FOLDER));
		if (c->fd < 0 && errno != ENOENT)
			return unavailable(err, c->name);
		if (c->fd >= 0 && flock(c->fd, LOCK_EX | LOCK_NB) == 0 &&
		    fstatat(c->parent_fd, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return 0;
		fd_close(&c->fd);
	}
	return hcp_fail(err, HCP_E_SYS, "sandbox: cgroup unavailable: %s can't be locked",
			c->name);
}

static int set_limits(const struct cgroup *c, const struct policy_limits *l,
		      struct hcp_err *err)
{
	if (set(c->fd, "memory.max", l->memory, err) < 0 ||
	    set(c->fd, "memory.oom.group", 1, err) < 0 ||
	    set(c->fd, "pids.max", l->processes + 1, err) < 0) /* the init */
		return -1;
	/* it isn't there where the kernel doesn't count what is swapped out */
	if (write_file(c->fd, "memory.swap.max", "0") < 0 && errno != ENOENT)
		return unavailable(err, "memory.swap.max");
	return 0;
}

int cgroup_open(const char *parent, const char *run_id, const struct policy_limits *limits,
		struct cgroup *out, struct hcp_err *err)
{
	struct hcp_err ignored = {0};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*out = CGROUP_NONE;
	out->cpus = cpus > 0 ? (int)cpus : 1;
	out->cpu_limit_us = limits->cpu_ms * 1000;
	snprintf(out->name, sizeof(out->name), PREFIX "%s", run_id);
	if (open_parent(parent, out, err) == 0) {
		sweep(out->parent_fd);
		if (make_locked(out, err) == 0 && set_limits(out, limits, err) == 0)
			return 0;
	}
	/* the first error is the one to tell */
	if (cgroup_close(out, &ignored) < 0)
		ignored.code = HCP_E_NONE;
	return -1;
}

/* ---- while it runs */

static int64_t cpu_used_us(const struct cgroup *c)
{
	static const char key[] = "usage_usec ";
	char text[1024];
	const char *at;

	if (read_file(c->fd, "cpu.stat", text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, key);
	return at ? strtoll(at + sizeof(key) - 1, NULL, 10) : -1;
}

/* What can't be read can't be granted. */
int64_t cgroup_cpu_left_ns(const struct cgroup *c)
{
	int64_t used = cpu_used_us(c), left;

	if (used < 0 || used >= c->cpu_limit_us)
		return 0;
	left = (c->cpu_limit_us - used) * 1000 / c->cpus;
	return left < POLL_MIN_NS ? POLL_MIN_NS : left;
}

/* ---- afterwards */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A read is what the next change is measured against. */
static int wait_empty(int dir, struct hcp_err *err)
{
	AUTO_FD fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	int64_t until = now_ms() + DEATH_MS, left;
	char text[256];
	ssize_t n;

	while ((n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0)) >= 0) {
		struct pollfd p = {.fd = fd, .events = POLLPRI};

		text[n] = '\0';
		if (strstr(text, "populated 0"))
			return 0;
		left = until - now_ms();
		if (left <= 0)
			return hcp_fail(err, HCP_E_SYS,
					"sandbox: cgroup unavailable: a killed process does "
					"not end");
		poll(&p, 1, (int)left);
	}
	return unavailable(err, "cgroup.events");
}

int cgroup_close(struct cgroup *c, struct hcp_err *err)
{
	int rc = 0;

	if (c->fd >= 0) {
		if (write_file(c->fd, "cgroup.kill", "1") < 0)
			rc = unavailable(err, "cgroup.kill");
		else
			rc = wait_empty(c->fd, err);
		if (rc == 0 && unlinkat(c->parent_fd, c->name, AT_REMOVEDIR) < 0)
			rc = unavailable(err, c->name);
	}
	fd_close(&c->fd);
	fd_close(&c->parent_fd);
	return rc;
}
