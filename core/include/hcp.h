/* SPDX-License-Identifier: MIT */
/* hcp.h - run declared commands through one fail-closed pipeline.
 *
 * A runtime (hcp_open) holds a root folder's configuration and may be shared by threads. A call
 * (hcp_call_new) holds what one invoker says about itself: session, tenant, project, deadline.
 * hcp_exec takes an exec envelope (§6.1) and gives a result envelope (§6.2), for a denial too:
 * only misuse and lack of memory are C errors.
 *
 * The library never changes the host's signal handlers, working directory, umask, environment
 * or locale, prints nothing and never exits.
 *
 * What holds for every function, where its comment says nothing else:
 *
 * - Ownership: what is passed in is copied or read before the call returns. What comes out
 *   through `**out` or a return of hcp_..._new is the caller's to free; an hcp_str that comes
 *   out is borrowed from the object it was asked of. A callback's `user` is the host's, and
 * must live until the object it was given to is freed (options: until the runtime is closed).
 * - Threads: by the type of its first argument, as the types below say. Callbacks may come on
 *   several threads at once, and must not use longjmp or exceptions to leave.
 * - Errors: HCP_EINVAL where a pointer that is needed is NULL, a call is of another runtime, or
 *   a value isn't what the comment says; HCP_ENOMEM. Then *out is NULL. Where there is an
 *   `err`, it may be NULL; it says why, and is to be read on errors only.
 * - Since: 0.1. What comes later says so.
 */
#ifndef HCP_H
#define HCP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCP_VERSION_MAJOR 0
#define HCP_VERSION_MINOR 1
#define HCP_VERSION_PATCH 0

#if defined(__GNUC__)
#define HCP_API __attribute__((visibility("default")))
#else
#define HCP_API
#endif

typedef struct hcp_options hcp_options; /* how to open; one thread at a time */
typedef struct hcp_runtime hcp_runtime; /* any thread */
typedef struct hcp_call hcp_call;       /* one thread at a time, but hcp_call_cancel: any */
typedef struct hcp_result hcp_result;   /* immutable; any thread may read; the caller frees */
typedef struct hcp_run hcp_run;         /* a run under way; one thread at a time */
typedef struct hcp_ask hcp_ask;         /* what a function of the host's is asked; its thread */

typedef enum {
	HCP_OK = 0,
	HCP_EINVAL = -1, /* misuse: a NULL, a name that isn't one */
	HCP_ENOMEM = -2, /* out of memory, descriptors or threads */
	HCP_ECONFIG =
	    -3, /* root, settings, policy or state are not usable; hcp_error says why */
	HCP_EDENIED = -4, /* an administrative call that the operator's settings refuse */
	HCP_EBUSY = -5    /* too many runs at once, or the call has one under way */
} hcp_status;

/* Bytes with their length, and a NUL behind them. Borrowed. */
typedef struct {
	const char *data;
	size_t len;
} hcp_str;

typedef struct {
	size_t size; /* sizeof(hcp_error), set by the caller before every use */
	char text[1024];
	char file[256];   /* "" where no file is meant */
	int line, column; /* 1-based; 0: none */
} hcp_error;

typedef enum {
	HCP_FACE_LIBRARY = 0,
	HCP_FACE_CLI,
	HCP_FACE_STDIO,
	HCP_FACE_SOCKET,
	HCP_FACE_HTTP,
	HCP_FACE_MCP
} hcp_face;

typedef enum { HCP_LOG_DEBUG = 0, HCP_LOG_INFO, HCP_LOG_WARN, HCP_LOG_ERROR } hcp_log_level;

/* The version of the library that is linked, (major << 16) | (minor << 8) | patch. */
HCP_API uint32_t hcp_version(void);
/* A few words, static; never NULL. Any thread. */
HCP_API const char *hcp_status_text(hcp_status s);
/* `text` with its length, borrowed; NULL gives {NULL, 0}. Any thread. */
HCP_API hcp_str hcp_str_from(const char *text);

/* ---- options ---- */

