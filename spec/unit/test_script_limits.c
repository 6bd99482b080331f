/* SPDX-License-Identifier: MIT */
/* Hostile scripts. Whatever a script does, it ends soon after its limit, with the reason, and
 * nothing of its own holds that up. */
#include "script_world.h"

#include <time.h>

/* What this thread has worked: how busy the machine is decides nothing. */
static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#ifdef __SANITIZE_ADDRESS__
#define SLACK_MS 4000 /* allocation and our loops are slower, and machines are shared */
#else
#define SLACK_MS 1500
#endif

/* Runs with a time limit of 100 ms and as many instructions as there may be. */
static void assert_stops(const char *source)
{
	struct world w;
	int64_t began = now_ms(), took;

	world_open(&w, SCRIPT_VERB);
	w.call.limits.script_ms = 100;
	w.call.limits.instructions = INT64_MAX;
	world_run(&w, source);
	took = now_ms() - began;
	if (w.rc == 0 || !strstr(w.err.text, " limit of "))
		fail_msg("%s\n  ended with: %s", source, w.rc == 0 ? "a result" : w.err.text);
	if (took > 100 + SLACK_MS)
		fail_msg("%s\n  took %lld ms", source, (long long)took);
	world_close(&w);
}

static void assert_all_stop(const char *const *sources, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_stops(sources[i]);
}
#define STOP_ALL(list) assert_all_stop(list, sizeof(list) / sizeof((list)[0]))

static void test_messages(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	w.call.limits.script_ms = 50;
	w.call.limits.instructions = INT64_MAX;
	assert_string_equal(world_says(&w, "return function()\n while true do end end"),
			    "! script: time limit of 50ms exceeded at verbs/month.lua:2");
	assert_int_equal(w.err.code, HCP_E_TIMEOUT);
	script_limits_default(&w.call.limits);
	w.call.limits.instructions = 1000000;
	assert_string_equal(world_says(&w, "local x\n\nwhile true do x = 1 end"),
			    "! script: instruction limit of 1M exceeded at verbs/month.lua:3");
	assert_int_equal(w.err.code, HCP_E_LIMIT);
	script_limits_default(&w.call.limits);
	w.call.limits.memory = 1 << 20;
	assert_string_equal(world_says(&w, "local t = {}\nfor i = 1, 1e6 do\n t[i] = {i} end"),
			    "! script: memory limit of 1M exceeded at verbs/month.lua:3");
	assert_int_equal(w.err.code, HCP_E_LIMIT);
	assert_string_equal(world_says(&w, "\nlocal s = ('x'):rep(2^21 // 1)"),
			    "! script: memory limit of 1M exceeded at verbs/month.lua:2");
	world_close(&w);
}

static void test_nothing_swallows_the_end(void **state)
{
	static const char *const sources[] = {
	    "while true do pcall(function() while true do end end) end",
	    "while true do pcall(pcall, pcall, function() while true do end end) end",
	    "local function f() pcall(f) while true do pcall(f) end end f()",
	    "xpcall(function() while true do end end, function() while true do end end)",
	    "xpcall(error, function() while true do end end, 'x')",
	    "while true do xpcall(function() while true do end end, pcall, pcall) end",
	    "local function h() return xpcall(error, h) end while true do h() end",
	    "while true do pcall(string.rep, 'x', 1 << 40) end",
	    "while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) "
	    "end",
	    "while true do pcall(function() return ('x'):rep(1e8) end) end",
	    "while true do pcall(table.concat, {('x'):rep(1e7), ('x'):rep(1e7), "
	    "('x'):rep(1e7)}, ('x'):rep(1e7)) end",
	    "for _ = 1, 1e9 do pcall(error, ('x'):rep(1e6)) end",
	    "while true do pcall(require, 'nothing') end",
	    "while true do pcall(cjson.decode, '{') end",
	    "while true do pcall(hcp.fail, 'x') end",
	    "pcall(string.gsub, ('x'):rep(1e6), 'x', function() while true do end end)",
	    "pcall(table.sort, {1, 2, 3}, function() while true do end end)",
	    "for _ in pairs({1}) do while true do end end",
	    "goto a ::a:: goto a",
	};

	(void)state;
	STOP_ALL(sources);
}

