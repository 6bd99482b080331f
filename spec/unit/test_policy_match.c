/* SPDX-License-Identifier: MIT */
/* The decisions: who acts as whom and in what, and what is granted. In whatever order and in
 * however many files it was written, the verdicts are the same. */
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "root_folder.h"

#include "base/str.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int setup(void **state)
{
	static struct world w;

	world_begin(&w);
	world_put(&w, "data/policies/auth/os_user.lua", "return nil\n");
	world_put(&w, "data/policies/auth/jwt.lua", "return nil\n");
	world_must_open(&w);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static struct policy *load(struct world *w, const char *text)
{
	struct policy *p = NULL;
	char whole[8192];

	if (text) {
		snprintf(whole, sizeof(whole), "hcp: 1\n%s", text);
		world_put(w, "root/policies/a.yaml", whole);
	}
	memset(&w->err, 0, sizeof(w->err));
	if (policy_load(&w->root, &w->set, &p, &w->err) < 0) {
		hcp_err_format(&w->err, w->text, sizeof(w->text));
		fail_msg("%s", w->text);
	}
	return p;
}

/* A principal of the provider's, and what is asked for. */
struct asker {
	const char *id, *own_tenant, *own_project;
	const char *tenants[3], *projects[3], *roles[3];
	const char *asked_tenant, *asked_project;
	bool brain;
};

static struct conf_strings strings(const char *const *items)
{
	/* nobody writes through it */
	struct conf_strings s = {.items = (const char **)(uintptr_t)items};

	while (s.count < 3 && items[s.count])
		s.count++;
	s.given = s.count > 0;
	return s;
}

/* "<tenant>/<project>" or the error. */
static const char *identity(const struct policy *p, const struct asker *q, struct arena *a,
			    struct principal *who)
{
	static char out[1024];
	struct hcp_err err = {0};

	*who = (struct principal){.id = q->id,
				  .own_tenant = q->own_tenant,
				  .own_project = q->own_project,
				  .tenants = strings(q->tenants),
				  .projects = strings(q->projects),
				  .roles = strings(q->roles)};
	if (policy_identity(p, who, q->asked_tenant, q->asked_project, q->brain, a, &err) ==
	    0) {
		snprintf(out, sizeof(out), "%s/%s", who->tenant,
			 who->project ? who->project : "-");
		return out;
	}
	assert_int_equal(err.code, HCP_E_DENIED);
	assert_null(who->tenant);
	snprintf(out, sizeof(out), "%s", err.text);
	return out;
}

static const struct {
	struct asker q;
	const char *want;
} identities[] = {
    {{.id = NULL}, "denied: unauthenticated"},
    /* tenant */
    {{.id = "u"}, "default/-"},
    {{.id = "u", .asked_tenant = "default"}, "default/-"},
    {{.id = "u", .asked_tenant = "acme"}, "denied: tenant acme"},
    {{.id = "u", .asked_tenant = ""}, "denied: tenant "},
    {{.id = "u", .asked_tenant = "../x"}, "denied: tenant ../x"},
    {{.id = "u", .own_tenant = "acme"}, "acme/-"},
    {{.id = "u", .own_tenant = "acme", .asked_tenant = "acme"}, "acme/-"},
    {{.id = "u", .own_tenant = "acme", .asked_tenant = "default"}, "denied: tenant default"},
    {{.id = "u", .own_tenant = "a/b"}, "denied: tenant a/b"},
    {{.id = "u", .own_tenant = "a/b", .asked_tenant = "a/b"}, "denied: tenant a/b"},
    {{.id = "u", .tenants = {"a", "b"}, .asked_tenant = "b"}, "b/-"},
    {{.id = "u", .tenants = {"a", "b"}, .asked_tenant = "c"}, "denied: tenant c"},
    /* one of several isn't guessed */
    {{.id = "u", .tenants = {"a", "b"}}, "denied: tenant default"},
    {{.id = "u", .tenants = {"a"}, .asked_tenant = "default"}, "denied: tenant default"},
    {{.id = "u", .own_tenant = "a", .tenants = {"b"}, .asked_tenant = "a"}, "a/-"},
    {{.id = "u", .own_tenant = "a", .tenants = {"b"}, .asked_tenant = "b"}, "b/-"},
    /* what the operator knows */
    {{.id = "user:bob"}, "acme/-"},
    {{.id = "user:bob", .asked_tenant = "globex"}, "globex/-"},
    {{.id = "user:bob", .asked_tenant = "other"}, "denied: tenant other"},
    {{.id = "user:bob", .own_tenant = "home"}, "acme/-"},
    {{.id = "user:bob", .own_tenant = "home", .asked_tenant = "home"}, "home/-"},
    {{.id = "user:bo", .asked_tenant = "acme"}, "denied: tenant acme"},
    {{.id = "user:bobby", .asked_tenant = "acme"}, "denied: tenant acme"},
    /* project */
    {{.id = "u", .asked_project = "p"}, "denied: project p"},
    {{.id = "u", .asked_project = ""}, "denied: project "},
    {{.id = "u", .own_project = "p"}, "default/p"},
    {{.id = "u", .own_project = "p", .asked_project = "q"}, "denied: project q"},
    {{.id = "u", .projects = {"p", "q"}}, "default/-"},
    {{.id = "u", .projects = {"p", "q"}, .asked_project = "q"}, "default/q"},
    {{.id = "u", .projects = {".."}, .asked_project = ".."}, "denied: project .."},
    {{.id = "user:bob", .asked_project = "p1"}, "acme/p1"},
    {{.id = "user:bob", .projects = {"p2"}, .asked_project = "p2"}, "acme/p2"},
    /* land */
    {{.id = "u", .brain = true}, "denied: privacy.land brain requires project_id"},
    {{.id = "u", .own_project = "p", .brain = true}, "default/p"},
    {{.id = "u", .projects = {"p"}, .brain = true},
     "denied: privacy.land brain requires project_id"},
    /* roles */
    {{.id = "u", .roles = {"teller"}}, "default/-"},
    {{.id = "u", .roles = {"boss"}}, "default/-"},
    {{.id = "u", .roles = {"teller", "ghost"}}, "denied: unknown role ghost"},
    {{.id = "user:eve"}, "denied: unknown role phantom"},
    /* the order: tenant, project, land, roles */
    {{.id = "u", .asked_tenant = "x", .asked_project = "y", .roles = {"ghost"}, .brain = true},
     "denied: tenant x"},
    {{.id = "u", .asked_project = "y", .roles = {"ghost"}, .brain = true}, "denied: project y"},
    {{.id = "u", .roles = {"ghost"}, .brain = true},
     "denied: privacy.land brain requires project_id"},
};

static void who_acts_in_what(void **state)
{
	struct policy *p = load(
	    *state, "principals:\n"
		    "  user:bob: { tenants: [acme, globex], tenant: acme, projects: [p1] }\n"
		    "  user:eve: { roles: [phantom] }\n"
		    "roles: { teller: [ledger.read] }\n"
		    "grants: [{ role: boss, capabilities: ['*'] }]\n");
	struct arena a = {0};

	for (size_t i = 0; i < COUNT(identities); i++) {
		struct principal who;
		const char *got = identity(p, &identities[i].q, &a, &who);
		struct hcp_err err = {0};

		if (strcmp(got, identities[i].want) != 0)
			fail_msg("row %zu: \"%s\" instead of \"%s\"", i, got,
				 identities[i].want);
		if (!who.tenant)
			continue;
		/* again, as for a nested run: nothing changes */
		assert_int_equal(policy_identity(p, &who, identities[i].q.asked_tenant,
						 identities[i].q.asked_project,
						 identities[i].q.brain, &a, &err),
				 0);
	}
	arena_free(&a);
	policy_free(p);
}

static const char *caps_one[] = {"ledger.write"};

struct demo {
	struct pack_policy policies[2];
	struct pack_command commands[2];
	struct pack pack;
};

static void demo_init(struct demo *d)
{
	memset(d, 0, sizeof(*d));
	d->policies[0] = (struct pack_policy){
	    .verb_key = "transfer",
	    .capabilities = {.count = 1, .items = caps_one, .given = true},
	};
	d->commands[0] = (struct pack_command){.key = "transfer", .policy = &d->policies[0]};
	d->commands[1] = (struct pack_command){.key = "raw"};
	d->pack.id = "ledger";
	d->pack.commands = d->commands;
	d->pack.command_count = 2;
}

/* "ok" or the error. */
static const char *permit(const struct policy *p, const struct principal *who,
			  const struct conf_strings *caps, const struct policy_overlay *overlay)
{
	static char out[1024];
	struct hcp_err err = {0};
	struct demo d;

	demo_init(&d);
	d.policies[0].capabilities = *caps;
	if (policy_permit(p, who, &d.pack, &d.commands[0], overlay, &err) == 0)
		return "ok";
	assert_int_equal(err.code, HCP_E_DENIED);
	snprintf(out, sizeof(out), "%s", err.text);
	return out;
}

static bool is_granted(const struct policy *p, const char *id, const char *tenant,
		       const char *role, const char *capability)
{
	struct conf_strings caps = {.count = 1, .items = &capability, .given = true};
	struct conf_strings roles = {.count = role ? 1 : 0, .items = &role};
	struct principal who = {.id = id, .tenant = tenant, .roles = roles};
	const char *got = permit(p, &who, &caps, NULL);
	char want[256];

	if (strcmp(got, "ok") == 0)
		return true;
	snprintf(want, sizeof(want), "denied: missing %s for ledger.transfer", capability);
	assert_string_equal(got, want);
	return false;
}

static const struct {
	const char *policy, *id, *tenant, *role, *capability;
	bool granted;
} grants[] = {
    /* nothing is granted that isn't */
    {"grants: []\n", "u", "t", NULL, "a.b", false},
    {"packs: { ledger: {} }\n", "u", "t", NULL, "a.b", false},
/* capabilities */
#define CAP(pattern) "grants: [{ principal: u, capabilities: [" pattern "] }]\n"
    {CAP("a.b"), "u", "t", NULL, "a.b", true},
    {CAP("a.b"), "u", "t", NULL, "a.bc", false},
    {CAP("a.b"), "u", "t", NULL, "a", false},
    {CAP("a.b"), "u", "t", NULL, "A.b", false},
    {CAP("a"), "u", "t", NULL, "a.b", false},
    {CAP("x, a.b"), "u", "t", NULL, "a.b", true},
    {CAP("'*'"), "u", "t", NULL, "a.b", true},
    {CAP("'*'"), "u", "t", NULL, "x", true},
    {CAP("'ledger.*'"), "u", "t", NULL, "ledger.x", true},
    {CAP("'ledger.*'"), "u", "t", NULL, "ledger.x y", true},
    {CAP("'ledger.*'"), "u", "t", NULL, "ledger.x.y", true},
    {CAP("'ledger.*'"), "u", "t", NULL, "ledger", false},
    {CAP("'ledger.*'"), "u", "t", NULL, "ledger.", false},
    {CAP("'ledger.*'"), "u", "t", NULL, "ledgers.x", false},
    {CAP("'ledger.*'"), "u", "t", NULL, "myledger.x", false},
    {CAP("'a.b.*'"), "u", "t", NULL, "a.b.c", true},
    {CAP("'a.b.*'"), "u", "t", NULL, "a.bc", false},
    {CAP("a.report month"), "u", "t", NULL, "a.report month", true},
    {CAP("a.report month"), "u", "t", NULL, "a.report", false},
    /* what is required is a text, never a pattern */
    {CAP("a.b"), "u", "t", NULL, "*", false},
    {CAP("a.b"), "u", "t", NULL, "a.*", false},
/* principals */
#define WHO(pattern) "grants: [{ principal: " pattern ", capabilities: [a] }]\n"
    {WHO("user:alice"), "user:alice", "t", NULL, "a", true},
    {WHO("user:alice"), "user:alic", "t", NULL, "a", false},
    {WHO("user:alice"), "user:alice2", "t", NULL, "a", false},
    {WHO("'user:*'"), "user:alice", "t", NULL, "a", true},
    {WHO("'user:*'"), "user:", "t", NULL, "a", true},
    {WHO("'user:*'"), "user", "t", NULL, "a", false},
    {WHO("'user:*'"), "svc:user:x", "t", NULL, "a", false},
    {WHO("'*'"), "anybody", "t", NULL, "a", true},
    {WHO("user:alice"), "user:*", "t", NULL, "a", false},
/* tenants */
#define IN(tenants) "grants: [{ principal: u, capabilities: [a], tenants: [" tenants "] }]\n"
    {IN("acme"), "u", "acme", NULL, "a", true},
    {IN("x, acme"), "u", "acme", NULL, "a", true},
    {IN("acme"), "u", "default", NULL, "a", false},
    {IN("acme"), "u", "acm", NULL, "a", false},
    {IN(""), "u", "acme", NULL, "a", false},
    /* roles */
    {"roles: { r: [a] }\n", "u", "t", "r", "a", true},
    {"roles: { r: ['a.*'] }\n", "u", "t", "r", "a.x", true},
    {"roles: { r: [a] }\n", "u", "t", NULL, "a", false},
    {"roles: { r: [a] }\n", "u", "t", "R", "a", false},
    {"roles: { r: [a] }\n", "u", "t", "r", "b", false},
    {"roles: { r: [] }\n", "u", "t", "r", "a", false},
    {"grants: [{ role: r, capabilities: [a] }]\n", "u", "t", "r", "a", true},
    {"grants: [{ role: r, capabilities: [a] }]\n", "r", "t", NULL, "a", false},
    {"grants: [{ principal: r, capabilities: [a] }]\n", "u", "t", "r", "a", false},
    {"grants: [{ role: r, capabilities: [a], tenants: [t] }]\n", "u", "t", "r", "a", true},
    {"grants: [{ role: r, capabilities: [a], tenants: [s] }]\n", "u", "t", "r", "a", false},
    {"roles: { r: [a] }\ngrants: [{ role: r, capabilities: [b] }]\n", "u", "t", "r", "a", true},
    {"roles: { r: [a] }\ngrants: [{ role: r, capabilities: [b] }]\n", "u", "t", "r", "b", true},
#define ROLE(more)                                                                             \
	"roles: { r: [a] }\ngrants: [{ principal: u, roles: [r]" more                          \
	" }, { role: r, capabilities: [b] }]\n"
    {ROLE(""), "u", "t", NULL, "a", true},
    {ROLE(""), "u", "t", NULL, "b", true},
    {ROLE(""), "v", "t", NULL, "a", false},
    {ROLE(", tenants: [t]"), "u", "t", NULL, "a", true},
    {ROLE(", tenants: [t]"), "u", "s", NULL, "a", false},
    {ROLE(", tenants: [t]"), "u", "s", NULL, "b", false},
    {ROLE(", tenants: [t]"), "u", "t", NULL, "b", true},
    {ROLE(", capabilities: [c]"), "u", "t", NULL, "c", true},
};

static void what_is_granted(void **state)
{
	for (size_t i = 0; i < COUNT(grants); i++) {
		struct policy *p = load(*state, grants[i].policy);
		bool got = is_granted(p, grants[i].id, grants[i].tenant, grants[i].role,
				      grants[i].capability);

		if (got != grants[i].granted)
			fail_msg("row %zu: %s for %s", i, got ? "granted" : "denied",
				 grants[i].policy);
		policy_free(p);
	}
}

static void all_are_needed_and_deny_wins(void **state)
{
	static const char *abc[] = {"a", "b", "c"}, *extra[] = {"x", "y"};
	struct policy *p = load(*state, "grants:\n"
					"  - { principal: u, capabilities: [a, c, x] }\n"
					"  - { principal: all, capabilities: ['*'] }\n");
	struct conf_strings caps = {.count = 3, .items = abc}, none = {0};
	struct policy_overlay o = {.capabilities = {.count = 2, .items = extra}};
	struct principal who = {.id = "u", .tenant = "t"};
	struct hcp_err err = {0};
	struct demo d;

	/* the first missing one is named, the pack's before the overlay's */
	assert_string_equal(permit(p, &who, &caps, &o),
			    "denied: missing b for ledger.transfer");
	caps.count = 1;
	assert_string_equal(permit(p, &who, &caps, NULL), "ok");
	assert_string_equal(permit(p, &who, &caps, &o),
			    "denied: missing y for ledger.transfer");
	o.deny = "closed";
	assert_string_equal(permit(p, &who, &caps, &o),
			    "denied: missing y for ledger.transfer");
	who.id = "all";
	assert_string_equal(permit(p, &who, &caps, &o), "denied: closed");
	o.deny = NULL;
	assert_string_equal(permit(p, &who, &caps, &o), "ok");

	/* an earlier step that didn't complete */
	assert_string_equal(permit(p, &who, &none, NULL), "no policy for transfer");
	who.tenant = NULL;
	assert_string_equal(permit(p, &who, &caps, NULL), "denied: unauthenticated");
	who = (struct principal){.tenant = "t"};
	assert_string_equal(permit(p, &who, &caps, NULL), "denied: unauthenticated");
	who.id = "all";
	demo_init(&d);
	assert_int_equal(policy_permit(p, &who, &d.pack, &d.commands[1], NULL, &err), -1);
	assert_string_equal(err.text, "no policy for raw");
	policy_free(p);
}

static void first_provider_that_fits(void **state)
{
	struct policy *p =
	    load(*state, "auth:\n"
			 "  - { provider: jwt, when: { token: true, face: http } }\n"
			 "  - { provider: os_user, when: { face: cli } }\n"
			 "  - { provider: jwt, when: { token: false } }\n");

	assert_int_equal(policy_auth_for(p, true, "http")->line, 3);
	assert_int_equal(policy_auth_for(p, true, "cli")->line, 4);
	assert_int_equal(policy_auth_for(p, false, "cli")->line, 4);
	assert_int_equal(policy_auth_for(p, false, "http")->line, 5);
	assert_null(policy_auth_for(p, true, "mcp"));
	policy_free(p);
}

static const char *check(const struct policy *p, const struct demo *d, enum hcp_code code)
{
	static char out[2048];
	struct hcp_err err = {0};
	int rc = policy_check_pack(p, &d->pack, &err);

	assert_int_equal(rc, code == HCP_E_NONE ? 0 : -1);
	assert_int_equal(err.code, code);
	hcp_err_format(&err, out, sizeof(out));
	return out;
}

static void a_pack_meets_its_block(void **state)
{
	static const char zeros[] =
	    "sha256:0000000000000000000000000000000000000000000000000000000000000000";
	static const char ones[] =
	    "sha256:1111111111111111111111111111111111111111111111111111111111111111";
	struct policy *p;
	char text[512];
	struct demo d;

	demo_init(&d);
	snprintf(d.pack.digest, sizeof(d.pack.digest), "%s", zeros);
	p = load(*state,
		 "packs: { other: { digest: 'sha256:"
		 "1111111111111111111111111111111111111111111111111111111111111111' } }\n");
	check(p, &d, HCP_E_NONE);
	d.commands[1].bootstrap = true;
	assert_non_null(strstr(check(p, &d, HCP_E_DENIED), "needs bootstrap: true"));
	policy_free(p);

	p = load(*state, "packs: { ledger: { bootstrap: true } }\n");
	check(p, &d, HCP_E_NONE);
	policy_free(p);
	p = load(*state, "packs: { ledger: { bootstrap: false } }\n");
	assert_non_null(strstr(check(p, &d, HCP_E_DENIED), "needs bootstrap: true"));
	policy_free(p);
	d.commands[1].bootstrap = false;

	snprintf(text, sizeof(text), "packs: { ledger: { digest: '%s' } }\n", zeros);
	p = load(*state, text);
	check(p, &d, HCP_E_NONE);
	policy_free(p);
	snprintf(text, sizeof(text), "packs:\n  ledger: { digest: '%s' }\n", ones);
	p = load(*state, text);
	assert_non_null(strstr(check(p, &d, HCP_E_DENIED), "policies/a.yaml:3 allows only "));
	policy_free(p);

	p = load(*state,
		 "packs:\n  ledger:\n    commands:\n      transfer: {}\n      raw: {}\n");
	check(p, &d, HCP_E_NONE);
	policy_free(p);
	p = load(*state, "packs:\n  ledger:\n    commands:\n      transfer: {}\n"
			 "      transfers: { deny: no }\n");
	assert_non_null(strstr(check(p, &d, HCP_E_CONFIG),
			       "/a.yaml:6: pack ledger has no command \"transfers\""));
	policy_free(p);
}

static void the_smaller_limit(void **state)
{
	const struct policy_pack *pp = policy_pack_default();
	struct pack_command cmd = {.timeout_ms = 0};
	struct policy_overlay o = {.verb_key = "x"};
	struct policy_limits l;

	(void)state;
	policy_limits(pp, NULL, &cmd, &l);
	assert_memory_equal(&l, &pp->sandbox.limits, sizeof(l));
	assert_int_equal(l.timeout_ms, 30000);
	assert_int_equal(l.cpu_ms, 10000);
	assert_int_equal(l.memory, 512 << 20);
	assert_int_equal(l.output, 8 << 20);
	assert_int_equal(l.file, 64 << 20);
	assert_int_equal(l.processes, 64);
	assert_int_equal(l.open_files, 256);
	assert_int_equal(l.workspace, 1 << 30);
	cmd.timeout_ms = 10000;
	policy_limits(pp, &o, &cmd, &l);
	assert_int_equal(l.timeout_ms, 10000);
	o.limits = (struct policy_limits){5000, 1, 2, 3, 4, 5, 6, 7};
	policy_limits(pp, &o, &cmd, &l);
	assert_memory_equal(&l, &o.limits, sizeof(l));
	/* nothing grows */
	o.limits = (struct policy_limits){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
					  INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
	cmd.timeout_ms = INT64_MAX;
	policy_limits(pp, &o, &cmd, &l);
	assert_memory_equal(&l, &pp->sandbox.limits, sizeof(l));
}

/* Entries that make one policy, in whatever order and files. */
static const struct {
	const char *under, *text;
} entries[] = {
    {"principals", "  user:bob: { tenants: [acme], roles: [boss] }\n"},
    {"principals", "  user:alice: { tenant: acme }\n"},
    {"roles", "  teller: [ledger.read, 'transit.*']\n"},
    {"roles", "  empty: []\n"},
    {"roles", "  auditor: [ledger.read]\n"},
    {"grants", "  - { principal: user:alice, roles: [teller], tenants: [acme] }\n"},
    {"grants", "  - { principal: 'user:*', capabilities: [transit.plan] }\n"},
    {"grants", "  - { role: boss, capabilities: ['ledger.*'] }\n"},
    {"grants", "  - { role: boss, capabilities: [transit.x], tenants: [other] }\n"},
    {"grants", "  - { principal: user:carol, roles: [boss, auditor] }\n"},
    {"grants", "  - { principal: '*', capabilities: [public] }\n"},
    {"packs", "  ledger: { commands: { transfer: { deny: closed } } }\n"},
    {"packs", "  transit: { commands: { plan: { capability: public } } }\n"},
    {"packs", "  other: { bins: [x] }\n"},
};

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static void write_shuffled(struct world *w, unsigned seed, unsigned files)
{
	static const char *const sections[] = {"principals", "roles", "grants", "packs"};
	size_t order[COUNT(entries)];
	char text[4][4096], name[64];

	for (size_t i = 0; i < COUNT(entries); i++)
		order[i] = i;
	for (size_t i = COUNT(entries) - 1; seed && i > 0; i--) {
		size_t k = next_random(&seed) % (i + 1), held = order[i];

		order[i] = order[k];
		order[k] = held;
	}
	for (unsigned f = 0; f < files; f++)
		strcpy(text[f], "hcp: 1\n");
	for (unsigned s = 0; s < COUNT(sections); s++) {
		bool begun[4] = {false};

		for (size_t i = 0; i < COUNT(entries); i++) {
			unsigned f = (unsigned)(order[i] * (seed | 1) % files);

			if (strcmp(entries[order[i]].under, sections[s]) != 0)
				continue;
			if (!begun[f])
				sprintf(text[f] + strlen(text[f]), "%s:\n", sections[s]);
			begun[f] = true;
			strcat(text[f], entries[order[i]].text);
		}
	}
	for (unsigned f = 0; f < files; f++) {
		snprintf(name, sizeof(name), "root/policies/%c.yaml", 'a' + (char)f);
		world_put(w, name, text[f]);
	}
}

static void verdicts(struct world *w, struct buf *out)
{
	static const char *const people[] = {"user:alice", "user:bob", "user:carol", "svc:x"};
	static const char *const tenants[] = {NULL, "acme", "other"};
	static const char *const packs[] = {"ledger", "transit", "other"};
	static const char *const verbs[] = {"transfer", "plan"};
	static const char *const caps[] = {"ledger.read", "ledger.write", "transit.plan",
					   "transit.x",   "public",       "x"};
	struct policy *p = load(w, NULL);
	struct arena a = {0};
	struct principal who;

	for (size_t i = 0; i < COUNT(people) * COUNT(tenants); i++) {
		struct asker q = {.id = people[i % COUNT(people)],
				  .asked_tenant = tenants[i / COUNT(people)]};

		buf_printf(out, "%s ", identity(p, &q, &a, &who));
		for (size_t k = 0; who.tenant && k < 36; k++) {
			const char *cap = caps[k % 6];
			struct conf_strings c = {.count = 1, .items = &cap};
			const struct policy_pack *pp = policy_pack(p, packs[k / 6 % 3]);

			buf_printf(out, "%s;",
				   permit(p, &who, &c, policy_overlay(pp, verbs[k / 18])));
		}
	}
	arena_free(&a);
	policy_free(p);
}

static void order_never_matters(void **state)
{
	struct world *w = *state;
	AUTO_BUF want = {0};

	write_shuffled(w, 0, 1);
	verdicts(w, &want);
	assert_non_null(strstr(want.data, "ok;"));
	assert_non_null(strstr(want.data, "denied: closed;"));
	for (unsigned seed = 1; seed <= 60; seed++) {
		AUTO_BUF got = {0};

		write_shuffled(w, seed, seed % 4 + 1);
		for (unsigned f = seed % 4 + 1; f < 4; f++) {
			char name[64];

			snprintf(name, sizeof(name), "root/policies/%c.yaml", 'a' + (char)f);
			world_put(w, name, "hcp: 1\n");
		}
		verdicts(w, &got);
		assert_string_equal(got.data, want.data);
	}
}

static const char *pick(unsigned *seed, const char *const *list, size_t count)
{
	return list[next_random(seed) % count];
}

/* Whoever is let through with an overlay is let through without it; a denied one never is. */
static void an_overlay_only_tightens(void **state)
{
	static const char *const people[] = {"user:alice", "user:bob", "user:carol", "svc:x"};
	static const char *const caps[] = {"ledger.read", "ledger.write", "transit.plan",
					   "transit.x",   "public",       "x"};
	struct world *w = *state;
	unsigned seed = 7, passed = 0, tightened = 0;
	struct policy *p;

	write_shuffled(w, 0, 1);
	p = load(w, NULL);
	for (unsigned i = 0; i < 4000; i++) {
		const char *asks[] = {pick(&seed, caps, 6), pick(&seed, caps, 6)};
		const char *more[] = {pick(&seed, caps, 6), pick(&seed, caps, 6)};
		struct conf_strings c = {.count = 1 + next_random(&seed) % 2, .items = asks};
		struct policy_overlay o = {
		    .capabilities = {.count = next_random(&seed) % 3, .items = more},
		    .deny = next_random(&seed) % 8 ? NULL : "closed"};
		struct principal who = {.id = pick(&seed, people, 4), .tenant = "acme"};
		bool without = strcmp(permit(p, &who, &c, NULL), "ok") == 0;
		bool with = strcmp(permit(p, &who, &c, &o), "ok") == 0;

		assert_true(without || !with);
		assert_false(with && o.deny);
		passed += with;
		tightened += without && !with;
	}
	/* neither is always so */
	assert_true(passed > 100 && tightened > 100);
	policy_free(p);
}

/* Why says what gives it, and only where it is given. */
static void a_grant_has_its_place(void **state)
{
	const char *boss = "boss";
	struct policy *p = load(*state, "roles: { boss: [a.b] }\n"
					"grants:\n"
					"  - { principal: u, capabilities: [a.x] }\n"
					"  - { principal: v, roles: [boss], tenants: [t] }\n");
	struct principal u = {.id = "u", .tenant = "t"}, v = {.id = "v", .tenant = "t"};
	struct principal w = {.id = "w", .tenant = "t", .roles = {.count = 1, .items = &boss}};
	struct policy_reason why;

	assert_true(policy_grants(p, &u, "a.x", &why));
	assert_int_equal(why.gives->line, 4);
	assert_null(why.role);
	assert_true(policy_grants(p, &v, "a.b", &why));
	assert_int_equal(why.gives->line, 2);
	assert_int_equal(why.gives_role->line, 5);
	assert_string_equal(why.role, "boss");
	assert_true(policy_grants(p, &w, "a.b", &why));
	assert_null(why.gives_role);
	assert_false(policy_grants(p, &u, "a.b", &why));
	assert_null(why.gives);
	v.tenant = "other";
	assert_false(policy_grants(p, &v, "a.b", &why));
	assert_null(why.role);
	assert_null(policy_principal_place(p, "u"));
	policy_free(p);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(who_acts_in_what),
	    T(what_is_granted),
	    T(all_are_needed_and_deny_wins),
	    T(first_provider_that_fits),
	    T(a_pack_meets_its_block),
	    T(the_smaller_limit),
	    T(order_never_matters),
	    T(an_overlay_only_tightens),
	    T(a_grant_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
