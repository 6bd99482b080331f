/* SPDX-License-Identifier: MIT */
/* Looking at the whole log without stopping its writers: the lock is held only while the
 * current file, its length and its head are noted. Segments never change any more and are
 * opened one by one. */
#include "audit/files.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int note_head(struct audit *a, struct files *f, struct hcp_err *err)
{
	struct hcp_err why = {0};

	if (store_read_head(a, &f->head, &f->have_head, &why) == 0)
		return 0;
	if (why.code != HCP_E_INVALID)
		return hcp_fail(err, why.code, "%s", why.text);
	f->head_damaged = true;
	return 0;
}

static int note_log(struct audit *a, struct files *f, struct hcp_err *err)
{
	struct hcp_err why = {0};
	struct stat st;

	if (store_open(a, a->log_name, O_RDONLY, &f->log, &why) < 0)
		return errno == ENOENT ? 0 : hcp_fail(err, why.code, "%s", why.text);
	if (fstat(f->log, &st) < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, a->log_name);
	f->log_size = (uint64_t)st.st_size;
	f->log_inode = st.st_ino;
	return 0;
}

int files_open(struct audit *a, struct files *f, struct hcp_err *err)
{
	struct store_hold hold;
	int rc;

	memset(f, 0, sizeof(*f));
	f->audit = a;
	f->log = -1;
	if (store_lock(a, &hold, err) < 0)
		return -1;
	rc = store_segments(a, &f->segments, &f->segment_count, err) < 0 ||
		     note_log(a, f, err) < 0 || note_head(a, f, err) < 0
		 ? -1
		 : 0;
	return store_unlock(a, &hold, rc);
}

void files_close(struct files *f)
{
	ptr_free(&f->segments);
	f->segments = NULL;
	fd_close(&f->log);
}

size_t files_count(const struct files *f)
{
	return f->segment_count + (f->log >= 0 ? 1 : 0);
}

int files_get(const struct files *f, size_t i, char *name, int *fd, uint64_t *size,
	      struct hcp_err *err)
{
	const struct audit *a = f->audit;
	struct stat st;

	*fd = -1;
	*size = 0;
	name[0] = '\0';
	if (i >= f->segment_count) {
		snprintf(name, NAME_MAX + 1, "%s", a->log_name);
		*size = f->log_size;
		*fd = fcntl(f->log, F_DUPFD_CLOEXEC, 3);
		return *fd < 0 ? hcp_fail_errno(err, "%s/%s", a->shown, name) : 0;
	}
	store_segment_name(a, f->segments[i], name);
	if (store_open(a, name, O_RDONLY, fd, err) < 0)
		return -1;
	if (fstat(*fd, &st) < 0) {
		fd_close(fd);
		return hcp_fail_errno(err, "%s/%s", a->shown, name);
	}
	*size = (uint64_t)st.st_size;
	return 0;
}
