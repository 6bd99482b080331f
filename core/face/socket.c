/* SPDX-License-Identifier: MIT */
/* The socket of `hcp serve --socket`: its file is there for its owner alone, and nothing but a
 * stale one of our own makes room for it. */
#include "face/serve.h"

#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int make(void)
{
	return fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* Nobody listens any more where a connection is refused. */
static int remove_stale(const struct sockaddr_un *at, struct hcp_err *err)
{
	AUTO_FD fd = make();
	struct stat st;

	if (lstat(at->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : hcp_fail_errno(err, "%s", at->sun_path);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return hcp_fail(err, HCP_E_CONFIG,
				"%s is there already and is no socket of this user: remove it "
				"or name another",
				at->sun_path);
	if (fd < 0)
		return hcp_fail_errno(err, "socket");
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno != ECONNREFUSED)
		return hcp_fail(err, HCP_E_CONFIG, "%s: somebody listens there already",
				at->sun_path);
	return unlink(at->sun_path) < 0 ? hcp_fail_errno(err, "%s", at->sun_path) : 0;
}

int serve_listen(const char *path, struct hcp_err *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_FD fd = -1;
	mode_t before;
	int rc;

	if (strlen(path) >= sizeof(at.sun_path) || !*path)
		return hcp_fail(err, HCP_E_CONFIG, "a socket's path has 1 to %zu bytes",
				sizeof(at.sun_path) - 1);
	strcpy(at.sun_path, path);
	if (remove_stale(&at, err) < 0)
		return -1;
	fd = make();
	if (fd < 0)
		return hcp_fail_errno(err, "socket");
	before = umask(0177);
	rc = bind(fd, (const struct sockaddr *)&at, sizeof(at));
	umask(before);
	if (rc < 0 || listen(fd, SERVE_CLIENTS) < 0)
		return hcp_fail_errno(err, "%s", path);
	return fd_steal(&fd);
}

void serve_unlink(const char *path, int fd)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_FD probe = make();

	/* once ours is closed, somebody who listens there is another server */
	fd_close(&fd);
	if (probe < 0 || strlen(path) >= sizeof(at.sun_path))
		return;
	strcpy(at.sun_path, path);
	if (connect(probe, (const struct sockaddr *)&at, sizeof(at)) < 0 &&
	    errno == ECONNREFUSED)
		unlink(path);
}
