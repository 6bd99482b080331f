/* SPDX-License-Identifier: MIT */
/* k=v words into an args object. The command's schema types a value; what no schema describes
 * becomes true, false, null or a number only where it reads back to the same text. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Through references until one says a type itself; the pack's loading refused endless ones. */
static const json_t *resolve(const json_t *top, const json_t *schema)
{
	const char *ref;

	while (!json_object_get(schema, "type") &&
	       (ref = json_string_value(json_object_get(schema, "$ref"))) &&
	       strncmp(ref, "#/$defs/", 8) == 0)
		schema = json_object_get(json_object_get(top, "$defs"), ref + 8);
	return schema;
}

/* The reserved keys are hcp's, whatever else a schema takes. */
const json_t *cli_schema_of(const json_t *top, const char *key)
{
	const json_t *own = json_object_get(json_object_get(top, "properties"), key);
	const json_t *others = json_object_get(top, "additionalProperties");

	if (own)
		return resolve(top, own);
	if (!strcmp(key, "confirm") || !strcmp(key, "apply") || !strcmp(key, "mode"))
		return NULL;
	return json_is_object(others) ? resolve(top, others) : NULL;
}

const json_t *cli_schema_items(const json_t *top, const json_t *schema)
{
	const json_t *items = json_object_get(schema, "items");

	return items ? resolve(top, items) : NULL;
}

bool cli_allows(const json_t *schema, const char *type)
{
	const json_t *types = json_object_get(schema, "type"), *t;
	size_t i;

	if (json_is_string(types))
		return strcmp(json_string_value(types), type) == 0;
	json_array_foreach(types, i, t) if (json_is_string(t) && strcmp(json_string_value(t),
									type) == 0) return true;
	return false;
}

/* A JSON number, or NULL. `exact`: only where it renders back to the same text (1.10 and 007
 * don't). */
static json_t *number(const char *text, bool exact)
{
	struct hcp_err err = {0};
	json_t *v = json_parse(text, strlen(text), 1, &err);
	struct buf back = {0};
	char js[40];
	bool same;

	if (!json_is_number(v)) {
		json_decref(v);
		return NULL;
	}
	if (json_is_real(v)) {
		json_format_js(json_real_value(v), js);
		buf_puts(&back, js);
	} else {
		json_add_value(&back, v);
	}
	same = !back.failed && back.data && strcmp(back.data, text) == 0;
	buf_free(&back);
	if (exact && !same) {
		json_decref(v);
		return NULL;
	}
	return v;
}

static json_t *word_value(const char *text)
{
	if (strcmp(text, "true") == 0)
		return json_true();
	if (strcmp(text, "false") == 0)
		return json_false();
	if (strcmp(text, "null") == 0)
		return json_null();
	return NULL;
}

static json_t *untyped(const char *text)
{
	json_t *v = word_value(text);

	if (!v)
		v = number(text, true);
	return v ? v : json_string(text);
}

/* Without a type the values that are allowed tell: as text, where it is one of them. */
static bool is_listed(const json_t *schema, const char *text)
{
	const json_t *v = json_object_get(schema, "const");
	size_t i;

	if (json_is_string(v) && strcmp(json_string_value(v), text) == 0)
		return true;
	json_array_foreach(json_object_get(schema, "enum"), i, v)
	{
		if (json_is_string(v) && strcmp(json_string_value(v), text) == 0)
			return true;
	}
	return false;
}

