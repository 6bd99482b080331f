/* SPDX-License-Identifier: MIT */
/* Programs that embed the library and lead lives of their own: `host KIND ROOT STATE SHARED`
 * runs commands of the pack "life" as a host of that kind, and says "ok" when they went as they
 * would anywhere and the host saw nothing of it. SHARED is a folder that host and sandboxed
 * programs can write: a file in it is a sign that a program runs. */
#include "hcp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIGABYTE (1ul << 30)
#define PAGE     4096ul

static const char *root, *state, *shared;
static const char *mark; /* stands in the argv of every program that could be left */
static int voice = -1;   /* standard output, wherever a host puts it */
static hcp_runtime *rt;

static _Noreturn void fail(const char *what, const char *more)
{
	dprintf(voice, "%s: %s\n", what, more);
	_exit(1);
}

static void open_runtime(void)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};

	if (!o || hcp_options_root(o, root) || hcp_options_state(o, state) ||
	    hcp_open(o, &rt, &err))
		fail("hcp_open", err.text);
	hcp_options_free(o);
}

static hcp_result *run(const char *script, hcp_call *call)
{
	char text[2048];
	hcp_result *r = NULL;

	snprintf(text, sizeof(text),
		 "{\"pack_id\":\"life\",\"verb_key\":\"run\",\"args\":{\"mark\":\"%s\","
		 "\"script\":\"%s\"}}",
		 mark, script);
	if (hcp_exec(rt, call, hcp_str_from(text), &r) != HCP_OK)
		fail("hcp_exec", script);
	return r;
}

static void expect(const char *script, const char *value)
{
	hcp_result *r = run(script, NULL);

	if (!hcp_result_ok(r) || strcmp(hcp_result_value(r).data, value) != 0)
		fail(script, hcp_result_json(r).data);
	hcp_result_free(r);
}

static void expect_error(const char *script, hcp_call *call, const char *error)
{
	hcp_result *r = run(script, call);

	if (hcp_result_ok(r) || strcmp(hcp_result_error(r).data, error) != 0)
		fail(script, hcp_result_json(r).data);
	hcp_result_free(r);
}

static void a_few(void)
{
	expect("echo hi", "\"hi\\n\"");
	expect("grep -cE 'Sig(Blk|Ign):.0000000000000000' /proc/self/status", "\"2\\n\"");
	expect_error("exit 7", NULL, "exit 7");
	expect_error("kill -9 $$", NULL, "sandbox: killed by signal 9");
}

static pthread_t begin(void *(*f)(void *), void *data)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, data) != 0)
		fail("pthread_create", "");
	return t;
}

static int signs(void)
{
	DIR *d = opendir(shared);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* ---- threads ---- */

static void *whole(void *unused)
{
	a_few();
	return unused;
}

static void *last_words(void *unused)
{
	a_few();
	dprintf(voice, "ok\n");
	_exit(0);
	return unused;
}

/* Starts the thread that runs commands, and ends at once. */
static void *go_between(void *runner)
{
	*(pthread_t *)runner = begin(whole, NULL);
	return NULL;
}

static void brief_thread(void)
{
	pthread_t runner;

	for (int i = 0; i < 10; i++) {
		pthread_join(begin(go_between, &runner), NULL);
		pthread_join(runner, NULL);
		pthread_join(begin(whole, NULL), NULL);
	}
}

static void no_main_thread(void)
{
	begin(last_words, NULL);
	pthread_exit(NULL);
}

static void *eight(void *unused)
{
	for (int i = 0; i < 8; i++)
		expect("echo hi", "\"hi\\n\"");
	return unused;
}

/* None ends before the last one runs. */
static void *until_all(void *unused)
{
	char script[256];

	snprintf(
	    script, sizeof(script),
	    ": >%s/$HCP_RUN_ID; until [ $(ls %s | wc -l) = 64 ]; do sleep 0.1; done; echo hi",
	    shared, shared);
	expect(script, "\"hi\\n\"");
	return unused;
}

static void many_threads(void)
{
	pthread_t t[64];

	for (int i = 0; i < 8; i++)
		t[i] = begin(eight, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 64; i++)
		t[i] = begin(until_all, NULL);
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
}

/* ---- memory ---- */

static void *until_told(void *unused)
{
	char script[256];

	snprintf(script, sizeof(script),
		 ": >%s/a; until [ -e %s/b ]; do sleep 0.02; done; echo hi", shared, shared);
	expect(script, "\"hi\\n\"");
	return unused;
}

static void sign(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", shared, name);
	fd = open(path, O_CREAT | O_WRONLY, 0666);
	if (fd < 0)
		fail(path, strerror(errno));
	close(fd);
}

/* Had the host been copied, each of its pages would be copied once more when it is written
 * while the run goes on. */
static void big_host(void)
{
	volatile char *big = malloc(GIGABYTE);
	struct rusage before, after;
	pthread_t t;

	if (!big)
		fail("malloc", "");
	for (size_t i = 0; i < GIGABYTE; i += PAGE)
		big[i] = 1;
	t = begin(until_told, NULL);
	while (signs() == 0)
		usleep(1000);
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < GIGABYTE; i += PAGE)
		big[i] = 2;
	getrusage(RUSAGE_SELF, &after);
	sign("b");
	pthread_join(t, NULL);
	if (after.ru_minflt - before.ru_minflt > (long)(GIGABYTE / PAGE / 16))
		fail("host", "its memory was copied");
	free((char *)(uintptr_t)big);
}

