/* SPDX-License-Identifier: MIT */
/* Manifests that load: defaults, the merging of wrap and of a kind's own mapping, policies, and
 * what an invoker is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pack_folder.h"

#define TOP "hcp: 1\npack_id: demo\nversion: 1.0.0\nsummary: A demo\n"

static void load(struct folder *f, const char *manifest, const char *policy)
{
	folder_open(f);
	folder_put(f, "packs/demo/verbs/go.lua", "return 1\n");
	folder_put(f, "packs/demo/pack.yaml", manifest);
	folder_put(f, "packs/demo/policy.yaml", policy);
	if (!folder_load(f, "demo"))
		fail_msg("%s", f->err.text);
}

static const struct pack_command *get(const struct folder *f, const char *key)
{
	const struct pack_command *c = pack_command(f->pack, key);

	assert_non_null(c);
	return c;
}

static void smallest(void **state)
{
	struct folder f;

	(void)state;
	load(&f, TOP "commands: {}\n", NULL);
	assert_string_equal(f.pack->id, "demo");
	assert_string_equal(f.pack->version, "1.0.0");
	assert_string_equal(f.pack->summary, "A demo");
	assert_string_equal(f.pack->bin, "demo");
	assert_int_equal(f.pack->requires.count, 0);
	assert_int_equal(f.pack->uses.count, 0);
	assert_null(f.pack->mint);
	assert_int_equal(f.pack->command_count, 0);
	assert_null(pack_command(f.pack, "go"));
	assert_string_equal(f.pack->shown, "packs/demo");
	assert_int_equal(f.pack->path[0], '/');
	folder_close(&f);
}

static void defaults(void **state)
{
	const struct pack_command *c;
	struct folder f;

	(void)state;
	load(&f, TOP "wrap: { bin: ./bin/demo }\ncommands:\n  go: { summary: Go }\n", NULL);
	c = get(&f, "go");
	assert_string_equal(c->kind, "wrap");
	assert_string_equal(c->summary, "Go");
	assert_null(c->description);
	assert_null(c->script);
	assert_null(c->own);
	assert_null(c->args);
	assert_null(c->output);
	assert_null(c->examples);
	assert_null(c->policy);
	assert_non_null(c->argv);
	assert_int_equal(c->effect, PACK_DESTRUCTIVE);
	assert_int_equal(c->lock, PACK_LOCK_EXCLUSIVE);
	assert_int_equal(c->timeout_ms, 0);
	assert_false(c->internal || c->health || c->bootstrap);
	assert_int_equal(c->line, 7);
	assert_int_equal(c->column, 3);
	assert_string_equal(c->wrap.bin, "./bin/demo");
	assert_int_equal(c->wrap.workspace, PACK_WS_PACK);
	assert_null(c->wrap.workspace_name);
	assert_string_equal(c->wrap.home_env, "HOME");
	assert_int_equal(c->wrap.agent_env.count, 0);
	assert_int_equal(c->wrap.file_flags.count, 0);
	assert_int_equal(c->wrap.files.count, 0);
	assert_int_equal(c->wrap.json_flag.count, 1);
	assert_string_equal(c->wrap.json_flag.items[0], "--json");
	assert_int_equal(c->wrap.deny_prefix.count, 1);
	assert_string_equal(c->wrap.deny_prefix.items[0], "-");
	assert_int_equal(c->wrap.stdin_kind, PACK_STDIN_NONE);
	assert_int_equal(c->wrap.result, PACK_RESULT_AUTO);
	folder_close(&f);
}

static const char everything[] =
    "hcp: 1\npack_id: demo\nversion: 1.2.3-rc.1+build.07\nsummary: A demo\nbin: dm\n"
    "requires: [hledger, /usr/bin/git]\n"
    "uses: [transit.plan, a.b.report month]\n"
    "mint: { hook: verbs/go.lua, ttl: 15m, env: [TOKEN, OTHER], deliver: file }\n"
    "$defs: { month: { type: string, pattern: \"^\\\\d{4}-\\\\d{2}$\" } }\n"
    "wrap:\n"
    "  bin: ./bin/demo\n"
    "  argv_template: [\"{{verb}}\"]\n"
    "  workspace: { mode: workspace, name: app }\n"
    "  agent_env: { LANG: C, A: one }\n"
    "  home_env: DEMO_HOME\n"
    "  file_flags: [\"--file\"]\n"
    "  json_flag: []\n"
    "  stdin: json\n"
    "  result: lines\n"
    "  deny_prefix: [\"-\", \"@\"]\n"
    "commands:\n"
    "  base: { summary: The defaults }\n"
    "  own:\n"
    "    summary: All its own\n"
    "    description: |\n"
    "      Several\n"
    "      lines\n"
    "    cli: [demo, own, \"--month={{month}}\"]\n"
    "    args:\n"
    "      properties:\n"
    "        month: { $ref: \"#/$defs/month\" }\n"
    "        pin: { type: string, writeOnly: true }\n"
    "      required: [month]\n"
    "    output: { type: object }\n"
    "    effect: read\n"
    "    timeout: 10s\n"
    "    examples: [{ month: 2024-01, confirm: true }]\n"
    "    wrap:\n"
    "      bin: /usr/bin/own\n"
    "      workspace: { mode: ephemeral }\n"
    "      agent_env: { A: two, B: three }\n"
    "      json_flag: [--format, json]\n"
    "      stdin: \"{{pin}}\"\n"
    "      files: [pin]\n"
    "      result: text\n"
    "  locked: { summary: Locked, effect: read, lock: none, wrap: { workspace: {} } }\n"
    "  writes: { summary: Writes, effect: write, internal: true }\n"
    "  a.doctor: { summary: Well? }\n"
    "  status: { summary: Well?, health: true }\n"
    "  well: { summary: Well?, health: true }\n"
    "  doctors: { summary: None }\n"
    "  \"report month\": { summary: Report, kind: composite, script: verbs/go.lua }\n"
    "  \"report.month\": { summary: Report, kind: composite, script: verbs/go.lua }\n";

static void all_keys(void **state)
{
	const struct pack_wrap *w;
	struct folder f;

	(void)state;
	load(&f, everything, NULL);
	assert_string_equal(f.pack->version, "1.2.3-rc.1+build.07");
	assert_string_equal(f.pack->bin, "dm");
	assert_int_equal(f.pack->requires.count, 2);
	assert_string_equal(f.pack->uses.items[1], "a.b.report month");
	assert_string_equal(f.pack->mint->hook, "verbs/go.lua");
	assert_int_equal(f.pack->mint->ttl_ms, 15 * 60 * 1000);
	assert_int_equal(f.pack->mint->env.count, 2);
	assert_true(f.pack->mint->deliver_file);
	w = &get(&f, "base")->wrap;
	assert_int_equal(w->workspace, PACK_WS_WORKSPACE);
	assert_string_equal(w->workspace_name, "app");
	assert_string_equal(w->home_env, "DEMO_HOME");
	assert_int_equal(w->json_flag.count, 0);
	assert_int_equal(w->stdin_kind, PACK_STDIN_JSON);
	assert_int_equal(w->result, PACK_RESULT_LINES);
	assert_int_equal(w->deny_prefix.count, 2);
	assert_string_equal(w->file_flags.items[0], "--file");
	assert_int_equal(w->agent_env.count, 2);
	folder_close(&f);
}

static void merging(void **state)
{
	const struct pack_command *c;
	const struct pack_wrap *w;
	struct folder f;

	(void)state;
	load(&f, everything, NULL);
	c = get(&f, "own");
	w = &c->wrap;
	assert_string_equal(w->bin, "/usr/bin/own");
	assert_int_equal(w->workspace, PACK_WS_EPHEMERAL);
	assert_null(w->workspace_name);
	assert_string_equal(w->home_env, "DEMO_HOME");
	assert_int_equal(w->agent_env.count, 3);
	assert_string_equal(w->agent_env.names[0], "LANG");
	assert_string_equal(w->agent_env.values[0], "C");
	assert_string_equal(w->agent_env.names[1], "A");
	assert_string_equal(w->agent_env.values[1], "two");
	assert_string_equal(w->agent_env.names[2], "B");
	assert_int_equal(w->json_flag.count, 2);
	assert_int_equal(w->deny_prefix.count, 2);
	assert_int_equal(w->stdin_kind, PACK_STDIN_ARG);
	assert_string_equal(w->stdin_arg, "pin");
	assert_string_equal(w->files.items[0], "pin");
	assert_int_equal(w->result, PACK_RESULT_TEXT);
	assert_int_equal(get(&f, "locked")->wrap.workspace, PACK_WS_PACK);
	assert_null(get(&f, "locked")->wrap.workspace_name);
	folder_close(&f);
}

static void traits(void **state)
{
	const struct pack_command *c;
	struct folder f;

	(void)state;
	load(&f, everything, NULL);
	c = get(&f, "own");
	assert_string_equal(c->description, "Several\nlines\n");
	assert_int_equal(c->effect, PACK_READ);
	assert_int_equal(c->lock, PACK_LOCK_SHARED);
	assert_int_equal(c->timeout_ms, 10000);
	assert_non_null(c->args);
	assert_non_null(c->output);
	assert_int_equal(get(&f, "locked")->lock, PACK_LOCK_NONE);
	assert_int_equal(get(&f, "writes")->effect, PACK_WRITE);
	assert_int_equal(get(&f, "writes")->lock, PACK_LOCK_EXCLUSIVE);
	assert_true(get(&f, "writes")->internal);
	assert_true(get(&f, "a.doctor")->health);
	assert_true(get(&f, "status")->health);
	assert_true(get(&f, "well")->health);
	assert_false(get(&f, "doctors")->health);
	c = get(&f, "report month");
	assert_string_equal(c->kind, "composite");
	assert_string_equal(c->script, "verbs/go.lua");
	assert_null(c->argv);
	assert_null(c->wrap.bin);
	assert_ptr_not_equal(c, get(&f, "report.month"));
	folder_close(&f);
}

/* A kind that nothing here knows loads and is refused by the step that would run it. */
static void own_mapping(void **state)
{
	const struct yaml_node *own;
	struct folder f;

	(void)state;
	load(&f,
	     TOP "kind: http\n"
		 "http: { base: \"https://x\", method: GET, headers: { A: b } }\n"
		 "commands:\n"
		 "  plain: { summary: P }\n"
		 "  post: { summary: P, http: { method: POST, path: /x } }\n"
		 "  grpc: { summary: P, kind: grpc, grpc: { a: 1 }, cli: [demo, grpc] }\n"
		 "  bare: { summary: P, kind: smtp, script: verbs/go.lua }\n"
		 "  wrap: { summary: P, kind: wrap, wrap: { bin: demo } }\n",
	     NULL);
	own = get(&f, "plain")->own;
	assert_string_equal(yaml_get(own, "method")->text, "GET");
	own = get(&f, "post")->own;
	assert_int_equal(own->count, 4);
	assert_string_equal(yaml_get(own, "base")->text, "https://x");
	assert_string_equal(yaml_get(own, "method")->text, "POST");
	assert_string_equal(yaml_get(own, "path")->text, "/x");
	assert_string_equal(get(&f, "post")->kind, "http");
	assert_int_equal(get(&f, "grpc")->own->count, 1);
	assert_null(get(&f, "grpc")->argv);
	assert_null(get(&f, "bare")->own);
	assert_string_equal(get(&f, "bare")->script, "verbs/go.lua");
	assert_null(get(&f, "wrap")->own);
	assert_string_equal(get(&f, "wrap")->wrap.bin, "demo");
	folder_close(&f);
}

