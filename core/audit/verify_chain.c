/* SPDX-License-Identifier: MIT */
/* Which kind of damage a line is. A record is told by its own hash and by its link: a hash that
 * doesn't hold is an edit; one that holds but links to nothing that was seen is a gap, a double
 * write or a replacement, and its number says which. A damage is reported once, and what
 * follows it is judged on. */
#include "audit/verify.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [AUDIT_DAMAGE_NONE] = "none",      [AUDIT_EDITED] = "edited",
    [AUDIT_MISSING] = "missing",       [AUDIT_NO_SEGMENT] = "missing segment",
    [AUDIT_DUPLICATED] = "duplicated", [AUDIT_MISPLACED] = "misplaced",
    [AUDIT_RESTARTED] = "restarted",   [AUDIT_TRUNCATED] = "truncated",
    [AUDIT_REPLACED] = "replaced",     [AUDIT_TORN] = "torn",
    [AUDIT_CLOCK] = "clock",           [AUDIT_ORPHANED] = "orphaned begin",
};

const char *audit_damage_name(enum audit_damage d)
{
	return (size_t)d < sizeof(names) / sizeof(names[0]) ? names[d] : "unknown";
}

void verify_report(struct verify *v, enum audit_damage damage, bool known, uint64_t seq,
		   const char *fmt, ...)
{
	char text[512];
	const struct audit_finding f = {
	    damage, known, v->file ? v->file : "", v->line, v->offset, seq, text};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (damage == AUDIT_ORPHANED)
		v->out->orphans++;
	else
		v->out->damages++;
	if (known)
		v->out->known++;
	if (v->fn)
		v->fn(v->user, &f);
}

int verify_start(struct verify *v, struct hcp_err *err)
{
	struct chain_tip none;

	chain_start(&none);
	memcpy(v->tips[0].hash, none.hash, sizeof(none.hash));
	v->tip_at = 1;
	v->begun = json_object();
	return v->begun ? 0 : hcp_fail_nomem(err);
}

void verify_free(struct verify *v)
{
	json_decref(v->begun);
	v->begun = NULL;
}

static void keep_tip(struct verify *v, uint64_t seq, const char *hash)
{
	struct verify_tip *t = &v->tips[v->tip_at++ % VERIFY_TIPS];

	t->seq = seq;
	memcpy(t->hash, hash, sizeof(t->hash));
}

/* Newest first: in an intact log the first look finds it. */
static const struct verify_tip *find_tip(const struct verify *v, const char *hash)
{
	size_t count = v->tip_at < VERIFY_TIPS ? v->tip_at : VERIFY_TIPS;

	for (size_t i = 1; i <= count; i++) {
		const struct verify_tip *t = &v->tips[(v->tip_at - i) % VERIFY_TIPS];

		if (memcmp(t->hash, hash, CHAIN_HASH_SIZE) == 0)
			return t;
	}
	return NULL;
}

/* The order of keys is fixed, and a quote inside a value is escaped, so bytes tell. */
static bool run_id_of(const struct line *line, const char *kind, char id[64])
{
	char before[CHAIN_KIND_SIZE + 32];
	int n = snprintf(before, sizeof(before), "\"kind\":\"%s\",\"run_id\":\"", kind);
	const char *at = memmem(line->text, line->len, before, (size_t)n), *end;

	if (!at)
		return false;
	at += n;
	end = memchr(at, '"', (size_t)(line->text + line->len - at));
	if (!end || end - at >= 64)
		return false;
	memcpy(id, at, (size_t)(end - at));
	id[end - at] = '\0';
	return true;
}

static void note_run(struct verify *v, const struct line *line, const struct chain_link *link)
{
	bool begin = strcmp(link->kind, "begin") == 0;
	char id[64];

	if ((!begin && strcmp(link->kind, "end") != 0) || !run_id_of(line, link->kind, id))
		return;
	if (!begin)
		json_object_del(v->begun, id);
	else if (json_object_set_new_nocheck(v->begun, id,
					     json_integer((json_int_t)link->seq)) < 0)
		v->failed = true;
}

/* A record whose own hash holds and that follows nothing which was seen. */
static void judge_gap(struct verify *v, const struct chain_link *link)
{
	uint64_t next = v->out->last_seq + 1;
	bool recover = strcmp(link->kind, "recover") == 0;
	char missing[80];

	chain_format_missing(next, link->seq - 1, missing);
	if (v->out->records == 1 && v->line == 1 && link->seq > next && !recover)
		verify_note_before(v, link);
	else if (link->seq < next)
		verify_report(v, AUDIT_MISPLACED, false, link->seq,
			      "record %" PRIu64 " stands after record %" PRIu64, link->seq,
			      next - 1);
	else if (v->strangers > 0 && link->seq <= next + v->strangers)
		return; /* lines that are no records stand where they were */
	else if (link->seq == next)
		verify_report(v, AUDIT_EDITED, recover, next - 1,
			      "record %" PRIu64 " was replaced: record %" PRIu64
			      " follows another",
			      next - 1, link->seq);
	else
		verify_report(v, v->line == 1 && !recover ? AUDIT_NO_SEGMENT : AUDIT_MISSING,
			      recover, next, "%s", missing);
}

