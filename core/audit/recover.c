/* SPDX-License-Identifier: MIT */
/* `hcp audit recover`: somebody looked, and the log shall go on. The chain continues after the
 * last record that anything still knows of, so that what is missing keeps its numbers and its
 * place: found again, it could be verified. Records that are there are never touched; what is
 * behind them and is no record is kept aside. */
#include "audit/place.h"

#include "audit/files.h"
#include "audit/inspect.h"
#include "base/fd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct found {
	bool any;             /* a record whose hash holds */
	struct chain_tip tip; /* the last one */
	uint64_t good;        /* where it ends */
};

static int last_record(int fd, uint64_t size, struct found *out, struct hcp_err *err)
{
	AUTO_LINES l = {0};
	struct chain_link link;
	struct line line;
	int more;

	if (lines_open(&l, fd, 0, size, err) < 0)
		return -1;
	while ((more = lines_next(&l, &line, err)) > 0) {
		if (!line.whole || !chain_parse(line.text, line.len, &link) ||
		    !chain_hash_holds(line.text, line.len, &link))
			continue;
		out->any = true;
		out->good = line.offset + line.len + 1;
		/* of two branches the longer one goes on */
		if (link.seq > out->tip.seq)
			chain_advance(&out->tip, &link);
	}
	return more;
}

static int last_of_segments(struct audit *a, struct found *out, struct hcp_err *err)
{
	AUTO_FREE uint64_t *segments = NULL;
	char name[NAME_MAX + 1];
	AUTO_FD fd = -1;
	off_t size;
	size_t count;

	if (store_segments(a, &segments, &count, err) < 0)
		return -1;
	if (count == 0)
		return 0;
	store_segment_name(a, segments[count - 1], name);
	if (store_open(a, name, O_RDONLY, &fd, err) < 0)
		return -1;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return hcp_fail_errno(err, "%s/%s", a->shown, name);
	return last_record(fd, (uint64_t)size, out, err);
}

/* The head is what is in doubt here: a damaged one counts as none. */
static int look(struct audit *a, struct store_state *s, bool *damaged, struct hcp_err *err)
{
	struct hcp_err why = {0};

	*damaged = false;
	if (store_look(a, s, &why) == 0)
		return 0;
	if (why.code != HCP_E_INVALID)
		return hcp_fail(err, why.code, "%s", why.text);
	*damaged = true;
	s->have_head = false;
	return 0;
}

struct finding {
	struct store_state state;
	bool head_damaged, cut;
	struct found in_log, in_segments;
	char kept[NAME_MAX + 1];
};

static void tell(const struct audit *a, const struct finding *f, const struct chain_tip *tip,
		 struct audit_recovery *out)
{
	const struct store_state *s = &f->state;
	uint64_t have = f->in_log.any ? f->in_log.tip.seq : f->in_segments.tip.seq;
	const char *head = f->head_damaged ? "; the head was damaged"
			   : !s->have_head ? "; the head was missing"
					   : "";
	const char *log = !s->have_log ? "; the log was missing"
			  : s->have_head && s->head.inode != a->log->file.ino
			      ? "; the log was another file"
			      : "";
	char lost[80] = "", aside[NAME_MAX + 80] = "";

	if (tip->seq > have)
		chain_format_missing(have + 1, tip->seq, lost);
	if (f->cut)
		snprintf(aside, sizeof(aside),
			 "; %" PRIu64 " bytes that are no record are in %s",
			 s->size - f->in_log.good, f->kept);
	snprintf(out->text, sizeof(out->text), "goes on after record %" PRIu64 "%s%s%s%s%s",
		 tip->seq, log, head, *lost ? "; " : "", lost, aside);
}

static int gather(struct audit *a, struct finding *f, struct hcp_err *err)
{
	if (look(a, &f->state, &f->head_damaged, err) < 0)
		return -1;
	if (f->state.have_log &&
	    last_record(a->log->file.fd, f->state.size, &f->in_log, err) < 0)
		return -1;
	return last_of_segments(a, &f->in_segments, err);
}

/* The furthest record that the log, its head or a segment knows. */
static void furthest(const struct finding *f, struct chain_tip *tip)
{
	chain_start(tip);
	if (f->in_segments.any)
		*tip = f->in_segments.tip;
	if (f->in_log.any && f->in_log.tip.seq >= tip->seq)
		*tip = f->in_log.tip;
	if (f->state.have_head && f->state.head.tip.seq >= tip->seq)
		*tip = f->state.head.tip;
}

static int go_on(struct audit *a, struct audit_recovery *out, struct hcp_err *err)
{
	struct finding f = {0};
	struct place p = {0};
	struct chain_tip tip;

	if (gather(a, &f, err) < 0)
		return -1;
	furthest(&f, &tip);
	if (!f.state.have_log && store_create_log(a, err) < 0)
		return -1;
	p.size = f.in_log.good;
	p.tip = tip;
	if (f.state.size > p.size) {
		if (place_cut(a, &p, f.state.size, f.kept, err) < 0)
			return -1;
		f.cut = true;
	}
	tell(a, &f, &tip, out);
	if (place_note(a, &p, AUDIT_RECOVER, out->text, err) < 0)
		return -1;
	if (place_settle(a, &p, err) < 0)
		return -1;
	a->log->followed = true;
	return store_sync_dir(a, err);
}

static int recover_locked(struct audit *a, struct audit_recovery *out, struct hcp_err *err)
{
	struct hcp_err why = {0};
	struct place p;

	if (place_find(a, &p, &why) == 0)
		return place_settle(a, &p, err);
	/* what isn't about the log's content (a full disk, a foreign owner) stays an error */
	if (why.code != HCP_E_INVALID)
		return hcp_fail(err, why.code, "%s", why.text);
	out->needed = true;
	return go_on(a, out, err);
}

int audit_recover(struct audit *a, struct audit_recovery *out, struct hcp_err *err)
{
	struct store_hold hold;

	memset(out, 0, sizeof(*out));
	if (store_lock(a, &hold, err) < 0)
		return -1;
	return store_unlock(a, &hold, recover_locked(a, out, err));
}
