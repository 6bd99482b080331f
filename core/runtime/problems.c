/* SPDX-License-Identifier: MIT */
/* Problems of packs and policies as a list, and the list as JSON. */
#include "runtime/problems.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(struct conf_faults *list, const char *file, int line, const char *fmt,
		va_list ap) __attribute__((format(printf, 4, 0)));

static void add(struct conf_faults *list, const char *file, int line, const char *fmt,
		va_list ap)
{
	struct hcp_err fault = {0};
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	hcp_fail_at(&fault, file, line, 0, "%s", text);
	conf_faults_add(list, &fault);
}

void problems_warn(struct problems *p, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(&p->warnings, file, line, fmt, ap);
	va_end(ap);
}

void problems_note(struct problems *p, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(&p->notes, file, line, fmt, ap);
	va_end(ap);
}

void problems_of_capabilities(struct problems *p, const struct pack *pack)
{
	char file[PATH_MAX];
	size_t len = strlen(pack->id);

	snprintf(file, sizeof(file), "%s/policy.yaml", pack->shown);
	for (size_t i = 0; i < pack->policy_count; i++) {
		const struct pack_policy *policy = &pack->policies[i];

		for (size_t k = 0; k < policy->capabilities.count; k++) {
			const char *c = policy->capabilities.items[k];

			if (strncmp(c, pack->id, len) != 0 || c[len] != '.')
				problems_warn(
				    p, file, policy->line,
				    "%s requires %s, which doesn't begin with \"%s.\"",
				    policy->verb_key, c, pack->id);
		}
	}
}

/* Of hooks that ship: the shortest time that their services give anything for. */
static const struct shortest {
	const char *hook;
	int64_t ms;
	const char *text;
} shortest[] = {
    {"policies:aws_sts", 900000, "15m"},
    {"policies:github_app", 3600000, "1h"},
};

void problems_of_mint(struct problems *p, const struct pack *pack)
{
	struct hcp_err fault = {0};
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s/pack.yaml", pack->shown);
	for (size_t i = 0; pack->mint && i < sizeof(shortest) / sizeof(shortest[0]); i++) {
		const struct shortest *s = &shortest[i];

		if (strcmp(pack->mint->hook, s->hook) != 0 || pack->mint->ttl_ms >= s->ms)
			continue;
		hcp_fail_at(&fault, file, pack->mint->line, 0,
			    "mint: %s gives nothing for less than %s, so no Binding fits this "
			    "ttl; leave a few minutes more for clocks that differ",
			    s->hook, s->text);
		conf_faults_add(&p->errors, &fault);
	}
}

/* What an err holds may be cut in the middle of a character. */
static json_t *clean(const char *s)
{
	AUTO_BUF text = {0};

	utf8_clean(&text, s, strlen(s));
	return text.failed ? NULL : json_stringn(text.data ? text.data : "", text.len);
}

static int add_problems(json_t *list, const struct conf_faults *faults, const char *level)
{
	for (size_t i = 0; i < faults->count; i++) {
		const struct hcp_err *f = &faults->items[i];
		json_t *one = json_pack("{s:s}", "level", level);

		if (f->file[0])
			json_object_set_new(one, "file", clean(f->file));
		if (f->line)
			json_object_set_new(one, "line", json_integer(f->line));
		if (f->column)
			json_object_set_new(one, "column", json_integer(f->column));
		if (json_object_set_new(one, "text", clean(f->text)) < 0 ||
		    json_array_append_new(list, one) < 0)
			return -1;
	}
	return faults->failed ? -1 : 0;
}

hcp_result *problems_result(const struct problems *p)
{
	json_t *list = json_array(), *value = NULL;
	hcp_result *out = NULL;

	if (add_problems(list, &p->errors, "error") == 0 &&
	    add_problems(list, &p->warnings, "warning") == 0 &&
	    add_problems(list, &p->notes, "note") == 0)
		value = json_pack("{s:b,s:O}", "ok", p->errors.count == 0, "problems", list);
	if (value)
		out = result_from_json(value);
	if (out)
		out->ok = p->errors.count == 0;
	json_decref(value);
	json_decref(list);
	return out;
}

void problems_free(struct problems *p)
{
	conf_faults_free(&p->errors);
	conf_faults_free(&p->warnings);
	conf_faults_free(&p->notes);
}
