-- The transit pack on the real sqlite3 and unzip: what GTFS allows is understood, what it doesn't is refused in one
-- sentence, and then the feed that was there still answers.
local world = require "world"
local transit = require "transit"

-- A train over midnight, and a station with a platform.
local over_midnight = {
  stops = "stop_id,stop_name,parent_station,location_type\na,Alpha,,\nb,Beta,,1\nb1,Beta 1,b,0\nc,Gamma,,\n",
  stop_times = "trip_id,stop_id,stop_sequence,arrival_time,departure_time\n" ..
    "t,a,1,23:50:00,23:50:00\nt,b1,5,24:10:00,24:11:00\nt,c,9,24:30:00,24:30:00\n",
}

describe("transit", function()
  local w
  setup(function() w = transit.world() end)
  teardown(function() w:close() end)

  local function run(verb, args) return transit.run(w, verb, args) end

  local function refused(verb, args)
    local envelope = w:exec("transit", verb, args)
    assert.is_false(envelope.ok, verb)
    return envelope.error
  end

  -- The first two.
  local function departures(stop, date, time)
    local list = {}
    for i, d in ipairs(run("departures", { stop = stop, date = date, time = time, limit = 2 }).departures) do
      list[i] = ("%s %s %s"):format(d.time, d.stop_id, d.trip_id)
    end
    return list
  end

  it("takes up the feed that comes with it", function()
    assert.equal("confirm required", refused("import", { example = true }))
    assert.equal("feed or example is required", refused("import", { confirm = true }))
    assert.same({ agency = "Hilltown Transit", timezone = "Europe/Vienna", stops = 11, routes = 4, trips = 111,
      stop_times = 321, first_day = "2026-01-01", last_day = "2035-12-31" }, run("import", { example = true, confirm = true }))
    local found = run("stops", { name = "STATION central" })
    assert.same({ 1, "central", "Central Station", 2, false },
      { #found.stops, found.stops[1].stop_id, found.stops[1].name, found.stops[1].platforms, found.more })
    found = run("stops", { name = "", limit = 8 })
    assert.same({ 8, true }, { #found.stops, found.more })
    assert.same({}, run("stops", { name = "' OR 1 --" }).stops)
    -- a weekday, a holiday with a weekend's service, a night by an exception, a pattern of frequencies
    assert.same({ "2026-01-05T21:23:00 central-1 t1-b9", "2026-01-05T21:24:00 central-1 t1-9" },
      departures("central-1", "2026-01-05", "21:20"))
    assert.same({ "2026-01-01T18:23:00 central-1 t1-wb3", "2026-01-01T18:24:00 central-1 t1-w3" },
      departures("central station", "2026-01-01", "18:00"))
    assert.same({ "2027-01-01T00:30:00 central-1 n1-2", "2027-01-01T01:30:00 central-1 n1-3" },
      departures("central", "2026-12-31", "23:41"))
    assert.same({ "2026-01-03T17:52:00 castle f-down", "2026-01-04T09:07:00 castle f-down" },
      departures("castle", "2026-01-03", "17:38"))
  end)

  it("knows days of service and the hours beyond them", function()
    assert.same({ agency = "A", timezone = "Europe/Vienna", stops = 4, routes = 1, trips = 1, stop_times = 3,
      first_day = "2026-01-01", last_day = "2026-12-31" }, transit.take(w, transit.feed(over_midnight)))
    -- 2026-01-09 is a Friday
    assert.same({ "2026-01-09T23:50:00 a t" }, departures("a", "2026-01-09", "23:00"))
    assert.same({ "2026-01-10T00:11:00 b1 t" }, departures("b", "2026-01-09", "23:00"))
    assert.same({ "2026-01-10T00:11:00 b1 t" }, departures("Beta", "2026-01-10", "00:11"))
    assert.same({}, departures("b1", "2026-01-10", "00:12"))
    assert.same({}, departures("c", "2026-01-09"))
    assert.same({ "2026-01-12T23:50:00 a t" }, departures("a", "2026-01-11", "23:51"))
    assert.equal("no stop has the id or name Delta", refused("departures", { stop = "Delta" }))
    assert.equal("date: there is no 2026-02-30", refused("departures", { stop = "a", date = "2026-02-30" }))
    -- now, where the agency is
    assert.equal("Alpha", run("departures", { stop = "a" }).stop.name)
  end)

  it("walks on from a ride to where an earlier walk led", function()
    local files = transit.feed()
    files.stops = "stop_id,stop_name\na,A\nb,B\nc,C\nd,D\ne,E\n"
    files.trips = "trip_id,route_id,service_id\none,r,s\ntwo,r,s\n"
    files.stop_times = "trip_id,stop_id,stop_sequence,arrival_time,departure_time\n" ..
      "one,a,1,8:00:00,8:00:00\none,b,2,8:10:00,8:10:00\none,e,3,8:12:00,8:12:00\n" ..
      "two,e,1,8:16:00,8:16:00\ntwo,c,2,8:20:00,8:20:00\n"
    files.transfers = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\nb,c,2,300\nc,d,2,300\n"
    transit.take(w, files)
    local function plan(to, options)
      options = options or {}
      options.from, options.to, options.date, options.time = "a", to, "2026-06-08", "08:00"
      local list = {}
      for i, j in ipairs(run("plan", options).journeys) do
        local legs = {}
        for k, leg in ipairs(j.legs) do legs[k] = leg.trip_id or leg.kind end
        list[i] = ("%s %d %s"):format(j.arrives:sub(12), j.changes, table.concat(legs, " "))
      end
      return list
    end
    assert.same({ "08:15:00 0 one walk" }, plan("c"))
    assert.same({ "08:25:00 1 one two walk" }, plan("d"))
    assert.same({ "08:25:00 1 one two walk" }, plan("d", { min_change = 4 }))
    assert.same({}, plan("d", { min_change = 5 }))
    assert.same({}, plan("d", { changes = 0 }))
    assert.equal("from and to are the same station", refused("plan", { from = "a", to = "A" }))
  end)

  it("is in order, and its own specs hold and try every command", function()
    local status, out = w:cli { "pack", "lint", "transit" }
    assert.same({ 0, '{"ok":true,"problems":[]}\n' }, { status, out })
    status, out = w:cli({ "pack", "test", "--coverage", "transit" }, { env = "TMPDIR=" .. world.quote(w.dir) })
    assert.equal(0, status, out)
    assert.truthy(out:find("5 successes / 0 failures / 0 errors / 0 pending", 1, true), out)
  end)
end)
