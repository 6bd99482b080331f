/* SPDX-License-Identifier: MIT */
/* The audit log for people and programs: reading, verifying and looking after it. A log is open
 * to this even where a broken policy denies every run. What is reported of a log is never made
 * better here than it is. */
#include "runtime/runtime.h"

#include "audit/inspect.h"
#include "base/fd.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* What the log says of itself isn't misuse by the caller, whatever its code. */
static void fail_log(struct hcp_err *err, const struct hcp_err *why)
{
	if (why->code == HCP_E_NOMEM)
		hcp_fail_nomem(err);
	else
		hcp_fail(err, HCP_E_CONFIG, "audit: %s", why->text);
}

/* One thing that is done with the log; `what` and `out` are its own. -1: err is set. */
typedef int task_fn(struct snapshot *s, void *what, struct hcp_err *err);

static hcp_status with_log(hcp_runtime *rt, task_fn *task, void *what, hcp_error *err)
{
	struct snapshot *s = runtime_snapshot(rt);
	struct hcp_err why = {0}, told = {0};

	if (!s->audit && s->broken.code == HCP_E_NONE) {
		hcp_fail(&told, HCP_E_CONFIG, "audit: no log is open: this runtime only looks");
	} else if (!s->audit) {
		told = s->broken;
	} else if (task(s, what, &why) < 0) {
		if (why.code == HCP_E_NONE)
			hcp_fail(&why, HCP_E_SYS, "it could not be done");
		fail_log(&told, &why);
	}
	snapshot_put(s);
	return runtime_error(err, &told);
}

static hcp_status with_result(hcp_runtime *rt, task_fn *task, void *what, json_t **value,
			      hcp_result **out, hcp_error *err)
{
	hcp_status status;

	if (out)
		*out = NULL;
	if (!rt || !out)
		return HCP_EINVAL;
	status = with_log(rt, task, what, err);
	if (status == HCP_OK) {
		*out = result_from_json(*value);
		status = *out ? HCP_OK : HCP_ENOMEM;
	}
	json_decref(*value);
	return status;
}

static int keep(json_t *value, json_t **out, struct hcp_err *err)
{
	*out = value;
	return value ? 0 : hcp_fail_nomem(err);
}

/* ---- reading ---- */

struct reader {
	struct audit_filter filter;
	hcp_audit_format format;
	hcp_audit_fn *fn;
	void *user;
	uint64_t strangers;
	size_t tail;
	int stop_fd; /* -1: don't follow */
	bool failed; /* out of memory */
};

static int give_line(void *user, const struct audit_line *line)
{
	struct reader *r = user;
	AUTO_BUF out = {0};

	if (r->format != HCP_AUDIT_STORED && !json_is_object(line->record)) {
		r->strangers++;
		return 0;
	}
	switch (r->format) {
	case HCP_AUDIT_STORED:
		buf_add(&out, line->text, line->len);
		buf_putc(&out, '\n');
		break;
	case HCP_AUDIT_CSV:
		audit_csv_row(line->record, &out);
		break;
	case HCP_AUDIT_OTLP:
		audit_otel_line(line->record, &out);
		break;
	}
	r->failed = out.failed || !out.data;
	return r->failed || r->fn(r->user, (hcp_str){out.data, out.len}) != 0;
}

static int give_header(struct reader *r, bool *stopped)
{
	AUTO_BUF out = {0};

	*stopped = false;
	if (r->format != HCP_AUDIT_CSV)
		return 0;
	audit_csv_header(&out);
	if (out.failed)
		return -1;
	*stopped = r->fn(r->user, (hcp_str){out.data, out.len}) != 0;
	return 0;
}

static int read_task(struct snapshot *s, void *what, struct hcp_err *err)
{
	struct reader *r = what;
	bool stopped;

	if (give_header(r, &stopped) < 0)
		return hcp_fail_nomem(err);
	if (!stopped && audit_each(s->audit, &r->filter, give_line, r, err) < 0)
		return -1;
	return r->failed ? hcp_fail_nomem(err) : 0;
}

