/* SPDX-License-Identifier: MIT */
/* A configuration that was read whole, or the reason why none was: then every run is denied
 * with it. Immutable once opened, shared by the runs that began with it. */
#include "runtime/runtime.h"

#include "base/fd.h"

#include <stdlib.h>
#include <time.h>

struct root_request runtime_root_request(const hcp_options *o, const char *data)
{
	struct root_request q = {
	    .root = o->root,
	    .state = o->state,
	    .data = data,
	    .env_root = secure_getenv("HCP_ROOT"),
	    .env_state = secure_getenv("HCP_STATE"),
	    .xdg_config_home = secure_getenv("XDG_CONFIG_HOME"),
	    .xdg_state_home = secure_getenv("XDG_STATE_HOME"),
	    .home = secure_getenv("HOME"),
	    .brings_provider = host_brings_provider,
	    .host = o,
	};
	return q;
}

static int load(struct snapshot *s, const hcp_options *o)
{
	AUTO_FREE char *data = where_data();
	struct root_request q = runtime_root_request(o, data);
	int64_t began = (int64_t)time(NULL);

	if (root_open(&s->root, &s->set, &q, &s->broken) < 0)
		return -1;
	snapshot_stamp(&s->root, &s->set, began, &s->stamp);
	/* the log first: what a broken policy denies is on record, too */
	if (o->read_only ? root_find_state(&s->root, &s->broken) < 0
			 : root_open_state(&s->root, &s->broken) < 0 ||
			       audit_open(&s->root, &s->set, &s->audit, &s->broken) < 0)
		return -1;
	if (s->set.ca && root_read(&s->root, s->set.ca, false, LIMIT_YAML, &s->ca, &s->ca_len,
				   &s->broken) < 0)
		return -1;
	return policy_load(&s->root, &s->set, &s->policy, &s->broken);
}

struct snapshot *snapshot_open(const hcp_options *o)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	pack_cache_init(&s->packs);
	s->root.fd = s->root.state_fd = s->root.data_fd = -1;
	if (load(s, o) < 0 && s->broken.code == HCP_E_NONE)
		hcp_fail(&s->broken, HCP_E_CONFIG, "the configuration could not be read");
	return s;
}

void snapshot_put(struct snapshot *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	pack_cache_free(&s->packs);
	audit_close(s->audit);
	policy_free(s->policy);
	free(s->ca);
	root_close(&s->root);
	free(s);
}
