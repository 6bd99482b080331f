/* SPDX-License-Identifier: MIT */
/* Loading an operator's policy: whole or not at all, and every mistake with its place. */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

#include <sys/socket.h>
#include <sys/un.h>

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int setup(void **state)
{
	static struct world w;

	world_begin(&w);
	world_put(&w, "data/policies/auth/os_user.lua", "return nil\n");
	world_put(&w, "data/policies/auth/jwt.lua", "return nil\n");
	world_put(&w, "root/policies/guards/max.lua", "return nil\n");
	world_must_open(&w);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static struct policy *try_load(struct world *w)
{
	struct policy *p = NULL;
	int rc;

	memset(&w->err, 0, sizeof(w->err));
	rc = policy_load(&w->root, &w->set, &p, &w->err);
	assert_int_equal(rc, p ? 0 : -1);
	hcp_err_format(&w->err, w->text, sizeof(w->text));
	assert_true(p || w->err.code == HCP_E_CONFIG);
	return p;
}

static struct policy *load(struct world *w)
{
	struct policy *p = try_load(w);

	if (!p)
		fail_msg("%s", w->text);
	return p;
}

static void put(struct world *w, const char *name, const char *text)
{
	char rel[128];

	snprintf(rel, sizeof(rel), "root/policies/%s", name);
	world_put(w, rel, text);
}

static void refused(struct world *w, const char *file, int line, const char *why)
{
	struct policy *p = try_load(w);

	if (p)
		fail_msg("loaded, instead of: %s", why);
	if (!strstr(w->text, why))
		fail_msg("\"%s\" instead of \"%s\"", w->text, why);
	if (file && (!strstr(w->err.file, file) || w->err.line != line))
		fail_msg("%s: at line %d instead of %d", w->text, w->err.line, line);
	if (file && line && !w->err.column)
		fail_msg("%s: no column", w->text);
}

static void nothing_is_a_policy_that_denies(void **state)
{
	struct world *w = *state;
	struct policy *p = load(w);
	char path[512];

	assert_null(policy_pack(p, "ledger"));
	assert_string_equal(policy_auth_for(p, false, "cli")->provider, "os_user");
	assert_int_equal(strlen(policy_digest(p)), 71);
	policy_free(p);
	world_path(w, "root/policies/guards/max.lua", path);
	unlink(path);
	world_path(w, "root/policies/guards", path);
	rmdir(path);
	world_path(w, "root/policies", path);
	assert_int_equal(rmdir(path), 0);
	policy_free(load(w));
	policy_free(NULL);
}

static void everything_there_is(void **state)
{
	struct world *w = *state;
	const struct policy_overlay *o;
	const struct policy_auth *a;
	const struct policy_pack *pp;
	const struct policy_sandbox *s;
	struct policy *p;
	char text[4096];

	world_mkdirs(w, "app/");
	world_mkdirs(w, "out/");
	snprintf(
	    text, sizeof(text),
	    "hcp: 1\n"
	    "auth:\n"
	    "  - { when: { token: true, face: http }, provider: jwt, hosts: ['idp:443', "
	    "'[::1]:80'],\n"
	    "      secrets: [jwt_key], with: { issuer: x } }\n"
	    "  - { when: { token: false }, provider: os_user }\n"
	    "principals:\n"
	    "  \"user:bob\": { tenants: [acme, globex], tenant: acme, projects: [p1], roles: "
	    "[teller] }\n"
	    "roles:\n"
	    "  teller: [ledger.read, 'ledger.report month', 'transit.*']\n"
	    "grants:\n"
	    "  - { principal: \"user:alice\", roles: [teller, boss], tenants: [acme] }\n"
	    "  - { role: boss, capabilities: ['*'] }\n"
	    "packs:\n"
	    "  ledger:\n"
	    "    digest: \"sha256:" HASH "\"\n"
	    "    bootstrap: true\n"
	    "    bins: [./bin/ledger, hledger, { path: /usr/bin/git, sha256: " HASH " }]\n"
	    "    exec: [hledger]\n"
	    "    sandbox:\n"
	    "      mode: sandbox\n"
	    "      tier: light\n"
	    "      network: { connect: [443, 8443] }\n"
	    "      read: [/usr/share]\n"
	    "      write: [%s/out]\n"
	    "      user: 1234\n"
	    "      limits: { timeout: 1m, cpu: 2s, memory: 1M, output: 2M, file: 3M,\n"
	    "                processes: 4, open_files: 5, workspace: 6M }\n"
	    "    workspaces:\n"
	    "      app: { path: %s/app, write: true }\n"
	    "      doc: { path: /usr/share }\n"
	    "    mint: { hosts: ['api.example.com:443'], secrets: [t], with: { a: 1 } }\n"
	    "    http: { hosts: ['api.example.com:443'] }\n"
	    "    commands:\n"
	    "      transfer: { confirm: true, guard: max, capability: ledger.extra,\n"
	    "                  limits: { timeout: 5s } }\n"
	    "      \"report month\": { confirm: person, capability: [a, b],\n"
	    "                          privacy: { land: brain } }\n"
	    "      '*': { deny: closed for the audit }\n",
	    w->dir, w->dir);
	put(w, "all.yaml", text);
	p = load(w);

	a = policy_auth_for(p, true, "http");
	assert_string_equal(a->provider, "jwt");
	assert_int_equal(a->hosts.count, 2);
	assert_string_equal(a->secrets.items[0], "jwt_key");
	assert_non_null(yaml_get(a->with, "issuer"));
	assert_int_equal(a->line, 3);
	assert_null(policy_auth_for(p, true, "cli"));
	assert_string_equal(policy_auth_for(p, false, "cli")->provider, "os_user");

	pp = policy_pack(p, "ledger");
	assert_non_null(pp);
	assert_null(policy_pack(p, "ledge"));
	assert_string_equal(pp->digest, "sha256:" HASH);
	assert_true(pp->bootstrap && pp->exec_given);
	assert_int_equal(pp->bin_count, 3);
	assert_string_equal(pp->bins[0].path, "./bin/ledger");
	assert_null(pp->bins[0].sha256);
	assert_string_equal(pp->bins[2].path, "/usr/bin/git");
	assert_string_equal(pp->bins[2].sha256, HASH);
	assert_string_equal(pp->exec.items[0], "hledger");
	assert_int_equal(pp->workspace_count, 2);
	assert_string_equal(pp->workspaces[0].name, "app");
	assert_true(pp->workspaces[0].write);
	assert_false(pp->workspaces[1].write);
	assert_string_equal(pp->mint_hosts.items[0], "api.example.com:443");
	assert_string_equal(pp->mint_secrets.items[0], "t");
	assert_non_null(yaml_get(pp->mint_with, "a"));
	assert_int_equal(pp->http_hosts.count, 1);
	assert_int_equal(pp->line, 14);

	s = &pp->sandbox;
	assert_int_equal(s->mode, POLICY_SANDBOX);
	assert_int_equal(s->tier, POLICY_LIGHT);
	assert_int_equal(s->network, POLICY_NET_CONNECT);
	assert_int_equal(s->connect_count, 2);
	assert_int_equal(s->connect_ports[1], 8443);
	assert_int_equal(s->read_count, 1);
	assert_string_equal(s->read[0].path, "/usr/share");
	assert_false(s->read[0].write);
	assert_int_equal(s->write_count, 1);
	assert_true(s->write[0].write);
	assert_string_equal(s->user, "1234");
	assert_int_equal(s->limits.timeout_ms, 60000);
	assert_int_equal(s->limits.cpu_ms, 2000);
	assert_int_equal(s->limits.memory, 1 << 20);
	assert_int_equal(s->limits.output, 2 << 20);
	assert_int_equal(s->limits.file, 3 << 20);
	assert_int_equal(s->limits.processes, 4);
	assert_int_equal(s->limits.open_files, 5);
	assert_int_equal(s->limits.workspace, 6 << 20);

	o = policy_overlay(pp, "transfer");
	assert_true(o->confirm && !o->confirm_person && !o->land_brain);
	assert_string_equal(o->guard, "max");
	assert_string_equal(o->capabilities.items[0], "ledger.extra");
	assert_int_equal(o->limits.timeout_ms, 5000);
	assert_int_equal(o->limits.memory, 0);
	assert_null(o->deny);
	o = policy_overlay(pp, "report month");
	assert_true(o->confirm && o->confirm_person && o->land_brain);
	assert_int_equal(o->capabilities.count, 2);
	assert_string_equal(policy_overlay(pp, "*")->deny, "closed for the audit");
	assert_null(policy_overlay(pp, "report"));
	policy_free(p);
}

static void what_is_not_written_is_closed(void **state)
{
	struct world *w = *state;
	const struct policy_pack *pp;
	struct policy *p;

	put(w, "a.yaml",
	    "hcp: 1\npacks: { p: {}, q: { exec: [], sandbox: { network: host } } }\n");
	p = load(w);
	pp = policy_pack(p, "p");
	assert_int_equal(pp->bin_count, 0);
	assert_false(pp->bootstrap || pp->exec_given);
	assert_int_equal(pp->sandbox.mode, POLICY_SANDBOX);
	assert_int_equal(pp->sandbox.tier, POLICY_STRONG);
	assert_int_equal(pp->sandbox.network, POLICY_NET_NONE);
	assert_null(pp->sandbox.user);
	assert_memory_equal(&pp->sandbox.limits, &policy_pack_default()->sandbox.limits,
			    sizeof(pp->sandbox.limits));
	pp = policy_pack(p, "q");
	assert_true(pp->exec_given);
	assert_int_equal(pp->exec.count, 0);
	assert_int_equal(pp->sandbox.network, POLICY_NET_HOST);
	policy_free(p);
}

static const struct {
	const char *text; /* behind "hcp: 1\n", but where it begins with '!' */
	int line;
	const char *why;
} broken[] = {
    {"!grants: []\n", 1, "a policy needs \"hcp\""},
    {"!hcp: 2\n", 1, "\"hcp\" must be 1"},
    {"!hcp: '1'\n", 1, "\"hcp\" must be a whole number"},
    {"![]\n", 1, "a policy must be a mapping"},
    {"!hcp: 1\nhcp: 1\n", 2, "duplicate key"},
    {"grant: []\n", 2, "unknown key \"grant\""},
    {"signer: []\n", 2, "unknown key \"signer\" in a policy (did you mean \"signers\"?)"},
    {"signers: []\n", 2, "\"signers\" must be a mapping"},
    {"signers: { us: \"abc\" }\n", 2,
     "\"signers\" must be 64 hexadecimal digits in lower case"},
    {"grants: &a []\n", 2, "anchors"},
    {"grants:\n", 2, "\"grants\" must be"},
    /* auth */
    {"auth:\n", 2, "\"auth\" must be a list or a mapping"},
    {"auth: os_user\n", 2, "\"auth\" must be a list or a mapping"},
    {"auth:\n  - os_user\n", 3, "an auth entry must be a mapping"},
    {"auth: {}\n", 2, "an auth entry needs \"provider\""},
    {"auth: { provider: nobody }\n", 2, "there is no provider nobody"},
    {"auth: { provider: ../auth/jwt }\n", 2, "\"provider\" must be 1 to 64"},
    {"auth: { provider: jwt, with: 1 }\n", 2, "\"with\" must be a mapping"},
    {"auth: { provider: jwt, when: { token: yes } }\n", 2, "\"token\" must be true or false"},
    {"auth: { provider: jwt, when: { face: web } }\n", 2, "\"face\" must be library, cli"},
    {"auth: { provider: jwt, when: { user: x } }\n", 2, "unknown key \"user\" in when"},
    {"auth: { provider: jwt, hosts: [idp] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, hosts: ['*.idp:443'] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, hosts: ['idp:0'] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, hosts: ['idp:65536'] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, hosts: ['idp:443/x'] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, hosts: ['[::1:443'] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, hosts: ['https://idp:443'] }\n", 2, "must be host:port"},
    {"auth: { provider: jwt, secrets: [a/b] }\n", 2, "must be 1 to 64"},
    /* principals */
    {"principals: []\n", 2, "\"principals\" must be a mapping"},
    {"principals:\n  user:*: {}\n", 3, "can't hold \"*\""},
    {"principals:\n  '': {}\n", 3, "must be one line"},
    {"principals:\n  \"a\\nb\": {}\n", 3, "must be one line"},
    {"principals:\n  bob: admin\n", 3, "a principal must be a mapping"},
    {"principals:\n  bob: { tenant: a/b }\n", 3, "\"tenant\" must be 1 to 64"},
    {"principals:\n  bob: { tenants: acme }\n", 3, "\"tenants\" must be a list"},
    {"principals:\n  bob: { projects: [..] }\n", 3, "\"projects\" must be 1 to 64"},
    {"principals:\n  bob: { group: [x] }\n", 3, "unknown key \"group\" in a principal"},
    /* roles */
    {"roles: [teller]\n", 2, "\"roles\" must be a mapping"},
    {"roles:\n  teller: ledger.read\n", 3, "must be a list"},
    {"roles:\n  teller: [led*]\n", 3, "may be \"*\" or end in \".*\""},
    {"roles:\n  teller: ['*.read']\n", 3, "may be \"*\" or end in \".*\""},
    {"roles:\n  teller: ['.*']\n", 3, "may be \"*\" or end in \".*\""},
    {"roles:\n  teller: ['']\n", 3, "must be one line"},
    {"roles:\n  'tell*': [a]\n", 3, "can't hold \"*\""},
    /* grants */
    {"grants: { principal: a }\n", 2, "\"grants\" must be a list"},
    {"grants:\n  - { capabilities: [a] }\n", 3, "needs \"principal\" or \"role\""},
    {"grants:\n  - { principal: a, role: b, capabilities: [a] }\n", 3, "one of the two"},
    {"grants:\n  - { principal: a }\n", 3, "the grant grants nothing"},
    {"grants:\n  - { principal: a, capabilities: [] }\n", 3, "the grant grants nothing"},
    {"grants:\n  - { role: a, roles: [b] }\n", 3, "a role can't be granted roles"},
    {"grants:\n  - { role: a, capabilities: [a], roles: [] }\n", 3, "can't be granted roles"},
    {"grants:\n  - { principal: 'u*r', capabilities: [a] }\n", 3, "\"*\" at its end only"},
    {"grants:\n  - { principal: '**', capabilities: [a] }\n", 3, "\"*\" at its end only"},
    {"grants:\n  - { principal: a, roles: [ghost] }\n", 3, "role ghost is granted and"},
    {"grants:\n  - { principal: a, capabilities: [a], tenants: acme }\n", 3, "must be a list"},
    {"grants:\n  - { principal: a, capability: [a] }\n", 3, "unknown key \"capability\""},
    {"grants:\n  - { principal: a, capabilities: [1] }\n", 3, "must be a string"},
    {"grants:\n  - { role: 'a*', capabilities: [a] }\n", 3, "can't hold \"*\""},
    /* packs */
    {"packs: [ledger]\n", 2, "\"packs\" must be a mapping"},
    {"packs:\n  ../x: {}\n", 3, "can't be a pack id"},
    {"packs:\n  p:\n", 3, "a pack's block must be a mapping"},
    {"packs:\n  p: { digest: abc }\n", 3, "\"digest\" must be \"sha256:\""},
    {"packs:\n  p: { digest: 'sha256:abc' }\n", 3, "\"digest\" must be \"sha256:\""},
    {"packs:\n  p: { bootstrap: 1 }\n", 3, "\"bootstrap\" must be true or false"},
    {"packs:\n  p: { bins: ./x }\n", 3, "\"bins\" must be a list"},
    {"packs:\n  p: { bins: [bin/x] }\n", 3, "must be ./inside/the/pack"},
    {"packs:\n  p: { bins: [''] }\n", 3, "must be ./inside/the/pack"},
    {"packs:\n  p: { bins: [x, x] }\n", 3, "bin x is listed twice"},
    {"packs:\n  p: { bins: [x, { path: x, sha256: " HASH " }] }\n", 3, "listed twice"},
    {"packs:\n  p: { bins: [{ sha256: " HASH " }] }\n", 3, "a bin needs \"path\""},
    {"packs:\n  p: { bins: [{ path: x, sha256: ABC }] }\n", 3, "64 hexadecimal digits"},
    {"packs:\n  p: { exec: [a/b] }\n", 3, "must be ./inside/the/pack"},
    {"packs:\n  p: { mint: { hosts: [x] } }\n", 3, "must be host:port"},
    {"packs:\n  p: { mint: { hook: x } }\n", 3, "unknown key \"hook\" in mint"},
    {"packs:\n  p: { http: { hosts: ['x:'] } }\n", 3, "must be host:port"},
    {"packs:\n  p: { guard: max }\n", 3, "unknown key \"guard\" in a pack's block"},
    /* sandbox */
    {"packs:\n  p: { sandbox: none }\n", 3, "\"sandbox\" must be a mapping"},
    {"packs:\n  p: { sandbox: { mode: native } }\n", 3, "\"mode\" must be sandbox or"},
    {"packs:\n  p: { sandbox: { tier: weak } }\n", 3, "\"tier\" must be strong or light"},
    {"packs:\n  p:\n    sandbox: { mode: native-local }\n", 4, "needs \"because\""},
    {"packs:\n  p:\n    sandbox: { because: x }\n", 4, "belongs to mode native-local"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: '' }\n", 4, "says why"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: x, read: [] }\n", 4,
     "\"read\" means nothing in mode native-local"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: x, write: [] }\n", 4,
     "\"write\" means nothing in mode native-local"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: x, network: none }\n", 4,
     "\"network\" means nothing in mode native-local"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: x, tier: light }\n", 4,
     "\"tier\" means nothing in mode native-local"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: x, user: 5 }\n", 4,
     "\"user\" means nothing in mode native-local"},
    {"packs:\n  p:\n    sandbox: { mode: native-local, because: x }\n    exec: [a]\n", 5,
     "\"exec\" means nothing in mode native-local"},
    {"packs:\n  p: { sandbox: { network: all } }\n", 3, "\"network\" must be none, host or"},
    {"packs:\n  p: { sandbox: { network: {} } }\n", 3, "\"network\" must be none, host or"},
    {"packs:\n  p: { sandbox: { network: { connect: [1], x: 1 } } }\n", 3,
     "\"network\" must be none, host or"},
    {"packs:\n  p: { sandbox: { network: { connect: [] } } }\n", 3, "at least one port"},
    {"packs:\n  p: { sandbox: { network: { connect: 443 } } }\n", 3, "at least one port"},
    {"packs:\n  p: { sandbox: { network: { connect: [0] } } }\n", 3, "from 1 to 65535"},
    {"packs:\n  p: { sandbox: { network: { connect: [65536] } } }\n", 3, "from 1 to 65535"},
    {"packs:\n  p: { sandbox: { network: { connect: ['1'] } } }\n", 3, "from 1 to 65535"},
    {"packs:\n  p: { sandbox: { user: 0 } }\n", 3, "\"user\" can't be root"},
    {"packs:\n  p: { sandbox: { user: root } }\n", 3, "\"user\" can't be root"},
    {"packs:\n  p: { sandbox: { user: no-such-user } }\n", 3, "names nobody on this host"},
    {"packs:\n  p: { sandbox: { user: '0' } }\n", 3, "names nobody on this host"},
    {"packs:\n  p: { sandbox: { user: -1 } }\n", 3, "a user's name or number"},
    {"packs:\n  p: { sandbox: { user: 4294967295 } }\n", 3, "a user's name or number"},
    {"packs:\n  p: { sandbox: { limits: { timeout: 10 } } }\n", 3, "must be a duration"},
    {"packs:\n  p: { sandbox: { limits: { memory: 0 } } }\n", 3, "must be a size"},
    {"packs:\n  p: { sandbox: { limits: { processes: 0 } } }\n", 3,
     "\"processes\" must be from"},
    {"packs:\n  p: { sandbox: { limits: { open_files: 4294967296 } } }\n", 3,
     "\"open_files\" must be from"},
    {"packs:\n  p: { sandbox: { limits: { disk: 1G } } }\n", 3, "unknown key \"disk\""},
    /* host paths */
    {"packs:\n  p: { sandbox: { read: /usr } }\n", 3, "\"read\" must be a list"},
    {"packs:\n  p: { sandbox: { read: [1] } }\n", 3, "a host path must be a string"},
    {"packs:\n  p: { sandbox: { read: [usr] } }\n", 3, "must be an absolute path"},
    {"packs:\n  p: { sandbox: { read: [''] } }\n", 3, "must be an absolute path"},
    {"packs:\n  p: { sandbox: { read: [/no/where] } }\n", 3, "/no/where: No such file"},
    {"packs:\n  p: { sandbox: { read: [/] } }\n", 3, "/ is the whole host"},
    {"packs:\n  p: { sandbox: { read: [/usr/] } }\n", 3, "/usr/ leads to /usr: write that"},
    {"packs:\n  p: { sandbox: { read: [/usr/../usr] } }\n", 3, "leads to /usr"},
    {"packs:\n  p: { sandbox: { read: [/proc/self/cwd] } }\n", 3, "leads to "},
    {"packs:\n  p: { sandbox: { read: [/dev/null] } }\n", 3, "neither a folder nor a regular"},
    {"packs:\n  p: { sandbox: { read: [/usr], write: [/usr] } }\n", 3,
     "is in \"read\" and in \"write\""},
    {"packs:\n  p: { workspaces: { a/b: { path: /usr } } }\n", 3, "name of a workspace"},
    {"packs:\n  p: { workspaces: { a: {} } }\n", 3, "a workspace needs \"path\""},
    {"packs:\n  p: { workspaces: { a: { path: usr } } }\n", 3, "must be an absolute path"},
    {"packs:\n  p: { workspaces: { a: { path: /etc/passwd } } }\n", 3, "is not a folder"},
    {"packs:\n  p: { workspaces: { a: { path: /no/where } } }\n", 3, "No such file"},
    /* overlays */
    {"packs:\n  p: { commands: [x] }\n", 3, "\"commands\" must be a mapping"},
    {"packs:\n  p: { commands: { 'a  b': {} } }\n", 3, "can't be the key of a verb"},
    {"packs:\n  p: { commands: { 'a.*': {} } }\n", 3, "can't be the key of a verb"},
    {"packs:\n  p: { commands: { x: { confirm: false } } }\n", 3, "an overlay only tightens"},
    {"packs:\n  p: { commands: { x: { confirm: yes } } }\n", 3, "an overlay only tightens"},
    {"packs:\n  p: { commands: { x: { guard: none } } }\n", 3, "there is no guard none"},
    {"packs:\n  p: { commands: { x: { guard: a/b } } }\n", 3, "\"guard\" must be 1 to 64"},
    {"packs:\n  p: { commands: { x: { deny: true } } }\n", 3, "\"deny\" must be a string"},
    {"packs:\n  p: { commands: { x: { deny: '' } } }\n", 3, "one line that says why"},
    {"packs:\n  p: { commands: { x: { capability: [] } } }\n", 3, "at least one"},
    {"packs:\n  p: { commands: { x: { capability: 'a.*' } } }\n", 3, "can't hold \"*\""},
    {"packs:\n  p: { commands: { x: { privacy: { land: local } } } }\n", 3,
     "\"land\" must be brain"},
    {"packs:\n  p: { commands: { x: { limits: { processes: 0 } } } }\n", 3, "must be from 1"},
    {"packs:\n  p: { commands: { x: { timeout: 5s } } }\n", 3, "unknown key \"timeout\""},
};

