/* SPDX-License-Identifier: MIT */
/* Manifests and policies that must not load, each with the line and the words of its refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pack_folder.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* Lines 1 to 4, and to 6: what follows TOP is line 5, what follows HEAD is line 7. */
#define TOP  "hcp: 1\npack_id: demo\nversion: 1.0.0\nsummary: A demo\n"
#define HEAD TOP "wrap: { bin: ./bin/demo }\ncommands:\n"
#define GOOD HEAD "  go: { summary: Go }\n  \"two words\": { summary: Two }\n"

struct broken {
	int line;
	const char *fragment, *text;
};

static const struct broken manifests[] = {
    /* the file */
    {1, "empty", ""},
    {1, "the manifest must be a mapping", "- 1\n"},
    {2, "", "hcp: 1\n\tpack_id: demo\n"},
    {5, "", TOP "summary: again\n"},
    {5, "anchors", TOP "requires: &a [x]\n"},
    {5, "aliases", TOP "requires: *a\n"},
    {5, "tags", TOP "requires: !x []\n"},
    /* the header */
    {1, "needs \"hcp\"", "pack_id: demo\nversion: 1.0.0\nsummary: A\ncommands: {}\n"},
    {1, "format version 2 is not supported", "hcp: 2\nnew_key: 1\n"},
    {1, "\"hcp\" must be", "hcp: one\npack_id: demo\n"},
    {1, "needs \"pack_id\"", "hcp: 1\nversion: 1.0.0\nsummary: A\ncommands: {}\n"},
    {2, "\"pack_id\"", "hcp: 1\npack_id: ../demo\nversion: 1.0.0\nsummary: A\ncommands: {}\n"},
    {2, "pack_id is \"other\", but the folder is called \"demo\"",
     "hcp: 1\npack_id: other\nversion: 1.0.0\nsummary: A\ncommands: {}\n"},
    {1, "needs \"version\"", "hcp: 1\npack_id: demo\nsummary: A\ncommands: {}\n"},
    {3, "\"version\" must be a string", "hcp: 1\npack_id: demo\nversion: 1.0\nsummary: A\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 1.0.0.0\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 01.0.0\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: v1.0.0\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 1.0.0-\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 1.0.0-a..b\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 1.0.0-01\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 1.0.0+\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: \"1.0.0 \"\nsummary: A\ncommands: {}\n"},
    {3, "semver", "hcp: 1\npack_id: demo\nversion: 1.0-a.0\nsummary: A\ncommands: {}\n"},
    {1, "needs \"summary\"", "hcp: 1\npack_id: demo\nversion: 1.0.0\ncommands: {}\n"},
    {4, "one line", "hcp: 1\npack_id: demo\nversion: 1.0.0\nsummary: |\n  a\n  b\n"},
    {4, "one line", "hcp: 1\npack_id: demo\nversion: 1.0.0\nsummary: \"\"\n"},
    {1, "needs \"commands\"", TOP},
    {5, "\"commands\" must be", TOP "commands: []\n"},
    {5, "unknown key \"comands\" in the manifest (did you mean \"commands\"?)",
     TOP "comands: {}\n"},
    {5, "\"bin\"", TOP "bin: a/b\ncommands: {}\n"},
    {5, "\"requires\"", TOP "requires: [a/b]\ncommands: {}\n"},
    {5, "\"requires\" must be a list", TOP "requires: hledger\ncommands: {}\n"},
    {5, "\"uses\"", TOP "uses: [transit]\ncommands: {}\n"},
    {5, "\"uses\"", TOP "uses: [\"transit.*\"]\ncommands: {}\n"},
    {5, "\"uses\"", TOP "uses: [.plan]\ncommands: {}\n"},
    {5, "\"$defs\" must be", TOP "$defs: []\ncommands: {}\n"},
    {5, "", TOP "$defs: { a: { type: strin } }\ncommands: {}\n"},
    /* kinds */
    {5, "\"kind\"", TOP "kind: Http\ncommands: {}\n"},
    {5, "\"kind\" must be a string", TOP "kind: 1\ncommands: {}\n"},
    {5, "\"summary\" can't be a kind", TOP "kind: summary\ncommands: {}\n"},
    {5, "\"timeout\" can't be a kind", TOP "kind: timeout\ncommands: {}\n"},
    {5, "unknown key \"http\"", TOP "http: {}\ncommands: {}\n"},
    {6, "\"http\" must be a mapping", TOP "kind: http\nhttp: []\ncommands: {}\n"},
    {7, "unknown key \"grpc\"", TOP "kind: http\nhttp: {}\ngrpc: {}\ncommands: {}\n"},
    {7, "unknown key \"http\" in a command", HEAD "  go: { summary: Go, http: {} }\n"},
    {7, "\"http\" must be a mapping", HEAD "  go: { summary: Go, kind: http, http: x }\n"},
    {7, "can't be a kind", HEAD "  go: { summary: Go, kind: args }\n"},
    {7, "is of kind http and has no \"wrap\"",
     HEAD "  go: { summary: Go, kind: http, wrap: { bin: ./x } }\n"},
    /* wrap */
    {5, "unknown key \"bim\" in wrap (did you mean \"bin\"?)",
     TOP "wrap: { bim: ./x }\ncommands: {}\n"},
    {5, "\"bin\" must begin with", TOP "wrap: { bin: foo/x }\ncommands: {}\n"},
    {5, "\"bin\" may not hold \"..\"", TOP "wrap: { bin: ../x }\ncommands: {}\n"},
    {5, "\"bin\" may not hold \"..\"", TOP "wrap: { bin: ./a/../../x }\ncommands: {}\n"},
    {5, "\"bin\" must name a file", TOP "wrap: { bin: ./bin/ }\ncommands: {}\n"},
    {5, "\"bin\" must be", TOP "wrap: { bin: \"\" }\ncommands: {}\n"},
    {6, "needs \"bin\" in wrap", TOP "commands:\n  go: { summary: Go }\n"},
    {5, "may not begin with LD_ or HCP_",
     TOP "wrap: { agent_env: { LD_PRELOAD: x } }\ncommands: {}\n"},
    {5, "may not begin with LD_ or HCP_",
     TOP "wrap: { agent_env: { HCP_TENANT: x } }\ncommands: {}\n"},
    {5, "may not be PATH", TOP "wrap: { agent_env: { PATH: x } }\ncommands: {}\n"},
    {5, "may not be PATH", TOP "wrap: { agent_env: { ENV: x } }\ncommands: {}\n"},
    {5, "may not be PATH", TOP "wrap: { agent_env: { BASH_ENV: x } }\ncommands: {}\n"},
    {5, "must be the name of an environment variable",
     TOP "wrap: { agent_env: { \"A B\": x } }\ncommands: {}\n"},
    {5, "", TOP "wrap: { agent_env: { A: 1 } }\ncommands: {}\n"},
    {7, "may not be PATH",
     HEAD "  go: { summary: Go, wrap: { agent_env: { A: x, PATH: y } } }\n"},
    {5, "\"home_env\" may not be PATH", TOP "wrap: { home_env: PATH }\ncommands: {}\n"},
    {5, "\"home_env\" may not begin", TOP "wrap: { home_env: LD_X }\ncommands: {}\n"},
    {5, "\"home_env\" must be", TOP "wrap: { home_env: 9A }\ncommands: {}\n"},
    {5, "\"mode\" must be", TOP "wrap: { workspace: { mode: jail } }\ncommands: {}\n"},
    {5, "\"name\"", TOP "wrap: { workspace: { name: ../x } }\ncommands: {}\n"},
    {7, "only a workspace of mode workspace",
     HEAD "  go: { summary: Go, wrap: { workspace: { mode: ephemeral, name: app } } }\n"},
    {5, "\"workspace\" must be", TOP "wrap: { workspace: pack }\ncommands: {}\n"},
    {5, "\"stdin\"", TOP "wrap: { stdin: yaml }\ncommands: {}\n"},
    {5, "\"stdin\"", TOP "wrap: { stdin: \"{{a}}{{b}}\" }\ncommands: {}\n"},
    {5, "\"stdin\"", TOP "wrap: { stdin: \"{{}}\" }\ncommands: {}\n"},
    {8, "\"stdin\" names \"body\", which is no declared property of \"go\"",
     HEAD "  go: { summary: Go, args: {},\n"
	  "    wrap: { stdin: \"{{body}}\" } }\n"},
    {5, "\"result\" must be", TOP "wrap: { result: xml }\ncommands: {}\n"},
    {7, "must hold \"-\"", HEAD "  go: { summary: Go, wrap: { deny_prefix: [\"@\"] } }\n"},
    {7, "must hold \"-\"", HEAD "  go: { summary: Go, wrap: { deny_prefix: [] } }\n"},
    {5, "may not be empty", TOP "wrap: { deny_prefix: [\"-\", \"\"] }\ncommands: {}\n"},
    {5, "\"file_flags\"", TOP "wrap: { file_flags: [\"--file=\"] }\ncommands: {}\n"},
    {5, "\"files\"", TOP "wrap: { files: [\"../x\"] }\ncommands: {}\n"},
    {7, "\"files\" names \"pin\", which is no declared property of \"go\"",
     HEAD "  go: { summary: Go, args: {}, wrap: { files: [pin] } }\n"},
    /* templates */
    {7, "is no declared property",
     HEAD "  go: { summary: Go, args: {}, cli: [demo, go, \"{{who}}\"] }\n"},
    {7, "is writeOnly",
     HEAD "  go: { summary: Go, cli: [demo, go, \"--pin={{pin}}\"], args: { "
	  "properties: { pin: { type: string, writeOnly: true } } } }\n"},
    {7, "is no declared property",
     HEAD "  go: { summary: Go, args: {}, cli: [demo, { when: who, then: [x] }] }\n"},
    {7, "is no declared property",
     HEAD "  go: { summary: Go, args: {}, cli: [demo, { each: who, then: [x] }] }\n"},
    {5, "is no declared property",
     TOP "wrap: { bin: ./x, argv_template: [go, \"{{who}}\"] }\ncommands:\n"
	 "  go: { summary: Go, args: {} }\n"},
    {5, "a token must be a string",
     TOP "wrap: { bin: ./x, argv_template: [7] }\ncommands:\n"
	 "  go: { summary: Go, cli: [x, go] }\n"},
    {7, "has a \"cli\", too",
     HEAD "  go: { summary: Go, cli: [demo, go], wrap: { argv_template: [go] } }\n"},
    {7, "\"cli\" must be a list", HEAD "  go: { summary: Go, cli: demo go }\n"},
    {7, "is no declared property",
     HEAD "  go: { summary: Go, kind: http, args: {}, cli: [demo, \"{{who}}\"] }\n"},
    /* commands */
    {7, "is no verb key", HEAD "  \"go!\": { summary: Go }\n"},
    {7, "is no verb key", HEAD "  \"two  words\": { summary: Go }\n"},
    {7, "is no verb key", HEAD "  .go: { summary: Go }\n"},
    {7, "is no verb key", HEAD "  \"\": { summary: Go }\n"},
    {7, "needs \"summary\"", HEAD "  go: {}\n"},
    {7, "must be a mapping", HEAD "  go:\n"},
    {7, "unknown key \"sumary\" in a command (did you mean \"summary\"?)",
     HEAD "  go: { sumary: Go }\n"},
    {8, "", HEAD "  go: { summary: Go }\n  go: { summary: Again }\n"},
    {7, "\"effect\" must be", HEAD "  go: { summary: Go, effect: none }\n"},
    {7, "\"lock\" must be", HEAD "  go: { summary: Go, lock: write }\n"},
    {7, "\"timeout\" must be a duration", HEAD "  go: { summary: Go, timeout: 10 }\n"},
    {7, "\"timeout\" must be a duration", HEAD "  go: { summary: Go, timeout: 0s }\n"},
    {7, "\"internal\" must be", HEAD "  go: { summary: Go, internal: yes }\n"},
    {7, "\"args\" must be", HEAD "  go: { summary: Go, args: [] }\n"},
    {7, "", HEAD "  go: { summary: Go, args: { patternProperties: {} } }\n"},
    {7, "",
     HEAD "  go: { summary: Go, args: { properties: { confirm: { type: boolean } } } }\n"},
    {7, "", HEAD "  go: { summary: Go, args: { properties: { mode: { type: string } } } }\n"},
    {7, "",
     HEAD "  go: { summary: Go, args: { properties: { a: { $ref: \"#/$defs/a\" } } } }\n"},
    {7, "", HEAD "  go: { summary: Go, output: { kind: object } }\n"},
    {7, "an example must be a mapping", HEAD "  go: { summary: Go, examples: [x] }\n"},
    {8, "the example doesn't fit",
     HEAD "  go: { summary: Go, args: { properties: { a: { type: integer } } },\n"
	  "    examples: [{ a: x }] }\n"},
    {8, "the example doesn't fit",
     HEAD "  go: { summary: Go, args: {},\n    examples: [{ confirm: true, b: 1 }] }\n"},
    {7, "\"doctor\" is a health command by its name",
     HEAD "  doctor: { summary: Well?, health: false }\n"},
    {7, "is a health command by its name",
     HEAD "  a.status: { summary: Well?, health: false }\n"},
    /* scripts */
    {7, "a composite needs \"script\"", HEAD "  go: { summary: Go, kind: composite }\n"},
    {7, "must end in .lua",
     HEAD "  go: { summary: Go, kind: composite, script: verbs/go.js }\n"},
    {7, "the pack has no file \"verbs/no.lua\"",
     HEAD "  go: { summary: Go, kind: composite, script: verbs/no.lua }\n"},
    {7, "\"script\" must be a path inside the pack",
     HEAD "  go: { summary: Go, kind: composite, script: ../x.lua }\n"},
    {7, "\"script\" must be a path inside the pack",
     HEAD "  go: { summary: Go, kind: composite, script: /x.lua }\n"},
    {7, "\"script\" must be a path inside the pack",
     HEAD "  go: { summary: Go, kind: composite, script: ./verbs/go.lua }\n"},
    {7, "has no \"script\"", HEAD "  go: { summary: Go, script: verbs/go.lua }\n"},
    /* pass-through */
    {7, "hands its caller the program itself",
     HEAD "  \"*\": { summary: All, cli: [demo, x] }\n"},
    {7, "hands its caller the program itself",
     HEAD "  raw: { summary: All, cli: [demo, \"{{args}}\"] }\n"},
    {7, "hands its caller the program itself",
     HEAD "  raw: { summary: All, internal: true, cli: [demo, \"{{argv}}\"] }\n"},
    {7, "hands its caller the program itself",
     HEAD "  raw: { summary: All, cli: [demo, { each: x, then: [\"{{x}}\"] }] }\n"},
    {8, "and \"go\" is none",
     HEAD "  raw: { summary: All, bootstrap: true, cli: [demo, \"{{args}}\"] }\n"
	  "  go: { summary: Go }\n"},
    {7, "and \"go\" is none",
     HEAD "  go: { summary: Go }\n"
	  "  raw: { summary: All, bootstrap: true, cli: [demo, \"{{args}}\"] }\n"},
    {7, "\"doctor\" hands its caller the program itself",
     HEAD "  doctor: { summary: All, cli: [demo, \"{{args}}\"] }\n"},
    /* mint */
    {5, "needs \"hook\"", TOP "mint: { ttl: 5m, env: [T] }\ncommands: {}\n"},
    {5, "needs \"ttl\"", TOP "mint: { hook: m.lua, env: [T] }\ncommands: {}\n"},
    {5, "needs \"env\"", TOP "mint: { hook: m.lua, ttl: 5m }\ncommands: {}\n"},
    {5, "at least one", TOP "mint: { hook: verbs/go.lua, ttl: 5m, env: [] }\ncommands: {}\n"},
    {5, "names \"T\" twice",
     TOP "mint: { hook: verbs/go.lua, ttl: 5m, env: [T, T] }\ncommands: {}\n"},
    {5, "may not begin with LD_",
     TOP "mint: { hook: verbs/go.lua, ttl: 5m, env: [LD_PRELOAD] }\ncommands: {}\n"},
    {5, "the pack has no file \"m.lua\"",
     TOP "mint: { hook: m.lua, ttl: 5m, env: [T] }\ncommands: {}\n"},
    {5, "\"hook\" must be a .lua file", TOP "mint: { hook: ../m.lua, ttl: 5m, env: [T] }\n"},
    {5, "\"hook\" must be a .lua file", TOP "mint: { hook: m.sh, ttl: 5m, env: [T] }\n"},
    {5, "\"hook\" must name a hook",
     TOP "mint: { hook: \"policies:../x\", ttl: 5m, env: [T] }\n"},
    {5, "\"deliver\" must be",
     TOP "mint: { hook: verbs/go.lua, ttl: 5m, env: [T], deliver: fd }\ncommands: {}\n"},
    {5, "unknown key", TOP "mint: { hook: verbs/go.lua, ttl: 5m, env: [T], x: 1 }\n"},
    {8, "\"go\": \"files\" names T, which \"mint\" delivers",
     TOP "mint: { hook: verbs/go.lua, ttl: 5m, env: [S, T], deliver: file }\n"
	 "wrap: { bin: ./bin/demo }\ncommands:\n"
	 "  go: { summary: Go, args: { properties: { T: {} } }, wrap: { files: [T] } }\n"},
};

