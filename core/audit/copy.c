/* SPDX-License-Identifier: MIT */
/* A copy of each record for the system's log, as it was written to ours. It is a convenience
 * for whoever collects: it decides nothing, delays nothing, and no run depends on it. syslog(3)
 * is of no use here, since its connection is the host's. */
#include "audit/place.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define AUTHPRIV (10 << 3)
#define WARNING  4
#define INFO     6

static int connect_copy(struct audit *a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	AUTO_FD fd =
	    fd_above_stdio(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", a->copy_path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	a->copy_fd = fd_steal(&fd);
	return 0;
}

/* Whoever listens may have begun anew since the last one: then once more. */
static int send_copy(struct audit *a, const char *text, size_t len)
{
	for (int tries = 0; tries < 2; tries++) {
		if (a->copy_fd < 0 && connect_copy(a) < 0)
			return -1;
		if (send(a->copy_fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno == EAGAIN || errno == EMSGSIZE)
			return -1;
		fd_close(&a->copy_fd);
	}
	return -1;
}

void place_copy(struct audit *a, const char *line, size_t len)
{
	static const char deny[] = "\"kind\":\"deny\"";
	AUTO_BUF text = {0};
	bool refused;

	if (!a->copy_path)
		return;
	refused = memmem(line, len, deny, sizeof(deny) - 1) != NULL;
	buf_printf(&text, "<%d>hcp[%ld]: ", AUTHPRIV | (refused ? WARNING : INFO),
		   (long)getpid());
	buf_add(&text, line, len > 0 ? len - 1 : 0);
	if (text.failed)
		atomic_store(&a->copy_error, ENOMEM);
	else if (send_copy(a, text.data, text.len) < 0)
		atomic_store(&a->copy_error, errno);
}

int audit_copy_error(struct audit *a)
{
	return atomic_exchange(&a->copy_error, 0);
}