static void every_mistake_with_its_place(void **state)
{
	struct world *w = *state;
	char text[1024];

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		bool whole = broken[i].text[0] == '!';

		snprintf(text, sizeof(text), "%s%s", whole ? "" : "hcp: 1\n",
			 broken[i].text + whole);
		put(w, "broken.yaml", text);
		refused(w, "/root/policies/broken.yaml", broken[i].line, broken[i].why);
	}
}

static void kept(struct world *w, const char *where, const char *list, const char *why)
{
	char text[1024], path[512];

	world_path(w, where, path);
	if (strcmp(list, "workspaces") == 0)
		snprintf(text, sizeof(text),
			 "hcp: 1\npacks:\n  p:\n    workspaces: { a: { path: %s } }\n", path);
	else
		snprintf(text, sizeof(text),
			 "hcp: 1\npacks:\n  p:\n    sandbox: { %s: [%s] }\n", list, path);
	put(w, "a.yaml", text);
	if (why)
		refused(w, "a.yaml", 4, why);
	else
		policy_free(load(w));
}

static void folders_that_no_pack_is_let_into(void **state)
{
	static const char *const lists[] = {"read", "write", "workspaces"};
	struct world *w = *state;
	char path[512];

	world_mkdirs(w, "root/secrets/");
	world_mkdirs(w, "data/adapters/");
	world_mkdirs(w, "state/workspaces/");
	world_mkdirs(w, "roots/");
	world_mkdirs(w, "log/");
	world_mkdirs(w, "more/packs/");
	for (size_t i = 0; i < 3; i++) {
		kept(w, "root", lists[i], "is the root folder");
		kept(w, "root/secrets", lists[i], "lies beneath the root folder");
		kept(w, "", lists[i], "leads to");
		kept(w, "state", lists[i], "is the state folder");
		kept(w, "state/workspaces", lists[i], "lies beneath the state folder");
		kept(w, "roots", lists[i], NULL); /* a longer name isn't beneath it */
	}
	kept(w, "data", "read", NULL);
	kept(w, "data", "write", "is the installed data folder");
	kept(w, "data/adapters", "write", "lies beneath the installed data folder");

	put(w, "a.yaml", "hcp: 1\npacks:\n  p:\n    sandbox: { read: [/tmp] }\n");
	refused(w, "a.yaml", 4, "/tmp covers the root folder");
	put(w, "a.yaml", "hcp: 1\n");

	/* a state that isn't there yet, behind a link */
	world_path(w, "link", path);
	assert_int_equal(symlink("roots", path), 0);
	strcat(path, "/new/state");
	w->req.state = path;
	world_must_open(w);
	kept(w, "roots", "read", "covers the state folder");
}

