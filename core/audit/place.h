/* SPDX-License-Identifier: MIT */
/* Where the next record goes. All of it under the lock. */
#ifndef HCP_AUDIT_PLACE_H
#define HCP_AUDIT_PLACE_H

#include "audit/store.h"

/* The end of the log: what a record follows, and at which byte. */
struct place {
	struct chain_tip tip;
	uint64_t size;
};

/* Finds the end, or says why nothing may be written. Makes the log where there never was one,
 * goes on with an interrupted rotation, cuts off what a crash left half written; writes the
 * records that belong to that. "log truncated" where the log isn't what the head knows. */
int place_find(struct audit *a, struct place *p, struct hcp_err *err) HCP_MUST_CHECK;
/* One record, in one write; nothing of it stays when that fails. */
int place_add(struct audit *a, struct place *p, const char *body, size_t len,
	      struct hcp_err *err) HCP_MUST_CHECK;
/* The same for the log's own records. */
int place_note(struct audit *a, struct place *p, enum audit_kind kind, const char *detail,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* The head that names the end. */
void place_head(const struct audit *a, const struct place *p, struct chain_head *out);
/* Makes the log durable up to the end, and then the head that says so. */
int place_settle(struct audit *a, const struct place *p, struct hcp_err *err) HCP_MUST_CHECK;
/* Moves the head there unless it is further already. */
int place_forward(struct audit *a, const struct chain_head *to,
		  struct hcp_err *err) HCP_MUST_CHECK;

/* rotate.c: puts the log aside as a segment and goes on in a new one; *p is the end there. */
int place_rotate(struct audit *a, struct place *p, char segment[NAME_MAX + 1],
		 struct hcp_err *err) HCP_MUST_CHECK;
/* rotate.c: the same where the settings want it by size or age. */
int place_rotate_due(struct audit *a, struct place *p, struct hcp_err *err) HCP_MUST_CHECK;

/* copy.c: hands a line to audit.syslog. Never waits and never fails: the file counts. */
void place_copy(struct audit *a, const char *line, size_t len);

/* append.c: the whole way of a record, which takes the lock itself. *at: the head that names
 * it. */
int place_append(struct audit *a, const struct audit_record *r, struct chain_head *at,
		 struct hcp_err *err) HCP_MUST_CHECK;

/* mend.c: keeps the bytes from p->size to `end` aside as <stem>.torn-<seq> and cuts them off.
 */
int place_cut(struct audit *a, const struct place *p, uint64_t end, char kept[NAME_MAX + 1],
	      struct hcp_err *err) HCP_MUST_CHECK;
/* mend.c: does that, and records it, where the bytes look like what a crash leaves; refuses
 * where they don't. */
int place_mend(struct audit *a, struct place *p, uint64_t end,
	       struct hcp_err *err) HCP_MUST_CHECK;

#endif