HCP_API hcp_options *hcp_options_new(void);    /* NULL: out of memory */
HCP_API void hcp_options_free(hcp_options *o); /* NULL is fine */
/* The root and state folders; without them $HCP_ROOT, $HCP_STATE and the defaults count. A root
 * that is named and isn't there is an error, never a reason to look further. */
HCP_API hcp_status hcp_options_root(hcp_options *o, const char *dir);
HCP_API hcp_status hcp_options_state(hcp_options *o, const char *dir);
/* How runs reach this program; audit records and providers see it. Default HCP_FACE_LIBRARY. */
HCP_API hcp_status hcp_options_face(hcp_options *o, hcp_face face);
/* How many runs from outside there may be at once, 1 to 65536; default 1024. One more is
 * HCP_EBUSY: nothing ran and nothing was recorded. */
HCP_API hcp_status hcp_options_max_runs(hcp_options *o, unsigned n);
/* For looking alone: nothing is created, no state folder and no log, and every run is refused.
 * hcp_explain, hcp_describe and hcp_session work. */
HCP_API hcp_status hcp_options_read_only(hcp_options *o);
/* One line without its newline, redacted, borrowed. Called on the thread of the run, and on
 * several at once where a script has commands run side by side; it must not call into the
 * library. NULL: nobody listens, the default. */
typedef void hcp_log_fn(void *user, hcp_log_level level, hcp_str line);
HCP_API hcp_status hcp_options_log(hcp_options *o, hcp_log_fn *fn, void *user);

/* ---- what a host adds in C ---- */

/* An auth provider or an adapter. `ask` lives as long as the call, which is made on the thread
 * of the run, of many runs at once. It must not call into the library but for hcp_ask_*, and
 * it can't be stopped: let it look at hcp_ask_left_ms and hcp_ask_cancelled. */
typedef void hcp_host_fn(void *user, hcp_ask *ask);
/* `auth: { provider: NAME }` in the policy asks `fn`, where the root has no script of that name
 * (both is an error of the configuration). The answer is a principal, judged as a script's is.
 * HCP_EINVAL: the name is none, is taken, or is "host". */
HCP_API hcp_status hcp_options_auth(hcp_options *o, const char *name, hcp_host_fn *fn,
				    void *user);
/* Commands of this kind run `fn` in step 8, where there is no adapters/<kind>.lua (both: they
 * are refused). The answer is the command's result, and `output` judges it. HCP_EINVAL: the
 * kind is none, is taken, or is "wrap". */
HCP_API hcp_status hcp_options_adapter(hcp_options *o, const char *kind, hcp_host_fn *fn,
				       void *user);
/* JSON, borrowed. A provider's: {request: {face, pack_id, verb_key, peer, tenant, project_id,
 * token}, with}; an adapter's: {args, command, ctx: {pack_id, verb_key, principal, session,
 * confirmed, mode, deadline}}. */
HCP_API hcp_str hcp_ask_request(const hcp_ask *ask);
/* Answers, once; copied. HCP_EINVAL: there is an answer already. Without one the run is
 * refused, and what isn't JSON refuses it, too. */
HCP_API hcp_status hcp_ask_answer(hcp_ask *ask, hcp_str json);
/* Refuses, once; the invoker is told the reason (UTF-8; "": none). */
HCP_API hcp_status hcp_ask_refuse(hcp_ask *ask, hcp_str reason);
/* A variable of the run's Binding, for adapters; borrowed; {NULL, 0}: there is none. */
HCP_API hcp_str hcp_ask_env(const hcp_ask *ask, const char *name);
/* For adapters: another command, through the whole pipeline, as ctx.exec of a script. `pack`
 * NULL: the same pack; `args`: an object, "": {}. */
HCP_API hcp_status hcp_ask_exec(hcp_ask *ask, const char *pack, const char *verb_key,
				hcp_str args, hcp_result **out);
/* What is left of the run's time; -1: no limit yet. An answer later than that doesn't count. */
HCP_API int64_t hcp_ask_left_ms(const hcp_ask *ask);
HCP_API int hcp_ask_cancelled(const hcp_ask *ask);

