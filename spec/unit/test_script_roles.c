/* SPDX-License-Identifier: MIT */
/* What each role's function is given and may answer; everything else is an error, never a yes.
 */
#include "script_world.h"

#include <locale.h>
#include <pthread.h>

static void assert_refused(struct world *w, const char *reason)
{
	assert_int_equal(w->rc, 0);
	assert_int_equal(w->result.answer, SCRIPT_ANSWER_REFUSED);
	assert_string_equal(w->result.reason.data ? w->result.reason.data : "", reason);
}

static void assert_error(struct world *w, const char *text)
{
	assert_int_equal(w->rc, -1);
	assert_int_equal(w->result.answer, SCRIPT_ANSWER_NONE);
	assert_string_equal(w->err.text, text);
}

static void test_verb(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	w.call.args[0] = world_json(&w, "{\"month\":\"2024-01\"}");
	w.call.ctx = world_json(&w, "{\"pack_id\":\"ledger\",\"confirmed\":false}");
	assert_string_equal(world_says(&w,
				       "return function(args, ctx) "
				       "return {args.month, ctx.pack_id, ctx.confirmed} end"),
			    "[\"2024-01\",\"ledger\",false]");
	assert_int_equal(w.result.answer, SCRIPT_ANSWER_VALUE);
	world_run(&w, "");
	assert_error(&w, "script: verbs/month.lua: must return a function, not a nil");
	world_run(&w, "return {}");
	assert_error(&w, "script: verbs/month.lua: must return a function, not a table");
	world_close(&w);
}

static void test_no_role(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_NONE);
	world_run(&w, "return function() return true end");
	assert_error(&w, "script: verbs/month.lua: a script of no role");
	world_close(&w);
}

static void test_adapter(void **state)
{
	static const char source[] =
	    "return {\n"
	    "  check = function(c)\n"
	    "    if c.bad then return false, 'bad: ' .. c.bad end\n"
	    "    return true\n"
	    "  end,\n"
	    "  run = function(args, ctx, command) return {args, ctx.mode, command} end,\n"
	    "}\n";
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_ADAPTER);
	w.call.export = "run";
	w.call.args[0] = world_json(&w, "{\"a\":1}");
	w.call.args[1] = world_json(&w, "{\"c\":2}");
	w.call.ctx = world_json(&w, "{\"mode\":\"real\"}");
	assert_string_equal(world_says(&w, source), "[{\"a\":1},\"real\",{\"c\":2}]");
	w.call.export = "check";
	world_run(&w, source);
	assert_int_equal(w.result.answer, SCRIPT_ANSWER_TRUE);
	w.call.args[1] = world_json(&w, "{\"bad\":\"x\"}");
	world_run(&w, source);
	assert_refused(&w, "bad: x");
	world_run(&w, "return {run = function() end}");
	assert_int_equal(w.result.answer, SCRIPT_ANSWER_TRUE);
	world_run(&w, "return {check = function() end}");
	assert_error(&w, "script: verbs/month.lua: must return true, or false and a reason; "
			 "not a nil");
	world_run(&w, "return {check = 5}");
	assert_error(&w, "script: verbs/month.lua: check must be a function, not a number");
	world_run(&w, "return function() end");
	assert_error(&w, "script: verbs/month.lua: must return a table with check and run, "
			 "not a function");
	w.call.export = "run";
	world_run(&w, "return {}");
	assert_error(&w, "script: verbs/month.lua: run must be a function, not a nil");
	w.call.export = "other";
	world_run(&w, source);
	assert_error(&w, "script: verbs/month.lua: an adapter has no such function");
	w.call.export = NULL;
	world_run(&w, source);
	assert_error(&w, "script: verbs/month.lua: an adapter has no such function");
	world_close(&w);
}

