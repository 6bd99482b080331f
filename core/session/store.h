/* SPDX-License-Identifier: MIT */
/* Private to session/: the folder <state>/sessions and its files. dirfd is that folder. */
#ifndef HCP_SESSION_STORE_H
#define HCP_SESSION_STORE_H

#include "session/session.h"

/* Opens the folder where it is there; *out stays -1 where nothing was ever activated. */
int session_store_find(struct root *root, int *out, struct hcp_err *err) HCP_MUST_CHECK;
/* No file: an empty list. */
int session_store_read(const struct root *root, int dirfd, const char *session, struct arena *a,
		       struct session_list *out, struct hcp_err *err) HCP_MUST_CHECK;
/* Closing *out gives the lock back. */
int session_store_lock(const struct root *root, int dirfd, int *out,
		       struct hcp_err *err) HCP_MUST_CHECK;
/* Only under the lock. The list is sorted. */
int session_store_replace(const struct root *root, int dirfd, const char *session,
			  const struct session_list *list, struct hcp_err *err) HCP_MUST_CHECK;

#endif
