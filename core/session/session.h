/* SPDX-License-Identifier: MIT */
/* Which packs are activated on which session (§6.3 step 2). One small file a session,
 * <state>/sessions/<name>.packs, a pack id a line, sorted, replaced by rename under an flock on
 * a lock file of the store's, so that two processes changing one session at once lose nothing
 * and a reader sees the one or the other. A session belongs to the uid that made it. */
#ifndef HCP_SESSION_SESSION_H
#define HCP_SESSION_SESSION_H

#include "root/root.h"

struct session_list {
	size_t count;
	const char **packs; /* in the arena given */
};

/* *active is false on every error. A pack of hcp.yaml's `sessions:` is active without a file. A
 * state folder that doesn't exist yet is an empty session, no error. */
int session_is_active(struct root *root, const struct settings *set, const char *name,
		      const char *pack_id, bool *active, struct hcp_err *err) HCP_MUST_CHECK;
/* hcp.yaml's list for a session, where it has the pack: then it is active there. NULL: no. */
const struct settings_session *session_in_settings(const struct settings *set,
						   const char *session, const char *pack_id);
/* on: adds, off: removes; *changed tells whether it did. Denied (HCP_E_DENIED) where `activate:
 * operator` and the effective user doesn't own the root; removing what hcp.yaml activates is
 * HCP_E_INVALID. */
int session_set(struct root *root, const struct settings *set, const char *name,
		const char *pack_id, bool on, bool *changed,
		struct hcp_err *err) HCP_MUST_CHECK;
int session_read(struct root *root, const struct settings *set, const char *name,
		 struct arena *a, struct session_list *out, struct hcp_err *err) HCP_MUST_CHECK;

#endif
