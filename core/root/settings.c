/* SPDX-License-Identifier: MIT */
/* hcp.yaml: every key is a row here, and what isn't written has the default that stands here.
 * It reads one file and finds nothing: whose file it is was judged when it was opened. */
#include "root/settings.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define ROTATE_SIZE_MIN   (64 << 10)
#define ROTATE_AGE_MIN_MS 60000

#define ROW(conf, k, t, member, text, ...)                                                     \
	{                                                                                      \
		.key = k, .type = t, .offset = offsetof(struct conf, member), .doc = text,     \
		__VA_ARGS__                                                                    \
	}

#define A_COUNT                                                                                \
	"{\"type\": [\"integer\", \"string\"], \"minimum\": 1, \"pattern\": "                  \
	"\"^[0-9]+[KMG]$\"}"

struct rotate_conf {
	int64_t size, age_ms;
};
struct audit_conf {
	const char *path, *syslog;
	int sync, args;
	struct rotate_conf rotate;
	int64_t keep; /* -1: not written */
};
struct lua_conf {
	int64_t memory, timeout_ms;
	const struct yaml_node *instructions;
};
struct file_conf {
	int64_t hcp;
	struct conf_strings packs;
	const char *state, *tenant, *project_id, *cgroup, *ca;
	const struct yaml_node *sessions;
	struct audit_conf audit;
	struct lua_conf lua;
	enum conf_bool lock;
	int activate;
};
struct session_conf {
	struct conf_strings packs;
};

static const char *const sync_names[] = {"always", "os", NULL};
static const char *const args_names[] = {"none", "keys", "redacted", NULL};
static const char *const activate_names[] = {"invoker", "operator", NULL};

static const char *check_id(const char *s)
{
	return name_is_id(s)
		   ? NULL
		   : "must be 1 to 64 of A-Z a-z 0-9 . _ -, begin with a letter or digit and "
		     "hold no \"..\"";
}

static bool has_dotdot(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2]))
			return true;
	}
	return false;
}

static const char *check_path(const char *s)
{
	if (!*s)
		return "can't be empty";
	if (*s == '~')
		return "can't begin with \"~\": write the path out";
	return has_dotdot(s) ? "can't hold \"..\"" : NULL;
}

static const char *check_absolute(const char *s)
{
	return *s == '/' ? check_path(s) : "must be an absolute path";
}

static const char *check_beneath(const char *s)
{
	return *s == '/' ? "must be a path beneath the root" : check_path(s);
}

