-- hcp pack test: a pack's own specs on the real pipeline, in a root that is gone afterwards.
local world = require "world"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: p
version: 1.0.0
summary: A pack
uses: [other.rate]
mint: { hook: mint/hook.lua, ttl: 5m, env: [TOKEN] }
commands:
  show: { summary: Shows, kind: composite, script: verbs/show.lua, effect: read, args: {} }
  env: { summary: Its token, cli: [env], wrap: { bin: ./bin/env, result: text }, effect: read, args: {} }
  raw: { summary: Raw, internal: true, kind: composite, script: verbs/raw.lua, effect: read, args: {} }
]]
local head = 'local test = require "hcp.test"\ndescribe("p", function()\nbefore_each(test.reset)\n'

describe("hcp pack test", function()
  local w
  before_each(function()
    w = world.new()
    w:policy("")
    w:pack("p", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = "hcp: 1\npolicies: { show: { capability: [p.show, q.more] }, env: {}, raw: {} }\n",
      ["mint/hook.lua"] = "return function() error('never asked') end\n",
      ["verbs/raw.lua"] = "return function() return 'real' end\n",
      ["bin/env"] = { "#!/bin/sh\nprintf %s \"$TOKEN\"\n", "755" },
      ["verbs/show.lua"] = [[
return function(_, ctx)
  local both = ctx.exec_all { { "raw" }, { "other", "rate", { of = 7 } } }
  return { ctx.exec("raw"), both[1], both[2], ctx.try("other", "rate", { of = 8 }) }
end
]],
    })
  end)
  after_each(function() w:close() end)

  local function test(body, ...)
    w:pack("p", { ["spec/p_spec.lua"] = head .. body .. "end)\n" })
    local words = { "pack", "test", "p", ... }
    local status, out, err = w:cli(words, { env = "TMPDIR=" .. quote(w.dir) })
    local _, left = world.sh("ls -d " .. quote(w.dir) .. "/hcp-test-* 2>/dev/null")
    assert.equal("", left)
    return status, out, err
  end

  it("runs what `pack new` made, of both kinds", function()
    for _, kind in ipairs { "", " --composite" } do
      local status, out, err = world.sh(("cd %s/packs && rm -rf q && %s pack new q%s 2>/dev/null && " ..
        "%s --root %s --state %s pack test --coverage q"):format(quote(w.root), quote(world.hcp), kind, quote(world.hcp),
        quote(w.root), quote(w.state)))
      assert.same({ 0, "" }, { status, err }, out)
      assert.truthy(out:find("2 successes / 0 failures / 0 errors", 1, true), out)
      assert.truthy(out:find("greet +1\n"), out)
    end
  end)

  it("answers for stubbed commands, and for no other", function()
    local status, out = test([[
      it("stubs", function()
        test.stub_script("other.rate", "return function(args) if args.of == 8 then hcp.fail('no rate') end return args.of end")
        local show = test.exec("show")
        assert.same({ "real", "real", 7 }, { show[1], show[2], show[3] })
        assert.same({ ok = false, pack_id = "other", verb_key = "rate", error = "no rate" }, show[4])
        test.stub("raw", { 1, "two" })
        assert.same({ { 1, "two" }, { 1, "two" }, 7 }, { table.unpack(test.exec("show"), 1, 3) })
      end)
      it("forgets", function()
        assert.equal("unknown pack other", test.try("show").error)
      end)
      it("mints nothing", function()
        assert.equal("mock", test.exec("env"))
        assert.equal("mint failed: script: mint/hook.lua:1: never asked", test.try("env", {}, { mode = "real" }).error)
      end)
    ]])
    assert.truthy(out:find("3 successes / 0 failures / 0 errors", 1, true), out)
    assert.equal(0, status)
  end)

  it("fails where a spec fails, and where there is none", function()
    local status, out = test('it("is wrong", function() assert.equal("x", test.exec("raw")) end)\n')
    assert.equal(1, status)
    assert.truthy(out:find("raw: no policy for raw", 1, true), out)
    os.remove(w.root .. "/packs/p/spec/p_spec.lua")
    os.remove(w.root .. "/packs/p/spec")
    local err
    status, out, err = w:cli { "pack", "test", "p" }
    assert.same({ 1, "", "hcp: the pack has no spec/: put busted specs there, *_spec.lua\n" }, { status, out, err })
    status, out, err = w:cli { "pack", "test", "nope" }
    assert.same({ 126, "", "hcp: unknown pack nope\n" }, { status, out, err })
  end)

  it("finds modules of the pack's specs and of whoever calls", function()
    world.write(w.dir .. "/mine/helper_of_mine.lua", "return 'mine'\n")
    w:pack("p", { ["spec/own.lua"] = "return 'own'\n", ["spec/p_spec.lua"] = head ..
      'it("x", function() assert.same({ "own", "mine" }, { require "spec.own", (require "helper_of_mine") }) end)\nend)\n' })
    for _, name in ipairs { "LUA_PATH", "LUA_PATH_5_4" } do
      local status, out = w:cli({ "pack", "test", "p" }, { env = name .. "=" .. quote(w.dir .. "/mine/?.lua;;") })
      assert.equal(0, status, out)
    end
  end)

  it("tells which commands no spec ran", function()
    local status, out, err = test('it("one", function() test.exec("env") test.try("show") end)\n', "--coverage")
    assert.same({ 1, "hcp: 1 of the pack's commands never ran to a good end\n" }, { status, err })
    assert.truthy(out:find("show +0\nenv +1\nraw +1\n"), out)
  end)

  it("grants that pack alone, and what spec/policy.yaml says instead of its programs", function()
    w:pack("other", { ["pack.yaml"] = "hcp: 1\npack_id: other\nversion: 1.0.0\nsummary: x\ncommands: {}\n" })
    w:pack("p", { ["spec/policy.yaml"] = "hcp: 1\npacks: { p: { commands: { show: { deny: closed } } } }\n" })
    local status, out = test([[
      it("is this one", function()
        assert.equal("unknown pack other", test.try("rate", {}, { pack = "other" }).error)
        assert.equal('sandbox: bin "./bin/env" not allowlisted', test.try("env").error)
        assert.equal("denied: closed", test.try("show").error)
      end)
      it("has files of its own", function()
        test.put("policies/auth/nobody.lua", "return function() return nil, 'not you' end")
        test.put("policies/auth.yaml", "hcp: 1\nauth: { provider: nobody }\n")
        assert.equal("denied: not you", test.try("env").error)
      end)
    ]])
    assert.truthy(out:find("2 successes / 0 failures / 0 errors", 1, true), out)
    assert.equal(0, status)
    local _, packs = world.sh("ls " .. quote(w.root) .. "; ls " .. quote(w.root) .. "/policies")
    assert.equal("packs\npolicies\nspec.yaml\n", packs)
  end)
