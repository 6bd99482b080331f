/* SPDX-License-Identifier: MIT */
/* A long life among hostile scripts: one process runs hundreds of them, with limits of 10 ms
 * and a few MiB, and is afterwards what it was: its memory, its stack pool, its descriptors,
 * its signal handlers, and the next honest script's answer. */
#include "script_world.h"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Each ends by a limit or an error of its own; none by an answer. */
static const char *const hostile[] = {
    /* what is raised is caught, and caught again */
    "while true do pcall(function() while true do end end) end",
    "local function f() pcall(f) f() end f()",
    "xpcall(function() while true do end end, function() while true do end end)",
    "local function h(e) error(e) end while true do xpcall(error, h, {}) end",
    "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end",
    "while true do pcall(string.rep, 'x', 1 << 30) end",
    /* loops in C */
    "('a'):rep(28):find(('a?'):rep(28) .. ('a'):rep(28))",
    "('a'):rep(1e5):find(('a'):rep(5e4) .. 'b', 1, true) while true do end",
    "('('):rep(1e5):find('%b()') while true do ('('):rep(1e5):gsub('%b()', '') end",
    "table.move({}, 1, 1 << 62, 2)",
    "table.concat(setmetatable({}, {}))",
    "local t = {} for i = 62, 0, -1 do t[1 << i] = 1 end table.concat(t) table.insert(t, 1, 1)",
    "while true do pcall(string.format, ('%99.99f'):rep(50), 1e308) end",
    "while true do pcall(string.pack, 'c2147483647', '') end",
    "while true do pcall(table.unpack, {}, 1, 1e8) end",
    "local t = {} for i = 1, 3e6 do t[i] = -i end table.sort(t)",
    "local t = {} for i = 1, 2e4 do t[i] = i end while true do table.sort(t, function() return "
    "true end) end",
    /* bytecode and other ways out */
    "string.dump(print)",
    "load('return 1')()",
    "(''):dump()",
    "getmetatable('').__index = nil",
    "debug.sethook()",
    "os.exit(0)",
    "io.open('/etc/passwd')",
    "package.loadlib('libc.so.6', 'exit')",
    "coroutine.wrap(function() while true do end end)()",
    "collectgarbage('stop')",
    "local x <close> = {}",
    "\x1bLua",
    /* deep */
    "local function f() return 1 + f() end f()",
    "local function f() return (('x'):gsub('x', f)) end f()",
    "local t = {} for i = 1, 1e6 do t = {t} end return function() return t end",
    "local t = {} t[1] = t return function() return t end",
    "return function() local t = {} for i = 1, 30 do t = {t, t} end return t end",
    "cjson.decode(('['):rep(1e5))",
    "cjson.encode((function() local t = {} for i = 1, 100 do t = {t} end return t end)())",
    /* modules */
    "require '..'",
    "require '/etc/passwd'",
    "require 'a\\0b'",
    "while true do pcall(require, 'm' .. math.random(1e9)) end",
    "require 'ring'",
    "while true do pcall(require, 'broken') end",
    /* output */
    "while true do print(('x'):rep(1000)) end",
    "while true do hcp.log.warn({}, print, nil) end",
    "hcp.fail(('x'):rep(1e6))",
    "error(setmetatable)",
    "error({})",
    "return function() return ('\\xff'):rep(10) end",
    "return function() return ('x'):rep(2e6) end",
    "string.find = nil pcall = nil tostring = nil error = nil while true do end",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

static const struct file files[] = {
    {"ring.lua", "return require 'ring2'", 0},
    {"ring2.lua", "return require 'ring'", 0},
    {"broken.lua", "return {", 0},
    {NULL, NULL, 0},
};

static void drop_line(void *user, int level, const char *line, size_t len)
{
	(void)user;
	(void)level;
	(void)line;
	(void)len;
}

static void run_hostile(struct script_pool *pool, size_t i)
{
	struct world w;

	world_open(&w, SCRIPT_VERB);
	w.files = files;
	w.call.pool = pool;
	w.call.host.log = drop_line;
	w.call.limits.script_ms = 10;
	w.call.limits.memory = 8 << 20;
	world_run(&w, hostile[i % HOSTILE]);
	if (w.rc == 0)
		fail_msg("%s\n  gave an answer", hostile[i % HOSTILE]);
	if (strncmp(w.err.text, "script: ", 8) != 0 && !w.result.own_message)
		fail_msg("%s\n  %s", hostile[i % HOSTILE], w.err.text);
	world_close(&w);
}

static void run_honest(struct script_pool *pool)
{
	struct world w;

	world_open(&w, SCRIPT_VERB);
	w.call.pool = pool;
	assert_string_equal(
	    world_says(&w, "return function() return {('a-b'):find('-', 1, true), "
			   "type(pcall), type(error), tostring(1), #cjson.empty_array} end"),
	    "[2,\"function\",\"function\",\"1\",0]");
	world_close(&w);
}

static size_t descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void run_many(struct script_pool *pool, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		run_hostile(pool, i);
		if (i % 50 == 49)
			run_honest(pool);
	}
	malloc_trim(0);
}

