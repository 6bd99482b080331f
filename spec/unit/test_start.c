/* SPDX-License-Identifier: MIT */
/* Runs that an event loop drives, through hcp.h: they end by themselves or cancelled, are
 * counted, and nothing of them is left when the runtime closes. */
#include "include/hcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

#include <poll.h>
#include <signal.h>

#define ENVELOPE "{\"pack_id\":\"slow\",\"verb_key\":\"spin\",\"args\":{\"n\":%s}}"

static int setup(void **state)
{
	struct world *w = malloc(sizeof(*w));

	assert_non_null(w);
	world_begin(w);
	world_put(w, "root/packs/slow/pack.yaml",
		  "hcp: 1\npack_id: slow\nversion: 1.0.0\nsummary: s\nkind: loop\n"
		  "commands:\n  spin: { summary: s, effect: read, timeout: 1m }\n");
	world_put(w, "root/packs/slow/policy.yaml", "hcp: 1\npolicies: { spin: {} }\n");
	world_put(w, "root/policies/auth/anyone.lua",
		  "return function(request)\n"
		  "  local peer = request.peer\n"
		  "  return { id = peer and 'peer:' .. peer.uid .. ':' .. peer.gid .. ':' .. "
		  "peer.pid or 'nobody' }\nend\n");
	world_put(w, "root/adapters/loop.lua",
		  "return { run = function(args, ctx)\n"
		  "  if args.n == 0 then while true do end end\n"
		  "  return { n = args.n, who = ctx.principal.id }\nend }\n");
	world_put(w, "root/policies/spec.yaml",
		  "hcp: 1\nauth: { provider: anyone }\n"
		  "grants: [ { principal: '*', capabilities: ['slow.*'] } ]\n");
	world_put(w, "root/hcp.yaml",
		  "hcp: 1\nsessions: { default: { packs: [slow] } }\n"
		  "lua: { timeout: 1m, instructions: 1000000M }\n");
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	free(*state);
	return 0;
}

static hcp_runtime *open_world(struct world *w, unsigned max)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = NULL;

	assert_int_equal(hcp_options_root(o, w->top), HCP_OK);
	assert_int_equal(hcp_options_state(o, w->state), HCP_OK);
	assert_int_equal(hcp_options_max_runs(o, max), HCP_OK);
	assert_int_equal(hcp_open(o, &rt, NULL), HCP_OK);
	if (hcp_check(rt, &err) != HCP_OK)
		fail_msg("%s", err.text);
	hcp_options_free(o);
	return rt;
}

static hcp_str envelope(const char *n)
{
	static char text[256];

	snprintf(text, sizeof(text), ENVELOPE, n);
	return hcp_str_from(text);
}

static void expect(hcp_run *run, const char *json)
{
	hcp_result *res = NULL;

	assert_int_equal(hcp_run_finish(run, &res), HCP_OK);
	assert_string_equal(hcp_result_json(res).data, json);
	hcp_result_free(res);
}

static void is_polled(void **state)
{
	hcp_runtime *rt = open_world(*state, 8);
	hcp_call *c = hcp_call_new(rt);
	struct pollfd p = {.events = POLLIN};
	hcp_run *run = NULL;

	assert_int_equal(hcp_call_peer(c, 7, 8, 9), HCP_OK);
	assert_int_equal(hcp_start(rt, c, envelope("1"), &run), HCP_OK);
	p.fd = hcp_run_fd(run);
	assert_int_equal(poll(&p, 1, -1), 1);
	expect(run, "{\"ok\":true,\"pack_id\":\"slow\",\"verb_key\":\"spin\","
		    "\"result\":{\"n\":1,\"who\":\"peer:7:8:9\"}}");
	/* the call is the caller's again */
	assert_int_equal(hcp_call_no_peer(c), HCP_OK);
	assert_int_equal(hcp_start(rt, c, envelope("2"), &run), HCP_OK);
	expect(run, "{\"ok\":true,\"pack_id\":\"slow\",\"verb_key\":\"spin\","
		    "\"result\":{\"n\":2,\"who\":\"nobody\"}}");
	hcp_call_free(c);
	hcp_close(rt);
}

static void is_cancelled(void **state)
{
	static const char cancelled[] = "{\"ok\":false,\"pack_id\":\"slow\",\"verb_key\":"
					"\"spin\",\"error\":\"script: cancelled at "
					"adapters/loop.lua:2\"}";
	hcp_runtime *rt = open_world(*state, 8);
	hcp_run *one = NULL, *two = NULL;
	struct pollfd p = {.events = POLLIN};

	assert_int_equal(hcp_start(rt, NULL, envelope("0"), &one), HCP_OK);
	assert_int_equal(hcp_start(rt, NULL, envelope("0"), &two), HCP_OK);
	p.fd = hcp_run_fd(one);
	assert_int_equal(poll(&p, 1, 50), 0);
	hcp_run_cancel(one);
	expect(one, cancelled);
	p.fd = hcp_run_fd(two);
	assert_int_equal(poll(&p, 1, 50), 0);
	hcp_cancel_all(rt);
	hcp_close(rt);
	/* what is left of a run outlives the runtime */
	expect(two, cancelled);
}

