/* SPDX-License-Identifier: MIT */
/* What a run costs, beside the least it could (vfork+execve of the same program, its output
 * read) and beside bubblewrap. The variants of a row take turns in one process, so that
 * whatever the machine does meanwhile happens to all of them; medians and 99th percentiles are
 * told, and how often the goal is reached is for the reader to see. bench/run calls it. */
#include <errno.h>
#include <fcntl.h>
#include <hcp.h>
#include <jansson.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 4000

extern char **environ;

static const char *top;   /* of the roots that bench/run made */
static const char *hcp;   /* the program */
static double effort = 1; /* how many samples, as a factor */
static json_t *report;    /* --json; else NULL */
static const char *self;

_Noreturn static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- samples ---- */

struct series {
	const char *name;
	double us[SAMPLES_MAX];
	size_t count;
};

static void add(struct series *s, double us)
{
	if (s->count < SAMPLES_MAX)
		s->us[s->count++] = us;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* q from 0 to 1. */
static double quantile(struct series *s, double q)
{
	if (!s->count)
		die("%s: no samples", s->name);
	qsort(s->us, s->count, sizeof(*s->us), compare);
	return s->us[(size_t)((double)(s->count - 1) * q)];
}

static double median(struct series *s)
{
	return quantile(s, 0.5);
}

/* ---- telling ---- */

static json_t *row; /* the one that is being measured */

static void begin_row(const char *name)
{
	if (!report) {
		printf("\n%s\n", name);
		return;
	}
	row = json_pack("{s:s,s:{},s:[]}", "row", name, "figures", "goals");
	json_array_append_new(report, row);
}

static void tell(const char *name, double value, const char *unit)
{
	if (report)
		json_object_set_new(json_object_get(row, "figures"), name, json_real(value));
	else
		printf("    %-44s %12.1f %s\n", name, value, unit);
}

static void tell_series(struct series *s)
{
	char name[128];

	tell(s->name, median(s), "us");
	snprintf(name, sizeof(name), "%s, p99", s->name);
	tell(name, quantile(s, 0.99), "us");
}

/* `most`: the figure is to be at most the goal, else at least. */
static void goal(const char *name, double value, bool most, double limit)
{
	bool reached = most ? value <= limit : value >= limit;

	if (report)
		json_array_append_new(json_object_get(row, "goals"),
				      json_pack("{s:s,s:f,s:s,s:f,s:b}", "name", name, "value",
						value, "is", most ? "at most" : "at least",
						"goal", limit, "reached", reached));
	else
		printf("  %s %-44s %10.2f, goal %s %.2f\n", reached ? "+" : "-", name, value,
		       most ? "at most" : "at least", limit);
}

/* ---- the variants ---- */

static size_t drain(int fd)
{
	char part[65536];
	size_t all = 0;
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0)
		all += (size_t)n;
	close(fd);
	return all;
}

static void must_end(pid_t pid, const char *what)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		die("%s failed", what);
}

/* The limit: nothing but the program. */
static double by_vfork(char *const *argv)
{
	double began = now_us();
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pid = vfork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execve(argv[0], argv, environ);
		_exit(127);
	}
	close(ends[1]);
	drain(ends[0]);
	must_end(pid, argv[0]);
	return now_us() - began;
}

static double by_posix_spawn(char *const *argv)
{
	double began = now_us();
	posix_spawn_file_actions_t actions;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		die("posix_spawn");
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	drain(ends[0]);
	must_end(pid, argv[0]);
	return now_us() - began;
}

static double by_bwrap(char *const *argv)
{
	char *all[16] = {"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/",   "/",
			 "--proc",         "/proc",         "--dev",     "/dev"};
	size_t n = 9;

	while (*argv)
		all[n++] = *argv++;
	return by_vfork(all);
}

static hcp_runtime *open_root(const char *name)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	char root[512], state[512];
	hcp_runtime *rt;

	snprintf(root, sizeof(root), "%s/%s", top, name);
	snprintf(state, sizeof(state), "%s/%s.state", top, name);
	if (hcp_options_root(o, root) || hcp_options_state(o, state) || hcp_open(o, &rt, &err))
		die("%s: %s", root, err.text);
	hcp_options_free(o);
	return rt;
}

static double by_hcp(hcp_runtime *rt, const char *envelope)
{
	hcp_result *res = NULL;
	double began = now_us(), took;

	if (hcp_exec(rt, NULL, hcp_str_from(envelope), &res) != HCP_OK)
		die("hcp_exec");
	took = now_us() - began;
	if (!hcp_result_ok(res))
		die("%s", hcp_result_json(res).data);
	hcp_result_free(res);
	return took;
}

