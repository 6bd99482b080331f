/* SPDX-License-Identifier: MIT */
/* The chain as bytes: how a line begins and ends, what its hash covers, what the head file
 * says. Pure: nothing here opens, reads or writes, and nothing ever re-serialises JSON to judge
 * it. */
#ifndef HCP_AUDIT_CHAIN_H
#define HCP_AUDIT_CHAIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_TIME_SIZE 28 /* "2026-01-02T03:04:05.678901Z" and its NUL */
#define CHAIN_HASH_SIZE 65 /* SHA-256 in lower-case hex and its NUL */
#define CHAIN_KIND_SIZE 16
/* What a line holds around its body: {"seq":<20 digits>,"time":"<time>",<body>,"prev":"<hash>",
 * "hash":"<hash>"} and the newline. */
#define CHAIN_OVERHEAD (7 + 20 + 9 + 27 + 2 + 9 + 64 + 10 + 64 + 3)

/* The record that the next one follows. Zero value with chain_start: before the first. */
struct chain_tip {
	uint64_t seq;
	char time[CHAIN_TIME_SIZE];
	char hash[CHAIN_HASH_SIZE];
};
void chain_start(struct chain_tip *tip);

/* What a stored line says of itself. */
struct chain_link {
	uint64_t seq;
	char time[CHAIN_TIME_SIZE];
	char kind[CHAIN_KIND_SIZE];
	char prev[CHAIN_HASH_SIZE];
	char hash[CHAIN_HASH_SIZE];
};

void chain_format_time(int64_t unix_us, char out[CHAIN_TIME_SIZE]);
/* The line that follows *tip, with its newline, into line[LIMIT_AUDIT_LINE]; *tip becomes that
 * record. Its time is never before the tip's. */
int chain_line(struct chain_tip *tip, int64_t now_us, const char *body, size_t body_len,
	       char *line, size_t *len, struct hcp_err *err) HCP_MUST_CHECK;
/* `line` without its newline. False: it has not the form of a record. */
bool chain_parse(const char *line, size_t len, struct chain_link *out);
/* The time of a line, from its beginning alone. */
bool chain_parse_time(const char *line, size_t len, char out[CHAIN_TIME_SIZE]);
/* The hash that a line should carry. */
void chain_hash(const char *line, size_t len, char out[CHAIN_HASH_SIZE]);
/* Whether the hash that a parsed line carries is that of its bytes. */
bool chain_hash_holds(const char *line, size_t len, const struct chain_link *link);
/* Whether the record is the one right after *tip. */
bool chain_follows(const struct chain_tip *tip, const struct chain_link *link);
void chain_advance(struct chain_tip *tip, const struct chain_link *link);

/* "record 5 is missing", "records 5 to 7 are missing". */
void chain_format_missing(uint64_t first, uint64_t last, char out[80]);

/* The last bytes of a line that carries `hash`, newline included: what must stand before a
 * position where a record is known to end. */
#define CHAIN_END_SIZE (9 + 64 + 3)
void chain_end(const char *hash, char out[CHAIN_END_SIZE + 1]);
/* The inverse. */
bool chain_parse_end(const char end[CHAIN_END_SIZE], char hash[CHAIN_HASH_SIZE]);

/* audit.head: which file holds the log, how long it is known to be, its last record there. */
struct chain_head {
	uint64_t inode; /* 0: the log that continues after `tip` isn't there yet */
	uint64_t size;
	struct chain_tip tip;
};
#define CHAIN_HEAD_SIZE 256 /* bytes of the file, always: it is overwritten in place */
void chain_head_format(const struct chain_head *h, char out[CHAIN_HEAD_SIZE]);
bool chain_head_parse(const char *text, size_t len, struct chain_head *out);

#endif
