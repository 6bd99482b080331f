/* SPDX-License-Identifier: MIT */
/* hcp serve: a server over standard descriptors or a socket. Nothing but answers ever gets to
 * stdout: the descriptor is taken away from everything else first. */
#include "cli/cli.h"

#include "face/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OPT(member) offsetof(struct cli, member)
const struct cli_option cli_serve_options[] = {
    {"--stdio", NULL, NULL, "stdin and stdout are the one client", OPT(stdio)},
    {"--socket", NULL, "PATH", "a Unix socket, mode 0600", OPT(socket)},
    {NULL, NULL, NULL, NULL, 0},
};

/* Blocked in every thread from here on, so that only the server's loop sees them. */
static int signals(void)
{
	struct sigaction hup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* What prints by accident prints to stderr, and nothing else reads requests. */
static int take_stdio(struct serve *s)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	s->in_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	s->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->in_fd < 0 || s->out_fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return cli_fail(CLI_RUNTIME, "stdin and stdout must be open");
	close(null);
	return 0;
}

static int serve(struct cli *c, struct serve *s)
{
	struct hcp_err err = {0};
	int rc;

	s->rt = c->rt;
	s->like = c->call;
	if (s->signal_fd < 0)
		return cli_fail(CLI_RUNTIME, "no descriptor for signals");
	if (c->socket && (s->listen_fd = serve_listen(c->socket, &err)) < 0)
		return cli_fail(CLI_RUNTIME, "%s", err.text);
	if (c->stdio && take_stdio(s) != 0)
		return CLI_RUNTIME;
	rc = serve_run(s, &err);
	if (c->socket)
		serve_unlink(c->socket, s->listen_fd);
	if (rc < 0)
		return cli_fail(CLI_RUNTIME, "%s", err.text);
	return rc ? 128 + rc : 0;
}

int cmd_serve(struct cli *c)
{
	struct serve s = {.in_fd = -1, .out_fd = -1, .listen_fd = -1};
	int status;

	if (c->argc > 0 || c->stdio == (c->socket != NULL))
		return cli_usage(cli_verb_of(cmd_serve),
				 "one of --stdio and --socket is needed");
	/* one token for whoever connects would make everybody its owner */
	if (c->socket && (c->token_file || c->token_fd || getenv("HCP_TOKEN_FILE")))
		return cli_usage(cli_verb_of(cmd_serve),
				 "on a socket the peer is the evidence: no token");
	s.signal_fd = signals();
	status = cli_open_as(c, CLI_RUNS, c->socket ? HCP_FACE_SOCKET : HCP_FACE_STDIO);
	return status ? status : serve(c, &s);
}
