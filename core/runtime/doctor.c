/* SPDX-License-Identifier: MIT */
/* hcp_doctor: what this host gives, why not more, and what is wrong around it. It reports; no
 * run ever asks it. A mistake in the configuration hides nothing about the sandbox. */
#include "runtime/runtime.h"

#include "base/fd.h"
#include "box/probe.h"
#include "script/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A failed json_pack or append leaves a hole that is found at the end: no memory. */
struct report {
	json_t *top, *layers, *checks, *health;
	bool failed;
	bool config_broken;
};

static void append(struct report *r, json_t *list, json_t *value)
{
	if (json_array_append_new(list, value) < 0)
		r->failed = true;
}

/* ---- tiers and layers */

static const char *const shown_layers[] = {"userns", "mntns", "pidns",    "netns",
					   "ipcns",  "utsns", "landlock", "seccomp"};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* In "userns,mntns,landlock7"; a number belongs to no name. */
static bool holds(const struct box_probe *p, const char *layer)
{
	size_t len = strlen(layer);

	for (const char *at = p->layers; *at; at += strspn(at, ",")) {
		if (strncmp(at, layer, len) == 0 &&
		    strspn(at + len, "0123456789") == strcspn(at + len, ","))
			return true;
		at += strcspn(at, ",");
	}
	return false;
}

static void add_layer(struct report *r, const struct box_probe tiers[2], const char *layer)
{
	const struct box_cause *why = NULL;
	enum box_state state = BOX_UNTRIED;

	for (int i = 1; i >= 0; i--) {
		if (str_eq(tiers[i].refused, layer))
			why = &tiers[i].why;
		else if (holds(&tiers[i], layer))
			state = BOX_HELD;
	}
	if (!why)
		append(r, r->layers,
		       json_pack("{s:s,s:s}", "layer", layer, "state", box_state_name(state)));
	else
		append(r, r->layers,
		       json_pack("{s:s,s:s,s:s,s:s,s:s}", "layer", layer, "state",
				 box_state_name(why->state), "by", why->by, "why", why->why,
				 "fix", why->fix));
}

static bool is_shown(const char *layer)
{
	for (size_t i = 0; i < COUNT(shown_layers); i++)
		if (strcmp(shown_layers[i], layer) == 0)
			return true;
	return false;
}

static void add_layers(struct report *r, const struct box_probe tiers[2])
{
	for (size_t i = 0; i < COUNT(shown_layers); i++)
		add_layer(r, tiers, shown_layers[i]);
	for (int i = 0; i < 2; i++) {
		const char *layer = tiers[i].refused;

		if (layer && !is_shown(layer) && !(i && str_eq(layer, tiers[0].refused)))
			add_layer(r, tiers, layer);
	}
}

static json_t *tier_json(const struct box_probe *p)
{
	return json_pack("{s:s,s:b,s:s,s:s*}", "tier", p->tier, "held", p->held, "layers",
			 p->layers, "error", p->held ? NULL : p->err.text);
}

static void try_tiers(hcp_runtime *rt, struct box_probe tiers[2])
{
	static const enum policy_tier which[2] = {POLICY_STRONG, POLICY_LIGHT};
	AUTO_FREE char *init = where_init();

	for (int i = 0; i < 2; i++) {
		if (rt->box && init) {
			box_probe(rt->box, init, which[i], NULL, &tiers[i]);
			continue;
		}
		tiers[i] = (struct box_probe){.tier = i ? "light" : "strong"};
		hcp_fail(&tiers[i].err, HCP_E_CONFIG, "sandbox: init unavailable: %s",
			 rt->box_err.text);
	}
}

static json_t *host_json(void)
{
	struct box_facts f;

	box_facts_read(&f);
	return json_pack("{s:s,s:i,s:i,s:b,s:s}", "kernel", f.release, "uid", (int)geteuid(),
			 "landlock", f.landlock > 0 ? f.landlock : 0, "wsl", f.wsl,
			 "security_modules", f.lsm);
}

/* ---- what is around it */

enum check_state { CHECK_BROKEN = 0, CHECK_WARNING, CHECK_OK };

static void add_check(struct report *r, const char *check, enum check_state state,
		      const char *about, const char *why, const char *fix)
{
	static const char *const names[] = {"broken", "warning", "ok"};

	append(r, r->checks,
	       json_pack("{s:s,s:s,s:s,s:s*,s:s*}", "check", check, "state", names[state],
			 "about", about ? about : "", "why", why, "fix", fix));
}

static void check_config(struct report *r, const struct snapshot *s)
{
	char why[1400];

	if (s->broken.code == HCP_E_NONE) {
		add_check(r, "config", CHECK_OK, s->root.path, NULL, NULL);
		add_check(r, "state", CHECK_OK, s->root.state, NULL, NULL);
		return;
	}
	r->config_broken = true;
	hcp_err_format(&s->broken, why, sizeof(why));
	add_check(r, "config", CHECK_BROKEN, s->root.path, why,
		  "correct it: until then every run is denied");
}

static void check_init(struct report *r, const hcp_runtime *rt)
{
	AUTO_FREE char *init = where_init();

	if (rt->box)
		add_check(r, "init", CHECK_OK, init, NULL, NULL);
	else
		add_check(r, "init", CHECK_BROKEN, init, rt->box_err.text,
			  "install hcp as a whole: program, library and hcp-init of one build");
}

#define LUA_SOUND 50408 /* 5.4.8 */