static void folders_that_settings_name(void **state)
{
	struct world *w = *state;
	char text[1024];

	world_mkdirs(w, "log/");
	world_mkdirs(w, "more/packs/");
	snprintf(text, sizeof(text),
		 "hcp: 1\npacks: [%s/more/packs]\naudit: { path: %s/log/a.jsonl }\n", w->dir,
		 w->dir);
	world_put(w, "root/hcp.yaml", text);
	world_must_open(w);
	kept(w, "log", "read", "covers the audit log");
	kept(w, "log", "write", "covers the audit log");
	kept(w, "more", "read", NULL);
	kept(w, "more", "write", "covers a folder of packs");
	kept(w, "more/packs", "write", "is a folder of packs");
}

static void links_and_sockets(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct world *w = *state;
	char path[512];
	int fd;

	world_mkdirs(w, "app/");
	world_path(w, "link", path);
	assert_int_equal(symlink("app", path), 0);
	kept(w, "link", "read", "/app: write that path");
	kept(w, "link", "workspaces", "/app: write that path");
	world_path(w, "app/sock", path);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.100s", path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	kept(w, "app/sock", "write", "is neither a folder nor a regular file");
	close(fd);
	world_put(w, "app/file", "x");
	kept(w, "app/file", "read", NULL);
	kept(w, "app/file", "workspaces", "is not a folder");
}

