/* SPDX-License-Identifier: MIT */
/* A record on its way into the log. The lock is held for one look and one write and never while
 * a disk syncs, so that writers sync side by side; only what is durable moves the head.
 * Whatever fails here is an error of the run: nothing acts without its record. */
#include "audit/place.h"
#include "audit/record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct written {
	struct store_log *log; /* a count of its own */
	struct chain_head head;
};

static int write_locked(struct audit *a, const struct buf *body, struct written *w,
			struct hcp_err *err)
{
	struct place p;

	if (place_find(a, &p, err) < 0 || place_rotate_due(a, &p, err) < 0 ||
	    place_add(a, &p, body->data, body->len, err) < 0)
		return -1;
	place_head(a, &p, &w->head);
	switch (a->sync) {
	case AUDIT_SYNC_ALWAYS:
		w->log = store_log_ref(a);
		return 0;
	case AUDIT_SYNC_OS:
		return store_write_head(a, &w->head, false, err);
	}
	return hcp_fail(err, HCP_E_INVALID, "a way to sync that isn't known");
}

static int make_durable(struct audit *a, struct written *w, struct hcp_err *err)
{
	struct store_hold hold;
	int rc = 0;

	if (!w->log)
		return 0;
	if (fdatasync(w->log->file.fd) < 0)
		rc = hcp_fail_errno(err, "%s/%s: fdatasync", a->shown, a->log_name);
	store_log_put(w->log);
	if (rc < 0 || store_lock(a, &hold, err) < 0)
		return -1;
	return store_unlock(a, &hold, place_forward(a, &w->head, err));
}

int place_append(struct audit *a, const struct audit_record *r, struct chain_head *at,
		 struct hcp_err *err)
{
	struct written w = {0};
	AUTO_BUF body = {0};
	struct store_hold hold;

	memset(at, 0, sizeof(*at));
	if (record_body(r, a->args, &body, err) < 0 || store_lock(a, &hold, err) < 0)
		return -1;
	if (store_unlock(a, &hold, write_locked(a, &body, &w, err)) < 0)
		return -1;
	if (make_durable(a, &w, err) < 0)
		return -1;
	*at = w.head;
	return 0;
}

int audit_append(struct audit *a, const struct audit_record *r, struct hcp_err *err)
{
	struct chain_head at;

	return place_append(a, r, &at, err);
}
