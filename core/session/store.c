/* SPDX-License-Identifier: MIT */
/* The files of the sessions. A file that isn't exactly what the writer writes is an error: no
 * part of it is believed. A change happens under the lock, goes to a new file, reaches the disk
 * and takes the old one's place by rename(2); at every moment, and after every crash, a reader
 * finds the old list or the new one. */
#include "session/store.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SESSION_BYTES (64 * 1024) /* of one session's file */
#define LOCK_WAIT_MS  5000
#define LOCK_POLL_NS  (2 * 1000 * 1000)
#define SESSION_FILE  (LIMIT_ID + 8)

/* Names like ".." are legal sessions; a suffix makes each a file name, and keeps the lock's and
 * the new file's names apart from every session's. */
static void name_file(const char *session, const char *suffix, char out[SESSION_FILE])
{
	snprintf(out, SESSION_FILE, "%s%s", session, suffix);
}

static int fail_file(const struct root *root, const char *file, const char *why,
		     struct hcp_err *err)
{
	return hcp_fail(err, HCP_E_CONFIG, "%s/sessions/%s: %s", root->state, file, why);
}

static int check_file(const struct root *root, const char *file, int fd, struct hcp_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s/sessions/%s", root->state, file);
	if (!S_ISREG(st.st_mode))
		return fail_file(root, file, "not a regular file", err);
	if (st.st_uid != geteuid())
		return fail_file(root, file, "belongs to another user", err);
	if (st.st_mode & 077)
		return fail_file(root, file, "is open to others: chmod 600 it", err);
	return 0;
}

/* Lines of ids in strictly rising order; *out points into text, which is cut into strings. */
static const char *split(char *text, size_t len, struct arena *a, struct session_list *out)
{
	size_t lines = 0;
	char *end;

	if (strlen(text) != len || (len && text[len - 1] != '\n'))
		return "is damaged";
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	out->packs = arena_array(a, lines + 1, sizeof(*out->packs));
	if (!out->packs)
		return "out of memory";
	for (char *p = text; *p; p = end + 1) {
		end = strchr(p, '\n');
		*end = '\0';
		if (!name_is_id(p) ||
		    (out->count && strcmp(out->packs[out->count - 1], p) >= 0)) {
			out->count = 0;
			return "is damaged";
		}
		out->packs[out->count++] = p;
	}
	return NULL;
}

int session_store_read(const struct root *root, int dirfd, const char *session, struct arena *a,
		       struct session_list *out, struct hcp_err *err)
{
	char file[SESSION_FILE];
	AUTO_FREE char *text = NULL;
	struct hcp_err why = {0};
	const char *damage;
	AUTO_FD fd = -1;
	size_t len;
	char *kept;

	memset(out, 0, sizeof(*out));
	name_file(session, ".packs", file);
	fd =
	    fd_above_stdio(openat(dirfd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return hcp_fail_errno(err, "%s/sessions/%s", root->state, file);
	if (check_file(root, file, fd, err) < 0)
		return -1;
	if (fd_read_all(fd, SESSION_BYTES, &text, &len, &why) < 0)
		return hcp_fail(err, why.code, "%s/sessions/%s: %s", root->state, file,
				why.text);
	kept = arena_strndup(a, text, len);
	if (!kept)
		return hcp_fail_nomem(err);
	damage = split(kept, len, a, out);
	return damage ? fail_file(root, file, damage, err) : 0;
}

int session_store_find(struct root *root, int *out, struct hcp_err *err)
{
	*out = -1;
	if (root_find_state(root, err) < 0)
		return -1;
	if (root->state_fd < 0)
		return 0;
	*out = fd_above_stdio(openat(root->state_fd, "sessions",
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (*out >= 0 || errno == ENOENT)
		return 0;
	return hcp_fail_errno(err, "%s/sessions", root->state);
}

/* flock(2) knows no time-out, and a stopped process may hold the lock for ever. */
static int wait_for_lock(int fd, struct hcp_err *err)
{
	const struct timespec pause = {0, LOCK_POLL_NS};
	struct timespec start, now;
	int64_t waited;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return hcp_fail_errno(err, "the lock of the sessions");
		clock_gettime(CLOCK_MONOTONIC, &now);
		waited = (now.tv_sec - start.tv_sec) * 1000 +
			 (now.tv_nsec - start.tv_nsec) / 1000000;
		if (waited > LOCK_WAIT_MS)
			return hcp_fail(err, HCP_E_TIMEOUT,
					"the sessions are locked by another process");
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* An flock belongs to the open file description: closing *out gives it back, and threads of one
 * process exclude each other, which fcntl(2) locks wouldn't do. */
int session_store_lock(const struct root *root, int dirfd, int *out, struct hcp_err *err)
{
	AUTO_FD fd = fd_above_stdio(openat(
	    dirfd, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));

	*out = -1;
	if (fd < 0)
		return hcp_fail_errno(err, "%s/sessions/.lock", root->state);
	if (check_file(root, ".lock", fd, err) < 0)
		return -1;
	/* whatever the umask took away when it was made */
	if (fchmod(fd, 0600) < 0)
		return hcp_fail_errno(err, "%s/sessions/.lock", root->state);
	if (wait_for_lock(fd, err) < 0)
		return -1;
	*out = fd_steal(&fd);
	return 0;
}

int session_store_replace(const struct root *root, int dirfd, const char *session,
			  const struct session_list *list, struct hcp_err *err)
{
	char fresh[SESSION_FILE], file[SESSION_FILE];
	struct hcp_err why = {0};
	AUTO_BUF text = {0};

	for (size_t i = 0; i < list->count; i++)
		buf_printf(&text, "%s\n", list->packs[i]);
	if (text.failed)
		return hcp_fail_nomem(err);
	if (text.len > SESSION_BYTES)
		return hcp_fail(err, HCP_E_LIMIT, "too many packs in one session");
	name_file(session, ".new", fresh);
	name_file(session, ".packs", file);
	/* the lock is ours, so nobody else writes it */
	if (fd_write_fresh(dirfd, fresh, 0600, text.data, text.len, &why) == 0 &&
	    renameat(dirfd, fresh, dirfd, file) < 0)
		hcp_fail_errno(&why, "%s", file);
	if (why.code != HCP_E_NONE) {
		unlinkat(dirfd, fresh, 0);
		return hcp_fail(err, why.code, "%s/sessions/%s", root->state, why.text);
	}
	return fsync(dirfd) < 0 ? hcp_fail_errno(err, "%s/sessions", root->state) : 0;
}