static void is_counted(void **state)
{
	hcp_runtime *rt = open_world(*state, 2);
	hcp_call *c = hcp_call_new(rt);
	hcp_run *one = NULL, *two = NULL, *three = (hcp_run *)&rt;
	hcp_result *res = NULL;

	assert_int_equal(hcp_start(rt, c, envelope("0"), &one), HCP_OK);
	assert_int_equal(hcp_start(rt, c, envelope("1"), &three), HCP_EBUSY);
	assert_null(three);
	assert_int_equal(hcp_start(rt, NULL, envelope("0"), &two), HCP_OK);
	assert_int_equal(hcp_start(rt, NULL, envelope("1"), &three), HCP_EBUSY);
	assert_int_equal(hcp_exec(rt, NULL, envelope("1"), &res), HCP_EBUSY);
	assert_null(res);
	hcp_run_cancel(one);
	assert_int_equal(hcp_run_finish(one, NULL), HCP_OK);
	assert_int_equal(hcp_exec(rt, NULL, envelope("1"), &res), HCP_OK);
	assert_int_equal(hcp_result_ok(res), 1);
	hcp_result_free(res);
	hcp_run_cancel(two);
	assert_int_equal(hcp_run_finish(two, NULL), HCP_OK);
	hcp_call_free(c);
	hcp_close(rt);
}

static void misuse(void **state)
{
	hcp_runtime *rt = open_world(*state, 1), *other = open_world(*state, 1);
	hcp_call *foreign = hcp_call_new(other);
	hcp_options *o = hcp_options_new();
	hcp_run *run = (hcp_run *)&rt;

	assert_int_equal(hcp_start(rt, foreign, envelope("1"), &run), HCP_EINVAL);
	assert_null(run);
	assert_int_equal(hcp_start(NULL, NULL, envelope("1"), &run), HCP_EINVAL);
	assert_int_equal(hcp_start(rt, NULL, envelope("1"), NULL), HCP_EINVAL);
	assert_int_equal(hcp_start(rt, NULL, (hcp_str){NULL, 1}, &run), HCP_EINVAL);
	assert_int_equal(hcp_run_fd(NULL), -1);
	assert_int_equal(hcp_run_finish(NULL, NULL), HCP_EINVAL);
	hcp_run_cancel(NULL);
	assert_int_equal(hcp_options_max_runs(o, 0), HCP_EINVAL);
	assert_int_equal(hcp_options_max_runs(o, 65537), HCP_EINVAL);
	assert_int_equal(hcp_options_max_runs(NULL, 1), HCP_EINVAL);
	assert_int_equal(hcp_call_peer(NULL, 0, 0, 0), HCP_EINVAL);
	assert_int_equal(hcp_call_no_peer(NULL), HCP_EINVAL);
	assert_int_equal(hcp_refresh(NULL, NULL), HCP_EINVAL);
	hcp_options_free(o);
	hcp_call_free(foreign);
	hcp_close(other);
	hcp_close(rt);
}

static void ask(hcp_runtime *rt, const char *json)
{
	hcp_run *run = NULL;

	(void)hcp_refresh(rt, NULL); /* what it says, the run says */
	assert_int_equal(hcp_start(rt, NULL, envelope("3"), &run), HCP_OK);
	expect(run, json);
}

static void is_judged_by_the_policy_of_its_start(void **state)
{
	static const char broken[] =
	    "{\"ok\":false,\"pack_id\":\"slow\",\"verb_key\":\"spin\",\"error\":";
	struct world *w = *state;
	hcp_runtime *rt = open_world(w, 1);
	char fine[256], self[64];
	hcp_run *run = NULL;
	hcp_result *res = NULL;

	snprintf(self, sizeof(self), "%d:%d:%d", (int)getuid(), (int)getgid(), (int)getpid());
	snprintf(fine, sizeof(fine),
		 "{\"ok\":true,\"pack_id\":\"slow\",\"verb_key\":\"spin\","
		 "\"result\":{\"n\":3,\"who\":\"peer:%s\"}}",
		 self);
	ask(rt, fine);
	world_put(w, "root/policies/spec.yaml", "hcp: 1\nauth: { provider: anyone }\n");
	ask(rt, "{\"ok\":false,\"pack_id\":\"slow\",\"verb_key\":\"spin\","
		"\"error\":\"denied: missing slow.spin for slow.spin\"}");
	world_put(w, "root/policies/more.yaml", "hcp: 1\ngrants: nonsense\n");
	assert_int_equal(hcp_refresh(rt, NULL), HCP_ECONFIG);
	assert_int_equal(hcp_start(rt, NULL, envelope("3"), &run), HCP_OK);
	assert_int_equal(hcp_run_finish(run, &res), HCP_OK);
	assert_memory_equal(hcp_result_json(res).data, broken, sizeof(broken) - 1);
	assert_memory_equal(hcp_result_error(res).data, "config: ", 8);
	hcp_result_free(res);
	world_put(w, "root/policies/more.yaml",
		  "hcp: 1\ngrants: [ { principal: '*', capabilities: ['slow.*'] } ]\n");
	ask(rt, fine);
	hcp_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(is_polled, setup, teardown),
	    cmocka_unit_test_setup_teardown(is_cancelled, setup, teardown),
	    cmocka_unit_test_setup_teardown(is_counted, setup, teardown),
	    cmocka_unit_test_setup_teardown(misuse, setup, teardown),
	    cmocka_unit_test_setup_teardown(is_judged_by_the_policy_of_its_start, setup,
					    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