static void bootstrap(void **state)
{
	struct folder f;

	(void)state;
	load(&f,
	     TOP "wrap: { bin: demo }\ncommands:\n"
		 "  \"*\": { summary: All, bootstrap: true, cli: [demo, \"{{args}}\"] }\n"
		 "  doctor: { summary: Well?, cli: [demo, doctor] }\n"
		 "  well: { summary: Well?, health: true, cli: [demo, well] }\n",
	     "hcp: 1\npolicies:\n  \"*\": { confirm: true }\n");
	assert_true(get(&f, "*")->bootstrap);
	assert_true(get(&f, "*")->policy->confirm);
	assert_false(get(&f, "doctor")->bootstrap);
	folder_close(&f);
}

static void policies(void **state)
{
	const struct pack_policy *p;
	struct folder f;

	(void)state;
	load(&f, everything,
	     "hcp: 1\n"
	     "policies:\n"
	     "  base: {}\n"
	     "  own: { capability: ledger.write, confirm: true }\n"
	     "  \"report month\": { capability: [b.two, a.one], confirm: false,\n"
	     "    privacy: { land: brain } }\n"
	     "  status: { privacy: { land: local } }\n");
	assert_int_equal(f.pack->policy_count, 4);
	p = get(&f, "base")->policy;
	assert_string_equal(p->verb_key, "base");
	assert_int_equal(p->capabilities.count, 1);
	assert_string_equal(p->capabilities.items[0], "demo.base");
	assert_false(p->confirm || p->land_brain);
	assert_int_equal(p->line, 3);
	p = get(&f, "own")->policy;
	assert_string_equal(p->capabilities.items[0], "ledger.write");
	assert_true(p->confirm);
	p = get(&f, "report month")->policy;
	assert_int_equal(p->capabilities.count, 2);
	assert_string_equal(p->capabilities.items[0], "b.two");
	assert_true(p->land_brain);
	assert_false(p->confirm);
	assert_false(get(&f, "status")->policy->land_brain);
	assert_null(get(&f, "locked")->policy);
	assert_null(get(&f, "report.month")->policy);
	folder_close(&f);
}

