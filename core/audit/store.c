/* SPDX-License-Identifier: MIT */
/* The files of the log: how they are found, judged, made and locked. What is in them is others'
 * business. Each look goes by name and is compared with the opened file, so that deleting or
 * replacing one under a running host is noticed at its next record. */
#include "audit/store.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int judge(const struct audit *a, const char *name, const struct stat *st,
		 struct hcp_err *err)
{
	if (!S_ISREG(st->st_mode))
		return hcp_fail(err, HCP_E_CONFIG, "%s/%s is not a regular file", a->shown,
				name);
	if (st->st_uid != geteuid())
		return hcp_fail(err, HCP_E_CONFIG, "%s/%s is owned by uid %u: chown it",
				a->shown, name, (unsigned)st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return hcp_fail(err, HCP_E_CONFIG, "%s/%s is writable by others: chmod go-w it",
				a->shown, name);
	return 0;
}

/* O_NONBLOCK: a FIFO in place of a file must not hang the runtime. O_EXCL when making one, so
 * that nobody's file is taken for a new one; the umask may be anything and isn't ours. */
static int open_or_make(const struct audit *a, const char *name, int flags)
{
	int safe = (flags & ~O_CREAT) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd;

	for (int tries = 0; tries < 8; tries++) {
		fd = openat(a->dir, name, safe);
		if (fd >= 0 || errno != ENOENT || !(flags & O_CREAT))
			return fd_above_stdio(fd);
		fd = openat(a->dir, name, safe | O_CREAT | O_EXCL, 0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd >= 0 && fchmod(fd, 0600) < 0)
			fd_close(&fd);
		return fd_above_stdio(fd);
	}
	return -1;
}

int store_open(const struct audit *a, const char *name, int flags, int *out,
	       struct hcp_err *err)
{
	AUTO_FD fd = open_or_make(a, name, flags);
	int saved = errno;
	struct stat st;