#define ENVELOPE(verb) "{\"pack_id\":\"bench\",\"verb_key\":\"" verb "\"}"

#define LARGE "{\"pack_id\":\"large\",\"verb_key\":\"big\"}"

static size_t rounds(size_t n)
{
	double wanted = (double)n * effort;

	return wanted < 11 ? 11 : wanted > SAMPLES_MAX ? SAMPLES_MAX : (size_t)wanted;
}

/* ---- the rows ---- */

static char tiny[512];

static double least_of(struct series *a, struct series *b)
{
	return median(a) < median(b) ? median(a) : median(b);
}

static void wraps(const char *name, char *const *argv, const char *envelope, double most,
		  double least)
{
	struct series limit = {.name = "vfork and execve"}, spawn = {.name = "posix_spawn"};
	static struct series bwrap, ours;
	hcp_runtime *rt = open_root("root");

	bwrap = (struct series){.name = "bwrap --unshare-all"};
	ours = (struct series){.name = "hcp_exec, tier strong"};
	begin_row(name);
	for (int i = 0; i < 5; i++)
		by_hcp(rt, envelope);
	/* each begins as often after each other: what one leaves to the kernel costs the next
	 */
	for (size_t i = 0; i < rounds(1000); i++)
		for (size_t k = 0; k < 4; k++)
			switch ((i % 4 + k * (i / 4 % 2 ? 3 : 1)) % 4) {
			case 0:
				add(&limit, by_vfork(argv));
				break;
			case 1:
				add(&ours, by_hcp(rt, envelope));
				break;
			case 2:
				add(&spawn, by_posix_spawn(argv));
				break;
			default:
				add(&bwrap, by_bwrap(argv));
			}
	tell_series(&limit);
	tell_series(&spawn);
	tell_series(&bwrap);
	tell_series(&ours);
	goal("of the least of the limits", median(&ours) / least_of(&limit, &spawn), true,
	     most);
	goal("p99, of twice the limit's and 0.6 ms",
	     quantile(&ours, 0.99) / (2 * quantile(&limit, 0.99) + 600), true, 1);
	goal("bwrap's time, in ours", median(&bwrap) / median(&ours), false, least);
	hcp_close(rt);
}

static void wrap_tiny(void)
{
	wraps("wrapped runs, a program that does nothing", (char *[]){tiny, NULL},
	      ENVELOPE("tiny"), 3, 8);
}

static void wrap_echo(void)
{
	wraps("wrapped runs, /bin/echo", (char *[]){"/bin/echo", "x", NULL}, ENVELOPE("echo"),
	      1.35, 3);
}

/* --first: one run of a new process, its time on stdout. */
static int first_run(void)
{
	hcp_runtime *rt = open_root("root");

	printf("%.3f\n", by_hcp(rt, ENVELOPE("tiny")));
	hcp_close(rt);
	return 0;
}

static double of_new_process(void)
{
	char line[512], text[64] = "";
	FILE *f;

	snprintf(line, sizeof(line), "'%s' --first '%s'", self, top);
	f = popen(line, "r");
	if (!f || !fgets(text, sizeof(text), f) || pclose(f) != 0)
		die("%s", line);
	return atof(text);
}

static void cold(void)
{
	struct series limit = {.name = "vfork and execve"},
		      bwrap = {.name = "bwrap --unshare-all"};
	static struct series first, program;
	char root[512], state[512];
	char *argv[] = {tiny, NULL};
	char *all[] = {(char *)(uintptr_t)hcp,
		       "--root",
		       root,
		       "--state",
		       state,
		       "exec",
		       "bench",
		       "tiny",
		       NULL};

	first = (struct series){.name = "first hcp_exec of a process"};
	program = (struct series){.name = "hcp exec, the whole program"};
	snprintf(root, sizeof(root), "%s/root", top);
	snprintf(state, sizeof(state), "%s/root.state", top);
	begin_row("cold");
	for (size_t i = 0; i < rounds(200); i++) {
		add(&limit, by_vfork(argv));
		add(&first, of_new_process());
		add(&bwrap, by_bwrap(argv));
		add(&program, by_vfork(all));
	}
	tell_series(&limit);
	tell_series(&bwrap);
	tell_series(&first);
	tell_series(&program);
	goal("first run, of the limit", median(&first) / median(&limit), true, 8);
	goal("bwrap's time, in first runs", median(&bwrap) / median(&first), false, 3);
	goal("hcp exec, of bwrap's time", median(&program) / median(&bwrap), true, 1);
}

static void *many(void *rt)
{
	for (size_t i = 0; i < rounds(100); i++)
		by_hcp(rt, ENVELOPE("tiny"));
	return NULL;
}

