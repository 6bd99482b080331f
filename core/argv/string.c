/* SPDX-License-Identifier: MIT */
/* Values as text, the way JavaScript's String() writes them, and the words of a verb key. What
 * has no such text is refused: an argument must never arrive as something else than was given.
 */
#include "argv/template.h"

#include "base/json.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

static int add_text(struct buf *out, const json_t *value, const char *name, struct hcp_err *err)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	/* execve(2) would end the argument there */
	if (memchr(text, '\0', len))
		return hcp_fail(err, HCP_E_INVALID, "invalid args: %s: holds a NUL byte", name);
	buf_add(out, text, len);
	return 0;
}

static int add_value(struct buf *out, const json_t *value, const char *name, unsigned depth,
		     struct hcp_err *err);

static int add_list(struct buf *out, const json_t *list, const char *name, unsigned depth,
		    struct hcp_err *err)
{
	if (depth >= LIMIT_ENVELOPE_DEPTH)
		return hcp_fail(err, HCP_E_INVALID, "invalid args: %s: nested too deeply",
				name);
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (i)
			buf_putc(out, ',');
		if (add_value(out, json_array_get(list, i), name, depth + 1, err) < 0)
			return -1;
	}
	return 0;
}

static int add_value(struct buf *out, const json_t *value, const char *name, unsigned depth,
		     struct hcp_err *err)
{
	char real[40];

	if (!value)
		return 0;
	switch (json_typeof(value)) {
	case JSON_NULL:
		return 0;
	case JSON_TRUE:
		buf_puts(out, "true");
		return 0;
	case JSON_FALSE:
		buf_puts(out, "false");
		return 0;
	case JSON_INTEGER:
		buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return 0;
	case JSON_REAL:
		json_format_js(json_real_value(value), real);
		buf_puts(out, real);
		return 0;
	case JSON_STRING:
		return add_text(out, value, name, err);
	case JSON_ARRAY:
		return add_list(out, value, name, depth, err);
	case JSON_OBJECT:
		break;
	}
	return hcp_fail(err, HCP_E_INVALID, "invalid args: %s: an object can't be an argument",
			name);
}

int argv_add_string(struct buf *out, const json_t *value, const char *name, struct hcp_err *err)
{
	return add_value(out, value, name, 0, err);
}

int argv_string(const json_t *value, const char *name, struct arena *a, const char **out,
		struct hcp_err *err)
{
	AUTO_BUF text = {0};

	*out = NULL;
	if (argv_add_string(&text, value, name, err) < 0)
		return -1;
	if (text.failed)
		return hcp_fail_nomem(err);
	*out = arena_strndup(a, text.data, text.len);
	return *out ? 0 : hcp_fail_nomem(err);
}

int argv_verb_words(const char *verb_key, struct arena *a, struct conf_strings *out)
{
	static const char space[] = " \t\n\v\f\r";
	const char *dot = strchr(verb_key, '.');
	const char *at = dot ? dot + 1 : verb_key;
	size_t most = strlen(at) / 2 + 1, len;

	*out = (struct conf_strings){.given = true};
	out->items = arena_array(a, most, sizeof(*out->items));
	if (!out->items)
		return -1;
	for (at += strspn(at, space); *at; at += len + strspn(at + len, space)) {
		len = strcspn(at, space);
		out->items[out->count] = arena_strndup(a, at, len);
		if (!out->items[out->count++])
			return -1;
	}
	return 0;
}
