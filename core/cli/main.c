/* SPDX-License-Identifier: MIT */
/* Options, the verb table, and what every verb needs around it. */
#include "cli/cli.h"
#include "cli/complete.h"

#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct cli_verb cli_verbs[] = {
    {"exec", "exec <pack_id> <verb_key> [-- k=v ...] | exec -", "run one command", cmd_exec,
     CLI_RUNS, cli_run_options},
    {"link", "link <pack_id> [--dir DIR] [--as NAME]",
     "make a pack's commands a command of your own", cmd_link, CLI_LOOKS, cli_link_options},
    {"unlink", "unlink <name> [--dir DIR]", "take such a command away", cmd_unlink, CLI_ALONE,
     cli_link_options + 1},
    {"mcp", "mcp", "an MCP server on stdin and stdout: a tool a command", cmd_mcp, CLI_MCP,
     NULL},
    {"activate", "activate <pack_id>...", "activate packs on the session", cmd_activate,
     CLI_RUNS, NULL},
    {"deactivate", "deactivate <pack_id>...", "take packs off the session", cmd_deactivate,
     CLI_RUNS, NULL},
    {"session", "session", "show the session and its packs", cmd_session, CLI_RUNS, NULL},
    {"packs", "packs", "list installed packs", cmd_packs, CLI_RUNS, NULL},
    {"workspace", "workspace ls|get|put|rm <pack_id> [path]",
     "a pack's kept workspace: get writes to stdout, put reads stdin", cmd_workspace, CLI_RUNS,
     NULL},
    {"explain", "explain <pack_id> <verb_key> [-- k=v ...] | explain - | explain --run ID",
     "why a command would run or not, step by step; runs nothing", cmd_explain, CLI_ALONE,
     cli_explain_options},
    {"policy", "policy lint | test FILE | show --principal ID | show <pack_id> <verb_key>",
     "what is wrong with the policy, whether it does as its tests say, who may do what",
     cmd_policy, CLI_LOOKS, cli_policy_options},
    {"pack",
     "pack new|lint|test|show|docs|remove|verify <pack_id> | add DIR|FILE.tar.gz | sign DIR | "
     "list "
     "| "
     "keygen",
     "begin a pack, judge and describe one; add, verify and remove those of others", cmd_pack,
     CLI_LOOKS, cli_pack_options},
    {"schema", "schema pack | pack-policy | policy | settings",
     "what may stand in a YAML file, as JSON Schema for editors", cmd_schema, CLI_ALONE, NULL},
    {"secret", "secret set <name> | list | rm <name>",
     "keep secrets of providers and hooks: set reads stdin", cmd_secret, CLI_LOOKS, NULL},
    {"audit", "audit verify|tail|show|grep|export|recover|rotate|checkpoint|key ...",
     "read, verify and look after the audit log", cmd_audit, CLI_RUNS, cli_audit_options},
    {"doctor", "doctor", "try the sandbox, say what this host gives and what to do", cmd_doctor,
     CLI_RUNS, NULL},
    {"completion", "completion bash|zsh|fish",
     "a script that makes a shell complete words of hcp and of links", cmd_completion,
     CLI_ALONE, NULL},
    {"serve", "serve --stdio | --socket PATH | --http [ADDR:]PORT",
     "answer many at once: an envelope a line, or HTTP", cmd_serve, CLI_ALONE,
     cli_serve_options},
    {NULL, NULL, NULL, NULL, CLI_ALONE, NULL},
};

const struct cli_verb *cli_verb_of(int (*run)(struct cli *c))
{
	const struct cli_verb *v = cli_verbs;

	while (v->name && v->run != run)
		v++;
	return v;
}

