/* SPDX-License-Identifier: MIT */
/* Reading from a root, and from the installed data folder where the root has none and the file
 * is of a kind that may come from there. A file that is there but can't be trusted is never
 * replaced by the other one. */
#include "root/root.h"

#include "base/fd.h"
#include "base/str.h"
#include "base/trust.h"

#include <errno.h>

/* Policies, packs and secrets are a root's own. */
static bool may_fall_back(const char *rel)
{
	return str_starts(rel, "adapters/") || str_starts(rel, "lua/") ||
	       str_starts(rel, "policies/auth/") || str_starts(rel, "policies/guards/") ||
	       str_starts(rel, "policies/mint/");
}

int root_open_file(const struct root *root, const char *rel, bool fallback, int *out,
		   struct hcp_err *err)
{
	struct hcp_err why = {0};

	if (trust_open_file(root->fd, rel, root->path, out, &why) == 0)
		return 0;
	if (why.code == HCP_E_SYS && errno == ENOENT && fallback && root->data_fd >= 0 &&
	    may_fall_back(rel)) {
		why = (struct hcp_err){0};
		if (trust_open_file(root->data_fd, rel, root->data, out, &why) == 0)
			return 0;
	}
	/* ENOENT is an answer that callers act on: only the system may give it */
	if (why.code != HCP_E_SYS)
		errno = EPERM;
	return hcp_fail(err, why.code, "%s", why.text);
}

int root_read(const struct root *root, const char *rel, bool fallback, size_t limit, char **out,
	      size_t *len, struct hcp_err *err)
{
	struct hcp_err why = {0};
	AUTO_FD fd = -1;

	*out = NULL;
	*len = 0;
	if (root_open_file(root, rel, fallback, &fd, err) < 0)
		return -1;
	if (fd_read_all(fd, limit, out, len, &why) == 0)
		return 0;
	errno = EIO; /* never taken for a file that isn't there */
	return hcp_fail(err, why.code, "%s: %s", rel, why.text);
}
