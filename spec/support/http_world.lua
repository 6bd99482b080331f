-- A world for http.py: the token "token-of-a" may run `probe run`, any other is somebody who may not.
local world = require "world"

return function()
  local w = world.new()
  w:shell("sandbox: { limits: { timeout: 60s, output: 1M } }")
  w:put("policies/spec.yaml", (world.read(w.root .. "/policies/spec.yaml"):gsub('"%*"', '"tok:a"', 1)))
  w:put("policies/auth/who.lua", [[
return function(request)
if not request.token or request.peer then return nil, "who are you" end
return { id = "tok:" .. request.token:sub(10) }
end
]])
  w:policy("auth: { provider: who }\n", "auth")
  w:put("hcp.yaml", "hcp: 1\naudit: { sync: os }\nsessions: { default: { packs: [probe] } }\n")
  return w
end
