/* SPDX-License-Identifier: MIT */
/* A pack that was read is given again while nothing of it has changed, and never after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pack_folder.h"

#include <sys/resource.h>
#include <time.h>

#define MANIFEST                                                                               \
	"hcp: 1\npack_id: demo\nversion: 1.0.0\nsummary: A demo\nwrap: { bin: ./bin/demo }\n"  \
	"commands: { go: { summary: Go } }\n"

/* How long ago everything was written: only what has settled is kept. */
static time_t later = 10;

time_t __real_time(time_t *out);
time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
	time_t t = __real_time(NULL) + later;

	if (out)
		*out = t;
	return t;
}

struct cached {
	struct folder f;
	struct pack_cache cache;
	struct pack *first;
};

static struct pack *get(struct cached *c)
{
	struct pack *p;

	memset(&c->f.err, 0, sizeof(c->f.err));
	if (pack_cache_open(&c->cache, &c->f.root, &c->f.set, "demo", &p, &c->f.err) < 0)
		assert_null(p);
	return p;
}

static void begin(struct cached *c)
{
	struct pack *again;

	later = 10;
	folder_open(&c->f);
	folder_put(&c->f, "packs/demo/pack.yaml", MANIFEST);
	folder_put(&c->f, "packs/demo/bin/demo", "#!/bin/sh\n");
	folder_chmod(&c->f, "packs/demo/bin/demo", 0755);
	folder_put(&c->f, "packs/demo/lib/a.lua", "return 1\n");
	pack_cache_init(&c->cache);
	c->first = get(c);
	assert_non_null(c->first);
	again = get(c);
	assert_ptr_equal(again, c->first);
	pack_close(again);
}

static void end(struct cached *c)
{
	pack_close(c->first);
	pack_cache_free(&c->cache);
	folder_close(&c->f);
}

/* Another reading, with another digest where `differs`. */
static void expect_other(struct cached *c, bool differs)
{
	struct pack *p = get(c);

	assert_non_null(p);
	assert_ptr_not_equal(p, c->first);
	assert_int_equal(strcmp(p->digest, c->first->digest) != 0, differs);
	pack_close(p);
}

static void expect_refusal(struct cached *c, const char *text)
{
	assert_null(get(c));
	assert_string_equal(c->f.err.text, text);
}

static const char *path_of(const struct cached *c, const char *rel, char out[512])
{
	snprintf(out, 512, "%s/%s", c->f.path, rel);
	return out;
}

/* As long, and as old, as it was: the time of the change itself can't be set. */
static void same_size_and_time(void **state)
{
	struct timespec times[2];
	struct cached c;
	struct stat st;
	char path[512];
	int fd;

	(void)state;
	begin(&c);
	assert_int_equal(stat(path_of(&c, "packs/demo/lib/a.lua", path), &st), 0);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "return 2\n", 9, 0), 9);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	expect_other(&c, true);
	end(&c);
}

static void added_and_removed(void **state)
{
	struct cached c;

	(void)state;
	begin(&c);
	folder_put(&c.f, "packs/demo/lib/b.lua", "return 1\n");
	expect_other(&c, true);
	folder_put(&c.f, "packs/demo/lib/b.lua", NULL);
	expect_other(&c, false);
	folder_put(&c.f, "packs/demo/top.txt", "x");
	expect_other(&c, true);
	folder_put(&c.f, "packs/demo/pack.yaml", NULL);
	expect_refusal(&c, "unknown pack demo: packs/demo/pack.yaml: "
			   "No such file or directory");
	end(&c);
}

static void judged_again(void **state)
{
	struct cached c;
	char text[256];

	(void)state;
	begin(&c);
	folder_chmod(&c.f, "packs/demo/bin/demo", 0777);
	expect_refusal(&c, "unknown pack demo: packs/demo/bin/demo is writable by others: "
			   "chmod go-w packs/demo/bin/demo");
	folder_chmod(&c.f, "packs/demo/bin/demo", 0755);
	snprintf(text, sizeof(text),
		 "unknown pack demo: %s/packs is writable by others: chmod go-w %s/packs",
		 c.f.path, c.f.path);
	folder_chmod(&c.f, "packs", 0777);
	expect_refusal(&c, text);
	folder_chmod(&c.f, "packs", 0755);
	expect_other(&c, false);
	end(&c);
}

