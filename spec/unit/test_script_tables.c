/* SPDX-License-Identifier: MIT */
/* Our table functions against Lua's own, and sort against what sorting means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script_stock.h"

static const char compare[] =
    "local function show(t)\n"
    "  local keys, out = {}, {}\n"
    "  for k in pairs(t) do keys[#keys + 1] = k end\n"
    "  table.sort(keys)\n"
    "  for i, k in ipairs(keys) do out[i] = k .. '=' .. tostring(t[k]) end\n"
    "  return table.concat(out, ' ')\n"
    "end\n"
    "local function try(f, t, ...)\n"
    "  local r = table.pack(pcall(f, t, ...))\n"
    "  for i = 1, r.n do r[i] = r[i] == t and 'the table' or tostring(r[i]) end\n"
    "  return (table.concat(r, ' '):gsub(\"#%d to '[%w.?]+'\", '')) .. ' | ' .. show(t)\n"
    "end\n"
    "local R = math.random\n"
    "math.randomseed(7)\n"
    "local function int()\n"
    "  local r = R(20)\n"
    "  if r == 1 then return math.maxinteger - R(0, 2) end\n"
    "  if r == 2 then return math.mininteger + R(0, 2) end\n"
    "  return R(-2, 9)\n"
    "end\n"
    "for round = 1, 30000 do\n"
    "  local a, b = {}, {}\n"
    "  for i = 1, R(0, 6) do a[i] = i * 10 b[i] = i * 10 end\n"
    "  local kind, x, y, z = R(6), int(), int(), int()\n"
    "  local r, s\n"
    "  local function run(name, ...)\n"
    "    r, s = try(table[name], a, ...), try(ours[name], b, ...)\n"
    "  end\n"
    "  if kind == 1 then run('insert', 99)\n"
    "  elseif kind == 2 then run('insert', x, 99)\n"
    "  elseif kind == 3 then run('remove')\n"
    "  elseif kind == 4 then run('remove', x)\n"
    "  elseif kind == 5 and (x > 9 or y < 10) and y - x < 20 then run('move', x, y, z)\n"
    "  elseif kind == 6 and y - x >= 0 and y - x < 20 then run('move', x, y, z, {})\n"
    "  end\n"
    "  if r ~= s then error(('round %d\\n stock %s\\n ours  %s'):format(round, r, s)) end\n"
    "end\n";

static const char sorting[] =
    "local R = math.random\n"
    "math.randomseed(3)\n"
    "for round = 1, 400 do\n"
    "  local n, a, b = R(0, 70), {}, {}\n"
    "  for i = 1, n do a[i] = R(1, 30) b[i] = a[i] end\n"
    "  table.sort(a) ours.sort(b)\n"
    "  for i = 1, n do assert(a[i] == b[i]) end\n"
    /* stable: equals keep their order */
    "  local c = {}\n"
    "  for i = 1, n do c[i] = {R(1, 5), i} end\n"
    "  ours.sort(c, function(x, y) return x[1] < y[1] end)\n"
    "  for i = 2, n do\n"
    "    local x, y = c[i - 1], c[i]\n"
    "    assert(x[1] < y[1] or x[1] == y[1] and x[2] < y[2])\n"
    "  end\n"
    "end\n"
    "local words = {'pear', 'fig', 'apple'}\n"
    "ours.sort(words)\n"
    "assert(table.concat(words, ' ') == 'apple fig pear')\n"
    /* an order that contradicts itself, one that raises, one that changes the table */
    "local t = {}\n"
    "for i = 1, 1000 do t[i] = i end\n"
    "ours.sort(t, function() return R(2) == 1 end)\n"
    "local sum = 0 for _, v in ipairs(t) do sum = sum + v end\n"
    "assert(sum == 500500 and #t == 1000)\n"
    "ours.sort(t, function() return true end)\n"
    "t = {3, 1, 2, 5}\n"
    "local calls = 0\n"
    "assert(not pcall(ours.sort, t, function() calls = calls + 1 if calls == 3 then error('x') "
    "end\n"
    "  return true end))\n"
    "assert(table.concat(t, ' ') == '3 1 2 5')\n"
    "ours.sort(t, function(a, b) t[1] = nil return a < b end)\n"
    "assert(table.concat(t, ' ') == '1 2 3 5')\n"
    "assert(not pcall(ours.sort, {1, 'x'}))\n"
    "assert(not pcall(ours.sort, {1, 2}, 3))\n"
    "assert(not pcall(ours.sort))\n";

static void run(lua_State *L, const char *source)
{
	assert_int_equal(luaL_loadstring(L, source), LUA_OK);
	if (lua_pcall(L, 0, 0, 0) != LUA_OK)
		fail_msg("%s", lua_tostring(L, -1));
}

static void test_like_stock(void **state)
{
	struct stock s;

	(void)state;
	assert_non_null(stock_open(&s));
	run(s.L, compare);
	stock_close(&s);
}

static void test_sort(void **state)
{
	struct stock s;

	(void)state;
	assert_non_null(stock_open(&s));
	run(s.L, sorting);
	stock_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_like_stock),
	    cmocka_unit_test(test_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