static void test_patterns(void **state)
{
	static const char *const sources[] = {
	    "('a'):rep(28):find(('a?'):rep(28) .. ('a'):rep(28))",
	    "('a'):rep(40):find(('a*'):rep(20) .. 'b')",
	    "('a'):rep(1e5):find('.-.-.-.-b')",
	    "('a'):rep(1e5):match('(.*)(.*)(.*)b')",
	    "('('):rep(1e6):find('%b()')",
	    "('(('):rep(1e5):gsub('%b()', '')",
	    "for _ in ('a'):rep(30):gmatch(('a?'):rep(30) .. ('a'):rep(30) .. 'x') do end",
	    "('a'):rep(1e4):gsub('a-' .. 'a-' .. 'a-b', 'x')",
	    "('a'):rep(1e5):find('[' .. ('b'):rep(1e5) .. ']')",
	    "('a'):rep(1e6):find('%f[' .. ('b'):rep(1e6) .. ']')",
	    "while true do (('a'):rep(4e6)):find(('a'):rep(2e6) .. 'b', 1, true) end",
	    "local s = ('ab'):rep(4e6) while true do s:find('ba' .. ('ab'):rep(1e6), 1, true) "
	    "end",
	    "local s = ('a'):rep(2e6) while true do s:find('^(.*)%1b') end",
	    "local s = ('a'):rep(3e4) s:find('(a*)%1%1b')",
	    "local s = ('x '):rep(1e6) while true do s:gsub('%s', '') end",
	};

	(void)state;
	STOP_ALL(sources);
}

static void test_loops_in_c(void **state)
{
	static const char *const sources[] = {
	    "table.move({}, 1, 1 << 62, 2)",
	    "table.move({}, math.mininteger, -2, 1)",
	    "table.move({1}, 1, 1 << 40, 2, {})",
	    "local t = {} for i = 62, 0, -1 do t[1 << i] = 1 end table.insert(t, 1, 'x')",
	    "local t = {} for i = 62, 0, -1 do t[1 << i] = 1 end table.remove(t, 1)",
	    "local t = {} for i = 62, 0, -1 do t[1 << i] = 1 end while true do "
	    "pcall(table.concat, t) end",
	    "local t = {} for i = 62, 0, -1 do t[1 << i] = 1 end while true do "
	    "pcall(cjson.encode, t) end",
	    "local t = {} for i = 1, 3e6 do t[i] = -i end table.sort(t) while true do end",
	    "local t = {} for i = 1, 1e6 do t[i] = i end table.sort(t, function() return true "
	    "end)",
	    "local t = {} for i = 1, 1e6 do t[i] = i end while true do table.insert(t, 1, 0) "
	    "end",
	    "local t = {} for i = 1, 1e6 do t[i] = i end while true do table.remove(t, 1) "
	    "t[#t + 1] = 1 end",
	    "while true do pcall(table.unpack, {}, 1, 1e8) end",
	    "while true do pcall(table.unpack, {}, 1, 3e5) end",
	    "local s = ('x'):rep(1e7) while true do table.concat({s, s}) end",
	    "while true do ('').rep('', 1e15) end",
	    "while true do ('').rep('', 1 << 62, '') end",
	    "while true do pcall(string.rep, 'abc', 1 << 62) end",
	    "while true do local s = ('x'):rep(2e7) end",
	    "while true do pcall(string.format, '%' .. ('9'):rep(1e6) .. 'd', 1) end",
	    "local f = ('%99.99f'):rep(200) local t = {} for i = 1, 200 do t[i] = 1e308 end "
	    "while true do f:format(table.unpack(t)) end",
	    "while true do pcall(string.pack, 'c2147483647', '') end",
	    "while true do pcall(string.pack, ('c1000000'):rep(40), '') end",
	    "local s = (' '):rep(3e7) while true do pcall(string.unpack, s, '') end",
	    "local s = (' '):rep(3e7) .. '1' while true do local _ = tonumber(s) end",
	    "local s = (' '):rep(3e7) .. '1' while true do local _ = s | 1 end",
	    "local s = (' '):rep(3e7) .. '1' while true do local _ = s + 1 end",
	    "local s = ('x'):rep(3e7) while true do s:reverse() end",
	    "local s = ('x'):rep(2e7) while true do s:upper() s:lower() end",
	    "local s = ('x'):rep(3e7) while true do utf8.len(s) end",
	    "local s = ('x'):rep(3e7) while true do utf8.offset(s, 3e7 // 1) end",
	    "local a = ('x'):rep(2e7) local b = ('x'):rep(2e7) while true do local _ = a == b "
	    "end",
	    "local a = ('x'):rep(2e7) local b = ('x'):rep(2e7) while true do local _ = a < b "
	    "end",
	    "local a = ('x\\0'):rep(1e7) local b = ('x\\0'):rep(1e7) while true do "
	    "local _ = a < b end",
	    "while true do pcall(os.date, ('%c'):rep(1e6)) end",
	    "while true do os.date('%c') end",
	    "local t = {} for i = 1, 4e5 do t['k' .. i] = 1 end while true do next(t) "
	    "cjson.encode(t) end",
	    "local s = '[' .. ('[],'):rep(1e6) .. '1]' while true do cjson.decode(s) end",
	    "local s = '\"' .. ('\\\\u0041'):rep(1e6) .. '\"' while true do cjson.decode(s) "
	    "end",
	    "local s = ('9'):rep(1e7) while true do pcall(cjson.decode, s) end",
	    "local s = '' while true do s = s .. ('x'):rep(1e6) end",
	    "local s = 'x' while true do s = s .. s end",
	    "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
	    "local t = {} while true do t[{}] = t end",
	    "local function f(...) return f(1, ...) end f()",
	    "local t = table.pack(table.unpack({}, 1, 3e5)) local function f(...) "
	    "return select('#', ...) end while true do f(table.unpack(t, 1, 3e5)) end",
	};

	(void)state;
	STOP_ALL(sources);
	/* a result that would be a thousand million lists long is never built */
	assert_verb(
	    "local t = {} for i = 1, 30 do t = {t, t} end return function() return t end",
	    "! script: result: over 1M");
}

