/* SPDX-License-Identifier: MIT */
/* The files of the log and the lock around them. Everything here that isn't said to be free of
 * it needs the lock held by this thread. */
#ifndef HCP_AUDIT_STORE_H
#define HCP_AUDIT_STORE_H

#include "audit/audit.h"
#include "audit/chain.h"
#include "base/limits.h"
#include "base/xfsz.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#define STORE_NAME_MAX 100 /* of the log; others add to it */
#define STORE_LOCK_MS  5000

/* An opened file and which one it is, to be compared with what its name means. */
struct store_file {
	int fd; /* -1: not open */
	dev_t dev;
	ino_t ino;
};

/* The opened log. Counted, because a thread may sync one that another has already replaced
 * after a rotation; struct audit holds one count. */
struct store_log {
	atomic_uint refs;
	struct store_file file;
	bool followed;               /* its end was once checked line by line */
	char since[CHAIN_TIME_SIZE]; /* of its first record; "": not read yet */
};

struct audit {
	/* constant after audit_open */
	int dir;
	char *shown; /* the folder, for messages */
	char log_name[STORE_NAME_MAX + 8], lock_name[STORE_NAME_MAX + 8],
	    head_name[STORE_NAME_MAX + 8], stem[STORE_NAME_MAX + 1], ext[STORE_NAME_MAX + 1];
	enum audit_sync sync;
	enum audit_args args;
	uint64_t rotate_bytes; /* 0: not by size */
	int64_t rotate_us;     /* 0: not by age */
	size_t keep;           /* segments; 0: all */
	char *copy_path;       /* NULL: no copies */

	/* Guards what follows. flock is per open description, so threads that share one would
	 * all hold it at once. */
	pthread_mutex_t mutex;
	char *mine; /* a page that is zeros in a forked child, who opens its own lock */
	struct store_file lock, head;
	struct store_log *log; /* NULL: not opened yet */
	bool seen;             /* there was a log once */
	char line[LIMIT_AUDIT_LINE];
	int copy_fd; /* -1: not connected */
	atomic_int copy_error;
};

/* What the lock changed in the thread, to be put back. */
struct store_hold {
	struct xfsz xfsz;
};

/* lock.c. */
int store_lock_init(struct audit *a, struct hcp_err *err) HCP_MUST_CHECK;
void store_lock_free(struct audit *a);
/* Both within STORE_LOCK_MS, else HCP_E_TIMEOUT. SIGXFSZ is blocked for the thread until
 * store_unlock: a file size limit must end an append, not the host. */
int store_lock(struct audit *a, struct store_hold *h, struct hcp_err *err) HCP_MUST_CHECK;
/* Returns rc, what came of it; after a failure takes the SIGXFSZ that a write may have left. */
int store_unlock(struct audit *a, const struct store_hold *h, int rc);

/* Opens a file of the folder: regular, ours, not writable by others, no link followed. `flags`
 * as open(2); with O_CREAT a missing one is made 0600. -1 with errno ENOENT kept where there is
 * none. */
int store_open(const struct audit *a, const char *name, int flags, int *out,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* Whether the name means the opened file. */
bool store_is_named(const struct audit *a, const char *name, const struct store_file *f);
/* Opens it again where the name means another file by now, or none was open. */
int store_reopen(const struct audit *a, const char *name, int flags, struct store_file *f,
		 struct hcp_err *err) HCP_MUST_CHECK;
/* The log and the head as they are now. A head without a byte in it is one whose making was
 * interrupted: none. */
struct store_state {
	bool have_log, have_head;
	uint64_t size; /* of the log */
	struct chain_head head;
};
int store_look(struct audit *a, struct store_state *out, struct hcp_err *err) HCP_MUST_CHECK;
/* Makes the log where none is; empty, durable as an entry of its folder. */
int store_create_log(struct audit *a, struct hcp_err *err) HCP_MUST_CHECK;
/* *there: false where there is no head. Writing goes to the one that was read last. */
int store_read_head(struct audit *a, struct chain_head *out, bool *there,
		    struct hcp_err *err) HCP_MUST_CHECK;
int store_write_head(struct audit *a, const struct chain_head *head, bool durable,
		     struct hcp_err *err) HCP_MUST_CHECK;
int store_sync_dir(const struct audit *a, struct hcp_err *err) HCP_MUST_CHECK;
/* "<stem>-<seq><ext>": the segment whose last record is seq. */
void store_segment_name(const struct audit *a, uint64_t seq, char out[NAME_MAX + 1]);
/* Rotated segments, their last seqs in ascending order; *out malloc'ed. */
int store_segments(const struct audit *a, uint64_t **out, size_t *count,
		   struct hcp_err *err) HCP_MUST_CHECK;

struct store_log *store_log_ref(struct audit *a); /* NULL where none is open */
void store_log_put(struct store_log *log);        /* needs no lock */
void store_close(struct audit *a);                /* all files */

#endif
