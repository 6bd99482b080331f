/* SPDX-License-Identifier: MIT */
/* Finding a pack, reading its folder once, and the digest over what was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "pack_folder.h"

#include <sys/socket.h>
#include <sys/un.h>

#define MANIFEST                                                                               \
	"hcp: 1\npack_id: demo\nversion: 1.0.0\nsummary: A demo\nwrap: { bin: ./bin/demo }\n"  \
	"commands: { go: { summary: Go } }\n"

static void open_demo(struct folder *f)
{
	folder_open(f);
	folder_put(f, "packs/demo/pack.yaml", MANIFEST);
	folder_put(f, "packs/demo/bin/demo", "#!/bin/sh\n");
	folder_chmod(f, "packs/demo/bin/demo", 0755);
	folder_put(f, "packs/demo/lib/a.lua", "return 1\n");
}

static const char *path_of(const struct folder *f, const char *rel, char out[512])
{
	snprintf(out, 512, "%s/%s", f->path, rel);
	return out;
}

static void not_there(void **state)
{
	char path[512];
	struct folder f;

	(void)state;
	folder_open(&f);
	folder_expect(&f, "demo", "unknown pack demo");
	folder_put(&f, "packs/other/pack.yaml", MANIFEST);
	folder_expect(&f, "demo", "unknown pack demo");
	folder_put(&f, "packs/demo/README", "no manifest\n");
	folder_expect(&f, "demo",
		      "unknown pack demo: packs/demo/pack.yaml: No such file or directory");
	folder_expect(&f, "Demo", "unknown pack Demo");
	/* a folder that can't be looked into is not one that isn't there */
	folder_put(&f, "packs/file", "x");
	folder_expect(&f, "file", "unknown pack file: packs/file: Not a directory");
	assert_int_equal(symlink("demo", path_of(&f, "packs/link", path)), 0);
	assert_null(folder_load(&f, "link"));
	assert_non_null(strstr(f.err.text, "unknown pack link: packs/link"));
	f.set.packs.count = 0;
	folder_expect(&f, "demo", "unknown pack demo");
	folder_close(&f);
}

/* The settings name a folder that isn't there, so that any look at the disk would be an error
 * of its own. */
static void illegal_ids(void **state)
{
	static const char *const ids[][2] = {
	    {"", ""},
	    {"..", ".."},
	    {"../demo", "../demo"},
	    {"/etc", "/etc"},
	    {"a/b", "a/b"},
	    {"a..b", "a..b"},
	    {".demo", ".demo"},
	    {"-demo", "-demo"},
	    {"de mo", "de mo"},
	    {"d\xc3\xa9mo", "d\xc3\xa9mo"},
	    {"a\nb\x1b[31m", "a?b?[31m"},
	    {"\xff\xc0x", "??x"},
	};
	char id[300], shown[128];
	struct folder f;

	(void)state;
	folder_open(&f);
	f.dirs[0] = "packs/../..";
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(shown, sizeof(shown), "unknown pack %s", ids[i][1]);
		folder_expect(&f, ids[i][0], shown);
	}
	memset(id, 'a', sizeof(id));
	id[sizeof(id) - 1] = '\0';
	snprintf(shown, sizeof(shown), "unknown pack %.64s", id);
	folder_expect(&f, id, shown);
	folder_close(&f);
}

static void several_parents(void **state)
{
	char absolute[512];
	struct folder f;

	(void)state;
	open_demo(&f);
	f.dirs[0] = "mine";
	f.dirs[1] = path_of(&f, "packs", absolute);
	f.set.packs.count = 2;
	assert_non_null(folder_load(&f, "demo"));
	assert_true(strncmp(f.pack->shown, absolute, strlen(absolute)) == 0);
	/* the first one decides, sound or not */
	folder_put(&f, "mine/demo/pack.yaml", "hcp: 2\n");
	assert_null(folder_load(&f, "demo"));
	assert_non_null(strstr(f.err.text, "unknown pack demo: mine/demo/pack.yaml:1: "));
	folder_put(&f, "mine/demo/pack.yaml", NULL);
	folder_expect(&f, "demo",
		      "unknown pack demo: mine/demo/pack.yaml: No such file or directory");
	folder_put(&f, "mine/demo/pack.yaml", MANIFEST);
	assert_non_null(folder_load(&f, "demo"));
	assert_string_equal(f.pack->shown, "mine/demo");
	folder_chmod(&f, "mine", 0777);
	assert_null(folder_load(&f, "demo"));
	assert_non_null(strstr(f.err.text, "mine is writable by others: chmod "));
	folder_close(&f);
}

