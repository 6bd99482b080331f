-- Authorities, certificates and servers of a spec's own.
--   local ca = tls.authority(dir, "ca")               dir/ca.pem
--   ca:certificate("server", "IP:127.0.0.1,DNS:localhost")
--   local s = tls.server(dir, "server")               s.port, s:requests(), s:stop()
local cjson = require "cjson"
local live = require "live"
local world = require "world"

local quote = world.quote
local tls = {}
local authority, server = {}, {}
authority.__index, server.__index = authority, server

local function openssl(words)
  local status, _, err = world.sh("openssl " .. words)
  assert(status == 0, err)
end

function tls.authority(dir, name)
  openssl(("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=%s -keyout %s -out %s"):format(
    name, quote(dir .. "/" .. name .. ".key"), quote(dir .. "/" .. name .. ".pem")))
  return setmetatable({ dir = dir, name = name }, authority)
end

function authority:certificate(name, names, days)
  local base, ca = quote(self.dir .. "/" .. name), quote(self.dir .. "/" .. self.name)
  world.write(self.dir .. "/" .. name .. ".ext", "subjectAltName=" .. names .. "\n")
  openssl(("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout %s.key -out %s.csr"):format(base, base))
  openssl(("x509 -req -in %s.csr -CA %s.pem -CAkey %s.key -CAcreateserial -days %d -extfile %s.ext -out %s.pem"):format(
    base, ca, ca, days or 2, base, base))
end

-- `program`: of spec/programs, instead of tls_server.py
function tls.server(dir, name, plain, program)
  local base = dir .. "/" .. name
  local self = setmetatable({ log = base .. ".log" }, server)
  os.remove(base .. ".port")
  local p = assert(io.popen(("python3 %s %s %s %s %s %s >/dev/null 2>%s & echo $!"):format(
    quote(world.source .. "/spec/programs/" .. (program or "tls_server.py")), quote(base .. ".pem"), quote(base .. ".key"),
    quote(base .. ".port"), quote(self.log), plain or "", quote(base .. ".err"))))
  self.pid = p:read("l")
  p:close()
  self.port = live.wait_for(function() return world.read(base .. ".port") end)
  return self
end

function server:requests()
  local out = {}
  for line in (world.read(self.log) or ""):gmatch("[^\n]+") do out[#out + 1] = cjson.decode(line) end
  return out
end

function server:stop()
  os.execute("kill " .. self.pid)
end

return tls
