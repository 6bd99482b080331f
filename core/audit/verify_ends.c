/* SPDX-License-Identifier: MIT */
/* The two ends of what is left of a chain. Its beginning may have been removed or archived, and
 * then something must say up to where; its end must lead to what the head and a checkpoint
 * know. Nothing here is ever taken for granted because it is missing. */
#include "audit/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whether this is a record that was known elsewhere. Another one with its number counts against
 * it only at the end: of two that were written at once, either may be it. */
void verify_compare(struct verify_known *k, const struct chain_link *link)
{
	if (!k->hash || link->seq != k->seq)
		return;
	if (strcmp(link->hash, k->hash) == 0)
		k->found = true;
	else
		k->differs = true;
}

/* The log begins in the middle of the chain. A `remove` record further on may account for that.
 */
void verify_note_before(struct verify *v, const struct chain_link *link)
{
	v->before.seq = link->seq;
	memcpy(v->before.prev, link->prev, sizeof(v->before.prev));
	snprintf(v->before.file, sizeof(v->before.file), "%s", v->file);
	v->before.line = v->line;
	v->before.offset = v->offset;
}

void verify_format_removed(uint64_t seq, const char *hash, char out[VERIFY_REMOVED_SIZE])
{
	snprintf(out, VERIFY_REMOVED_SIZE,
		 "records up to %" PRIu64 " were checked and removed, hash %s", seq, hash);
}

void verify_note_removed(struct verify *v, const struct line *line,
			 const struct chain_link *link)
{
	char detail[VERIFY_REMOVED_SIZE];

	if (v->before.seq == 0 || strcmp(link->kind, "remove") != 0)
		return;
	verify_format_removed(v->before.seq - 1, v->before.prev, detail);
	if (memmem(line->text, line->len, detail, strlen(detail)))
		v->before.removed = true;
}

static void end_before(struct verify *v)
{
	char missing[80];

	if (v->before.seq == 0 || v->before.removed)
		return;
	chain_format_missing(1, v->before.seq - 1, missing);
	v->file = v->before.file;
	v->line = v->before.line;
	v->offset = v->before.offset;
	verify_report(v, AUDIT_NO_SEGMENT, false, 1, "%s", missing);
}

/* The first record of what is left, where the rest was archived up to a checkpoint. */
bool verify_follows_known(struct verify *v, const struct chain_link *link)
{
	if (!v->known.hash || v->out->records > 1 || link->seq != v->known.seq + 1 ||
	    strcmp(link->prev, v->known.hash) != 0)
		return false;
	v->known.found = true;
	return true;
}

static void end_known(struct verify *v, const struct verify_known *k, const char *who)
{
	if (!k->hash || k->seq == 0 || k->found)
		return;
	if (k->differs)
		verify_report(v, AUDIT_EDITED, false, k->seq,
			      "record %" PRIu64 " is not the one that the %s knows", k->seq,
			      who);
	else if (k->seq > v->out->last_seq)
		verify_report(v, AUDIT_TRUNCATED, false, k->seq,
			      "the log ends at record %" PRIu64
			      ", the %s knows record %" PRIu64,
			      v->out->last_seq, who, k->seq);
	else if (v->before.removed && k->seq < v->before.seq)
		verify_report(v, AUDIT_MISSING, false, k->seq,
			      "record %" PRIu64
			      ", which the %s knows, was removed: a later one is needed",
			      k->seq, who);
}

void verify_end(struct verify *v)
{
	const char *id;
	json_t *seq;

	end_before(v);
	v->file = NULL;
	v->line = v->offset = 0;
	end_known(v, &v->head, "head");
	end_known(v, &v->known, "checkpoint");
	json_object_foreach(v->begun, id, seq)
	    verify_report(v, AUDIT_ORPHANED, false, (uint64_t)json_integer_value(seq),
			  "run %s began at record %" JSON_INTEGER_FORMAT " and has no end", id,
			  json_integer_value(seq));
}