static int take_terms(const char *const *where, size_t count, struct audit_term *terms,
		      struct hcp_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *equals = where[i] ? strchr(where[i], '=') : NULL;
		char *key;

		if (!equals)
			return hcp_fail(err, HCP_E_INVALID, "\"%s\" is not field=value",
					where[i] ? where[i] : "");
		terms[i].value = equals + 1;
		terms[i].key = key = strndup(where[i], (size_t)(equals - where[i]));
		if (!key)
			return hcp_fail_nomem(err);
		if (!audit_term_known(key))
			return hcp_fail(err, HCP_E_INVALID,
					"a record has no field \"%s\": see docs/audit.md", key);
	}
	return 0;
}

hcp_status hcp_audit_read(hcp_runtime *rt, const char *const *where, size_t count,
			  hcp_audit_format format, hcp_audit_fn *fn, void *user,
			  uint64_t *strangers, hcp_error *err)
{
	struct audit_term *terms = calloc(count + 1, sizeof(*terms));
	struct reader r = {{terms, count}, format, fn, user, 0, 0, -1, false};
	struct hcp_err why = {0};
	hcp_status status = HCP_EINVAL;

	if (strangers)
		*strangers = 0;
	if (!terms)
		status = HCP_ENOMEM;
	else if (!rt || !fn || (count && !where) || format < HCP_AUDIT_STORED ||
		 format > HCP_AUDIT_OTLP)
		hcp_fail(&why, HCP_E_INVALID, "invalid argument");
	else if (take_terms(where, count, terms, &why) == 0)
		status = with_log(rt, read_task, &r, err);
	if (why.code != HCP_E_NONE)
		status = runtime_error(err, &why);
	for (size_t i = 0; terms && i < count; i++)
		free((char *)(uintptr_t)terms[i].key);
	free(terms);
	if (strangers)
		*strangers = r.strangers;
	return status;
}

static int tail_task(struct snapshot *s, void *what, struct hcp_err *err)
{
	struct reader *r = what;
	int rc = r->stop_fd < 0
		     ? audit_tail(s->audit, r->tail, give_line, r, err)
		     : audit_follow(s->audit, r->tail, r->stop_fd, give_line, r, err);

	return rc == 0 && r->failed ? hcp_fail_nomem(err) : rc;
}

hcp_status hcp_audit_tail(hcp_runtime *rt, hcp_call *follow, size_t count, hcp_audit_fn *fn,
			  void *user, hcp_error *err)
{
	struct reader r = {.fn = fn, .user = user, .tail = count, .stop_fd = -1};

	if (!rt || !fn || (follow && follow->rt != rt))
		return HCP_EINVAL;
	if (follow)
		r.stop_fd = follow->cancel_fd;
	return with_log(rt, tail_task, &r, err);
}

/* ---- verifying ---- */

struct check {
	hcp_str text;
	const char *public_key;
	json_t *findings, *value;
	bool failed;
};

/* The count of damages tells of those that found no room. */
static void note_finding(void *user, const struct audit_finding *f)
{
	struct check *c = user;
	json_t *j;

	if (json_array_size(c->findings) >= LIMIT_FINDINGS)
		return;
	j = json_pack("{s:s,s:b}", "damage", audit_damage_name(f->damage), "known", f->known);
	if (f->file && *f->file)
		json_object_set_new(j, "file", json_string(f->file));
	if (f->line > 0) {
		json_object_set_new(j, "line", json_integer((json_int_t)f->line));
		json_object_set_new(j, "offset", json_integer((json_int_t)f->offset));
	}
	if (f->seq > 0)
		json_object_set_new(j, "seq", json_integer((json_int_t)f->seq));
	json_object_set_new(j, "text", json_string(f->text));
	if (json_array_append_new(c->findings, j) < 0)
		c->failed = true;
}

static int read_checkpoint(const struct snapshot *s, const struct check *c,
			   struct audit_checkpoint *out, struct hcp_err *err)
{
	char own[AUDIT_KEY_SIZE];

	if (!c->public_key && audit_key_public(&s->root, own, err) < 0)
		return -1;
	return audit_checkpoint_read(c->text.data, c->text.len,
				     c->public_key ? c->public_key : own, out, err);
}

