/* SPDX-License-Identifier: MIT */
/* What the parts of the wrap adapter share, for core/exec/wrap*.c alone. Each part returns 0,
 * or -1 with a refusal in the run. */
#ifndef HCP_EXEC_WRAP_H
#define HCP_EXEC_WRAP_H

#include "exec/exec.h"

struct job {
	struct run *r;
	const struct pack_wrap *wrap;
	struct box_bin bin;
	struct box_spec spec;
	int jail_fd;
	const char *jail_rel; /* of a kept jail: beneath the state folder */
	bool folder;          /* an ephemeral jail that is a folder: files go in or out */
	int scratch_fd; /* below tier strong: the run's own folder, locked while it lives */
	struct buf input;
};

/* Who a program of this run is where the runtime is root. */
uid_t wrap_user(const struct run *r);
/* wrap_jail.c: the folder that the program works in. */
int wrap_jail_open(struct job *j);
/* By the command's lock; the wait counts against the time-out. */
int wrap_jail_lock(struct job *j);
int wrap_jail_check_usage(struct job *j);
/* wrap_scratch.c: what takes the place of private mounts below tier strong. */
int wrap_scratch_open(struct job *j);
void wrap_scratch_close(struct job *j);

/* wrap_files.c: a caller's files for an ephemeral jail. */
bool wrap_files_wanted(const struct run *r);
/* Refuses a call with files where the command's jail isn't ephemeral. */
int wrap_files_check(struct run *r);
/* Makes the jail's folder in the run's own. */
int wrap_files_folder(struct job *j, const char *rel, const char *path);
int wrap_files_put(struct job *j);
int wrap_files_take(struct job *j);
/* Takes the jail of a failed run out of what is removed, and logs where it is. */
void wrap_files_keep(struct job *j);
/* A refusal by errno; `what` is the path. */
int wrap_path_fail(struct run *r, const char *what);
/* Beneath the folder after every link, whatever a program changes meanwhile. -1: errno. */
int wrap_open_beneath(int dirfd, const char *path, uint64_t flags);
/* The same for a regular file that is to be read. */
int wrap_open_file(struct run *r, int dirfd, const char *path, int *out);
/* All of `from`; *sum counts what is copied and may not pass the limit. */
int wrap_copy(struct run *r, const char *what, int from, int to, int64_t limit, int64_t *sum);

/* box_io's stream for a call that wants stderr as it comes. */
struct wrap_stream {
	const struct run *r;
	struct buf line;
	bool over; /* longer than what is kept of it */
};
int wrap_stream_take(void *user, int which, const char *data, size_t len);
/* Tells the last line, which may lack its end. */
void wrap_stream_end(struct wrap_stream *s);

#endif
