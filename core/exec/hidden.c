/* SPDX-License-Identifier: MIT */
/* What a command calls writeOnly never gets into the log, by no other way either: a program
 * that prints it as its error, a script that raises it, a nested command that takes it for an
 * ordinary argument. The caller gets it as it is; the log is read by others. What can't be told
 * apart is hidden whole. */
#include "exec/exec.h"

#include "base/json.h"
#include "base/limits.h"

#include <string.h>

/* Shorter ones are parts of too many words to be searched for. */
#define HIDDEN_MIN   4
#define HIDDEN_COUNT 64

static int hide_text(struct run *r, const char *text, size_t len)
{
	struct secret *s;
	int rc;

	if (len < HIDDEN_MIN)
		return 0;
	if (len > LIMIT_SECRET || r->hidden.count >= HIDDEN_COUNT) {
		r->hide_all = true;
		return 0;
	}
	s = secret_new(len);
	if (!s)
		return -1;
	memcpy(secret_bytes(s), text, len);
	rc = redact_add(&r->hidden, s);
	secret_drop(s);
	return rc;
}

static int hide(struct run *r, const json_t *full, const json_t *shown);

static int hide_members(struct run *r, const json_t *full, const json_t *shown)
{
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)(uintptr_t)full, name,
			    member) if (hide(r, member, json_object_get(shown, name)) <
					0) return -1;
	return 0;
}

/* Of a list that lost some, it isn't known which. */
static int hide_elements(struct run *r, const json_t *full, const json_t *shown)
{
	bool same = json_array_size(full) == json_array_size(shown);

	for (size_t i = 0; i < json_array_size(full); i++)
		if (hide(r, json_array_get(full, i), same ? json_array_get(shown, i) : NULL) <
		    0)
			return -1;
	return 0;
}

/* What stands in `full` and not in `shown`, which is the same without its secrets. */
static int hide(struct run *r, const json_t *full, const json_t *shown)
{
	AUTO_BUF text = {0};

	if (json_is_object(full))
		return hide_members(r, full, shown);
	if (json_is_array(full))
		return hide_elements(r, full, shown);
	if (shown || json_is_boolean(full) || json_is_null(full))
		return 0;
	if (json_is_string(full))
		return hide_text(r, json_string_value(full), json_string_length(full));
	json_add_value(&text, full);
	return text.failed ? -1 : hide_text(r, text.data, text.len);
}

int hidden_note(struct run *r)
{
	json_t *shown;
	int rc;

	if (r->hidden_noted || !r->args || !r->command || !r->command->args)
		return 0;
	r->hidden_noted = true;
	shown = schema_without_secrets(r->command->args, r->args);
	rc = shown ? hide(r, r->args, shown) : -1;
	json_decref(shown);
	if (rc < 0)
		r->hide_all = true;
	return rc;
}

void hidden_pass_up(struct run *child)
{
	struct run *r = child->parent;

	/* a program may have left a Binding in a workspace, where a sibling finds it */
	for (size_t i = 0; i < child->redact.count; i++)
		if (binding_hide(r, child->redact.items[i]) < 0)
			r->hide_all = true;
	for (size_t i = 0; i < child->hidden.count && !r->hide_all; i++)
		if (r->hidden.count >= HIDDEN_COUNT ||
		    redact_add(&r->hidden, child->hidden.items[i]) < 0)
			r->hide_all = true;
	r->hide_all = r->hide_all || child->hide_all;
}

bool hidden_whole(const struct run *r)
{
	for (; r; r = r->parent)
		if (r->hide_all)
			return true;
	return false;
}
