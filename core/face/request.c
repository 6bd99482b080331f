/* SPDX-License-Identifier: MIT */
/* A line becomes a request: its id, or the id that it cancels. A text that isn't JSON has no id
 * and goes to the library like any other, which says what is wrong with it. */
#include "face/request.h"

#include "base/json.h"
#include "face/serve.h"

#include <stdlib.h>
#include <string.h>

/* Strings and integers are ids: they look the same whoever writes them. */
static char *id_text(const json_t *v)
{
	struct buf text = {0};

	if (!json_is_string(v) && !json_is_integer(v))
		return NULL;
	json_add_value(&text, v);
	if (text.failed || text.len > SERVE_ID)
		buf_free(&text);
	return text.data;
}

static bool is_envelope(const json_t *top)
{
	return json_object_get(top, "pack_id") || json_object_get(top, "surface_id") ||
	       json_object_get(top, "verb_key");
}

int request_read(const struct face_line *line, struct request_line *out)
{
	struct hcp_err err = {0};
	const json_t *id, *cancel;

	*out = (struct request_line){0};
	out->top = json_parse(line->text, line->len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!out->top)
		return err.code == HCP_E_NOMEM ? -1 : 0;
	id = json_object_get(out->top, "id");
	cancel = is_envelope(out->top) ? NULL : json_object_get(out->top, "cancel");
	out->cancel = id_text(cancel);
	out->id = out->cancel ? NULL : id_text(id);
	if (id && !out->id && !out->cancel)
		out->bad = "id must be a string or an integer of at most 256 bytes";
	return 0;
}

void request_done(struct request_line *r)
{
	json_decref(r->top);
	free(r->id);
	free(r->cancel);
}

static void add_text(struct buf *out, const json_t *top, const char *key)
{
	const json_t *v = json_object_get(top, key);

	json_add_string(out, json_is_string(v) ? json_string_value(v) : "",
			json_string_length(v));
}

void request_refusal(const json_t *top, const char *error, struct buf *out)
{
	buf_puts(out, "{\"ok\":false,\"pack_id\":");
	add_text(out, top,
		 json_is_string(json_object_get(top, "pack_id")) ? "pack_id" : "surface_id");
	buf_puts(out, ",\"verb_key\":");
	add_text(out, top, "verb_key");
	buf_puts(out, ",\"error\":");
	json_add_cstring(out, error);
	buf_putc(out, '}');
}

void request_answer(const char *json, size_t len, const char *id, struct buf *out)
{
	if (!id) {
		buf_add(out, json, len);
		return;
	}
	buf_add(out, json, len - 1); /* an object's "}" */
	buf_puts(out, ",\"id\":");
	buf_puts(out, id);
	buf_putc(out, '}');
}