/* ---- runtime ---- */

/* Opens a runtime. `o` may be NULL and is not kept. *out is NULL on every error but one: a root
 * whose settings or policy are broken opens, and each of its runs is the result envelope
 * `config: ...`; hcp_check tells. */
HCP_API hcp_status hcp_open(const hcp_options *o, hcp_runtime **out, hcp_error *err);
/* HCP_OK, or HCP_ECONFIG with what every run would be refused with. */
HCP_API hcp_status hcp_check(hcp_runtime *rt, hcp_error *err);
/* Reads settings and policy again. On failure new runs are denied with the reason until a
 * reload succeeds; runs under way keep what they began with. */
HCP_API hcp_status hcp_reload(hcp_runtime *rt, hcp_error *err);
/* The same, where a file that counts has changed since the last reading or that failed; costs
 * a few stat(2) otherwise. A server calls it before each run, so that a revoked grant holds at
 * once. Which files: hcp.yaml, its `ca`, the policy files, and the folders of scripts, as
 * lists. */
HCP_API hcp_status hcp_refresh(hcp_runtime *rt, hcp_error *err);
/* Cancels every run under way; they end with `sandbox: cancelled`. Any thread. */
HCP_API void hcp_cancel_all(hcp_runtime *rt);
/* Waits for runs under way, then frees. NULL is fine. */
HCP_API void hcp_close(hcp_runtime *rt);

/* ---- calls ---- */

HCP_API hcp_call *hcp_call_new(hcp_runtime *rt); /* NULL: out of memory */
HCP_API void hcp_call_free(hcp_call *c);         /* NULL is fine; also after hcp_close */
/* [A-Za-z0-9_.-]{1,64}; default "default". */
HCP_API hcp_status hcp_call_session(hcp_call *c, const char *name);
/* What the invoker asks to act as; NULL: nothing asked. Checked against the principal (§6.3
 * step 4). */
HCP_API hcp_status hcp_call_identity(hcp_call *c, const char *tenant, const char *project_id);
/* The token that stands for the invoker, shown to auth providers and to nobody else: 8 to 16384
 * visible ASCII characters; {NULL, 0}: none. Copied to locked memory. HCP_EINVAL where it
 * can't be one. */
HCP_API hcp_status hcp_call_token(hcp_call *c, hcp_str token);
/* Who is at the other end, for a host that serves others: what the kernel said of it
 * (SO_PEERCRED). Auth providers see it as `request.peer`. A call without one is this process's
 * own. */
HCP_API hcp_status hcp_call_peer(hcp_call *c, uint32_t uid, uint32_t gid, int32_t pid);
/* For a host that serves others and knows nothing of the other end: `request.peer` is missing,
 * and a provider that goes by it denies. */
HCP_API hcp_status hcp_call_no_peer(hcp_call *c);
/* Who the invoker is, for a host that has found out by itself: a principal as a provider gives
 * it, JSON. It counts where the policy says `auth: { provider: host }`; where it doesn't, such
 * a call is denied. NULL: not said. */
HCP_API hcp_status hcp_call_principal(hcp_call *c, const char *json);
/* A limit on the whole run from the start of hcp_exec, milliseconds; 0: the command's own
 * alone. HCP_EINVAL: over 146 years. */
HCP_API hcp_status hcp_call_deadline_ms(hcp_call *c, uint64_t ms);
/* For pack authors: tells each call that a program of the run was refused, by the sandbox or by
 * the system, once, as a line like "openat /etc/shadow: Permission denied (...)". The program
 * runs under ptrace(2), slowly; nothing else differs. `fn` is called on the thread of the run
 * and must not call into the library; NULL: nothing is traced, the default. */
