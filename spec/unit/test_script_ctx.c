/* SPDX-License-Identifier: MIT */
/* ctx: other commands from a script, and scripts of the pack from an adapter. */
#include "script_world.h"

#include <unistd.h>

/* Answers by the verb key; what it was asked stands in the envelope. */
static char *answer(const char *pack_id, const char *verb, json_t *args)
{
	AUTO_BUF text = {0};
	struct buf out = {0};

	json_add_value(&text, args);
	if (strcmp(verb, "fails") == 0)
		buf_printf(&out, "{\"ok\":false,\"pack_id\":\"p\",\"verb_key\":\"fails\","
				 "\"error\":\"exit 3\"}");
	else if (strcmp(verb, "garbage") == 0)
		buf_puts(&out, "{\"ok\":tru");
	else if (strcmp(verb, "no envelope") == 0)
		buf_puts(&out, "[]");
	else if (strcmp(verb, "no ok") == 0)
		buf_puts(&out, "{\"result\":1,\"error\":\"e\"}");
	else if (strcmp(verb, "ok is 1") == 0)
		buf_puts(&out, "{\"ok\":1,\"result\":1}");
	else
		buf_printf(&out,
			   "{\"ok\":true,\"pack_id\":\"%s\",\"verb_key\":\"%s\","
			   "\"result\":%s}",
			   pack_id ? pack_id : "own", verb, text.data);
	assert_false(out.failed || text.failed);
	return out.data;
}

static int exec_one(void *user, const char *pack_id, const char *verb_key, json_t *args,
		    char **envelope, size_t *len, struct hcp_err *err)
{
	struct world *w = user;

	w->execs++;
	*envelope = NULL;
	*len = 0;
	if (strcmp(verb_key, "impossible") == 0)
		return hcp_fail(err, HCP_E_DENIED, "denied: ledger does not use x.impossible");
	if (strcmp(verb_key, "slow") == 0)
		usleep(120000);
	*envelope = answer(pack_id, verb_key, args);
	*len = strlen(*envelope);
	return 0;
}

static int exec_all(void *user, size_t n, const char *const *pack_ids,
		    const char *const *verb_keys, json_t *const *args, char **envelopes,
		    size_t *lens, struct hcp_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (exec_one(user, pack_ids[i], verb_keys[i], args[i], &envelopes[i], &lens[i],
			     err) < 0)
			return -1;
	return 0;
}

static void open_with_exec(struct world *w)
{
	world_open(w, SCRIPT_VERB);
	w->call.ctx = world_json(w, "{\"pack_id\":\"ledger\",\"mode\":\"real\"}");
	w->call.host.exec = exec_one;
	w->call.host.exec_all = exec_all;
}

static void assert_ctx(const char *body, const char *expected)
{
	char source[600];
	struct world w;

	open_with_exec(&w);
	snprintf(source, sizeof(source), "return function(args, ctx) %s end", body);
	assert_string_equal(world_says(&w, source), expected);
	world_close(&w);
}

static void test_exec(void **state)
{
	(void)state;
	assert_ctx("return ctx.exec('balance', {b = 1, a = {}})", "{\"a\":{},\"b\":1}");
	assert_ctx("return ctx.exec('balance')", "{}");
	assert_ctx("return ctx.exec('transit', 'plan', {x = hcp.null})", "{\"x\":null}");
	assert_ctx("return ctx.try('transit', 'plan').pack_id", "\"transit\"");
	assert_ctx("return ctx.try('plan', {1}) == nil",
		   "! script: verbs/month.lua:1: args: must "
		   "be a table with names as keys");
	assert_ctx("ctx.exec('plan', 5)", "! script: verbs/month.lua:1: args: must be a table "
					  "with names as keys");
	assert_ctx("ctx.exec('plan', {f = print})", "! script: verbs/month.lua:1: args.f: a "
						    "function is no JSON value");
	assert_ctx("ctx.exec()",
		   "! script: verbs/month.lua:1: verb_key must be a string, not a "
		   "nil");
	assert_ctx("ctx.exec('a\\0b')", "! script: verbs/month.lua:1: verb_key holds a NUL");
	assert_ctx("ctx.exec(1, 'x')", "! script: verbs/month.lua:1: pack_id must be a string, "
				       "not a number");
}

