/* SPDX-License-Identifier: MIT */
/* Every key of an operator's policy, a row each: the loader, its messages and the published
 * schema all read these tables. A key that has no row here doesn't exist. */
#include "policy/load.h"

#include "base/limits.h"
#include "base/str.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ROW(conf, k, t, member, text, ...)                                                     \
	{                                                                                      \
		.key = k, .type = t, .offset = offsetof(struct conf, member), .doc = text,     \
		__VA_ARGS__                                                                    \
	}

#define A_STRING  "{\"type\": \"string\"}"
#define STRINGS   "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"
#define A_USER    "{\"type\": [\"string\", \"integer\"]}"
#define A_CONFIRM "{\"enum\": [true, \"person\"]}"
#define A_PORT    "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 65535}"
#define A_NETWORK                                                                              \
	"{\"anyOf\": [{\"enum\": [\"none\", \"host\"]}, {\"type\": \"object\", "               \
	"\"properties\": "                                                                     \
	"{\"connect\": {\"type\": \"array\", \"minItems\": 1, \"items\": " A_PORT              \
	"}}, \"required\": [\"connect\"], \"additionalProperties\": false}]}"

static const char hex_digits[] = "0123456789abcdef";

static bool is_line(const char *s, size_t most)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	return len > 0 && len <= most;
}

const char *policy_check_word(const char *s)
{
	if (!is_line(s, LIMIT_PRINCIPAL))
		return "must be one line of 1 to 256 bytes";
	return strchr(s, '*') ? "can't hold \"*\" here" : NULL;
}

const char *policy_check_id(const char *s)
{
	return name_is_id(s)
		   ? NULL
		   : "must be 1 to 64 of A-Z a-z 0-9 . _ -, begin with a letter or digit and "
		     "hold no \"..\"";
}

/* "user:*": a wildcard in the middle would read as one and not be one. */
static const char *check_principal(const char *s)
{
	const char *star = strchr(s, '*');

	if (!is_line(s, LIMIT_PRINCIPAL))
		return "must be one line of 1 to 256 bytes";
	return star && star[1] ? "may hold \"*\" at its end only" : NULL;
}

/* "*", "ledger.*" or exactly one capability. */
static const char *check_capability(const char *s)
{
	const char *star = strchr(s, '*');

	if (!is_line(s, LIMIT_PRINCIPAL))
		return "must be one line of 1 to 256 bytes";
	if (!star || strcmp(s, "*") == 0)
		return NULL;
	return star[1] || star - s < 2 || star[-1] != '.' ? "may be \"*\" or end in \".*\""
							  : NULL;
}

static const char *check_reason(const char *s)
{
	return is_line(s, 512) ? NULL : "must be one line that says why";
}

static const char *check_sha256(const char *s)
{
	return strlen(s) == 64 && strspn(s, hex_digits) == 64
		   ? NULL
		   : "must be 64 hexadecimal digits in lower case";
}

static const char *check_digest(const char *s)
{
	return str_starts(s, "sha256:") && !check_sha256(s + 7)
		   ? NULL
		   : "must be \"sha256:\" and 64 hexadecimal digits in lower case";
}

/* The spelling of a manifest's `bin`. */
static const char *check_bin(const char *s)
{
	bool path = *s == '/' || *s == '.';

	if (!is_line(s, 4096) || (!path && strchr(s, '/')))
		return "must be ./inside/the/pack, /an/absolute/path or a bare name";
	return NULL;
}

static const char *check_absolute(const char *s)
{
	return *s == '/' && is_line(s, 4096) ? NULL : "must be an absolute path";
}

/* host:port, an IPv6 address in brackets, http:// in front where TLS isn't wanted; no wildcard:
 * what isn't one name isn't judged. */
