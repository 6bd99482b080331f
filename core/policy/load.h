/* SPDX-License-Identifier: MIT */
/* Private to policy/: what a loaded policy holds, what the tables fill in, and the parts of the
 * loader. Once policy_load has returned nothing of it changes. */
#ifndef HCP_POLICY_LOAD_H
#define HCP_POLICY_LOAD_H

#include "policy/policy.h"

struct policy_principal {
	const char *id;
	struct conf_strings tenants, projects, roles;
	const char *tenant;
	struct policy_place at;
};
struct policy_role {
	const char *name;
	struct conf_strings capabilities;
	struct policy_place at;
};
struct policy_signer {
	const char *name, *key; /* 64 hex digits */
	struct policy_place at;
};
struct policy_grant {
	const char *principal, *role; /* one of them is NULL */
	struct conf_strings capabilities, roles, tenants;
	struct policy_place at;
};
struct policy_block {
	struct policy_pack pack;
	struct policy_place at;
};

/* principals, roles and blocks are sorted by name, and no name is there twice. */
struct policy {
	struct arena arena;
	bool auth_given; /* an empty list of providers is none, not the default one */
	struct policy_auth *auth;
	size_t auth_count;
	struct policy_place auth_at;
	struct policy_principal *principals;
	size_t principal_count;
	struct policy_role *roles;
	size_t role_count;
	struct policy_grant *grants;
	size_t grant_count;
	bool signers_given; /* an empty list trusts nobody */
	struct policy_signer *signers;
	size_t signer_count;
	struct policy_block *blocks;
	size_t block_count;
	char digest[72];
};
const struct policy_role *policy_find_role(const struct policy *p, const char *name);
const struct policy_principal *policy_find_principal(const struct policy *p, const char *id);
/* Adds to `who` what `principals:` says of its id. */
int policy_add_known(const struct policy *p, struct principal *who, struct arena *a,
		     struct hcp_err *err) HCP_MUST_CHECK;
/* `roles:` or a grant to it says what the role may do. */
bool policy_role_is_defined(const struct policy *p, const char *name);

/* A folder that no pack may be let into. */
struct policy_kept {
	const char *path, *what;
	bool write_only; /* reading it does no harm */
};
struct policy_loader {
	struct policy *policy;
	struct conf_faults *all; /* NULL: the first fault ends the loading */
	const struct root *root;
	const struct settings *set;
	struct conf_ctx ctx;
	struct policy_kept *kept;
	size_t kept_count;
	size_t nth;
};
int policy_loader_begin(struct policy_loader *l, struct policy *p, const struct root *root,
			const struct settings *set, struct hcp_err *err) HCP_MUST_CHECK;
/* Whether the next part is to be read, once `rc` says how the last one ended. */
static inline bool policy_goes_on(const struct policy_loader *l, int rc)
{
	return rc == 0 || l->all;
}
/* One file's text; `file` is how messages spell it. */
int policy_loader_text(struct policy_loader *l, const char *file, const char *text, size_t len,
		       struct hcp_err *err) HCP_MUST_CHECK;
/* What can be judged only once every file was read. */
int policy_loader_end(struct policy_loader *l, struct hcp_err *err) HCP_MUST_CHECK;

struct policy_place policy_place_of(struct policy_loader *l, const struct yaml_node *n);
int policy_fail_again(const struct policy_loader *l, struct hcp_err *err,
		      const struct policy_place *first, const struct policy_place *again,
		      const char *what, const char *name) __attribute__((cold));
/* Room for `add` more elements behind `count`. */
int policy_grow(struct arena *a, void *items, size_t count, size_t add, size_t size,
		struct hcp_err *err) HCP_MUST_CHECK;
/* policies/<folder>/<name>.lua is there and can be trusted. */
int policy_check_script(const struct policy_loader *l, const struct yaml_node *at,
			const char *folder, const char *what, const char *name,
			struct hcp_err *err) HCP_MUST_CHECK;

int policy_read_blocks(struct policy_loader *l, const struct yaml_node *packs,
		       struct hcp_err *err) HCP_MUST_CHECK;
int policy_read_sandbox(const struct policy_loader *l, const struct yaml_node *map,
			struct policy_sandbox *out, struct hcp_err *err) HCP_MUST_CHECK;
int policy_read_limits(const struct policy_loader *l, const struct yaml_node *map,
		       struct policy_limits *out, struct hcp_err *err) HCP_MUST_CHECK;
int policy_read_overlays(const struct policy_loader *l, const struct yaml_node *map,
			 struct policy_pack *out, struct hcp_err *err) HCP_MUST_CHECK;

int policy_keep_folders(struct policy_loader *l, struct hcp_err *err) HCP_MUST_CHECK;
/* Judges one host path: absolute, as the file system spells it, there, and clear of what is
 * kept.
 */
int policy_check_folder(const struct policy_loader *l, const struct yaml_node *at,
			const char *path, bool write, bool folder,
			struct hcp_err *err) HCP_MUST_CHECK;

/* What the tables fill in. */
struct policy_file_conf {
	int64_t hcp;
	const struct yaml_node *auth, *principals, *roles, *grants, *signers, *packs;
};
struct policy_signer_conf {
	const char *key;
};
struct policy_when_conf {
	enum conf_bool token;
	int face;
};
struct policy_auth_conf {
	struct policy_when_conf when;
	const char *provider;
	struct conf_strings hosts, secrets;
	const struct yaml_node *with;
};
struct policy_role_conf {
	struct conf_strings capabilities;
};
struct policy_mint_conf {
	struct conf_strings hosts, secrets;
	const struct yaml_node *with;
};
struct policy_http_conf {
	struct conf_strings hosts;
};
struct policy_block_conf {
	const char *digest;
	enum conf_bool bootstrap;
	const struct yaml_node *bins, *sandbox, *workspaces, *commands;
	struct conf_strings exec;
	struct policy_mint_conf mint;
	struct policy_http_conf http;
};
struct policy_bin_conf {
	const char *path, *sha256;
};
struct policy_sandbox_conf {
	int mode, tier;
	const char *because;
	const struct yaml_node *network, *read, *write, *user, *limits;
};
struct policy_workspace_conf {
	const char *path;
	enum conf_bool write;
};
struct policy_privacy_conf {
	int land;
};
struct policy_overlay_conf {
	const struct yaml_node *confirm, *limits;
	const char *guard, *deny;
	struct conf_strings capability;
	struct policy_privacy_conf privacy;
};
extern const struct conf_table policy_auth_table, policy_principal_table, policy_grant_table,
    policy_block_table, policy_bin_table, policy_sandbox_table, policy_workspace_table,
    policy_overlay_table, policy_limits_table;
/* The values of `roles: { <name>: … }` and `signers:`, and an entry of `bins:` that is a
 * string.
 */
extern const struct conf_field policy_role_row, policy_bin_row, policy_signer_row;
const char *policy_face_name(int index);

/* Each NULL, or what the text must be. */
const char *policy_check_word(const char *s);
const char *policy_check_id(const char *s);

#endif