	*out = -1;
	if (fd < 0) {
		if (saved == ELOOP)
			hcp_fail(err, HCP_E_CONFIG,
				 "%s/%s is a symbolic link: links are not followed here",
				 a->shown, name);
		else
			hcp_fail_errno(err, "%s/%s", a->shown, name);
		errno = saved;
		return -1;
	}
	if (fstat(fd, &st) < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, name);
	if (judge(a, name, &st, err) < 0) {
		errno = EPERM;
		return -1;
	}
	*out = fd_steal(&fd);
	return 0;
}

bool store_is_named(const struct audit *a, const char *name, const struct store_file *f)
{
	struct stat st;

	return f->fd >= 0 && fstatat(a->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == f->ino && st.st_dev == f->dev;
}

int store_reopen(const struct audit *a, const char *name, int flags, struct store_file *f,
		 struct hcp_err *err)
{
	struct stat st;

	if (store_is_named(a, name, f))
		return 0;
	fd_close(&f->fd);
	if (store_open(a, name, flags, &f->fd, err) < 0)
		return -1;
	if (fstat(f->fd, &st) < 0) {
		fd_close(&f->fd);
		return hcp_fail_errno(err, "%s/%s", a->shown, name);
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

struct store_log *store_log_ref(struct audit *a)
{
	if (a->log)
		atomic_fetch_add(&a->log->refs, 1);
	return a->log;
}

void store_log_put(struct store_log *log)
{
	if (!log || atomic_fetch_sub(&log->refs, 1) > 1)
		return;
	fd_close(&log->file.fd);
	free(log);
}

static void drop_log(struct audit *a)
{
	store_log_put(a->log);
	a->log = NULL;
}

static int open_log(struct audit *a, int flags, struct hcp_err *err)
{
	struct store_log *log;

	drop_log(a);
	log = calloc(1, sizeof(*log));
	if (!log)
		return hcp_fail_nomem(err);
	log->file.fd = -1;
	if (store_reopen(a, a->log_name, O_RDWR | O_APPEND | flags, &log->file, err) < 0) {
		free(log);
		return -1;
	}
	atomic_init(&log->refs, 1);
	a->log = log;
	a->seen = true;
	return 0;
}

static int look_at_log(struct audit *a, struct store_state *out, struct hcp_err *err)
{
	struct stat st;

	if (fstatat(a->dir, a->log_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return hcp_fail_errno(err, "%s/%s", a->shown, a->log_name);
		drop_log(a);
		return 0;
	}
	if (!a->log || a->log->file.ino != st.st_ino || a->log->file.dev != st.st_dev) {
		if (open_log(a, 0, err) < 0)
			return -1;
		if (fstat(a->log->file.fd, &st) < 0)
			return hcp_fail_errno(err, "%s/%s", a->shown, a->log_name);
	}
	out->have_log = true;
	out->size = (uint64_t)st.st_size;
	return 0;
}

int store_read_head(struct audit *a, struct chain_head *out, bool *there, struct hcp_err *err)
{
	char text[CHAIN_HEAD_SIZE + 1];
	struct hcp_err why = {0};
	ssize_t n;

	memset(out, 0, sizeof(*out));
	*there = false;
	if (store_reopen(a, a->head_name, O_RDWR, &a->head, &why) < 0)
		return errno == ENOENT ? 0 : hcp_fail(err, why.code, "%s", why.text);
	n = pread(a->head.fd, text, sizeof(text), 0);
	if (n < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, a->head_name);
	if (n == 0)
		return 0;
	if (!chain_head_parse(text, (size_t)n, out))
		return hcp_fail(err, HCP_E_INVALID, "%s/%s is damaged", a->shown, a->head_name);
	*there = true;
	return 0;
}

int store_look(struct audit *a, struct store_state *out, struct hcp_err *err)
{
	memset(out, 0, sizeof(*out));
	if (look_at_log(a, out, err) < 0)
		return -1;
	return store_read_head(a, &out->head, &out->have_head, err);
}

int store_sync_dir(const struct audit *a, struct hcp_err *err)
{
	if (fsync(a->dir) < 0)
		return hcp_fail_errno(err, "%s: fsync", a->shown);
	return 0;
}

int store_create_log(struct audit *a, struct hcp_err *err)
{
	if (open_log(a, O_CREAT, err) < 0)
		return -1;
	return store_sync_dir(a, err);
}

/* In place and in one piece: 256 bytes at the start of a file lie in one page and one sector,
 * so neither a kill nor a crash leaves half of them. */
int store_write_head(struct audit *a, const struct chain_head *head, bool durable,
		     struct hcp_err *err)
{
	char text[CHAIN_HEAD_SIZE];
	ssize_t n;

	chain_head_format(head, text);
	if (a->head.fd < 0 &&
	    store_reopen(a, a->head_name, O_RDWR | O_CREAT, &a->head, err) < 0)
		return -1;
	n = pwrite(a->head.fd, text, sizeof(text), 0);
	if (n >= 0 && (size_t)n != sizeof(text))
		return hcp_fail(err, HCP_E_SYS, "%s/%s: short write", a->shown, a->head_name);
	/* whatever garbage stood behind goes, too */
	if (n < 0 || (durable && (ftruncate(a->head.fd, CHAIN_HEAD_SIZE) < 0 ||
				  fdatasync(a->head.fd) < 0)))
		return hcp_fail_errno(err, "%s/%s", a->shown, a->head_name);
	return 0;
}

void store_segment_name(const struct audit *a, uint64_t seq, char out[NAME_MAX + 1])
{
	snprintf(out, NAME_MAX + 1, "%s-%012" PRIu64 "%s", a->stem, seq, a->ext);
}

/* The seq of a segment's name; false where it is none. */
static bool segment_seq(const struct audit *a, const char *name, uint64_t *seq)
{
	char again[NAME_MAX + 1];
	size_t stem = strlen(a->stem);

	if (strncmp(name, a->stem, stem) != 0 || name[stem] != '-')
		return false;
	*seq = strtoull(name + stem + 1, NULL, 10);
	store_segment_name(a, *seq, again);
	return strcmp(again, name) == 0;
}

static int by_number(const void *x, const void *y)
{
	uint64_t a, b;

	memcpy(&a, x, sizeof(a));
	memcpy(&b, y, sizeof(b));
	return (a > b) - (a < b);
}

static int add_segment(uint64_t **list, size_t *count, uint64_t seq, struct hcp_err *err)
{
	uint64_t *bigger = reallocarray(*list, *count + 1, sizeof(seq));

	if (!bigger)
		return hcp_fail_nomem(err);
	*list = bigger;
	bigger[(*count)++] = seq;
	return 0;
}

int store_segments(const struct audit *a, uint64_t **out, size_t *count, struct hcp_err *err)
{
	AUTO_FD fd = openat(a->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t *list = NULL, seq;
	struct dirent *e;
	DIR *d;
	int rc = 0;

	*out = NULL;
	*count = 0;
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return hcp_fail_errno(err, "%s", a->shown);
	fd_steal(&fd);
	errno = 0;
	while (rc == 0 && (e = readdir(d)))
		if (segment_seq(a, e->d_name, &seq))
			rc = add_segment(&list, count, seq, err);
	if (rc == 0 && errno != 0)
		rc = hcp_fail_errno(err, "%s", a->shown);
	closedir(d);
	if (rc < 0) {
		free(list);
		*count = 0;
		return -1;
	}
	if (list)
		qsort(list, *count, sizeof(*list), by_number);
	*out = list;
	return 0;
}

void store_close(struct audit *a)
{
	drop_log(a);
	fd_close(&a->head.fd);
	fd_close(&a->dir);
}