typedef void hcp_trace_fn(void *user, hcp_str line);
HCP_API hcp_status hcp_call_trace_denials(hcp_call *c, hcp_trace_fn *fn, void *user);
/* Tells what programs of the run write to stderr, while they run: a line without its end,
 * redacted, not empty, and with whatever control characters the program put into it. One of
 * more than 16384 bytes is only mentioned. The envelope is the same with it or without. `fn`
 * must not call into the library but for hcp_call_cancel; non-zero cancels. It is called on the
 * thread of the run, and on several at once where a script has commands run side by side. NULL:
 * nobody listens, the default. */
typedef int hcp_stream_fn(void *user, hcp_str line);
HCP_API hcp_status hcp_call_stream(hcp_call *c, hcp_stream_fn *fn, void *user);
/* `confirm: person`: where this is called, somebody can be shown what hcp_result_question says
 * and be asked. `digest`: "" for that alone; else the digest of a question that a person has
 * seen and agreed to, which lets the next run pass that is exactly what was asked, and no
 * other, once. HCP_FACE_MCP alone (else HCP_EINVAL). */
HCP_API hcp_status hcp_call_consent(hcp_call *c, const char *digest);
/* A call that says the same of its invoker: session, tenant, project, token, peer, principal,
 * deadline, trace. NULL: out of memory. */
HCP_API hcp_call *hcp_call_copy(const hcp_call *c);
/* Files for a command whose workspace is ephemeral; every other command is refused with such a
 * call. put: all that `fd` gives becomes the file `name` of the workspace before the program
 * starts. take: the regular file `path` beneath the workspace is written to `fd` after the
 * program ended with 0; where there is none, the run fails. All that goes in, and each file
 * that comes out, is at most the limit `workspace`. At most 32 of both. `fd` is borrowed until
 * the run is over. HCP_EINVAL: a name is none. */
HCP_API hcp_status hcp_call_put_file(hcp_call *c, const char *name, int fd);
HCP_API hcp_status hcp_call_take_file(hcp_call *c, const char *path, int fd);
/* Not 0: the ephemeral workspace of a run that fails is left in <state>/kept/<run id>, which is
 * logged as a warning. Nothing removes it. */
HCP_API hcp_status hcp_call_keep_failed(hcp_call *c, int keep);
/* Cancels the call's run, also one that starts later. Async-signal-safe. */
HCP_API void hcp_call_cancel(hcp_call *c);

/* ---- runs ---- */

/* Runs one envelope. `c` may be NULL. Blocks. *out is set on HCP_OK only: a result envelope,
 * `ok: false` for whatever was refused or failed. HCP_EBUSY: too many runs, or `c` has one.
 * HCP_ENOMEM may be memory for the result alone: the audit log tells whether it ran. */
HCP_API hcp_status hcp_exec(hcp_runtime *rt, hcp_call *c, hcp_str envelope, hcp_result **out);

/* The same without blocking, for an event loop. The envelope is copied. The run goes on in a
 * thread of the library's own, all signals blocked; callbacks of the call and the log are
 * called there. `c` may be NULL; else it is the run's until hcp_run_finish: only
 * hcp_call_cancel may be called on it, and it may not be freed. *out is set on HCP_OK only.
 * HCP_EBUSY: later, when another run has ended. */
HCP_API hcp_status hcp_start(hcp_runtime *rt, hcp_call *c, hcp_str envelope, hcp_run **out);
/* Readable once the run has ended, for poll(2); owned by the run, never to be read or closed.
 * -1: NULL was given. */
HCP_API int hcp_run_fd(const hcp_run *run);
/* Any thread, before hcp_run_finish. A program of the run is killed, a script stopped. */
HCP_API void hcp_run_cancel(hcp_run *run);
/* Waits for the end where it is still to come, gives the result as hcp_exec does, and frees
 * `run`. To be called once for each run, before or after hcp_close, by any thread. `out` NULL:
 * the result is dropped. */
HCP_API hcp_status hcp_run_finish(hcp_run *run, hcp_result **out);

/* Why hcp_exec would end as it would: walks the same steps with the same envelope, provider and
 * guards, and stops short of every effect: no record, no Binding, no program, no folder. The
 * result is the explanation as JSON; hcp_result_ok, _step, _exit and _error are the run's.
 * `as` supposes what isn't so, which only the root folder's owner may (HCP_EDENIED); NULL:
 * nothing. `err` may be NULL. */
