/* SPDX-License-Identifier: MIT */
/* What each role can reach, walked by a script of that role from the inside, against the list
 * in spec/globals. Data of a call (ctx.pack_id, host.config's members) isn't in it. */
#include "script_world.h"

#include "secret/secret.h"

#define LIST "spec/globals"

/* Libraries open when they are first read, so all names that some Lua knows are read. */
static const char walk[] =
    "local names = {}\n"
    "for _, name in ipairs{'_G', '_ENV', 'coroutine', 'debug', 'io', 'math', 'os', 'package',\n"
    "  'string', 'table', 'utf8', 'bit32', 'bit', 'jit', 'ffi', 'hcp', 'cjson', 'ctx', "
    "'host',\n"
    "  'arg', 'load', 'loadstring', 'dofile', 'loadfile', 'module', 'unpack', 'setfenv',\n"
    "  'getfenv', 'newproxy', 'collectgarbage', 'setmetatable', 'getmetatable', 'warn'} do\n"
    "  pcall(function() return _ENV[name] end)\n"
    "end\n"
    "local function down(t, prefix)\n"
    "  for k, v in pairs(t) do\n"
    "    if type(v) == 'table' and next(v) ~= nil then down(v, prefix .. k .. '.')\n"
    "    else names[#names + 1] = prefix .. tostring(k) end\n"
    "  end\n"
    "end\n"
    "down(_ENV, '')\n"
    "local function list(given, name)\n"
    "  for k in pairs(given or {}) do names[#names + 1] = name .. '.' .. k end\n"
    "  table.sort(names)\n"
    "  return table.concat(names, ' ')\n"
    "end\n";

static const struct role {
	enum script_role role;
	const char *name, *end;
} roles[] = {
    {SCRIPT_VERB, "verb", "return function(_, ctx) hcp.fail(list(ctx, 'ctx')) end"},
    {SCRIPT_ADAPTER, "adapter",
     "return {run = function(_, ctx) hcp.fail(list(ctx, 'ctx')) end}"},
    {SCRIPT_AUTH, "auth", "return function(_, host) hcp.fail(list(host, 'host')) end"},
    {SCRIPT_MINT, "mint", "return function(_, host) hcp.fail(list(host, 'host')) end"},
    {SCRIPT_GUARD, "guard", "return function(_, more) hcp.fail(list(more, 'more')) end"},
};

static int exec_one(void *user, const char *pack_id, const char *verb_key, json_t *args,
		    char **envelope, size_t *len, struct hcp_err *err)
{
	(void)user, (void)pack_id, (void)verb_key, (void)args, (void)envelope, (void)len;
	return hcp_fail(err, HCP_E_DENIED, "not here");
}

static int exec_all(void *user, size_t n, const char *const *pack_ids,
		    const char *const *verb_keys, json_t *const *args, char **envelopes,
		    size_t *lens, struct hcp_err *err)
{
	(void)user, (void)n, (void)pack_ids, (void)verb_keys, (void)args, (void)envelopes;
	(void)lens;
	return hcp_fail(err, HCP_E_DENIED, "not here");
}

static int no_secret(void *user, const char *name, struct secret **out, struct hcp_err *err)
{
	(void)user, (void)name, (void)out;
	return hcp_fail(err, HCP_E_DENIED, "not here");
}

/* The names of `role`, in the list's order, with a space between. */
static void read_list(const char *role, struct buf *out)
{
	char line[200], word[32];
	FILE *f = fopen(HCP_SOURCE "/" LIST, "r");
	size_t name;

	assert_non_null(f);
	snprintf(word, sizeof(word), " %s ", role);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = ' ';
		if (line[0] == '#' || !strstr(line, word))
			continue;
		name = strcspn(line, " ");
		if (out->len)
			buf_putc(out, ' ');
		buf_add(out, line, name);
	}
	fclose(f);
}

static void run_role(const struct role *role, struct world *w)
{
	char source[4096];

	world_open(w, role->role);
	w->call.export = role->role == SCRIPT_ADAPTER ? "run" : NULL;
	w->call.host.exec = exec_one;
	w->call.host.exec_all = exec_all;
	w->call.host.secret = no_secret;
	w->call.config = world_json(w, "{}");
	snprintf(source, sizeof(source), "%s%s", walk, role->end);
	world_run(w, source);
}

static void test_every_role_reaches_its_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		AUTO_BUF expected = {0};
		struct world w;

		read_list(roles[i].name, &expected);
		assert_true(expected.len > 1000);
		run_role(&roles[i], &w);
		assert_true(w.result.own_message);
		assert_string_equal(w.result.error.data, expected.data);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_role_reaches_its_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
