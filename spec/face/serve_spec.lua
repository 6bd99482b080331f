-- `hcp serve`: what a client gets, and what is left of its runs when it, or the server, is gone. The client is serve.py.
local world = require "world"

local quote = world.quote

describe("hcp serve", function()
  local w
  before_each(function()
    w = world.new()
    w:shell("sandbox: { limits: { timeout: 60s, output: 1M } }")
    w:put("policies/auth/peer.lua", "return function(request) return { id = 'peer:' .. request.peer.uid } end\n")
    w:policy("auth: { provider: peer }\n", "auth")
    w:put("hcp.yaml", "hcp: 1\naudit: { sync: os }\nsessions: { default: { packs: [probe] } }\n")
  end)
  after_each(function() w:close() end)

  local function scenario(name)
    local status, out, err = world.sh(("python3 spec/face/serve.py %s %s %s %s %s"):format(name, quote(world.hcp),
      quote(w.root), quote(w.state), quote(w.dir)))
    assert.same({ "ok\n", "", 0 }, { out, err, status })
  end

  for _, case in ipairs {
    { "lines", "answers a line with a line: by id as they end, in order without, whatever the line is" },
    { "cancel", "cancels by id and takes no id twice" },
    { "eof", "leaves no process when its input ends" },
    { "gone", "leaves no process when nobody reads its answers" },
    { "killed", "leaves no process when it is killed" },
    { "drain", "lets runs finish at a signal and refuses new ones" },
    { "stop", "cancels at a second signal" },
    { "policy", "holds each request to the policy of its moment" },
    { "chatty", "has nothing but answers on stdout" },
    { "many", "takes more requests than it runs at once, and loses none" },
    { "sockets", "on a socket knows its peers, and replaces nothing that isn't its own stale one" },
    { "starved", "waits where it has no descriptor for a client, and takes it on later" },
    { "race", "lets one of many that start at once have the socket, and takes none that is alive" },
    { "tokens", "takes one place to serve, and no token for everybody" },
  } do
    it(case[2], function() scenario(case[1]) end)
  end
end)