static void writable_by_others(void **state)
{
	static const char *const what[] = {
	    "packs/demo",          "packs/demo/pack.yaml", "packs/demo/bin",
	    "packs/demo/bin/demo", "packs/demo/lib/a.lua",
	};
	char begin[256];
	struct folder f;
	struct stat st;

	(void)state;
	open_demo(&f);
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		assert_int_equal(fstatat(f.root.fd, what[i], &st, 0), 0);
		folder_chmod(&f, what[i], 0757);
		snprintf(begin, sizeof(begin),
			 "unknown pack demo: %s is writable by others: chmod ", what[i]);
		assert_null(folder_load(&f, "demo"));
		assert_true(strncmp(f.err.text, begin, strlen(begin)) == 0);
		folder_chmod(&f, what[i], st.st_mode & 07777);
	}
	if (geteuid() == 0) {
		assert_int_equal(fchownat(f.root.fd, what[3], 12345, 0, 0), 0);
		assert_null(folder_load(&f, "demo"));
		assert_non_null(
		    strstr(f.err.text, "packs/demo/bin/demo is owned by uid 12345"));
		assert_int_equal(fchownat(f.root.fd, what[3], 0, 0, 0), 0);
	}
	assert_non_null(folder_load(&f, "demo"));
	folder_close(&f);
}

static void odd_objects(void **state)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char path[512];
	struct folder f;
	int s;

	(void)state;
	open_demo(&f);
	assert_int_equal(mkfifo(path_of(&f, "packs/demo/bin/pipe", path), 0600), 0);
	folder_expect(&f, "demo",
		      "unknown pack demo: packs/demo/bin/pipe is neither a file nor a folder "
		      "nor a link");
	unlink(path);
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/packs/demo/sock", f.path);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
	folder_expect(&f, "demo",
		      "unknown pack demo: packs/demo/sock is neither a file nor a folder nor a "
		      "link");
	close(s);
	unlink(sun.sun_path);
	/* a FIFO in place of the manifest doesn't hang */
	unlink(path_of(&f, "packs/demo/pack.yaml", path));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(folder_load(&f, "demo"));
	unlink(path);
	/* nor is a link followed there */
	assert_int_equal(symlink("other.yaml", path), 0);
	folder_put(&f, "packs/demo/other.yaml", MANIFEST);
	folder_expect(&f, "demo",
		      "unknown pack demo: packs/demo/pack.yaml is not a regular file");
	folder_close(&f);
}

static void limits(void **state)
{
	char deep[256] = "packs/demo", path[512];
	struct folder f;
	int fd;

	(void)state;
	open_demo(&f);
	folder_put(&f, "packs/demo/big.lua", "return 1\n");
	assert_int_equal(truncate(path_of(&f, "packs/demo/big.lua", path), LIMIT_SCRIPT + 1),
			 0);
	assert_null(folder_load(&f, "demo"));
	assert_non_null(strstr(f.err.text, "packs/demo/big.lua: is over"));
	folder_put(&f, "packs/demo/big.lua", NULL);
	folder_put(&f, "packs/demo/big", "");
	fd = open(path_of(&f, "packs/demo/big", path), O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, LIMIT_PACK_BYTES + 1), 0);
	close(fd);
	folder_expect(&f, "demo", "unknown pack demo: packs/demo holds more than 256M");
	folder_put(&f, "packs/demo/big", NULL);
	for (int i = 0; i <= LIMIT_PACK_DEPTH; i++)
		strcat(deep, "/d");
	strcat(deep, "/x");
	folder_put(&f, deep, "x");
	assert_null(folder_load(&f, "demo"));
	assert_non_null(strstr(f.err.text, "folders nested deeper than 16"));
	folder_close(&f);
}

