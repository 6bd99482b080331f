/* SPDX-License-Identifier: MIT */
/* The judge of a chain, line by line. Pure but for what it reports. */
#ifndef HCP_AUDIT_VERIFY_H
#define HCP_AUDIT_VERIFY_H

#include "audit/inspect.h"
#include "audit/lines.h"

#define VERIFY_TIPS 64

/* Ends that a record may follow. More than one, because two writers that forked the chain both
 * go on, and because an edited record has two hashes: the one it carries and that of its bytes.
 */
struct verify_tip {
	uint64_t seq;
	char hash[CHAIN_HASH_SIZE];
};

/* A record that something else than the log knows. */
struct verify_known {
	uint64_t seq;
	const char *hash; /* NULL: nothing is known */
	bool found, differs;
};

struct verify {
	audit_finding_fn *fn;
	void *user;
	struct audit_verdict *out;
	struct verify_known head, known; /* known: a checkpoint */
	struct verify_tip tips[VERIFY_TIPS];
	size_t tip_at; /* where the next one is kept */
	/* What is missing before the first record, until it is known whether it was removed. */
	struct {
		uint64_t seq; /* of the first record; 0: nothing is missing */
		char prev[CHAIN_HASH_SIZE], file[NAME_MAX + 1];
		uint64_t line, offset;
		bool removed;
	} before;
	uint64_t strangers; /* lines since the last record that were none */
	char time[CHAIN_TIME_SIZE];
	json_t *begun; /* run id -> seq of its begin */
	bool failed;   /* out of memory */
	/* where the line stands that is judged now */
	const char *file;
	uint64_t line, offset;
};

/* The detail of a `remove` record: what was removed ended with this record. */
#define VERIFY_REMOVED_SIZE 160
void verify_format_removed(uint64_t seq, const char *hash, char out[VERIFY_REMOVED_SIZE]);

int verify_start(struct verify *v, struct hcp_err *err) HCP_MUST_CHECK;
/* `last`: the file is the one that is written to. */
void verify_line(struct verify *v, const struct line *line, bool last);
void verify_end(struct verify *v);
void verify_free(struct verify *v);
/* verify_ends.c. */
void verify_compare(struct verify_known *k, const struct chain_link *link);
void verify_note_before(struct verify *v, const struct chain_link *link);
void verify_note_removed(struct verify *v, const struct line *line,
			 const struct chain_link *link);
bool verify_follows_known(struct verify *v, const struct chain_link *link);

void verify_report(struct verify *v, enum audit_damage damage, bool known, uint64_t seq,
		   const char *fmt, ...) HCP_PRINTF(5, 6);

#endif
