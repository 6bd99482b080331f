/* SPDX-License-Identifier: MIT */
/* A Binding: what of a hook's answer counts as one, and where its values are. They lie in
 * locked memory, are known to the redactor before anything else happens with them, and are
 * wiped when the run that made them ends. What isn't exactly a Binding is refused. */
#include "exec/exec.h"

#include "base/json.h"
#include "base/time.h"

#include <math.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

/* Shorter ones can be guessed, and are parts of too many words to redact. */
#define VALUE_MIN 8
#define VALUE_MAX 32768
#define ID_MAX    256

int binding_hide(struct run *r, struct secret *s)
{
	size_t len = secret_len(s);

	if (len < VALUE_MIN)
		return 0;
	for (size_t i = 0; i < r->redact.count; i++)
		if (secret_len(r->redact.items[i]) == len &&
		    sodium_memcmp(secret_bytes(r->redact.items[i]), secret_bytes(s), len) == 0)
			return 0;
	return redact_add(&r->redact, s);
}

static int failed(struct run *r, const char *fmt, ...) HCP_PRINTF(2, 3);

static int failed(struct run *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return run_refuse(r, EXIT_DENIED, "mint failed: %s: %s", r->pack->mint->hook, text);
}

static struct binding *new_binding(struct run *r, size_t count)
{
	struct binding *b = arena_alloc(&r->arena, sizeof(*b));

	if (!b)
		return NULL;
	b->mode = r->mode;
	b->env = arena_array(&r->arena, count + 1, sizeof(*b->env));
	b->lines = arena_array(&r->arena, count + 1, sizeof(struct secret *));
	if (!b->env || !b->lines)
		return NULL;
	r->binding = b;
	r->binding_owned = true;
	return b;
}

/* As the environment wants them, and still in locked memory. */
static int make_lines(struct run *r)
{
	struct binding *b = r->binding;

	for (size_t i = 0; i < b->count; i++) {
		size_t name = strlen(b->env[i].name), len = secret_len(b->env[i].value);
		unsigned char *line;

		b->lines[i] = secret_new(name + len + 2);
		if (!b->lines[i])
			return run_refuse_text(r, EXIT_RUNTIME, NULL);
		line = secret_bytes(b->lines[i]);
		memcpy(line, b->env[i].name, name);
		line[name] = '=';
		memcpy(line + name + 1, secret_bytes(b->env[i].value), len);
		line[name + 1 + len] = '\0';
	}
	return 0;
}

int binding_mock(struct run *r)
{
	const struct conf_strings *names = &r->pack->mint->env;
	struct binding *b = new_binding(r, names->count);

	for (size_t i = 0; b && i < names->count; i++) {
		struct secret *s = secret_new(4);

		if (!s)
			return run_refuse_text(r, EXIT_RUNTIME, NULL);
		memcpy(secret_bytes(s), "mock", 4);
		b->env[b->count++] = (struct script_secret){names->items[i], s};
	}
	return b ? make_lines(r) : run_refuse_text(r, EXIT_RUNTIME, NULL);
}

/* ---- what a hook answered ---- */

/* All of it, whatever it is worth: what isn't a Binding may be a credential all the same. */
static int keep(struct run *r, const struct script_result *answer)
{
	struct binding *b = new_binding(r, answer->env_count);

	if (!b)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	b->revokes = answer->revokes;
	for (size_t i = 0; i < answer->env_count; i++) {
		const char *name = arena_strdup(&r->arena, answer->env[i].name);

		if (!name || binding_hide(r, answer->env[i].value) < 0)
			return run_refuse_text(r, EXIT_RUNTIME, NULL);
		b->env[b->count++] =
		    (struct script_secret){name, secret_hold(answer->env[i].value)};
	}
	return 0;
}

static int check_value(struct run *r, const struct script_secret *s)
{
	const unsigned char *bytes = secret_bytes(s->value);
	size_t len = secret_len(s->value);

	if (len < VALUE_MIN)
		return failed(r, "env.%s is shorter than %d bytes", s->name, VALUE_MIN);
	if (len > VALUE_MAX)
		return failed(r, "env.%s is longer than %d bytes", s->name, VALUE_MAX);
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			return failed(r, "env.%s holds a control character", s->name);
	if (!utf8_valid((const char *)bytes, len))
		return failed(r, "env.%s is not UTF-8", s->name);
	return 0;
}

static bool is_declared(const struct conf_strings *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], name) == 0)
			return true;
	return false;
}

static struct script_secret *find(const struct binding *b, const char *name, size_t from)
{
	for (size_t i = from; i < b->count; i++)
		if (strcmp(b->env[i].name, name) == 0)
			return &b->env[i];
	return NULL;
}

