/* SPDX-License-Identifier: MIT */
/* What our pattern functions cost beside Lua's own, on ordinary work. Both run in one state and
 * one process, in turn, so that whatever the machine does meanwhile happens to both; a figure
 * is the median of many rounds. Nothing depends on it but docs/performance.md. */
#include "script_stock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* `f` is the table of functions; each chunk runs the function under test often. */
static const char setup[] =
    "line = 'cash;rent;  1200.50;EUR;2024-02-29;paid in advance, by transfer'\n"
    "words = ('The quick brown fox jumps over the lazy dog, twice. '):rep(20)\n"
    "text = ('nothing to see here, move along; '):rep(300) .. 'ada@example.com'\n"
    "json = '{\"name\": \"Ada\", \"list\": [1, 2.5, -3], \"nested\": {\"deep\": {}}}'\n"
    "path = 'packs/ledger/verbs/report_month.lua'\n"
    "padded = (' '):rep(20) .. words .. (' '):rep(20)\n"
    "mail = ('x = 1; y = 2; mail to ada@example.com or bob@example.org. '):rep(10)\n";

static const struct {
	const char *name, *code;
} cases[] = {
    {"split a line", "for w in f.gmatch(line, '[^;]+') do end"},
    {"words", "for w in f.gmatch(words, '%a+') do end"},
    {"trim", "f.match(padded, '^%s*(.-)%s*$')"},
    {"key and value", "f.match('month = 2024-02', '^(%w+)%s*=%s*(.*)$')"},
    {"date", "f.match('2024-02-29', '^(%d%d%d%d)-(%d%d)-(%d%d)$')"},
    {"number", "f.match('-1200.50', '^%-?%d+%.?%d*$')"},
    {"find a word", "f.find(text, 'ada@', 1, true)"},
    {"find by pattern", "f.find(text, '%w+@%w+%.%w+')"},
    {"find a class", "f.find(text, '[@#]')"},
    {"addresses", "for a, b in f.gmatch(mail, '([%w_.]+)@([%w_.]+)') do end"},
    {"replace", "f.gsub(words, 'fox', 'cat')"},
    {"collapse blanks", "f.gsub(padded, '%s+', ' ')"},
    {"escape", "f.gsub(words, '[%c\"\\\\]', '?')"},
    {"replace by a table", "f.gsub(words, '%a+', {fox = 'cat'})"},
    {"replace by a function", "f.gsub(words, '%a+', f.upper)"},
    {"frontier", "f.gsub(words, '%f[%a]%a', '_')"},
    {"balanced", "f.match(json, '%b{}')"},
    {"file name", "f.match(path, '([^/]+)%.lua$')"},
};
#define CASES  (sizeof(cases) / sizeof(cases[0]))
#define ROUNDS 201

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts); /* others work here, too */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static void need(lua_State *L, int status)
{
	if (status == LUA_OK)
		return;
	fprintf(stderr, "%s\n", lua_tostring(L, -1));
	exit(1);
}

/* Leaves a function that does `code` `count` times with the functions of `table`. */
static void load(lua_State *L, const char *table, const char *code, int count)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "local f = %s\nreturn function() for _ = 1, %d do %s end end", table, count,
		 code);
	need(L, luaL_loadstring(L, text));
	need(L, lua_pcall(L, 0, 1, 0));
}

static double seconds(lua_State *L, int function)
{
	double began = now();

	lua_pushvalue(L, function);
	need(L, lua_pcall(L, 0, 0, 0));
	return now() - began;
}

/* As often as fills about a millisecond. */
static int times(lua_State *L, const char *code)
{
	double took;

	load(L, "string", code, 100);
	took = seconds(L, lua_gettop(L));
	took = seconds(L, lua_gettop(L));
	lua_pop(L, 1);
	return took > 0.1 ? 1 : (int)(0.1 / took) + 1;
}

/* Gives how many times Lua's own time ours is. */
static double run_case(lua_State *L, const char *name, const char *code)
{
	double stock[ROUNDS], ours[ROUNDS], ratio[ROUNDS], m;
	int count = times(L, code), base = lua_gettop(L);

	load(L, "string", code, count);
	load(L, "ours", code, count);
	for (int i = 0; i < ROUNDS; i++) {
		lua_gc(L, LUA_GCCOLLECT, 0);
		if (i % 2)
			stock[i] = seconds(L, base + 1);
		ours[i] = seconds(L, base + 2);
		if (i % 2 == 0)
			stock[i] = seconds(L, base + 1);
		ratio[i] = ours[i] / stock[i];
	}
	lua_settop(L, base);
	m = median(ratio, ROUNDS);
	printf("%-22s %10.0f %10.0f %8.2f\n", name, median(stock, ROUNDS) / count * 1e9,
	       median(ours, ROUNDS) / count * 1e9, m);
	return m;
}

/* An argument picks the case of that name. */
int main(int argc, char **argv)
{
	double ratios[CASES];
	size_t n = 0;
	struct stock s;
	lua_State *L = stock_open(&s);

	if (!L)
		return 1;
	need(L, luaL_dostring(L, "setmetatable(ours, {__index = string})"));
	need(L, luaL_dostring(L, setup));
	printf("%-22s %10s %10s %8s\n", "nanoseconds", "Lua's", "ours", "ratio");
	for (size_t i = 0; i < CASES; i++)
		if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
			ratios[n++] = run_case(L, cases[i].name, cases[i].code);
	if (n == 0)
		return 1;
	printf("%-22s %30.2f\n", "median", median(ratios, n));
	stock_close(&s);
	return 0;
}
