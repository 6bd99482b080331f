/* SPDX-License-Identifier: MIT */
/* A record as the body of a line: from "kind" to the last field before "prev". Pure. */
#ifndef HCP_AUDIT_RECORD_H
#define HCP_AUDIT_RECORD_H

#include "audit/audit.h"
#include "base/str.h"

/* "begin"; NULL where the kind is none that may be written. */
const char *record_kind_name(enum audit_kind kind);
/* Appends the body, always short enough for a line: texts are cut with a mark, args become
 * their digest and length. `level` says how much of args is shown. */
int record_body(const struct audit_record *r, enum audit_args level, struct buf *out,
		struct hcp_err *err) HCP_MUST_CHECK;

#endif
