/* SPDX-License-Identifier: MIT */
/* The operator's policy: who is granted what, and what each pack may touch. Loading is strict
 * and whole: one wrong file and nothing runs. Matching is pure. Order of files and entries
 * never matters; deny wins; what isn't granted is denied. */
#ifndef HCP_POLICY_POLICY_H
#define HCP_POLICY_POLICY_H

#include "pack/pack.h"
#include "root/root.h"

#include <jansson.h>

extern const struct conf_table policy_file_table; /* every key of an operator's policy */

enum policy_mode { POLICY_SANDBOX = 0, POLICY_NATIVE_LOCAL };
enum policy_tier { POLICY_STRONG = 0, POLICY_LIGHT }; /* the zero value asks for most */
enum policy_network { POLICY_NET_NONE = 0, POLICY_NET_CONNECT, POLICY_NET_HOST };

/* Bytes and milliseconds; 0: not set. In a block's sandbox and once policy_limits has filled
 * in, all are set. */
struct policy_limits {
	int64_t timeout_ms, cpu_ms, memory, output, file, processes, open_files, workspace;
};

struct policy_bin {
	const char *path;   /* compared with the manifest's spelling */
	const char *sha256; /* 64 hex, or NULL */
};
struct policy_folder {
	const char *name; /* workspaces: its name; read/write: NULL */
	const char *path; /* absolute, resolved at load: no link in it */
	bool write;
};
struct policy_sandbox {
	enum policy_mode mode;
	const char *because; /* native-local's reason */
	enum policy_tier tier;
	enum policy_network network;
	uint16_t *connect_ports;
	size_t connect_count;
	struct policy_folder *read, *write;
	size_t read_count, write_count;
	const char *user; /* a uid in digits, never 0; NULL: 65534 */
	struct policy_limits limits;
};
struct policy_overlay {
	const char *verb_key;
	bool confirm, confirm_person, land_brain;
	const char *guard; /* NULL: none */
	struct conf_strings capabilities;
	const char *deny;            /* the reason; NULL: not denied */
	struct policy_limits limits; /* 0: not set */
	const char *file;
	int line, column;
};
struct policy_pack {
	const char *pack_id, *digest;
	bool bootstrap;
	struct policy_bin *bins;
	size_t bin_count;
	struct conf_strings exec;
	bool exec_given;
	struct policy_sandbox sandbox;
	struct policy_folder *workspaces;
	size_t workspace_count;
	struct conf_strings mint_hosts, mint_secrets, http_hosts;
	const struct yaml_node *mint_with;
	struct policy_overlay *overlays;
	size_t overlay_count;
	const char *file;
	int line;
};
struct policy_auth {
	const char *provider;
	int when_token;        /* 0: not asked; 1: token must be there; -1: must not */
	const char *when_face; /* NULL: any */
	struct conf_strings hosts, secrets;
	const struct yaml_node *with; /* NULL: none */
	const char *file;
	int line;
};
/* Where something was written, and as the how-manieth of all. */
struct policy_place {
	const char *file;
	int line, column;
	size_t nth;
};
struct policy; /* opaque; owned by a configuration snapshot */

/* Reads an operator's policy of the root. No folder or no file: an empty policy, which denies
 * everything. Checks every name it can: providers and guards exist (with fallback), roles are
 * defined, host paths exist and don't overlap root, state, secrets or '/'. */
int policy_load(struct root *root, const struct settings *set, struct policy **out,
		struct hcp_err *err) HCP_MUST_CHECK;
/* The same for lint: every fault goes to `all`, and *out is what could be read of it, to be
 * looked at and never to decide by. The caller frees it, also after -1. */
int policy_load_faults(struct root *root, const struct settings *set, struct policy **out,
		       struct conf_faults *all, struct hcp_err *err) HCP_MUST_CHECK;
void policy_free(struct policy *p);
/* "sha256:…" over file names and bytes; NULL without a policy. */
const char *policy_digest(const struct policy *p);

/* A pack's block, NULL where the operator has none (then no bin is allowed and defaults hold).
 */