static void another_folder(void **state)
{
	char from[512], to[512];
	struct cached c;

	(void)state;
	begin(&c);
	assert_int_equal(rename(path_of(&c, "packs/demo", from), path_of(&c, "old", to)), 0);
	expect_refusal(&c, "unknown pack demo");
	folder_put(&c.f, "packs/demo/pack.yaml", MANIFEST);
	expect_other(&c, true);
	/* the same folder under another path: programs are shown where they are */
	assert_int_equal(rename(path_of(&c, "packs", from), path_of(&c, "more", to)), 0);
	c.f.dirs[0] = "more";
	expect_other(&c, true);
	end(&c);
}

static void an_earlier_folder(void **state)
{
	struct cached c;

	(void)state;
	begin(&c);
	c.f.dirs[0] = "first";
	c.f.dirs[1] = "packs";
	c.f.set.packs.count = 2;
	folder_put(&c.f, "first/demo/pack.yaml", MANIFEST);
	expect_other(&c, true);
	end(&c);
}

static void a_lock_appears(void **state)
{
	struct cached c;

	(void)state;
	begin(&c);
	folder_put(
	    &c.f, "hcp.lock",
	    "{\"hcp\":1,\"packs\":{\"demo\":{\"version\":\"1\",\"files\":{\"x\":\"d\"}}}}");
	expect_refusal(&c, "pack demo: digest mismatch: bin");
	end(&c);
}

/* Changed just before: a second change in the same moment would look like none. */
static void not_settled(void **state)
{
	struct pack *p;
	struct cached c;

	(void)state;
	begin(&c);
	later = 0;
	folder_put(&c.f, "packs/demo/lib/a.lua", "return 2\n");
	p = get(&c);
	assert_non_null(p);
	pack_close(c.first);
	c.first = p;
	expect_other(&c, false);
	end(&c);
}

/* A host may have few descriptors: what is kept takes none of the upper half. */
static void no_room(void **state)
{
	struct rlimit before, few;
	struct cached c;
	int taken[40];

	(void)state;
	begin(&c);
	folder_put(&c.f, "packs/demo/lib/a.lua", "return 2\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 64;
	for (int i = 0; i < 40; i++)
		taken[i] = dup(c.first->fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	pack_close(c.first);
	c.first = get(&c);
	assert_non_null(c.first);
	expect_other(&c, false);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < 40; i++)
		close(taken[i]);
	end(&c);
}

/* A reading lives as long as somebody has it, whatever the cache holds meanwhile. */
static void outlives_the_cache(void **state)
{
	struct cached c;

	(void)state;
	begin(&c);
	folder_put(&c.f, "packs/demo/lib/a.lua", "return 2\n");
	expect_other(&c, true);
	pack_cache_free(&c.cache);
	pack_cache_init(&c.cache);
	assert_string_equal(pack_file(c.first, "lib/a.lua")->text, "return 1\n");
	end(&c);
}

static void as_many_as_fit(void **state)
{
	struct cached c;
	char path[64], id[16];
	struct pack *p;

	(void)state;
	begin(&c);
	for (int i = 0; i < 2 * PACK_CACHE_SIZE; i++) {
		snprintf(id, sizeof(id), "p%d", i);
		snprintf(path, sizeof(path), "packs/p%d/pack.yaml", i);
		folder_put(&c.f, path, MANIFEST);
		assert_int_equal(
		    pack_cache_open(&c.cache, &c.f.root, &c.f.set, id, &p, &c.f.err), -1);
	}
	/* what isn't a pack takes nobody's place */
	p = get(&c);
	assert_ptr_equal(p, c.first);
	pack_close(p);
	for (int i = 0; i < 2 * PACK_CACHE_SIZE; i++) {
		char text[256];

		snprintf(id, sizeof(id), "p%d", i);
		snprintf(path, sizeof(path), "packs/p%d/pack.yaml", i);
		snprintf(text, sizeof(text),
			 "hcp: 1\npack_id: p%d\nversion: 1.0.0\nsummary: A demo\n"
			 "commands: { go: { summary: Go, kind: none } }\n",
			 i);
		folder_put(&c.f, path, text);
		assert_int_equal(
		    pack_cache_open(&c.cache, &c.f.root, &c.f.set, id, &p, &c.f.err), 0);
		pack_close(p);
	}
	expect_other(&c, false);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_size_and_time), cmocka_unit_test(added_and_removed),
	    cmocka_unit_test(judged_again),       cmocka_unit_test(another_folder),
	    cmocka_unit_test(an_earlier_folder),  cmocka_unit_test(a_lock_appears),
	    cmocka_unit_test(not_settled),        cmocka_unit_test(outlives_the_cache),
	    cmocka_unit_test(as_many_as_fit),     cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