/* Text that the type can't hold stays a string: the schema then says what is wrong with it. */
static json_t *typed(const json_t *schema, const char *text)
{
	bool is_text = cli_allows(schema, "string");
	json_t *v = NULL;

	if (!json_object_get(schema, "type"))
		return is_listed(schema, text) ? json_string(text) : untyped(text);
	if (cli_allows(schema, "boolean") &&
	    (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
		v = word_value(text);
	if (!v && (cli_allows(schema, "number") || cli_allows(schema, "integer")))
		v = number(text, is_text);
	if (!v && !is_text && cli_allows(schema, "null") && strcmp(text, "null") == 0)
		v = json_null();
	return v ? v : json_string(text);
}

static int add_plain(json_t *args, const json_t *top, const char *key, const char *text)
{
	const json_t *schema = cli_schema_of(top, key);
	bool list = schema && cli_allows(schema, "array");
	json_t *old = json_object_get(args, key), *value;

	if (list)
		schema = resolve(top, json_object_get(schema, "items"));
	value = schema ? typed(schema, text) : untyped(text);
	if (!value)
		return cli_fail(-1, "%s: the value is not UTF-8", key);
	if (json_is_array(old))
		return json_array_append_new(old, value);
	if (!old && !list)
		return json_object_set_new(args, key, value);
	/* a repeated key is a list */
	return json_object_set_new(
	    args, key, old ? json_pack("[O,o]", old, value) : json_pack("[o]", value));
}

static int add_json(json_t *args, const char *key, const char *text)
{
	struct hcp_err err = {0};
	json_t *value = json_parse(text, strlen(text), LIMIT_ENVELOPE_DEPTH, &err);

	if (!value)
		return cli_fail(-1, "%s:= %s", key, err.text);
	return json_object_set_new(args, key, value);
}

static int add_file(struct cli_args *a, const char *key, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	AUTO_FD fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	struct hcp_err err = {0};
	json_t *value;
	size_t len;

	if (is_stdin && a->stdin_read)
		return cli_fail(-1, "%s@=-: stdin was read by another argument", key);
	a->stdin_read |= is_stdin;
	if (fd < 0)
		return cli_fail(-1, "%s@=%s: %s", key, path, strerrordesc_np(errno));
	if (fd_read_all(fd, LIMIT_ENVELOPE, &text, &len, &err) < 0)
		return cli_fail(-1, "%s@=%s: %s", key, path, err.text);
	value = json_stringn(text, len);
	if (!value)
		return cli_fail(-1, "%s@=%s: is not UTF-8 text", key, path);
	return json_object_set_new(a->all, key, value);
}

/* `whole`: the value comes at once, and no other word adds to it. */
static int note_key(struct cli_args *a, const char *key, bool whole)
{
	if (!utf8_valid(key, strlen(key)))
		return cli_fail(-1, "an argument's name is not UTF-8");
	if (json_object_get(whole ? a->all : a->whole, key))
		return cli_fail(-1, "%s is given twice", key);
	if (whole && json_object_set_new(a->whole, key, json_true()) < 0)
		return cli_fail(-1, "out of memory");
	return 0;
}

int cli_args_text(struct cli_args *a, const char *key, const char *text)
{
	if (note_key(a, key, false) < 0)
		return -1;
	return add_plain(a->all, a->schema, key, text);
}

int cli_args_word(struct cli_args *a, const char *word)
{
	const char *equals = strchr(word, '=');
	char kind = equals && equals > word ? equals[-1] : '\0';
	size_t len = equals ? (size_t)(equals - word) : 0;
	AUTO_FREE char *key = NULL;

	if (kind == ':' || kind == '@')
		len--;
	else
		kind = '\0';
	if (len == 0)
		return cli_fail(-1, "\"%s\" is not k=v, k:=json or k@=file", word);
	key = strndup(word, len);
	if (!key)
		return cli_fail(-1, "out of memory");
	if (!kind)
		return cli_args_text(a, key, equals + 1);
	if (note_key(a, key, true) < 0)
		return -1;
	return kind == ':' ? add_json(a->all, key, equals + 1) : add_file(a, key, equals + 1);
}

int cli_args_object(struct cli_args *a, const char *text)
{
	struct hcp_err err = {0};
	json_t *object = json_parse(text, strlen(text), LIMIT_ENVELOPE_DEPTH, &err), *value;
	const char *key;
	int rc = 0;

	if (!object)
		return cli_fail(-1, "--args: %s", err.text);
	if (!json_is_object(object))
		rc = cli_fail(-1, "--args must be one JSON object");
	json_object_foreach(object, key, value)
	{
		if (rc == 0)
			rc = note_key(a, key, true);
		if (rc == 0)
			rc = json_object_set(a->all, key, value);
	}
	json_decref(object);
	return rc;
}

int cli_args_begin(struct cli_args *a, const json_t *schema)
{
	*a = (struct cli_args){schema, json_object(), json_object(), false};
	return a->all && a->whole ? 0 : cli_fail(-1, "out of memory");
}

json_t *cli_args_end(struct cli_args *a, int rc)
{
	json_decref(a->whole);
	if (rc == 0)
		return a->all;
	json_decref(a->all);
	return NULL;
}

json_t *cli_args(const json_t *schema, char *const *words, int count)
{
	struct cli_args a;
	int rc = cli_args_begin(&a, schema);

	for (int i = 0; rc == 0 && i < count; i++)
		rc = cli_args_word(&a, words[i]);
	return cli_args_end(&a, rc);
}
