-- One command, asked for through every face: the same result or error to the byte, and records that differ in nothing but face,
-- pid, time and ids. Packs and arguments are made up anew each time; HCP_SEED repeats a run, HCP_CASES makes it longer.
local world = require "world"
local cjson = require "cjson"
local hcp = require "hcp"

local quote = world.quote
local seed = tonumber(os.getenv("HCP_SEED")) or os.time()
local count = tonumber(os.getenv("HCP_CASES")) or 32
local random = math.random

local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end

-- ---- values, as JSON text ----

local pieces = { "a", "B7", " ", "-", "--", "=", ",", "ü", "日", "😀", '\\"', "\\\\", "/", "{{a}}", "$(x)", "'", "%s", "\\n", "\\t", "007",
  "1.10", "true", "null", ":", ".", "\\u007f", "e\u{301}" }
local function a_string()
  local out = {}
  for i = 1, random(0, 4) do out[i] = pick(pieces) end
  return '"' .. table.concat(out) .. '"'
end
local function an_integer() return pick { "0", "-1", "7", "42", "9007199254740993", "-9223372036854775808", "9223372036854775807" } end
local function a_number() return pick { "0.1", "-2.5", "1e21", "3", "1.0", "0.30000000000000004" } end

local make
make = {
  string = a_string,
  integer = an_integer,
  number = a_number,
  boolean = function() return pick { "true", "false" } end,
  array = function()
    local out = {}
    for i = 1, random(0, 3) do out[i] = a_string() end
    return "[" .. table.concat(out, ",") .. "]"
  end,
  object = function() return pick { "{}", '{"k":[1,{"x":null}]}', '{"ü":' .. a_string() .. "}" } end,
  enum = function() return pick { '"fast"', '"slow"', '"not at all"' } end,
}
local types = { "string", "integer", "number", "boolean", "array", "object", "enum" }
local schema_of = { array = '{"type":"array","items":{"type":"string"}}', enum = '{"enum":["fast","slow","not at all"]}' }

-- ---- packs ----

