/* SPDX-License-Identifier: MIT */
/* Why a run would end as it would. The verdicts are the steps' own; what stands here only reads
 * what they left in the run and says where it was written. It must never decide anything. */
#include "exec/explain.h"

#include "session/session.h"

#include <stdio.h>
#include <string.h>

/* `file` NULL: nothing that was written decided it. `line` 0: the file as a whole. */
static void because(struct run *r, const char *file, int line, const char *fmt, ...)
    HCP_PRINTF(4, 5);

static void because(struct run *r, const char *file, int line, const char *fmt, ...)
{
	struct explain *e = r->explain;
	AUTO_BUF text = {0};
	char part[1024];
	json_t *one;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	utf8_clean(&text, part, strlen(part));
	one = json_pack("{s:s*,s:i,s:s}", "file", file, "line", line, "text",
			text.data ? text.data : "");
	if (one && line <= 0)
		json_object_del(one, "line");
	if (json_array_append_new(e->because[e->step], one) < 0)
		e->failed = true;
}

/* NULL only where memory ran out: then the line is said without its file. */
static const char *of_pack(struct run *r, const char *name)
{
	return arena_printf(&r->arena, "%s/%s", r->pack->shown, name);
}

static void tell_pack(struct run *r)
{
	const struct policy_pack *pp;

	if (!r->pack)
		return;
	because(r, of_pack(r, "pack.yaml"), 0, "pack %s, version %s, %s", r->pack->id,
		r->pack->version, r->pack->digest);
	pp = policy_pack(r->snap->policy, r->pack->id);
	if (pp && pp->digest)
		because(r, pp->file, pp->line, "only the pack with %s", pp->digest);
}

static void tell_session(struct run *r)
{
	const struct settings_session *s =
	    session_in_settings(&r->snap->set, r->call->session, r->pack->id);
	const char *does = r->activated ? "activates" : "does not activate";

	if (r->explain->any_session)
		because(r, NULL, 0, "the pack counts as activated");
	else if (s)
		because(r, arena_printf(&r->arena, "%s/hcp.yaml", r->snap->root.path),
			s->packs.line, "session %s always has it", s->name);
	else
		because(r,
			arena_printf(&r->arena, "%s/sessions/%s.packs", r->snap->root.state,
				     r->call->session),
			0, "session %s %s it", r->call->session, does);
}

static void tell_policy(struct run *r)
{
	const struct pack_command *cmd = pack_command(r->pack, r->verb_key);

	if (!cmd)
		because(r, of_pack(r, "pack.yaml"), 0, "declares no command \"%s\"",
			r->verb_key);
	else if (!cmd->policy)
		because(r, of_pack(r, "policy.yaml"), 0, "has no entry \"%s\"", cmd->key);
	else
		because(r, of_pack(r, "policy.yaml"), cmd->policy->line, "the entry \"%s\"",
			cmd->key);
	if (!r->command) {
		if (cmd && cmd->internal)
			because(r, of_pack(r, "pack.yaml"), cmd->line,
				"the command is internal: for scripts of its own pack");
		return;
	}
	if (r->granted->file)
		because(r, r->granted->file, r->granted->line, "the operator's block");
	else
		because(r, NULL, 0, "the operator has no block for the pack: defaults hold");
	if (r->overlay)
		because(r, r->overlay->file, r->overlay->line, "the operator's overlay");
}

static void tell_provider(struct run *r)
{
	const struct policy_auth *auth = policy_auth_for(
	    r->snap->policy, r->call->token != NULL, runtime_face_name(r->rt->options.face));

	if (r->explain->as)
		because(r, NULL, 0, "the principal was given; no provider was asked");
	else if (!auth)
		because(r, NULL, 0, "no entry of \"auth\" fits");
	else if (auth->file)
		because(r, auth->file, auth->line, "provider %s", auth->provider);
	else
		because(r, NULL, 0, "without \"auth\" the provider is %s", auth->provider);
}

static const char *asked_by(const char *asked, const char *setting, const char *own)
{
	if (asked)
		return "asked for by the caller";
	if (setting)
		return "asked for by hcp.yaml";
	return own ? "the principal's own" : "where there is no other";
}

