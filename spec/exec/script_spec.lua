-- Scripts in the real pipeline: what a composite may ask for, where modules come from, what an author reads.
local world = require "world"

local grants = 'grants: [ { principal: "*", capabilities: ["*"] } ]\n'

-- A pack "lua" with a composite command a script: { name = "text of verbs/<name>.lua", ... }
local function pack(w, scripts, more, id)
  id = id or "lua"
  local manifest = { "hcp: 1", "pack_id: " .. id, "version: 1.0.0", "summary: x" }
  for _, line in ipairs(more or {}) do manifest[#manifest + 1] = line end
  manifest[#manifest + 1] = "commands:"
  local policy = { "hcp: 1", "policies:" }
  local files = {}
  for name, text in pairs(scripts) do
    if name:find "/" then
      files[name] = text
    else
      local line = type(text) == "table" and text.line or ""
      files["verbs/" .. name .. ".lua"] = type(text) == "table" and text.script or text
      manifest[#manifest + 1] = ("  %s: { summary: x, kind: composite, script: verbs/%s.lua%s }"):format(name, name, line)
      policy[#policy + 1] = ("  %s: {%s}"):format(name, type(text) == "table" and text.policy or "")
    end
  end
  for _, line in ipairs(more and more.commands or {}) do manifest[#manifest + 1] = line end
  for _, line in ipairs(more and more.policies or {}) do policy[#policy + 1] = line end
  files["pack.yaml"] = table.concat(manifest, "\n") .. "\n"
  files["policy.yaml"] = table.concat(policy, "\n") .. "\n"
  w:pack(id, files)
  w:activate(id)
end

describe("scripts", function()
  local w
  before_each(function()
    w = world.new()
    w:policy(grants)
  end)
  after_each(function() w:close() end)

  -- What one composite gives for `args`: its result, or nil and its error.
  local function run(text, args)
    pack(w, { one = text })
    local envelope = w:exec("lua", "one", args or {})
    return envelope.result, envelope.error
  end

  describe("ctx.exec_all", function()
    -- each writes its own name and waits until all three are there: one after the other they would never end
    local meet = "#!/bin/sh\n: >\"$1\"\nuntil [ -e a ] && [ -e b ] && [ -e c ]; do sleep 0.01; done\n" ..
      "echo \"{\\\"n\\\":\\\"$1\\\"}\"\n"

    it("runs programs side by side and gives their results in the order of the calls", function()
      w:policy(grants .. "packs: { lua: { bins: [./bin/meet] } }\n")
      pack(w, {
        all = "return function(_, ctx) return ctx.exec_all{ {'meet', {n='c'}}, {'meet', {n='a'}}, {'lua', 'meet', {n='b'}} } end",
        ["bin/meet"] = { meet, "755" },
      }, {
        commands = { "  meet: { summary: x, lock: none, cli: [lua, '{{n}}'], wrap: { bin: ./bin/meet, json_flag: [], " ..
          "workspace: { mode: workspace } } }" },
        policies = { "  meet: {}" },
      })
      assert.same({ ok = true, pack_id = "lua", verb_key = "all", result = { { n = "c" }, { n = "a" }, { n = "b" } } },
        w:exec("lua", "all"))
    end)

    it("raises the first error in the order of the calls, and records every run under the script's", function()
      pack(w, {
        all = "return function(_, ctx) return ctx.exec_all{ {'leaf', {n=1}}, {'fails', {n=2}}, {'fails', {n=3}} } end",
        leaf = "return function(args) return args.n end",
        fails = "return function(args) hcp.fail('no ' .. args.n) end",
      })
      assert.equal("no 2", w:exec("lua", "all").error)
      local outer, begun = nil, {}
      for _, record in ipairs(w:audit()) do
        if record.kind == "begin" and record.verb == "all" then outer = record.run_id end
        if record.kind == "begin" and record.verb ~= "all" then
          begun[#begun + 1] = record.verb
          assert.equal(outer, record.parent_run_id)
        end
      end
      table.sort(begun)
      assert.same({ "fails", "fails", "leaf" }, begun)
    end)

    it("counts as many host calls as it holds, and none is made where they are too many", function()
      pack(w, {
        all = "return function(_, ctx) local t = {} for i = 1, 201 do t[i] = {'leaf'} end return ctx.exec_all(t) end",
        leaf = "return function() return 1 end",
      })
      assert.equal("script: verbs/all.lua:1: bad argument #1 to 'exec_all' (more calls than host calls are allowed)",
        w:exec("lua", "all").error)
      for _, record in ipairs(w:audit()) do assert.not_equal("leaf", record.verb) end
    end)
  end)

  it("ctx.exec_all begins no more commands once their results are more than a script could hold", function()
    w:policy(grants .. "packs: { lua: { bins: [./bin/much] } }\n")
    pack(w, {
      all = "return function(_, ctx) local t = {} for i = 1, 40 do t[i] = {'much'} end return #ctx.exec_all(t) end",
      ["bin/much"] = { "#!/bin/sh\nhead -c 8000000 /dev/zero | tr '\\0' x\n", "755" },
    }, {
      commands = { "  much: { summary: x, cli: [lua], wrap: { bin: ./bin/much, json_flag: [], result: text } }" },
      policies = { "  much: {}" },
    })
    assert.equal("exec_all: over 64M of results together", w:exec("lua", "all").error)
    local begun = 0
    for _, record in ipairs(w:audit()) do begun = begun + (record.kind == "begin" and record.verb == "much" and 1 or 0) end
    assert.is_true(begun >= 9 and begun < 9 + 8, begun)
  end)

  describe("ctx.exec", function()
    it("can't invent a consent, and passes one that was given", function()
      pack(w, {
        outer = "return function(args, ctx) local out = {} for i, a in ipairs{ {confirm=true}, {apply=true}, " ..
          "{confirm=true, mode='real'} } do out[i] = ctx.try('gate', a).error or 'ran' end return out end",
        all = "return function(args, ctx) return ctx.exec_all{ {'gate', {confirm=true}} } end",
        deeper = "return function(args, ctx) return ctx.exec('outer', {confirm=true}) end",
        gate = { script = "return function(args, ctx) return ctx.confirmed end", policy = " confirm: true " },
      })
      assert.same({ "confirm required", "confirm required", "confirm required" },
        w:exec("lua", "outer").result)
      assert.same({ "confirm required", "confirm required", "confirm required" },
        w:exec("lua", "deeper").result)
      assert.equal("confirm required", w:exec("lua", "all").error)
      assert.same({ true }, w:exec("lua", "all", { confirm = true }).result)
    end)

    it("stays a mock below a mock, whatever the script says", function()
      pack(w, {
        outer = "return function(_, ctx) return { ctx.mode, ctx.exec('inner', {}), ctx.exec('inner', {mode='mock'}) } end",
        inner = "return function(_, ctx) return ctx.mode end",
      })
      assert.same({ "real", "real", "mock" }, w:exec("lua", "outer").result)
      assert.same({ "mock", "mock", "mock" }, w:exec("lua", "outer", { mode = "mock" }).result)
    end)

    it("refuses a circle of two and of three, and of two packs", function()
      pack(w, {
        a = "return function(_, ctx) return ctx.exec('b') end", b = "return function(_, ctx) return ctx.exec('c') end",
        c = "return function(_, ctx) return ctx.exec('a') end", d = "return function(_, ctx) return ctx.exec('e') end",
        e = "return function(_, ctx) return ctx.exec('d') end",
        f = "return function(_, ctx) return ctx.exec('far', 'g') end",
      }, { "uses: [far.g]" })
      pack(w, { g = "return function(_, ctx) return ctx.exec('lua', 'f') end" }, { "uses: [lua.f]" }, "far")
      assert.equal("denied: lua.a calls itself", w:exec("lua", "a").error)
      assert.equal("denied: lua.d calls itself", w:exec("lua", "d").error)
      assert.equal("denied: lua.f calls itself", w:exec("lua", "f").error)
    end)

    it("ends at the deadline of the script that asked", function()
      w:policy(grants .. "packs: { lua: { bins: [sleep] } }\n")
      pack(w, { outer = { script = "return function(_, ctx) return ctx.exec('sleep') end", line = ", timeout: 300ms" } }, {
        commands = { "  sleep: { summary: x, timeout: 20s, cli: [lua, '60'], wrap: { bin: sleep, json_flag: [] } }" },
        policies = { "  sleep: {}" },
      })
      local envelope, status = w:exec("lua", "outer")
      assert.equal("script: time limit of 300ms exceeded at verbs/outer.lua:1", envelope.error)
      assert.equal(124, status)
      local inner
      for _, record in ipairs(w:audit()) do
        if record.kind == "end" and record.verb == "sleep" then inner = record end
      end
      assert.equal("sandbox: timeout after 300ms", inner.error)
    end)

    it("sees the same principal, session and deadline below", function()
      pack(w, {
        outer = "return function(_, ctx) return { ctx.principal, ctx.session, ctx.exec('inner'), ctx.deadline } end",
        inner = "return function(_, ctx) return { ctx.principal, ctx.session, ctx.deadline } end",
      })
      local got = w:exec("lua", "outer").result
      assert.same({ got[1], got[2] }, { got[3][1], got[3][2] })
      assert.is_true(math.abs(got[4] - got[3][3]) < 1)
    end)
  end)

  describe("modules", function()
    local function provider(text)
      w:put("policies/auth/spec.lua", text)
      w:policy("auth: { provider: spec }\n", "auth")
      return (run "return function(_, ctx) return ctx.principal.id end"), (select(2, run "return function() end"))
    end
    local reads = "local m = require 'lib.names' return function() return { id = m.id } end"

    it("of a provider and a guard are files of their own folder", function()
      w:put("policies/auth/lib/names.lua", "return { id = 'user:' .. require 'lib'.name }")
      w:put("policies/auth/lib/init.lua", "return { name = 'ann' }")
      assert.equal("user:ann", (provider(reads)))
      w:put("policies/guards/spec.lua", "return function(r) return false, require 'lib.why'(r.args.n) end")
      w:put("policies/guards/lib/why.lua", "return function(n) return 'not ' .. n end")
      w:policy("packs: { lua: { commands: { one: { guard: spec } } } }\n", "guard")
      assert.equal("denied: not 5", select(2, run("return function() end", { n = 5 })))
    end)

    it("of another folder, of a pack, of a provider are nobody else's", function()
      w:put("policies/guards/secret.lua", "return 1")
      w:put("secrets/secret.lua", "return 1", "600")
      w:pack("lua", { ["secret.lua"] = "return 1" })
      for _, name in ipairs { "secret", "guards.secret", "policies.guards.secret", "secrets.secret" } do
        local _, err = provider(("require '%s'"):format(name))
        assert.equal(("denied: auth: script: auth/spec.lua:1: module '%s' not found: no %s.lua, no %s/init.lua"):format(name,
          name:gsub("%.", "/"), (name:gsub("%.", "/"))), err)
      end
      os.remove(w.root .. "/policies/auth.yaml")
      w:put("policies/auth/mine.lua", "return 1")
      assert.equal("script: verbs/one.lua:1: module 'mine' not found: no mine.lua, no mine/init.lua",
        select(2, run "require 'mine'"))
    end)

    it("that can't be trusted end the run and say why", function()
      local at = w.root .. "/policies/auth/lib/names.lua"
      local function says(why)
        local id, err = provider(reads)
        assert.is_nil(id)
        assert.equal("denied: auth: script: auth/spec.lua:1: " .. why, err)
        os.execute("rm -rf " .. w.root .. "/policies/auth/lib")
      end
      world.write(w.dir .. "/outside.lua", "return { id = 'root' }")
      w:put("policies/auth/lib/x", "")
      assert(os.execute(("ln -s %s/outside.lua %s"):format(w.dir, at)))
      says(at .. " is a symbolic link: links are not followed here")
      assert(os.execute(("ln -s %s %s/policies/auth/lib"):format(w.dir, w.root)))
      says(w.root .. "/policies/auth/lib is a symbolic link: links are not followed here")
      w:put("policies/auth/lib/x", "")
      assert(os.execute("mkfifo " .. at))
      says(at .. " is not a regular file")
      assert(os.execute("mkdir -p " .. at))
      says(at .. " is not a regular file")
      w:put("policies/auth/lib/names.lua", "return { id = 'root' }", "666")
      says(at .. " is writable by others: chmod go-w " .. at)
    end)

    it("that are broken say where, in any role", function()
      w:put("policies/auth/lib/names.lua", "return {\n  id = = 1\n}")
      assert.equal("denied: auth: script: lib/names.lua:2: unexpected symbol near '='", select(2, provider(reads)))
      w:put("policies/auth/lib/names.lua", "\27Lua")
      assert.equal("denied: auth: script: lib/names.lua: compiled Lua is refused", select(2, provider(reads)))
      w:put("policies/auth/lib/names.lua", "return require 'lib.names'")
      assert.equal("denied: auth: script: lib/names.lua:1: module 'lib.names' requires itself", select(2, provider(reads)))
    end)
  end)

  describe("values", function()
    it("of a program come through a composite as they are", function()
      local numbers = '{"z":[9007199254740993,-9223372036854775808,9223372036854775807,0.1,1.0,5e-324,-0.0,0],' ..
        '"a":{"empty":[],"none":{},"null":null,"deep":[[[]],{"b":1,"a":2}]},"text":"\u{e9}\\u0000"}'
      w:policy(grants .. "packs: { lua: { bins: [./bin/say] } }\n")
      pack(w, { pass = "return function(_, ctx) return ctx.exec('say') end",
        all = "return function(_, ctx) return ctx.exec_all{ {'say'} }[1] end",
        try = "return function(_, ctx) return ctx.try('say').result end",
        ["bin/say"] = { "#!/bin/sh\ncat <<'E'\n" .. numbers .. "\nE\n", "755" },
      }, { commands = { "  say: { summary: x, cli: [lua], wrap: { bin: ./bin/say, json_flag: [] } }" }, policies = { "  say: {}" } })
      for _, verb in ipairs { "pass", "all", "try", "say" } do
        local _, _, _, out = w:exec("lua", verb)
        assert.equal(('{"ok":true,"pack_id":"lua","verb_key":"%s","result":%s}\n'):format(verb, numbers), out)
      end
    end)

    it("that 64 bits don't hold are an error with their path, in a composite alone", function()
      w:policy(grants .. "packs: { lua: { bins: [./bin/say] } }\n")
      pack(w, { pass = "return function(_, ctx)\n  return ctx.exec('say')\nend",
        ["bin/say"] = { "#!/bin/sh\necho '{\"a\":[1,9223372036854775808]}'\n", "755" },
      }, { commands = { "  say: { summary: x, cli: [lua], wrap: { bin: ./bin/say, json_flag: [] } }" }, policies = { "  say: {}" } })
      assert.equal('{"ok":true,"pack_id":"lua","verb_key":"say","result":{"a":[1,9223372036854775808]}}\n',
        (select(4, w:exec("lua", "say"))))
      assert.equal("script: verbs/pass.lua:2: envelope.result.a[2]: 9223372036854775808 is beyond 64 bits",
        w:exec("lua", "pass").error)
    end)
  end)

  describe("whatever a script does", function()
    local hostile = {
      { "while true do print(('x'):rep(1000)) end", "^script: time limit of 200ms exceeded at verbs/one.lua:1$" },
      { "print('{\\\"ok\\\":true}') hcp.log.warn('\\n{}') return function() return 1 end", nil },
      { "return function() print('\\27[2J\\0') return 'x' end", nil },
      { "io.write('x')", "has no global 'io'" },
      { "os.exit(0)", "attempt to call a nil value %(field 'exit'%)" },
      { "local function f() return (('x'):gsub('x', f)) end f()", "C stack overflow" },
      { "error({})", "^script: the error is a table value, not a message$" },
      { "return function() return { ok = true, pack_id = 'mine' } end", nil },
      { "pcall(function() while true do end end) return function() return 1 end", "time limit of 200ms" },
    }
    it("stdout holds one envelope and nothing else, and the next run is as ever", function()
      w:put("hcp.yaml", "hcp: 1\nlua: { memory: 8M }\n")
      for _, row in ipairs(hostile) do
        pack(w, { one = { script = row[1], line = ", timeout: 200ms" }, fine = "return function() return 'fine' end" })
        local envelope, _, _, out = w:exec("lua", "one")
        assert.equal("lua", envelope.pack_id)
        assert.equal(1, select(2, out:gsub("\n", "")))
        if row[2] then assert.matches(row[2], envelope.error) else assert.is_true(envelope.ok) end
        assert.equal("fine", w:exec("lua", "fine").result)
      end
    end)
  end)

  describe("secrets", function()
    local compare = "return function(r, host) return { id = tostring(host.equal(host.secret('key'), " ..
      "host.config.key)) } end"
    before_each(function()
      w:put("secrets/key", "s3cr3t\n", "600")
      assert(os.execute("chmod 700 " .. w.root .. "/secrets"))
      w:policy("auth: { provider: spec, secrets: [key, gone], with: { key: s3cr3t } }\n", "auth")
    end)
    local function says(text)
      w:put("policies/auth/spec.lua", text)
      return run "return function(_, ctx) return ctx.principal.id end"
    end
    local function denied(why, text)
      assert.same({ n = 2, nil, "denied: auth: script: auth/spec.lua:1: " .. why }, table.pack(says(text or compare)))
    end

    it("are what the file holds, but for a newline at its end", function()
      assert.equal("true", (says(compare)))
      w:put("secrets/key", "s3cr3t", "600")
      assert.equal("true", (says(compare)))
      w:put("secrets/key", "s3cr3t\r\n", "600")
      assert.equal("true", (says(compare)))
      w:put("secrets/key", "s3cr3t\n\n", "600")
      assert.equal("false", (says(compare)))
    end)

    it("are given to the scripts that the policy lists them for, and to no other", function()
      w:put("secrets/other", "x", "600")
      local ask = "return function(r, host) host.secret(%q) end"
      denied('the policy lists no secret "other" for provider spec', ask:format("other"))
      denied('the policy lists no secret "../key" for provider spec', ask:format("../key"))
      denied('the policy lists no secret "" for provider spec', ask:format(""))
      denied(w.root .. "/secrets/gone: No such file or directory", ask:format("gone"))
      w:policy("auth: { provider: spec, with: { key: s3cr3t } }\n", "auth")
      denied('the policy lists no secret "key" for provider spec')
    end)

    it("are refused where others could read or change them", function()
      local path = w.root .. "/secrets/key"
      for _, mode in ipairs { "640", "604", "644", "601" } do
        w:put("secrets/key", "s3cr3t", mode)
        denied(path .. " is open to others: chmod 600 it")
      end
      w:put("secrets/key", "s3cr3t", "622")
      denied(path .. " is writable by others: chmod go-w " .. path)
      w:put("secrets/key", "s3cr3t", "600")
      assert(os.execute("chmod 750 " .. w.root .. "/secrets"))
      denied(w.root .. "/secrets is open to others: chmod 700 it")
      assert(os.execute("chmod 700 " .. w.root .. "/secrets"))
      assert(os.execute(("mv %s %s.real; ln -s key.real %s"):format(path, path, path)))
      denied(path .. " is a symbolic link: links are not followed here")
      assert(os.execute(("rm %s; mkfifo -m 600 %s"):format(path, path)))
      denied(path .. " is not a regular file")
    end)

    it("are refused where they are empty or too large", function()
      local path = w.root .. "/secrets/key"
      for _, text in ipairs { "", "\n", "\r\n" } do
        w:put("secrets/key", text, "600")
        denied(path .. " is empty")
      end
      w:put("secrets/key", ("x"):rep(65537), "600")
      denied(path .. " is over 65536 bytes")
    end)

    it("are in no answer, no error, no log and no record, whatever a script tries", function()
      says(compare)
      local tries = { "print(%s)", "error(%s)", "hcp.fail(%s)", "return { id = %s }", "return nil, %s", "return %s",
        "hcp.log.warn(%s)", "return { id = 'u', claims = { %s } }", "local t = {} t[%s] = 1 return t",
        "require(%s)", "return { id = 'x' .. %s }" }
      local made = { "key", "host.base64(key)", "host.hex(key)", "host.concat('a', key)" }
      for _, try in ipairs(tries) do
        for _, what in ipairs(made) do
          w:put("policies/auth/spec.lua", "return function(r, host) local key = host.secret('key') " ..
            try:format(what) .. " end")
          local status, out, err = w:cli { "-v", "exec", "lua", "one" }
          assert.equal(126, status)
          assert.matches('"error":"denied: ', out, 1, true)
          assert.not_matches("s3cr3t", out .. err, 1, true)
        end
      end
      local _, text = w:audit()
      for _, spelling in ipairs { "s3cr3t", "czNjcjN0", "733363723374" } do assert.not_matches(spelling, text, 1, true) end
    end)
  end)

  describe("messages", function()
    it("of hcp.fail arrive whole, with NUL bytes, up to 64 KiB, and other errors, too", function()
      local long = ("é"):rep(5000)
      pack(w, { outer = "return function(_, ctx) return ctx.exec('inner') end",
        inner = "return function() hcp.fail(('n'):rep(2000) .. '\\0') end" })
      assert.equal(("n"):rep(2000) .. "\0", w:exec("lua", "outer").error)
      assert.equal(long, select(2, run("return function(args) hcp.fail(args.text) end", { text = long })))
      assert.equal("a\0b", select(2, run "return function() hcp.fail('a\\0b') end"))
      assert.equal("script: " .. long, select(2, run("return function(args) error(args.text, 0) end", { text = long })))
      assert.equal("x" .. ("é"):rep(32767), select(2, run "return function() hcp.fail('x' .. ('é'):rep(40000)) end"))
      local said = {}
      for _, record in ipairs(w:audit()) do said[#said + 1] = record.error end
      assert.equal("a\0b", said[4])
    end)

    it("of providers and guards arrive whole, too", function()
      local long = ("n"):rep(3000)
      w:put("policies/guards/spec.lua", "return function(r) if r.args.fail then hcp.fail(r.args.fail) end " ..
        "return false, r.args.why end")
      w:policy("packs: { lua: { commands: { one: { guard: spec } } } }\n", "guard")
      assert.equal("denied: " .. long, select(2, run("return function() end", { why = long })))
      assert.equal("denied: a\0b", select(2, run("return function() end", { why = "a\0b" })))
      assert.equal("denied: guard spec: " .. long, select(2, run("return function() end", { fail = long })))
      w:put("policies/auth/spec.lua", "return function(r) return nil, ('n'):rep(3000) .. '\\0' .. r.face end")
      w:policy("auth: { provider: spec }\n", "auth")
      assert.equal("denied: " .. long .. "\0cli", select(2, run "return function() end"))
    end)

    it("of limits tell them as they are set", function()
      assert.equal("script: instruction limit of 100M exceeded at verbs/one.lua:2", select(2,
        run "return function()\n while true do end end"))
      w:put("hcp.yaml", "hcp: 1\nlua: { instructions: 2500K, memory: 2M }\n")
      assert.equal("script: instruction limit of 2500K exceeded at verbs/one.lua:1", select(2,
        run "return function() while true do end end"))
      assert.equal("script: memory limit of 2M exceeded at verbs/one.lua:1", select(2,
        run "return function() return ('x'):rep(3 << 20) end"))
    end)
  end)
end)