static void threads(void)
{
	static struct series one, two;
	hcp_runtime *rt = open_root("root");
	double n = (double)rounds(100), began;
	pthread_t t[2];

	one = (struct series){.name = "one thread, a run"};
	two = (struct series){.name = "two threads, a run"};
	begin_row("threads of one host");
	many(rt);
	for (int k = 0; k < 11; k++) {
		began = now_us();
		many(rt);
		add(&one, (now_us() - began) / n);
		began = now_us();
		for (int i = 0; i < 2; i++)
			if (pthread_create(&t[i], NULL, many, rt) != 0)
				die("pthread_create");
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		add(&two, (now_us() - began) / n / 2);
	}
	tell_series(&one);
	tell_series(&two);
	goal("two threads' runs a second, of one's", median(&one) / median(&two), false, 1.6);
	hcp_close(rt);
}

static void host_size(void)
{
	const size_t gigabyte = (size_t)1 << 30;
	static struct series small, large;
	hcp_runtime *rt = open_root("root");
	char *memory;

	small = (struct series){.name = "a small host"};
	large = (struct series){.name = "a host of a gigabyte"};
	begin_row("a host's size");
	many(rt);
	for (int k = 0; k < 7; k++) {
		for (size_t i = 0; i < rounds(50); i++)
			add(&small, by_hcp(rt, ENVELOPE("tiny")));
		memory = mmap(NULL, gigabyte, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory == MAP_FAILED)
			die("a gigabyte of memory is needed");
		for (size_t i = 0; i < rounds(50); i++)
			add(&large, by_hcp(rt, ENVELOPE("tiny")));
		munmap(memory, gigabyte);
	}
	tell_series(&small);
	tell_series(&large);
	goal("a gigabyte, of a small one", median(&large) / median(&small), true, 1.1);
	hcp_close(rt);
}

static void composite(void)
{
	static struct series ours;
	hcp_runtime *rt = open_root("root");

	ours = (struct series){.name = "a composite that gives its args"};
	begin_row("composite");
	for (size_t i = 0; i < rounds(4000); i++)
		add(&ours, by_hcp(rt, ENVELOPE("given")));
	tell_series(&ours);
	goal("median, us", median(&ours), true, 100);
	hcp_close(rt);
}

static void side_by_side(void)
{
	static struct series serial, parallel;
	hcp_runtime *rt = open_root("root");

	serial = (struct series){.name = "ten wraps, one after the other"};
	parallel = (struct series){.name = "ten wraps, exec_all"};
	begin_row("exec_all");
	for (size_t i = 0; i < rounds(60); i++) {
		add(&serial, by_hcp(rt, ENVELOPE("serial")));
		add(&parallel, by_hcp(rt, ENVELOPE("parallel")));
	}
	tell_series(&serial);
	tell_series(&parallel);
	goal("exec_all, times as fast", median(&serial) / median(&parallel), false, 1.6);
	hcp_close(rt);
}

static void pack_count(void)
{
	static struct series few, lots;
	hcp_runtime *rt = open_root("root"), *full = open_root("full");

	few = (struct series){.name = "a root with one pack"};
	lots = (struct series){.name = "a root with 10,000"};
	begin_row("packs");
	for (size_t i = 0; i < rounds(2000); i++) {
		add(&few, by_hcp(rt, ENVELOPE("given")));
		add(&lots, by_hcp(full, ENVELOPE("given")));
	}
	tell_series(&few);
	tell_series(&lots);
	goal("10,000, of one", median(&lots) / median(&few), true, 1.1);
	hcp_close(rt);
	hcp_close(full);
}

#define WRITERS 32

static void records(void)
{
	char path[512], line[400];
	double began, raw, ours;
	size_t each = rounds(100) / 2, n = rounds(1000);
	pid_t pids[WRITERS];
	int fd;

	begin_row("records, sync: always");
	snprintf(path, sizeof(path), "%s/raw", top);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	memset(line, 'x', sizeof(line));
	began = now_us();
	for (size_t i = 0; i < n; i++)
		if (write(fd, line, sizeof(line)) < 0 || fdatasync(fd) < 0)
			die("%s", path);
	raw = (double)n / (now_us() - began) * 1e6;
	close(fd);
	fflush(NULL);
	began = now_us();
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			hcp_runtime *rt = open_root("synced");

			for (size_t k = 0; k < each; k++)
				by_hcp(rt, ENVELOPE("given"));
			_exit(0);
		}
	}
	for (int i = 0; i < WRITERS; i++)
		must_end(pids[i], "a writer");
	ours = (double)(2 * each * WRITERS) / (now_us() - began) * 1e6;
	tell("write and fdatasync alone", raw, "a second");
	tell("records of 32 processes", ours, "a second");
	goal("records, of plain fdatasyncs", ours / raw, false, 1.5);
}

