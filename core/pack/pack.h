/* SPDX-License-Identifier: MIT */
/* A pack as one run sees it: opened once as a folder, read once, digested; manifest, pack
 * policy and scripts all come from that one reading. Immutable after pack_open. */
#ifndef HCP_PACK_PACK_H
#define HCP_PACK_PACK_H

#include "argv/argv.h"
#include "base/conf.h"
#include "pack/schema.h"
#include "root/root.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

extern const struct conf_table pack_manifest_table; /* every key of pack.yaml */
extern const struct conf_table pack_policies_table; /* every key of a pack's policy.yaml */

enum pack_effect { PACK_DESTRUCTIVE = 0, PACK_WRITE, PACK_READ };
enum pack_lock { PACK_LOCK_EXCLUSIVE = 0, PACK_LOCK_SHARED, PACK_LOCK_NONE };
enum pack_workspace { PACK_WS_PACK = 0, PACK_WS_EPHEMERAL, PACK_WS_WORKSPACE };
enum pack_stdin { PACK_STDIN_NONE = 0, PACK_STDIN_JSON, PACK_STDIN_ARG };
enum pack_result {
	PACK_RESULT_AUTO = 0,
	PACK_RESULT_JSON,
	PACK_RESULT_TEXT,
	PACK_RESULT_LINES
};

/* `wrap:` of one command, the pack's defaults merged in. */
struct pack_wrap {
	const char *bin; /* as spelled; "./x", "/x" or a bare name */
	enum pack_workspace workspace;
	const char *workspace_name; /* `name:` of an operator's folder; NULL: the kept jail */
	struct conf_env agent_env;
	const char *home_env; /* "HOME" */
	struct conf_strings file_flags, json_flag, deny_prefix, files;
	enum pack_stdin stdin_kind;
	const char *stdin_arg; /* PACK_STDIN_ARG */
	enum pack_result result;
};

/* An entry of the pack's policy.yaml. */
struct pack_policy {
	const char *verb_key;
	struct conf_strings capabilities; /* never empty */
	bool confirm;
	bool land_brain;
	int line;
};

struct pack_command {
	const char *key, *summary, *description;
	const char *kind;   /* "wrap", "composite", ... */
	const char *script; /* relative to the pack; a composite has one, a wrap none */
	const struct argv_template *argv; /* kind wrap */
	struct pack_wrap wrap;
	struct schema *args;   /* NULL: any args */
	struct schema *output; /* NULL: any result */
	const struct yaml_node
	    *own; /* the mapping named as the kind, merged from pack and command, or NULL */
	enum pack_effect effect;
	enum pack_lock lock;
	int64_t timeout_ms; /* 0: the operator's limit alone */
	bool internal, health, bootstrap;
	const struct yaml_node *examples;
	const struct pack_policy *policy; /* NULL: no entry, can't run */
	int line, column;
};

struct pack_mint {
	const char *hook;
	int64_t ttl_ms;
	struct conf_strings env;
	bool deliver_file;
	int line; /* of pack.yaml */
};

/* What stat(2) said of an object before it was read: one that was changed says something else.
 * All zeros: it wasn't there. */
struct pack_mark {
	dev_t dev;
	ino_t ino;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	off_t size;
	struct timespec mtime, ctime;
};

/* One object of the folder: a regular file, a symbolic link (its text counts as content) or a
 * folder. */
struct pack_file {
	const char *path; /* relative, '/' between */
	unsigned mode;    /* st_mode, type included */
	size_t size;
	unsigned char sha256[32]; /* of the content; zeros for a folder */
	const char *text; /* kept for pack.yaml, policy.yaml, pack.sig and *.lua; else NULL */
	struct pack_mark mark;
};

#define PACK_DIGEST_SIZE 72
#define PACK_SIGNATURE   "pack.sig" /* the file that signs all others */