const struct policy_pack *policy_pack(const struct policy *p, const char *pack_id);
const struct policy_pack *policy_pack_at(const struct policy *p, size_t i); /* NULL: no more */
const struct policy_overlay *policy_overlay(const struct policy_pack *pp, const char *verb_key);
/* The sandbox and limits that hold without a block. */
const struct policy_pack *policy_pack_default(void);

/* Which provider decides for this request; NULL: none fits, so the run is unauthenticated. */
const struct policy_auth *policy_auth_for(const struct policy *p, bool has_token,
					  const char *face);

/* Who asks. Strings are the run's arena's. */
struct principal {
	const char *id;         /* NULL: nobody */
	const char *own_tenant; /* NULL: none of its own */
	const char *own_project;
	struct conf_strings tenants, projects, roles;
	int64_t expires_at_ms; /* epoch; 0: never */
	const json_t *claims;  /* or NULL */
	const char *tenant;    /* resolved by policy_identity: never NULL afterwards */
	const char *project;   /* NULL: none */
};
/* Adds what `principals:` knows, then resolves tenant and project. Errors are the envelope's:
 * "denied: tenant <t>", "denied: project <p>", "denied: privacy.land brain requires
 * project_id", "denied: unknown role <r>". */
int policy_identity(const struct policy *p, struct principal *who, const char *asked_tenant,
		    const char *asked_project, bool land_brain, struct arena *a,
		    struct hcp_err *err) HCP_MUST_CHECK;
/* Asserts every capability: the pack's order then the overlay's; then the overlay's deny.
 * Errors are the envelope's: "denied: missing <capability> for <pack>.<verb>", "denied:
 * <reason>". */
int policy_permit(const struct policy *p, const struct principal *who, const struct pack *pack,
		  const struct pack_command *cmd, const struct policy_overlay *overlay,
		  struct hcp_err *err) HCP_MUST_CHECK;
/* Why a capability is granted: what gives it, the role it comes through (NULL: none) and what
 * gave that role to the principal (NULL: its provider). */
struct policy_reason {
	const struct policy_place *gives, *gives_role;
	const char *role;
};
/* The predicate of policy_permit. `who` is resolved. *why is the first that is found; NULL: not
 * asked. */
bool policy_grants(const struct policy *p, const struct principal *who, const char *capability,
		   struct policy_reason *why);
/* Everybody whom the policy names and policy_permit lets: [{principal or role, tenants}].
 * `tenants` is missing where any will do. A name that ends in "*" stands for all that begin so;
 * a role for whoever has it. A new reference; NULL: out of memory. */
json_t *policy_who_json(const struct policy *p, const struct pack *pack,
			const struct pack_command *cmd, const struct policy_overlay *overlay);
/* The `principals:` entry of an id; NULL: the operator knows nothing of it. */
const struct policy_place *policy_principal_place(const struct policy *p, const char *id);
/* The name of a public key among `signers:`; NULL: it is none of them. */
const char *policy_signer(const struct policy *p, const char *key);
/* Whether what is signed with `key` (NULL: not at all) may be added and used. Without
 * `signers:` anything may. */
int policy_check_signer(const struct policy *p, const char *key,
			struct hcp_err *err) HCP_MUST_CHECK;
/* Called when a pack meets its block: signer, digest pin, overlays naming verbs the pack lacks,
 * bootstrap. Error text is what follows "unknown pack <id>: " (digest, bootstrap) or "config: "
 * (HCP_E_CONFIG, with place). */
int policy_check_pack(const struct policy *p, const struct pack *pack,
		      struct hcp_err *err) HCP_MUST_CHECK;
/* An overlay for a verb that isn't there tightens nothing. */
int policy_check_overlay(const struct policy_overlay *o, const struct pack *pack,
			 struct hcp_err *err) HCP_MUST_CHECK;
/* The smaller of block, overlay and the command's own timeout. */
void policy_limits(const struct policy_pack *pp, const struct policy_overlay *overlay,
		   const struct pack_command *cmd, struct policy_limits *out);

#endif
