/* SPDX-License-Identifier: MIT */
/* A host that makes a copy of itself, without an exec, while a command runs, and is killed: the
 * copy inherits every descriptor, and lives on. `copied ROOT STATE SHARED MARK`: SHARED/pid is
 * the copy's, SHARED/answer what a command of its own gave it. */
#include "hcp.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *shared;
static hcp_runtime *rt;

static char *path(const char *name)
{
	char text[512];

	snprintf(text, sizeof(text), "%s/%s", shared, name);
	return strdup(text);
}

static void put(const char *name, const char *text)
{
	char *fresh = path("new"), *file = path(name);
	FILE *f = fopen(fresh, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0 || rename(fresh, file) < 0)
		_exit(3);
	free(fresh);
	free(file);
}

static hcp_result *run(const char *script, const char *mark)
{
	char text[1024];
	hcp_result *r = NULL;

	snprintf(text, sizeof(text),
		 "{\"pack_id\":\"life\",\"verb_key\":\"run\",\"args\":{\"mark\":\"%s\","
		 "\"script\":\"%s\"}}",
		 mark, script);
	if (hcp_exec(rt, NULL, hcp_str_from(text), &r) != HCP_OK)
		_exit(4);
	return r;
}

static void *until_killed(void *mark)
{
	char script[512];

	snprintf(script, sizeof(script),
		 "(setsid sh -c 'sleep 600; :' $1 &) & : >%s/up; sleep 600; :", shared);
	run(script, mark);
	_exit(5); /* it ended by itself */
}

static void live_on(void)
{
	char pid[16];
	hcp_result *r = run("echo hi", "x");

	put("answer", hcp_result_json(r).data);
	hcp_result_free(r);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	put("pid", pid);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	hcp_options *o = hcp_options_new();
	hcp_error err = {.size = sizeof(err)};
	char *up, mark[64];
	pthread_t t;

	if (argc != 5 || !o || hcp_options_root(o, argv[1]) || hcp_options_state(o, argv[2]) ||
	    hcp_open(o, &rt, &err))
		return 2;
	hcp_options_free(o);
	shared = argv[3];
	snprintf(mark, sizeof(mark), "%s", argv[4]);
	memset(argv[4], 'x', strlen(argv[4])); /* only the run's processes show it */
	up = path("up");
	if (pthread_create(&t, NULL, until_killed, mark) != 0)
		return 2;
	while (access(up, F_OK) < 0)
		usleep(1000);
	if (fork() == 0)
		live_on();
	free(up);
	up = path("pid");
	while (access(up, F_OK) < 0)
		usleep(1000);
	kill(getpid(), SIGKILL);
	return 1;
}
