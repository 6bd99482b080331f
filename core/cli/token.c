/* SPDX-License-Identifier: MIT */
/* The caller's token: from a file or a descriptor, never from a word of the command line, which
 * everybody on the machine can read. It goes to the library and is wiped here. */
#include "cli/cli.h"

#include "base/fd.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A token and its newline. */
#define TOKEN_ROOM (LIMIT_TOKEN + 2)

static int give(struct cli *c, const char *from, const char *text, size_t len)
{
	hcp_status status;

	if (len && text[len - 1] == '\n')
		len--;
	if (len && text[len - 1] == '\r')
		len--;
	status = hcp_call_token(c->call, (hcp_str){text, len});
	if (status == HCP_EINVAL)
		return cli_fail(CLI_USAGE,
				"%s: a token is one line of 8 to %d visible ASCII characters",
				from, LIMIT_TOKEN);
	return status == HCP_OK ? 0 : cli_fail(CLI_RUNTIME, "%s", hcp_status_text(status));
}

static int take(struct cli *c, int fd, const char *from)
{
	char text[TOKEN_ROOM];
	ssize_t len = cli_read(fd, text, sizeof(text));
	int status = len < 0 ? cli_fail(CLI_USAGE, "%s can't be read", from)
			     : give(c, from, text, (size_t)len);

	explicit_bzero(text, sizeof(text));
	return status;
}

static int from_file(struct cli *c, const char *path)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return cli_fail(CLI_USAGE, "the token's file %s can't be opened", path);
	if (S_ISREG(st.st_mode) && (st.st_mode & 077))
		return cli_fail(CLI_USAGE,
				"the token's file %s is open to others: chmod 600 it", path);
	return take(c, fd, path);
}

static int from_fd(struct cli *c, const char *word)
{
	char *end;
	unsigned long fd = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end || fd > 65535)
		return cli_fail(CLI_USAGE, "--token-fd needs the number of a descriptor");
	return take(c, (int)fd, "--token-fd");
}

int cli_token(struct cli *c)
{
	const char *path = c->token_file ? c->token_file : getenv("HCP_TOKEN_FILE");

	if (c->token_file && c->token_fd)
		return cli_fail(CLI_USAGE,
				"--token-file and --token-fd: one of the two, not both");
	if (c->token_fd)
		return from_fd(c, c->token_fd);
	return path ? from_file(c, path) : 0;
}