static bool has_number(const struct verify *v, uint64_t seq)
{
	for (size_t i = 0; i < VERIFY_TIPS && i < v->tip_at; i++)
		if (v->tips[i].seq == seq)
			return true;
	return false;
}

/* From here on the second chain counts; what is missing of the first one the head tells. */
static void judge_restart(struct verify *v)
{
	verify_report(v, AUDIT_RESTARTED, false, 1, "a second genesis: the chain begins anew");
	v->out->last_seq = 0;
}

/* A number that was passed already, after a record that was seen. */
static void judge_late(struct verify *v, const struct chain_link *link, bool twice)
{
	if (twice)
		verify_report(v, AUDIT_DUPLICATED, false, link->seq,
			      "record %" PRIu64 " stands here again", link->seq);
	else if (link->seq == 1)
		judge_restart(v);
	else if (has_number(v, link->seq))
		verify_report(v, AUDIT_DUPLICATED, false, link->seq,
			      "record %" PRIu64 " was written twice: two writers at once",
			      link->seq);
	else
		verify_report(v, AUDIT_MISPLACED, false, link->seq,
			      "record %" PRIu64 " stands after record %" PRIu64, link->seq,
			      v->out->last_seq);
}

/* True where the record simply is the next one. */
static bool judge_link(struct verify *v, const struct chain_link *link)
{
	const struct verify_tip *before = find_tip(v, link->prev);
	bool twice = find_tip(v, link->hash) != NULL;

	if (twice || (link->seq == 1 && v->out->records > 1) ||
	    (before && link->seq == before->seq + 1 && link->seq <= v->out->last_seq))
		judge_late(v, link, twice);
	else if (before && link->seq == before->seq + 1)
		return true;
	else if (before)
		verify_report(v, AUDIT_EDITED, false, link->seq,
			      "record %" PRIu64 " carries the wrong number", link->seq);
	else if (verify_follows_known(v, link))
		return true;
	else
		judge_gap(v, link);
	return false;
}

static void judge_stranger(struct verify *v, const struct line *line, bool last)
{
	bool zeros = memchr(line->text, '\0', line->len) != NULL;

	v->strangers++;
	if (zeros || (last && !line->whole && line->len < LIMIT_AUDIT_LINE))
		verify_report(v, AUDIT_TORN, false, 0, "half a record, %zu bytes", line->len);
	else
		verify_report(v, AUDIT_EDITED, false, 0, "a line that is no record");
}

/* Its number may be what was edited, so the place counts. Either hash may be the one that the
 * next record knows. */
static void judge_edited(struct verify *v, const struct line *line,
			 const struct chain_link *link)
{
	uint64_t seq = v->out->last_seq + 1 + v->strangers;
	struct chain_link real = *link;

	verify_report(v, AUDIT_EDITED, false, seq,
		      "record %" PRIu64 " was edited: its hash doesn't hold", seq);
	chain_hash(line->text, line->len, real.hash);
	keep_tip(v, seq, link->hash);
	keep_tip(v, seq, real.hash);
	v->out->last_seq = seq;
	memcpy(v->out->last_hash, link->hash, sizeof(link->hash));
	v->strangers = 0;
}

void verify_line(struct verify *v, const struct line *line, bool last)
{
	struct chain_link link;

	if (!line->whole || !chain_parse(line->text, line->len, &link)) {
		judge_stranger(v, line, last);
		return;
	}
	v->out->records++;
	note_run(v, line, &link);
	if (!chain_hash_holds(line->text, line->len, &link)) {
		judge_edited(v, line, &link);
		return;
	}
	if (judge_link(v, &link)) {
		verify_note_removed(v, line, &link);
		if (strcmp(link.time, v->time) < 0)
			verify_report(v, AUDIT_CLOCK, false, link.seq,
				      "record %" PRIu64 " is from before the record before it",
				      link.seq);
	}
	verify_compare(&v->head, &link);
	verify_compare(&v->known, &link);
	keep_tip(v, link.seq, link.hash);
	v->strangers = 0;
	if (v->out->first_seq == 0)
		v->out->first_seq = link.seq;
	if (link.seq > v->out->last_seq) {
		v->out->last_seq = link.seq;
		memcpy(v->out->last_hash, link.hash, sizeof(link.hash));
		memcpy(v->time, link.time, sizeof(v->time));
	}
}
