/* SPDX-License-Identifier: MIT */
/* What a program did, as a verdict (§6.4 step 8). Its JSON passes byte for byte, but for the
 * white space between tokens; its text with everything that is no UTF-8 replaced. */
#include "exec/exec.h"

#include "base/json.h"

#include <string.h>

static int fail_exit(struct run *r, int code)
{
	const struct box_outcome *o = &r->outcome;
	size_t len = o->errout_len;

	while (len && strchr(" \t\r\n", o->errout[len - 1]))
		len--;
	if (!len)
		return run_refuse(r, code, "exit %d", code);
	return run_refuse_raw(r, code, "", o->errout, len);
}

static int not_json(struct run *r, const struct json_scan *scan)
{
	return run_refuse(r, EXIT_ADAPTER, "invalid result: result: not JSON at byte %zu: %s",
			  scan->at, scan->why);
}

static void add_text(struct buf *out, const char *s, size_t len)
{
	json_add_string(out, s, len); /* replaces what is no UTF-8 */
}

static void add_lines(struct buf *out, const char *s, size_t len)
{
	const char *end = s + len, *nl;

	buf_putc(out, '[');
	while (s < end) {
		nl = memchr(s, '\n', (size_t)(end - s));
		if (!nl)
			nl = end;
		if (out->data[out->len - 1] != '[')
			buf_putc(out, ',');
		add_text(out, s, (size_t)(nl - s));
		if (out->failed)
			return;
		s = nl + 1;
	}
	buf_putc(out, ']');
}

static int take_stdout(struct run *r)
{
	const struct box_outcome *o = &r->outcome;
	AUTO_BUF safe = {0};
	struct json_scan scan;

	switch (r->command->wrap.result) {
	case PACK_RESULT_AUTO:
		if (json_scan(o->out, o->out_len, LIMIT_STDOUT_DEPTH, &r->result, &scan) !=
		    JSON_GOOD) {
			r->result.len = 0;
			add_text(&r->result, o->out, o->out_len);
		}
		break;
	case PACK_RESULT_JSON:
		if (json_scan(o->out, o->out_len, LIMIT_STDOUT_DEPTH, &r->result, &scan) !=
		    JSON_GOOD)
			return not_json(r, &scan);
		break;
	case PACK_RESULT_TEXT:
		add_text(&r->result, o->out, o->out_len);
		break;
	case PACK_RESULT_LINES:
		/* before they are apart: base64 of a secret may go over several */
		redact_text(&r->redact, o->out, o->out_len, &safe);
		add_lines(&r->result, safe.data ? safe.data : "", safe.len);
		r->result.failed |= safe.failed;
		break;
	}
	return r->result.failed ? run_refuse_text(r, EXIT_RUNTIME, NULL) : 0;
}

/* §6.4 step 8 keeps exit 0 `ok`: a result that isn't what the pack promised is the operator's
 * news. */
static void check_output(struct run *r)
{
	AUTO_BUF faults = {0};
	struct hcp_err err = {0};
	json_t *value;

	if (!r->command->output)
		return;
	value = json_parse(r->result.data, r->result.len, LIMIT_STDOUT_DEPTH, &err);
	r->misfit =
	    !value || schema_validate(r->command->output, value, "result", &faults) != 0;
	if (!value)
		run_log(r, HCP_LOG_WARN, "%s.%s: invalid result: %s", r->pack_id, r->verb_key,
			err.text);
	else if (r->misfit)
		run_log(r, HCP_LOG_WARN, "%s.%s: invalid result: %s", r->pack_id, r->verb_key,
			faults.data ? faults.data : "out of memory");
	json_decref(value);
}

static int end_verdict(struct run *r)
{
	const struct box_outcome *o = &r->outcome;
	char unit[32];

	switch (o->end) {
	case BOX_EXITED:
		return o->code == 0 ? take_stdout(r) : fail_exit(r, o->code);
	case BOX_SIGNALED:
		return run_refuse(r, 128 + o->code, "sandbox: killed by signal %d", o->code);
	case BOX_TIMEOUT:
		unit_format_duration(r->within_ms, unit);
		return run_refuse(r, EXIT_TIMEOUT, "sandbox: timeout after %s", unit);
	case BOX_OUTPUT:
		unit_format_size(r->limits.output, unit);
		return run_refuse(r, EXIT_ADAPTER, "sandbox: output over %s", unit);
	case BOX_CANCELLED:
		return run_refuse(r, EXIT_CANCELLED, "sandbox: cancelled");
	case BOX_FAILED:
		break;
	}
	return run_refuse(r, EXIT_RUNTIME, "sandbox: the run ended without an outcome");
}

/* How much of a stream can be shown: where the cap cut it, a secret may be cut, too, and would
 * no longer be known for one. None goes over a line's end. */
static size_t whole(const struct run *r, const char *s, size_t len)
{
	if (r->outcome.end != BOX_OUTPUT || !redact_has(&r->redact))
		return len;
	while (len && s[len - 1] != '\n')
		len--;
	return len;
}

int wrap_result(struct run *r)
{
	const struct box_outcome *o = &r->outcome;
	int rc = end_verdict(r);

	utf8_clean(&r->stderr_text, o->errout, whole(r, o->errout, o->errout_len));
	if (rc < 0)
		utf8_clean(&r->stdout_text, o->out, whole(r, o->out, o->out_len));
	else
		check_output(r);
	if (r->stderr_text.failed || r->stdout_text.failed)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	return rc;
}