static void test_failures(void **state)
{
	(void)state;
	assert_ctx("ctx.exec('fails')", "! exit 3");
	assert_ctx("return {pcall(ctx.exec, 'fails')}", "[false,\"exit 3\"]");
	assert_ctx("local ok, e = pcall(ctx.exec, 'fails') error(e, 0)", "! exit 3");
	assert_ctx("local ok, e = pcall(ctx.exec, 'fails') error('got ' .. e, 0)",
		   "! script: got exit 3");
	assert_ctx("local r = ctx.try('fails') return {r.ok, r.error}", "[false,\"exit 3\"]");
	assert_ctx("ctx.exec('impossible')", "! denied: ledger does not use x.impossible");
	assert_ctx("return ctx.try('impossible')",
		   "{\"error\":\"denied: ledger does not use x.impossible\",\"ok\":false,"
		   "\"pack_id\":\"ledger\",\"verb_key\":\"impossible\"}");
	assert_ctx("return pcall(ctx.exec, 'garbage')", "false");
	assert_ctx("return pcall(ctx.exec, 'no envelope')", "false");
	assert_ctx("ctx.exec('no ok')", "! e");
	assert_ctx("return pcall(ctx.exec, 'ok is 1')", "false");
}

static void test_exec_all(void **state)
{
	(void)state;
	assert_ctx("return ctx.exec_all{{'a', {n = 1}}, {'pack', 'b', {n = 2}}, {'c'}}",
		   "[{\"n\":1},{\"n\":2},{}]");
	assert_ctx("return ctx.exec_all{}", "[]");
	assert_ctx("return ctx.exec_all{{'a'}, {'fails'}, {'b'}}", "! exit 3");
	assert_ctx("return ctx.exec_all{{'a'}, {'impossible'}}",
		   "! denied: ledger does not use x.impossible");
	assert_ctx("return ctx.exec_all{{'a'}, 5}",
		   "! script: verbs/month.lua:1: call 2 is not a "
		   "table");
	assert_ctx("return ctx.exec_all()", "! script: verbs/month.lua:1: bad argument #1 to "
					    "'exec_all' (table expected, got no value)");
	assert_ctx(
	    "local t = {} for i = 1, 201 do t[i] = {'a'} end return ctx.exec_all(t)",
	    "! script: verbs/month.lua:1: bad argument #1 to 'exec_all' (more calls than "
	    "host calls are allowed)");
	assert_ctx("local t = {} for i = 1, 150 do t[i] = {'a'} end ctx.exec_all(t) "
		   "return ctx.exec_all(t)",
		   "! script: verbs/month.lua:1: more than 200 host calls");
}

/* A list that takes little of the script's memory and a hundred times that as values. */
static void test_args_of_a_batch_are_bounded(void **state)
{
	(void)state;
	assert_ctx("local e, l = hcp.array(), {} for i = 1, 200000 do l[i] = e end "
		   "return ctx.exec_all{{'a', {l = l}}, {'b', {l = l}}}",
		   "! script: verbs/month.lua:1: args: over 1M in all calls together");
	assert_ctx("local e, l = hcp.array(), {} for i = 1, 400000 do l[i] = e end "
		   "return ctx.exec('a', {l = l})",
		   "! script: verbs/month.lua:1: args: over 1M");
	assert_ctx("local s = ('x'):rep(300000) "
		   "return #ctx.exec_all{{'a', {s = s}}, {'b', {s = s}}, {'c', {s = s}}}",
		   "3");
}

static void test_host_call_limit(void **state)
{
	struct world w;

	(void)state;
	open_with_exec(&w);
	w.call.limits.host_calls = 3;
	assert_string_equal(world_says(&w,
				       "return function(_, ctx) local n = 0 while "
				       "pcall(ctx.exec, 'a') do n = n + 1 end return n end"),
			    "3");
	assert_int_equal(w.execs, 3);
	world_close(&w);
}

