-- What goes beyond §6 and what it leaves open: the second table of docs/conformance.md.
local world = require "world"
local cjson = require "cjson"

local typed = "args: { properties: { a: { type: string }, n: { type: integer, default: 7 }, " ..
  "list: { type: array, items: { type: integer } } } } }"
local commands = {
  show = '{ summary: x, effect: read, cli: [far, "{{a}}"], wrap: { bin: echo, json_flag: [] }, ' .. typed,
  args = "{ summary: x, effect: read, kind: composite, script: verbs/args.lua, " .. typed,
  fits = "{ summary: x, effect: read, kind: composite, script: verbs/args.lua, output: { required: [a] } }",
  broken = "{ summary: x, effect: read, kind: composite, script: verbs/broken.lua }",
  raises = "{ summary: x, effect: read, kind: composite, script: verbs/raises.lua }",
  dull = "{ summary: x, effect: read, wrap: { bin: ./bin/dull } }",
  pinned = "{ summary: x, effect: read, wrap: { bin: ./bin/pinned } }",
  waits = "{ summary: x, effect: write, cli: [far], wrap: { bin: ./bin/waits, workspace: { mode: workspace } } }",
  ["report month"] = "{ summary: x, effect: read, kind: composite, script: verbs/args.lua }",
}
for i = 1, 10 do
  commands["deep" .. i] = "{ summary: x, effect: read, kind: composite, script: verbs/deep.lua }"
end

