/* SPDX-License-Identifier: MIT */
/* One reading of the log: what is looked for and who gets it. */
#ifndef HCP_AUDIT_READ_H
#define HCP_AUDIT_READ_H

#include "audit/files.h"
#include "audit/inspect.h"

struct reading {
	const struct audit_filter *filter; /* NULL: everything */
	audit_line_fn *fn;
	void *user;
	json_t *family; /* run ids that the term `run` means; NULL: there is no filter */
	bool stopped;   /* fn wants no more */
};

/* Hands out the i-th file from a byte on. `count`: lines carry their number. */
int read_file(struct reading *r, const struct files *f, size_t i, uint64_t from, bool count,
	      struct hcp_err *err) HCP_MUST_CHECK;

#endif
