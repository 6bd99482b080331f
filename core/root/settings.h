/* SPDX-License-Identifier: MIT */
/* Private to root/: hcp.yaml, and the opening of a root with the system's folder as an
 * argument, so that tests can judge `lock` without writing to /etc. */
#ifndef HCP_ROOT_SETTINGS_H
#define HCP_ROOT_SETTINGS_H

#include "root/root.h"

#define ROOT_SYSTEM "/etc/hcp"

/* Every key of hcp.yaml. */
extern const struct conf_table root_settings_table;

/* Reads hcp.yaml of an opened root; `shown` is the root as messages spell it, `real` its
 * absolute path, from which relative paths count. No file: the defaults. `all` may be NULL. */
int root_settings_read(struct arena *a, int fd, const char *shown, const char *real,
		       struct conf_faults *all, struct settings *out,
		       struct hcp_err *err) HCP_MUST_CHECK;

int root_open_with(struct root *root, struct settings *set, const struct root_request *req,
		   const char *system, struct hcp_err *err) HCP_MUST_CHECK;

/* base and path joined, without slashes at the end; path alone where it is absolute. NULL: out
 * of memory. */
const char *root_join(struct arena *a, const char *base, const char *path);

#endif
