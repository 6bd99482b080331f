-- The same attacks from inside a stage: what a runtime keeps for its runs fences no less than what is built for one.
local jail = require "jail"
local world = require "world"

local again = { "files", "leaks", "limits", "network", "processes", "syscalls", "layers" }

describe("in a stage,", function()
  setup(function() jail.warm, jail.staged = true, false end)
  teardown(function() jail.warm = nil end)

  for _, name in ipairs(again) do assert(loadfile(world.source .. "/spec/escape/" .. name .. "_spec.lua", "t", _ENV))() end

  it("they ran, indeed", function() assert.is_true(jail.staged) end)
end)
