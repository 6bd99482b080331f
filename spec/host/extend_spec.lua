-- What a host brings in C: providers, adapters, principals. They are judged as scripts are.
local cjson = require "cjson"
local world = require "world"

local manifest = [[
hcp: 1
pack_id: own
version: 1.0.0
summary: Commands of a kind that the host brings
mint: { hook: "policies:static", ttl: 15m, env: [OWN_KEY] }
commands:
  whole: { summary: s, kind: echo, echo: { depth: 2 }, effect: read }
  key: { summary: s, kind: echo, effect: read }
  relay: { summary: s, kind: echo, effect: read }
  beyond: { summary: s, kind: echo, effect: read }
  denied: { summary: s, kind: echo, effect: read }
  slow: { summary: s, kind: echo, timeout: 1s, effect: read }
  refused: { summary: s, kind: echo, effect: read }
  broken: { summary: s, kind: echo, effect: read }
  silent: { summary: s, kind: echo, effect: read }
  number: { summary: s, kind: echo, output: { type: object, required: [nothing] }, effect: read }
]]

local block = [[
packs:
  own:
    mint: { secrets: [key], with: { env: { OWN_KEY: key } } }
    commands: { denied: { deny: closed } }
]]

describe("a host in C", function()
  local w

  local function policy(auth, more)
    w:policy(("auth: { provider: %s, with: { from: here } }\nroles: { staff: [own.*] }\n" ..
      "grants: [ { principal: boss, capabilities: [own.*] } ]\n%s"):format(auth, more or block))
  end

  before_each(function()
    w = world.new()
    w:pack("own", { ["pack.yaml"] = manifest,
      ["policy.yaml"] = "hcp: 1\npolicies: { whole: {}, key: {}, relay: {}, beyond: {}, denied: {}, slow: {}, refused: {}, " ..
        "broken: {}, silent: {}, number: {} }\n" })
  end)
  after_each(function() w:close() end)
  before_each(function()
    w:put("secrets/key", "key-value", "600")
    require("spec_posix").chmod(w.root .. "/secrets", "700")
  end)

  -- the envelope, and how often provider and adapter were asked
  local function run(verb, token, principal)
    local line = ("%s %s/programs/extend %s %s %s %s"):format(token and "EXTEND_TOKEN=" .. token or "", world.quote(world.build),
      w.root, w.state, verb, principal and world.quote(principal) or "")
    local status, out, err = world.sh(line)
    assert.equal(0, status, err)
    local envelope, asked, done = out:match("^(.*)\n(%d+) (%d+)\n$")
    return cjson.decode(envelope), tonumber(asked), tonumber(done)
  end
  local function refused(why, asked, done, ...)
    local envelope, a, d = run(...)
    assert.same({ false, why, asked, done }, { envelope.ok, envelope.error, a, d })
  end

  it("says who the invoker is", function()
    policy "corp"
    local envelope, asked, done = run("whole", "a-good-token")
    assert.same({ true, 1, 1 }, { envelope.ok, asked, done }, envelope.error)
    assert.equal("corp-12", envelope.result.ctx.principal.id)
    assert.same({ depth = 2 }, envelope.result.command.echo)
    assert.equal("corp-12", w:audit()[3].principal)
  end)

  it("may refuse, and is refused where it doesn't answer well", function()
    policy "corp"
    refused("denied: who are you?", 1, 0, "whole")
    refused("denied: auth: the provider gave no answer", 1, 0, "whole", "says-nothing")
    refused("denied: auth: the provider's answer is not a principal", 1, 0, "whole", "a-number")
    refused("denied: auth: a principal has no field admin", 1, 0, "whole", "unknown-field")
    refused("denied: no", 1, 0, "whole", "too-late")
    local envelope, asked, done = run("whole", "malformed")
    assert.same({ false, 1, 0 }, { envelope.ok, asked, done })
    assert.matches("^denied: auth: ", envelope.error)
  end)

  it("is asked only where the policy names it", function()
    policy "os_user"
    refused("denied: missing own.whole for own.whole", 0, 0, "whole", "a-good-token")
    policy "other"
    local envelope, asked = run("whole", "a-good-token")
    assert.matches("^config: .*there is no provider other: policies/auth/other.lua is missing", envelope.error)
    assert.equal(0, asked)
  end)

  it("decides nothing where a script has the same name", function()
    policy "corp"
    w:put("policies/auth/corp.lua", "return function() return { id = 'boss' } end\n")
    local envelope, asked = run("whole", "a-good-token")
    assert.matches("^config: .*provider corp is the host's own and policies/auth/corp.lua, too", envelope.error)
    assert.equal(0, asked)
    -- nor where one is there that can't be used
    require("spec_posix").chmod(w.root .. "/policies/auth/corp.lua", "666")
    envelope, asked = run("whole", "a-good-token")
    assert.matches("^config: .*provider corp: .*corp.lua", envelope.error)
    assert.equal(0, asked)
    os.remove(w.root .. "/policies/auth/corp.lua")
    w:put("adapters/echo.lua", "return { run = function() return 1 end }\n")
    refused("config: adapter echo is the host's own and adapters/echo.lua, too", 1, 0, "whole", "a-good-token")
  end)

  it("vouches for a principal where the policy says so", function()
    policy "host"
    refused("denied: unauthenticated", 0, 0, "whole")
    refused("denied: unauthenticated", 0, 0, "whole", "a-good-token")
    local envelope = run("whole", nil, '{"id":"boss"}')
    assert.same({ true, "boss" }, { envelope.ok, envelope.ok and envelope.result.ctx.principal.id })
    refused("denied: missing own.whole for own.whole", 0, 0, "whole", nil, '{"id":"other"}')
    refused("denied: auth: a principal needs an id", 0, 0, "whole", nil, "{}")
    refused("denied: auth: the principal has expired", 0, 0, "whole", nil, '{"id":"boss","expires_at":1}')
    assert.matches("^denied: auth: ", run("whole", nil, "{").error)
    for _, provider in ipairs { "corp", "os_user" } do
      policy(provider)
      refused("denied: auth: the policy doesn't ask the host who it is", 0, 0, "whole", "a-good-token", '{"id":"boss"}')
    end
  end)

  it("runs a kind of command, with its Binding", function()
    policy "corp"
    assert.same({ length = 9, key = "[redacted]" }, run("key", "a-good-token").result)
    refused("adapter echo: not today", 1, 1, "refused", "a-good-token")
    refused("adapter echo: gave no result", 1, 1, "silent", "a-good-token")
    refused("adapter echo: time limit of 1000ms exceeded", 1, 1, "slow", "a-good-token")
    assert.matches("^adapter echo: result: ", run("broken", "a-good-token").error)
    refused("adapter echo: gave no result", 1, 1, "number", "a-good-token")
  end)

  it("asks for other commands through the whole pipeline", function()
    policy "corp"
    local envelope, asked, done = run("relay", "a-good-token")
    assert.same({ true, true, "whole" }, { envelope.ok, envelope.result.ok, envelope.result.verb_key })
    assert.same({ 1, 2 }, { asked, done }) -- as the same principal
    envelope = run("beyond", "a-good-token")
    assert.same({ true, false }, { envelope.ok, envelope.result.ok })
    assert.matches("denied", envelope.result.error)
  end)
end)