static void several_files_add_up(void **state)
{
	struct world *w = *state;
	struct policy *p;

	put(w, "b.yaml", "hcp: 1\ngrants:\n  - { role: boss, capabilities: [x] }\n");
	put(w, "a.yaml", "hcp: 1\ngrants:\n  - { principal: u, roles: [boss, teller] }\n");
	put(w, "c.yaml", "hcp: 1\nroles: { teller: [y] }\npacks: { q: {}, p: {} }\n");
	put(w, "d.yaml", "hcp: 1\npacks: { r: {} }\nauth: []\n");
	p = load(w);
	assert_string_equal(policy_pack(p, "p")->pack_id, "p");
	assert_string_equal(policy_pack(p, "q")->pack_id, "q");
	assert_string_equal(policy_pack(p, "r")->pack_id, "r");
	/* an empty list of providers is none, not the default one */
	assert_null(policy_auth_for(p, false, "cli"));
	policy_free(p);
}

static const struct {
	const char *first, *again;
	int line;
	const char *why;
} twice[] = {
    {"auth: { provider: jwt }\n", "auth: []\n", 2, "\"auth\" is in "},
    {"auth: []\n", "auth: []\n", 2, "\"auth\" is in "},
    {"packs: { x: {}, p: {} }\n", "packs:\n  y: {}\n  p: {}\n", 4,
     "the block of pack p is in "},
    {"roles: { t: [a] }\n", "roles:\n  t: [a]\n", 3, "role t is in "},
    {"principals: { u: {} }\n", "principals:\n  u: {}\n", 3, "principal u is in "},
};

