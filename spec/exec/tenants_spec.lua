-- Two tenants of one root: neither finds the other's files, credentials or name, whichever way it comes.
local cjson = require "cjson"
local world = require "world"
local hcp = require "hcp"

local manifest = [[
hcp: 1
pack_id: desk
version: 1.0.0
summary: Keeps notes, with a credential of the tenant's
wrap: { bin: ./bin/desk, json_flag: [], result: text, workspace: { mode: workspace } }
mint: { hook: mint/tenant.lua, ttl: 15m, env: [DESK_KEY] }
commands:
  put: { summary: s, cli: [desk, put, "{{text}}"], effect: write }
  look: { summary: s, cli: [desk, look], effect: read }
  other: { summary: s, cli: [desk, other], effect: read }
  who: { summary: s, kind: composite, script: verbs/who.lua, effect: read }
]]

-- look: whose key, which notes; other: whatever of another tenant can be found from here
local program = [[
#!/bin/sh
case $1 in
put) printf %s "$2" >>note ;;
look) printf '%s %s %s' "${DESK_KEY%%-*}" "$(ls)" "$(cat note 2>/dev/null)" ;;
other) {
	cat ../*/note ../../*/*/note ../../../*/*/*/note
	find / -name note -not -path "$PWD/*" -not -path '/proc/*'
	cat /proc/[0-9]*/environ | tr '\0' '\n'
} 2>/dev/null |
	grep -v '^PWD=\|^HOME=' | sed 's/-key-value//g' ;;
esac
]]

describe("two tenants", function()
  local w

  before_each(function()
    w = world.new()
    require("spec_posix").chmod(w.dir, "711")
    w:pack("desk", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = "hcp: 1\npolicies: { put: {}, look: {}, other: {}, who: {} }\n",
      ["bin/desk"] = { program, "755" },
      ["verbs/who.lua"] = "return function(args, ctx) return { ctx.principal.tenant, ctx.principal.id } end\n",
      ["mint/tenant.lua"] = [[
return function(request, host)
  return { env = { DESK_KEY = host.secret(request.principal.tenant) }, expires_in = 60, id = request.principal.tenant .. "-1" }
end
]],
    })
    w:put("policies/auth/badge.lua", [[
return function(request)
  local tenant, name = (request.token or ""):match("^(%l+)%-badge%-(%l+)$")
  if not tenant then return nil end
  return { id = name, tenant = tenant }
end
]])
    w:policy([[
auth: { provider: badge }
grants: [ { principal: "*", capabilities: ["desk.*"] } ]
packs: { desk: { bins: [./bin/desk], mint: { secrets: [acme, bolt] } } }
]])
    w:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [desk] } }\naudit: { sync: os }\n")
    for _, tenant in ipairs { "acme", "bolt" } do
      w:put("secrets/" .. tenant, tenant .. "-key-value", "600")
      -- the same name at both: a principal's id says nothing of the tenant
      w:put("badges/" .. tenant, tenant .. "-badge-ada", "600")
    end
    require("spec_posix").chmod(w.root .. "/secrets", "700")
  end)
  after_each(function() w:close() end)

  local function words(tenant, ...) return { "--token-file", w.root .. "/badges/" .. tenant, ... } end
  local function text(verb, args)
    return cjson.encode { pack_id = "desk", verb_key = verb, args = args or { none = true } }
  end

  local faces = {
    cli = function(tenant, verb, args)
      local _, out = w:cli(words(tenant, "exec", "-"), { stdin = text(verb, args) })
      return out
    end,
    library = function(tenant, verb, args)
      local rt <close> = assert(hcp.open { root = w.root, state = w.state })
      return (assert(rt:exec(text(verb, args), { token = tenant .. "-badge-ada" })))
    end,
    stdio = function(tenant, verb, args)
      local _, out, err = w:cli(words(tenant, "serve", "--stdio"), { stdin = text(verb, args) .. "\n" })
      assert(out ~= "", err)
      return out
    end,
  }

  -- One process for both: the answers to each one's lines.
  local function over_http(asked)
    local job = { hcp = { world.hcp, "--root", w.root, "--state", w.state }, dir = w.dir, http = {}, tokens = {} }
    for i, one in ipairs(asked) do
      job.tokens[i], job.http[i] = one[1] .. "-badge-ada", text(one[2], one[3])
    end
    local status, out, err = world.sh("python3 spec/support/faces.py", cjson.encode(job))
    assert.equal(0, status, err)
    return cjson.decode(out).http
  end

  it("meet nothing of each other in one server", function()
    local answers = over_http { { "acme", "put", { text = "of-acme" } }, { "bolt", "look" }, { "bolt", "put", { text = "of-bolt" } },
      { "acme", "look" }, { "bolt", "look" }, { "acme", "other" }, { "bolt", "other" }, { "acme", "who" }, { "bolt", "who" } }
    assert.matches('"result":"bolt  "', answers[2], 1, true)
    assert.matches('"result":"acme note of-acme"', answers[4], 1, true)
    assert.matches('"result":"bolt note of-bolt"', answers[5], 1, true)
    assert.matches('"result":["acme","ada"]', answers[8], 1, true)
    assert.not_matches("bolt", answers[4] .. answers[6] .. answers[8], 1, true)
    assert.not_matches("acme", answers[5] .. answers[7] .. answers[9], 1, true)
  end)

  for face, ask in pairs(faces) do
    it("meet neither files nor credentials of each other through the face " .. face, function()
      assert.matches("ok", ask("acme", "put", { text = "of-acme" }))
      assert.matches("ok", ask("bolt", "put", { text = "of-bolt" }))
      for tenant, other in pairs { acme = "bolt", bolt = "acme" } do
        local seen = ask(tenant, "look")
        assert.matches(tenant .. " note of-" .. tenant, seen, 1, true)
        assert.not_matches(other, seen .. ask(tenant, "other") .. ask(tenant, "who"), 1, true)
      end
      for _, record in ipairs(w:audit()) do
        if record.kind == "end" then assert.equal(record.tenant .. "-1", record.binding_id) end
      end
    end)
  end

  it("get and remove nothing of each other's workspace", function()
    faces.cli("acme", "put", { text = "of-acme" })
    local function bolt(...) return w:cli(words("bolt", "workspace", ...)) end
    local _, listed = bolt("ls", "desk")
    assert.not_matches("note", listed, 1, true)
    for _, path in ipairs { "note", "../note", "../../acme/_/desk/note", w.state .. "/workspaces/acme" } do
      local status, out = bolt("get", "desk", path)
      assert.not_equal(0, status)
      assert.not_matches("of%-acme", out)
    end
    bolt("rm", "desk", ".")
    assert.matches("of-acme", faces.cli("acme", "look"), 1, true)
  end)

  it("can't ask to be the other, nor send the other's name along", function()
    for _, tenant in ipairs { "acme", "bolt" } do
      local other = tenant == "acme" and "bolt" or "acme"
      local status, out = w:cli(words(tenant, "--tenant", other, "exec", "-"), { stdin = text "look" })
      assert.equal(126, status)
      assert.equal("denied: tenant " .. other, cjson.decode(out).error)
      out = faces.cli(tenant, "look", { tenant = other, project_id = other })
      assert.matches(tenant .. " ", out, 1, true)
    end
    local tenants = {}
    for _, record in ipairs(w:audit()) do
      if record.kind == "end" then tenants[#tenants + 1] = record.tenant end
    end
    assert.same({ "acme", "bolt" }, tenants)
  end)
end)
