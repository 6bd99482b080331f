/* SPDX-License-Identifier: MIT */
/* The whole log for reading: rotated segments and the current file, as of one moment. */
#ifndef HCP_AUDIT_FILES_H
#define HCP_AUDIT_FILES_H

#include "audit/lines.h"
#include "audit/store.h"

struct files {
	const struct audit *audit;
	uint64_t *segments; /* last seqs, ascending */
	size_t segment_count;
	int log; /* the current file; -1: there is none */
	uint64_t log_size, log_inode;
	bool have_head, head_damaged;
	struct chain_head head;
};

/* Takes the lock for a moment. */
int files_open(struct audit *a, struct files *f, struct hcp_err *err) HCP_MUST_CHECK;
void files_close(struct files *f);
#define AUTO_FILES __attribute__((cleanup(files_close))) struct files

size_t files_count(const struct files *f);
/* The i-th of them, oldest first. The caller closes *fd. name[NAME_MAX + 1]. */
int files_get(const struct files *f, size_t i, char *name, int *fd, uint64_t *size,
	      struct hcp_err *err) HCP_MUST_CHECK;

#endif
