/* SPDX-License-Identifier: MIT */
/* Step 9: the record. A run that is refused before its begin leaves one `deny`; one that began
 * leaves `begin` and `end`. A begin that can't be written denies the run; an end that can't be
 * written withholds the result. */
#include "exec/exec.h"

#include "base/limits.h"

#include <string.h>
#include <unistd.h>

/* What the schema doesn't describe may hold anything, so of a command that was never resolved
 * only names are kept. */
static json_t *names_only(const json_t *args)
{
	json_t *list = json_array(), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)args, key, v)
	    json_array_append_new(list, json_string(key));
	return list;
}

static json_t *shown_args(const struct run *r)
{
	switch (r->snap->set.audit_args) {
	case AUDIT_ARGS_NONE:
		return NULL;
	case AUDIT_ARGS_KEYS:
		return names_only(r->args);
	case AUDIT_ARGS_REDACTED:
		break;
	}
	if (!r->command)
		return names_only(r->args);
	if (!r->command->args)
		return json_incref(r->args);
	return schema_without_secrets(r->command->args, r->args);
}

/* The arguments as others may read them: what the caller or a Binding keeps secret may stand in
 * one, too. -1: out of memory. */
static int safe_args(const struct run *r, json_t **out)
{
	const struct redact *const sets[] = {&r->redact, &r->hidden};
	json_t *shown = hidden_whole(r) && r->snap->set.audit_args == AUDIT_ARGS_REDACTED
			    ? names_only(r->args)
			    : shown_args(r),
	       *clean;

	for (size_t i = 0; shown && i < 2; i++) {
		if (!redact_has(sets[i]))
			continue;
		clean = redact_value(sets[i], shown);
		json_decref(shown);
		shown = clean;
	}
	*out = shown;
	return shown || r->snap->set.audit_args == AUDIT_ARGS_NONE ? 0 : -1;
}

/* The same of a text, kept in the run. NULL: out of memory. */
static const char *safe_text(struct run *r, const struct redact *set, const char *text,
			     size_t *len)
{
	AUTO_BUF clean = {0};

	if (!redact_has(set) || *len == 0)
		return text;
	redact_text(set, text, *len, &clean);
	if (clean.failed)
		return NULL;
	*len = clean.len;
	return arena_strndup(&r->arena, clean.data ? clean.data : "", clean.len);
}

/* What a caller calls a pack or a command may be anything as long as there is none of that
 * name. */
static int hide_texts(struct run *r, struct audit_record *rec)
{
	size_t pack = strlen(rec->pack), verb = strlen(rec->verb);

	rec->pack = r->pack ? rec->pack : safe_text(r, &r->redact, rec->pack, &pack);
	rec->verb = r->command ? rec->verb : safe_text(r, &r->redact, rec->verb, &verb);
	/* a text that was cut may end in a part of something, which isn't known for one */
	if (rec->error &&
	    (hidden_whole(r) || (redact_has(&r->hidden) && rec->error_len > LIMIT_ERROR - 4))) {
		rec->error = REDACTED;
		rec->error_len = strlen(REDACTED);
	} else if (rec->error) {
		rec->error = safe_text(r, &r->hidden, rec->error, &rec->error_len);
		if (!rec->error)
			return -1;
	}
	return rec->pack && rec->verb ? 0 : -1;
}

static void describe(const struct run *r, struct audit_record *rec)
{
	rec->run_id = r->id;
	rec->parent_run_id = r->parent ? r->parent->id : NULL;
	rec->face = runtime_face_name(r->rt->options.face);
	rec->session = r->call->session;
	rec->uid = getuid();
	rec->pid = getpid();
	rec->pack = r->pack_id;
	rec->verb = r->verb_key;
	rec->policy_digest = policy_digest(r->snap->policy);
	rec->exit_code = rec->signal = -1;
	rec->duration_us = rec->bytes_out = -1;
	rec->step = -1;
	rec->mode = r->mode == RUN_MODE_MOCK ? "mock" : NULL;
	if (r->pack) {
		rec->pack_version = r->pack->version;
		rec->pack_digest = r->pack->digest;
	}
	if (r->principal.id) {
		rec->principal = r->principal.id;
		rec->tenant = r->principal.tenant;
		rec->project = r->principal.project;
	}
}

static int append(struct run *r, struct audit_record *rec, struct hcp_err *err)
{
	json_t *args = NULL;
	int rc, lost;

	if (!r->snap->audit)
		return hcp_fail(err, HCP_E_CONFIG, "no log is open");
	if (hidden_note(r) < 0 || hide_texts(r, rec) < 0 ||
	    (r->args && rec->kind != AUDIT_END && safe_args(r, &args) < 0)) {
		json_decref(args);
		return hcp_fail_nomem(err);
	}
	rec->args = args;
	rc = audit_append(r->snap->audit, rec, err);
	json_decref(args);
	lost = audit_copy_error(r->snap->audit);
	if (lost)
		run_log(r, HCP_LOG_WARN, "audit: no copy for syslog: %s",
			strerrordesc_np(lost));
	return rc;
}

int step_audit_begin(struct run *r)
{
	struct audit_record rec = {.kind = AUDIT_BEGIN};
	struct hcp_err err = {0};

	if (!r->consented || !r->permitted)
		return run_refuse(r, EXIT_DENIED, "denied: an earlier step did not complete");
	describe(r, &rec);
	if (append(r, &rec, &err) < 0)
		return run_refuse_err(r, EXIT_RUNTIME, "audit: ", &err);
	r->begun = true;
	return 0;
}

static void describe_end(const struct run *r, struct audit_record *rec)
{
	const struct box_outcome *o = &r->outcome;

	rec->step = r->ok ? 9 : r->step;
	rec->error = r->error;
	rec->error_len = r->error_len;
	rec->binding_id = r->minted && r->binding ? r->binding->id : NULL;
	rec->revoke_error = r->revoke_error;
	rec->duration_us = (run_now_ns() - r->started_ns) / 1000;
	if (!r->has_outcome) {
		rec->bytes_out = r->ok ? (int64_t)r->result.len : -1;
		return;
	}
	if (o->end == BOX_EXITED)
		rec->exit_code = o->code;
	if (o->end == BOX_SIGNALED)
		rec->signal = o->code;
	rec->bytes_out = (int64_t)(o->out_len + o->errout_len);
	rec->tier = o->tier;
	rec->layers = o->layers;
	rec->limits_held = o->limits_held;
	rec->because = r->granted->sandbox.because;
}

static void withhold(struct run *r, const struct hcp_err *err)
{
	int code = r->has_outcome && r->outcome.end == BOX_EXITED ? r->outcome.code : r->exit;

	r->error = NULL;
	r->result.len = r->stdout_text.len = r->stderr_text.len = 0;
	run_refuse(r, EXIT_RUNTIME,
		   "audit: end record not written; the command ran (exit %d): %s", code,
		   err->text);
}

void step_audit(struct run *r)
{
	struct audit_record rec = {.kind = r->begun ? AUDIT_END : AUDIT_DENY};
	struct hcp_err err = {0};

	describe(r, &rec);
	describe_end(r, &rec);
	if (append(r, &rec, &err) < 0) {
		if (r->begun)
			withhold(r, &err);
		else
			run_log(r, HCP_LOG_ERROR, "audit: a denial was not recorded: %s",
				err.text);
	}
	if (r->ok)
		r->step = 9;
}