/* ---- children and signals ---- */

static volatile sig_atomic_t noticed, alarms;

static void notice(int sig)
{
	if (sig == SIGCHLD)
		noticed++;
	else
		alarms++;
}

static void handle(int sig, void (*f)(int))
{
	struct sigaction a = {.sa_handler = f};

	if (sigaction(sig, &a, NULL) < 0)
		fail("sigaction", strerror(errno));
}

static void ignores_children(void)
{
	handle(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 10; i++)
		a_few();
}

static volatile int reaping = 1;

static void *reap(void *unused)
{
	while (reaping)
		if (waitpid(-1, NULL, 0) > 0)
			noticed++;
	return unused;
}

static void reaps_all(void)
{
	pthread_t t;

	handle(SIGCHLD, notice);
	t = begin(reap, NULL);
	for (int i = 0; i < 25; i++)
		a_few();
	reaping = 0;
	pthread_join(t, NULL);
	if (noticed)
		fail("host", "it met a child that isn't its own");
}

/* As a container's first process is: the inits fall to it, and it takes what is its own. */
static void is_subreaper(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (int i = 0; i < 10; i++)
		a_few();
	if (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD)
		fail("host", "a child was left to it");
}

static void has_alarms(void)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	handle(SIGALRM, notice);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 10; i++)
		a_few();
	setitimer(ITIMER_REAL, &never, NULL);
	if (!alarms)
		fail("host", "no alarm came");
}

static void blocks_signals(void)
{
	sigset_t all, now;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	a_few();
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sigismember(&now, sig) != 1)
			fail("host", "its signal mask changed");
}

/* ---- descriptors ---- */

static void closed_stdio(void)
{
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	hcp_close(rt);
	open_runtime();
	for (int i = 0; i < 5; i++)
		a_few();
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fail("host", "a standard descriptor was taken");
}

static void few_descriptors(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	for (int fd = 1030; fd < 1040; fd++)
		if (dup2(voice, fd) < 0)
			fail("dup2", strerror(errno));
	for (int n = 0; n < 8; n++)
		if (dup(voice) < 0)
			fail("dup", strerror(errno));
	l.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &l);
	a_few();
	expect("ls -x /proc/self/fd", "\"0  1  2  3\\n\""); /* the last is ls's own */
}

static bool says_hi(void)
{
	char text[512];
	hcp_result *r = NULL;
	bool yes;

	snprintf(text, sizeof(text),
		 "{\"pack_id\":\"life\",\"verb_key\":\"run\",\"args\":{\"mark\":\"%s\","
		 "\"script\":\"echo hi\"}}",
		 mark);
	yes = hcp_exec(rt, NULL, hcp_str_from(text), &r) == HCP_OK && hcp_result_ok(r);
	hcp_result_free(r);
	return yes;
}

/* With as many descriptors as one run needs there is no less room for the next ones. */
static void little_room(void)
{
	struct rlimit l;

	sleep(4); /* until the pack has been as it is for a while */
	getrlimit(RLIMIT_NOFILE, &l);
	for (l.rlim_cur = 8; l.rlim_cur < 128; l.rlim_cur++) {
		setrlimit(RLIMIT_NOFILE, &l);
		if (says_hi())
			break;
	}
	for (int i = 0; i < 8; i++)
		expect("echo hi", "\"hi\\n\"");
}