typedef struct {
	size_t size;           /* sizeof(hcp_suppose) */
	const char *principal; /* an id or a principal as JSON stands in for what a provider
				  would say; NULL: the provider is asked */
	int activated;         /* not 0: every pack is */
} hcp_suppose;
HCP_API hcp_status hcp_explain(hcp_runtime *rt, hcp_call *c, hcp_str envelope,
			       const hcp_suppose *as, hcp_result **out, hcp_error *err);

/* Of a result, by any number of threads; strings are borrowed until hcp_result_free. NULL is a
 * result that isn't ok, with "" for every string and step 0. */
HCP_API hcp_str
hcp_result_json(const hcp_result *r); /* the envelope, or the object asked for */
HCP_API int hcp_result_ok(const hcp_result *r);
/* The step that refused or failed: 0 the envelope or the configuration, 1 to 9; 9 where it is
 * ok. */
HCP_API int hcp_result_step(const hcp_result *r);
/* The exit status of the CLI for this result. */
HCP_API int hcp_result_exit(const hcp_result *r);
HCP_API hcp_str hcp_result_error(const hcp_result *r); /* "" where ok */
HCP_API hcp_str
hcp_result_value(const hcp_result *r); /* `result` as JSON text; "" where there is none */
/* 1 where ok and the result is what the command's `output` says or nothing is said. */
HCP_API int hcp_result_fits(const hcp_result *r);
/* What a person must be asked before this may run: {digest, principal, tenant, project_id,
 * pack_id, verb_key, summary, args, hidden}; `hidden`: some arguments are secret and not among
 * `args`. "" where there is nothing to ask. */
HCP_API hcp_str hcp_result_question(const hcp_result *r);
HCP_API hcp_str hcp_result_run_id(const hcp_result *r); /* "" where none was given */
HCP_API void hcp_result_free(hcp_result *r);            /* NULL is fine; also after hcp_close */

/* ---- workspaces ---- */

typedef enum {
	HCP_WORKSPACE_LS = 0, /* result: [{name, kind, size, modified}] of a folder */
	HCP_WORKSPACE_GET,    /* a file's bytes to fd; result: {bytes} */
	HCP_WORKSPACE_PUT,    /* a file from all that fd gives; result: {bytes} */
	HCP_WORKSPACE_RM      /* a file or a folder with all in it; "." empties the workspace */
} hcp_workspace_op;
/* The kept workspace of a pack, for the call's principal, tenant and project. Walks the
 * pipeline with the capability `<pack_id>.workspace`, is recorded as the verb `workspace ls`,
 * ..., and no path or link leads out of it. `path` is relative to it; NULL is ".". `fd` is
 * borrowed. *out as for hcp_exec. */
HCP_API hcp_status hcp_workspace(hcp_runtime *rt, hcp_call *c, hcp_workspace_op op,
				 const char *pack, const char *path, int fd, hcp_result **out);

/* ---- the audit log ---- */

/* All of these work with a policy that is broken, too. Those with *out give JSON; the caller
 * frees it. */
typedef enum {
	HCP_AUDIT_STORED = 0, /* lines as they are in the file */
	HCP_AUDIT_CSV,        /* RFC 4180, its header first */
	HCP_AUDIT_OTLP        /* a line of OTLP/JSON a record */
} hcp_audit_format;
/* One line with its end; borrowed. Non-zero stops, and that is no error. */
typedef int hcp_audit_fn(void *user, hcp_str line);
/* Oldest first, across all segments: records for which all of `where`'s words "field=value"
 * hold. Beside the fields of a record these are words: run=ID (a run and those it asked for),
 * since=TIME, until=TIME, text=BYTES. HCP_EINVAL: a word is none; err says which. A line that
 * is no record is left out of all formats but HCP_AUDIT_STORED; *strangers (NULL: not wanted)
 * counts them. */
