/* SPDX-License-Identifier: MIT */
/* Every key of pack.yaml and policy.yaml, a row each: the loader, its messages and the
 * published schema all read these tables. A key that has no row here doesn't exist. */
#include "pack/manifest.h"

#include "base/limits.h"
#include "base/str.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ROW(conf, k, t, member, text, ...)                                                     \
	{                                                                                      \
		.key = k, .type = t, .offset = offsetof(struct conf, member), .doc = text,     \
		__VA_ARGS__                                                                    \
	}

#define A_STRING "{\"type\": \"string\"}"

static bool is_one_line(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static const char *check_line(const char *s)
{
	return is_one_line(s) ? NULL : "must be one line of text";
}

static const char *check_id(const char *s)
{
	return name_is_id(s)
		   ? NULL
		   : "must be 1 to 64 of A-Z a-z 0-9 . _ -, begin with a letter or digit and "
		     "hold no \"..\"";
}

/* One identifier of semver.org's items 9 and 10. */
static bool is_semver_word(const char *s, size_t n, bool prerelease)
{
	size_t digits = strspn(s, "0123456789");

	if (!n ||
	    strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") < n)
		return false;
	return !(prerelease && digits >= n && n > 1 && s[0] == '0');
}

static bool is_semver_words(const char *s, size_t n, bool prerelease)
{
	for (;;) {
		const char *dot = memchr(s, '.', n);
		size_t word = dot ? (size_t)(dot - s) : n;

		if (!is_semver_word(s, word, prerelease))
			return false;
		if (!dot)
			return true;
		s += word + 1;
		n -= word + 1;
	}
}

static const char *check_semver(const char *s)
{
	static const char *const wrong = "must be a version like 1.0.0 (semver.org)";
	const char *plus = strchr(s, '+'), *dash, *end = s + strlen(s);

	if (plus && !is_semver_words(plus + 1, (size_t)(end - plus - 1), false))
		return wrong;
	if (plus)
		end = plus;
	for (int i = 0; i < 3; i++) {
		size_t n = strspn(s, "0123456789");

		if (!n || (n > 1 && s[0] == '0') || s + n > end || (i < 2 && s[n] != '.'))
			return wrong;
		s += n + (i < 2);
	}
	dash = *s == '-' ? s + 1 : NULL;
	if (dash ? !is_semver_words(dash, (size_t)(end - dash), true) : s != end)
		return wrong;
	return NULL;
}

static const char *check_kind(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	if (s[0] >= 'a' && s[0] <= 'z' && !s[n] && n <= LIMIT_ID)
		return NULL;
	return "must be 1 to 64 of a-z 0-9 _ -, beginning with a letter";
}

static const char *check_program(const char *s)
{
	if (is_one_line(s) && (s[0] == '/' || !strchr(s, '/')))
		return NULL;
	return "must be the name of a program or an absolute path";
}

bool pack_path_is_inside(const char *path)
{
	for (const char *end;; path = end + 1) {
		size_t n;

		end = strchrnul(path, '/');
		n = (size_t)(end - path);
		if (!n || (n == 1 && path[0] == '.') || (n == 2 && !memcmp(path, "..", 2)))
			return false;
		if (!*end)
			return true;
	}
}

static const char *check_inside(const char *s)
{
	return is_one_line(s) && pack_path_is_inside(s) ? NULL
							: "must be a path inside the pack";
}

/* "./x" is the pack's, "/x" the host's, "x" is looked up in the fixed PATH. "x/y" would be
 * relative to a working directory that nobody chose. */
static const char *check_bin(const char *s)
{
	if (!is_one_line(s))
		return "must be the path or name of a program";
	if (s[0] != '.' && s[0] != '/' && strchr(s, '/'))
		return "must begin with \"./\" or \"/\", or be a name without \"/\"";
	for (const char *p = s; (p = strstr(p, "..")); p += 2)
		if ((p == s || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return "may not hold \"..\"";
	return s[strlen(s) - 1] == '/' || !strcmp(s, ".") ? "must name a file" : NULL;
}

const char *pack_check_env_name(const char *s)
{
	static const char *const reserved[] = {"PATH", "ENV", "BASH_ENV"};
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	if (!n || s[n] || (s[0] >= '0' && s[0] <= '9'))
		return "must be the name of an environment variable";
	/* these decide what a program loads, what a shell runs, or what the runtime says */
	if (str_starts(s, "LD_") || str_starts(s, "HCP_"))
		return "may not begin with LD_ or HCP_";
	for (size_t i = 0; i < COUNT(reserved); i++)
		if (str_eq(s, reserved[i]))
			return "may not be PATH, ENV or BASH_ENV";
	return NULL;
}

/* The pack id may hold dots, too, so any split that makes both halves legal will do. */
static const char *check_use(const char *s)
{
	char id[LIMIT_ID + 1];

	for (const char *dot = s; (dot = strchr(dot, '.')); dot++) {
		size_t n = (size_t)(dot - s);

		if (n > LIMIT_ID)
			break;
		memcpy(id, s, n);
		id[n] = '\0';
		if (name_is_id(id) && name_is_verb(dot + 1))
			return NULL;
	}
	return "must be a command of a pack, <pack_id>.<verb_key>";
}

static const char *check_hook(const char *s)
{
	size_t n = strlen(s);

	if (str_starts(s, "policies:"))
		return name_is_id(s + strlen("policies:"))
			   ? NULL
			   : "must name a hook after \"policies:\"";
	if (is_one_line(s) && pack_path_is_inside(s) && n > 4 && !strcmp(s + n - 4, ".lua"))
		return NULL;
	return "must be a .lua file inside the pack or \"policies:<name>\"";
}

static const char *check_prefix(const char *s)
{
	return is_one_line(s) ? NULL : "may not be empty";
}

static const char *check_flag(const char *s)
{
	return is_one_line(s) && !strchr(s, '=') ? NULL : "must be an option as \"--file\"";
}

/* The child finds the value under this name in a folder. */
static const char *check_file(const char *s)
{
	size_t n =
	    strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");

	if (n && !s[n] && s[0] != '.' && n <= LIMIT_ID)
		return NULL;
	return "must be the name of an argument that can name a file";
}

static const char *check_stdin(const char *s)
{
	size_t n = strlen(s);

	if (!strcmp(s, "none") || !strcmp(s, "json"))
		return NULL;
	if (n > 4 && str_starts(s, "{{") && !strcmp(s + n - 2, "}}") &&
	    !memchr(s + 2, '{', n - 4) && !memchr(s + 2, '}', n - 4))
		return NULL;
	return "must be none, json or one placeholder as \"{{name}}\"";
}

/* Exact names only: a requirement that ends in '*' would be met by a grant of anything. */
static const char *check_capability(const char *s)
{
	if (is_one_line(s) && !strchr(s, '*') && s[0] != ' ' && s[strlen(s) - 1] != ' ' &&
	    strlen(s) <= LIMIT_ID + 1 + LIMIT_VERB)
		return NULL;
	return "must be the name of a capability, without \"*\"";
}

/* In the order of the enums that they stand for. */
static const char *const effects[] = {"destructive", "write", "read", NULL};
static const char *const locks[] = {"exclusive", "shared", "none", NULL};
static const char *const workspaces[] = {"pack", "ephemeral", "workspace", NULL};
static const char *const results[] = {"auto", "json", "text", "lines", NULL};
static const char *const delivers[] = {"env", "file", NULL};
static const char *const lands[] = {"local", "brain", NULL};

static const struct conf_field workspace_rows[] = {
    {.key = "mode",
     .type = CONF_ENUM,
     .offset =
	 offsetof(struct wrap_conf, workspace.mode) - offsetof(struct wrap_conf, workspace),
     .names = workspaces,
     .doc = "the working directory: the pack's folder, an empty one, or one that is kept"},
    {.key = "name",
     .type = CONF_STRING,
     .offset =
	 offsetof(struct wrap_conf, workspace.name) - offsetof(struct wrap_conf, workspace),
     .check = check_id,
     .doc = "a host folder that the operator's policy names, instead of the kept one"},
};
static const struct conf_table workspace_table = CONF_ROWS("a workspace", workspace_rows);

static const struct conf_field wrap_rows[] = {
    ROW(wrap_conf, "bin", CONF_STRING, bin,
	"the program: ./path in the pack, /path on the host, or a name in the fixed PATH",
	.check = check_bin),
    ROW(wrap_conf, "argv_template", CONF_LIST, argv_template,
	"tokens of a command without cli; {{verb}} is the command's words",
	.each = &argv_entry_table, .shape = A_STRING),
    ROW(wrap_conf, "workspace", CONF_TABLE, workspace, "where the program runs",
	.sub = &workspace_table),
    ROW(wrap_conf, "agent_env", CONF_ENV, agent_env,
	"variables of the program's environment; a command's are merged into the pack's"),
    ROW(wrap_conf, "home_env", CONF_STRING, home_env,
	"the variable that is set to the jail when the workspace mode is workspace",
	.check = pack_check_env_name),
    ROW(wrap_conf, "file_flags", CONF_STRINGS, file_flags,
	"options whose value is a file in the jail", .check = check_flag),
    ROW(wrap_conf, "json_flag", CONF_STRINGS, json_flag,
	"tokens appended to ask for JSON; [] for none", .check = check_line),
    ROW(wrap_conf, "stdin", CONF_STRING, stdin_from,
	"what the program reads: none, json (the arguments) or one argument's value",
	.check = check_stdin),
    ROW(wrap_conf, "result", CONF_ENUM, result, "how the program's output is read",
	.names = results),
    ROW(wrap_conf, "deny_prefix", CONF_STRINGS, deny_prefix,
	"what a value that stands at the beginning of a token may not begin with",
	.check = check_prefix),
    ROW(wrap_conf, "files", CONF_STRINGS, files,
	"arguments that the program finds as files, $HCP_FILES/<name>", .check = check_file),
};
const struct conf_table pack_wrap_table = CONF_ROWS("wrap", wrap_rows);

static const struct conf_field mint_rows[] = {
    ROW(mint_conf, "hook", CONF_STRING, hook,
	"the script that makes a Binding: a file of the pack or policies:<name>",
	.required = true, .check = check_hook),
    ROW(mint_conf, "ttl", CONF_DURATION, ttl_ms, "how long a Binding may be good at most",
	.required = true),
    ROW(mint_conf, "env", CONF_STRINGS, env, "the names that a Binding holds, all of them",
	.required = true, .check = pack_check_env_name),
    ROW(mint_conf, "deliver", CONF_ENUM, deliver,
	"as variables (env) or as files $HCP_FILES/<NAME> (file)", .names = delivers),
};
static const struct conf_table mint_table = CONF_ROWS("mint", mint_rows);

static const struct conf_field command_rows[] = {
    ROW(command_conf, "summary", CONF_STRING, summary, "what it does, in one line",
	.required = true, .check = check_line),
    ROW(command_conf, "description", CONF_STRING, description,
	"a longer text for help and agents"),
    ROW(command_conf, "kind", CONF_STRING, kind, "its adapter; the pack's kind by default",
	.check = check_kind),
    ROW(command_conf, "script", CONF_STRING, script, "the Lua file of a composite",
	.check = check_inside),
    ROW(command_conf, "wrap", CONF_TABLE, wrap,
	"overrides the pack's wrap key by key; agent_env is merged", .sub = &pack_wrap_table),
    ROW(command_conf, "cli", CONF_LIST, cli,
	"the command line as tokens; the first one is the program's name",
	.each = &argv_entry_table, .shape = A_STRING),
    ROW(command_conf, "args", CONF_MAP, args, "JSON Schema of the arguments",
	.sub = &schema_keyword_table),
    ROW(command_conf, "output", CONF_MAP, output, "JSON Schema of the result",
	.sub = &schema_keyword_table),
    ROW(command_conf, "effect", CONF_ENUM, effect, "what it does to the world",
	.names = effects),
    ROW(command_conf, "lock", CONF_ENUM, lock,
	"the lock on the kept jail; shared for effect read, else exclusive", .names = locks),
    ROW(command_conf, "timeout", CONF_DURATION, timeout_ms,
	"how long it may take; the operator's limit holds, too"),
    ROW(command_conf, "internal", CONF_BOOL, internal,
	"whether only scripts of its own pack reach it"),
    ROW(command_conf, "health", CONF_BOOL, health,
	"whether it is a health command; doctor and status always are"),
    ROW(command_conf, "bootstrap", CONF_BOOL, bootstrap,
	"whether it may hand its caller the program itself; the operator must agree"),
    ROW(command_conf, "examples", CONF_LIST, examples, "arguments objects that fit args",
	.shape = "{\"type\": \"object\"}"),
};
const struct conf_table pack_command_table =
    CONF_ROWS("a command", command_rows, .namer = "kind", .named = "wrap");

static const struct conf_field manifest_rows[] = {
    ROW(manifest_conf, "hcp", CONF_INT, hcp, "the format's version, 1", .required = true,
	.shape = "{\"const\": 1}"),
    ROW(manifest_conf, "pack_id", CONF_STRING, pack_id, "the pack's id: its folder's name",
	.required = true, .check = check_id),
    ROW(manifest_conf, "version", CONF_STRING, version, "the pack's version (semver.org)",
	.required = true, .check = check_semver),
    ROW(manifest_conf, "summary", CONF_STRING, summary, "what the pack is for, in one line",
	.required = true, .check = check_line),
    ROW(manifest_conf, "bin", CONF_STRING, bin, "its name as a command; pack_id by default",
	.check = check_id),
    ROW(manifest_conf, "requires", CONF_STRINGS, requires, "programs that it needs",
	.check = check_program),
    ROW(manifest_conf, "kind", CONF_STRING, kind,
	"the adapter of commands that name none; wrap by default", .check = check_kind),
    ROW(manifest_conf, "wrap", CONF_TABLE, wrap, "defaults for commands of kind wrap",
	.sub = &pack_wrap_table),
    ROW(manifest_conf, "uses", CONF_STRINGS, uses,
	"commands of other packs that its scripts may call", .check = check_use),
    ROW(manifest_conf, "mint", CONF_TABLE, mint, "how a Binding is made", .sub = &mint_table),
    ROW(manifest_conf, "$defs", CONF_MAP, defs, "schemas that args and output may refer to",
	.each = &schema_keyword_table),
    ROW(manifest_conf, "commands", CONF_MAP, commands, "the commands by verb key",
	.required = true, .each = &pack_command_table),
};
const struct conf_table pack_manifest_table =
    CONF_ROWS("the manifest", manifest_rows, .namer = "kind", .named = "wrap");

static const struct conf_field privacy_rows[] = {
    {.key = "land",
     .type = CONF_ENUM,
     .names = lands,
     .doc = "where what it makes ends up; brain needs a project"},
};
static const struct conf_table privacy_table = CONF_ROWS("privacy", privacy_rows);

static const struct conf_field policy_rows[] = {
    ROW(policy_conf, "capability", CONF_ONE_OR_MORE, capability,
	"what the caller must have been granted; <pack_id>.<verb_key> by default",
	.check = check_capability),
    ROW(policy_conf, "confirm", CONF_BOOL, confirm, "whether the caller must confirm"),
    ROW(policy_conf, "privacy", CONF_TABLE, privacy, "privacy of what it makes",
	.sub = &privacy_table),
};
const struct conf_table pack_policy_table = CONF_ROWS("a policy", policy_rows);

static const struct conf_field policies_rows[] = {
    ROW(policies_conf, "hcp", CONF_INT, hcp, "the format's version, 1", .required = true,
	.shape = "{\"const\": 1}"),
    ROW(policies_conf, "policies", CONF_MAP, policies, "requirements by verb key",
	.required = true, .each = &pack_policy_table),
};
const struct conf_table pack_policies_table = CONF_ROWS("the pack's policy", policies_rows);
