/* SPDX-License-Identifier: MIT */
/* Memory that runs out, at each allocation in turn: of Lua, of the bridge, of jansson, of what
 * surrounds a call. The linker puts the functions here in front of the C library's. A run ends
 * in its whole answer or in an error that says so; the sanitizer build finds what leaks. */
#include "script_world.h"

#include "secret/secret.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool armed, for_good;
static long seen, fails_at;

static bool fails(void)
{
	if (!armed)
		return false;
	seen++;
	return seen == fails_at || (for_good && seen > fails_at);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static void *json_malloc(size_t size)
{
	return __wrap_malloc(size);
}

/* ---- the calls ---- */

static int exec_one(void *user, const char *pack_id, const char *verb_key, json_t *args,
		    char **envelope, size_t *len, struct hcp_err *err)
{
	AUTO_BUF text = {0};

	(void)user;
	buf_printf(&text, "{\"ok\":true,\"pack_id\":\"%s\",\"verb_key\":\"%s\",\"result\":",
		   pack_id ? pack_id : "own", verb_key);
	json_add_value(&text, args);
	buf_putc(&text, '}');
	*envelope = NULL;
	*len = 0;
	if (text.failed)
		return hcp_fail_nomem(err);
	*envelope = text.data;
	*len = text.len;
	text = (struct buf){0};
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

static int give(void *user, const char *name, struct secret **out, struct hcp_err *err)
{
	(void)user;
	(void)name;
	*out = secret_new(3);
	if (!*out)
		return hcp_fail_nomem(err);
	memcpy(secret_bytes(*out), "key", 3);
	return 0;
}

static const struct file files[] = {
    {"m.lua", "return {join = function(t) return table.concat(t, '-') end}", 0},
    {NULL, NULL, 0},
};

struct sample {
	enum script_role role;
	const char *source, *answer;
};
static const struct sample samples[] = {
    {SCRIPT_VERB,
     "local m = require 'm'\n"
     "return function(args, ctx)\n"
     "  local rows = {}\n"
     "  for i = 1, 12 do rows[i] = {n = i, s = ('x'):rep(i)} end\n"
     "  table.sort(rows, function(a, b) return a.n > b.n end)\n"
     "  local text = cjson.encode(rows):gsub('%d+', function(d) return d + 1 end)\n"
     "  local got = ctx.exec_all{ {'a', {n = 1}}, {'p', 'b', {list = rows}} }\n"
     "  local tried = ctx.try('d', {x = hcp.null})\n"
     "  if not tried.ok then hcp.fail(tried.error) end\n"
     "  print('rows', #rows, os.date('!%Y', 0))\n"
     "  return {args, cjson.decode(text)[1], got[1], #got[2].list, ctx.exec('c'),\n"
     "    tried.ok, m.join{'a', 'b'}, ('%05d'):format(7)}\n"
     "end\n",
     "[{\"z\":[1,2.5],\"a\":\"\xc3\xa9\"},{\"n\":13,\"s\":\"xxxxxxxxxxxx\"},{\"n\":1},12,"
     "{},true,\"a-b\",\"00007\"]"},
    {SCRIPT_AUTH,
     "return function(request, host)\n"
     "  local key = host.secret('key')\n"
     "  local tag = host.hmac_sha256(host.sha256(host.concat('a', key)), 'x')\n"
     "  return {id = host.hex(tag):sub(1, 8), equal = host.equal(host.hex(key), '6b6579')}\n"
     "end\n",
     "{\"equal\":true,\"id\":\"952e8319\"}"},
};

static void call(struct world *w, const struct sample *s)
{
	world_open(w, s->role);
	w->files = files;
	w->call.host.exec = exec_one;
	w->call.host.exec_all = exec_all;
	w->call.host.secret = give;
	w->call.args[0] = world_json(w, "{\"z\":[1,2.5],\"a\":\"\xc3\xa9\"}");
	w->call.ctx = world_json(w, "{\"pack_id\":\"own\"}");
	w->call.source = s->source;
	w->call.source_len = strlen(s->source);
	seen = 0;
	armed = true;
	w->rc = script_run(&w->call, &w->result, &w->err);
	armed = false;
}

static void check_outcome(const struct world *w, const struct sample *s)
{
	if (w->rc == 0) {
		assert_int_equal(w->result.answer, SCRIPT_ANSWER_VALUE);
		assert_string_equal(w->result.result.data, s->answer);
		return;
	}
	assert_int_equal(w->result.answer, SCRIPT_ANSWER_NONE);
	assert_null(w->result.result.data);
	if (!strstr(w->err.text, "memory"))
		fail_msg("allocation %ld: %s", fails_at, w->err.text);
}

/* True once the run made fewer allocations than `fails_at`. */
static bool run_with_fault(const struct sample *s)
{
	struct world w;
	bool over;

	call(&w, s);
	over = seen < fails_at;
	check_outcome(&w, s);
	if (over)
		assert_int_equal(w.rc, 0);
	else if (for_good)
		assert_int_equal(w.rc, -1);
	world_close(&w);
	return over;
}

static void sweep(const struct sample *s)
{
	long most = 100000;

	for (fails_at = 1; fails_at < most && !run_with_fault(s); fails_at++)
		;
	assert_true(fails_at > 200 && fails_at < most);
}

static void test_one_allocation_fails(void **state)
{
	(void)state;
	for_good = false;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		sweep(&samples[i]);
}

static void test_all_fail_from_one_on(void **state)
{
	(void)state;
	for_good = true;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		sweep(&samples[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_allocation_fails),
	    cmocka_unit_test(test_all_fail_from_one_on),
	};

	json_set_alloc_funcs(json_malloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