/* Exactly the manifest's names; then in its order. */
static int check_env(struct run *r)
{
	const struct conf_strings *names = &r->pack->mint->env;
	struct binding *b = r->binding;

	for (size_t i = 0; i < b->count; i++)
		if (!is_declared(names, b->env[i].name))
			return failed(r, "env holds %s, which the manifest doesn't name",
				      b->env[i].name);
	for (size_t i = 0; i < names->count; i++) {
		struct script_secret *s = find(b, names->items[i], i), first;

		if (!s)
			return failed(r, "env lacks %s", names->items[i]);
		first = b->env[i];
		b->env[i] = *s;
		*s = first;
		if (check_value(r, &b->env[i]) < 0)
			return -1;
	}
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool binding_is_over(const struct binding *b)
{
	return b->expires_at_ms && b->expires_at_ms <= now_ms();
}

/* Seconds as milliseconds; -1: no such number. */
static int64_t to_ms(const json_t *v)
{
	double s = json_is_number(v) ? json_number_value(v) : -1;

	return s >= 0 && s < 1e12 ? (int64_t)floor(s * 1000) : -1;
}

static int take_time(struct run *r, const json_t *v, int64_t *at)
{
	int64_t us;

	if (json_is_string(v)) {
		if (time_parse(json_string_value(v), json_string_length(v), &us) < 0)
			return failed(r, "expires_at is no time as 2030-01-31T12:00:00Z");
		*at = us / 1000;
		return 0;
	}
	*at = to_ms(v);
	return *at < 0 ? failed(r, "expires_at must be seconds since 1970 or a time") : 0;
}

static bool is_there(const json_t *v)
{
	return v && !json_is_null(v);
}

static int take_expiry(struct run *r, const json_t *answer)
{
	const json_t *in = json_object_get(answer, "expires_in");
	const json_t *at = json_object_get(answer, "expires_at");
	int64_t now = now_ms(), end = 0;
	char ttl[32];

	if (is_there(in) == is_there(at))
		return failed(r, is_there(in) ? "has both expires_in and expires_at"
					      : "has no expires_in and no expires_at");
	if (is_there(at)) {
		if (take_time(r, at, &end) < 0)
			return -1;
	} else if (to_ms(in) < 0) {
		return failed(r, "expires_in must be seconds");
	} else {
		end = now + to_ms(in);
	}
	if (end <= now)
		return failed(r, "the Binding has expired");
	unit_format_duration(r->pack->mint->ttl_ms, ttl);
	if (end - now > r->pack->mint->ttl_ms)
		return failed(r, "the Binding is good for longer than the ttl of %s", ttl);
	r->binding->expires_at_ms = end;
	return 0;
}

/* It is recorded and given back to the hook; of a value of the Binding nothing may stand in it.
 */
static int take_id(struct run *r, const json_t *v)
{
	const char *s = json_string_value(v);
	size_t len = json_string_length(v);
	AUTO_BUF clean = {0};

	if (!is_there(v))
		return 0;
	if (!s || !len || len > ID_MAX)
		return failed(r, "id must be text of 1 to %d bytes", ID_MAX);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return failed(r, "id holds a control character");
	redact_text(&r->redact, s, len, &clean);
	if (clean.failed)
		return run_refuse_text(r, EXIT_RUNTIME, NULL);
	if (clean.len != len || memcmp(clean.data, s, len) != 0)
		return failed(r, "id holds a secret");
	r->binding->id = arena_strndup(&r->arena, s, len);
	return r->binding->id ? 0 : run_refuse_text(r, EXIT_RUNTIME, NULL);
}

static int check_fields(struct run *r, json_t *answer)
{
	const char *key;
	json_t *v;

	json_object_foreach(answer, key, v)
	{
		if (strcmp(key, "expires_in") != 0 && strcmp(key, "expires_at") != 0 &&
		    strcmp(key, "id") != 0)
			return failed(r, "a binding has no field %s", key);
	}
	return 0;
}

int binding_take(struct run *r, struct script_result *answer)
{
	struct hcp_err err = {0};
	json_t *rest;
	int rc;

	if (keep(r, answer) < 0)
		return -1;
	rest = json_parse(answer->result.data, answer->result.len, LIMIT_ENVELOPE_DEPTH, &err);
	if (!json_is_object(rest)) {
		/* nothing but env, and what names no field is a list */
		rc = failed(r, "%s", rest ? "has no expires_in and no expires_at" : err.text);
	} else {
		rc = take_id(r, json_object_get(rest, "id"));
		if (rc == 0)
			rc = check_fields(r, rest);
		if (rc == 0)
			rc = check_env(r);
		if (rc == 0)
			rc = take_expiry(r, rest);
		if (rc == 0)
			rc = make_lines(r);
	}
	json_decref(rest);
	return rc;
}

void binding_free(struct run *r)
{
	struct binding *b = r->binding_owned ? r->binding : NULL;

	for (size_t i = 0; b && i < b->count; i++) {
		secret_drop(b->env[i].value);
		secret_drop(b->lines[i]);
	}
	r->binding = NULL;
}