HCP_API hcp_status hcp_audit_read(hcp_runtime *rt, const char *const *where, size_t count,
				  hcp_audit_format format, hcp_audit_fn *fn, void *user,
				  uint64_t *strangers, hcp_error *err);
/* The last `count` lines as they are stored. With a call it goes on with each that is written,
 * until fn stops it or the call is cancelled. */
HCP_API hcp_status hcp_audit_tail(hcp_runtime *rt, hcp_call *follow, size_t count,
				  hcp_audit_fn *fn, void *user, hcp_error *err);
/* {"intact": bool, "records": n, "damages": n, "findings": [{damage, file, line, ...}], ...}.
 * HCP_OK says that the log was read whole, not that it is intact. `checkpoint`: what
 * hcp_audit_checkpoint gave once, and must be signed by public_key (NULL: that of the root's
 * secrets/audit_key); without data: none. */
HCP_API hcp_status hcp_audit_verify(hcp_runtime *rt, hcp_str checkpoint, const char *public_key,
				    hcp_result **out, hcp_error *err);
/* Takes up a log that runs refuse to write to. {"recovered": bool, "detail": text} */
HCP_API hcp_status hcp_audit_recover(hcp_runtime *rt, hcp_result **out, hcp_error *err);
/* Goes on in a new file, and then removes segments beyond audit.keep, where the log verifies.
 * {"segment": name, "removed": n, "left": n, "reason": text where left isn't 0} */
HCP_API hcp_status hcp_audit_rotate(hcp_runtime *rt, hcp_result **out, hcp_error *err);
/* A signed statement of where the chain is, to be kept elsewhere. */
HCP_API hcp_status hcp_audit_checkpoint(hcp_runtime *rt, hcp_result **out, hcp_error *err);
/* The public half of secrets/audit_key. create != 0 makes the key; one that is there already is
 * an error then. {"public_key": hex, "created": bool} */
HCP_API hcp_status hcp_audit_key(hcp_runtime *rt, int create, hcp_result **out, hcp_error *err);

/* ---- what there is ---- */

/* JSON for people and programs. pack NULL: {"packs": [{pack_id, active, ...}]} of the call's
 * session. Else that pack's manifest: version, summary, commands with their argument schemas
 * and `confirm`, true or "person", where pack or operator want consent. The caller frees. */
HCP_API hcp_status hcp_describe(hcp_runtime *rt, hcp_call *c, const char *pack,
				hcp_result **out, hcp_error *err);
/* {"packs": [...]}: the activated packs of the call's session as above, each with those
 * commands alone that steps 1 to 5 let the call's principal run. A pack that doesn't load is
 * left out. */
HCP_API hcp_status hcp_permitted(hcp_runtime *rt, hcp_call *c, hcp_result **out,
				 hcp_error *err);
/* Activates (on != 0) or deactivates a pack on the call's session. *changed may be NULL. */
HCP_API hcp_status hcp_activate(hcp_runtime *rt, hcp_call *c, const char *pack, int on,
				int *changed, hcp_error *err);
/* Tries the sandbox, tier by tier, with the set-up of a run, and looks at the configuration:
 * docs/doctor.md has the object. hcp_result_ok is 1 and hcp_result_exit 0 where tier strong
 * holds and the configuration loads; else 0 and 1. */
HCP_API hcp_status hcp_doctor(hcp_runtime *rt, hcp_result **out, hcp_error *err);
/* {"session": name, "packs": [...]} */
HCP_API hcp_status hcp_session(hcp_runtime *rt, hcp_call *c, hcp_result **out, hcp_error *err);

/* The format of a YAML file as JSON Schema, for editors: "pack" (pack.yaml), "pack-policy" (a
 * pack's policy.yaml), "policy" (an operator's) or "settings" (hcp.yaml). HCP_EINVAL: another
 * word. */
HCP_API hcp_status hcp_schema(const char *format, hcp_result **out, hcp_error *err);

/* ---- secrets ---- */

/* Secrets are files of the root, for auth providers and mint hooks. Only the root folder's
 * owner keeps them (HCP_EDENIED). `value`: 1 to 65536 bytes; the caller wipes its own copy. */