static int verify_task(struct snapshot *s, void *what, struct hcp_err *err)
{
	struct check *c = what;
	struct audit_checkpoint known = {0};
	struct audit_verdict v;

	if (c->text.data && read_checkpoint(s, c, &known, err) < 0)
		return -1;
	if (audit_verify(s->audit, c->text.data ? &known : NULL, note_finding, c, &v, err) < 0)
		return -1;
	if (c->failed)
		return hcp_fail_nomem(err);
	return keep(json_pack("{s:b,s:I,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:O}", "intact", v.intact,
			      "segments", (json_int_t)v.segments, "records",
			      (json_int_t)v.records, "first", (json_int_t)v.first_seq, "last",
			      (json_int_t)v.last_seq, "hash", v.last_hash, "damages",
			      (json_int_t)v.damages, "known", (json_int_t)v.known, "orphans",
			      (json_int_t)v.orphans, "findings", c->findings),
		    &c->value, err);
}

hcp_status hcp_audit_verify(hcp_runtime *rt, hcp_str checkpoint, const char *public_key,
			    hcp_result **out, hcp_error *err)
{
	struct check c = {checkpoint, public_key, json_array(), NULL, false};
	hcp_status status = HCP_ENOMEM;

	if (c.findings)
		status = with_result(rt, verify_task, &c, &c.value, out, err);
	json_decref(c.findings);
	return status;
}

/* ---- looking after it ---- */

static int recover_task(struct snapshot *s, void *value, struct hcp_err *err)
{
	struct audit_recovery r;

	if (audit_recover(s->audit, &r, err) < 0)
		return -1;
	return keep(json_pack("{s:b,s:s}", "recovered", r.needed, "detail",
			      r.needed ? r.text : "the log is fine"),
		    value, err);
}

hcp_status hcp_audit_recover(hcp_runtime *rt, hcp_result **out, hcp_error *err)
{
	json_t *value = NULL;

	return with_result(rt, recover_task, &value, &value, out, err);
}

static int rotate_task(struct snapshot *s, void *value, struct hcp_err *err)
{
	char segment[NAME_MAX + 1];
	struct audit_removal r;
	json_t *j;

	if (audit_rotate(s->audit, 0, segment, err) < 0 || audit_retain(s->audit, &r, err) < 0)
		return -1;
	j = json_pack("{s:s,s:I,s:I}", "segment", segment, "removed", (json_int_t)r.removed,
		      "left", (json_int_t)r.left);
	if (j && r.left > 0)
		json_object_set_new(j, "reason", json_string(r.reason));
	return keep(j, value, err);
}

hcp_status hcp_audit_rotate(hcp_runtime *rt, hcp_result **out, hcp_error *err)
{
	json_t *value = NULL;

	return with_result(rt, rotate_task, &value, &value, out, err);
}

static int checkpoint_task(struct snapshot *s, void *value, struct hcp_err *err)
{
	AUTO_BUF text = {0};

	if (audit_sign(s->audit, &s->root, &text, err) < 0)
		return -1;
	return keep(json_read(text.data, text.len), value, err);
}

hcp_status hcp_audit_checkpoint(hcp_runtime *rt, hcp_result **out, hcp_error *err)
{
	json_t *value = NULL;

	return with_result(rt, checkpoint_task, &value, &value, out, err);
}

struct key_task {
	bool create;
	json_t *value;
};

static int key_task(struct snapshot *s, void *what, struct hcp_err *err)
{
	struct key_task *k = what;
	char key[AUDIT_KEY_SIZE];
	int rc = k->create ? audit_key_create(&s->root, key, err)
			   : audit_key_public(&s->root, key, err);

	if (rc < 0)
		return -1;
	return keep(json_pack("{s:s,s:b}", "public_key", key, "created", k->create), &k->value,
		    err);
}

hcp_status hcp_audit_key(hcp_runtime *rt, int create, hcp_result **out, hcp_error *err)
{
	struct key_task k = {create != 0, NULL};

	return with_result(rt, key_task, &k, &k.value, out, err);
}
