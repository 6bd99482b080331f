/* SPDX-License-Identifier: MIT */
/* A compiled template and the arguments of one call give an argv. Values are put in once and
 * never read again as a template; an argument that would begin a token as an option is refused,
 * never quoted or repaired. */
#include "argv/template.h"

#include "base/limits.h"

#include <string.h>

/* Less than what the kernel takes for argv and environment together. */
#define ARGV_BYTES  ((size_t)2 * 1024 * 1024)
#define ARGV_TOKENS ((size_t)64 * 1024)

struct render {
	const struct argv_template *t;
	const json_t *args;
	const struct conf_strings *deny;
	struct arena *arena;
	const json_t *item; /* what PIECE_ITEM names */
	struct buf text;    /* the token being made */
	struct buf list;    /* char * of each one made */
	size_t bytes, tried;
};

static int too_long(struct hcp_err *err)
{
	return hcp_fail(err, HCP_E_INVALID, "invalid args: too long");
}

static int push(struct render *r, const char *text, size_t len, struct hcp_err *err)
{
	char *copy;

	if (len > LIMIT_ARGV_TOKEN || len + 1 > ARGV_BYTES - r->bytes ||
	    r->list.len / sizeof(copy) >= ARGV_TOKENS)
		return too_long(err);
	r->bytes += len + 1;
	copy = arena_strndup(r->arena, text, len);
	if (!copy)
		return hcp_fail_nomem(err);
	buf_add(&r->list, &copy, sizeof(copy));
	return 0;
}

static int push_all(struct render *r, const struct conf_strings *s, struct hcp_err *err)
{
	for (size_t i = 0; i < s->count; i++)
		if (push(r, s->items[i], strlen(s->items[i]), err) < 0)
			return -1;
	return 0;
}

static const json_t *value_of(const struct render *r, const struct piece *p)
{
	return p->kind == PIECE_ITEM ? r->item : json_object_get(r->args, p->text);
}

/* The prefix that `text` may not have, or NULL. */
static const char *denied_prefix(const struct render *r, const char *text)
{
	for (size_t i = 0; i < r->deny->count; i++)
		if (str_starts(text, r->deny->items[i]))
			return r->deny->items[i];
	return NULL;
}

/* `first` is the piece whose text begins the token: behind empty values it may be another than
 * the first one written. A literal is the author's word, and a number can be negative. */
static int check_prefix(const struct render *r, const struct piece *first, struct hcp_err *err)
{
	char quoted[YAML_QUOTE];
	const char *prefix;

	if (!first || first->kind == PIECE_TEXT || json_is_number(value_of(r, first)))
		return 0;
	prefix = denied_prefix(r, r->text.data);
	if (!prefix)
		return 0;
	yaml_quote(prefix, quoted);
	return hcp_fail(err, HCP_E_INVALID, "invalid args: %s: may not start with %s",
			first->text, quoted);
}

/* `--flag={{name}}` with nothing behind the '='. */
static bool is_empty_option(const struct render *r, const struct token *t)
{
	const struct piece *p = t->pieces;

	return t->count == 2 && p[0].kind == PIECE_TEXT && p[1].kind != PIECE_TEXT &&
	       p[0].text[0] == '-' && p[0].text[p[0].len - 1] == '=' && r->text.len == p[0].len;
}

static int render_token(struct render *r, const struct token *t, struct hcp_err *err)
{
	const struct piece *first = NULL;

	/* those that are left out cost time, too */
	if (r->tried++ >= ARGV_TOKENS)
		return too_long(err);
	if (t->verb)
		return push_all(r, &r->t->verb, err);
	r->text.len = 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct piece *p = &t->pieces[i];

		if (p->kind == PIECE_TEXT)
			buf_add(&r->text, p->text, p->len);
		else if (argv_add_string(&r->text, value_of(r, p), p->text, err) < 0)
			return -1;
		if (r->text.failed)
			return hcp_fail_nomem(err);
		if (r->text.len > LIMIT_ARGV_TOKEN)
			return too_long(err);
		if (!first && r->text.len)
			first = p;
	}
	if (!r->text.len || is_empty_option(r, t))
		return 0;
	if (check_prefix(r, first, err) < 0)
		return -1;
	return push(r, r->text.data, r->text.len, err);
}

static int render_tokens(struct render *r, const struct entry *e, struct hcp_err *err)
{
	for (size_t i = 0; i < e->count; i++)
		if (render_token(r, &e->tokens[i], err) < 0)
			return -1;
	return 0;
}

static bool is_given(const json_t *value)
{
	if (!value)
		return false;
	switch (json_typeof(value)) {
	case JSON_NULL:
	case JSON_FALSE:
		return false;
	case JSON_STRING:
		return json_string_length(value) > 0;
	case JSON_ARRAY:
		return json_array_size(value) > 0;
	case JSON_OBJECT:
		return json_object_size(value) > 0;
	case JSON_TRUE:
	case JSON_INTEGER:
	case JSON_REAL:
		break;
	}
	return true;
}

static int render_each(struct render *r, const struct entry *e, struct hcp_err *err)
{
	const json_t *value = json_object_get(r->args, e->name);
	bool is_list = json_is_array(value);
	size_t count = is_list ? json_array_size(value) : value && !json_is_null(value);

	for (size_t i = 0; i < count; i++) {
		r->item = is_list ? json_array_get(value, i) : value;
		if (render_tokens(r, e, err) < 0)
			return -1;
	}
	r->item = NULL;
	return 0;
}

static int render_entry(struct render *r, const struct entry *e, struct hcp_err *err)
{
	switch (e->kind) {
	case ENTRY_TOKEN:
		return render_tokens(r, e, err);
	case ENTRY_WHEN:
		return is_given(json_object_get(r->args, e->name)) ? render_tokens(r, e, err)
								   : 0;
	case ENTRY_EACH:
		return render_each(r, e, err);
	}
	return hcp_fail(err, HCP_E_INVALID, "invalid args: unknown template entry");
}

static int render_all(struct render *r, const struct conf_strings *json_flag,
		      struct hcp_err *err)
{
	for (size_t i = 0; i < r->t->count; i++)
		if (render_entry(r, &r->t->entries[i], err) < 0)
			return -1;
	return push_all(r, json_flag, err);
}

/* [0] is the caller's, behind the tokens stands NULL. */
static int finish(struct render *r, char ***argv, size_t *argc, struct hcp_err *err)
{
	size_t count = r->list.len / sizeof(char *);
	char **list = arena_array(r->arena, count + 2, sizeof(*list));

	if (!list || r->list.failed)
		return hcp_fail_nomem(err);
	if (count)
		memcpy(list + 1, r->list.data, r->list.len);
	*argv = list;
	*argc = count + 1;
	return 0;
}

int argv_render(const struct argv_template *t, const json_t *args,
		const struct argv_rules *rules, struct arena *a, char ***argv, size_t *argc,
		struct hcp_err *err)
{
	static const char *dash[] = {"-"}, *json[] = {"--json"};
	static const struct conf_strings deny = {.count = 1, .items = dash};
	static const struct conf_strings flag = {.count = 1, .items = json};
	struct render r = {.t = t, .args = args, .arena = a};
	int rc = -1;

	*argv = NULL;
	*argc = 0;
	/* no rule given is no permission */
	r.deny = rules->deny_prefix ? rules->deny_prefix : &deny;
	if (render_all(&r, rules->json_flag ? rules->json_flag : &flag, err) == 0)
		rc = finish(&r, argv, argc, err);
	buf_free(&r.text);
	buf_free(&r.list);
	return rc;
}