static const struct broken policies[] = {
    {1, "empty", ""},
    {1, "needs \"hcp\"", "policies: {}\n"},
    {1, "format version 2", "hcp: 2\npolicies: {}\n"},
    {1, "needs \"policies\"", "hcp: 1\n"},
    {2, "unknown key \"policy\" in the pack's policy", "hcp: 1\npolicy: {}\n"},
    {2, "\"policies\" must be", "hcp: 1\npolicies: []\n"},
    {3, "the manifest has no command \"gone\"", "hcp: 1\npolicies:\n  gone: {}\n"},
    {3, "the manifest has no command \"two-words\"", "hcp: 1\npolicies:\n  two-words: {}\n"},
    {3, "the manifest has no command \"*\"", "hcp: 1\npolicies:\n  \"*\": {}\n"},
    {3, "must be a mapping", "hcp: 1\npolicies:\n  go:\n"},
    {3, "unknown key \"confrim\" in a policy (did you mean \"confirm\"?)",
     "hcp: 1\npolicies:\n  go: { confrim: true }\n"},
    {3, "\"confirm\" must be", "hcp: 1\npolicies:\n  go: { confirm: yes }\n"},
    {3, "\"capability\" must hold at least one",
     "hcp: 1\npolicies:\n  go: { capability: [] }\n"},
    {3, "\"capability\"", "hcp: 1\npolicies:\n  go: { capability: \"\" }\n"},
    {3, "\"capability\"", "hcp: 1\npolicies:\n  go: { capability: }\n"},
    {3, "without \"*\"", "hcp: 1\npolicies:\n  go: { capability: \"demo.*\" }\n"},
    {3, "without \"*\"", "hcp: 1\npolicies:\n  go: { capability: [demo.go, \"*\"] }\n"},
    {3, "\"land\" must be", "hcp: 1\npolicies:\n  go: { privacy: { land: cloud } }\n"},
    {3, "unknown key \"lend\"", "hcp: 1\npolicies:\n  go: { privacy: { lend: brain } }\n"},
    {3, "\"privacy\" must be", "hcp: 1\npolicies:\n  go: { privacy: brain }\n"},
    {4, "", "hcp: 1\npolicies:\n  go: {}\n  go: { confirm: true }\n"},
};