/* What a library keeps open isn't a host's to close; one that does has no jail less for it. */
static int each_stage(int instead)
{
	char path[64], to[64];
	ssize_t n;
	int count = 0;

	for (int fd = 3; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (fd == instead || strncmp(to, "mnt:[", 5) != 0)
			continue;
		count++;
		if (instead < 0)
			close(fd);
		else
			dup2(instead, fd);
	}
	return count;
}

static void closes_stages(void)
{
	int own = open("/proc/self/ns/mnt", O_RDONLY), count = 0;

	/* they go when somebody mounts something on this machine meanwhile */
	for (int i = 0; i < 20 && !count; i++) {
		a_few();
		count = each_stage(own);
	}
	if (count != 1)
		fail("host", "there is no stage");
	a_few();
	expect("ls -d /root /home 2>/dev/null; true", "\"\"");
	for (int i = 0; i < 3; i++)
		a_few();
	close(own);
	each_stage(-1);
	a_few();
}

/* ---- what is left ---- */

/* A program that gets away from its parents and their session. */
#define LEAVE "(setsid sh -c 'sleep 600; :' $1 &) & "

static void *cancel(void *call)
{
	while (signs() == 0)
		usleep(1000);
	hcp_call_cancel(call);
	return NULL;
}

static void clear(void)
{
	DIR *d = opendir(shared);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static void cancelled(void)
{
	hcp_call *call = hcp_call_new(rt);
	char script[256];
	pthread_t t = begin(cancel, call);

	snprintf(script, sizeof(script), LEAVE ": >%s/a; sleep 600", shared);
	expect_error(script, call, "sandbox: cancelled");
	pthread_join(t, NULL);
	hcp_call_free(call);
	clear();
}

static void late(void)
{
	hcp_call *call = hcp_call_new(rt);

	hcp_call_deadline_ms(call, 250); /* steps 1 to 7 take some of it, on slow machines */
	expect_error(LEAVE "sleep 600", call, "sandbox: timeout after 250ms");
	hcp_call_free(call);
}

static void killed(void)
{
	expect_error(LEAVE "kill -9 $$", NULL, "sandbox: killed by signal 9");
}

/* The names in a folder of /proc, or a file's text. */
static char *picture(const char *path)
{
	static char room[65536];
	FILE *f;
	size_t n = 0;
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		n += (size_t)snprintf(room + n, sizeof(room) - n, "%s ", e->d_name);
	if (d) {
		closedir(d);
	} else {
		f = fopen(path, "r");
		n = f ? fread(room, 1, sizeof(room) - 1, f) : 0;
		if (f)
			fclose(f);
	}
	room[n] = '\0';
	return strdup(room);
}

static void same(const char *path, char *before)
{
	char *after = picture(path);

	if (strcmp(before, after) != 0)
		fail(path, after);
	free(before);
	free(after);
}

static void three_hundred(void)
{
	void (*const ends[])(void) = {cancelled, late, killed};
	char *fds, *mounts, *tasks;

	/* what a runtime keeps is there once its pack has been as it is for a while */
	sleep(4);
	a_few();
	fds = picture("/proc/self/fd");
	mounts = picture("/proc/self/mountinfo");
	tasks = picture("/proc/self/task");
	for (int i = 0; i < 100; i++) {
		ends[i % 3]();
		expect(LEAVE "echo hi", "\"hi\\n\"");
		expect("echo hi", "\"hi\\n\"");
	}
	same("/proc/self/fd", fds);
	same("/proc/self/mountinfo", mounts);
	same("/proc/self/task", tasks);
	if (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD)
		fail("host", "it has a child");
}

/* ---- the host's own ---- */

static volatile sig_atomic_t children; /* what the handler of SIGCHLD was called for */

static void count_child(int sig)
{
	(void)sig;
	children++;
}

/* What the kernel knows of this thread that a library could change. */
static char *condition(void)
{
	static const char *const lines[] = {
	    "Umask:",  "Uid:",    "Gid:",    "Groups:", "SigPnd:", "SigBlk:", "SigIgn:",
	    "SigCgt:", "ShdPnd:", "CoreDum", "NoNewPr", "Cap",     "Seccomp:"};
	char *all = picture("/proc/self/status"), *kept = calloc(1, strlen(all) + 64),
	     *next = all;
	char *line;

	while ((line = strsep(&next, "\n")))
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			if (strncmp(line, lines[i], strlen(lines[i])) == 0)
				strcat(strcat(kept, line), "\n");
	free(all);
	sprintf(kept + strlen(kept), "dumpable %d, parent's end %d, nice %d\n",
		prctl(PR_GET_DUMPABLE), prctl(PR_GET_CHILD_SUBREAPER, &(int){0}),
		getpriority(PRIO_PROCESS, 0));
	return kept;
}

static void *nothing(void *unused)
{
	return unused;
}

/* All of it other than a program begins with. A first thread comes with a handler of the C
 * library's. */
static void set_up(void)
{
	struct sigaction act = {.sa_handler = count_child, .sa_flags = SA_RESTART};
	struct rlimit core = {0, 0};
	sigset_t some;

	pthread_join(begin(nothing, NULL), NULL);
	sigaction(SIGCHLD, &act, NULL);
	sigaction(SIGPIPE, &act, NULL);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &some, NULL);
	umask(0);
	if (chdir(shared) < 0 || setrlimit(RLIMIT_CORE, &core) < 0 ||
	    setenv("HCP_HOST", "its own", 1) < 0 || !setlocale(LC_ALL, "C.UTF-8"))
		fail("set_up", strerror(errno));
}