#define RUNS 500
/* Freed pieces that the C library keeps for a thread count as held. */
#define CACHE (256 << 10)
#ifdef __SANITIZE_ADDRESS__
/* What is freed is kept apart for a while; leaks are found at the end. */
#define SLACK_KIB (512 << 10)
#else
#define SLACK_KIB 1024
#endif

static void test_a_process_outlives_them(void **state)
{
	struct script_pool *pool = script_pool_new();
	const char *asked = getenv("HOSTILE_RUNS");
	size_t runs = asked ? strtoul(asked, NULL, 10) : RUNS, fds = descriptors();
	struct sigaction before, after;
	struct mallinfo2 held;
	long resident;

	(void)state;
	assert_non_null(pool);
	assert_int_equal(sigaction(SIGALRM, NULL, &before), 0);
	run_many(pool, 2 * HOSTILE);
	held = mallinfo2();
	resident = resident_kib();
	run_many(pool, runs);
	assert_in_range(mallinfo2().uordblks, 0, held.uordblks + CACHE);
	assert_in_range(resident_kib(), 0, resident + SLACK_KIB);
	assert_int_equal(descriptors(), fds);
	assert_int_equal(sigaction(SIGALRM, NULL, &after), 0);
	assert_true(before.sa_handler == after.sa_handler);
	script_pool_free(pool);
}

/* ---- nothing stays, whoever left it ---- */

static const char leave[] =
    "x = 1 string.x = 1 table.x = 1 math.x = 1 hcp.x = 1 cjson.x = 1 os.x = 1 utf8.x = 1\n"
    "string.find = nil pcall = nil cjson.empty_array[1] = 1 require('shared').x = 1\n"
    "math.random = function() return 4 end ";
static const char look[] =
    "local seen = {}\n"
    "for name, t in pairs{string = string, table = table, math = math, hcp = hcp,\n"
    "  cjson = cjson, os = os, utf8 = utf8, shared = require 'shared'} do\n"
    "  if t.x ~= nil then seen[#seen + 1] = name end\n"
    "end\n"
    "if rawget(_ENV, 'x') then seen[#seen + 1] = 'globals' end\n"
    "if ('x'):find('x') ~= 1 or not pcall then seen[#seen + 1] = 'functions' end\n"
    "if #cjson.empty_array ~= 0 then seen[#seen + 1] = 'empty_array' end\n"
    "if math.random(1 << 40) == 4 then seen[#seen + 1] = 'random' end\n"
    "local what = 'saw ' .. table.concat(seen, ' ') ";

static const struct {
	enum script_role role;
	const char *end, *found; /* how the role tells */
} roles[] = {
    {SCRIPT_VERB, "return function() return what end", "\"saw \""},
    {SCRIPT_ADAPTER, "return {run = function() return what end}", "\"saw \""},
    {SCRIPT_AUTH, "return function() return {id = what} end", "{\"id\":\"saw \"}"},
    {SCRIPT_GUARD, "return function() return false, what end", "saw "},
    {SCRIPT_MINT, "return function() return nil, what end", "saw "},
};
#define ROLES (sizeof(roles) / sizeof(roles[0]))

static void run_role(struct script_pool *pool, size_t role, const char *front)
{
	static const struct file shared[] = {{"shared.lua", "return {}", 0}, {NULL, NULL, 0}};
	char source[2048];
	struct world w;

	world_open(&w, roles[role].role);
	w.files = shared;
	w.call.pool = pool;
	w.call.export = roles[role].role == SCRIPT_ADAPTER ? "run"
			: roles[role].role == SCRIPT_MINT  ? "mint"
							   : NULL;
	snprintf(source, sizeof(source), "local what = 'left'\n%s\n%s", front, roles[role].end);
	world_run(&w, source);
	assert_int_equal(w.rc, 0);
	if (front == look)
		assert_string_equal(w.result.result.len ? w.result.result.data
							: w.result.reason.data,
				    roles[role].found);
	world_close(&w);
}

static void test_every_role_begins_afresh(void **state)
{
	struct script_pool *pool = script_pool_new();

	(void)state;
	for (size_t from = 0; from < ROLES; from++)
		for (size_t to = 0; to < ROLES; to++) {
			run_role(pool, from, leave);
			run_role(pool, to, look);
		}
	script_pool_free(pool);
}

/* 32 calls, each with a generator of its own seed. */
static void test_random_state_is_nobodys(void **state)
{
	char seen[32][40];
	struct world w;

	(void)state;
	for (size_t i = 0; i < 32; i++) {
		world_open(&w, SCRIPT_VERB);
		snprintf(seen[i], sizeof(seen[i]), "%.38s",
			 world_says(&w, "return function() return math.random(0) end"));
		world_close(&w);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(seen[i], seen[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_process_outlives_them),
	    cmocka_unit_test(test_every_role_begins_afresh),
	    cmocka_unit_test(test_random_state_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
