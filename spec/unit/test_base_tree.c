/* SPDX-License-Identifier: MIT */
#include "base/tree.h"

#include "base/fd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct ground {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	static struct ground g;

	strcpy(g.path, "/tmp/hcp-tree-XXXXXX");
	assert_non_null(mkdtemp(g.path));
	g.fd = open(g.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(g.fd >= 0);
	*state = &g;
	return 0;
}

static int tear_down(void **state)
{
	struct ground *g = *state;
	struct hcp_err err = {0};
	int rc = tree_remove(AT_FDCWD, g->path, &err);

	close(g->fd);
	return rc;
}

static void put(int dirfd, const char *name, size_t len)
{
	static const char zeros[4096];
	int fd = openat(dirfd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (; len > 0; len -= len < sizeof(zeros) ? len : sizeof(zeros))
		assert_true(write(fd, zeros, len < sizeof(zeros) ? len : sizeof(zeros)) > 0);
	close(fd);
}

static void removes_what_programs_leave(void **state)
{
	struct ground *g = *state;
	struct hcp_err err = {0};
	struct stat st;

	assert_int_equal(mkdirat(g->fd, "keep", 0755), 0);
	assert_int_equal(mkdirat(g->fd, "out", 0755), 0);
	put(g->fd, "keep/safe", 10);
	put(g->fd, "out/file", 10);
	assert_int_equal(mkdirat(g->fd, "out/sub", 0700), 0);
	put(g->fd, "out/sub/x", 10);
	assert_int_equal(symlinkat("../keep", g->fd, "out/link"), 0);
	assert_int_equal(symlinkat("/nowhere", g->fd, "out/dangling"), 0);
	assert_int_equal(mkfifoat(g->fd, "out/fifo", 0600), 0);
	assert_int_equal(fchmodat(g->fd, "out/sub", 0, 0), 0);
	assert_int_equal(tree_remove(g->fd, "out", &err), 0);
	assert_int_equal(fstatat(g->fd, "out", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(g->fd, "keep/safe", &st, 0), 0);
	/* a link is removed, not what it leads to */
	assert_int_equal(symlinkat("keep", g->fd, "out"), 0);
	assert_int_equal(tree_remove(g->fd, "out", &err), 0);
	assert_int_equal(fstatat(g->fd, "keep/safe", &st, 0), 0);
	assert_int_equal(tree_remove(g->fd, "out", &err), 0);
}

/* Deeper than any path, and twice as deep as one round goes. */
static void removes_any_depth(void **state)
{
	struct ground *g = *state;
	struct hcp_err err = {0};
	struct stat st;
	int at, next;

	assert_int_equal(mkdirat(g->fd, "deep", 0700), 0);
	at = openat(g->fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdirat(at, "d", 0700), 0);
		if (i % 100 == 0)
			put(at, ".hcp-0", 1);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
	assert_int_equal(tree_remove(g->fd, "deep", &err), 0);
	assert_int_equal(fstatat(g->fd, "deep", &st, 0), -1);
}

static void measures(void **state)
{
	struct ground *g = *state;
	struct hcp_err err = {0};
	int64_t bytes = -1, more;

	assert_int_equal(tree_measure(g->fd, INT64_MAX, &bytes, &err), 0);
	assert_int_equal(bytes, 0);
	put(g->fd, "a", 100000);
	assert_int_equal(symlinkat("/usr", g->fd, "link"), 0);
	assert_int_equal(tree_measure(g->fd, INT64_MAX, &bytes, &err), 0);
	assert_in_range(bytes, 100000, 120000);
	assert_int_equal(mkdirat(g->fd, "d", 0700), 0);
	put(g->fd, "d/b", 100000);
	assert_int_equal(tree_measure(g->fd, INT64_MAX, &more, &err), 0);
	assert_in_range(more, bytes + 100000, bytes + 120000);
	/* empty files count, too */
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "e%d", i);
		put(g->fd, name, 0);
	}
	assert_int_equal(tree_measure(g->fd, INT64_MAX, &bytes, &err), 0);
	assert_true(bytes >= more + 100 * 512);
	assert_int_equal(tree_measure(g->fd, 1000, &bytes, &err), 0);
	assert_true(bytes > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(removes_what_programs_leave, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(removes_any_depth, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(measures, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