end)

describe("hcp pack docs", function()
  it("is the manifest as Markdown, and nothing in it is obeyed", function()
    local w = world.new()
    w:policy("packs: { p: { commands: { two: { confirm: person } } } }\n")
    w:pack("p", {
      ["pack.yaml"] = [[
hcp: 1
pack_id: p
version: 1.2.3
summary: Keeps *things*
commands:
  one:
    summary: Adds <b>one</b>
    description: "Long.\n\e[31m[x](y)"
    kind: composite
    script: a.lua
    effect: write
    timeout: 5s
    args:
      properties:
        of: { type: [string, "null"], description: "a | b\nc" }
        how: { enum: [fast, 7] }
      required: [of]
    examples: [ { of: "x|y", how: 7 } ]
  two: { summary: Asks, kind: composite, script: a.lua, args: {} }
  raw: { summary: Raw, kind: composite, script: a.lua, args: {}, internal: true }
]],
      ["policy.yaml"] = "hcp: 1\npolicies: { one: { confirm: true }, two: {}, raw: {} }\n",
      ["a.lua"] = "return function() end\n",
    })
    local status, out, err = w:cli { "pack", "docs", "p" }
    w:close()
    assert.same({ 0, "" }, { status, err })
    assert.equal([[
# p

Keeps \*things\*. Version 1.2.3.

## one

Adds \<b\>one\</b\> (write, asks for consent, at most 5s).

Long.
?\[31m\[x\](y)

| argument | | type | |
|---|---|---|---|
| of | required | string or null | a \| b?c |
| how |  | "fast", 7 |  |

For example:

    {"of": "x|y", "how": 7}

## two

Asks (destructive, asks a person for consent).
]], out)
  end)
end)