static void test_auth(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_AUTH);
	w.call.args[0] = world_json(&w, "{\"peer\":{\"uid\":0,\"user\":\"root\"}}");
	assert_string_equal(world_says(&w, "return function(r) return {id = 'user:' .. "
					   "r.peer.user} end"),
			    "{\"id\":\"user:root\"}");
	world_run(&w, "return function() return nil, 'who are you' end");
	assert_refused(&w, "who are you");
	world_run(&w, "return function() end");
	assert_refused(&w, "");
	world_run(&w, "return function() return true end");
	assert_error(&w, "script: verbs/month.lua: must return a principal, or nil and a "
			 "reason; not a boolean");
	world_run(&w, "return function() return false end");
	assert_int_equal(w.rc, -1);
	world_run(&w, "return function() return 'root' end");
	assert_int_equal(w.rc, -1);
	world_run(&w, "return function() return nil, {} end");
	assert_error(&w, "script: verbs/month.lua: the reason must be a string, not a table");
	world_run(&w, "return function() return {id = print} end");
	assert_error(&w, "script: principal.id: a function is no JSON value");
	world_run(&w, "return function() error('x') end");
	assert_int_equal(w.rc, -1);
	world_close(&w);
}

static void test_guard(void **state)
{
	static const char *const neither[] = {
	    "return function() end",
	    "return function() return nil end",
	    "return function() return nil, 'reason' end",
	    "return function() return 1 end",
	    "return function() return 'true' end",
	    "return function() return {} end",
	    "return function() return false, 5 end",
	    "return function() return false, {} end",
	    "return function() error('x') end",
	    "return true",
	    "return function() return hcp.null end",
	};
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_GUARD);
	w.call.args[0] = world_json(&w, "{\"args\":{\"amount\":200}}");
	world_run(&w, "return function(r) return r.args.amount < 1000 end");
	assert_int_equal(w.result.answer, SCRIPT_ANSWER_TRUE);
	world_run(&w, "return function(r) return r.args.amount < 100, 'too much' end");
	assert_refused(&w, "too much");
	world_run(&w, "return function(r) return false end");
	assert_refused(&w, "");
	for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++) {
		world_run(&w, neither[i]);
		assert_int_equal(w.rc, -1);
		assert_int_equal(w.result.answer, SCRIPT_ANSWER_NONE);
	}
	world_close(&w);
}

static void test_own_messages(void **state)
{
	struct world w;
	char *source;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	world_run(&w, "return function() hcp.fail('no such account: x') end");
	assert_error(&w, "no such account: x");
	assert_true(w.result.own_message);
	assert_string_equal(w.log, "");
	world_run(&w,
		  "return function() local ok, e = pcall(hcp.fail, 'again') error(e, 0) end");
	assert_error(&w, "again");
	world_run(&w, "return function() error('plain', 0) end");
	assert_error(&w, "script: plain");
	assert_false(w.result.own_message);
	world_run(&w, "return function()\n error('with a place') end");
	assert_error(&w, "script: verbs/month.lua:2: with a place");
	world_run(&w, "return function() hcp.fail(5) end");
	assert_int_equal(w.rc, -1);
	assert_false(w.result.own_message);
	source = malloc(70000);
	assert_non_null(source);
	memcpy(source, "return function() hcp.fail('", 28);
	memset(source + 28, 'x', 65000);
	strcpy(source + 65028, "') end");
	world_run(&w, source);
	assert_int_equal(w.result.error.len, 65000);
	free(source);
	world_close(&w);
}

static void test_traceback_goes_to_the_log(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	world_run(&w,
		  "local function inner() error('here') end\nreturn function() inner() end");
	assert_error(&w, "script: verbs/month.lua:1: here");
	assert_non_null(strstr(w.log, "stack traceback"));
	assert_non_null(strstr(w.log, "verbs/month.lua:2"));
	world_close(&w);
}

static void test_log(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	world_run(&w, "return function()\n"
		      "print('a', 1, nil, true, {}) hcp.log.debug('d') hcp.log.info('i', 2)\n"
		      "hcp.log.warn('w') print() end");
	assert_string_equal(w.log, "1 a\t1\tnil\ttrue\ttable\n0 d\n1 i\t2\n2 w\n1 \n");
	w.call.host.log = NULL;
	world_run(&w, "return function() print('x') end");
	assert_int_equal(w.rc, 0);
	world_close(&w);
}