static const json_t *described(const json_t *j, const char *key)
{
	return json_object_get(json_object_get(j, "commands"), key);
}

static void description(void **state)
{
	struct folder f;
	const json_t *c;
	json_t *j;
	char *text;

	(void)state;
	load(&f, everything, "hcp: 1\npolicies: { own: { confirm: true } }\n");
	j = pack_describe(f.pack, &f.err);
	assert_non_null(j);
	assert_string_equal(json_string_value(json_object_get(j, "bin")), "dm");
	assert_int_equal(json_object_size(json_object_get(j, "commands")),
			 f.pack->command_count - 1);
	assert_null(described(j, "writes"));
	c = described(j, "own");
	assert_string_equal(json_string_value(json_object_get(c, "effect")), "read");
	assert_string_equal(json_string_value(json_object_get(c, "timeout")), "10s");
	assert_true(json_is_true(json_object_get(c, "confirm")));
	assert_true(json_is_object(json_object_get(c, "args")));
	assert_true(json_is_object(json_object_get(c, "output")));
	assert_int_equal(json_array_size(json_object_get(c, "examples")), 1);
	c = described(j, "base");
	assert_string_equal(json_string_value(json_object_get(c, "effect")), "destructive");
	assert_null(json_object_get(c, "args"));
	assert_null(json_object_get(c, "confirm"));
	text = json_dumps(j, 0);
	assert_null(strstr(text, "DEMO_HOME"));
	assert_null(strstr(text, "./bin/demo"));
	assert_null(strstr(text, "verbs/go.lua"));
	free(text);
	json_decref(j);
	folder_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(smallest),    cmocka_unit_test(defaults),
	    cmocka_unit_test(all_keys),    cmocka_unit_test(merging),
	    cmocka_unit_test(traits),      cmocka_unit_test(own_mapping),
	    cmocka_unit_test(bootstrap),   cmocka_unit_test(policies),
	    cmocka_unit_test(description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
