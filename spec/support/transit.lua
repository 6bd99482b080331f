-- Worlds with the transit pack, and small feeds.
local world = require "world"

local quote = world.quote
local transit = {}

-- A line of three stops, with a train on weekdays. `changes`: texts of files, false for none.
function transit.feed(changes)
  local files = {
    agency = "agency_name,agency_timezone\nA,Europe/Vienna\n",
    stops = "stop_id,stop_name\na,Alpha\nb,Beta\nc,Gamma\n",
    routes = "route_id,route_short_name,route_type\nr,R,2\n",
    trips = "trip_id,route_id,service_id\nt,r,s\n",
    stop_times = "trip_id,stop_id,stop_sequence,arrival_time,departure_time\n" ..
      "t,a,1,08:00:00,08:00:00\nt,b,5,08:10:00,08:11:00\nt,c,9,08:30:00,08:30:00\n",
    calendar = "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n" ..
      "s,1,1,1,1,1,0,0,20260101,20261231\n",
  }
  for name, text in pairs(changes or {}) do files[name] = text or nil end
  return files
end

-- With the block that the pack's README has, for everybody. `place` is the pack's workspace.
function transit.world()
  local w = world.new()
  w:ship("transit")
  local policy = world.read(w.root .. "/packs/transit/README.md"):match("```yaml policies/transit.yaml\nhcp: 1\n(.-)```")
  w:policy((policy:gsub('"user:%*", capabilities: %[transit.read%]', '"*", capabilities: ["transit.*"]')))
  w:activate("transit")
  assert(w:exec("transit", "doctor").ok)
  w.place = w.state .. "/workspaces/default/-/transit/"
  return w
end

-- A result that must be one.
function transit.run(w, verb, args)
  local envelope, _, err = w:exec("transit", verb, args)
  assert(envelope.ok, (envelope.error or "") .. err)
  return envelope.result
end

-- What an import of these files says.
function transit.try(w, files)
  assert(os.execute("rm -rf " .. quote(w.place .. "feed")))
  for name, text in pairs(files) do world.write(w.place .. "feed/" .. name .. ".txt", text) end
  return w:exec("transit", "import", { feed = "feed", confirm = true })
end

function transit.take(w, files)
  local envelope = transit.try(w, files)
  assert(envelope.ok, envelope.error)
  return envelope.result
end

return transit