static void expect(struct folder *f, const char *file, const struct broken *b)
{
	char begin[128];

	if (folder_load(f, "demo"))
		fail_msg("loaded, though broken:\n%s", b->text);
	snprintf(begin, sizeof(begin), "unknown pack demo: packs/demo/%s:%d: ", file, b->line);
	if (strncmp(f->err.text, begin, strlen(begin)) != 0 ||
	    !strstr(f->err.text, b->fragment) || strchr(f->err.text, '\n') ||
	    f->err.code != HCP_E_DENIED)
		fail_msg("\n%s\nsaid: %s\nnot:  %s...%s", b->text, f->err.text, begin,
			 b->fragment);
	assert_non_null(strstr(f->err.text, " (column "));
}

static void broken_manifests(void **state)
{
	struct folder f;

	(void)state;
	folder_open(&f);
	folder_put(&f, "packs/demo/verbs/go.lua", "return 1\n");
	folder_put(&f, "packs/demo/verbs/go.js", "1\n");
	for (size_t i = 0; i < COUNT(manifests); i++) {
		folder_put(&f, "packs/demo/pack.yaml", manifests[i].text);
		expect(&f, "pack.yaml", &manifests[i]);
	}
	folder_close(&f);
}

static void broken_policies(void **state)
{
	struct folder f;

	(void)state;
	folder_open(&f);
	folder_put(&f, "packs/demo/pack.yaml", GOOD);
	for (size_t i = 0; i < COUNT(policies); i++) {
		folder_put(&f, "packs/demo/policy.yaml", policies[i].text);
		expect(&f, "policy.yaml", &policies[i]);
	}
	folder_close(&f);
}