int cli_fail(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("hcp: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return status;
}

void cli_hint(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("hint: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

int cli_usage(const struct cli_verb *verb, const char *why)
{
	if (why)
		fprintf(stderr, "hcp: %s\n", why);
	fprintf(stderr, "usage: hcp %s\n",
		verb ? verb->usage : "<verb> ... (hcp --help lists them)");
	return CLI_USAGE;
}

static void print_help(const struct cli_verb *verb)
{
	if (verb) {
		printf("usage: hcp %s\n%s\n\noptions:\n", verb->usage, verb->summary);
		cli_print_options(verb->options);
	} else {
		puts("usage: hcp <verb> ...\n\nverbs:");
		for (const struct cli_verb *v = cli_verbs; v->name; v++)
			printf("  %-12s %s\n", v->name, v->summary);
		puts("\noptions:");
	}
	cli_print_options(cli_options);
	puts("\nexit status: 0 ok; the program's own code or 128+signal when a wrapped program "
	     "fails;\n1 another failure; 124 time-out; 125 hcp failed; 126 denied; 127 no such "
	     "bin; 2 usage");
}

void cli_print_version(void)
{
	printf("hcp %d.%d.%d\n", HCP_VERSION_MAJOR, HCP_VERSION_MINOR, HCP_VERSION_PATCH);
}

static const struct cli_verb *find_verb(const char *name)
{
	for (const struct cli_verb *v = cli_verbs; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

/* Splits the words: options anywhere before "--", a verb's own behind it, all else in order
 * into c->argv. */
static int parse(struct cli *c, int argc, char **argv, const struct cli_verb **verb)
{
	int i;

	c->argv = c->words = calloc((size_t)argc + 1, sizeof(*c->argv));
	if (!c->argv)
		return cli_fail(-1, "out of memory");
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] == '-' && argv[i][1]) {
			if (cli_take_option(c, *verb, argv, argc, &i) < 0)
				return -1;
			continue;
		}
		if (c->argc == 0)
			*verb = find_verb(argv[i]);
		c->argv[c->argc++] = argv[i];
	}
	c->rest = c->argc;
	for (i++; i < argc; i++)
		c->argv[c->argc++] = argv[i];
	return 0;
}

static hcp_call *signalled_call; /* written before the handlers are installed */
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
	hcp_call_cancel(signalled_call);
}

/* A run is cancelled, not abandoned: its tree dies, its end record is written. */
static void catch_signals(struct cli *c)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, hup;

	signalled_call = c->call;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	/* nohup(1) is there to outlive the terminal */
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &sa, NULL);
	/* a write that fails is told, not died of */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static void log_line(void *user, hcp_log_level level, hcp_str line)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};
	const struct cli *c = user;

	if (c->verbose || level >= HCP_LOG_WARN)
		fprintf(stderr, "hcp: %s: %.*s\n", names[level], (int)line.len, line.data);
}

static int open_runtime(struct cli *c, enum cli_runtime how, hcp_face face)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	hcp_status status = o ? HCP_OK : HCP_ENOMEM;

	if (status == HCP_OK && c->root)
		status = hcp_options_root(o, c->root);
	if (status == HCP_OK && c->state)
		status = hcp_options_state(o, c->state);
	if (status == HCP_OK)
		status = hcp_options_face(o, face);
	if (status == HCP_OK && how == CLI_LOOKS)
		status = hcp_options_read_only(o);
	if (status == HCP_OK)
		status = hcp_options_log(o, log_line, c);
	if (status == HCP_OK)
		status = hcp_open(o, &c->rt, &err);
	hcp_options_free(o);
	if (status != HCP_OK)
		return cli_fail(CLI_RUNTIME, "%s",
				err.text[0] ? err.text : hcp_status_text(status));
	return 0;
}

