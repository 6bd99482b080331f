/* SPDX-License-Identifier: MIT */
/* hcp audit tail, show, grep and export: lines of the log on stdout. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lines on their way out; whole buffers of them, but at once where somebody is watching. */
struct sink {
	struct buf out;
	size_t full; /* bytes that are worth a write */
	uint64_t lines;
	bool failed; /* a message was printed, or nobody reads any more */
};

static int flush(struct sink *s)
{
	struct hcp_err err = {0};

	if (!s->failed && s->out.len > 0 &&
	    fd_write_all(STDOUT_FILENO, s->out.data, s->out.len, &err) < 0) {
		cli_fail(0, "stdout: %s", err.text);
		s->failed = true;
	}
	s->out.len = 0;
	return s->failed ? -1 : 0;
}

static int put_line(void *user, hcp_str line)
{
	struct sink *s = user;

	s->lines++;
	buf_add(&s->out, line.data, line.len);
	if (s->out.failed) {
		cli_fail(0, "out of memory");
		s->failed = true;
		return 1;
	}
	return s->out.len >= s->full && flush(s) < 0;
}

/* The exit status after a reading. */
static int finish(struct sink *s, hcp_status status, const hcp_error *err)
{
	bool written = flush(s) == 0;

	buf_free(&s->out);
	if (status == HCP_EINVAL)
		return cli_fail(CLI_USAGE, "%s", err->text);
	if (status != HCP_OK)
		return cli_status(status, err);
	return written ? 0 : CLI_RUNTIME;
}

static bool count_of(const char *word, size_t *out)
{
	size_t n = 0;

	for (const char *p = word; *p; p++) {
		if (*p < '0' || *p > '9' || n > 100000000)
			return false;
		n = n * 10 + (size_t)(*p - '0');
	}
	*out = n;
	return *word != '\0';
}

int audit_tail_verb(struct cli *c)
{
	struct sink s = {.full = c->follow ? 1 : 1 << 16};
	hcp_error err = {.size = sizeof(err)};
	hcp_status status;
	size_t count = 10;

	if (c->lines && !count_of(c->lines, &count))
		return cli_fail(CLI_USAGE, "-n must be a number of lines");
	status = hcp_audit_tail(c->rt, c->follow ? c->call : NULL, count, put_line, &s, &err);
	return finish(&s, status, &err);
}

/* 1: there was none. */
static int print_matching(struct cli *c, const char *const *where, int count)
{
	struct sink s = {.full = 1 << 16};
	hcp_error err = {.size = sizeof(err)};
	hcp_status status = hcp_audit_read(c->rt, where, (size_t)count, HCP_AUDIT_STORED,
					   put_line, &s, NULL, &err);
	int code = finish(&s, status, &err);

	return code == 0 && s.lines == 0 ? 1 : code;
}

int audit_show_verb(struct cli *c)
{
	char term[64];
	const char *where[] = {term};
	int n = snprintf(term, sizeof(term), "run=%s", c->argv[0]), code = 1;

	/* a longer one is no id of any run */
	if (n > 0 && (size_t)n < sizeof(term))
		code = print_matching(c, where, 1);
	return code == 1 ? cli_fail(1, "the log has no run %s", c->argv[0]) : code;
}

int audit_grep_verb(struct cli *c)
{
	return print_matching(c, (const char *const *)c->argv, c->argc);
}

int audit_export_verb(struct cli *c)
{
	struct sink s = {.full = 1 << 16};
	hcp_error err = {.size = sizeof(err)};
	hcp_audit_format format;
	uint64_t strangers = 0;
	hcp_status status;
	int code;

	if (c->format && strcmp(c->format, "csv") == 0)
		format = HCP_AUDIT_CSV;
	else if (c->format && strcmp(c->format, "otlp") == 0)
		format = HCP_AUDIT_OTLP;
	else
		return cli_fail(CLI_USAGE, "--format must be csv or otlp");
	status = hcp_audit_read(c->rt, (const char *const *)c->argv, (size_t)c->argc, format,
				put_line, &s, &strangers, &err);
	code = finish(&s, status, &err);
	if (code == 0 && strangers > 0)
		return cli_fail(1,
				"lines that are no records were left out: %llu (hcp audit "
				"verify names them)",
				(unsigned long long)strangers);
	return code;
}