local function files()
  local manifest = { "hcp: 1", "pack_id: far", "version: 1.0.0", "summary: A pack", "commands:" }
  local policy = { "hcp: 1", "policies:" }
  for verb, text in pairs(commands) do
    manifest[#manifest + 1] = ('  "%s": %s'):format(verb, text)
    policy[#policy + 1] = ('  "%s": { capability: far.use }'):format(verb)
  end
  return {
    ["pack.yaml"] = table.concat(manifest, "\n") .. "\n",
    ["policy.yaml"] = table.concat(policy, "\n") .. "\n",
    ["bin/dull"] = { "#!/bin/sh\n", "644" },
    ["bin/pinned"] = { "#!/bin/sh\n", "755" },
    ["bin/waits"] = { "#!/bin/sh\nread -r word <go\necho \"$word\"\n", "755" },
    ["verbs/args.lua"] = "return function(args) return args end\n",
    ["verbs/broken.lua"] = "return function(\n",
    ["verbs/raises.lua"] = "return function(args)\n  return args.a.b\nend\n",
    ["verbs/deep.lua"] = [[
return function(_, ctx)
  local next = "deep" .. tonumber(ctx.verb_key:match("%d+")) + 1
  return ctx.exec(next, {})
end
]],
  }
end

local grants = [[
grants: [ { principal: "*", capabilities: ["far.*"] } ]
packs:
  far:
    bins: [echo, ./bin/dull, ./bin/waits]
]]

describe("beyond section 6", function()
  local w
  before_each(function()
    w = world.new()
    w:pack("far", files())
    w:policy(grants)
    w:activate("far")
  end)
  after_each(function() w:close() end)

  local function failed(verb, args, error, exit)
    local envelope, status = w:exec("far", verb, args)
    assert.same({ ok = false, pack_id = "far", verb_key = verb, error = error },
      { ok = envelope.ok, pack_id = envelope.pack_id, verb_key = envelope.verb_key, error = envelope.error })
    assert.equal(exit, status)
  end

  describe("configuration", function()
    it("that is broken still opens a runtime, and denies every run before all else", function()
      w:policy("grants: 1\n")
      local hcp = require "hcp"
      local rt = assert(hcp.open { root = w.root, state = w.state })
      for _, text in ipairs { "[]", '{"pack_id":"far","verb_key":"show"}', '{"pack_id":"gone","verb_key":"x"}' } do
        local out, info = rt:exec(text)
        assert.matches("^config: .*policies/spec%.yaml:2: ", cjson.decode(out).error)
        assert.is_false(info.ok)
        assert.equal(0, info.step)
        assert.equal(125, info.exit)
      end
      rt:close()
      assert(hcp.open { root = w.dir .. "/nowhere", state = w.state })
    end)

    it("of a pack that is broken is no known pack, and other packs run", function()
      w:pack("near", { ["pack.yaml"] = "hcp: 1\nnonsense: true\n" })
      local envelope, status = w:exec("near", "x")
      assert.matches("^unknown pack near: packs/near/pack%.yaml:2: ", envelope.error)
      assert.equal(126, status)
      assert.is_true(w:exec("far", "show").ok)
    end)

    it("doesn't compile scripts: one that is broken fails where it runs", function()
      assert.is_true(w:exec("far", "show").ok)
      local envelope, status = w:exec("far", "broken")
      assert.matches("^script: verbs/broken%.lua:", envelope.error)
      assert.equal(1, status)
    end)
  end)

  describe("the session", function()
    it("is the caller's by name, and a pack is active on one only", function()
      local status, out = w:cli { "--session", "other", "exec", "far", "show" }
      assert.equal('{"ok":false,"pack_id":"far","verb_key":"show","error":"pack far not activated"}\n', out)
      assert.equal(126, status)
      status, out = w:cli({ "exec", "far", "show", "a=x" }, { env = "HCP_SESSION=other" })
      assert.equal('{"ok":false,"pack_id":"far","verb_key":"show","error":"pack far not activated"}\n', out)
      assert.equal(126, status)
    end)
  end)

  describe("the principal", function()
    local function provider(text)
      w:put("policies/auth/spec.lua", text)
      w:policy("auth: { provider: spec }\n", "auth")
    end

    it("is denied for everything that a provider gets wrong", function()
      for body, why in pairs {
        ["return {}"] = "a principal needs an id",
        ["return { id = '' }"] = "id must be a string",
        ["return { id = 'a\\nb' }"] = "a principal needs an id",
        ["return { id = 1 }"] = "id must be a string",
        ["return 'user:x'"] = "script: auth/spec.lua: must return a principal, or nil and a reason; not a string",
        ["return { id = 'user:x', admin = true }"] = "a principal has no field admin",
        ["return { id = 'user:x', roles = 'teller' }"] = "roles must be a list",
        ["return { id = 'user:x', roles = { 1 } }"] = "roles must hold strings",
        ["return { id = 'user:x', expires_at = 'soon' }"] = "expires_at must be seconds since 1970",
        ["return { id = 'user:x', expires_at = 1 }"] = "the principal has expired",
      } do
        provider("return function() " .. body .. " end\n")
        failed("show", {}, "denied: auth: " .. why, 126)
      end
      provider("return function() error('boom') end\n")
      assert.matches("^denied: auth: .*boom", w:exec("far", "show").error)
      provider("return function() return { id = 'user:x', expires_at = os.time() + 3600 } end\n")
      assert.is_true(w:exec("far", "show").ok)
    end)
  end)

  describe("step 6", function()
    it("judges consent, mode, arguments, argv and guard in this order", function()
      w:put("policies/guards/never.lua", "return function() return false, 'never' end\n")
      w:policy(grants .. "    commands: { show: { confirm: true, guard: never } }\n")
      local bad = { mode = "real", a = "-x", n = "y" }
      failed("show", bad, "confirm required", 126)
      bad.confirm = true
      failed("show", bad, 'invalid args: mode: only "mock" is known, not real', 126)
      for _, mode in ipairs { "null", "true", "[]", '"mock\\u0000"' } do
        failed("show", '{"confirm":true,"mode":' .. mode .. "}", "invalid args: mode: must be text", 126)
      end
      bad.mode = nil
      failed("show", bad, "invalid args: n: must be an integer, not a string", 126)
      bad.n = nil
      failed("show", bad, 'invalid args: a: may not start with "-"', 126)
      bad.a = "x"
      failed("show", bad, "denied: never", 126)
    end)

    it("fills in defaults before anything sees the arguments", function()
      assert.same({ a = "x", n = 7 }, w:exec("far", "args", { a = "x" }).result)
      w:put("policies/guards/seven.lua", "return function(r) return r.args.n == 7, 'not seven' end\n")
      w:policy(grants .. "    commands: { args: { guard: seven } }\n")
      assert.is_true(w:exec("far", "args", {}).ok)
      failed("args", { n = 8 }, "denied: not seven", 126)
    end)

    it("takes no argument for a person's consent", function()
      w:policy(grants .. "    commands: { show: { confirm: person } }\n")
      failed("show", { confirm = true, apply = true }, "confirm required", 126)
    end)
  end)

  describe("a program", function()
    it("that can't be executed is exit 126", function()
      failed("dull", {}, "exit 126", 126)
    end)

    it("may be pinned by its digest", function()
      local function pin(digest)
        w:policy((grants:gsub("%./bin/dull", "{ path: ./bin/pinned, sha256: '" .. digest .. "' }")))
      end
      pin(("0"):rep(64))
      local digest = select(2, world.sh("sha256sum " .. w.root .. "/packs/far/bin/pinned")):match("^%x+")
      failed("pinned", {}, 'sandbox: bin "./bin/pinned" not allowlisted: its sha256 is ' .. digest, 127)
      pin(digest)
      assert.equal("", w:exec("far", "pinned").result)
    end)

    it("waits for its workspace until the time is up", function()
      local jail = w.state .. "/workspaces/default/-/far"
      assert(os.execute("umask 077; mkdir -p " .. jail))
      local hcp = table.concat({ world.quote(world.hcp), "--root", w.root, "--state", w.state, "--deadline", "50ms",
        "exec", "far", "waits" }, " ")
      local status, out = world.sh("flock " .. jail .. " " .. hcp)
      assert.equal('{"ok":false,"pack_id":"far","verb_key":"waits","error":"sandbox: workspace busy"}\n', out)
      assert.equal(124, status)
    end)

    it("that ran without an end record gives no result, and no invitation to try again", function()
      local jail, log = w.state .. "/workspaces/default/-/far", w.state .. "/audit/audit.jsonl"
      w:exec("far", "show")
      local go = jail .. "/go"
      assert(os.execute("umask 077; mkdir -p " .. jail .. " && mkfifo " .. go .. " && chmod 666 " .. go))
      local hcp = table.concat({ world.quote(world.hcp), "--root", w.root, "--state", w.state, "exec", "far", "waits" },
        " ")
      -- the program has begun once the pipe can be opened: only then is the log taken away
      local script = hcp .. " & p=$!; exec 3>" .. go .. "; rm " .. log .. "; echo done >&3; wait $p"
      local status, out = world.sh("timeout 60 sh -c " .. world.quote(script))
      local envelope = cjson.decode(out)
      assert.matches("^audit: end record not written; the command ran %(exit 0%): ", envelope.error)
      assert.is_nil(envelope.result)
      assert.equal(125, status)
    end)
  end)

  describe("a script", function()
    it("that raises is told with its place", function()
      local envelope, status = w:exec("far", "raises")
      assert.matches("^script: verbs/raises%.lua:2: ", envelope.error)
      assert.equal(1, status)
    end)

    it("whose result doesn't fit its output fails", function()
      assert.is_true(w:exec("far", "fits", { a = 1 }).ok)
      local envelope, status = w:exec("far", "fits", { b = 1 })
      assert.matches("^invalid result: ", envelope.error)
      assert.equal(1, status)
    end)

    it("nests eight deep and no deeper", function()
      failed("deep1", {}, "denied: nested deeper than 8 runs", 1)
    end)

    it("reaches commands of another pack only where its manifest says so", function()
      w:pack("user", {
        ["pack.yaml"] = "hcp: 1\npack_id: user\nversion: 1.0.0\nsummary: x\nuses: [far.args]\ncommands:\n" ..
          "  a: { summary: x, kind: composite, script: a.lua }\n  b: { summary: x, kind: composite, script: b.lua }\n",
        ["policy.yaml"] = "hcp: 1\npolicies: { a: { capability: user.use }, b: { capability: user.use } }\n",
        ["a.lua"] = "return function(_, ctx) return ctx.exec('far', 'args', { a = 'x' }) end\n",
        ["b.lua"] = "return function(_, ctx) return ctx.exec('far', 'show', {}) end\n",
      })
      w:policy('grants: [ { principal: "*", capabilities: ["user.*"] } ]\n', "user")
      w:activate("user")
      assert.same({ a = "x", n = 7 }, w:exec("user", "a").result)
      assert.equal("denied: user does not use far.show", w:exec("user", "b").error)
      w:policy("", "user")
      assert.equal("denied: missing user.use for user.a", w:exec("user", "a").error)
      w:policy('grants: [ { principal: "*", capabilities: ["user.*"] } ]\n')
      assert.equal("denied: missing far.use for far.args", w:exec("user", "a").error)
    end)
  end)

  describe("the command line", function()
    it("takes the words of a verb apart or joined, and types values by the schema", function()
      local _, out = w:cli { "exec", "far", "report", "month", "--", "x=007", "y=7", "z=true", "w:=[null]", "v=1.10" }
      assert.same({ x = "007", y = 7, z = true, w = { cjson.null }, v = "1.10" }, cjson.decode(out).result)
      _, out = w:cli { "exec", "far", "args", "--", "a=7", "n=8", "list=1", "list=2" }
      assert.same({ a = "7", n = 8, list = { 1, 2 } }, cjson.decode(out).result)
    end)

    it("prints nothing on stdout where it was used wrongly, and ends with 2", function()
      for _, words in ipairs { { "exec" }, { "exec", "far" }, { "exek", "far", "show" },
        { "exec", "far", "show", "--", "x" }, { "--nonsense", "exec", "far", "show" } } do
        local status, out, err = w:cli(words)
        assert.equal(2, status)
        assert.equal("", out)
        assert.matches("^hcp: %S", err)
      end
    end)

    it("keeps its hints on stderr", function()
      w:cli { "deactivate", "far" }
      local _, out, err = w:cli { "exec", "far", "show" }
      assert.equal('{"ok":false,"pack_id":"far","verb_key":"show","error":"pack far not activated"}\n', out)
      assert.equal(("hint: run: hcp --root %s --state %s activate far\n"):format(w.root, w.state), err)
    end)

    it("prints the result alone where --raw is given", function()
      local status, out = w:cli { "exec", "--raw", "far", "show", "a=hello" }
      assert.equal("hello\n", out)
      assert.equal(0, status)
      status, out = w:cli { "exec", "--raw", "far", "dull" }
      assert.equal("", out)
      assert.equal(126, status)
    end)
  end)

  describe("the record", function()
    it("names the pack's digest and version, and the policy's digest", function()
      w:exec("far", "show")
      local records = w:audit()
      local begin = records[#records - 1]
      assert.equal("begin", begin.kind)
      assert.equal("1.0.0", begin.pack_version)
      assert.matches("^sha256:%x+$", begin.pack_digest)
      assert.matches("^sha256:%x+$", begin.policy_digest)
    end)

    it("of a run that was refused is one deny, of one that ran a begin and an end", function()
      local before = #w:audit()
      w:exec("far", "nothere")
      w:exec("far", "show")
      local kinds, records = {}, w:audit()
      for i = before + 1, #records do kinds[#kinds + 1] = records[i].kind end
      assert.same({ "deny", "begin", "end" }, { table.unpack(kinds, #kinds - 2) })
    end)
  end)
end)
