/* SPDX-License-Identifier: MIT */
/* A value against a schema. All faults are told, by path; a value never is: an error text ends
 * up in logs and in front of models. What can't be decided is a fault. */
#include "pack/schema_node.h"

#include "base/json.h"
#include "base/limits.h"
#include "pack/number.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct walk {
	struct buf *faults;
	struct buf path; /* "" at the root */
	const char *root_name;
	size_t count;
	bool failed; /* memory ran out */
	bool secret; /* within a writeOnly value: keys are secret, too */
	bool spent;  /* a pattern met its limit: no more of them */
	int64_t pattern_ns;
};

static void fault(struct walk *w, const char *fmt, ...) HCP_PRINTF(2, 3);
static void fault(struct walk *w, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (w->count++ >= LIMIT_FAULTS)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(w->faults, "%s%s: %s", w->count > 1 ? "; " : "",
		   w->path.len ? w->path.data : w->root_name, text);
}

/* A name as it is where it is a word, else in quotes; the length of the path before. */
static size_t enter_name(struct walk *w, const char *name)
{
	size_t before = w->path.len;
	char quoted[YAML_QUOTE];

	if (before)
		buf_putc(&w->path, '.');
	yaml_quote(name, quoted);
	if (w->secret)
		buf_putc(&w->path, '*');
	else if (*name && strlen(name) + 2 == strlen(quoted) && !strpbrk(name, " .;:[]"))
		buf_puts(&w->path, name);
	else
		buf_puts(&w->path, quoted);
	return before;
}

static void leave(struct walk *w, size_t before)
{
	if (w->path.failed)
		w->failed = true;
	else if (w->path.data)
		w->path.data[w->path.len = before] = '\0';
}

/* ---- types ---- */

static unsigned type_of(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_NULL:
		return SCHEMA_NULL;
	case JSON_TRUE:
	case JSON_FALSE:
		return SCHEMA_BOOLEAN;
	case JSON_INTEGER:
		return SCHEMA_INTEGER | SCHEMA_NUMBER;
	case JSON_REAL:
		return number_is_whole(v) ? SCHEMA_INTEGER | SCHEMA_NUMBER : SCHEMA_NUMBER;
	case JSON_STRING:
		return SCHEMA_STRING;
	case JSON_ARRAY:
		return SCHEMA_ARRAY;
	case JSON_OBJECT:
		return SCHEMA_OBJECT;
	}
	return 0;
}

static void list_types(unsigned types, char out[128])
{
	static const char *const names[] = {"null",     "a boolean", "an integer", "a number",
					    "a string", "a list",    "an object"};
	const char *between = "";

	out[0] = '\0';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (types & (1U << i)) {
			strcat(strcat(out, between), names[i]);
			between = " or ";
		}
}

static bool check_type(struct walk *w, const struct schema *s, const json_t *v)
{
	char wanted[128], got[128];
	unsigned type = type_of(v);

	if (!s->types || (s->types & type))
		return true;
	list_types(s->types, wanted);
	/* an integer is a number, too: one word will do */
	list_types(type & SCHEMA_NUMBER ? SCHEMA_NUMBER : type, got);
	fault(w, "must be %s, not %s", wanted, got);
	return false;
}

/* ---- enum and const ---- */

json_t *schema_plain(const json_t *value)
{
	json_t *copy = json_is_array(value) ? json_array() : json_object();
	const char *key;
	json_t *item;
	size_t i;
	int rc = 0;

	if (json_is_array(value)) {
		json_array_foreach((json_t *)(uintptr_t)value, i, item) rc |=
		    json_array_append_new(copy, schema_plain(item));
	} else if (json_is_object(value)) {
		json_object_foreach((json_t *)(uintptr_t)value, key, item) rc |=
		    json_object_set_new(copy, key, schema_plain(item));
	} else {
		json_decref(copy);
		if (json_is_real(value) && number_is_whole(value) &&
		    json_real_value(value) >= -9223372036854775808.0 &&
		    json_real_value(value) < 9223372036854775808.0)
			return json_integer((json_int_t)json_real_value(value));
		return json_deep_copy(value);
	}
	if (copy && rc == 0)
		return copy;
	json_decref(copy);
	return NULL;
}

static bool is_same(struct walk *w, const json_t *a, const json_t *b)
{
	json_t *x, *y;
	bool same;

	if (json_is_string(a) || json_is_string(b))
		return json_equal(a, b);
	x = schema_plain(a);
	y = schema_plain(b);
	w->failed = w->failed || !x || !y;
	same = x && y && json_equal(x, y);
	json_decref(x);
	json_decref(y);
	return same;
}

