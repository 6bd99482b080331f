/* SPDX-License-Identifier: MIT */
/* The verdict of a run: how a step refuses, and how a run is freed. */
#include "exec/exec.h"

#include "base/fd.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void exec_init(struct run *r, hcp_runtime *rt, struct snapshot *snap, hcp_call *call,
	       struct run *parent)
{
	memset(r, 0, sizeof(*r));
	r->rt = rt;
	r->snap = snap;
	r->call = call;
	r->parent = parent;
	r->depth = parent ? parent->depth + 1 : 0;
	r->pack_id = r->verb_key = "";
	r->started_ns = run_now_ns();
	if (parent)
		r->deadline_ns = parent->deadline_ns;
	else if (call->deadline_ms)
		r->deadline_ns = r->started_ns + (int64_t)call->deadline_ms * 1000000;
	r->within_ms = parent ? parent->within_ms : (int64_t)call->deadline_ms;
	audit_new_run_id(r->id);
	r->redact.above = parent ? &parent->redact : NULL;
	r->hidden.above = parent ? &parent->hidden : NULL;
	if (!parent && call->token && redact_add(&r->redact, call->token) < 0)
		run_refuse_text(r, EXIT_RUNTIME, NULL);
}

static void redact_buf(struct run *r, struct buf *b,
		       void (*redact)(const struct redact *, const char *, size_t,
				      struct buf *))
{
	struct buf clean = {0};

	if (!b->len)
		return;
	redact(&r->redact, b->data, b->len, &clean);
	buf_free(b);
	*b = clean;
}

static void redact_error(struct run *r)
{
	AUTO_BUF clean = {0};
	char *kept;

	redact_text(&r->redact, r->error, r->error_len, &clean);
	kept = clean.failed ? NULL : arena_strndup(&r->arena, clean.data, clean.len);
	r->error = kept ? kept : "out of memory";
	r->error_len = kept ? clean.len : strlen(r->error);
}

void run_redact(struct run *r)
{
	if (!redact_has(&r->redact))
		return;
	redact_buf(r, &r->result, redact_json);
	redact_buf(r, &r->stdout_text, redact_text);
	redact_buf(r, &r->stderr_text, redact_text);
	if (r->error && r->error_len)
		redact_error(r);
	if (r->result.failed || r->stdout_text.failed || r->stderr_text.failed) {
		r->result.len = r->stdout_text.len = r->stderr_text.len = 0;
		r->error = NULL;
		run_refuse_text(r, EXIT_RUNTIME, NULL);
	}
}

int run_refuse_bytes(struct run *r, int exit_code, const char *text, size_t len)
{
	if (r->error)
		return -1;
	r->ok = false;
	r->exit = text ? exit_code : EXIT_RUNTIME;
	r->error = text ? text : "out of memory";
	r->error_len = text ? len : strlen(r->error);
	return -1;
}

int run_refuse_text(struct run *r, int exit_code, const char *text)
{
	return run_refuse_bytes(r, exit_code, text, text ? strlen(text) : 0);
}

int run_refuse(struct run *r, int exit_code, const char *fmt, ...)
{
	AUTO_BUF text = {0};
	AUTO_FREE char *raw = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&raw, fmt, ap);
	va_end(ap);
	if (n < 0) {
		raw = NULL;
		return run_refuse_text(r, exit_code, NULL);
	}
	/* what an err holds may be cut in the middle of a character: the envelope stays UTF-8
	 */
	utf8_clean(&text, raw, (size_t)n);
	return run_refuse_text(
	    r, exit_code, text.failed ? NULL : arena_strndup(&r->arena, text.data, text.len));
}

int run_refuse_err(struct run *r, int exit_code, const char *prefix, const struct hcp_err *err)
{
	char text[1600];

	if (err->code == HCP_E_NOMEM)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	hcp_err_format(err, text, sizeof(text));
	return run_refuse(r, exit_code, "%s%s", prefix, text);
}

static size_t cut(const struct buf *text)
{
	size_t len = text->len;

	if (len <= LIMIT_ERROR)
		return len;
	for (len = LIMIT_ERROR; len > 0 && (text->data[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

int run_refuse_raw(struct run *r, int exit_code, const char *prefix, const char *text,
		   size_t len)
{
	AUTO_BUF clean = {0}, safe = {0};
	size_t keep;

	/* before the cut: half a secret would no longer be known for one */
	redact_text(&r->redact, text, len, &safe);
	buf_puts(&clean, prefix);
	utf8_clean(&clean, safe.data ? safe.data : "",
		   safe.len < LIMIT_ERROR + 4 ? safe.len : LIMIT_ERROR + 4);
	clean.failed |= safe.failed;
	keep = cut(&clean);
	return run_refuse_bytes(
	    r, exit_code, clean.failed ? NULL : arena_strndup(&r->arena, clean.data, keep),
	    keep);
}

int run_refuse_script(struct run *r, int exit_code, const char *prefix,
		      const struct script_result *answer, const struct hcp_err *err)
{
	AUTO_BUF whole = {0};

	if (!answer->error.len)
		return run_refuse_err(r, exit_code, prefix, err);
	buf_printf(&whole, "%s%s", prefix, answer->own_message ? "" : "script: ");
	if (whole.failed)
		return run_refuse_text(r, exit_code, NULL);
	return run_refuse_raw(r, exit_code, whole.data, answer->error.data, answer->error.len);
}

#define LOG_LINE 2047

void run_log(const struct run *r, hcp_log_level level, const char *fmt, ...)
{
	AUTO_FREE char *line = NULL;
	AUTO_BUF clean = {0};
	va_list ap;
	int n;

	if (!r->rt->options.log)
		return;
	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0) {
		line = NULL;
		return;
	}
	redact_text(&r->redact, line, (size_t)n, &clean);
	if (clean.failed)
		return;
	r->rt->options.log(r->rt->options.log_user, level,
			   (hcp_str){clean.data ? clean.data : "",
				     clean.len < LOG_LINE ? clean.len : LOG_LINE});
}

int64_t run_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void exec_free(struct run *r)
{
	json_decref(r->args);
	json_decref(r->question);
	if (!r->parent)
		json_decref(r->principal_json);
	if (r->pack_owned)
		pack_close(r->pack);
	if (r->has_outcome)
		box_outcome_free(&r->outcome);
	buf_free(&r->result);
	buf_free(&r->stdout_text);
	buf_free(&r->stderr_text);
	binding_free(r);
	redact_clear(&r->redact);
	redact_clear(&r->hidden);
	arena_free(&r->arena);
}
