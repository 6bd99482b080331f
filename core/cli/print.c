/* SPDX-License-Identifier: MIT */
/* stdout: one JSON text and a newline, nothing else; a write that fails is noticed. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_for_people(const struct cli *c)
{
	return !c->json && isatty(STDOUT_FILENO);
}

static void newline(struct buf *out, int depth)
{
	buf_putc(out, '\n');
	for (int i = 0; i < depth; i++)
		buf_puts(out, "  ");
}

/* Indents compact JSON without touching a token: numbers keep their text. */
static void indent(const char *s, size_t len, struct buf *out)
{
	int depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		char ch = s[i];

		if (quoted) {
			buf_putc(out, ch);
			if (ch == '\\' && i + 1 < len)
				buf_putc(out, s[++i]);
			quoted = ch != '"';
			continue;
		}
		if (ch == '"')
			quoted = true;
		if ((ch == '}' || ch == ']') && i && !strchr("{[", s[i - 1]))
			newline(out, depth - 1);
		buf_putc(out, ch);
		if (ch == '}' || ch == ']')
			depth--;
		if (ch == '{' || ch == '[')
			depth++;
		if ((ch == '{' || ch == '[') && i + 1 < len && !strchr("}]", s[i + 1]))
			newline(out, depth);
		if (ch == ',')
			newline(out, depth);
		if (ch == ':')
			buf_putc(out, ' ');
	}
}

int cli_print_text(const char *text, size_t len)
{
	struct hcp_err err = {0};

	fflush(stdout);
	if (fd_write_all(STDOUT_FILENO, text, len, &err) < 0 ||
	    ((!len || text[len - 1] != '\n') && fd_write_all(STDOUT_FILENO, "\n", 1, &err) < 0))
		return cli_fail(CLI_RUNTIME, "stdout: %s", err.text);
	return 0;
}

int cli_print_json(const struct cli *c, hcp_str json)
{
	AUTO_BUF pretty = {0};

	if (!cli_for_people(c))
		return cli_print_text(json.data, json.len);
	indent(json.data, json.len, &pretty);
	if (pretty.failed)
		return cli_fail(CLI_RUNTIME, "out of memory");
	return cli_print_text(pretty.data, pretty.len);
}

int cli_status(hcp_status status, const hcp_error *err)
{
	int code = status == HCP_EDENIED ? CLI_DENIED : CLI_RUNTIME;
	const char *text = err->text[0] ? err->text : hcp_status_text(status);

	if (!err->file[0])
		return cli_fail(code, "%s", text);
	if (err->line <= 0)
		return cli_fail(code, "%s: %s", err->file, text);
	if (err->column <= 0)
		return cli_fail(code, "%s:%d: %s", err->file, err->line, text);
	return cli_fail(code, "%s:%d: %s (column %d)", err->file, err->line, text, err->column);
}

int cli_print_result(const struct cli *c, hcp_status status, hcp_result *res,
		     const hcp_error *err)
{
	int code = status == HCP_OK ? cli_print_json(c, hcp_result_json(res))
				    : cli_status(status, err);

	hcp_result_free(res);
	return code;
}

json_t *cli_value(const hcp_result *res)
{
	hcp_str text = hcp_result_json(res);

	return json_read(text.data, text.len);
}

void cli_add_plain(struct buf *out, const char *text, size_t len, bool lines)
{
	AUTO_BUF clean = {0};

	utf8_clean(&clean, text, len);
	out->failed |= clean.failed;
	for (size_t i = 0; i < clean.len; i++) {
		unsigned char c = (unsigned char)clean.data[i];
		/* U+0080 to U+009F, which some terminals take for ESC and a letter */
		bool c1 =
		    c == 0xc2 && i + 1 < clean.len && (unsigned char)clean.data[i + 1] < 0xa0;

		if (c1)
			i++;
		if (c1 || c == 0x7f || (c < ' ' && c != '\t' && !(lines && c == '\n')))
			c = '?';
		buf_putc(out, (char)c);
	}
}

const char *cli_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

long long cli_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

ssize_t cli_read(int fd, char *out, size_t room)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < room) {
		n = TEMP_FAILURE_RETRY(read(fd, out + len, room - len));
		if (n < 0)
			return -1;
		len += (size_t)n;
	}
	return (ssize_t)len;
}
