/* SPDX-License-Identifier: MIT */
/* Where there is no process namespace, whose end would be everybody's, the init is the one to
 * whom orphans fall, however often they forked and whatever session they are in: it kills its
 * children, inherits theirs, and goes on until there are none. A tree that forks faster than
 * this kills holds it up; the runtime then kills the init, and what is left is left. */
#include "box/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CHILDREN "/proc/thread-self/children"

void adopt_orphans(struct box_init *s)
{
	need(BOX_LAYER_SUPERVISE, sys5(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
	     "subreaper");
	s->children_fd =
	    (int)need(BOX_LAYER_SUPERVISE,
		      sys_open(AT_FDCWD, CHILDREN, O_RDONLY | O_CLOEXEC, 0), CHILDREN);
}

/* The numbers of a piece of the list; one that is cut off at its end is killed on the next
 * round. */
static void kill_listed(const char *text, long len)
{
	long pid = 0;

	for (long i = 0; i < len; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
			continue;
		}
		if (pid > 0)
			sys2(SYS_kill, pid, SIGKILL);
		pid = 0;
	}
}

void end_tree(const struct box_init *s)
{
	char text[4096];
	long n;

	if (s->kill_fd >= 0)
		sys3(SYS_write, s->kill_fd, SYS_PTR("1"), 1); /* this process, too */
	if (s->children_fd < 0)
		return;
	do {
		n = sys4(SYS_pread64, s->children_fd, SYS_PTR(text), sizeof(text), 0);
		kill_listed(text, n);
		/* one at least has ended, or will; the others that did, too */
		n = sys4(SYS_wait4, -1, 0, __WALL, 0);
		while (n > 0)
			n = sys4(SYS_wait4, -1, 0, WNOHANG | __WALL, 0);
	} while (n != -ECHILD);
}
