/* SPDX-License-Identifier: MIT */
/* The socket of `hcp serve --socket`: its file is there for its owner alone, and nothing but a
 * stale one of our own makes room for it. */
#include "face/serve.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int make(void)
{
	return fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* flock(2) has no time-out. */
static int lock(int fd, const char *folder, struct hcp_err *err)
{
	const struct timespec nap = {0, 10 * 1000 * 1000};

	for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return hcp_fail_errno(err, "%s: flock", folder);
		if (tries >= SERVE_LOCK_MS / 10)
			return hcp_fail(err, HCP_E_CONFIG,
					"%s: somebody holds a lock on it: name a socket in a "
					"folder of your own",
					folder);
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* Held while the socket's file is judged, removed and made anew: between two of these another
 * server's could take the place of the stale one. */
static int lock_folder(const struct sockaddr_un *at, struct hcp_err *err)
{
	char folder[sizeof(at->sun_path)];
	char *slash;
	AUTO_FD fd = -1;

	memcpy(folder, at->sun_path, sizeof(folder));
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	else
		strcpy(folder, ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return hcp_fail_errno(err, "%s", folder);
	return lock(fd, folder, err) < 0 ? -1 : fd_steal(&fd);
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

/* From here to listen(2) nobody else takes it for stale. */
static int make_at(const struct sockaddr_un *at, struct hcp_err *err)
{
	AUTO_FD fd = make();
	mode_t before;
	int rc;

	if (fd < 0)
		return hcp_fail_errno(err, "socket");
	before = umask(0177);
	rc = bind(fd, (const struct sockaddr *)at, sizeof(*at));
	umask(before);
	if (rc < 0 || listen(fd, SERVE_CLIENTS) < 0)
		return hcp_fail_errno(err, "%s", at->sun_path);
	return fd_steal(&fd);
}

int serve_listen(const char *path, struct hcp_err *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_FD folder = -1;

	if (strlen(path) >= sizeof(at.sun_path) || !*path)
		return hcp_fail(err, HCP_E_CONFIG, "a socket's path has 1 to %zu bytes",
				sizeof(at.sun_path) - 1);
	strcpy(at.sun_path, path);
	folder = lock_folder(&at, err);
	if (folder < 0 || remove_stale(&at, err) < 0)
		return -1;
	return make_at(&at, err);
}

void serve_unlink(const char *path, int fd)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_FD probe = make(), folder = -1;

	/* once ours is closed, somebody who listens there is another server */
	fd_close(&fd);
	if (probe < 0 || strlen(path) >= sizeof(at.sun_path))
		return;
	strcpy(at.sun_path, path);
	folder = lock_folder(&at, NULL);
	if (folder < 0)
		return; /* stale, it is in nobody's way */
	if (connect(probe, (const struct sockaddr *)&at, sizeof(at)) < 0 &&
	    errno == ECONNREFUSED)
		unlink(path);
}