-- A command: what it takes, what it does, and what the policy says of it.
local function a_command(n)
  local c = { verb = chance(30) and "two words" .. n or "verb" .. n, args = {}, open = chance(25),
    does = pick { "argv", "echo", "fail", "argv" }, policy = pick { "plain", "plain", "plain", "confirm", "none", "other" } }
  for _, key in ipairs { "a", "bee", "c_d", "e" } do
    if chance(70) then c.args[#c.args + 1] = { key = key, type = pick(types), required = chance(40), default = chance(30) } end
  end
  return c
end

local function schema(c)
  local properties, required = {}, {}
  for _, a in ipairs(c.args) do
    local s = schema_of[a.type] or ('{"type":"%s"}'):format(a.type)
    if a.default and not a.required then s = s:sub(1, -2) .. ',"default":' .. make[a.type]() .. "}" end
    properties[#properties + 1] = ('"%s":%s'):format(a.key, s)
    if a.required then required[#required + 1] = ('"%s"'):format(a.key) end
  end
  return ('{"type":"object","properties":{%s},"required":[%s]}'):format(table.concat(properties, ","), table.concat(required, ","))
end

local function manifest(id, commands)
  local out = { ("hcp: 1\npack_id: %s\nversion: 1.0.0\nsummary: Made up\nwrap: { bin: ./bin/show }\ncommands:\n"):format(id) }
  for _, c in ipairs(commands) do
    local tokens = { '"show"', c.does == "fail" and '"fail"' or '"ok"' }
    for _, a in ipairs(c.args) do tokens[#tokens + 1] = pick { '"{{%s}}"', '"--x={{%s}}"' }:format(a.key) end
    out[#out + 1] = ("  %q: { summary: s, effect: %s, %s%s }\n"):format(c.verb, pick { "read", "write" },
      c.does == "echo" and "kind: composite, script: verbs/echo.lua" or "cli: [" .. table.concat(tokens, ", ") .. "]",
      c.open and "" or ", args: " .. schema(c))
  end
  return table.concat(out)
end

local function policy(id, commands)
  local out = { "hcp: 1\npolicies:\n  nothing: {}\n" }
  for _, c in ipairs(commands) do
    local how = { plain = id .. ".use", confirm = id .. ".use, confirm: true", other = "other.use" }
    if how[c.policy] then out[#out + 1] = ("  %q: { capability: %s }\n"):format(c.verb, how[c.policy]) end
  end
  return table.concat(out)
end

local function put_pack(w, id, commands)
  w:pack(id, {
    ["pack.yaml"] = manifest(id, commands) .. "  nothing: { summary: s, cli: [show] }\n", ["policy.yaml"] = policy(id, commands),
    ["bin/show"] = { '#!/bin/sh\nprintf "%s\\n" "$@"\n[ "$1" != fail ] || { printf "%s;" "$@" >&2; exit 3; }\n', "755" },
    ["verbs/echo.lua"] = 'return function(args) if args.a == "a" then error "no a" end return args end\n',
  })
end

-- ---- cases ----

-- An argument's value, sometimes of a wrong type or none at all.
local function values(c)
  local out = {}
  for _, a in ipairs(c.args) do
    if a.required and chance(95) or chance(60) then
      out[#out + 1] = { key = a.key, json = make[chance(92) and a.type or pick(types)](), type = a.type }
    end
  end
  if chance(8) then out[#out + 1] = { key = "zz", json = a_string() } end
  if chance(40) then out[#out + 1] = { key = pick { "confirm", "apply" }, json = pick { "true", "true", "false", "1", '"true"' } } end
  if chance(6) then out[#out + 1] = { key = "mode", json = pick { '"mock"', '"real"' } } end
  return out
end

local function text_of(json) return cjson.decode("[" .. json .. "]")[1] end

-- As a person would write it where the schema says how, else as JSON.
local function word(v, c)
  if not c.open and v.type == "string" and v.json:sub(1, 1) == '"' then return v.key .. "=" .. text_of(v.json) end
  if not c.open and (v.type == "integer" and v.json:match("^-?%d+$") or v.type == "boolean" and v.json:match("^[tf]")) then
    return v.key .. "=" .. v.json
  end
  return v.key .. ":=" .. v.json
end

local function flag(v, c)
  local name = "--" .. v.key:gsub("_", pick { "_", "-" })
  if not c.open and v.type == "string" and v.json:sub(1, 1) == '"' then return name .. "=" .. text_of(v.json) end
  if not c.open and v.type == "boolean" and v.json == "true" then return name end
  if not c.open and v.type == "boolean" and v.json == "false" then return "--no-" .. name:sub(3) end
  if v.key == "confirm" and v.json == "true" then return "--confirm" end
end

local function case_of(p, c, given)
  local case, members, rest = { pack = p.id, verb = c.verb, words = {}, flags = {} }, {}, {}
  for _, v in ipairs(given) do
    members[#members + 1] = ('"%s":%s'):format(v.key, v.json)
    case.words[#case.words + 1] = word(v, c)
    local f = flag(v, c)
    if f then case.flags[#case.flags + 1] = f else rest[#rest + 1] = members[#members] end
  end
  -- one object, so that the order of names is the envelope's
  if #rest > 0 then case.flags = { "--args={" .. table.concat(members, ",") .. "}" } end
  case.args = "{" .. table.concat(members, ",") .. "}"
  case.envelope = ('{"pack_id":"%s","verb_key":"%s","args":%s}'):format(p.id, c.verb, case.args)
  -- an id is free again once it has its answer
  case.mcp = ('{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"%s.%s","arguments":%s}}'):format(p.id,
    c.verb:gsub(" ", "_"), case.args)
  return case
end

local function a_case(packs)
  local p = pick(packs)
  local c = chance(97) and pick(p.commands) or { verb = "missing", args = {}, open = true }
  return case_of(p, c, values(c))
end

-- One that is always there, to be allowed once and refused once.
local sure = { verb = "sure", args = { { key = "n", type = "integer", required = true } }, does = "argv", policy = "plain" }

-- ---- records ----

local differ = { "seq", "time", "run_id", "face", "pid", "duration_us", "prev", "hash", "binding" }

local function records_after(w, seen)
  local all, out = (w:audit()), {}
  for i = seen + 1, #all do
    for _, key in ipairs(differ) do all[i][key] = nil end
    out[#out + 1] = all[i]
  end
  return out, #all
end

describe("every face", function()
  local w
  setup(function()
    math.randomseed(seed)
    w = world.new()
    w:put("policies/auth/one.lua", 'return function() return { id = "user:spec" } end\n')
    w:put("hcp.yaml", "hcp: 1\naudit: { sync: os }\nsessions: { default: { packs: [one, two] } }\n")
    w:policy([[
auth: { provider: one }
grants: [ { principal: "user:spec", capabilities: ["one.*", "two.*"] } ]
packs: { one: { bins: [./bin/show] }, two: { bins: [./bin/show] } }
]])
  end)
  teardown(function() w:close() end)

  it(("gives one answer and leaves one record (HCP_SEED=%d HCP_CASES=%d)"):format(seed, count), function()
    local packs, cases, answers, records = {}, {}, {}, {}
    for _, id in ipairs { "one", "two" } do
      local commands = {}
      for n = 1, 6 do commands[n] = a_command(n) end
      commands[7] = sure
      packs[#packs + 1] = { id = id, commands = commands }
      put_pack(w, id, commands)
      assert(w:cli { "link", id, "--dir", w.dir, "--as", "linked-" .. id } == 0)
    end
    cases[1] = case_of(packs[1], sure, { { key = "n", type = "integer", json = "7" } })
    cases[2] = case_of(packs[2], sure, {})
    for n = 3, count do cases[n] = a_case(packs) end

    w:exec("one", "nothing") -- the log is there
    local seen = #w:audit()
    local function through(face, ask)
      answers[face] = {}
      for n, case in ipairs(cases) do answers[face][n] = ask(case) end
      records[face], seen = records_after(w, seen)
    end
    through("exec -", function(case) return (select(4, w:send(case.envelope)):gsub("\n$", "")) end)
    through("words", function(case)
      local _, out, err = w:cli { "exec", case.pack, case.verb, "--", table.unpack(case.words) }
      return out ~= "" and out:sub(1, -2) or err
    end)
    through("linked", function(case)
      local line = { quote(w.dir .. "/linked-" .. case.pack) }
      for part in case.verb:gmatch("%S+") do line[#line + 1] = part end
      for _, f in ipairs(case.flags) do line[#line + 1] = quote(f) end
      local _, out, err = world.sh(table.concat(line, " "))
      return out ~= "" and out:sub(1, -2) or err
    end)
    local rt <close> = assert(hcp.open { root = w.root, state = w.state })
    through("library", function(case) return (rt:exec(case.envelope)) end)

    local job = { hcp = { world.hcp, "--root", w.root, "--state", w.state }, dir = w.dir, stdio = {}, mcp = {} }
    for n, case in ipairs(cases) do job.stdio[n] = case.envelope end
    job.socket, job.http = job.stdio, job.stdio
    job.mcp[1] = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},' ..
      '"clientInfo":{"name":"spec","version":"1"}}}'
    for n, case in ipairs(cases) do job.mcp[n + 1] = case.mcp end
    local status, out, err = world.sh("python3 spec/support/faces.py", cjson.encode(job))
    assert.equal(0, status, err)
    for face, lines in pairs(cjson.decode(out)) do answers[face] = lines end
    local all = w:audit()
    for _, face in ipairs { "stdio", "socket", "http", "mcp" } do records[face] = {} end
    for i = seen + 1, #all do
      local list = records[all[i].face]
      for _, key in ipairs(differ) do all[i][key] = nil end
      list[#list + 1] = all[i]
    end

    local function told(n, face) return ("case %d, %s: %s"):format(n, face, cases[n].envelope) end
    local offered, kinds = {}, {}
    for n in ipairs(cases) do
      local want = answers["exec -"][n]
      for _, face in ipairs { "words", "linked", "library", "stdio", "socket", "http" } do
        assert.equal(want, answers[face][n], told(n, face))
      end
      local said = cjson.decode(answers.mcp[n + 1])
      local envelope = cjson.decode(want)
      kinds[envelope.ok and "ok" or envelope.error:match("^%a+")] = true
      if said.error then
        -- what this principal may not run at all is no tool
        assert.equal(-32602, said.error.code, told(n, "mcp"))
        assert.is_truthy(envelope.error:find("^no policy for ") or envelope.error:find("^denied: missing "), told(n, "mcp"))
      elseif envelope.ok then
        local raw = want:match('^{"ok":true,"pack_id":"[^"]*","verb_key":"[^"]*","result":(.*)}$')
        assert.equal(raw:sub(1, 1) == '"' and text_of(raw) or raw, said.result.content[1].text, told(n, "mcp"))
        assert.is_false(said.result.isError)
      else
        assert.equal(want, said.result.content[1].text, told(n, "mcp"))
        assert.is_true(said.result.isError)
      end
      offered[#offered + 1] = said.error == nil
    end
    assert.is_true(kinds.ok and kinds.invalid)

    for _, face in ipairs { "words", "linked", "library", "stdio", "socket", "http" } do
      for n, record in ipairs(records["exec -"]) do assert.same(record, records[face][n], face) end
      assert.equal(#records["exec -"], #records[face], face)
    end
    -- by MCP there are those of the tools alone; a run that began has a second record
    local n, i = 0, 0
    for _, record in ipairs(records["exec -"]) do
      if record.kind ~= "end" then n = n + 1 end
      if offered[n] then
        i = i + 1
        assert.same(record, records.mcp[i], told(n, "mcp"))
      end
    end
    assert.equal(i, #records.mcp)
    assert.equal(count, n)
  end)
end)
