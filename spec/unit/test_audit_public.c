/* SPDX-License-Identifier: MIT */
/* The audit log through hcp.h: misuse is told from a log that can't be read, and nothing is
 * given out on either. */
#include "include/hcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

static int setup(void **state)
{
	struct world *w = malloc(sizeof(*w));

	assert_non_null(w);
	world_begin(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	free(*state);
	return 0;
}

static int take(void *user, hcp_str line)
{
	size_t *count = user;

	assert_int_equal(line.data[line.len - 1], '\n');
	++*count;
	return 0;
}

static hcp_runtime *open_world(struct world *w)
{
	hcp_options *o = hcp_options_new();
	hcp_runtime *rt = NULL;

	assert_int_equal(hcp_options_root(o, w->top), HCP_OK);
	assert_int_equal(hcp_options_state(o, w->state), HCP_OK);
	assert_int_equal(hcp_open(o, &rt, NULL), HCP_OK);
	hcp_options_free(o);
	return rt;
}

static void misuse(void **state)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = open_world(*state), *other = open_world(*state);
	hcp_call *foreign = hcp_call_new(other);
	hcp_result *out = (hcp_result *)&err;
	const char *bad[] = {NULL};
	uint64_t strangers = 7;
	size_t n = 0;

	assert_int_equal(
	    hcp_audit_read(NULL, NULL, 0, HCP_AUDIT_CSV, take, &n, &strangers, &err),
	    HCP_EINVAL);
	assert_int_equal(strangers, 0);
	assert_int_equal(hcp_audit_read(rt, NULL, 0, HCP_AUDIT_CSV, NULL, &n, NULL, NULL),
			 HCP_EINVAL);
	assert_int_equal(hcp_audit_read(rt, NULL, 1, HCP_AUDIT_CSV, take, &n, NULL, NULL),
			 HCP_EINVAL);
	assert_int_equal(hcp_audit_read(rt, bad, 1, HCP_AUDIT_CSV, take, &n, NULL, NULL),
			 HCP_EINVAL);
	assert_int_equal(hcp_audit_read(rt, NULL, 0, (hcp_audit_format)3, take, &n, NULL, NULL),
			 HCP_EINVAL);
	assert_int_equal(hcp_audit_tail(rt, foreign, 1, take, &n, NULL), HCP_EINVAL);
	assert_int_equal(hcp_audit_tail(rt, NULL, 1, NULL, &n, NULL), HCP_EINVAL);
	assert_int_equal(hcp_audit_verify(rt, (hcp_str){0}, NULL, NULL, NULL), HCP_EINVAL);
	assert_int_equal(hcp_audit_rotate(NULL, &out, NULL), HCP_EINVAL);
	assert_null(out);
	assert_int_equal(n, 0);
	hcp_call_free(foreign);
	hcp_close(other);
	hcp_close(rt);
}

static void a_log_of_its_own(void **state)
{
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = open_world(*state);
	hcp_call *c = hcp_call_new(rt);
	hcp_result *out = NULL;
	size_t n = 0;

	/* without a log there is nothing, and reading makes none */
	assert_int_equal(hcp_audit_tail(rt, NULL, 9, take, &n, &err), HCP_OK);
	assert_int_equal(n, 0);
	assert_int_equal(hcp_audit_rotate(rt, &out, &err), HCP_OK);
	assert_string_equal(
	    hcp_result_json(out).data,
	    "{\"segment\":\"audit-000000000001.jsonl\",\"removed\":0,\"left\":0}");
	hcp_result_free(out);
	assert_int_equal(hcp_audit_read(rt, NULL, 0, HCP_AUDIT_STORED, take, &n, NULL, &err),
			 HCP_OK);
	assert_int_equal(n, 2);
	/* a call that is cancelled already ends at once, after what is there */
	hcp_call_cancel(c);
	n = 0;
	assert_int_equal(hcp_audit_tail(rt, c, 9, take, &n, &err), HCP_OK);
	assert_int_equal(n, 2);
	/* no key, no checkpoint, and the message says what to do */
	assert_int_equal(hcp_audit_checkpoint(rt, &out, &err), HCP_ECONFIG);
	assert_null(out);
	assert_non_null(strstr(err.text, "secrets/audit_key is missing: `hcp audit key "
					 "--create` makes one"));
	hcp_call_free(c);
	hcp_close(rt);
}

/* A runtime that only looks has no log open, and says so of each. */
static void none_where_one_only_looks(void **state)
{
	struct world *w = *state;
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	hcp_runtime *rt = NULL;
	hcp_result *out = (hcp_result *)&err;
	size_t n = 0;

	assert_int_equal(hcp_options_root(o, w->top), HCP_OK);
	assert_int_equal(hcp_options_state(o, w->state), HCP_OK);
	assert_int_equal(hcp_options_read_only(o), HCP_OK);
	assert_int_equal(hcp_open(o, &rt, NULL), HCP_OK);
	hcp_options_free(o);
	assert_int_equal(hcp_audit_verify(rt, (hcp_str){NULL, 0}, NULL, &out, &err),
			 HCP_ECONFIG);
	assert_null(out);
	assert_string_equal(err.text, "audit: no log is open: this runtime only looks");
	assert_int_equal(hcp_audit_rotate(rt, &out, &err), HCP_ECONFIG);
	assert_null(out);
	assert_int_equal(hcp_audit_tail(rt, NULL, 9, take, &n, &err), HCP_ECONFIG);
	assert_int_equal(n, 0);
	hcp_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(misuse, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_log_of_its_own, setup, teardown),
	    cmocka_unit_test_setup_teardown(none_where_one_only_looks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