static void kept_texts(void **state)
{
	const struct pack_file *file;
	char path[512];
	struct folder f;
	struct stat a, b;

	(void)state;
	open_demo(&f);
	assert_int_equal(symlink("/etc/passwd", path_of(&f, "packs/demo/lib/l.lua", path)), 0);
	assert_non_null(folder_load(&f, "demo"));
	assert_string_equal(pack_file(f.pack, "pack.yaml")->text, MANIFEST);
	assert_string_equal(pack_file(f.pack, "lib/a.lua")->text, "return 1\n");
	assert_null(pack_file(f.pack, "bin/demo")->text);
	assert_int_equal(pack_file(f.pack, "bin/demo")->size, 10);
	assert_true(S_ISDIR(pack_file(f.pack, "bin")->mode));
	assert_null(pack_file(f.pack, "bin/"));
	assert_null(pack_file(f.pack, "lib/../pack.yaml"));
	file = pack_file(f.pack, "lib/l.lua");
	assert_true(S_ISLNK(file->mode));
	assert_null(file->text);
	assert_int_equal(file->size, strlen("/etc/passwd"));
	for (size_t i = 1; i < f.pack->file_count; i++)
		assert_true(strcmp(f.pack->files[i - 1].path, f.pack->files[i].path) < 0);
	assert_int_equal(stat(f.pack->path, &a), 0);
	assert_int_equal(fstat(f.pack->fd, &b), 0);
	assert_true(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
	folder_close(&f);
}

/* Loads, and says whether the digest is another than `digest`, which it then becomes. */
static bool changed(struct folder *f, char digest[72])
{
	bool other;

	if (!folder_load(f, "demo"))
		fail_msg("%s", f->err.text);
	assert_int_equal(strlen(f->pack->digest), 71);
	other = strcmp(digest, f->pack->digest) != 0;
	strcpy(digest, f->pack->digest);
	return other;
}

static void digest_changes(void **state)
{
	char digest[72] = "", from[512], to[512];
	struct folder f;

	(void)state;
	open_demo(&f);
	assert_true(changed(&f, digest));
	folder_put(&f, "packs/demo/lib/a.lua", "return 2\n");
	assert_true(changed(&f, digest));
	folder_put(&f, "packs/demo/data", "x");
	assert_true(changed(&f, digest));
	folder_put(&f, "packs/demo/data", "");
	assert_true(changed(&f, digest));
	folder_put(&f, "packs/demo/pack.yaml", MANIFEST "# a comment\n");
	assert_true(changed(&f, digest));
	folder_chmod(&f, "packs/demo/data", 0744);
	assert_true(changed(&f, digest));
	assert_int_equal(
	    rename(path_of(&f, "packs/demo/data", from), path_of(&f, "packs/demo/date", to)),
	    0);
	assert_true(changed(&f, digest));
	assert_int_equal(rename(to, path_of(&f, "packs/demo/lib/date", from)), 0);
	assert_true(changed(&f, digest));
	assert_int_equal(mkdir(path_of(&f, "packs/demo/empty", to), 0755), 0);
	assert_true(changed(&f, digest));
	assert_int_equal(symlink("a", path_of(&f, "packs/demo/link", to)), 0);
	assert_true(changed(&f, digest));
	unlink(to);
	assert_int_equal(symlink("b", to), 0);
	assert_true(changed(&f, digest));
	unlink(to);
	folder_put(&f, "packs/demo/link", "b");
	assert_true(changed(&f, digest));
	folder_put(&f, "packs/demo/.git/HEAD", "ref");
	assert_true(changed(&f, digest));
	folder_close(&f);
}

static void digest_stays(void **state)
{
	static const struct timespec then[2] = {{1, 0}, {1, 0}};
	char digest[72] = "", path[512];
	struct folder f, g;

	(void)state;
	open_demo(&f);
	assert_true(changed(&f, digest));
	assert_false(changed(&f, digest));
	assert_int_equal(utimensat(f.root.fd, "packs/demo/pack.yaml", then, 0), 0);
	folder_chmod(&f, "packs/demo/pack.yaml", 0600);
	folder_chmod(&f, "packs/demo/bin/demo", 0500);
	folder_chmod(&f, "packs/demo/bin", 0700);
	assert_false(changed(&f, digest));
	/* a copy elsewhere, its files made in another order, is the same pack */
	folder_open(&g);
	folder_put(&g, "packs/demo/lib/a.lua", "return 1\n");
	folder_put(&g, "packs/demo/bin/demo", "#!/bin/sh\n");
	folder_chmod(&g, "packs/demo/bin/demo", 0755);
	folder_put(&g, "packs/demo/pack.yaml", MANIFEST);
	assert_false(changed(&g, digest));
	/* what a link names isn't the pack's */
	assert_int_equal(symlink("/tmp", path_of(&g, "packs/demo/l", path)), 0);
	assert_true(changed(&g, digest));
	folder_close(&g);
	folder_close(&f);
}

/* The format is a promise: operators pin what it gives. */
static void digest_pinned(void **state)
{
	struct folder f;

	(void)state;
	open_demo(&f);
	assert_non_null(folder_load(&f, "demo"));
	assert_string_equal(f.pack->digest, "sha256:f02405fd87efb7ad84ac1505b044ee92"
					    "86359a2ac311688f56f4c021e2f58e88");
	folder_close(&f);
}

static void listing(void **state)
{
	struct conf_strings out;
	struct arena a = {0};
	struct folder f;
	char path[512];

	(void)state;
	open_demo(&f);
	folder_put(&f, "packs/b.roken/pack.yaml", "]");
	folder_put(&f, "packs/.hidden/pack.yaml", MANIFEST);
	folder_put(&f, "packs/zed/README", "none");
	folder_put(&f, "packs/README", "none");
	assert_int_equal(symlink("demo", path_of(&f, "packs/link", path)), 0);
	folder_put(&f, "more/zed/pack.yaml", MANIFEST);
	folder_put(&f, "more/demo/pack.yaml", MANIFEST);
	folder_put(&f, "more/alpha/pack.yaml", MANIFEST);
	assert_int_equal(pack_list(&f.root, &f.set, &a, &out, &f.err), 0);
	assert_int_equal(out.count, 2);
	assert_string_equal(out.items[0], "b.roken");
	assert_string_equal(out.items[1], "demo");
	f.dirs[1] = "more";
	f.set.packs.count = 2;
	assert_int_equal(pack_list(&f.root, &f.set, &a, &out, &f.err), 0);
	assert_int_equal(out.count, 3);
	assert_string_equal(out.items[0], "alpha");
	assert_string_equal(out.items[2], "demo");
	folder_expect(&f, "zed",
		      "unknown pack zed: packs/zed/pack.yaml: No such file or directory");
	f.dirs[0] = "none";
	f.dirs[1] = "/nonexistent/packs";
	folder_expect(&f, "zed", "unknown pack zed");
	assert_int_equal(pack_list(&f.root, &f.set, &a, &out, &f.err), 0);
	assert_int_equal(out.count, 0);
	folder_chmod(&f, "packs", 0777);
	f.dirs[1] = "packs";
	memset(&f.err, 0, sizeof(f.err));
	assert_int_equal(pack_list(&f.root, &f.set, &a, &out, &f.err), -1);
	assert_non_null(strstr(f.err.text, "/packs is writable by others"));
	arena_free(&a);
	folder_close(&f);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void no_descriptor_leaks(void **state)
{
	struct folder f;
	int before;

	(void)state;
	open_demo(&f);
	before = count_fds();
	assert_non_null(folder_load(&f, "demo"));
	assert_int_equal(count_fds(), before + 1);
	folder_put(&f, "packs/demo/pack.yaml", "[");
	assert_null(folder_load(&f, "demo"));
	assert_int_equal(count_fds(), before);
	folder_chmod(&f, "packs/demo/bin", 0777);
	assert_null(folder_load(&f, "demo"));
	assert_int_equal(count_fds(), before);
	folder_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(not_there),       cmocka_unit_test(illegal_ids),
	    cmocka_unit_test(several_parents), cmocka_unit_test(writable_by_others),
	    cmocka_unit_test(odd_objects),     cmocka_unit_test(limits),
	    cmocka_unit_test(kept_texts),      cmocka_unit_test(digest_changes),
	    cmocka_unit_test(digest_stays),    cmocka_unit_test(digest_pinned),
	    cmocka_unit_test(listing),         cmocka_unit_test(no_descriptor_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
