-- Processes seen from outside: hcp in the background, and who is alive whose argv holds a marker.
--   local mark = live.marker()
--   local job = live.start(w, envelope)      hcp exec - in the background; a third word "ignore": under nohup
--   live.wait_for(function() return live.find(mark)[1] end)
--   job:kill("TERM"); status, out, err = job:wait()
local world = require "world"

local quote = world.quote
local live = {}
live.__index = live

-- Only an envelope on a file may hold it: hcp's own argv must not.
function live.marker()
  local f = assert(io.open("/dev/urandom", "rb"))
  local bytes = f:read(12)
  f:close()
  return "marker" .. bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
end

-- The pids of all processes of this machine with `mark` in their argv.
function live.find(mark)
  local p, found = assert(io.popen("ls /proc")), {}
  for pid in p:lines() do
    local cmdline = pid:match("^%d+$") and world.read("/proc/" .. pid .. "/cmdline")
    if cmdline and cmdline:find(mark, 1, true) then found[#found + 1] = pid end
  end
  p:close()
  return found
end

-- Until `condition` gives something true, which is returned. The limit ends a test that failed already.
function live.wait_for(condition)
  for _ = 1, 3000 do
    local value = condition()
    if value then return value end
    os.execute("sleep 0.01")
  end
  error("what was waited for did not happen", 2)
end

function live.start(w, envelope, hangup)
  local self = setmetatable({ dir = w.dir .. "/job" .. live.marker() }, live)
  world.write(self.dir .. "/in", envelope)
  assert(os.execute(("cd %s && { env --%s-signal=HUP %s --root %s --state %s exec - <in >out 2>err & echo $! >pid.new; mv pid.new pid; " ..
    "wait $!; echo $? >status.new; mv status.new status; } >/dev/null 2>&1 &"):format(quote(self.dir),
    hangup or "default", quote(world.hcp), quote(w.root), quote(w.state))))
  self.pid = live.wait_for(function() return world.read(self.dir .. "/pid") end):match("%d+")
  return self
end

function live:kill(signal)
  assert(os.execute(("kill -%s %s"):format(signal, self.pid)))
end

-- status as a shell tells it, stdout, stderr
function live:wait()
  local status = live.wait_for(function() return world.read(self.dir .. "/status") end)
  local err = world.read(self.dir .. "/err"):gsub(world.noise, "")
  return tonumber(status), world.read(self.dir .. "/out"), err
end

return live
