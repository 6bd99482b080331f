-- `hcp serve --http` under load (wrk, for HCP_LOAD_SECONDS, else 10) and under clients that take their time. The clients are http.py.
local http_world = require "http_world"
local world = require "world"

local quote = world.quote

describe("hcp serve --http", function()
  local w
  before_each(function()
    w = http_world()
  end)
  after_each(function() w:close() end)

  for _, case in ipairs {
    { "load", "gives every client its own answer under load, and has nothing left over" },
    { "slow", "gives slow clients only so much time" },
  } do
    it(case[2], function()
      local status, out, err = world.sh(("python3 spec/face/http.py %s %s %s %s %s"):format(case[1], quote(world.hcp),
        quote(w.root), quote(w.state), quote(w.dir)))
      assert.same({ "ok\n", "", 0 }, { out, err, status })
    end)
  end
end)