static int open_call(struct cli *c)
{
	const char *session = c->session ? c->session : getenv("HCP_SESSION");
	int64_t ms = c->deadline ? unit_duration_ms(c->deadline) : 0;

	if (c->deadline && ms <= 0)
		return cli_fail(
		    CLI_USAGE,
		    "--deadline must be a duration like 10s or 500ms, a year at most");
	c->call = hcp_call_new(c->rt);
	if (!c->call)
		return cli_fail(CLI_RUNTIME, "out of memory or descriptors");
	if (session && (c->session || *session) && hcp_call_session(c->call, session) != HCP_OK)
		return cli_fail(CLI_USAGE,
				"a session is named by 1 to 64 of A-Z a-z 0-9 _ . -");
	if (hcp_call_identity(c->call, c->tenant, c->project) != HCP_OK ||
	    hcp_call_deadline_ms(c->call, (uint64_t)ms) != HCP_OK)
		return cli_fail(CLI_RUNTIME, "out of memory");
	return cli_token(c);
}

int cli_open_as(struct cli *c, enum cli_runtime how, hcp_face face)
{
	int status = open_runtime(c, how, face);

	return status ? status : open_call(c);
}

static int unknown_verb(const char *name)
{
	const char *best = NULL;
	unsigned distance, least = 3;

	for (const struct cli_verb *v = cli_verbs; v->name; v++) {
		distance = str_distance(name, v->name);
		if (distance < least) {
			least = distance;
			best = v->name;
		}
	}
	cli_fail(CLI_USAGE, "there is no verb \"%s\"", name);
	if (best)
		cli_hint("did you mean: hcp %s", best);
	return cli_usage(NULL, NULL);
}

int cli_open(struct cli *c, enum cli_runtime how)
{
	int status = cli_open_as(c, how, how == CLI_MCP ? HCP_FACE_MCP : HCP_FACE_CLI);

	if (status == 0)
		catch_signals(c);
	return status;
}

static int run_verb(struct cli *c, const struct cli_verb *verb)
{
	const char *misplaced = verb->run == cmd_exec ? NULL : cli_run_option(c);
	int status = 0;

	if (misplaced) {
		cli_fail(CLI_USAGE, "%s goes with exec, not with %s", misplaced, verb->name);
		return cli_usage(verb, NULL);
	}
	c->argv++; /* past the verb itself */
	c->argc--;
	c->rest--;
	if (verb->runtime != CLI_ALONE)
		status = cli_open(c, verb->runtime);
	return status ? status : verb->run(c);
}

/* What printf left behind: text that didn't arrive is no success. */
static int flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	cli_fail(status, "stdout: write: %s", strerrordesc_np(errno));
	return status ? status : CLI_RUNTIME;
}

static int run_words(struct cli *c, int argc, char **argv)
{
	const struct cli_verb *verb = NULL;
	int parsed = parse(c, argc, argv, &verb);

	if (parsed < 0)
		return cli_usage(verb, NULL);
	if (c->help)
		print_help(verb);
	else if (c->version)
		cli_print_version();
	else if (c->rest == 0)
		return cli_usage(NULL, "a verb is needed");
	else
		return verb ? run_verb(c, verb) : unknown_verb(c->argv[0]);
	return 0;
}

/* The last word is the one that is being written. */
static int complete(struct cli *c, int argc, char **argv)
{
	const struct cli_verb *verb = NULL;

	if (argc > 1 && parse(c, argc - 1, argv, &verb) == 0 && c->rest == c->argc)
		complete_words(c, verb, argv[argc - 1]);
	return 0;
}

int main(int argc, char **argv)
{
	struct cli c = {0};
	int status;

	/* libcurl would make that file before anybody could tell it not to */
	unsetenv("SSLKEYLOGFILE");
	/* what stands in the first line of a link's file, and nowhere else */
	if (argc > 1 && strcmp(argv[1], CLI_LINKED) == 0)
		status = cli_linked(&c, argv + 2, argc - 2);
	else if (argc > 1 && strcmp(argv[1], COMPLETE) == 0)
		status = complete(&c, argc - 1, argv + 1);
	else
		status = run_words(&c, argc, argv);
	if (caught && status != 0)
		status = 128 + caught;
	status = flush(status);
	hcp_call_free(c.call);
	hcp_close(c.rt);
	free(c.words);
	return status;
}