static void check_const(struct walk *w, const struct schema *s, const json_t *v)
{
	AUTO_BUF text = {0};

	if (!s->exactly || is_same(w, s->exactly, v))
		return;
	json_add_value(&text, s->exactly);
	w->failed = w->failed || text.failed;
	if (w->secret || text.failed)
		fault(w, "isn't its one value");
	else
		fault(w, "must be %s", text.data);
}

static void check_enum(struct walk *w, const struct schema *s, const json_t *v)
{
	AUTO_BUF text = {0};

	for (size_t i = 0; i < json_array_size(s->allowed); i++)
		if (is_same(w, json_array_get(s->allowed, i), v))
			return;
	if (!s->allowed)
		return;
	for (size_t i = 0; i < json_array_size(s->allowed); i++) {
		buf_puts(&text, i ? ", " : "");
		json_add_value(&text, json_array_get(s->allowed, i));
	}
	w->failed = w->failed || text.failed;
	if (w->secret || text.failed)
		fault(w, "isn't one of its values");
	else
		fault(w, "must be one of %s", text.data);
}

/* ---- numbers ---- */

static void check_bound(struct walk *w, const json_t *v, const json_t *bound, bool holds,
			const char *words)
{
	AUTO_BUF text = {0};

	if (!bound || holds)
		return;
	(void)v;
	json_add_value(&text, bound);
	w->failed = w->failed || text.failed;
	fault(w, "must be %s %s", words, text.failed ? "" : text.data);
}

static void check_number(struct walk *w, const struct schema *s, const json_t *v)
{
	check_bound(w, v, s->minimum, !s->minimum || number_compare(v, s->minimum) >= 0,
		    "at least");
	check_bound(w, v, s->above, !s->above || number_compare(v, s->above) > 0, "more than");
	check_bound(w, v, s->maximum, !s->maximum || number_compare(v, s->maximum) <= 0,
		    "at most");
	check_bound(w, v, s->below, !s->below || number_compare(v, s->below) < 0, "less than");
	check_bound(w, v, s->multiple_of,
		    !s->multiple_of || number_is_multiple(v, s->multiple_of), "a multiple of");
}