static void test_pcall(void **state)
{
	(void)state;
	assert_verb("return function() return {pcall(function(...) return ... end, 1, 2)} end",
		    "[true,1,2]");
	assert_verb("return function() return {pcall(error, 'x', 0)} end", "[false,\"x\"]");
	assert_verb("return function() return {pcall(5)} end",
		    "[false,\"attempt to call a number value\"]");
	assert_verb(
	    "return function() return {xpcall(function(a, b) return b, a end, print, 1, "
	    "2)} end",
	    "[true,2,1]");
	assert_verb(
	    "return function() return {xpcall(error, function(e) return e .. '!', 1 end, "
	    "'x', 0)} end",
	    "[false,\"x!\",1]");
	assert_verb(
	    "return function() return {xpcall(error, function(e) error('worse', 0) end, "
	    "'x')} end",
	    "[false,\"worse\"]");
	assert_verb("return function() return {pcall(function() xpcall(print) end)} end",
		    "[false,\"verbs/month.lua:1: bad argument #2 to 'xpcall' (function "
		    "expected, got no value)\"]");
	assert_verb(
	    "return function() local ok, e = pcall(error, {code = 7}) return e.code end", "7");
}

static void test_os(void **state)
{
	(void)state;
	assert_verb("return function() local c = os.clock() return c >= 0 and c < 5 end",
		    "true");
	assert_verb("return function() return os.date('!%Y-%m-%d', 86400) end",
		    "\"1970-01-02\"");
	assert_verb("return function() return os.date('!*t', 0).year end", "1970");
	assert_verb("return function() return pcall(os.date, ('%Y'):rep(200)) end", "false");
	assert_verb("return function() return pcall(os.date, '%Ez') end", "false");
	assert_verb(
	    "return function() return os.time{year=1970, month=1, day=2, hour=0} > 0 end",
	    "true");
}

/* ---- wherever it runs ---- */

static void *run_many(void *arg)
{
	struct world w;

	for (int i = 0; i < 50; i++) {
		world_open(&w, SCRIPT_VERB);
		w.call.pool = arg;
		assert_string_equal(world_says(&w, "local n = 0 local function f() n = n + 1 "
						   "return (('x'):gsub('x', f)) end pcall(f) "
						   "return function() return n > 150 end"),
				    "true");
		world_close(&w);
	}
	return NULL;
}

static void test_threads_with_small_stacks(void **state)
{
	struct script_pool *pool = script_pool_new();
	pthread_attr_t small;
	pthread_t threads[12];

	(void)state;
	assert_non_null(pool);
	pthread_attr_init(&small);
	assert_int_equal(pthread_attr_setstacksize(&small, 128 * 1024), 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(
		    pthread_create(&threads[i], &small, run_many, i % 3 ? pool : NULL), 0);
	for (int i = 0; i < 12; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&small);
	script_pool_free(pool);
}

static void test_locale_of_the_host(void **state)
{
	locale_t host = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0), before;
	struct world w;

	(void)state;
	assert_true(host != (locale_t)0);
	before = uselocale(host);
	world_open(&w, SCRIPT_VERB);
	assert_string_equal(
	    world_says(&w, "return function() return {('\\xc3\\xa9'):find('%a') or 0, "
			   "('%.1f'):format(0.5), tonumber('0.5')} end"),
	    "[0,\"0.5\",0.5]");
	world_close(&w);
	assert_true(uselocale(before) == host);
	freelocale(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_verb),
	    cmocka_unit_test(test_no_role),
	    cmocka_unit_test(test_adapter),
	    cmocka_unit_test(test_auth),
	    cmocka_unit_test(test_guard),
	    cmocka_unit_test(test_own_messages),
	    cmocka_unit_test(test_traceback_goes_to_the_log),
	    cmocka_unit_test(test_log),
	    cmocka_unit_test(test_pcall),
	    cmocka_unit_test(test_os),
	    cmocka_unit_test(test_threads_with_small_stacks),
	    cmocka_unit_test(test_locale_of_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