static void twice_is_once_too_often(void **state)
{
	struct world *w = *state;
	char text[512];

	for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
		snprintf(text, sizeof(text), "hcp: 1\n%s", twice[i].first);
		put(w, "a.yaml", text);
		snprintf(text, sizeof(text), "hcp: 1\n%s", twice[i].again);
		put(w, "b.yaml", text);
		refused(w, "policies/b.yaml", twice[i].line, twice[i].why);
		assert_non_null(strstr(w->text, "policies/a.yaml:2 already"));
	}
}

static void which_files_count(void **state)
{
	static const char *const others[] = {"README.md",    "auth/x.yaml",    ".hidden.yaml",
					     "a.yaml~",      "a.yaml.bak",     "yaml",
					     "guards/x.yml", "a.yaml.d/b.yaml"};
	struct world *w = *state;
	char path[512];
	struct policy *p;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		put(w, others[i], "not a policy");
	put(w, "a.yaml", "hcp: 1\npacks: { p: {} }\n");
	p = load(w);
	assert_non_null(policy_pack(p, "p"));
	policy_free(p);

	put(w, "b.yml", "hcp: 1\n");
	refused(w, NULL, 0, "policies/b.yml would not be read: rename it to end in .yaml");
	world_path(w, "root/policies/b.yml", path);
	assert_int_equal(unlink(path), 0);
	put(w, "B.YAML", "hcp: 1\n");
	refused(w, NULL, 0, "policies/B.YAML would not be read");
	world_path(w, "root/policies/B.YAML", path);
	assert_int_equal(unlink(path), 0);
	put(w, "c.yaml", "");
	refused(w, "c.yaml", 1, "");
	world_path(w, "root/policies/c.yaml", path);
	assert_int_equal(chmod(path, 0666), 0);
	refused(w, NULL, 0, "policies/c.yaml is writable by others: chmod ");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("a.yaml", path), 0);
	refused(w, NULL, 0, "is a symbolic link");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	refused(w, NULL, 0, "is not a regular file");
	assert_int_equal(rmdir(path), 0);
	world_path(w, "root/policies", path);
	assert_int_equal(chmod(path, 0777), 0);
	refused(w, NULL, 0, "policies is writable by others");
	assert_int_equal(chmod(path, 0755), 0);
	for (int i = 0; i < 257; i++) {
		char name[32];

		snprintf(name, sizeof(name), "n%d.yaml", i);
		put(w, name, "hcp: 1\n");
	}
	refused(w, NULL, 0, "holds over 256 files");
}

