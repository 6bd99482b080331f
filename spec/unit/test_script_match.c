/* SPDX-License-Identifier: MIT */
/* Our matcher against Lua's own: the same answers, captures, positions and messages on a large
 * generated set of patterns and subjects, well-formed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script_stock.h"

#include <stdlib.h>

static const char generate[] =
    "local seed = ...\n"
    "math.randomseed(seed)\n"
    "local R = math.random\n"
    "local pieces = {'a', 'b', 'c', '.', '%a', '%d', '%s', '%w', '%W', '%p', '%x', '%l', "
    "'%u',\n"
    "  '%g', '%c', '%A', '%%', '%.', '[abc]', '[^abc]', '[a-c]', '[%a_]', '[^%s]', '[]]',\n"
    "  '[^]]', '[a-]', '[-a]', '[%-x]', '[b-a]', '[%d-z]', '%f[%w]', '%f[%W]', '%f[^a]',\n"
    "  '%b()', '%bab', '%baa', '%1', '%2', '%0', '()', '(a)', '(.)', '(', ')', '(.-)', "
    "'(a*)',\n"
    "  '[', ']', '%', '$', '^', '*', '+', '-', '?', '%f', '%b', '%bx', '[a', '[%', '[^', "
    "'[%]',\n"
    "  '[[]', '[a%]b]', '\\0', '[\\0-\\31]', '\\xff', '[\\x80-\\xff]', '%z', '%Z', '-', '*'}\n"
    "local quantities = {'', '', '', '', '*', '+', '-', '?'}\n"
    "local bytes = {'a', 'a', 'a', 'b', 'b', 'c', '(', ')', ' ', '1', '_', '.', '-', '%', "
    "'A',\n"
    "  '\\0', '\\xff', ']', '\\n', 'x'}\n"
    "local function pattern()\n"
    "  local t = {}\n"
    "  if R(5) == 1 then t[1] = '^' end\n"
    "  for _ = 1, R(0, 6) do t[#t + 1] = pieces[R(#pieces)] .. quantities[R(#quantities)] end\n"
    "  if R(5) == 1 then t[#t + 1] = '$' end\n"
    "  return table.concat(t)\n"
    "end\n"
    "local function subject()\n"
    "  local t = {}\n"
    "  for i = 1, R(0, 12) do t[i] = bytes[R(#bytes)] end\n"
    "  return table.concat(t)\n"
    "end\n"
    "local templates = {'', 'x', '<%0>', '%1', '%2', '%%', '%', '%x', '[%1%1]', '%9', 'a%', "
    "7,\n"
    "  {a = 'A', ab = 1, b = false}, {[1] = 'one', [''] = '-'}, {a = {}},\n"
    "  function(a, b) return b or a end, function() end, function() return {} end,\n"
    "  function(...) return select('#', ...) end}\n"
    "local fine = 0\n"
    "for _ = 1, 6000 do\n"
    "  local s, p = subject(), pattern()\n"
    "  local from = R(3) == 1 and R(-14, 14) or nil\n"
    "  if both('find', s, p, from) then fine = fine + 1 end\n"
    "  both('find', s, p, from, true)\n"
    "  both('match', s, p, from)\n"
    "  both('gsub', s, p, templates[R(#templates)], R(4) == 1 and R(-1, 3) or nil)\n"
    "  both_gmatch(s, p, from)\n"
    "end\n"
    "return fine\n";

/* 6000 pairs each; each goes through five functions. MATCH_PAIRS asks for more. */
#ifdef __SANITIZE_ADDRESS__
#define SEEDS 4
#else
#define SEEDS 34
#endif

static void run(lua_State *L, const char *source, int args, int results)
{
	assert_int_equal(luaL_loadstring(L, source), LUA_OK);
	if (args)
		lua_insert(L, -1 - args);
	if (lua_pcall(L, args, results, 0) != LUA_OK)
		fail_msg("%s", lua_tostring(L, -1));
}

static void test_generated(void **state)
{
	struct stock s;
	lua_State *L = stock_open(&s);
	const char *asked = getenv("MATCH_PAIRS");
	lua_Integer fine = 0, seeds = asked ? strtol(asked, NULL, 10) / 6000 + 1 : SEEDS;

	(void)state;
	assert_non_null(L);
	run(L, stock_compare, 0, 0);
	for (lua_Integer seed = 1; seed <= seeds; seed++) {
		lua_pushinteger(L, seed);
		run(L, generate, 1, 1);
		fine += lua_tointeger(L, -1);
		lua_pop(L, 1);
	}
	/* most are well-formed enough to give an answer */
	assert_true(fine > seeds * 1500);
	stock_close(&s);
}

static void test_known(void **state)
{
	struct stock s;
	lua_State *L = stock_open(&s);

	(void)state;
	assert_non_null(L);
	run(L, stock_compare, 0, 0);
	run(L,
	    "for _, c in ipairs{\n"
	    "  {'THE (quick) fox', '%((%a+)%)'}, {'key = value', '(%w+)%s*=%s*(%w+)'},\n"
	    "  {'  trim  ', '^%s*(.-)%s*$'}, {'hello', 'l+'}, {'', ''}, {'abc', '()b()'},\n"
	    "  {'f(a(b)c)d', '%b()'}, {'THE (quick) fox', '%f[%a]%a+%f[%A]'}, {'x\\0y', "
	    "'%z'},\n"
	    "  {'abc', ('(a)'):rep(33)}, {'aaa', ('a?'):rep(250)}, {'bbb', ('a*'):rep(250)},\n"
	    "  {('a'):rep(300), ('a?'):rep(250)}, {('a'):rep(300), ('a'):rep(250)},\n"
	    "  {'a.b', '.', 1, true}, {'a.b', '', 4}, {'a.b', '', 5}, {'abab', '(ab)%1'},\n"
	    "  {'[]', '[]]'}, {'a]', '[^]a]'}, {'x^y', 'x^y'}, {'a$', 'a$'}, {'a$b', 'a$b'},\n"
	    "} do both('find', table.unpack(c)) both('match', table.unpack(c))\n"
	    "  both_gmatch(c[1], c[2]) both('gsub', c[1], c[2], '%0%0') end\n"
	    /* around the depth that is too much */
	    "for n = 190, 205 do for _, item in ipairs{'a*', 'a-', 'a?', '(a*)', 'a*b', 'a-b', "
	    "'%a+b'} do\n"
	    "  for _, last in ipairs{'', 'b', 'c', '[', '%', '(b)', '$', '.-c', '%1'} do\n"
	    "    local s, p = 'ab', item:rep(n) .. last\n"
	    "    both('find', s, p) both('match', '', p) both('gsub', '', p, '')\n"
	    "  end end end\n"
	    "both('gsub', 'abc', '%w', '%%%0') both('gsub', 'abc', '', '-')\n"
	    "both('gsub', 'hello world', 'o', {o = 'O'}, 1)\n"
	    "both('find', 12345, 34) both('find') both('gsub', 'a', 'a')\n"
	    "both('gsub', 'a', 'a', true) both('gsub', 'abc def', '(%w+) (%w+)', '%2 %1 %3')\n"
	    "both('rep', 'ab', 3, ',') both('rep', 'ab', 1, ',') both('rep', '', 5, ',')\n"
	    "both('rep', 'x', 0) both('rep', 'x', -1) both('rep', 'abc', 7) both('rep', 'x')\n",
	    0, 0);
	stock_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
