/* SPDX-License-Identifier: MIT */
/* What the tests of scripts share: one call with little to write, and what came of it. */
#ifndef HCP_SPEC_SCRIPT_WORLD_H
#define HCP_SPEC_SCRIPT_WORLD_H

#include "base/json.h"
#include "script/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct file {
	const char *path, *text;
	size_t len; /* 0: strlen(text) */
};

struct world {
	struct script_call call;
	struct script_result result;
	struct hcp_err err;
	int rc;
	const struct file *files; /* up to one without a path */
	char log[8192];           /* "<level> <line>\n"... */
	unsigned execs;
	json_t *owned[4];
	size_t owned_count;
};

static void world_log(void *user, int level, const char *line, size_t len)
{
	struct world *w = user;
	size_t used = strlen(w->log);

	snprintf(w->log + used, sizeof(w->log) - used, "%d %.*s\n", level, (int)len, line);
}

static const char *world_load(void *user, const char *path, size_t *len, struct hcp_err *err)
{
	const struct world *w = user;

	(void)err;
	for (const struct file *f = w->files; f && f->path; f++)
		if (strcmp(f->path, path) == 0) {
			*len = f->len ? f->len : strlen(f->text);
			return f->text;
		}
	return NULL;
}

static inline void world_open(struct world *w, enum script_role role)
{
	memset(w, 0, sizeof(*w));
	w->call.role = role;
	w->call.name = "verbs/month.lua";
	w->call.owner = "pack ledger";
	script_limits_default(&w->call.limits);
	w->call.host.user = w;
	w->call.host.log = world_log;
	w->call.host.load = world_load;
}

static inline void world_close(struct world *w)
{
	script_result_free(&w->result);
	for (size_t i = 0; i < w->owned_count; i++)
		json_decref(w->owned[i]);
	w->owned_count = 0;
}

static inline json_t *world_json(struct world *w, const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(v);
	w->owned[w->owned_count++] = v;
	return v;
}

static inline void world_run(struct world *w, const char *source)
{
	script_result_free(&w->result);
	memset(&w->err, 0, sizeof(w->err));
	w->call.source = source;
	w->call.source_len = strlen(source);
	w->rc = script_run(&w->call, &w->result, &w->err);
	assert_int_equal(w->rc < 0, w->result.answer == SCRIPT_ANSWER_NONE);
	assert_int_equal(w->rc < 0, w->err.code != HCP_E_NONE);
}

/* The result of a verb as JSON text; or the error, as "! <text>". */
static inline const char *world_says(struct world *w, const char *source)
{
	static _Thread_local char text[70000];

	world_run(w, source);
	if (w->rc < 0)
		snprintf(text, sizeof(text), "! %s", w->err.text);
	else
		snprintf(text, sizeof(text), "%s",
			 w->result.result.data ? w->result.result.data : "");
	return text;
}

/* The same for a verb whose world is of no further interest. */
static inline void assert_verb(const char *source, const char *expected)
{
	struct world w;

	world_open(&w, SCRIPT_VERB);
	assert_string_equal(world_says(&w, source), expected);
	world_close(&w);
}

#endif
