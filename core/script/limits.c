/* SPDX-License-Identifier: MIT */
/* What a script may use up: memory by the allocator, instructions and time by a count hook, and
 * loops in C by script_spend. Whatever is passed first sets `killed`, once and for good; from
 * there on no protected call of the script's own holds anything up.
 *
 * Between two looks of the hook a script runs at most `interval` instructions, and no allowed
 * function does more in one of them than pass over its arguments once or charge for more. So
 * the overrun is bounded by interval times the largest object, and the interval shrinks as that
 * grows. */
#include "script/state.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INTERVAL   100 /* the hook's cost doesn't fall further beyond it */
#define BIG        (2U << 20)
#define SPEND_LOOK 4096

void script_limits_default(struct script_limits *l)
{
	*l = (struct script_limits){
	    .memory = 64 << 20,
	    .instructions = 100 * 1000 * 1000,
	    .script_ms = 5000,
	    .result = 1 << 20,
	    .log = 64 << 10,
	    .host_calls = 200,
	};
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Only reads the state, so it is fit for the allocator, too. */
static void note_place(struct script_meter *m)
{
	lua_Debug ar;

	for (int level = 0; m->L && lua_getstack(m->L, level, &ar); level++) {
		lua_getinfo(m->L, "Sl", &ar);
		if (ar.currentline > 0) {
			snprintf(m->place, sizeof(m->place), "%s:%d", ar.short_src,
				 ar.currentline);
			return;
		}
	}
}

static void on_count(lua_State *L, lua_Debug *ar)
{
	struct script_meter *m = &script_state_of(L)->meter;

	(void)ar;
	m->instructions += m->interval;
	if (script_over(m))
		script_raise_killed(L);
}

static void look_every(struct script_meter *m, int instructions)
{
	m->interval = instructions;
	if (m->L)
		lua_sethook(m->L, on_count, LUA_MASKCOUNT, instructions);
}

void script_meter_start(struct script_meter *m, const struct script_limits *max,
			const char *name)
{
	*m = (struct script_meter){
	    .max = max, .interval = INTERVAL, .started_ns = now_ns(), .largest = BIG};
	snprintf(m->place, sizeof(m->place), "%s", name);
}

void script_meter_attach(struct script_meter *m, lua_State *L)
{
	m->L = L;
	look_every(m, m->interval);
}

void script_kill(struct script_meter *m, enum script_kill why)
{
	if (m->killed != SCRIPT_ALIVE)
		return;
	m->killed = why;
	if (why != SCRIPT_KILL_MEMORY || !m->refused)
		note_place(m);
	look_every(m, 1);
}

bool script_over(struct script_meter *m)
{
	const struct script_limits *max = m->max;
	int64_t now;

	if (m->killed != SCRIPT_ALIVE)
		return true;
	now = now_ns();
	if (max->cancelled && __atomic_load_n(max->cancelled, __ATOMIC_RELAXED))
		script_kill(m, SCRIPT_KILL_CANCELLED);
	else if (m->instructions > max->instructions)
		script_kill(m, SCRIPT_KILL_INSTRUCTIONS);
	else if (max->deadline_ns && now >= max->deadline_ns)
		script_kill(m, SCRIPT_KILL_DEADLINE);
	else if ((now - m->started_ns - m->paused_ns) / 1000000 >= max->script_ms)
		script_kill(m, SCRIPT_KILL_TIME);
	return m->killed != SCRIPT_ALIVE;
}

bool script_spend(struct script_meter *m, size_t units)
{
	m->work += (int64_t)(units < INT32_MAX ? units : INT32_MAX);
	if (m->work < SPEND_LOOK)
		return m->killed != SCRIPT_ALIVE;
	m->instructions += m->work;
	m->work = 0;
	return script_over(m);
}

void script_work(lua_State *L, size_t units)
{
	if (script_spend(&script_state_of(L)->meter, units))
		script_raise_killed(L);
}

int script_raise_killed(lua_State *L)
{
	lua_pushliteral(L, "killed"); /* nobody reads it: the reason is in the meter */
	return lua_error(L);
}

/* Lua answers a refusal with a full collection and the same request again; refused then, it
 * raises. lauxlib's buffers don't ask again but raise an error that a script could catch: told
 * by the next request being another one. */
static bool refuse(struct script_meter *m, size_t size)
{
	if (m->refused)
		script_kill(m, SCRIPT_KILL_MEMORY);
	else
		note_place(m); /* by the time that it turns out fatal, the line may be left */
	m->refused = size;
	script_over(m); /* collections at the limit take time that no hook sees */
	return false;
}

static bool may_grow(struct script_meter *m, size_t size, size_t more)
{
	size_t max = m->max->memory > 0 ? (size_t)m->max->memory : 0;

	if (m->memory > max || more > max - m->memory)
		return refuse(m, size);
	if (m->refused && m->refused != size)
		script_kill(m, SCRIPT_KILL_MEMORY);
	if (m->killed == SCRIPT_KILL_MEMORY)
		return false;
	m->refused = 0;
	if (size > m->largest && m->killed == SCRIPT_ALIVE) {
		m->largest = size;
		if (size / BIG < INTERVAL)
			look_every(m, (int)((size_t)INTERVAL * BIG / size));
		else
			look_every(m, 1);
	}
	/* large pieces take time to fill; once killed, small ones unwind the script */
	return size < BIG / 2 || !script_over(m);
}

void *script_alloc(void *meter, void *ptr, size_t old, size_t size)
{
	struct script_meter *m = meter;
	bool may_be_nodes = !ptr && old == 0;
	void *p;

	if (ptr)
		script_tables_drop(&m->tables, ptr, old);
	else
		old = 0; /* it held a type tag */
	if (size == 0) {
		free(ptr);
		m->memory -= old;
		return NULL;
	}
	if (size > old && !may_grow(m, size, size - old))
		return NULL;
	p = realloc(ptr, size);
	if (!p && size <= old)
		p = ptr; /* Lua takes it for granted that shrinking works */
	else if (!p)
		return refuse(m, size), NULL;
	if (may_be_nodes && !script_tables_add(&m->tables, p, size)) {
		script_kill(m, SCRIPT_KILL_INSTRUCTIONS);
		free(p);
		return NULL;
	}
	m->memory = m->memory - old + size;
	return p;
}

void script_count_calls(lua_State *L, unsigned calls)
{
	struct script_state *s = script_state_of(L);
	unsigned max = s->meter.max->host_calls;

	if (script_over(&s->meter))
		script_raise_killed(L);
	if (calls > max || s->host_calls > max - calls)
		luaL_error(L, "more than %d host calls", (int)max);
	s->host_calls += calls;
}

void script_host_begin(lua_State *L, unsigned calls)
{
	script_count_calls(L, calls);
	script_state_of(L)->meter.pause_began_ns = now_ns();
}

void script_host_end(lua_State *L)
{
	struct script_meter *m = &script_state_of(L)->meter;

	m->paused_ns += now_ns() - m->pause_began_ns;
	if (script_over(m))
		script_raise_killed(L);
}

double script_seconds(const struct script_meter *m)
{
	return (double)(now_ns() - m->started_ns - m->paused_ns) / 1e9;
}

static int time_error(const struct script_meter *m, int64_t limit_ms, struct hcp_err *err)
{
	char amount[32];

	unit_format_duration(limit_ms, amount);
	return hcp_fail(err, HCP_E_TIMEOUT, "script: time limit of %s exceeded at %s", amount,
			m->place);
}

int script_kill_error(const struct script_meter *m, struct hcp_err *err)
{
	char amount[32];

	switch (m->killed) {
	case SCRIPT_KILL_MEMORY:
		unit_format_size(m->max->memory, amount);
		return hcp_fail(err, HCP_E_LIMIT, "script: memory limit of %s exceeded at %s",
				amount, m->place);
	case SCRIPT_KILL_INSTRUCTIONS:
		unit_format_count(m->max->instructions, amount);
		return hcp_fail(err, HCP_E_LIMIT,
				"script: instruction limit of %s exceeded at %s", amount,
				m->place);
	case SCRIPT_KILL_TIME:
		return time_error(m, m->max->script_ms, err);
	case SCRIPT_KILL_DEADLINE:
		return time_error(m, m->max->deadline_ms, err);
	case SCRIPT_KILL_CANCELLED:
		return hcp_fail(err, HCP_E_CANCELLED, "script: cancelled at %s", m->place);
	case SCRIPT_ALIVE:
		break;
	}
	return hcp_fail(err, HCP_E_INVALID, "script: failed");
}
