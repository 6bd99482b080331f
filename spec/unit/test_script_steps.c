/* SPDX-License-Identifier: MIT */
/* Single steps of Lua's own that no hook interrupts, made as long as a script can make them:
 * what one call does with its arguments, what compiling does with a source, what a table does
 * when it grows. Each is refused or stopped before it has run, as what would have come of it
 * shows. */
#include "script_world.h"

/* ---- arguments ---- */

/* 3 MB a string, standing there 30 or 3000 times. */
static void test_one_string_many_times(void **state)
{
	static const char *const calls[] = {
	    "math.max(%s)",
	    "math.min(%s)",
	    "string.char(%s)",
	    "utf8.char(%s)",
	    "string.format(('%%.0s'):rep(3000), %s)",
	    "string.format(('%%d'):rep(3000), %s)",
	    "string.pack(('i1'):rep(3000), %s)",
	    "string.pack(('d'):rep(3000), %s)",
	};
	char call[100], source[400];
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		snprintf(call, sizeof(call), calls[i], "table.unpack(t)");
		snprintf(source, sizeof(source),
			 "local t, s = {}, (' '):rep(3000000) .. 65\n"
			 "for i = 1, 3000 do t[i] = s end\n"
			 "return function() local ok, e = pcall(function() %s end)\n"
			 "return {ok, e} end",
			 call);
		world_open(&w, SCRIPT_VERB);
		assert_string_equal(world_says(&w, source),
				    "[false,\"verbs/month.lua:3: arguments too long\"]");
		world_close(&w);
	}
	/* within memory they are charged: 16 times 3 MB a call are 10 M instructions in 3 calls
	 */
	world_open(&w, SCRIPT_VERB);
	w.call.limits.instructions = 10000000;
	assert_string_equal(world_says(&w, "local t, s = {}, (' '):rep(3000000) .. 65\n"
					   "for i = 1, 16 do t[i] = s end\n"
					   "for i = 1, 4 do math.max(table.unpack(t)) end"),
			    "! script: instruction limit of 10M exceeded at verbs/month.lua:3");
	world_close(&w);
	assert_verb("return function() return {math.max(3, 7, 5), math.min('b', 'a'), "
		    "string.char(104, '105'), utf8.char(233), #string.pack('>i4z', 1, 'x')} "
		    "end",
		    "[7,\"a\",\"hi\",\"\xc3\xa9\",6]");
}

/* ---- sources ---- */

static char *repeated(const char *front, const char *middle, size_t count, const char *end)
{
	size_t each = strlen(middle);
	char *s = malloc(strlen(front) + each * count + strlen(end) + 1), *p;

	assert_non_null(s);
	p = stpcpy(s, front);
	for (size_t i = 0; i < count; i++, p += each)
		memcpy(p, middle, each);
	strcpy(p, end);
	return s;
}

/* Its end is wrong: who compiled it whole would say so. */
static void assert_compiling_stops(const char *front, const char *middle, size_t count)
{
	char *source = repeated(front, middle, count, ")");
	struct world w;

	world_open(&w, SCRIPT_VERB);
	w.call.limits.script_ms = 20;
	world_run(&w, source);
	assert_string_equal(w.err.text,
			    "script: time limit of 20ms exceeded at verbs/month.lua");
	w.files = (const struct file[]){{"long.lua", source, 0}, {NULL, NULL, 0}};
	assert_string_equal(world_says(&w, "\nwhile true do pcall(require, 'long') end"),
			    "! script: time limit of 20ms exceeded at verbs/month.lua:2");
	world_close(&w);
	free(source);
}

static void test_compiling_is_timed(void **state)
{
	char front[70000], *p = front;

	(void)state;
	assert_compiling_stops("return ", "a or ", 200000);
	assert_compiling_stops("if a then ", "elseif a then ", 70000);
	/* a global is looked for among the variables of each function around it */
	for (int depth = 0; depth < 95; depth++) {
		p = stpcpy(p, "local f = function() local x0");
		for (int i = 1; i < 100; i++)
			p += sprintf(p, ",x%d", i);
		p = stpcpy(p, " ");
	}
	assert_compiling_stops(front, "a=b;", 200000);
}

/* ---- tables ---- */

/* With S nodes all lie in one place, with half of them each in its own. */
static void test_keys_that_crowd(void **state)
{
	static const char *const sources[] = {
	    "for m = 1, S // 2 do t[m * (S - 1)] = 1 end\nt.x = 1",
	    "for m = 1, S // 2 do t[-m * (S - 1)] = 1 end\nt.x = 1",
	    "for m = 1, S // 2 do rawset(t, m * (S - 1), 1) end\npcall(rawset, t, 'x', 1)",
	    "for m = 1, S // 2 do t[m * (S - 1)] = 1 end\npcall(table.move, {1}, 1, 1, -5, t)",
	    /* two crowds, and one among others */
	    "for m = 1, S // 2 do t[m * (S - 1) + m % 2] = 1 end\nt.x = 1",
	    "for m = 1, S // 2 do t[m % 4 == 0 and 'k' .. m or m * (S - 1)] = 1 end\nt.x = 1",
	    /* floats, whose hashes are 31 bits of them */
	    "for m = 1, S // 2 do t[((m // 64 % 4096 + 4096) * (S - 1) + m % 64 / 128)"
	    " / (1 << 31)] = 1 end\nt.x = 1",
	};
	char source[400];
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		snprintf(source, sizeof(source), "local S, t = 1 << 18, {}\n%s", sources[i]);
		world_open(&w, SCRIPT_VERB);
		world_run(&w, source);
		if (strcmp(w.err.text, "script: instruction limit of 100M exceeded at "
				       "verbs/month.lua:3") != 0)
			fail_msg("%s\n  %s", sources[i], w.err.text);
		world_close(&w);
	}
}

static void test_large_tables_are_fine(void **state)
{
	(void)state;
	assert_verb(
	    "local t, u, f, n = {}, {}, {}, 0\n"
	    "for i = 1, 70000 do t['key ' .. i] = i end\n"
	    "for i = 1, 70000 do u[i * 7919] = i u[-i * 65536] = i end\n"
	    "for i = 1, 70000 do f[1.7e9 + i / 4] = i f[i * 0.1] = i end\n"
	    "for _, v in ipairs{t, u, f} do for _ in pairs(v) do n = n + 1 end end\n"
	    "return function() return {n, t['key 70000'], u[-65536], f[1.7e9 + 0.25]} end",
	    "[350000,70000,1,1]");
	/* as many as ever, one after the other */
	assert_verb("for i = 1, 300 do local t = {} for k = 1, 1 << 15 do t[-k] = k end end\n"
		    "return function() return 'fine' end",
		    "\"fine\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_string_many_times),
	    cmocka_unit_test(test_compiling_is_timed),
	    cmocka_unit_test(test_keys_that_crowd),
	    cmocka_unit_test(test_large_tables_are_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