HCP_API hcp_status hcp_secret_set(hcp_runtime *rt, const char *name, hcp_str value,
				  hcp_error *err);
HCP_API hcp_status hcp_secret_rm(hcp_runtime *rt, const char *name, hcp_error *err);
/* {"secrets": [{name}]}; one that can't be used has the reason as `error`. */
HCP_API hcp_status hcp_secret_list(hcp_runtime *rt, hcp_result **out, hcp_error *err);

/* ---- policy ---- */

/* Reads hcp.yaml, policies and packs anew and names all that is wrong at once: {"ok": ...,
 * "problems": [{level, file, line, column, text}]}. Level "error" is what refuses runs,
 * "warning" what is probably not meant. hcp_result_ok: there is no error. */
HCP_API hcp_status hcp_policy_lint(hcp_runtime *rt, hcp_result **out, hcp_error *err);
/* The same for one pack: manifest, requirements and scripts, without the operator's policy.
 * Level "note" is worth knowing: keys that other runtimes don't have. HCP_ECONFIG: hcp.yaml is
 * broken. */
HCP_API hcp_status hcp_pack_lint(hcp_runtime *rt, const char *pack, hcp_result **out,
				 hcp_error *err);
/* Makes a root for a pack's tests beneath `dir`, an empty folder: dir/root, with a copy of the
 * pack, active, and a policy that grants what it requires and allows its programs; where the
 * pack has a spec/policy.yaml, that is added instead of the programs. {pack_id, data, commands:
 * [verb_key]}: `data` is the installed data folder. */
HCP_API hcp_status hcp_pack_trial(hcp_runtime *rt, const char *pack, const char *dir,
				  hcp_result **out, hcp_error *err);
/* Adds a pack to the root, or a new version of one that was added: a folder, or a .tar.gz of
 * one. It must load, and be signed with one of the policy's signers where that names any; a new
 * version must be signed with the key of the old one. {pack_id, version, digest, signer, was,
 * needs: [text], added}: `needs` is what it asks for; of a new version, `was` being the old
 * one, what it asks for beyond that, and then it is added only where `accept` is set.
 * hcp_result_ok: it was added. For the root folder's owner alone (HCP_EDENIED), as all of
 * these are. */
HCP_API hcp_status hcp_pack_add(hcp_runtime *rt, const char *path, int accept, hcp_result **out,
				hcp_error *err);
/* Takes away what was added, folder and all. */
HCP_API hcp_status hcp_pack_remove(hcp_runtime *rt, const char *pack, hcp_error *err);
/* {"packs": [{pack_id, version, signer, name, error}]}: what was added; pack NULL: all. Each is
 * read whole: `error` says what a run would say. hcp_result_ok: there is none. */
HCP_API hcp_status hcp_pack_verify(hcp_runtime *rt, const char *pack, hcp_result **out,
				   hcp_error *err);
/* The public half of secrets/pack_key, as hcp_audit_key: {"public_key", "created"}. */
HCP_API hcp_status hcp_pack_key(hcp_runtime *rt, int create, hcp_result **out, hcp_error *err);
/* Signs a pack's folder with secrets/pack_key: its pack.sig. {pack_id, version, public_key} */
HCP_API hcp_status hcp_pack_sign(hcp_runtime *rt, const char *dir, hcp_result **out,
				 hcp_error *err);
/* Who may run a command, by the decision of step 5: {requires, confirm, deny, guard, who:
 * [{principal or role, tenants}]}; `tenants` is missing where any will do. For the root
 * folder's owner alone (HCP_EDENIED). */
HCP_API hcp_status hcp_policy_who(hcp_runtime *rt, const char *pack, const char *verb_key,
				  hcp_result **out, hcp_error *err);
/* Which auth provider would be asked who the call's invoker is, for a host that serves others:
 * {provider}, without it where the policy has none for such a call. */
HCP_API hcp_status hcp_policy_provider(hcp_runtime *rt, hcp_call *c, hcp_result **out,
				       hcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