static void check_lua(struct report *r)
{
	unsigned major = 0, minor = 0, patch = 0;
	char release[16];

	script_lua_release(release);
	if (sscanf(release, "%u.%u.%u", &major, &minor, &patch) == 3 &&
	    major * 10000 + minor * 100 + patch >= LUA_SOUND) {
		add_check(r, "lua", CHECK_OK, release, NULL, NULL);
		return;
	}
	add_check(
	    r, "lua", CHECK_WARNING, release,
	    "Lua before 5.4.8 has known memory errors; those that a script could reach are "
	    "closed by what scripts are not given",
	    "link Lua 5.4.8 or later: cmake -DHCP_LUA_ROOT=<its prefix>");
}

/* In the best tier that there is. */
static void check_cgroup(struct report *r, hcp_runtime *rt, const struct settings *set,
			 enum policy_tier tier)
{
	struct box_probe in = {0};
	AUTO_FREE char *init = where_init();

	if (!set->cgroup || !rt->box || !init)
		return;
	box_probe(rt->box, init, tier, set->cgroup, &in);
	r->config_broken |= !in.held;
	add_check(r, "cgroup", in.held ? CHECK_OK : CHECK_BROKEN, set->cgroup,
		  in.held ? NULL : in.err.text,
		  in.held        ? NULL
		  : in.why.known ? in.why.fix
				 : "docs/sandbox.md tells how to delegate one");
}

static void check_requires(struct report *r, const struct pack *p)
{
	struct arena a = {0};
	struct conf_strings missing;
	struct hcp_err err = {0};
	AUTO_BUF names = {0};

	if (pack_missing(p, BOX_PATH, &a, &missing, &err) < 0)
		r->failed = true;
	for (size_t i = 0; !r->failed && i < missing.count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "it requires ", missing.items[i]);
	if (names.len) {
		buf_puts(&names, ": not there (looked for in " BOX_PATH ")");
		add_check(r, "pack", CHECK_WARNING, p->id, names.data,
			  "install it, or take the pack away");
	} else {
		add_check(r, "pack", CHECK_OK, p->id, NULL, NULL);
	}
	r->failed |= names.failed;
	arena_free(&a);
}

static void add_health(struct report *r, const struct pack *p)
{
	char run[320];

	for (size_t i = 0; i < p->command_count; i++) {
		const struct pack_command *c = &p->commands[i];

		if (!c->health || c->internal)
			continue;
		snprintf(run, sizeof(run), "hcp exec %s %s", p->id, c->key);
		append(r, r->health,
		       json_pack("{s:s,s:s,s:s}", "pack_id", p->id, "verb_key", c->key, "run",
				 run));
	}
}

static void check_pack(struct report *r, struct snapshot *s, const char *id)
{
	struct hcp_err err = {0};
	struct pack *p = NULL;
	char why[1400];

	if (pack_open(&s->root, &s->set, id, &p, &err) < 0) {
		hcp_err_format(&err, why, sizeof(why));
		add_check(r, "pack", CHECK_BROKEN, id, why, "correct it: its runs are denied");
		return;
	}
	check_requires(r, p);
	add_health(r, p);
	pack_close(p);
}

static void check_packs(struct report *r, struct snapshot *s)
{
	struct arena a = {0};
	struct conf_strings ids;
	struct hcp_err err = {0};

	if (s->broken.code != HCP_E_NONE)
		return;
	if (pack_list(&s->root, &s->set, &a, &ids, &err) < 0)
		add_check(r, "packs", CHECK_BROKEN, s->root.path, err.text, NULL);
	else
		for (size_t i = 0; i < ids.count; i++)
			check_pack(r, s, ids.items[i]);
	arena_free(&a);
}

/* ---- the whole */

static json_t *examine(hcp_runtime *rt, struct snapshot *s, bool *well)
{
	struct report r = {
	    .layers = json_array(), .checks = json_array(), .health = json_array()};
	struct box_probe tiers[2];
	const char *best;

	try_tiers(rt, tiers);
	add_layers(&r, tiers);
	check_config(&r, s);
	check_init(&r, rt);
	check_lua(&r);
	check_cgroup(&r, rt, &s->set, tiers[0].held ? POLICY_STRONG : POLICY_LIGHT);
	check_packs(&r, s);
	best = tiers[0].held ? "strong" : tiers[1].held ? "light" : "none";
	*well = tiers[0].held && !r.config_broken;
	r.top = json_pack("{s:b,s:s,s:s*,s:o,s:[o,o],s:o,s:o,s:o}", "ok", *well, "tier", best,
			  "why", tiers[0].held ? NULL : tiers[0].err.text, "host", host_json(),
			  "tiers", tier_json(&tiers[0]), tier_json(&tiers[1]), "layers",
			  r.layers, "checks", r.checks, "health", r.health);
	if (r.failed) {
		json_decref(r.top);
		return NULL;
	}
	return r.top;
}

hcp_status hcp_doctor(hcp_runtime *rt, hcp_result **out, hcp_error *err)
{
	struct hcp_err nomem = {.code = HCP_E_NOMEM, .text = "out of memory"};
	struct snapshot *s;
	json_t *report;
	bool well = false;

	if (out)
		*out = NULL;
	if (!rt || !out)
		return HCP_EINVAL;
	s = runtime_snapshot(rt);
	report = examine(rt, s, &well);
	snapshot_put(s);
	*out = report ? result_from_json(report) : NULL;
	json_decref(report);
	if (!*out)
		return runtime_error(err, &nomem);
	(*out)->ok = well;
	(*out)->exit = well ? 0 : 1;
	return HCP_OK;
}
