-- `hcp serve --http`: what clients get that ask well, badly, from a browser's page, slowly or not to the end. The clients are
-- http.py.
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
    { "answers", "answers envelopes, lists what the caller may run and describes it" },
    { "refusals", "refuses what isn't meant for it, isn't JSON, is too long or could be read in two ways" },
    { "alone", "listens at one place, an address in digits" },
    { "strangers", "beyond loopback asks everybody for a token, or doesn't start" },
    { "policies", "holds each request to the policy of its moment" },
    { "gone", "leaves no process when a client, or the server, is gone" },
    { "drain", "finishes what runs at a signal, and cancels it at a second one" },
    { "starved", "waits where it has no descriptor for a client" },
  } do
    it(case[2], function()
      local status, out, err = world.sh(("python3 spec/face/http.py %s %s %s %s %s"):format(case[1], quote(world.hcp),
        quote(w.root), quote(w.state), quote(w.dir)))
      assert.same({ "ok\n", "", 0 }, { out, err, status })
    end)
  end
end)
