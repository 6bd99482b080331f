-- Hosts that are many or have little: threads with small stacks that share a runtime, few descriptors, a filter of their own,
-- two roots.
local world = require "world"

local manifest = [[
hcp: 1
pack_id: mix
version: 1.0.0
summary: A program, a script, and what nobody may run
wrap: { bin: ./bin/say, json_flag: [], result: text }
commands:
  program: { summary: s, cli: [say, "{{n}}"], effect: read }
  script: { summary: s, kind: composite, script: verbs/script.lua, effect: read }
  inner: { summary: s, kind: composite, script: verbs/inner.lua, effect: read }
  tree: { summary: s, kind: composite, script: verbs/tree.lua, effect: read }
  branch: { summary: s, kind: composite, script: verbs/tree.lua, effect: read }
  leaf: { summary: s, kind: time, effect: read }
  closed: { summary: s, kind: composite, script: verbs/script.lua, effect: read }
]]

local function fill(w, files)
  w:pack("mix", files)
  w:policy([[
grants: [ { principal: "*", capabilities: [mix.program, mix.script, mix.inner, mix.tree, mix.branch, mix.leaf] } ]
packs: { mix: { bins: [./bin/say] } }
]])
  w:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [mix] } }\naudit: { sync: os }\n")
end

describe("a host", function()
  local w

  before_each(function()
    w = world.new()
    require("spec_posix").chmod(w.dir, "711")
    fill(w, {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = "hcp: 1\npolicies: { program: {}, script: {}, inner: {}, closed: {}, tree: {}, branch: {}, leaf: {} }\n",
      ["bin/say"] = { '#!/bin/sh\nprintf %s "$1"\n', "755" },
      ["verbs/script.lua"] = "return function(args, ctx) return { twice = { args.n }, nested = ctx.exec('inner', args) } end\n",
      ["verbs/tree.lua"] = [[
return function(args, ctx)
  local calls, sum = {}, 0
  for i = 1, args.n do calls[i] = { ctx.verb_key == "tree" and "branch" or "leaf", args } end
  for _, answer in ipairs(ctx.exec_all(calls)) do sum = sum + answer end
  return sum
end
]],
      ["verbs/inner.lua"] = "return function() return true end\n",
    })
  end)
  after_each(function() w:close() end)

  local function host(kind, ...)
    local status, out, err = world.run({ world.build .. "/programs/crowd", kind, w.root, w.state, ... })
    assert.same({ "ok\n", "", 0 }, { out, err, status })
  end

  it("of eight threads with small stacks gets 2,000 right answers while the configuration is read anew", function()
    host("crowd", "2000")
    local kinds = {}
    for _, record in ipairs(w:audit()) do kinds[record.kind] = (kinds[record.kind] or 0) + 1 end
    -- 1,600 scripts, each with a run of its own, and 200 programs
    assert.same({ genesis = 1, begin = 3400, ["end"] = 3400, deny = 200 }, kinds)
    assert.equal(0, (w:cli { "audit", "verify" }))
  end)

  it("has eight commands at most side by side, however deep they lie in each other", function() host "tree" end)

  it("that may have twenty descriptors gets answers or is told that they are too few", function() host "few-descriptors" end)

  it("with a filter of its own gets its answers, or is told what the filter took", function() host "own-filter" end)

  it("may have two roots, which know nothing of each other", function()
    local other = world.new()
    fill(other, {
      ["pack.yaml"] = "hcp: 1\npack_id: mix\nversion: 2.0.0\nsummary: s\ncommands:\n" ..
        "  script: { summary: s, kind: composite, script: verbs/script.lua, effect: read }\n",
      ["policy.yaml"] = "hcp: 1\npolicies: { script: {} }\n",
      ["verbs/script.lua"] = "return function() return 'the other root' end\n",
    })
    host("two-roots", other.root, other.state)
    local mine, others = #w:audit(), #other:audit()
    other:close()
    assert.same({ 1 + 5 * 4 + 2, 1 + 5 * 2 + 1 }, { mine, others })
  end)
end)
