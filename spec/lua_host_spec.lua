-- The module `hcp` of a host's Lua: tables in and out, exact.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"
local hcp = require "hcp"

-- demo, with a composite that gives what its text says and a program that prints it.
local function echo_files()
  local files = demo.files()
  files["pack.yaml"] = demo.manifest .. [[
  say:
    summary: Prints its stdin
    wrap: { bin: ./bin/say, json_flag: [], stdin: "{{text}}" }
    cli: [demo, say]
    effect: read
    args: { properties: { text: { type: string } } }
]]
  files["policy.yaml"] = demo.policy .. "  say: { capability: demo.read }\n"
  files["bin/say"] = { "#!/bin/sh\nexec cat\n", "755" }
  return files
end

local function message(call, ...)
  local ok, err = pcall(call, ...)
  assert.is_false(ok)
  return (err:gsub("^[^ ]*:%d+: ", ""))
end

describe("a host in Lua", function()
  local w, rt
  setup(function()
    w = world.new()
    w:pack("demo", echo_files())
    w:policy(demo.grants:gsub("bins: .*", "bins: [./bin/show, ./bin/say]\n"))
    w:activate("demo")
    rt = assert(hcp.open { root = w.root, state = w.state })
  end)
  teardown(function()
    rt:close()
    w:close()
  end)

  local function ask(verb, args, options)
    return rt:exec({ pack_id = "demo", verb_key = verb, args = args }, options)
  end

  it("gives a table and gets one, with what stands beside it", function()
    local answer, info = ask("plain", { n = 7, text = "a b" })
    assert.same({ ok = true, pack_id = "demo", verb_key = "plain", result = { "--n=7", "a b", "--json" } }, answer)
    assert.equal(26, #info.run_id)
    info.run_id = nil
    assert.same({ ok = true, step = 9, exit = 0, error = "" }, info)
    answer, info = ask("mark", {})
    assert.same({ ok = false, pack_id = "demo", verb_key = "mark", error = "confirm required" }, answer)
    assert.same({ false, 6, 126, "confirm required" }, { info.ok, info.step, info.exit, info.error })
  end)

  it("gives text and gets text, in which nothing changes", function()
    local text = rt:exec '{"pack_id":"demo","verb_key":"say","args":{"text":"[1.50, 12345678901234567890]"}}'
    assert.equal('{"ok":true,"pack_id":"demo","verb_key":"say","result":[1.50,12345678901234567890]}', text)
  end)

  it("keeps integers, floats, null and lists on both ways", function()
    local args = { most = math.maxinteger, least = math.mininteger, past_double = 9007199254740993, float = 1.5, whole = 10.0,
      null = hcp.null, none = hcp.array(), list = { 1, hcp.null, { deep = {} } }, text = 'ü\0"\n', yes = true, no = false }
    local answer = ask("lua", args)
    assert.same({ verb = "lua", args = args }, answer.result)
    for key, value in pairs(args) do assert.equal(math.type(value), math.type(answer.result.args[key]), key) end
    -- an empty list stays one, and an empty object
    assert.equal(answer.result.args.none, hcp.array(answer.result.args.none))
    local again = ask("lua", answer.result.args)
    assert.same(answer, again)
    local text = rt:exec(cjson.encode { pack_id = "demo", verb_key = "say", args = { text = '{"a":[],"b":{}}' } })
    assert.equal('{"ok":true,"pack_id":"demo","verb_key":"say","result":{"a":[],"b":{}}}', text)
    assert.equal(cjson.null, hcp.null)
  end)

  it("writes a table's keys in one order", function()
    local text = { "zeta", "a", "B", "mid", "aa", "_" }
    local args = {}
    for _, key in ipairs(text) do args[key] = 1 end
    ask("lua", args)
    local records = w:audit()
    local _, lines = w:audit()
    assert.equal("end", records[#records].kind)
    assert.matches('"args":{"B":1,"_":1,"a":1,"aa":1,"mid":1,"zeta":1}', lines, 1, true)
  end)

  it("is told where a result is more than Lua holds, and has it as text: the command ran", function()
    for text, why in pairs {
      ["[12345678901234567890]"] = "^a number that is too big at byte 55$",
      ['{"a":1,"a":2}'] = "^a duplicate key at byte 61$",
    } do
      local answer, err, json = ask("say", { text = text })
      assert.is_nil(answer)
      assert.matches(why, err)
      assert.equal(('{"ok":true,"pack_id":"demo","verb_key":"say","result":%s}'):format(text), json)
    end
  end)

  it("raises for a value that is no JSON, and says where it stands", function()
    local circle = {}
    circle.again = circle
    local deep = hcp.array()
    for _ = 1, 70 do deep = { deep } end
    local wide = {}
    for i = 1, 200 do wide[i] = ("x"):rep(10000) end
    local before = #w:audit()
    for what, args in pairs {
      ["envelope.args.f: neither table, string, number, boolean nor hcp.null"] = { f = print },
      ["envelope.args.list[2].x: not a finite number"] = { list = { 1, { x = 0 / 0 } } },
      ["envelope.args.text: not UTF-8"] = { text = "\xff" },
      ["envelope.args: a key that is not UTF-8"] = { ["\xff"] = 1 },
      ["envelope.args: a key with a NUL"] = { ["a\0b"] = 1 },
      ["envelope.args: a key that is no string"] = { [2] = 1 },
      ["envelope.args.list: a list with a hole"] = { list = { 1, 2, [4] = 4 } },
      ["envelope.args.list: a list with a key that is no index"] = { list = { 1, 2, n = 2 } },
      ["envelope.args.wide[106]: over 1M of JSON"] = { wide = wide },
      ["envelope.args.none: a list with a key that is no index"] = { none = setmetatable({ n = 1 }, getmetatable(hcp.array())) },
    } do
      assert.equal(what, message(ask, "lua", args))
    end
    assert.matches("^envelope%.args%.again.*%.again: nested over 64 levels$", message(ask, "lua", circle))
    assert.matches("^envelope%.args%.deep%[1%].*%[1%]: nested over 64 levels$", message(ask, "lua", { deep = deep }))
    assert.matches("the table has a metatable", message(hcp.array, setmetatable({}, {})))
    assert.equal(before, #w:audit())
  end)

  it("has its metamethods left alone", function()
    local called = 0
    local function note() called = called + 1 end
    local args = setmetatable({ a = 1 }, { __index = note, __pairs = note, __len = note, __gc = nil })
    assert.same({ a = 1 }, ask("lua", args).result.args)
    assert.equal(0, called)
  end)

  it("speaks for others: a session, a tenant, a principal, a deadline", function()
    w:put("policies/who.yaml", "hcp: 1\nauth: { provider: host }\n" ..
      "grants: [ { principal: 'app:*', tenants: [acme], capabilities: [demo.read] } ]\n")
    finally(function()
      os.remove(w.root .. "/policies/who.yaml")
      assert(rt:reload())
    end)
    assert.is_true(rt:refresh())
    local ada = { id = "app:ada", tenants = hcp.array { "acme" } }
    local function said(options) return ask("plain", { n = 1 }, options).error or "ok" end
    assert.equal("denied: unauthenticated", said())
    assert.equal("ok", said { principal = ada, tenant = "acme" })
    assert.equal("ok", said { principal = '{"id":"app:ada","tenants":["acme"]}', tenant = "acme" })
    assert.equal("denied: tenant other", said { principal = ada, tenant = "other" })
    assert.equal("denied: missing demo.read for demo.plain", said { principal = { id = "svc:x", tenant = "acme" } })
    assert.equal("pack demo not activated", said { principal = ada, tenant = "acme", session = "none" })
    assert.equal("sandbox: timeout after 1ms", said { principal = ada, tenant = "acme", deadline_ms = 1 })
    local records = w:audit()
    local seen = {}
    for _, record in ipairs(records) do seen[record.principal or ""] = true end
    assert.is_true(seen["app:ada"] and seen["svc:x"])
  end)

  it("lists, explains and turns packs on and off", function()
    assert.same({ session = "lua", packs = {} }, rt:session { session = "lua" })
    assert.is_true(rt:activate("demo", { session = "lua" }))
    assert.same({ session = "lua", packs = { "demo" } }, rt:session { session = "lua" })
    assert.equal("demo", rt:describe(nil, { session = "lua" }).packs[1].pack_id)
    assert.equal("integer", rt:describe("demo").commands.plain.args.properties.n.type)
    local may = rt:permitted { session = "lua" }
    assert.equal("demo", may.packs[1].pack_id)
    assert.is_nil(may.packs[1].commands.nopolicy)
    assert.is_true(rt:deactivate("demo", { session = "lua" }))
    local envelope = { pack_id = "demo", verb_key = "plain", args = { n = 1 } }
    local told = rt:explain(envelope, { session = "lua" })
    assert.same({ false, 2, "pack demo not activated" }, { told.ok, told.step, told.error })
    told = rt:explain(envelope, { session = "lua", suppose = { activated = true, principal = "user:eve" } })
    assert.same({ true, "user:eve" }, { told.ok, told.principal.id })
    assert.equal("pack demo not activated", cjson.decode(rt:explain(cjson.encode(envelope), { session = "lua" })).error)
    assert.same({ nil, "unknown pack ghost" }, { rt:describe("ghost") })
    assert.same({ nil, "unknown pack ghost" }, { rt:activate("ghost") })
  end)

  it("is refused while its configuration is broken", function()
    w:put("hcp.yaml", "hcp: 1\nno: such\n")
    local ok, err = rt:reload()
    assert.is_nil(ok)
    assert.matches("hcp.yaml:2: ", err)
    assert.same({ nil, err }, { rt:check() })
    assert.equal("config: " .. err, ask("plain", { n = 1 }).error)
    os.remove(w.root .. "/hcp.yaml")
    assert.is_true(rt:reload())
    assert.is_true(rt:check())
    assert.is_true(ask("plain", { n = 1 }).ok)
  end)

  it("is told of options that mean nothing, before anything runs", function()
    local before = #w:audit()
    for what, options in pairs {
      ['unknown option "suppose"'] = { suppose = {} },
      ['unknown option "sesion"'] = { sesion = "x" },
      ["principal must be a string without NUL bytes"] = { principal = 7 },
      ["principal.id: not UTF-8"] = { principal = { id = "\xff" } },
      ["deadline_ms must be a positive integer"] = { deadline_ms = 0 },
      ["deadline_ms is too large"] = { deadline_ms = math.maxinteger },
      ["token: 8 to 16384 visible ASCII characters"] = { token = "short" },
      ["session: 1 to 64 of A-Z a-z 0-9 _ . -"] = { session = "a b" },
    } do
      assert.equal(what, message(ask, "plain", { n = 1 }, options))
    end
    assert.equal(before, #w:audit())
  end)

  it("finds it all in the annotations, and nothing that isn't there", function()
    local there = {}
    for name, value in pairs(hcp) do there["hcp." .. name] = type(value) end
    for name, value in pairs(debug.getmetatable(rt).__index) do there["Runtime:" .. name] = type(value) end
    local told, text = {}, assert(world.read "lua/types/host.lua")
    assert(load(text, "=host.lua", "t"))
    for name in text:gmatch "function (hcp%.[%w_]+)%(" do told[name] = "function" end
    for name in text:gmatch "function (Runtime:[%w_]+)%(" do told[name] = "function" end
    told["hcp.null"] = text:match "%-%-%-@field null " and "userdata"
    told["hcp.version"] = text:match "%-%-%-@field version " and "string"
    assert.same(there, told)
    local options = assert(world.read "lua/options.c")
    for name in options:match("options_call%(.-known%[%] = {(.-)NULL};"):gmatch '"([%w_]+)"' do
      assert.matches("---@field " .. name .. "? ", text, 1, true)
      assert.matches("`" .. name .. "`", world.read "docs/embed.md", 1, true)
    end
  end)
end)
