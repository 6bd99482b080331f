/* SPDX-License-Identifier: MIT */
/* The other end of a stage: this process built a root, gives its namespaces away by descriptor,
 * and ends. No program was started, and nobody is left in them. */
#include "box/init/init.h"

#include <fcntl.h>
#include <sys/socket.h>

#define NAMESPACES 3

static int open_namespace(const struct box_init *s, const char *path)
{
	return (int)need(BOX_LAYER_SPAWN, sys_open(s->ns_fd, path, O_RDONLY | O_CLOEXEC, 0),
			 path);
}

_Noreturn void make_stage(struct box_init *s)
{
	union {
		char room[CMSG_SPACE(NAMESPACES * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct box_report r = {.what = BOX_REPORT_STARTED};
	struct iovec v = {&r, sizeof(r)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control.room};
	struct cmsghdr *c = &control.align;
	int *fds = (int *)(void *)CMSG_DATA(c), n = 0;

	fds[n++] = open_namespace(s, "mnt");
	if (s->plan->own_net)
		fds[n++] = open_namespace(s, "net");
	if (s->plan->user_first)
		fds[n++] = open_namespace(s, "user");
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
	need(BOX_LAYER_SPAWN, sys3(SYS_sendmsg, BOX_FD_STAGE, SYS_PTR(&m), 0), "sendmsg");
	leave();
}