static void test_recursion(void **state)
{
	static const char *const sources[] = {
	    "local function f() return 1 + f() end while true do pcall(f) end",
	    "local function f() return pcall(f) end while true do f() end",
	    "local function f() return (('x'):gsub('x', f)) end while true do pcall(f) end",
	    "local function f() table.sort({1, 2}, f) end while true do pcall(f) end",
	    "local function f() return xpcall(f, f) end while true do f() end",
	    "local function f() for _ in ('x'):gmatch('x') do f() end end while true do "
	    "pcall(f) end",
	};

	(void)state;
	STOP_ALL(sources);
	/* C calls nest up to Lua's own limit and no further, on a stack that has room for them
	 */
	assert_verb("local n = 0 local function f() n = n + 1 return (('x'):gsub('x', f)) end "
		    "local ok, e = pcall(f) return function() return {ok, e, n > 150} end",
		    "[false,\"C stack overflow\",true]");
	assert_verb("local n = 0 local function f() n = n + 1 table.sort({1, 2}, f) end "
		    "local ok, e = pcall(f) return function() return {ok, n > 150} end",
		    "[false,true]");
	assert_verb("local function f() return pcall(f) end "
		    "return function() return (select('#', f()) > 100) end",
		    "true");
}

static char *nested(const char *open, const char *middle, const char *close, int n)
{
	size_t each = strlen(open) + strlen(close);
	char *s = malloc(each * (size_t)n + strlen(middle) + 1), *p = s;

	assert_non_null(s);
	for (int i = 0; i < n; i++)
		p = stpcpy(p, open);
	p = stpcpy(p, middle);
	for (int i = 0; i < n; i++)
		p = stpcpy(p, close);
	return s;
}

static void test_deep_sources(void **state)
{
	static const char *const rows[][3] = {
	    {"return (", "1", ")"},
	    {"local x = {", "", "}"},
	    {"do ", "", " end "},
	    {"if 1 then ", "", " end "},
	    {"local f = function() ", "", " end "},
	    {"return -", "1", ""},
	    {"return 1 .. ", "1", ""},
	    {"return not ", "1", ""},
	    {"x(", "", ")"},
	    {"return {{", "", "}}"},
	    {"while 1 do ", "", " end "},
	};
	struct world w;
	char *source;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		source = nested(rows[i][0], rows[i][1], rows[i][2], 30000);
		world_open(&w, SCRIPT_VERB);
		world_run(&w, source);
		assert_int_equal(w.rc, -1);
		world_close(&w);
		free(source);
	}
}

