/* SPDX-License-Identifier: MIT */
/* hcp explain --run: why a run ended as it did, by what the audit log says of it. Nothing is
 * supposed: what no record says isn't told. */
#include "cli/cli.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct story {
	const char *id;
	json_t *records; /* of the run and those it asked for, oldest first */
	json_t *begin,
	    *last; /* of the run itself: its begin or deny; its end or deny. Borrowed */
	bool failed;
};

static int add_record(void *user, hcp_str line)
{
	struct story *s = user;
	json_t *record = json_read(line.data, line.len);

	if (!record || json_array_append_new(s->records, record) < 0) {
		s->failed = true;
		return 1;
	}
	if (strcmp(cli_text(record, "run_id"), s->id) != 0)
		return 0;
	if (!s->begin)
		s->begin = record;
	if (strcmp(cli_text(record, "kind"), "begin") != 0)
		s->last = record;
	return 0;
}

/* 0, or the exit status. */
static int read_story(struct cli *c, struct story *s)
{
	hcp_error err = {.size = sizeof(err)};
	char term[64];
	const char *where[] = {term};
	hcp_status status = HCP_OK;

	/* a longer one is no id of any run */
	if ((size_t)snprintf(term, sizeof(term), "run=%s", s->id) < sizeof(term))
		status = hcp_audit_read(c->rt, where, 1, HCP_AUDIT_STORED, add_record, s, NULL,
					&err);
	if (status != HCP_OK)
		return cli_status(status, &err);
	if (s->failed)
		return cli_fail(CLI_RUNTIME, "out of memory");
	return s->begin ? 0 : cli_fail(1, "the log has no run %s", s->id);
}

static const char *verdict(int step, int at, bool ok)
{
	if (step < at || ok)
		return "passed";
	return step > at ? "not reached" : at <= 7 ? "refused" : "failed";
}

/* A run without a last record had passed six steps when its begin was written. */
static json_t *steps(const struct story *s)
{
	static const char *const names[] = {"envelope",  "pack",       "session", "policy",
					    "principal", "capability", "confirm", "mint",
					    "adapter",   "audit"};
	const char *error = cli_text(s->last, "error");
	int at = s->last ? (int)cli_number(s->last, "step") : 7;
	json_t *list = json_array();

	for (int n = at == 0 ? 0 : 1; n <= 9; n++) {
		const char *said = s->last  ? verdict(n, at, !*error)
				   : n < at ? "passed"
					    : "not known";

		json_array_append_new(list, json_pack("{s:i,s:s,s:s,s:s*}", "step", n, "name",
						      names[n], "verdict", said, "error",
						      n == at && *error ? error : NULL));
	}
	return list;
}

static json_t *tell(const struct story *s)
{
	const char *error =
	    s->last ? cli_text(s->last, "error")
		    : "it has no end record: it is still running, or hcp was killed";

	return json_pack("{s:s,s:b,s:s,s:s,s:s*,s:o,s:O}", "run_id", s->id, "ok",
			 s->last && !*error, "pack_id", cli_text(s->begin, "pack"), "verb_key",
			 cli_text(s->begin, "verb"), "error", *error ? error : NULL, "steps",
			 steps(s), "records", s->records);
}

static void line(const char *name, const char *text)
{
	AUTO_BUF plain = {0};

	if (!*text)
		return;
	cli_add_plain(&plain, text, strlen(text), false);
	printf("%-14s %s\n", name, plain.data ? plain.data : "");
}

static void number(const char *name, const json_t *record, const char *key, const char *unit)
{
	if (json_object_get(record, key))
		printf("%-14s %lld%s\n", name, cli_number(record, key), unit);
}

static void print_steps(const json_t *top)
{
	json_t *step;
	size_t i;

	json_array_foreach(json_object_get(top, "steps"), i, step)
	{
		AUTO_BUF error = {0};

		cli_add_plain(&error, cli_text(step, "error"), strlen(cli_text(step, "error")),
			      false);
		printf("%lld %-12s %s%s%s\n", cli_number(step, "step"), cli_text(step, "name"),
		       cli_text(step, "verdict"), error.len ? ": " : "",
		       error.len ? error.data : "");
	}
}

static void print_asked(const struct story *s)
{
	json_t *record;
	size_t i;

	json_array_foreach(s->records, i, record)
	{
		if (strcmp(cli_text(record, "parent_run_id"), s->id) == 0 &&
		    strcmp(cli_text(record, "kind"), "end") != 0)
			line("asked for", cli_text(record, "run_id"));
	}
}

static int print_for_people(const struct story *s, const json_t *top)
{
	char *args = json_dumps(json_object_get(s->begin, "args"), JSON_COMPACT);

	print_steps(top);
	if (!s->last)
		line("end", cli_text(top, "error"));
	line("began", cli_text(s->begin, "time"));
	line("by", cli_text(s->begin, "face"));
	line("session", cli_text(s->begin, "session"));
	line("principal", cli_text(s->begin, "principal"));
	line("tenant", cli_text(s->begin, "tenant"));
	line("project", cli_text(s->begin, "project"));
	line("pack", cli_text(s->begin, "pack"));
	line("", cli_text(s->begin, "pack_digest"));
	line("verb", cli_text(s->begin, "verb"));
	line("arguments", args ? args : "");
	line("policy", cli_text(s->begin, "policy_digest"));
	line("tier", cli_text(s->last, "tier"));
	line("layers", cli_text(s->last, "layers"));
	number("exit", s->last, "exit_code", "");
	number("signal", s->last, "signal", "");
	number("took", s->last, "duration_us", " us");
	number("printed", s->last, "bytes_out", " bytes");
	print_asked(s);
	free(args);
	return 0;
}

int cli_explain_run(struct cli *c, const char *id)
{
	struct story s = {.id = id, .records = json_array()};
	int code = read_story(c, &s);
	json_t *top = code ? NULL : tell(&s);
	AUTO_BUF text = {0};

	if (top && cli_for_people(c)) {
		code = print_for_people(&s, top);
	} else if (top) {
		json_add_value(&text, top);
		code = text.failed ? cli_fail(CLI_RUNTIME, "out of memory")
				   : cli_print_json(c, (hcp_str){text.data, text.len});
	} else if (!code) {
		code = cli_fail(CLI_RUNTIME, "out of memory");
	}
	json_decref(top);
	json_decref(s.records);
	return code;
}