static void tell_principal(struct run *r)
{
	const struct principal *p = &r->principal;
	const struct settings *set = &r->snap->set;
	const struct policy_place *at;

	tell_provider(r);
	at = p->id ? policy_principal_place(r->snap->policy, p->id) : NULL;
	if (at)
		because(r, at->file, at->line, "what the operator knows of %s", p->id);
	if (r->command->policy->land_brain)
		because(r, of_pack(r, "policy.yaml"), r->command->policy->line,
			"land brain needs a project");
	if (r->overlay && r->overlay->land_brain)
		because(r, r->overlay->file, r->overlay->line, "land brain needs a project");
	if (!r->authenticated)
		return;
	because(r, NULL, 0, "tenant %s: %s", p->tenant,
		asked_by(r->call->tenant, set->tenant, p->own_tenant));
	if (p->project)
		because(r, NULL, 0, "project %s: %s", p->project,
			asked_by(r->call->project, set->project_id, p->own_project));
}

/* One capability that `file` asks for at `line`, and what gives it. */
static void tell_capability(struct run *r, const char *capability, const char *file, int line)
{
	struct policy_reason why;

	if (!policy_grants(r->snap->policy, &r->principal, capability, &why)) {
		because(r, file, line,
			"%s is required, and nothing grants it to %s in "
			"tenant %s",
			capability, r->principal.id, r->principal.tenant);
		return;
	}
	because(r, file, line, "%s is required", capability);
	because(r, why.gives->file, why.gives->line, "%s is granted%s%s", capability,
		why.role ? " to role " : "", why.role ? why.role : "");
	if (why.gives_role)
		because(r, why.gives_role->file, why.gives_role->line, "%s has role %s",
			r->principal.id, why.role);
	else if (why.role)
		because(r, NULL, 0, "%s has role %s from its provider", r->principal.id,
			why.role);
}

static void tell_capabilities(struct run *r)
{
	const struct pack_policy *policy = r->command->policy;
	const struct policy_overlay *o = r->overlay;

	for (size_t i = 0; i < policy->capabilities.count; i++)
		tell_capability(r, policy->capabilities.items[i], of_pack(r, "policy.yaml"),
				policy->line);
	for (size_t i = 0; o && i < o->capabilities.count; i++)
		tell_capability(r, o->capabilities.items[i], o->file, o->capabilities.line);
	if (o && o->deny)
		because(r, o->file, o->line, "nobody may: %s", o->deny);
}

static void tell_confirm(struct run *r)
{
	const struct policy_overlay *o = r->overlay;
	const char *given = r->confirmed ? "given" : "not given";

	if (r->command->policy->confirm)
		because(r, of_pack(r, "policy.yaml"), r->command->policy->line,
			"consent is required, and was %s", given);
	else if (!o || !o->confirm)
		because(r, of_pack(r, "policy.yaml"), r->command->policy->line,
			"no consent is required");
	if (o && o->confirm_person)
		because(r, o->file, o->line, "a person's consent is required");
	else if (o && o->confirm)
		because(r, o->file, o->line, "consent is required, and was %s", given);
	if (r->command->args)
		because(r, of_pack(r, "pack.yaml"), r->command->line, "the arguments' schema");
	if (o && o->guard)
		because(r, o->file, o->line, "policies/guards/%s.lua judges the arguments",
			o->guard);
}

static void tell_mint(struct run *r)
{
	const struct pack_mint *mint = r->pack->mint;

	if (!mint)
		because(r, of_pack(r, "pack.yaml"), 0, "the pack needs no Binding");
	else if (r->command->health)
		because(r, of_pack(r, "pack.yaml"), r->command->line,
			"a health command gets no Binding");
	else if (r->mode == RUN_MODE_MOCK)
		because(r, NULL, 0, "mode mock: a mock Binding, no hook is called");
	else
		because(r, of_pack(r, "pack.yaml"), mint->line, "hook %s makes the Binding",
			mint->hook);
}

static void tell_adapter(struct run *r)
{
	because(r, of_pack(r, "pack.yaml"), r->command->line, "kind %s", r->command->kind);
	if (host_function(&r->rt->options, HOST_ADAPTER, r->command->kind))
		because(r, NULL, 0, "the adapter is the host's own");
	else if (strcmp(r->command->kind, "wrap") != 0)
		because(r, arena_printf(&r->arena, "adapters/%s.lua", r->command->kind), 0,
			"the adapter");
	else if (r->granted->file)
		because(r, r->granted->file, r->granted->line,
			"which programs, and in what sandbox");
	else
		because(r, NULL, 0, "without a block no program may run");
}

static void tell_audit(struct run *r)
{
	const char *path = r->snap->set.audit_path;

	r->explain->step = 9;
	if (r->snap->broken.code != HCP_E_NONE)
		return;
	because(r,
		path ? path
		     : arena_printf(&r->arena, "%s/audit/audit.jsonl", r->snap->root.state),
		0, r->ok ? "a begin and an end are recorded" : "one denial is recorded");
}