/* Any limit of memory gives a whole answer or the memory error, and at every limit another
 * allocation is the one that fails. */
static void test_every_allocation_may_fail(void **state)
{
	static const char source[] =
	    "local m = require 'm'\n"
	    "return function(args, ctx)\n"
	    "  local t = {}\n"
	    "  for i = 1, 20 do t[i] = {n = i, s = ('x'):rep(i), f = function() return i end} "
	    "end\n"
	    "  for i = 1, 20 do t[i].f = nil end\n"
	    "  table.sort(t, function(a, b) return a.n > b.n end)\n"
	    "  local s = cjson.encode(t):gsub('%d+', function(d) return d + 1 end)\n"
	    "  local ok, e = pcall(error, {s})\n"
	    "  pcall(string.rep, 'x', 4000)\n"
	    "  print(ok, e, m.x, math.pi, os.time())\n"
	    "  return {args, cjson.decode(s), ('%5d %s'):format(1, s), ctx.pack_id}\n"
	    "end\n";
	static const struct file files[] = {{"m.lua", "return {x = 1}", 0}, {NULL, NULL, 0}};
	struct world w;
	size_t failed = 0, passed = 0;

	(void)state;
	for (int64_t memory = 0; memory < 90000; memory += memory < 20000 ? 24 : 240) {
		world_open(&w, SCRIPT_VERB);
		w.files = files;
		w.call.limits.memory = memory;
		w.call.args[0] = world_json(&w, "{\"b\":[1,{\"z\":1,\"a\":2}],\"a\":\"text\"}");
		w.call.ctx = world_json(&w, "{\"pack_id\":\"ledger\"}");
		world_run(&w, source);
		if (w.rc == 0) {
			passed++;
		} else {
			failed++;
			if (w.err.code != HCP_E_LIMIT ||
			    !strstr(w.err.text, "script: memory limit of "))
				fail_msg("at %lld bytes: %s", (long long)memory, w.err.text);
		}
		world_close(&w);
	}
	assert_true(passed > 0 && failed > 500);
}

static void test_deadline_and_cancel(void **state)
{
	struct world w;
	struct timespec ts;
	int cancelled = 1;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	w.call.limits.deadline_ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec + 30000000;
	w.call.limits.instructions = INT64_MAX;
	w.call.limits.deadline_ms = 1500;
	assert_string_equal(world_says(&w, "while true do end"),
			    "! script: time limit of 1500ms exceeded at verbs/month.lua:1");
	assert_int_equal(w.err.code, HCP_E_TIMEOUT);
	w.call.limits.deadline_ns = 0;
	w.call.limits.cancelled = &cancelled;
	assert_string_equal(world_says(&w, "while true do end"),
			    "! script: cancelled at verbs/month.lua");
	assert_int_equal(w.err.code, HCP_E_CANCELLED);
	world_close(&w);
}

static void test_limits_of_nothing(void **state)
{
	static const struct script_limits none;
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	w.call.limits = none;
	world_run(&w, "return function() return 1 end");
	assert_int_equal(w.rc, -1);
	script_limits_default(&w.call.limits);
	w.call.limits.script_ms = 0;
	world_run(&w, "for i = 1, 1000 do end return function() return 1 end");
	assert_int_equal(w.err.code, HCP_E_TIMEOUT);
	world_close(&w);
}

static void test_log_limit(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	w.call.limits.log = 30;
	world_run(&w, "return function() for i = 1, 100 do print('0123456789', i) end end");
	assert_int_equal(w.rc, 0);
	assert_string_equal(w.log, "1 0123456789\t1\n1 0123456789\t2\n"
				   "2 verbs/month.lua: log limit of 30 bytes reached\n");
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_messages),
	    cmocka_unit_test(test_nothing_swallows_the_end),
	    cmocka_unit_test(test_patterns),
	    cmocka_unit_test(test_loops_in_c),
	    cmocka_unit_test(test_recursion),
	    cmocka_unit_test(test_deep_sources),
	    cmocka_unit_test(test_every_allocation_may_fail),
	    cmocka_unit_test(test_deadline_and_cancel),
	    cmocka_unit_test(test_limits_of_nothing),
	    cmocka_unit_test(test_log_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
