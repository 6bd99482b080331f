-- Adapter kinds in Lua: `check` judges the command before `run` sees it.
local demo = require "demo"

describe("an adapter's check", function()
  local w

  before_each(function()
    w = demo.world()
    assert.equal(126, select(2, w:exec("demo", "nopolicy"))) -- the log has begun
  end)
  after_each(function() w:close() end)

  -- Its run leaves records of a command of its own, so that one that wasn't called can be told.
  local function adapter(check)
    w:put("adapters/telepathy.lua", ([[
return {
  check = %s,
  run = function(args, ctx, command)
    return { ran = ctx.exec("plain", { n = 1 }) }
  end,
}
]]):format(check))
  end

  local function other()
    local envelope, status = w:exec("demo", "other")
    return { envelope.ok, envelope.error, status }, envelope
  end

  local function refused(error)
    local before = #w:audit()
    local how, envelope = other()
    assert.same({ false, error, 1 }, how)
    assert.is_nil(envelope.result)
    local records = w:audit()
    assert.same({ "begin", "other", "end", "other" }, { records[before + 1].kind, records[before + 1].verb,
      records[before + 2].kind, records[before + 2].verb })
    assert.equal(before + 2, #records)
    assert.equal(error, records[#records].error)
    assert.equal(8, records[#records].step)
  end

  it("lets a command run, or an adapter has none", function()
    for _, check in ipairs { "function() return true end", "nil" } do
      adapter(check)
      local how, envelope = other()
      assert.same({ true, nil, 0 }, { how[1], how[2], how[3] })
      assert.same({ ran = { "--n=1", "--json" } }, envelope.result)
    end
  end)

  it("refuses with its reason, and nothing has run", function()
    adapter('function() return false, "minds are closed" end')
    refused("adapter telepathy: minds are closed")
    adapter("function() return false end")
    refused("adapter telepathy: its check refuses this command")
  end)

  it("sees the command as it is declared, the kind's own mapping with it", function()
    w:put("packs/demo/pack.yaml", (demo.manifest:gsub("kind: telepathy", "%0\n    telepathy: { range: 10, to: [a, b] }")))
    adapter([[function(command)
      local t = command.telepathy
      return false, table.concat({ command.verb_key, command.kind, command.summary, t.range, t.to[2] }, "|")
    end]])
    refused("adapter telepathy: other|telepathy|Of a kind that nobody wrote|10|b")
  end)

  it("is a refusal, too, when it raises, answers something else, or isn't a function", function()
    adapter('function() error("boom") end')
    refused("script: adapters/telepathy.lua:2: boom")
    adapter('function() hcp.fail("not today") end')
    refused("not today")
    for _, answer in ipairs { "nil", "1", '"yes"', "{}" } do
      adapter(("function() return %s end"):format(answer))
      local _, envelope = other()
      assert.is_false(envelope.ok)
      assert.matches("^script: adapters/telepathy.lua: must return true, or false and a reason; not a ", envelope.error)
    end
    adapter("true")
    refused("script: adapters/telepathy.lua: check must be a function, not a boolean")
  end)

  it("has the script's limits", function()
    adapter("function() while true do end end")
    w:put("hcp.yaml", "hcp: 1\nlua: { instructions: 100000 }\n")
    refused("script: instruction limit of 100K exceeded at adapters/telepathy.lua:2")
  end)

  it("is asked of composites, by the root's adapter where it has one", function()
    assert.same({ args = {}, verb = "lua" }, w:exec("demo", "lua").result)
    w:put("adapters/composite.lua", 'return { check = function(c) return false, c.script end, run = function() end }')
    assert.equal("adapter composite: verbs/lua.lua", w:exec("demo", "lua").error)
  end)
end)
