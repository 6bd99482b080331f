/* SPDX-License-Identifier: MIT */
/* hcp mcp: an MCP server on stdin and stdout. Nothing but protocol goes to stdout; messages for
 * people go to stderr. */
#include "cli/cli.h"

#include "base/fd.h"
#include "face/mcp.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int stop_fd = -1; /* written before the handlers are installed */
static volatile sig_atomic_t caught;

static void on_stop(int number)
{
	uint64_t one = 1;

	caught = number;
	if (write(stop_fd, &one, sizeof(one)) < 0)
		return; /* EAGAIN: it is readable already */
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_stop, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

int cmd_mcp(struct cli *c)
{
	AUTO_FD stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (c->argc > 0)
		return cli_usage(cli_verb_of(cmd_mcp), NULL);
	if (stop < 0)
		return cli_fail(CLI_RUNTIME, "out of descriptors");
	stop_fd = stop;
	catch_signals();
	if (mcp_serve(c->rt, c->call, STDIN_FILENO, STDOUT_FILENO, stop) < 0)
		return cli_fail(CLI_RUNTIME, "out of memory");
	return caught ? 128 + caught : 0;
}