static const struct {
	const char *name;
	void (*tell)(struct run *);
} steps[10] = {
    {"envelope", NULL},        {"pack", tell_pack},           {"session", tell_session},
    {"policy", tell_policy},   {"principal", tell_principal}, {"capability", tell_capabilities},
    {"confirm", tell_confirm}, {"mint", tell_mint},           {"adapter", tell_adapter},
    {"audit", tell_audit},
};

void explain_step(struct run *r)
{
	r->explain->step = r->step;
	if (steps[r->step].tell)
		steps[r->step].tell(r);
}

/* Names of the environment: a value may be secret. */
static json_t *names_json(char *const *envp)
{
	json_t *list = json_array();

	for (; list && *envp; envp++)
		json_array_append_new(
		    list, json_stringn(*envp, (size_t)(strchrnul(*envp, '=') - *envp)));
	return list;
}

static json_t *argv_json(char *const *argv)
{
	json_t *list = json_array();

	for (; list && *argv; argv++)
		json_array_append_new(list, json_string(*argv));
	return list;
}

int explain_plan(struct run *r, const struct box_spec *spec, const struct box_plan *plan)
{
	struct explain *e = r->explain;

	e->argv = argv_json(spec->argv);
	e->env = names_json(spec->envp);
	e->sandbox = box_plan_json(plan);
	return e->argv && e->env && e->sandbox ? 0 : run_refuse_text(r, EXIT_RUNTIME, NULL);
}

void exec_explain(struct run *r, struct explain *e)
{
	r->explain = e;
	for (size_t i = 0; i < 10; i++) {
		e->because[i] = json_array();
		e->failed |= !e->because[i];
	}
	exec_run(r);
	if (r->ok)
		r->step = 9;
	tell_audit(r);
}

static json_t *step_json(const struct run *r, int number)
{
	bool refused = !r->ok && number == r->step;
	const char *verdict = refused             ? "refused"
			      : number <= r->step ? "passed"
						  : "not reached";
	json_t *j;

	/* a denial is recorded, too */
	if (number == 9)
		verdict = "passed";
	j = json_pack("{s:i,s:s,s:s,s:O}", "step", number, "name", steps[number].name,
		      "verdict", verdict, "because", r->explain->because[number]);
	if (j && refused)
		json_object_set_new(j, "error", json_stringn(r->error, r->error_len));
	return j;
}

static json_t *steps_json(const struct run *r)
{
	json_t *list = json_array();

	for (int i = r->step == 0 ? 0 : 1; list && i < 10; i++)
		json_array_append_new(list, step_json(r, i));
	return list;
}

static json_t *principal_json(const struct principal *p)
{
	json_t *roles = json_array();

	for (size_t i = 0; i < p->roles.count; i++)
		json_array_append_new(roles, json_string(p->roles.items[i]));
	return json_pack("{s:s,s:s*,s:s*,s:o}", "id", p->id, "tenant", p->tenant, "project_id",
			 p->project, "roles", roles);
}

static json_t *limits_json(const struct policy_limits *l)
{
	char timeout[32], output[32], workspace[32];

	unit_format_duration(l->timeout_ms, timeout);
	unit_format_size(l->output, output);
	unit_format_size(l->workspace, workspace);
	return json_pack("{s:s,s:s,s:s}", "timeout", timeout, "output", output, "workspace",
			 workspace);
}

json_t *explain_json(const struct run *r)
{
	const struct explain *e = r->explain;
	json_t *top =
	    json_pack("{s:b,s:s,s:s,s:i,s:i}", "ok", r->ok, "pack_id", r->pack_id, "verb_key",
		      r->verb_key, "step", r->step, "exit", r->ok ? 0 : r->exit);

	if (!top || e->failed) {
		json_decref(top);
		return NULL;
	}
	if (r->error)
		json_object_set_new(top, "error", json_stringn(r->error, r->error_len));
	json_object_set_new(top, "steps", steps_json(r));
	if (r->principal.id)
		json_object_set_new(top, "principal", principal_json(&r->principal));
	if (r->limits.timeout_ms)
		json_object_set_new(top, "limits", limits_json(&r->limits));
	if (e->sandbox) {
		json_object_set(top, "argv", e->argv);
		json_object_set(top, "env", e->env);
		json_object_set(top, "sandbox", e->sandbox);
	}
	return top;
}

void explain_free(struct explain *e)
{
	for (size_t i = 0; i < 10; i++)
		json_decref(e->because[i]);
	json_decref(e->argv);
	json_decref(e->env);
	json_decref(e->sandbox);
}