static void test_script_time_stops_in_host_calls(void **state)
{
	struct world w;

	(void)state;
	open_with_exec(&w);
	w.call.limits.script_ms = 100;
	assert_string_equal(world_says(&w,
				       "return function(_, ctx) ctx.exec('slow') "
				       "for i = 1, 10000 do end return os.clock() < 0.1 end"),
			    "true");
	assert_string_equal(
	    world_says(&w, "return function(_, ctx) ctx.exec('slow') while true do end end"),
	    "! script: time limit of 100ms exceeded at verbs/month.lua:1");
	world_close(&w);
}

static void test_a_killed_script_calls_nobody(void **state)
{
	struct world w;

	(void)state;
	open_with_exec(&w);
	w.call.limits.instructions = 100000;
	world_run(&w, "return function(_, ctx)\n"
		      "pcall(function() while true do end end)\n"
		      "pcall(ctx.exec, 'a') ctx.try('a') end");
	assert_int_equal(w.err.code, HCP_E_LIMIT);
	assert_int_equal(w.execs, 0);
	world_close(&w);
}

static void test_what_is_not_given_is_not_there(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SCRIPT_VERB);
	assert_string_equal(world_says(&w, "return function(_, ctx) return {ctx.exec == nil, "
					   "ctx.try == nil, ctx.exec_all == nil, "
					   "ctx.script == nil, ctx.http == nil} end"),
			    "[true,true,true,true,true]");
	world_close(&w);
	world_open(&w, SCRIPT_ADAPTER);
	w.call.export = "run";
	w.call.host.load = NULL;
	assert_string_equal(world_says(&w, "return {run = function(_, ctx) return "
					   "ctx.script == nil end}"),
			    "true");
	world_close(&w);
}

static const struct file scripts[] = {
    {"verbs/m.lua", "return function(a, ctx) return {a, ctx.pack_id, require('lib').x} end", 0},
    {"verbs/none.lua", "return 5", 0},
    {"lib.lua", "return {x = 7}", 0},
    {NULL, NULL, 0},
};

static void run_composite(struct world *w, const char *script)
{
	static const char composite[] = "return {run = function(args, ctx, command) "
					"return ctx.script(command.script)(args, ctx) end}";
	char command[300];

	world_open(w, SCRIPT_ADAPTER);
	w->call.export = "run";
	w->call.name = "composite.lua";
	w->files = scripts;
	snprintf(command, sizeof(command), "{\"script\":\"%s\"}", script);
	w->call.args[0] = world_json(w, "{\"k\":1}");
	w->call.args[1] = world_json(w, command);
	w->call.ctx = world_json(w, "{\"pack_id\":\"ledger\"}");
	world_run(w, composite);
}

static void test_composite(void **state)
{
	static const char *const bad[] = {
	    "../m.lua", "/etc/m.lua", "verbs/../m.lua", "verbs//m.lua", "./m.lua",    ".m.lua",
	    "m.txt",    "",           ".lua",           "a b.lua",      "verbs/.lua",
	};
	struct world w;

	(void)state;
	run_composite(&w, "verbs/m.lua");
	assert_int_equal(w.rc, 0);
	assert_string_equal(w.result.result.data, "[{\"k\":1},\"ledger\",7]");
	world_close(&w);
	run_composite(&w, "verbs/none.lua");
	assert_string_equal(w.err.text,
			    "script: composite.lua:1: verbs/none.lua: must return a "
			    "function, not a number");
	world_close(&w);
	run_composite(&w, "verbs/gone.lua");
	assert_string_equal(w.err.text,
			    "script: composite.lua:1: the pack has no script verbs/gone.lua");
	world_close(&w);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		run_composite(&w, bad[i]);
		if (!strstr(w.err.text, "bad script path"))
			fail_msg("%s: %s", bad[i], w.err.text);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exec),
	    cmocka_unit_test(test_failures),
	    cmocka_unit_test(test_exec_all),
	    cmocka_unit_test(test_args_of_a_batch_are_bounded),
	    cmocka_unit_test(test_host_call_limit),
	    cmocka_unit_test(test_script_time_stops_in_host_calls),
	    cmocka_unit_test(test_a_killed_script_calls_nobody),
	    cmocka_unit_test(test_what_is_not_given_is_not_there),
	    cmocka_unit_test(test_composite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
