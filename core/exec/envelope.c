/* SPDX-License-Identifier: MIT */
/* §6.1 in, §6.2 out. Whatever is wrong with an envelope becomes a result envelope with `ok:
 * false`; the ids are echoed as far as they could be read. */
#include "exec/exec.h"

#include "base/json.h"

#include <string.h>

static int bad(struct run *r, const char *why)
{
	return run_refuse(r, EXIT_DENIED, "invalid envelope: %s", why);
}

/* A string member without NUL inside, copied; NULL where it isn't one. */
static const char *text_member(struct run *r, const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	size_t len = json_string_length(v);

	if (!json_is_string(v) || memchr(json_string_value(v), '\0', len))
		return NULL;
	return arena_strndup(&r->arena, json_string_value(v), len);
}

static int read_ids(struct run *r, const json_t *top)
{
	const char *pack = text_member(r, top, "pack_id");
	const char *alias = text_member(r, top, "surface_id");
	const char *verb = text_member(r, top, "verb_key");

	if (verb)
		r->verb_key = verb;
	if (pack || alias)
		r->pack_id = pack ? pack : alias;
	if (!pack && json_object_get(top, "pack_id"))
		return bad(r, "pack_id must be a string");
	if (!alias && json_object_get(top, "surface_id"))
		return bad(r, "surface_id must be a string");
	if (!pack && !alias)
		return bad(r, "pack_id is required");
	if (pack && alias && strcmp(pack, alias) != 0)
		return bad(r, "pack_id and surface_id differ");
	if (!json_object_get(top, "verb_key"))
		return bad(r, "verb_key is required");
	if (!verb)
		return bad(r, "verb_key must be a string");
	return 0;
}

/* confirm, apply and mode are about the call: they are taken out, and nothing after this sees
 * them. */
static void take_reserved(struct run *r)
{
	const json_t *given = json_object_get(r->args, "mode");
	const char *mode = text_member(r, r->args, "mode");

	r->confirmed = json_is_true(json_object_get(r->args, "confirm")) ||
		       json_is_true(json_object_get(r->args, "apply"));
	if (mode && strcmp(mode, "mock") == 0) {
		r->mode = RUN_MODE_MOCK;
	} else if (given) {
		r->mode = RUN_MODE_BAD;
		r->mode_given = mode;
	}
	json_object_del(r->args, "confirm");
	json_object_del(r->args, "apply");
	json_object_del(r->args, "mode");
}

static int read_args(struct run *r, const json_t *top)
{
	json_t *args = json_object_get(top, "args");

	if (args && !json_is_object(args))
		return bad(r, "args must be an object");
	r->args = args ? json_incref(args) : json_object();
	if (!r->args)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	take_reserved(r);
	return 0;
}

static int read_text(struct run *r, const char *text, size_t len)
{
	struct hcp_err err = {0};
	json_t *top;
	int rc;

	if (len > LIMIT_ENVELOPE)
		return bad(r, "over 1 MiB");
	top = json_parse(text, len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!top)
		return run_refuse_err(r, EXIT_DENIED, "invalid envelope: ", &err);
	if (!json_is_object(top))
		rc = bad(r, "not an object");
	else
		rc = read_ids(r, top) < 0 ? -1 : read_args(r, top);
	json_decref(top);
	return rc;
}

/* A configuration that did not load whole outranks the envelope: nothing can be judged. */
static void check_config(struct run *r)
{
	if (r->snap->broken.code == HCP_E_NONE)
		return;
	r->error = NULL;
	run_refuse_err(r, EXIT_RUNTIME, "config: ", &r->snap->broken);
}

void envelope_read(struct run *r, const char *text, size_t len)
{
	read_text(r, text, len);
	check_config(r);
}

static int set_words(struct run *r, const char *pack_id, const char *verb_key,
		     const json_t *args)
{
	const char *pack = arena_strdup(&r->arena, pack_id);
	const char *verb = arena_strdup(&r->arena, verb_key);

	r->args = json_deep_copy(args);
	if (!pack || !verb || !r->args)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	r->pack_id = pack;
	r->verb_key = verb;
	return 0;
}

/* A script can't consent for anyone: the outer call's consent is all there is. */
void envelope_nested(struct run *r, const char *pack_id, const char *verb_key,
		     const json_t *args)
{
	if (set_words(r, pack_id, verb_key, args) < 0)
		return;
	take_reserved(r);
	r->confirmed = r->parent->confirmed;
	if (r->parent->mode == RUN_MODE_MOCK)
		r->mode = RUN_MODE_MOCK;
	check_config(r);
}

void envelope_words(struct run *r, const char *pack_id, const char *verb_key,
		    const json_t *args)
{
	if (set_words(r, pack_id, verb_key, args) == 0)
		check_config(r);
}

static void add_member(struct buf *out, const char *key, const char *text, size_t len)
{
	buf_printf(out, ",\"%s\":", key);
	json_add_string(out, text, len);
}

int envelope_write(const struct run *r, struct buf *out)
{
	buf_puts(out, r->ok ? "{\"ok\":true" : "{\"ok\":false");
	add_member(out, "pack_id", r->pack_id, strlen(r->pack_id));
	add_member(out, "verb_key", r->verb_key, strlen(r->verb_key));
	if (r->ok) {
		buf_puts(out, ",\"result\":");
		buf_add(out, r->result.len ? r->result.data : "null",
			r->result.len ? r->result.len : 4);
	} else {
		add_member(out, "error", r->error, r->error_len);
		if (r->stdout_text.len)
			add_member(out, "stdout", r->stdout_text.data, r->stdout_text.len);
	}
	if (r->stderr_text.len)
		add_member(out, "stderr", r->stderr_text.data, r->stderr_text.len);
	buf_putc(out, '}');
	return out->failed ? -1 : 0;
}
