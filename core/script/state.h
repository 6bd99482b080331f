/* SPDX-License-Identifier: MIT */
/* What the files of this folder share about one call of a script. A call owns everything here;
 * nothing is shared between calls, and nothing outside the folder sees a lua_State. */
#ifndef HCP_SCRIPT_STATE_H
#define HCP_SCRIPT_STATE_H

#include "script/script.h"

#include <lauxlib.h>
#include <lua.h>

enum script_kill {
	SCRIPT_ALIVE = 0,
	SCRIPT_KILL_MEMORY,
	SCRIPT_KILL_INSTRUCTIONS,
	SCRIPT_KILL_TIME,
	SCRIPT_KILL_DEADLINE,
	SCRIPT_KILL_CANCELLED
};

#define SCRIPT_TABLES 128 /* large ones at once; 64 MiB hold 85 */
struct script_tables {
	struct {
		const char *nodes;
		size_t size;
	} at[SCRIPT_TABLES];
	size_t count;
};

/* Written by limits.c alone. `killed` is sticky: whoever asks later hears the first reason. */
struct script_meter {
	const struct script_limits *max;
	lua_State *L;   /* NULL until lua_newstate returned */
	size_t memory;  /* bytes that Lua holds */
	size_t refused; /* size that was refused last and not granted since; 0: none */
	size_t largest; /* one allocation */
	int interval;   /* instructions between two looks */
	int64_t instructions, work;
	int64_t started_ns, paused_ns, pause_began_ns;
	enum script_kill killed;
	struct script_tables tables;
	char place[128]; /* "verbs/month.lua:7" at the kill; the script's name where no line ran
			  */
};

struct script_key {
	const char *text; /* lives in a Lua string that the table at hand keeps alive */
	size_t len;
};

struct script_state {
	struct script_meter meter;
	const struct script_call *call;
	struct script_result *out;
	int status; /* of the protected call */
	bool own_message;
	unsigned host_calls;
	size_t logged;
	/* C memory in use across Lua calls, which may leave by longjmp: it hangs here and is
	 * freed when the call ends, or when the next user of the slot begins. */
	struct buf scratch;
	struct script_key *keys;
	size_t key_count, key_cap;
	struct script_batch *batch;
	struct script_http *http;
	struct secret **secrets; /* those that handles point to; held until the call ends */
	size_t secret_count, secret_cap;
};

struct script_state *script_state_of(lua_State *L);

/* state.c: an environment from the allow-list, put in place of the globals. */
void script_open(lua_State *L);
/* Adds the rows of `library` that the role grants to the table on the top. */
enum script_library {
	IN_BASE = 0,
	IN_STRING,
	IN_TABLE,
	IN_MATH,
	IN_UTF8,
	IN_OS,
	IN_CJSON,
	IN_HCP,
	IN_HCP_LOG,
	IN_CTX,
	IN_HOST
};
void script_fill(lua_State *L, enum script_library library);
/* Pushes an allowed library or module; false, pushing nothing, where there is none. */
bool script_push_library(lua_State *L, const char *name);
/* The table {name = module} of those opened and required. */
void script_push_loaded(lua_State *L);

/* call.c: the only protected call. A failed allocation leaves the script killed. */
int script_protect(lua_State *L, int args, int results, int handler);
/* Runs in the protected call, from building the state to writing the answer. */
int script_body(lua_State *L);
int script_on_error(lua_State *L); /* message handler of the outermost protected call */
/* Raises `message` (on the top) so that it reaches the invoker as it is. */
int script_raise_own(lua_State *L);

/* source.c: pushes the compiled chunk, or raises. */
void script_load(lua_State *L, const char *name, const char *text, size_t len);

/* limits.c */
void script_meter_start(struct script_meter *m, const struct script_limits *max,
			const char *name);
void script_meter_attach(struct script_meter *m, lua_State *L);
void *script_alloc(void *meter, void *ptr, size_t old, size_t size);
void script_kill(struct script_meter *m, enum script_kill why);
/* Looks at every limit but memory; true, with the script killed, where one is passed. */
bool script_over(struct script_meter *m);
/* Charges work that C does in a loop as instructions; true where the script must stop. */
bool script_spend(struct script_meter *m, size_t units);
/* The same, and raises. */
void script_work(lua_State *L, size_t units);
int script_raise_killed(lua_State *L);
/* Raises where the script has made too many host calls. */
void script_count_calls(lua_State *L, unsigned calls);
/* Script time stands still in between. The end raises where the run is over. */
void script_host_begin(lua_State *L, unsigned calls);
void script_host_end(lua_State *L);
double script_seconds(const struct script_meter *m);
int script_kill_error(const struct script_meter *m, struct hcp_err *err);

/* rehash.c: of memory that was just given to Lua, what may be a large table's nodes is kept in
 * mind. False: moving the keys of a table into them could take too long. */
bool script_tables_add(struct script_tables *t, void *nodes, size_t size);
void script_tables_drop(struct script_tables *t, const void *nodes, size_t size);

/* stack.c: runs fn on a stack of 1 MiB that ends in a guard page. -1: no memory for it. */
int script_on_stack(struct script_pool *pool, void (*fn)(void *arg), void *arg,
		    struct hcp_err *err) HCP_MUST_CHECK;

#endif