/* The environment as the C library has it. */
static char *environment(void)
{
	size_t n = 0;
	char *all;

	for (char **e = environ; *e; e++)
		n += strlen(*e) + 1;
	all = calloc(1, n + 1);
	for (char **e = environ; *e; e++)
		strcat(strcat(all, *e), "\n");
	return all;
}

static void same_text(const char *what, char *before, char *after)
{
	if (strcmp(before, after) != 0)
		fail(what, after);
	free(before);
	free(after);
}

static void untouched(void)
{
	struct sigaction before[65], after;
	char *is, *cwd, *limits, *environ_is, *fds, *speaks;

	set_up();
	is = condition();
	cwd = getcwd(NULL, 0);
	limits = picture("/proc/self/limits");
	environ_is = environment();
	speaks = strdup(setlocale(LC_ALL, NULL));
	for (int sig = 1; sig < 65; sig++)
		sigaction(sig, NULL, &before[sig]);
	a_few(); /* the first opens the log */
	fds = picture("/proc/self/fd");
	a_few();
	cancelled();
	late();
	for (int sig = 1; sig < 65; sig++)
		if (sigaction(sig, NULL, &after) == 0 &&
		    (after.sa_handler != before[sig].sa_handler ||
		     after.sa_flags != before[sig].sa_flags))
			fail("host", "a signal's handler changed");
	if (children != 0)
		fail("host", "a handler of its own was called");
	same_text("condition", is, condition());
	same_text("working directory", cwd, getcwd(NULL, 0));
	same_text("environment", environ_is, environment());
	same_text("locale", speaks, strdup(setlocale(LC_ALL, NULL)));
	same("/proc/self/limits", limits);
	same("/proc/self/fd", fds);
}

/* No more than the limit of a stream is held, whatever is printed. */
static void endless_output(void)
{
	struct rusage before, after;

	a_few();
	getrusage(RUSAGE_SELF, &before);
	expect_error("exec cat /dev/zero", NULL, "sandbox: output over 64K");
	expect_error("exec cat /dev/zero >&2", NULL, "sandbox: output over 64K");
	getrusage(RUSAGE_SELF, &after);
	if (after.ru_maxrss - before.ru_maxrss > 16 * 1024)
		fail("host", "its memory grew with the output");
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"brief-thread", brief_thread},
	     {"no-main-thread", no_main_thread},
	     {"many-threads", many_threads},
	     {"big", big_host},
	     {"ignores-children", ignores_children},
	     {"reaps-all", reaps_all},
	     {"is-subreaper", is_subreaper},
	     {"has-alarms", has_alarms},
	     {"blocks-signals", blocks_signals},
	     {"closed-stdio", closed_stdio},
	     {"few-descriptors", few_descriptors},
	     {"closes-stages", closes_stages},
	     {"little-room", little_room},
	     {"three-hundred", three_hundred},
	     {"untouched", untouched},
	     {"endless-output", endless_output}};

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	root = argv[2];
	state = argv[3];
	shared = argv[4];
	mark = argv[5];
	voice = fcntl(1, F_DUPFD_CLOEXEC, 50);
	open_runtime();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0) {
			kinds[i].run();
			hcp_close(rt);
			dprintf(voice, "ok\n");
			return 0;
		}
	fail(argv[1], "no such host");
}