static long status_kib(pid_t pid, const char *key)
{
	char path[64], text[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(text, sizeof(text), f))
		if (strncmp(text, key, strlen(key)) == 0)
			kib = atol(text + strlen(key));
	if (f)
		fclose(f);
	return kib;
}

static void idle_server(void)
{
	char root[512], state[512], answer[4096];
	const char envelope[] = ENVELOPE("given") "\n";
	int in[2], out[2];
	pid_t pid;

	snprintf(root, sizeof(root), "%s/thousand", top);
	snprintf(state, sizeof(state), "%s/thousand.state", top);
	begin_row("an idle hcp serve with 1,000 packs");
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	pid = vfork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(hcp, hcp, "--root", root, "--state", state, "serve", "--stdio", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	/* one answer: it has started */
	if (write(in[1], envelope, sizeof(envelope) - 1) < 0 ||
	    read(out[0], answer, sizeof(answer)) <= 0)
		die("hcp serve doesn't answer");
	tell("resident", (double)status_kib(pid, "VmRSS:"), "KiB");
	tell("of that its own", (double)status_kib(pid, "RssAnon:"), "KiB");
	goal("resident, MiB", (double)status_kib(pid, "VmRSS:") / 1024, true, 12);
	close(in[1]);
	drain(out[0]);
	must_end(pid, "hcp serve");
}

/* Reads what `cat` prints and parses it once. */
static double by_reading(char *const *argv, size_t room)
{
	double began = now_us();
	char *text = malloc(room);
	size_t len = 0;
	int ends[2];
	json_t *value;
	ssize_t n;
	pid_t pid;

	if (!text || pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pid = vfork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execve(argv[0], argv, environ);
		_exit(127);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + len, room - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	must_end(pid, argv[0]);
	value = json_loadb(text, len, 0, NULL);
	if (!value)
		die("what %s printed is no JSON", argv[0]);
	json_decref(value);
	free(text);
	return now_us() - began;
}

static void much_output(void)
{
	static struct series plain, ours;
	char path[512];
	char *argv[] = {"/bin/cat", path, NULL};
	hcp_runtime *rt = open_root("root");
	long before, peak;

	snprintf(path, sizeof(path), "%s/root/packs/large/big.json", top);
	plain = (struct series){.name = "reading the pipe, json_loadb once"};
	ours = (struct series){.name = "hcp_exec"};
	begin_row("8 MiB of JSON on stdout");
	before = status_kib(getpid(), "VmHWM:");
	by_hcp(rt, LARGE);
	peak = status_kib(getpid(), "VmHWM:") - before;
	for (size_t i = 0; i < rounds(20); i++) {
		add(&plain, by_reading(argv, 9u << 20));
		add(&ours, by_hcp(rt, LARGE));
	}
	tell_series(&plain);
	tell_series(&ours);
	tell("memory at most", (double)peak, "KiB");
	goal("time, of reading and parsing", median(&ours) / median(&plain), true, 1.5);
	goal("memory, of the text", (double)peak / 8192, true, 3);
	hcp_close(rt);
}

static const struct {
	const char *name;
	void (*run)(void);
} rows[] = {{"output", much_output}, /* first: a peak of memory is the process's */
	    {"tiny", wrap_tiny},        {"echo", wrap_echo},   {"cold", cold},
	    {"threads", threads},       {"size", host_size},   {"composite", composite},
	    {"exec_all", side_by_side}, {"packs", pack_count}, {"records", records},
	    {"serve", idle_server}};
#define COUNT (sizeof(rows) / sizeof(rows[0]))

static void run_row(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(rows[i].name, name) == 0) {
			rows[i].run();
			return;
		}
	fputs("bench: the rows are", stderr);
	for (size_t i = 0; i < COUNT; i++)
		fprintf(stderr, " %s", rows[i].name);
	fputc('\n', stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	bool chosen = false;

	self = argv[0];
	if (argc == 3 && strcmp(argv[1], "--first") == 0) {
		top = argv[2];
		return first_run();
	}
	if (argc < 3)
		die("run bench/run instead");
	top = argv[1];
	hcp = argv[2];
	snprintf(tiny, sizeof(tiny), "%s/root/packs/bench/bin/tiny", top);
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			report = json_array();
		else if (strcmp(argv[i], "--quick") == 0)
			effort = 0.1;
	}
	for (int i = 3; i < argc; i++)
		if (argv[i][0] != '-') {
			chosen = true;
			run_row(argv[i]);
		}
	for (size_t i = 0; !chosen && i < COUNT; i++)
		rows[i].run();
	if (report)
		json_dumpf(report, stdout, JSON_INDENT(2));
	putchar('\n');
	return 0;
}