static const char *check_host(const char *s)
{
	static const char *const wrong = "must be host:port, like api.example.com:443";
	static const char name[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	unsigned port = 0;
	size_t host;

	if (str_starts(s, "http://"))
		s += 7;
	host = *s == '[' ? strspn(s + 1, "0123456789abcdefABCDEF:.") + 1 : strspn(s, name);
	if (*s == '[' && (host < 3 || s[host++] != ']'))
		return wrong;
	if (!host || s[host] != ':')
		return wrong;
	for (s += host + 1; *s >= '0' && *s <= '9' && port < 65536; s++)
		port = port * 10 + (unsigned)(*s - '0');
	return *s || !port || port > 65535 ? wrong : NULL;
}

static const char *const face_names[] = {"library", "cli", "stdio", "socket",
					 "http",    "mcp", NULL};
static const char *const mode_names[] = {"sandbox", "native-local", NULL};
static const char *const tier_names[] = {"strong", "light", NULL};
static const char *const land_names[] = {"brain", NULL}; /* local would loosen */

const char *policy_face_name(int index)
{
	return index > 0 && (size_t)index < COUNT(face_names) ? face_names[index - 1] : NULL;
}

static const struct conf_field file_rows[] = {
    ROW(policy_file_conf, "hcp", CONF_INT, hcp, "format version: 1", .required = true,
	.shape = "{\"const\": 1}"),
    ROW(policy_file_conf, "auth", CONF_NODE, auth, "who says who asks; the first that fits",
	.sub = &policy_auth_table, .each = &policy_auth_table),
    ROW(policy_file_conf, "principals", CONF_MAP, principals, "what is known of principals",
	.each = &policy_principal_table),
    ROW(policy_file_conf, "roles", CONF_MAP, roles, "lists of capabilities by name",
	.shape = STRINGS),
    ROW(policy_file_conf, "grants", CONF_LIST, grants, "who may do what",
	.each = &policy_grant_table),
    ROW(policy_file_conf, "signers", CONF_MAP, signers,
	"public keys by name; packs that are added must be signed with one", .shape = A_STRING),
    ROW(policy_file_conf, "packs", CONF_MAP, packs, "what each pack may touch",
	.each = &policy_block_table),
};
const struct conf_table policy_file_table = CONF_ROWS("a policy", file_rows);

static const struct conf_field when_rows[] = {
    ROW(policy_when_conf, "token", CONF_BOOL, token, "whether the caller gave a token"),
    ROW(policy_when_conf, "face", CONF_ENUM, face, "the way the call came",
	.names = face_names),
};
static const struct conf_table when_table = CONF_ROWS("when", when_rows);

static const struct conf_field auth_rows[] = {
    ROW(policy_auth_conf, "when", CONF_TABLE, when, "what it decides for", .sub = &when_table),
    ROW(policy_auth_conf, "provider", CONF_STRING, provider, "policies/auth/<provider>.lua",
	.required = true, .check = policy_check_id),
    ROW(policy_auth_conf, "hosts", CONF_STRINGS, hosts, "hosts it may ask",
	.check = check_host),
    ROW(policy_auth_conf, "secrets", CONF_STRINGS, secrets, "secrets it may use",
	.check = policy_check_id),
    ROW(policy_auth_conf, "with", CONF_MAP, with, "what it is told"),
};
const struct conf_table policy_auth_table = CONF_ROWS("an auth entry", auth_rows);

static const struct conf_field principal_rows[] = {
    ROW(policy_principal, "tenants", CONF_STRINGS, tenants, "tenants it may act in",
	.check = policy_check_id),
    ROW(policy_principal, "tenant", CONF_STRING, tenant, "the one where none is asked for",
	.check = policy_check_id),
    ROW(policy_principal, "projects", CONF_STRINGS, projects, "projects it may act in",
	.check = policy_check_id),
    ROW(policy_principal, "roles", CONF_STRINGS, roles, "its roles",
	.check = policy_check_word),
};
const struct conf_table policy_principal_table = CONF_ROWS("a principal", principal_rows);

const struct conf_field policy_role_row =
    ROW(policy_role_conf, "role", CONF_STRINGS, capabilities, "the role's capabilities",
	.check = check_capability);

const struct conf_field policy_signer_row =
    ROW(policy_signer_conf, "signers", CONF_STRING, key, "a public key", .check = check_sha256);

static const struct conf_field grant_rows[] = {
    ROW(policy_grant, "principal", CONF_STRING, principal, "to whom; may end in *",
	.check = check_principal),
    ROW(policy_grant, "role", CONF_STRING, role, "to whoever has the role",
	.check = policy_check_word),
    ROW(policy_grant, "capabilities", CONF_STRINGS, capabilities, "what",
	.check = check_capability),
    ROW(policy_grant, "roles", CONF_STRINGS, roles, "as whom", .check = policy_check_word),
    ROW(policy_grant, "tenants", CONF_STRINGS, tenants, "in which tenants only",
	.check = policy_check_id),
};
const struct conf_table policy_grant_table = CONF_ROWS("a grant", grant_rows);

static const struct conf_field mint_rows[] = {
    ROW(policy_mint_conf, "hosts", CONF_STRINGS, hosts, "hosts the hook may ask",
	.check = check_host),
    ROW(policy_mint_conf, "secrets", CONF_STRINGS, secrets, "secrets the hook may use",
	.check = policy_check_id),
    ROW(policy_mint_conf, "with", CONF_MAP, with, "what the hook is told"),
};
static const struct conf_table mint_table = CONF_ROWS("mint", mint_rows);

static const struct conf_field http_rows[] = {
    ROW(policy_http_conf, "hosts", CONF_STRINGS, hosts, "hosts its commands may ask",
	.check = check_host),
};
static const struct conf_table http_table = CONF_ROWS("http", http_rows);

static const struct conf_field block_rows[] = {
    ROW(policy_block_conf, "digest", CONF_STRING, digest, "only exactly this pack",
	.check = check_digest),
    ROW(policy_block_conf, "bootstrap", CONF_BOOL, bootstrap,
	"it may hand its program's whole command line to the caller"),
    ROW(policy_block_conf, "bins", CONF_LIST, bins, "programs it may run",
	.each = &policy_bin_table, .shape = A_STRING),
    ROW(policy_block_conf, "exec", CONF_STRINGS, exec, "what else they may execute",
	.check = check_bin),
    ROW(policy_block_conf, "sandbox", CONF_MAP, sandbox, "what its programs may touch",
	.sub = &policy_sandbox_table),
    ROW(policy_block_conf, "workspaces", CONF_MAP, workspaces, "host folders by name",
	.each = &policy_workspace_table),
    ROW(policy_block_conf, "mint", CONF_TABLE, mint, "its mint hook", .sub = &mint_table),
    ROW(policy_block_conf, "http", CONF_TABLE, http, "its HTTP commands", .sub = &http_table),
    ROW(policy_block_conf, "commands", CONF_MAP, commands, "what is tightened, by verb",
	.each = &policy_overlay_table),
};
const struct conf_table policy_block_table = CONF_ROWS("a pack's block", block_rows);

const struct conf_field policy_bin_row =
    ROW(policy_bin_conf, "bins", CONF_STRING, path, "a program", .check = check_bin);

static const struct conf_field bin_rows[] = {
    ROW(policy_bin_conf, "path", CONF_STRING, path, "as the manifest spells it",
	.required = true, .check = check_bin),
    ROW(policy_bin_conf, "sha256", CONF_STRING, sha256, "only exactly this program",
	.check = check_sha256),
};
const struct conf_table policy_bin_table = CONF_ROWS("a bin", bin_rows);

static const struct conf_field sandbox_rows[] = {
    ROW(policy_sandbox_conf, "mode", CONF_ENUM, mode, "sandbox, or none at all",
	.names = mode_names),
    ROW(policy_sandbox_conf, "because", CONF_STRING, because, "why native-local",
	.check = check_reason),
    ROW(policy_sandbox_conf, "tier", CONF_ENUM, tier, "the least that will do",
	.names = tier_names),
    ROW(policy_sandbox_conf, "network", CONF_NODE, network, "none, host or { connect: [443] }",
	.shape = A_NETWORK),
    ROW(policy_sandbox_conf, "read", CONF_LIST, read, "further host paths, read-only",
	.shape = A_STRING),
    ROW(policy_sandbox_conf, "write", CONF_LIST, write, "further host paths, writable",
	.shape = A_STRING),
    ROW(policy_sandbox_conf, "user", CONF_NODE, user, "whom a runtime of root's runs it as",
	.shape = A_USER),
    ROW(policy_sandbox_conf, "limits", CONF_MAP, limits, "time, memory and the like",
	.sub = &policy_limits_table),
};
const struct conf_table policy_sandbox_table = CONF_ROWS("sandbox", sandbox_rows);

static const struct conf_field limits_rows[] = {
    ROW(policy_limits, "timeout", CONF_DURATION, timeout_ms, "time from start to end"),
    ROW(policy_limits, "cpu", CONF_DURATION, cpu_ms, "processor time"),
    ROW(policy_limits, "memory", CONF_SIZE, memory, "memory"),
    ROW(policy_limits, "output", CONF_SIZE, output, "each of stdout and stderr"),
    ROW(policy_limits, "file", CONF_SIZE, file, "the largest file"),
    ROW(policy_limits, "processes", CONF_INT, processes, "processes and threads at once"),
    ROW(policy_limits, "open_files", CONF_INT, open_files, "open files of a process"),
    ROW(policy_limits, "workspace", CONF_SIZE, workspace, "all files of a kept workspace"),
};
const struct conf_table policy_limits_table = CONF_ROWS("limits", limits_rows);

static const struct conf_field workspace_rows[] = {
    ROW(policy_workspace_conf, "path", CONF_STRING, path, "a host folder", .required = true,
	.check = check_absolute),
    ROW(policy_workspace_conf, "write", CONF_BOOL, write, "whether it may be written"),
};
const struct conf_table policy_workspace_table = CONF_ROWS("a workspace", workspace_rows);

static const struct conf_field privacy_rows[] = {
    ROW(policy_privacy_conf, "land", CONF_ENUM, land, "where what it makes goes",
	.names = land_names),
};
static const struct conf_table privacy_table = CONF_ROWS("privacy", privacy_rows);

static const struct conf_field overlay_rows[] = {
    ROW(policy_overlay_conf, "confirm", CONF_NODE, confirm, "true, or person",
	.shape = A_CONFIRM),
    ROW(policy_overlay_conf, "guard", CONF_STRING, guard, "policies/guards/<guard>.lua",
	.check = policy_check_id),
    ROW(policy_overlay_conf, "capability", CONF_ONE_OR_MORE, capability,
	"what is needed besides", .check = policy_check_word),
    ROW(policy_overlay_conf, "privacy", CONF_TABLE, privacy, "privacy of what it makes",
	.sub = &privacy_table),
    ROW(policy_overlay_conf, "limits", CONF_MAP, limits, "smaller limits",
	.sub = &policy_limits_table),
    ROW(policy_overlay_conf, "deny", CONF_STRING, deny, "the reason why nobody may",
	.check = check_reason),
};
const struct conf_table policy_overlay_table = CONF_ROWS("an overlay", overlay_rows);