/* Lists that are compared pair by pair are bounded. */
static void long_lists(void **state)
{
	AUTO_BUF env = {0}, own = {0}, mint = {0}, many = {0};
	struct folder f;

	(void)state;
	folder_open(&f);
	folder_put(&f, "packs/demo/m.lua", "return 1\n");
	buf_puts(&env, TOP "wrap: { agent_env: {");
	buf_puts(&own, TOP "kind: http\nhttp: {");
	buf_puts(&mint, TOP "mint: { hook: m.lua, ttl: 1m, env: [");
	buf_puts(&many, HEAD);
	for (int i = 0; i < 1025; i++) {
		buf_printf(&env, "A%d: x, ", i);
		buf_printf(&own, "A%d: x, ", i);
		buf_printf(&mint, "A%d, ", i);
		buf_printf(&many, "  a%d: { summary: A }\n", i);
	}
	buf_puts(&env, "} }\ncommands: {}\n");
	buf_puts(&own, "}\ncommands: {}\n");
	buf_puts(&mint, "] }\ncommands: {}\n");
	expect(&f, "pack.yaml",
	       (folder_put(&f, "packs/demo/pack.yaml", env.data),
		&(struct broken){5, "more than 256 names", "agent_env"}));
	expect(&f, "pack.yaml",
	       (folder_put(&f, "packs/demo/pack.yaml", own.data),
		&(struct broken){6, "more than 256 keys", "own"}));
	expect(&f, "pack.yaml",
	       (folder_put(&f, "packs/demo/pack.yaml", mint.data),
		&(struct broken){5, "more than 256 names", "mint"}));
	expect(&f, "pack.yaml",
	       (folder_put(&f, "packs/demo/pack.yaml", many.data),
		&(struct broken){7, "more than 1024 commands", "commands"}));
	folder_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(broken_manifests),
	    cmocka_unit_test(broken_policies),
	    cmocka_unit_test(long_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