static void scripts_must_be_trusted(void **state)
{
	struct world *w = *state;
	char path[512];

	put(w, "a.yaml", "hcp: 1\nauth: { provider: mine }\n");
	refused(w, "a.yaml", 2, "there is no provider mine: policies/auth/mine.lua is missing");
	world_put(w, "root/policies/auth/mine.lua", "return nil\n");
	policy_free(load(w));
	world_path(w, "root/policies/auth/mine.lua", path);
	assert_int_equal(chmod(path, 0666), 0);
	refused(w, "a.yaml", 2, "provider mine: ");
	assert_non_null(strstr(w->text, "is writable by others"));
}

static void digest_of(struct world *w, char out[72])
{
	struct policy *p = load(w);

	snprintf(out, 72, "%s", policy_digest(p));
	policy_free(p);
}

static void digest_covers_names_and_bytes(void **state)
{
	struct world *w = *state;
	char first[72], second[72], from[512], to[512];

	put(w, "a.yaml", "hcp: 1\n");
	digest_of(w, first);
	digest_of(w, second);
	assert_string_equal(first, second);
	put(w, "a.yaml", "hcp: 1\n#\n");
	digest_of(w, second);
	assert_string_not_equal(first, second);
	put(w, "a.yaml", "hcp: 1\n");
	world_path(w, "root/policies/a.yaml", from);
	world_path(w, "root/policies/b.yaml", to);
	assert_int_equal(rename(from, to), 0);
	digest_of(w, second);
	assert_string_not_equal(first, second);
	assert_int_equal(rename(to, from), 0);
	digest_of(w, second);
	assert_string_equal(first, second);
	put(w, "README", "x");
	digest_of(w, second);
	assert_string_equal(first, second);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(nothing_is_a_policy_that_denies),
	    T(everything_there_is),
	    T(what_is_not_written_is_closed),
	    T(every_mistake_with_its_place),
	    T(folders_that_no_pack_is_let_into),
	    T(folders_that_settings_name),
	    T(links_and_sockets),
	    T(several_files_add_up),
	    T(twice_is_once_too_often),
	    T(which_files_count),
	    T(scripts_must_be_trusted),
	    T(digest_covers_names_and_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
