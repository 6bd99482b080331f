/* SPDX-License-Identifier: MIT */
/* Step 6: consent, and then everything that can be judged without acting: mode, arguments by
 * their schema, argv, guards. So `confirm required` comes first, and nothing is minted for a
 * call that can't be made. */
#include "exec/wrap.h"

#include "argv/argv.h"
#include "pack/schema.h"

/* `confirm: person` wants a consent given through a channel that shows the arguments to
 * somebody; an argument never is one. */
static bool wants_person(const struct run *r)
{
	return r->overlay && r->overlay->confirm_person;
}

/* What a script asks for can't be asked about: the script would have to run again, and with it
 * all that it did before. */
static bool can_have_consent(const struct run *r)
{
	bool asked = r->command->policy->confirm || (r->overlay && r->overlay->confirm);

	if (wants_person(r))
		return !r->parent && r->call->consent;
	return !asked || r->confirmed;
}

static int check_args(struct run *r)
{
	AUTO_BUF faults = {0};
	int n;

	if (r->mode == RUN_MODE_BAD && !r->mode_given)
		return run_refuse(r, EXIT_DENIED, "invalid args: mode: must be text");
	if (r->mode == RUN_MODE_BAD)
		return run_refuse(r, EXIT_DENIED,
				  "invalid args: mode: only \"mock\" is known, not %s",
				  r->mode_given);
	if (!r->command->args)
		return 0;
	if (schema_fill_defaults(r->command->args, r->args) < 0)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	n = schema_validate(r->command->args, r->args, "args", &faults);
	if (n < 0 || faults.failed)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	if (n == 0)
		return 0;
	return run_refuse_text(r, EXIT_DENIED,
			       arena_printf(&r->arena, "invalid args: %s", faults.data));
}

static int render(struct run *r)
{
	const struct argv_rules rules = {&r->command->wrap.deny_prefix,
					 &r->command->wrap.json_flag};
	struct hcp_err err = {0};

	if (!r->command->argv)
		return 0;
	if (argv_render(r->command->argv, r->args, &rules, &r->arena, &r->argv, &r->argc,
			&err) < 0)
		return run_refuse_err(r, EXIT_DENIED, "", &err);
	return 0;
}

static json_t *guard_request(const struct run *r)
{
	const struct principal *p = &r->principal;

	return json_pack("{s:s,s:s,s:s,s:s,s:s*,s:O,s:O,s:b}", "face",
			 runtime_face_name(r->rt->options.face), "pack_id", r->pack->id,
			 "verb_key", r->command->key, "tenant", p->tenant, "project_id",
			 p->project, "principal", r->principal_json, "args", r->args,
			 "confirmed", r->confirmed);
}

static int ask_guard(struct run *r, const char *guard)
{
	json_t *request = guard_request(r);
	const struct operator_script script = {
	    .role = SCRIPT_GUARD, .name = guard, .request = request};
	struct script_result answer = {0};
	struct hcp_err err = {0};
	const char *prefix = arena_printf(&r->arena, "denied: guard %s: ", guard);
	int rc = -1;

	if (!request || !prefix)
		run_refuse_text(r, EXIT_RUNTIME, NULL);
	else if (operator_script_run(r, &script, &answer, &err) < 0)
		run_refuse_script(r, EXIT_DENIED, prefix, &answer, &err);
	else if (answer.answer == SCRIPT_ANSWER_REFUSED && answer.reason.len)
		run_refuse_raw(r, EXIT_DENIED, "denied: ", answer.reason.data,
			       answer.reason.len);
	else if (answer.answer != SCRIPT_ANSWER_TRUE)
		run_refuse(r, EXIT_DENIED, "denied: guard %s: gave no reason", guard);
	else
		rc = 0;
	script_result_free(&answer);
	json_decref(request);
	return rc;
}

int step_confirm(struct run *r)
{
	if (!r->permitted)
		return run_refuse(r, EXIT_DENIED, "denied: not permitted");
	if (!can_have_consent(r))
		return run_refuse(r, EXIT_DENIED, "confirm required");
	if (check_args(r) < 0 || wrap_files_check(r) < 0 || render(r) < 0)
		return -1;
	if (r->overlay && r->overlay->guard && ask_guard(r, r->overlay->guard) < 0)
		return -1;
	/* last: a person is asked about what would run */
	if (wants_person(r) && consent_redeem(r) < 0)
		return run_refuse(r, EXIT_DENIED, "confirm required");
	r->consented = true;
	return 0;
}
