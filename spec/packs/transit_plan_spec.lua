-- A city of 100,000 stop times, and random questions of which way to take: the transit pack's plan arrives when a plain
-- search through all rides in the order of time does, and each leg of it is one of the feed.
-- HCP_PLANS=200 asks more; HCP_SEED has the city and the questions be others.
local world = require "world"
local transit = require "transit"

local PLANS, SEED = tonumber(os.getenv "HCP_PLANS" or 20), tonumber(os.getenv "HCP_SEED" or 1)
local STATIONS, LINES, TRIPS, LENGTH = 300, 80, 4000, 25

-- Numbers that are the same each time.
local function numbers(seed)
  return function(most)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % most + 1
  end
end
local pick = numbers(SEED)

local function clock(t) return ("%02d:%02d:%02d"):format(t // 3600, t // 60 % 60, t % 60) end

-- Services by weekday, Sunday first; the last one is on one day alone.
local services = { weekdays = "0111110", weekend = "1000001", daily = "1111111", once = "0000000" }
local names = { "weekdays", "weekdays", "weekend", "daily", "once" }

-- trips[i] = { service, stops = { { stop, station, arrives, departs, board, alight }, … } }; walks[a] = { { b, seconds }, … }
local function city()
  local lines, trips, walks = {}, {}, {}
  for i = 1, LINES do
    lines[i] = {}
    for j = 1, LENGTH do
      local station
      repeat station = pick(STATIONS) until station ~= (lines[i][j - 1] or {}).station
      local stop = station % 5 == 0 and ("s%d-%d"):format(station, pick(2)) or "s" .. station
      lines[i][j] = { stop = stop, station = station, hop = 59 + pick(240), board = pick(30) > 1, alight = pick(30) > 1 }
    end
  end
  for i = 1, TRIPS do
    local t, stops = 4 * 3600 + pick(21 * 3600), {}
    for j, s in ipairs(lines[pick(LINES)]) do
      local arrives = t + s.hop
      t = arrives + (pick(3) == 1 and pick(60) or 0)
      stops[j] = { stop = s.stop, station = s.station, arrives = arrives, departs = t, board = s.board, alight = s.alight }
    end
    trips[i] = { service = names[pick(#names)], stops = stops }
  end
  for station = 1, STATIONS do walks[station] = {} end
  for _ = 1, 150 do
    local a, b = pick(STATIONS), pick(STATIONS)
    if a ~= b and not walks[a][b] then walks[a][b] = pick(600) end
  end
  return trips, walks
end

local function texts(trips, walks)
  local stops, rows = { "stop_id,stop_name,location_type,parent_station" }, {}
  local out = { "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type" }
  for i = 1, STATIONS do
    stops[#stops + 1] = ("s%d,Station %d,%s,"):format(i, i, i % 5 == 0 and "1" or "")
    for p = 1, i % 5 == 0 and 2 or 0 do stops[#stops + 1] = ("s%d-%d,Station %d,,s%d"):format(i, p, i, i) end
  end
  for i, t in ipairs(trips) do
    rows[i] = ("t%d,r,%s"):format(i, t.service)
    for j, s in ipairs(t.stops) do
      out[#out + 1] = ("t%d,%s,%s,%s,%d,%d,%d"):format(i, clock(s.arrives), clock(s.departs), s.stop, j,
        s.board and 0 or 1, s.alight and 0 or 1)
    end
  end
  local calendar, transfers = {}, {}
  for name, week in pairs(services) do
    calendar[#calendar + 1] = ("%s%s20260101,20261231"):format(name, (week:gsub("", ",")))
  end
  for a, list in pairs(walks) do
    for b, seconds in pairs(list) do transfers[#transfers + 1] = ("s%d,s%d,2,%d"):format(a, b, seconds) end
  end
  return {
    agency = "agency_name,agency_timezone\nA,Europe/Vienna", stops = table.concat(stops, "\n"),
    routes = "route_id,route_short_name,route_type\nr,R,3", trips = "trip_id,route_id,service_id\n" .. table.concat(rows, "\n"),
    stop_times = table.concat(out, "\n"),
    calendar = "service_id,sunday,monday,tuesday,wednesday,thursday,friday,saturday,start_date,end_date\n" ..
      table.concat(calendar, "\n"),
    calendar_dates = "service_id,date,exception_type\nonce,20260610,1\nweekdays,20260610,2",
    transfers = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\n" .. table.concat(transfers, "\n"),
  }
end

-- 2026-06-07 is a Sunday; on the 10th it is as calendar_dates says.
local function runs(service, day)
  if day == 10 and service == "once" then return true end
  if day == 10 and service == "weekdays" then return false end
  return services[service]:sub((day - 7) % 7 + 1, (day - 7) % 7 + 1) == "1"
end

-- All rides from one stop to the next around a day, by departure.
local function rides_of(trips, day)
  local list = {}
  for shift = -1, 1 do
    for i, t in ipairs(trips) do
      for j = 1, runs(t.service, day + shift) and LENGTH - 1 or 0 do
        local a, b = t.stops[j], t.stops[j + 1]
        list[#list + 1] = { from = a.station, to = b.station, departs = a.departs + shift * 86400,
          arrives = b.arrives + shift * 86400, trip = i * 3 + shift, board = a.board, alight = b.alight }
      end
    end
  end
  table.sort(list, function(a, b) return a.departs < b.departs end)
  return list
end

-- { { changes, seconds }, … }: the arrivals that no way with fewer changes has. got[k]: where k rides lead, and when.
local function search(rides, walks, q)
  local got, on = {}, {}
  local function arrive(k, station, t)
    got[k][station] = math.min(t, got[k][station] or t)
    for other, seconds in pairs(walks[station]) do
      got[k][other] = math.min(t + seconds, got[k][other] or t + seconds)
    end
  end
  for k = 0, q.changes + 1 do got[k], on[k] = {}, {} end
  arrive(0, q.from, q.time)
  for _, r in ipairs(rides) do
    for k = 1, r.departs >= q.time and q.changes + 1 or 0 do
      local since = got[k - 1][r.from]
      if since and since + (k > 1 and q.min_change * 60 or 0) <= r.departs and r.board and r.departs < q.time + 86400 then
        on[k][r.trip] = true
      end
      if on[k][r.trip] and r.alight then arrive(k, r.to, r.arrives) end
    end
  end
  local best, list = math.huge, {}
  for k = 0, q.changes + 1 do
    local t = got[k][q.to]
    if t and t < best then
      best = t
      table.insert(list, 1, { math.max(k - 1, 0), t })
    end
  end
  return list
end

-- Seconds since the midnight that begins the 7th of June.
local function seconds_of(text)
  local d, h, m, s = text:match "^2026%-06%-(%d+)T(%d+):(%d+):(%d+)$"
  return (d - 7) * 86400 + h * 3600 + m * 60 + s
end

describe("plan", function()
  local w, trips, walks

  setup(function()
    w = transit.world()
    trips, walks = city()
    for name, text in pairs(texts(trips, walks)) do
      world.write(w.place .. "city/" .. name .. ".txt", text)
    end
  end)
  teardown(function() w:close() end)

  local function run(verb, args) return transit.run(w, verb, args) end

  -- Each leg is one of the feed, and follows on the one before.
  local function check(q, journey, context)
    local at, since = q.from, (q.day - 7) * 86400 + q.time
    for i, leg in ipairs(journey.legs) do
      local departs, arrives = seconds_of(leg.departs), seconds_of(leg.arrives)
      local a, b = tonumber(leg.from.stop_id:match "^s(%d+)"), tonumber(leg.to.stop_id:match "^s(%d+)")
      assert.equal(at, a, context)
      if leg.kind == "walk" then
        assert.same({ since, walks[a][b] }, { departs, arrives - departs }, context)
      else
        local ridden = i > 1 and (journey.legs[i - 1].kind == "ride" or i > 2)
        assert.is_true(departs >= since + (ridden and q.min_change * 60 or 0), context)
        local on
        for _, s in ipairs(trips[tonumber(leg.trip_id:match "%d+")].stops) do
          if on and s.alight and s.stop == leg.to.stop_id and s.arrives - on == arrives - departs then on = true break end
          if s.board and s.stop == leg.from.stop_id and (s.departs - departs) % 86400 == 0 then on = s.departs end
        end
        assert.is_true(on, context)
      end
      at, since = b, arrives
    end
    assert.same({ q.to, journey.arrives }, { at, journey.legs[#journey.legs].arrives }, context)
  end

  it("agrees with a plain search", function()
    assert.equal(TRIPS * LENGTH, run("import", { feed = "city", confirm = true }).stop_times)
    local rides, found, most = {}, 0, 0
    for i = 1, PLANS do
      local q = { from = pick(STATIONS), to = pick(STATIONS), day = 8 + pick(3), time = pick(1440) * 60 - 60,
        changes = pick(5) - 1, min_change = pick(8) - 1 }
      if q.from == q.to then q.to = q.to % STATIONS + 1 end
      rides[q.day] = rides[q.day] or rides_of(trips, q.day)
      local context = ("seed %d, plan %d"):format(SEED, i)
      local answer = run("plan", { from = "s" .. q.from, to = "Station " .. q.to, date = ("2026-06-%02d"):format(q.day),
        time = clock(q.time):sub(1, 5), changes = q.changes, min_change = q.min_change })
      local list = {}
      for j, journey in ipairs(answer.journeys) do
        check(q, journey, context)
        list[j] = { journey.changes, seconds_of(journey.arrives) - (q.day - 7) * 86400 }
      end
      assert.same(search(rides[q.day], walks, q), list, context)
      found = found + math.min(#list, 1)
      most = math.max(most, list[1] and list[1][1] or 0)
    end
    assert.is_true(found * 2 > PLANS and most >= 2)
  end)
end)
