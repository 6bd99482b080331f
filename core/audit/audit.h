/* SPDX-License-Identifier: MIT */
/* The audit log: one JSON object a line, one write a record, at most LIMIT_AUDIT_LINE bytes,
 * chained by SHA-256 over the raw bytes. A record that can't be written is an error, and an
 * error is a denial. */
#ifndef HCP_AUDIT_AUDIT_H
#define HCP_AUDIT_AUDIT_H

#include "root/root.h"

#include <jansson.h>

enum audit_kind {
	AUDIT_NONE = 0,
	AUDIT_GENESIS,
	AUDIT_BEGIN,
	AUDIT_END,
	AUDIT_DENY,
	AUDIT_RECOVER,
	AUDIT_ROTATE,
	AUDIT_CHECKPOINT,
	AUDIT_REMOVE
};

/* NULL strings and negative numbers are left out of the line. */
struct audit_record {
	enum audit_kind kind;
	const char *run_id, *parent_run_id;
	const char *face, *session, *principal, *tenant, *project;
	const char *pack, *pack_version, *pack_digest, *policy_digest, *verb;
	int64_t uid, pid;   /* of the peer that asked */
	const json_t *args; /* an object without writeOnly values, or the list of its keys;
			       NULL: none */
	const char *mode;   /* "mock" or NULL */
	int step;           /* reached: 0 the envelope, 1..9; -1: left out */
	const char *error;
	size_t error_len;               /* 0: up to its NUL */
	int exit_code, signal;          /* -1: none */
	int64_t duration_us, bytes_out; /* -1: none */
	const char *tier, *layers, *because, *binding_id, *limits_held;
	const char *revoke_error; /* why a Binding could not be revoked; NULL: it could */
	const char *detail;       /* kinds other than begin, end, deny */
};

struct audit; /* one a runtime; thread-safe */
int audit_open(struct root *root, const struct settings *set, struct audit **out,
	       struct hcp_err *err) HCP_MUST_CHECK;
void audit_close(struct audit *a);
/* Durable when it returns 0, as `sync` says. err.text is what follows "audit: ". */
int audit_append(struct audit *a, const struct audit_record *r,
		 struct hcp_err *err) HCP_MUST_CHECK;
/* Why the last copy to audit.syslog didn't get there, as an errno, once; 0: all did. */
int audit_copy_error(struct audit *a);

#define AUDIT_RUN_ID_SIZE 27
/* A ULID: 48 bits of time, 80 of randomness, Crockford base32. */
void audit_new_run_id(char out[AUDIT_RUN_ID_SIZE]);

#endif
