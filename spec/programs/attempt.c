/* SPDX-License-Identifier: MIT */
/* System calls that a sandboxed program shall not get through with, and some that it must. Each
 * is made with arguments that a kernel without a sandbox takes, where that harms nobody, and in
 * a process of its own; a line of the output is its name and how it ended: "done", the error's
 * name, or a signal. Run bare it shows what the calls are without a sandbox, so nothing here
 * may change the host. */
#include "attempt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

long result(long r)
{
	return r < 0 ? -errno : r;
}

static const struct attempt *const tables[] = {
    attempt_mounts, attempt_processes, attempt_kernel, attempt_sockets, attempt_ordinary};

static void tell(const char *name, int status, long value)
{
	const char *error = value < 0 ? strerrorname_np((int)-value) : "done";

	if (WIFSIGNALED(status))
		printf("%s\tsignal %d\n", name, WTERMSIG(status));
	else
		printf("%s\t%s\n", name, error ? error : "unknown");
	fflush(stdout);
}

static int make(const struct attempt *a)
{
	int ends[2], status = 0;
	long value = -EPROTO; /* the process went without a word */
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		value = a->run(a->number);
		_exit(write(ends[1], &value, sizeof(value)) != sizeof(value));
	}
	close(ends[1]);
	if (read(ends[0], &value, sizeof(value)) < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	close(ends[0]);
	tell(a->name, status, value);
	return 0;
}

int main(void)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			if (make(a) < 0) {
				perror(a->name);
				return 1;
			}
	return 0;
}