static const char *check_socket(const char *s)
{
	if (strlen(s) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return "is longer than a socket's path can be";
	return check_absolute(s);
}

static const struct conf_field rotate_rows[] = {
    ROW(rotate_conf, "size", CONF_SIZE, size, "bytes from which on the log is put aside"),
    ROW(rotate_conf, "age", CONF_DURATION, age_ms, "age of its first record, the same"),
};
static const struct conf_table rotate_table = CONF_ROWS("rotate", rotate_rows);

static const struct conf_field audit_rows[] = {
    ROW(audit_conf, "path", CONF_STRING, path, "the log, relative to the root",
	.check = check_path),
    ROW(audit_conf, "sync", CONF_ENUM, sync, "when a record is on the disk",
	.names = sync_names),
    ROW(audit_conf, "args", CONF_ENUM, args, "what of the arguments is recorded",
	.names = args_names),
    ROW(audit_conf, "rotate", CONF_TABLE, rotate, "when a new file is begun",
	.sub = &rotate_table),
    ROW(audit_conf, "keep", CONF_INT, keep, "segments that `hcp audit rotate` leaves"),
    ROW(audit_conf, "syslog", CONF_STRING, syslog, "a socket that gets a copy of each record",
	.check = check_socket),
};
static const struct conf_table audit_table = CONF_ROWS("audit", audit_rows);

static const struct conf_field lua_rows[] = {
    ROW(lua_conf, "memory", CONF_SIZE, memory, "bytes a script may hold"),
    ROW(lua_conf, "instructions", CONF_NODE, instructions, "steps of the Lua machine",
	.shape = A_COUNT),
    ROW(lua_conf, "timeout", CONF_DURATION, timeout_ms, "time a script may take"),
};
static const struct conf_table lua_table = CONF_ROWS("lua", lua_rows);

static const struct conf_field session_rows[] = {
    ROW(session_conf, "packs", CONF_STRINGS, packs, "packs that are always active",
	.required = true, .check = check_id),
};
static const struct conf_table session_table = CONF_ROWS("a session", session_rows);

static const struct conf_field file_rows[] = {
    ROW(file_conf, "hcp", CONF_INT, hcp, "format version: 1", .required = true,
	.shape = "{\"const\": 1}"),
    ROW(file_conf, "packs", CONF_STRINGS, packs, "folders of packs, relative to the root",
	.check = check_path),
    ROW(file_conf, "state", CONF_STRING, state, "the state folder, relative to the root",
	.check = check_path),
    ROW(file_conf, "tenant", CONF_STRING, tenant, "asked for where the caller asks for none",
	.check = check_id),
    ROW(file_conf, "project_id", CONF_STRING, project_id,
	"asked for where the caller asks for none", .check = check_id),
    ROW(file_conf, "sessions", CONF_MAP, sessions, "packs that are always active, by session",
	.each = &session_table),
    ROW(file_conf, "audit", CONF_TABLE, audit, "the audit log", .sub = &audit_table),
    ROW(file_conf, "lua", CONF_TABLE, lua, "limits of scripts", .sub = &lua_table),
    ROW(file_conf, "lock", CONF_BOOL, lock,
	"in /etc/hcp: no other root or state for anybody but its owner"),
    ROW(file_conf, "activate", CONF_ENUM, activate, "who activates packs",
	.names = activate_names),
    ROW(file_conf, "cgroup", CONF_STRING, cgroup, "a delegated cgroup v2 folder to run in",
	.check = check_absolute),
    ROW(file_conf, "ca", CONF_STRING, ca,
	"PEM file beneath the root: the only authorities that servers are checked against",
	.check = check_beneath),
};
const struct conf_table root_settings_table = CONF_ROWS("hcp.yaml", file_rows);

/* A count, not bytes: 100M is 100,000,000, with the suffixes of the SI. -1: it is none. */
static int64_t count_of(const struct yaml_node *n)
{
	int64_t value = 0, factor = 1;
	const char *p;

	if (n->kind == YAML_INT)
		return n->i > 0 ? n->i : -1;
	if (n->kind != YAML_STR)
		return -1;
	for (p = n->text; *p >= '0' && *p <= '9' && value < INT64_MAX / 100; p++)
		value = value * 10 + (*p - '0');
	if (strcmp(p, "K") == 0)
		factor = 1000;
	else if (strcmp(p, "M") == 0)
		factor = 1000000;
	else if (strcmp(p, "G") == 0)
		factor = 1000000000;
	else
		return -1;
	return value > 0 && value <= INT64_MAX / factor ? value * factor : -1;
}

static int take_sessions(const struct conf_ctx *c, const struct yaml_node *map,
			 struct settings *out, struct hcp_err *err)
{
	char name[YAML_QUOTE];
	int rc = 0;

	if (!map)
		return 0;
	out->sessions = arena_array(c->arena, map->count + 1, sizeof(*out->sessions));
	if (!out->sessions)
		return hcp_fail_nomem(err);
	for (size_t i = 0; i < map->count && (rc == 0 || c->all); i++) {
		const struct yaml_pair *pair = &map->pairs[i];
		struct session_conf conf = {0};

		yaml_quote(pair->key->text, name);
		if (!name_is_session(pair->key->text))
			rc = conf_fail(c, pair->key, err,
				       "%s can't be the name of a session: 1 to 64 of A-Z "
				       "a-z 0-9 . _ -",
				       name);
		rc |= conf_read(c, pair->value, &session_table, &conf, err);
		out->sessions[i] = (struct settings_session){pair->key->text, conf.packs};
	}
	out->session_count = map->count;
	return rc;
}

static int take_lua(const struct conf_ctx *c, const struct lua_conf *lua, struct settings *out,
		    struct hcp_err *err)
{
	if (lua->memory)
		out->lua_memory = lua->memory;
	if (lua->timeout_ms)
		out->lua_timeout_ms = lua->timeout_ms;
	if (!lua->instructions)
		return 0;
	out->lua_instructions = count_of(lua->instructions);
	if (out->lua_instructions < 0)
		return conf_fail(c, lua->instructions, err,
				 "\"instructions\" must be a count like 500K, 100M or 1G");
	return 0;
}

static enum audit_args args_of(int index)
{
	switch (index) {
	case 1:
		return AUDIT_ARGS_NONE;
	case 2:
		return AUDIT_ARGS_KEYS;
	case 0: /* not written */
	case 3:
		return AUDIT_ARGS_REDACTED;
	}
	return AUDIT_ARGS_NONE;
}

/* A log that is put aside at every record, or segments that go as soon as they are there, are
 * slips of the pen. */
static int take_rotation(const struct conf_ctx *c, const struct yaml_node *top,
			 const struct audit_conf *a, struct settings *out, struct hcp_err *err)
{
	const struct yaml_node *audit = yaml_get(top, "audit");
	const struct yaml_node *rotate = audit ? yaml_get(audit, "rotate") : NULL;
	int rc = 0;

	if (a->rotate.size && a->rotate.size < ROTATE_SIZE_MIN)
		rc |= conf_fail(c, yaml_get(rotate, "size"), err,
				"\"size\" must be at least 64K");
	if (a->rotate.age_ms && a->rotate.age_ms < ROTATE_AGE_MIN_MS)
		rc |= conf_fail(c, yaml_get(rotate, "age"), err, "\"age\" must be at least 1m");
	if (a->keep == 0)
		rc |= conf_fail(c, yaml_get(audit, "keep"), err, "\"keep\" must be at least 1");
	out->audit_rotate_bytes = a->rotate.size;
	out->audit_rotate_ms = a->rotate.age_ms;
	out->audit_keep = a->keep > 0 ? a->keep : 0;
	out->audit_syslog = a->syslog;
	return rc;
}

static int take(const struct conf_ctx *c, const char *real, const struct file_conf *f,
		struct settings *out, struct hcp_err *err)
{
	int rc;

	if (f->packs.given)
		out->packs = f->packs;
	if (f->state && !(out->state = root_join(c->arena, real, f->state)))
		return hcp_fail_nomem(err);
	if (f->audit.path && !(out->audit_path = root_join(c->arena, real, f->audit.path)))
		return hcp_fail_nomem(err);
	out->tenant = f->tenant;
	out->project_id = f->project_id;
	out->audit_sync = f->audit.sync == 2 ? AUDIT_SYNC_OS : AUDIT_SYNC_ALWAYS;
	out->audit_args = args_of(f->audit.args);
	out->lock = f->lock == CONF_TRUE;
	out->activate_operator = f->activate == 2;
	out->cgroup = f->cgroup;
	out->ca = f->ca;
	rc = take_lua(c, &f->lua, out, err);
	if (rc == 0 || c->all)
		rc |= take_sessions(c, f->sessions, out, err);
	return rc;
}

static int set_defaults(struct arena *a, struct settings *out, struct hcp_err *err)
{
	memset(out, 0, sizeof(*out));
	out->audit_args = AUDIT_ARGS_REDACTED;
	out->lua_memory = 64 << 20;
	out->lua_instructions = 100 * 1000 * 1000;
	out->lua_timeout_ms = 5000;
	out->packs.items = arena_array(a, 1, sizeof(*out->packs.items));
	if (!out->packs.items)
		return hcp_fail_nomem(err);
	out->packs.items[0] = "packs";
	out->packs.count = 1;
	return 0;
}

static int parse(const struct conf_ctx *c, const char *real, const char *text, size_t len,
		 struct settings *out, struct hcp_err *err)
{
	const struct yaml_node *top;
	struct file_conf conf = {.audit.keep = -1};
	int rc;

	if (yaml_parse(c->arena, c->file, text, len, &top, err) < 0) {
		conf_faults_add(c->all, err);
		return -1;
	}
	rc = conf_read(c, top, &root_settings_table, &conf, err);
	if (rc == 0 || c->all)
		rc |= conf_check_format(c, top, err);
	if (rc == 0 || c->all)
		rc |= take_rotation(c, top, &conf.audit, out, err) |
		      take(c, real, &conf, out, err);
	return rc;
}

int root_settings_read(struct arena *a, int fd, const char *shown, const char *real,
		       struct conf_faults *all, struct settings *out, struct hcp_err *err)
{
	struct conf_ctx c = {a, arena_printf(a, "%s/hcp.yaml", shown), all};
	struct hcp_err why = {0};
	char *text = NULL;
	size_t len;
	int rc;

	if (set_defaults(a, out, err) < 0)
		return -1;
	if (!c.file)
		return hcp_fail_nomem(err);
	if (trust_read(fd, "hcp.yaml", shown, LIMIT_YAML, &text, &len, &why) < 0) {
		if (why.code == HCP_E_SYS && errno == ENOENT)
			return 0;
		return hcp_fail(err, why.code, "%s", why.text);
	}
	rc = parse(&c, real, text, len, out, err);
	free(text);
	return rc;
}
