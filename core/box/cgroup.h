/* SPDX-License-Identifier: MIT */
#ifndef HCP_BOX_CGROUP_H
#define HCP_BOX_CGROUP_H

#include "base/err.h"
#include "policy/policy.h"

/* A run's own cgroup. fd -1: it has none. */
struct cgroup {
	int parent_fd, fd;
	char name[64];
	int64_t cpu_limit_us;
	int cpus;
};
#define CGROUP_NONE ((struct cgroup){.parent_fd = -1, .fd = -1})

/* Makes <parent>/hcp-<run_id> with the limits (cgroup v2, cgroups(7)) and holds a lock on it;
 * what killed runtimes left beside it is swept. Fails as `sandbox: cgroup unavailable: ...`. */
int cgroup_open(const char *parent, const char *run_id, const struct policy_limits *limits,
		struct cgroup *out, struct hcp_err *err) HCP_MUST_CHECK;
/* How long, nanoseconds, the tree can't yet be over its processor time: 0 when it is. */
int64_t cgroup_cpu_left_ns(const struct cgroup *c);
/* Kills what is in it, waits for its end and removes it. */
int cgroup_close(struct cgroup *c, struct hcp_err *err) HCP_MUST_CHECK;

#endif
