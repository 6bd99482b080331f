/* SPDX-License-Identifier: MIT */
/* What an operator does with a log: read it, verify it, take up a broken one, start a new
 * segment, sign its end. Nothing here is on the way of a run. */
#ifndef HCP_AUDIT_INSPECT_H
#define HCP_AUDIT_INSPECT_H

#include "audit/audit.h"
#include "base/str.h"

#include <limits.h>

/* ---- reading ---- */

struct audit_line {
	const char *file; /* name of the segment */
	uint64_t number;  /* 1-based, in it; 0: not counted (audit_tail) */
	const char *text; /* as stored, no newline, not NUL-terminated */
	size_t len;
	const json_t *record; /* NULL where the line is no JSON object */
};
/* Non-zero stops. */
typedef int audit_line_fn(void *user, const struct audit_line *line);

/* The fields of a record in their order; ends with NULL. */
extern const char *const audit_fields[];

/* One condition of a search: a field's name and its value as text, numbers in decimal, anything
 * else as its JSON. Four names are no fields: `since` and `until` (RFC 3339 in UTC, or a
 * beginning of one: "2026-01"), `text` (bytes of the line) and `run` (a run id: its records and
 * those of the runs that it asked for). */
struct audit_term {
	const char *key, *value;
};
/* All terms must hold. NULL: everything. */
struct audit_filter {
	const struct audit_term *terms;
	size_t count;
};
bool audit_term_known(const char *key);
/* Oldest first, across all segments, as they were when it was called. */
int audit_each(struct audit *a, const struct audit_filter *f, audit_line_fn *fn, void *user,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* The last `count` lines, oldest of them first. */
int audit_tail(struct audit *a, size_t count, audit_line_fn *fn, void *user,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* The same, and then each whole line that is written, through rotations, until fn stops it or
 * stop_fd (borrowed) is readable. Their `record` is NULL. A log that becomes shorter is an
 * error. */
int audit_follow(struct audit *a, size_t count, int stop_fd, audit_line_fn *fn, void *user,
		 struct hcp_err *err) HCP_MUST_CHECK;

/* Pure; each appends one line with its newline. */
void audit_csv_header(struct buf *out);
void audit_csv_row(const json_t *record, struct buf *out);
/* An OTLP/JSON ExportLogsServiceRequest, as the collector's file receivers take it. */
void audit_otel_line(const json_t *record, struct buf *out);

/* ---- verifying ---- */

enum audit_damage {
	AUDIT_DAMAGE_NONE = 0,
	AUDIT_EDITED,     /* bytes of a record changed, or a line is no record */
	AUDIT_MISSING,    /* records are gone between two others */
	AUDIT_NO_SEGMENT, /* a whole segment is gone */
	AUDIT_DUPLICATED, /* two writers wrote at once, or a line stands twice */
	AUDIT_MISPLACED,  /* a record stands after later ones */
	AUDIT_RESTARTED,  /* a second genesis */
	AUDIT_TRUNCATED,  /* the log ends before the record that its head or a checkpoint knows
			   */
	AUDIT_REPLACED,   /* the file isn't the one that was written, or its head is gone */
	AUDIT_TORN,       /* half a record, as a crash leaves it; the next append mends it */
	AUDIT_CLOCK,      /* a time before the one before */
	AUDIT_ORPHANED    /* a begin without its end: still running, or killed; no damage */
};
const char *audit_damage_name(enum audit_damage d); /* "edited" */

struct audit_finding {
	enum audit_damage damage;
	bool known; /* a recover record speaks of it */
	const char *file;
	uint64_t line, offset, seq; /* 0: none in particular */
	const char *text;           /* one line for people */
};
typedef void audit_finding_fn(void *user, const struct audit_finding *f);

struct audit_verdict {
	bool intact; /* read to the end without damage; orphans are none */
	uint64_t segments, records, damages, orphans;
	uint64_t known; /* of the damages: those that a recover record speaks of */
	uint64_t first_seq, last_seq;
	char last_hash[65];
};
/* A place of the chain that was signed. */
struct audit_checkpoint {
	uint64_t seq;
	char time[28], hash[65];
};
/* Names every damage with its place. `known`: NULL, or what the log must agree with; a log
 * whose older segments were archived up to it is complete. -1: it couldn't be read, and nothing
 * is said of it. */
int audit_verify(struct audit *a, const struct audit_checkpoint *known, audit_finding_fn *fn,
		 void *user, struct audit_verdict *out, struct hcp_err *err) HCP_MUST_CHECK;

/* ---- changing ---- */

struct audit_recovery {
	bool needed; /* false: the log was fine and nothing was done */
	char text[512];
};
/* Takes up a log that no append would touch any more: goes on after the last record that is
 * known, and records what is missing. Repairs nothing and hides nothing. */
int audit_recover(struct audit *a, struct audit_recovery *out,
		  struct hcp_err *err) HCP_MUST_CHECK;
/* Puts the log aside as a segment and goes on in a new one, where it holds at least
 * `min_bytes`. segment: its name, "" where nothing was done. */
int audit_rotate(struct audit *a, uint64_t min_bytes, char segment[NAME_MAX + 1],
		 struct hcp_err *err) HCP_MUST_CHECK;

struct audit_removal {
	size_t removed; /* segments */
	size_t left;    /* that are beyond audit.keep and stayed; reason says why */
	char reason[160];
};
/* Removes the oldest segments until audit.keep are left, where the whole log verifies but for
 * damage that a recover record speaks of. Each removal is recorded before it is done, with the
 * hash of the segment's last record, so that verifying knows the gap. */
int audit_retain(struct audit *a, struct audit_removal *out,
		 struct hcp_err *err) HCP_MUST_CHECK;

#define AUDIT_KEY_SIZE 65 /* an Ed25519 public key in hex, and its NUL */
/* Makes secrets/audit_key, where there is none. */
int audit_key_create(const struct root *root, char public_key[AUDIT_KEY_SIZE],
		     struct hcp_err *err) HCP_MUST_CHECK;
int audit_key_public(const struct root *root, char public_key[AUDIT_KEY_SIZE],
		     struct hcp_err *err) HCP_MUST_CHECK;
/* Appends a checkpoint record and signs it: one JSON line to keep elsewhere. */
int audit_sign(struct audit *a, const struct root *root, struct buf *out,
	       struct hcp_err *err) HCP_MUST_CHECK;
/* Reads such a line, which must be signed by that key. */
int audit_checkpoint_read(const char *text, size_t len, const char *public_key,
			  struct audit_checkpoint *out, struct hcp_err *err) HCP_MUST_CHECK;

#endif