struct pack {
	struct arena arena;
	const char *id, *version, *summary, *bin;
	struct conf_strings requires, uses;
	const struct pack_mint *mint; /* NULL: needs no Binding */
	struct pack_command *commands;
	size_t command_count;
	size_t policy_count;
	struct pack_policy *policies;
	struct pack_file *files; /* sorted by path */
	size_t file_count;
	const char *path;              /* absolute host path of the folder */
	const char *shown;             /* as messages spell it: "packs/ledger" */
	int fd;                        /* O_DIRECTORY on it */
	char digest[PACK_DIGEST_SIZE]; /* "sha256:<64 hex>" over names, modes and contents */
	bool locked;                   /* hcp.lock knows it, and it is what hcp.lock knows */
	const char *signer;            /* the key that hcp.lock has for it; NULL: none */
	struct schema_defs *defs;
	struct pack_mark top, lock; /* the folder, hcp.lock */
	atomic_uint shared;         /* how many hold it besides the first */
};

/* Looks for <id> in the settings' pack folders, in order. `id` need not be legal: one that
 * isn't never reaches the file system. One that hcp.lock knows must be what was added. Errors
 * are the envelope's whole text: "unknown pack <id>", "unknown pack <id>: <file>:<line>:
 * <why>", "pack <id>: digest mismatch: <file>" (HCP_E_DENIED). */
int pack_open(struct root *root, const struct settings *set, const char *id, struct pack **out,
	      struct hcp_err *err) HCP_MUST_CHECK;
/* The same with the fault as it is and its place; HCP_E_NONE: there is no such pack. */
int pack_try(struct root *root, const struct settings *set, const char *id, struct pack **out,
	     struct hcp_err *err) HCP_MUST_CHECK;
/* Packs that were read, for runs to come: each is what is in the folder now, or it is read
 * again. One cache belongs to one reading of the settings. Any thread. */
#define PACK_CACHE_SIZE 32
struct pack_cache {
	pthread_mutex_t lock;
	struct pack *packs[PACK_CACHE_SIZE];
	unsigned next; /* to be replaced */
};
void pack_cache_init(struct pack_cache *c);
void pack_cache_free(struct pack_cache *c);
/* As pack_open; the pack may be others', too. */
int pack_cache_open(struct pack_cache *c, struct root *root, const struct settings *set,
		    const char *id, struct pack **out, struct hcp_err *err) HCP_MUST_CHECK;
/* For who wants to mend all faults at once: each is added to *all and the reading goes on. *out
 * is set where the folder could be read; where faults were found it is half a pack, good for
 * its files alone. */
int pack_inspect(struct root *root, const struct settings *set, const char *id,
		 struct conf_faults *all, struct pack **out,
		 struct hcp_err *err) HCP_MUST_CHECK;
/* A folder that isn't installed, the id being what its manifest says; takes fd. */
int pack_open_folder(int fd, const char *shown, struct pack **out,
		     struct hcp_err *err) HCP_MUST_CHECK;
void pack_close(struct pack *p); /* NULL is fine */

const struct pack_command *pack_command(const struct pack *p, const char *verb_key);
const struct pack_file *pack_file(const struct pack *p, const char *path);
/* Ids of all installed packs (folders that hold a pack.yaml), sorted, in `a`. Opens no
 * manifest. */
int pack_list(struct root *root, const struct settings *set, struct arena *a,
	      struct conf_strings *out, struct hcp_err *err) HCP_MUST_CHECK;
/* Those of its `requires` that aren't there, in `a`; bare names are looked for in `path`
 * ("/usr/bin:/bin"). */
int pack_missing(const struct pack *p, const char *path, struct arena *a,
		 struct conf_strings *out, struct hcp_err *err) HCP_MUST_CHECK;
/* Everything an agent, a CLI or a linked face may know: id, version, summary, bin, commands
 * with schemas, effect, examples. Internal commands are left out. A new reference. */
json_t *pack_describe(const struct pack *p, struct hcp_err *err);

#endif
