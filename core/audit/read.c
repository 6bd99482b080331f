/* SPDX-License-Identifier: MIT */
/* `hcp audit tail|show|grep`: lines as they are stored, oldest first. Reading judges nothing: a
 * line that is no JSON is handed out like any other, without a record. */
#include "audit/read.h"

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct term_kind {
	const char *key;
	bool (*holds)(const struct reading *r, const struct audit_line *line,
		      const char *value);
};

static const char *text_of(const json_t *record, const char *key)
{
	return json_string_value(json_object_get(record, key));
}

/* Times have one width and one form, so a beginning of one is less than all that it begins. */
static bool is_since(const struct reading *r, const struct audit_line *line, const char *value)
{
	const char *time = text_of(line->record, "time");

	(void)r;
	return time && strcmp(time, value) >= 0;
}

static bool is_until(const struct reading *r, const struct audit_line *line, const char *value)
{
	const char *time = text_of(line->record, "time");

	(void)r;
	return time && strncmp(time, value, strlen(value)) <= 0;
}

static bool has_text(const struct reading *r, const struct audit_line *line, const char *value)
{
	(void)r;
	return memmem(line->text, line->len, value, strlen(value)) != NULL;
}

/* A run's records come after those of the run that asked for it, so one pass finds them all. */
static bool is_of_run(const struct reading *r, const struct audit_line *line, const char *value)
{
	const char *id = text_of(line->record, "run_id");
	const char *parent = text_of(line->record, "parent_run_id");

	if (!id)
		return false;
	if (!str_eq(id, value) && !json_object_get(r->family, parent ? parent : ""))
		return false;
	return json_object_set_new(r->family, id, json_true()) == 0;
}

static const struct term_kind term_kinds[] = {
    {"since", is_since}, {"until", is_until}, {"text", has_text}, {"run", is_of_run}};

static bool field_is(const json_t *record, const char *key, const char *value)
{
	const json_t *v = json_object_get(record, key);
	AUTO_BUF text = {0};

	if (json_is_string(v))
		return json_string_length(v) == strlen(value) &&
		       strcmp(json_string_value(v), value) == 0;
	if (v)
		json_add_value(&text, v);
	return v && !text.failed && strcmp(text.data, value) == 0;
}

static const struct term_kind *kind_of(const char *key)
{
	for (size_t i = 0; i < COUNT(term_kinds); i++)
		if (strcmp(term_kinds[i].key, key) == 0)
			return &term_kinds[i];
	return NULL;
}

bool audit_term_known(const char *key)
{
	const char *const *field = audit_fields;

	while (*field && strcmp(*field, key) != 0)
		field++;
	return *field || kind_of(key);
}

/* Each term sees each line: `run` learns from those that another term leaves out. */
static bool matches(const struct reading *r, const struct audit_line *line)
{
	bool all = true;

	for (size_t i = 0; r->filter && i < r->filter->count; i++) {
		const struct audit_term *t = &r->filter->terms[i];
		const struct term_kind *kind = kind_of(t->key);

		if (!(kind ? kind->holds(r, line, t->value)
			   : field_is(line->record, t->key, t->value)))
			all = false;
	}
	return all;
}

static int hand_out(struct reading *r, const char *name, uint64_t number,
		    const struct line *line, struct hcp_err *err)
{
	struct hcp_err why = {0};
	json_t *record = json_parse(line->text, line->len, LIMIT_ENVELOPE_DEPTH + 2, &why);
	const struct audit_line out = {name, number, line->text, line->len, record};

	if (!record && why.code == HCP_E_NOMEM)
		return hcp_fail_nomem(err);
	if (matches(r, &out))
		r->stopped = r->fn(r->user, &out) != 0;
	json_decref(record);
	return 0;
}

int read_file(struct reading *r, const struct files *f, size_t i, uint64_t from, bool count,
	      struct hcp_err *err)
{
	char name[NAME_MAX + 1];
	AUTO_LINES lines = {0};
	struct line line;
	AUTO_FD fd = -1;
	uint64_t size;
	int more = 0;

	if (files_get(f, i, name, &fd, &size, err) < 0 ||
	    lines_open(&lines, fd, from, size, err) < 0)
		return -1;
	while (!r->stopped && (more = lines_next(&lines, &line, err)) > 0)
		if (hand_out(r, name, count ? lines.number : 0, &line, err) < 0)
			return -1;
	return r->stopped ? 0 : more;
}

int audit_each(struct audit *a, const struct audit_filter *f, audit_line_fn *fn, void *user,
	       struct hcp_err *err)
{
	struct reading r = {.filter = f, .fn = fn, .user = user, .family = json_object()};
	AUTO_FILES files = {.log = -1};
	int rc = r.family ? files_open(a, &files, err) : hcp_fail_nomem(err);

	for (size_t i = 0; rc == 0 && !r.stopped && i < files_count(&files); i++)
		rc = read_file(&r, &files, i, 0, true, err);
	json_decref(r.family);
	return rc;
}
