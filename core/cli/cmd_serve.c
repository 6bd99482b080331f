/* SPDX-License-Identifier: MIT */
/* hcp serve: a server over standard descriptors, a socket or HTTP. Nothing but answers ever
 * gets to stdout: the descriptor is taken away from everything else first. */
#include "cli/cli.h"

#include "face/http.h"
#include "face/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OPT(member) offsetof(struct cli, member)
const struct cli_option cli_serve_options[] = {
    {"--stdio", NULL, NULL, "stdin and stdout are the one client", OPT(stdio)},
    {"--socket", NULL, "PATH", "a Unix socket, mode 0600", OPT(socket)},
    {"--http", NULL, "[ADDR:]PORT", "HTTP, on 127.0.0.1 where no address is given", OPT(http)},
    {"--host", NULL, "NAME...", "another name that clients may call it by (http)", OPT(host)},
    {"--origin", NULL, "URL...", "a page's origin that may ask (http)", OPT(origin)},
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

static int ended(int rc, const struct hcp_err *err)
{
	if (rc < 0)
		return cli_fail(CLI_RUNTIME, "%s", err->text);
	return rc ? 128 + rc : 0;
}

static int serve_lines(struct cli *c, int signal_fd)
{
	struct serve s = {.rt = c->rt,
			  .like = c->call,
			  .signal_fd = signal_fd,
			  .in_fd = -1,
			  .out_fd = -1,
			  .listen_fd = -1};
	struct hcp_err err = {0};
	int rc;

	if (c->socket && (s.listen_fd = serve_listen(c->socket, &err)) < 0)
		return cli_fail(CLI_RUNTIME, "%s", err.text);
	if (c->stdio && take_stdio(&s) != 0)
		return CLI_RUNTIME;
	rc = serve_run(&s, &err);
	if (c->socket)
		serve_unlink(c->socket, s.listen_fd);
	return ended(rc, &err);
}

/* Whether a token decides who a stranger is. */
static bool wants_tokens(struct cli *c)
{
	hcp_call *stranger = hcp_call_copy(c->call);
	hcp_result *res = NULL;
	json_t *top = NULL;
	const char *name;
	bool wants;

	if (stranger && hcp_call_token(stranger, hcp_str_from("a-stranger")) == HCP_OK &&
	    hcp_policy_provider(c->rt, stranger, &res, NULL) == HCP_OK)
		top = cli_value(res);
	name = cli_text(top, "provider");
	wants = *name && strcmp(name, "os_user") != 0;
	json_decref(top);
	hcp_result_free(res);
	hcp_call_free(stranger);
	return wants;
}

static int serve_http(struct cli *c, int signal_fd)
{
	struct http h = {.rt = c->rt,
			 .like = c->call,
			 .tenant = c->tenant,
			 .project = c->project,
			 .signal_fd = signal_fd,
			 .hosts = c->host,
			 .origins = c->origin};
	struct hcp_err err = {0};
	char name[HTTP_NAME];
	unsigned port;
	int rc;

	if (http_listen(c->http, &h, name, &port, &err) < 0)
		return cli_fail(CLI_RUNTIME, "%s", err.text);
	if (!h.loopback && !wants_tokens(c))
		return cli_fail(CLI_RUNTIME,
				"%s is open to others: the policy needs a provider of tokens "
				"for it (auth: { provider: token, ... })",
				c->http);
	fprintf(stderr, "hcp: listening on http://%s:%u\n", h.name, port);
	rc = http_serve(&h, &err);
	close(h.listen_fd);
	return ended(rc, &err);
}

/* One token for whoever connects would make everybody its owner. */
static int misused(const struct cli *c)
{
	const struct cli_verb *own = cli_verb_of(cmd_serve);
	bool token = c->token_file || c->token_fd || getenv("HCP_TOKEN_FILE");

	if (c->argc > 0 || c->stdio + (c->socket != NULL) + (c->http != NULL) != 1)
		return cli_usage(own, "one of --stdio, --socket and --http is needed");
	if (c->socket && token)
		return cli_usage(own, "on a socket the peer is the evidence: no token");
	if (c->http && token)
		return cli_usage(own, "each request brings its own token: none for all");
	if (!c->http && (c->host[0] || c->origin[0]))
		return cli_usage(own, "--host and --origin go with --http");
	return 0;
}

int cmd_serve(struct cli *c)
{
	hcp_face face = c->http ? HCP_FACE_HTTP : c->socket ? HCP_FACE_SOCKET : HCP_FACE_STDIO;
	int status = misused(c), signal_fd;

	if (status)
		return status;
	signal_fd = signals();
	if (signal_fd < 0)
		return cli_fail(CLI_RUNTIME, "no descriptor for signals");
	status = cli_open_as(c, CLI_RUNS, face);
	if (status)
		return status;
	return c->http ? serve_http(c, signal_fd) : serve_lines(c, signal_fd);
}
