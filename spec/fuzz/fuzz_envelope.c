/* SPDX-License-Identifier: MIT */
/* Any bytes as an exec envelope: it is read whole or refused with a reason, and whatever comes
 * out is a result envelope. */
#include "exec/exec.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char prefix[] = "invalid envelope: ";

static bool same(const json_t *v, const char *text)
{
	return json_is_string(v) && json_string_length(v) == strlen(text) &&
	       memcmp(json_string_value(v), text, strlen(text)) == 0;
}

/* What a good envelope says is what the run does. */
static void check_read(const struct run *r, const char *text, size_t size)
{
	json_t *top = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const json_t *id = json_object_get(top, "pack_id");
	const json_t *args = json_object_get(top, "args");
	size_t count = 0;
	const char *key;
	json_t *value;

	if (!same(id ? id : json_object_get(top, "surface_id"), r->pack_id) ||
	    !same(json_object_get(top, "verb_key"), r->verb_key) || !json_is_object(r->args))
		abort();
	json_object_foreach((json_t *)(uintptr_t)args, key, value)
	{
		bool reserved =
		    str_eq(key, "confirm") || str_eq(key, "apply") || str_eq(key, "mode");

		if (reserved ? json_object_get(r->args, key) != NULL
			     : !json_equal(value, json_object_get(r->args, key)))
			abort();
		count += !reserved;
	}
	if (json_object_size(r->args) != count)
		abort();
	if (r->confirmed != (json_is_true(json_object_get(args, "confirm")) ||
			     json_is_true(json_object_get(args, "apply"))))
		abort();
	if ((r->mode == RUN_MODE_REAL) != !json_object_get(args, "mode") ||
	    (r->mode == RUN_MODE_MOCK) != same(json_object_get(args, "mode"), "mock"))
		abort();
	json_decref(top);
}

static void check_answer(const struct run *r)
{
	struct hcp_err err = {0};
	AUTO_BUF out = {0};
	json_t *v;

	if (envelope_write(r, &out) < 0 || memchr(out.data, '\n', out.len))
		abort();
	v = json_parse(out.data, out.len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!v || !json_is_boolean(json_object_get(v, "ok")) ||
	    !same(json_object_get(v, "pack_id"), r->pack_id) ||
	    !same(json_object_get(v, "verb_key"), r->verb_key))
		abort();
	if (r->error && (!json_is_false(json_object_get(v, "ok")) ||
			 !same(json_object_get(v, "error"), r->error)))
		abort();
	json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct snapshot snap;
	struct run r = {.snap = &snap, .pack_id = "", .verb_key = ""};
	char *text = malloc(size ? size : 1); /* exactly as long as it is, for the sanitizer */

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	envelope_read(&r, text, size);
	if (!r.error)
		check_read(&r, text, size);
	else if (r.exit != EXIT_DENIED || !str_starts(r.error, prefix) ||
		 !r.error[sizeof(prefix) - 1])
		abort();
	check_answer(&r);
	exec_free(&r);
	free(text);
	return 0;
}