/* ---- strings ---- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void check_pattern(struct walk *w, const struct schema *s, const json_t *v)
{
	enum pattern_verdict verdict = PATTERN_FAILED;
	char quoted[YAML_QUOTE];
	int64_t begin;

	if (!w->spent) {
		begin = now_ns();
		verdict =
		    pattern_match(s->pattern, json_string_value(v), json_string_length(v));
		w->pattern_ns += now_ns() - begin;
	}
	w->spent = w->spent || verdict == PATTERN_FAILED ||
		   w->pattern_ns > (int64_t)LIMIT_PATTERN_MS * 1000000;
	yaml_quote(s->pattern_text, quoted);
	if (verdict == PATTERN_FAILED)
		fault(w, "can't be told from the pattern %s within the limits of a match",
		      quoted);
	else if (verdict != PATTERN_MATCHES)
		fault(w, "must match the pattern %s", quoted);
}

static int64_t count_characters(const json_t *v)
{
	const unsigned char *s = (const unsigned char *)json_string_value(v);
	int64_t n = 0;

	for (size_t i = 0; i < json_string_length(v); i++)
		n += (s[i] & 0xc0) != 0x80;
	return n;
}

static void check_string(struct walk *w, const struct schema *s, const json_t *v)
{
	int64_t n = count_characters(v);

	if (s->min_length >= 0 && n < s->min_length)
		fault(w, "must have at least %lld characters", (long long)s->min_length);
	if (s->max_length >= 0 && n > s->max_length)
		fault(w, "must have at most %lld characters", (long long)s->max_length);
	if (s->pattern)
		check_pattern(w, s, v);
}

/* ---- lists ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* By sorting: a list of a megabyte mustn't take the square of its length. */
static bool has_duplicates(struct walk *w, const json_t *v)
{
	json_t *plain = schema_plain(v);
	size_t count = json_array_size(plain), made = 0;
	char **texts = calloc(count + 1, sizeof(*texts));
	bool found = false;

	for (; texts && made < count; made++) {
		texts[made] = json_dumps(json_array_get(plain, made),
					 JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
		if (!texts[made])
			break;
	}
	if (!plain || !texts || made < count)
		w->failed = true;
	else if (count > 1)
		qsort(texts, count, sizeof(*texts), compare_texts);
	for (size_t i = 1; !w->failed && i < count; i++)
		found = found || strcmp(texts[i - 1], texts[i]) == 0;
	while (made > 0)
		free(texts[--made]);
	free(texts);
	json_decref(plain);
	return found;
}

static void walk_value(struct walk *w, const struct schema *s, const json_t *v);

static void check_list(struct walk *w, const struct schema *s, const json_t *v)
{
	size_t count = json_array_size(v);

	if (s->min_items >= 0 && (int64_t)count < s->min_items)
		fault(w, "must have at least %lld items", (long long)s->min_items);
	if (s->max_items >= 0 && (int64_t)count > s->max_items)
		fault(w, "must have at most %lld items", (long long)s->max_items);
	if (s->unique && has_duplicates(w, v))
		fault(w, "must not hold the same item twice");
	for (size_t i = 0; s->items && i < count && !w->failed; i++) {
		size_t before = w->path.len;

		buf_printf(&w->path, "[%zu]", i);
		if (!w->path.failed)
			walk_value(w, s->items, json_array_get(v, i));
		leave(w, before);
	}
}

/* ---- objects ---- */

static bool is_near(unsigned distance, size_t len)
{
	return distance <= (len <= 3 ? 1U : len <= 8 ? 2U : 3U) && distance < len;
}

static const char *nearest(const struct schema *s, const char *name)
{
	const char *best = NULL;
	unsigned least = ~0U;

	for (; s; s = s->ref)
		for (size_t i = 0; i < s->property_count; i++) {
			const char *word = s->properties[i].name;
			unsigned distance = str_distance(name, word);

			if (distance < least && is_near(distance, strlen(word))) {
				best = word;
				least = distance;
			}
		}
	return best;
}

static void tell_unknown(struct walk *w, const struct schema *s, const char *name)
{
	const char *what = s->top ? "unknown argument" : "unknown property";
	const char *best = w->secret ? NULL : nearest(s, name);

	if (best)
		fault(w, "%s (did you mean \"%s\"?)", what, best);
	else
		fault(w, "%s", what);
}

static void check_member(struct walk *w, const struct schema *s, const char *name,
			 const json_t *v)
{
	const struct schema *property = schema_own_property(s, name);

	if (property) {
		walk_value(w, property, v);
		return;
	}
	switch (s->additional) {
	case ADDITIONAL_ANY:
		return;
	case ADDITIONAL_SCHEMA:
		walk_value(w, s->additional_schema, v);
		return;
	case ADDITIONAL_UNKNOWN:
		if (schema_find_property(s, name))
			return;
		break;
	case ADDITIONAL_NONE:
		break;
	}
	tell_unknown(w, s, name);
}

static void check_object(struct walk *w, const struct schema *s, const json_t *v)
{
	const char *name;
	json_t *member;
	size_t before;

	for (size_t i = 0; i < s->required.count; i++) {
		if (json_object_get(v, s->required.items[i]))
			continue;
		before = enter_name(w, s->required.items[i]);
		fault(w, "is required");
		leave(w, before);
	}
	json_object_foreach((json_t *)(uintptr_t)v, name, member)
	{
		if (w->failed)
			return;
		before = enter_name(w, name);
		if (!w->path.failed)
			check_member(w, s, name, member);
		leave(w, before);
	}
}

/* ---- all of it ---- */

static void check_value(struct walk *w, const struct schema *s, const json_t *v)
{
	if (!check_type(w, s, v))
		return;
	check_const(w, s, v);
	check_enum(w, s, v);
	if (json_is_number(v))
		check_number(w, s, v);
	else if (json_is_string(v))
		check_string(w, s, v);
	else if (json_is_array(v))
		check_list(w, s, v);
	else if (json_is_object(v))
		check_object(w, s, v);
}

static void walk_value(struct walk *w, const struct schema *s, const json_t *v)
{
	bool outside = w->secret;

	for (const struct schema *n = s; n; n = n->ref)
		w->secret = w->secret || n->write_only;
	for (; s; s = s->ref)
		check_value(w, s, v);
	w->secret = outside;
}

int schema_validate(const struct schema *s, const json_t *value, const char *root_name,
		    struct buf *faults)
{
	struct walk w = {.faults = faults, .root_name = root_name};

	walk_value(&w, s, value);
	if (w.count > LIMIT_FAULTS)
		buf_printf(faults, "; and %zu more", w.count - LIMIT_FAULTS);
	w.failed = w.failed || w.path.failed || faults->failed;
	buf_free(&w.path);
	return w.failed ? -1 : (int)w.count;
}
