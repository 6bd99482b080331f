-- What the transit pack makes of feeds: all that GTFS allows is understood, and what it doesn't allow is refused in one
-- sentence; then the feed of before still answers, to the byte.
local world = require "world"
local transit = require "transit"

local quote, feed = world.quote, transit.feed

describe("a feed", function()
  local w, place

  setup(function()
    w = transit.world()
    place = w.place
  end)
  teardown(function() w:close() end)

  local function run(verb, args) return transit.run(w, verb, args) end
  local function take(files) return transit.take(w, files) end

  local function refused(files)
    local envelope = transit.try(w, files)
    assert.is_false(envelope.ok)
    return envelope.error
  end

  -- Times of a day at a stop.
  local function times(stop, date)
    local list = {}
    for i, d in ipairs(run("departures", { stop = stop, date = date }).departures) do list[i] = d.time:sub(12) end
    return table.concat(list, " ")
  end

  it("may have a mark at its start, CRLF, quotes, columns in any order and others, and spaces in its header", function()
    take(feed {
      agency = "\239\187\191agency_timezone,agency_name\r\nEurope/Vienna,\"A, \"\"B\"\"\r\nC\"\r\n",
      stops = "\239\187\191\"stop_name\",fare, Stop_ID ,stop_lat\r\n\"Alpha, \"\"the\"\" stop'); DROP TABLE stops; --\",x,a,48.5\r\n" ..
        "\"Beta\r\nB\",,b,\r\nGämma,,c,\r\n",
      stop_times = "\239\187\191departure_time,arrival_time,stop_headsign,stop_sequence,stop_id,trip_id\r\n" ..
        " 8:30:00,8:30:00,,90,c,t\r\n8:00:00,8:00:00,,1,a,t\r\n8:11:00,,,10,b,t",
      shapes = "not,read\n\"",
    })
    assert.equal("A, \"B\"\nC", (run("doctor").feed.agency:gsub("\r", "")))
    local stop = run("stops", { name = "the alpha" }).stops[1]
    assert.same({ "a", "Alpha, \"the\" stop'); DROP TABLE stops; --", 48.5 }, { stop.stop_id, stop.name, stop.lat })
    assert.equal("c", run("stops", { name = "Gämma" }).stops[1].stop_id)
    assert.equal("08:11:00", times("b", "2026-06-08"))
    assert.equal("08:30:00", run("plan", { from = stop.name, to = "c", date = "2026-06-08" }).journeys[1].arrives:sub(12))
  end)

  it("may have one of the calendars alone", function()
    take(feed { calendar = false, calendar_dates = "service_id,date,exception_type\ns,20260607,1\ns,20260608,2\n" })
    assert.same({ "08:00:00", "", "" }, { times("a", "2026-06-07"), times("a", "2026-06-08"), times("a", "2026-06-09") })
    take(feed { calendar_dates = "service_id,date,exception_type\n" })
    assert.same({ "", "08:00:00" }, { times("a", "2026-06-06"), times("a", "2026-06-08") })
  end)

  it("has stops without times between those that have them", function()
    take(feed { stop_times = "trip_id,stop_id,stop_sequence,arrival_time,departure_time\n" ..
      "t,c,1,,\nt,a,2,08:00:00,08:01:00\nt,b,3,,\nt,c,4,,\nt,b,7,08:31:00,08:40:00\nt,a,8,,08:50:00\nt,c,9,,\n" })
    assert.same({ "08:01:00", "08:11:00 08:40:00", "08:21:00" },
      { times("a", "2026-06-08"), times("b", "2026-06-08"), times("c", "2026-06-08") })
  end)

  it("may have stops that aren't boarded or left, patterns and ways on foot", function()
    take(feed {
      stop_times = "trip_id,stop_id,stop_sequence,arrival_time,departure_time,pickup_type,drop_off_type\n" ..
        "t,a,1,08:00:00,08:00:00,0,0\nt,b,2,08:10:00,08:11:00,1,1\nt,c,3,08:30:00,08:30:00,0,0\n" ..
        "f,b,1,0:00:00,0:00:00,,\nf,c,2,0:05:00,0:05:00,,\n",
      trips = "trip_id,route_id,service_id\nt,r,s\nf,r,s\nnever,r,nowhere\n",
      frequencies = "trip_id,start_time,end_time,headway_secs\nf,23:00:00,24:30:00,1800\n",
      transfers = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,600\nb,a,3,\nc,c,2,300\n",
    })
    assert.equal("00:00:00 23:00:00 23:30:00", times("b", "2026-06-09"))
    local p = run("plan", { from = "a", to = "b", date = "2026-06-08", time = "07:59" })
    assert.same({ 1, "walk", "2026-06-08T08:09:00" }, { #p.journeys, p.journeys[1].legs[1].kind, p.journeys[1].arrives })
    p = run("plan", { from = "a", to = "c", date = "2026-06-08", time = "08:01" })
    assert.same({ "walk", "ride", "2026-06-08T23:05:00" },
      { p.journeys[1].legs[1].kind, p.journeys[1].legs[2].kind, p.journeys[1].arrives })
    assert.same({}, run("plan", { from = "b", to = "a", date = "2026-06-08" }).journeys)
  end)

  it("comes as a zip file", function()
    take(feed())
    assert(os.execute(("umask 022; cd %s/feed && zip -q ../city.zip *.txt && cd .. && head -c 900 city.zip >cut.zip"):format(
      quote(place))))
    assert.equal(3, run("import", { feed = "city.zip", confirm = true }).stop_times)
    for name, why in pairs { ["cut.zip"] = "the feed is neither a folder nor a sound zip file",
      ["feed/stops.txt"] = "the feed is neither a folder nor a sound zip file", ["no.zip"] = "there is no such feed in the workspace" } do
      assert.equal(why, w:exec("transit", "import", { feed = name, confirm = true }).error)
    end
    for _, name in ipairs { "../x", "/etc", "-x", "a/../../b", "*" } do
      assert.is_false(w:exec("transit", "import", { feed = name, confirm = true }).ok, name)
    end
  end)

  it("that is wrong is refused, and the one before stays", function()
    take(feed())
    local before = world.read(place .. "transit.db")
    local times_of = feed().stop_times
    for why, changes in pairs {
      ["stop_times.txt isn't there"] = { stop_times = false },
      ["neither calendar.txt nor calendar_dates.txt is there"] = { calendar = false },
      ["trips.txt: column trip_id isn't there"] = { trips = "route_id,service_id,\"trip_id; DROP TABLE stops\"\nr,s,t\n" },
      ["trips.txt isn't UTF-8"] = { trips = "trip_id,route_id,service_id\nt,r,s\xff\n" },
      ["stops.txt: stop_id a is there twice"] = { stops = feed().stops .. "a,Again\n" },
      ["stops.txt: row 4: stop_id is empty"] = { stops = feed().stops .. ",Nobody\n" },
      ["stop_times.txt: row 3: stop_id ' OR 1; -- is nowhere"] = { stop_times = times_of:gsub("t,c", "t,' OR 1; --") },
      ["stop_times.txt: row 1: arrival_time 8h is no time"] = { stop_times = times_of:gsub("08:00:00", "8h", 1) },
      ["stop_times.txt: row 2: stop_sequence is no number"] = { stop_times = times_of:gsub("b,5", "b,5.5") },
      ["stop_times.txt: stop_sequence 1 of trip t is there twice"] = { stop_times = times_of:gsub("b,5", "b,01") },
      ["stop_times.txt: trip t goes back in time at stop_sequence 9"] = { stop_times = times_of:gsub("08:30", "08:03") },
      ["trips.txt: row 1: route_id x is nowhere"] = { trips = "trip_id,route_id,service_id\nt,x,s\n" },
      ["calendar.txt: row 1: end_date 2026-12-31 is no date"] = { calendar = feed().calendar:gsub("20261231", "2026-12-31") },
      ["calendar.txt: row 1: a weekday is neither 0 nor 1"] = { calendar = feed().calendar:gsub("s,1,1", "s,1,7") },
      ["calendar_dates.txt: row 1: exception_type is neither 1 nor 2"] =
        { calendar_dates = "service_id,date,exception_type\ns,20260607,3\n" },
      ["frequencies.txt: row 1: headway_secs is no number above 0"] =
        { frequencies = "trip_id,start_time,end_time,headway_secs\nt,08:00:00,09:00:00,0\n" },
      ["stops.txt: line 5: unterminated \"-quoted field"] = { stops = feed().stops .. "d,\"open\nx,y\n" },
      ["stops.txt: line 5: unescaped \" character"] = { stops = feed().stops .. "d,\"a\"b\"\n" },
      ["stops.txt: row 4: stop_name is over 4096 characters"] = { stops = feed().stops .. "d," .. ("x"):rep(5000) .. "\n" },
      ["stops.txt: line 1: over 500 columns"] = { stops = ("x,"):rep(40000) .. "\n" },
      ["stops.txt: column stop_id isn't there"] = { stops = ("x"):rep(1e7) },
      ["routes.txt: empty file"] = { routes = "" },
      ["transfers.txt: row 2: to_stop_id z is nowhere"] = { transfers = "from_stop_id,to_stop_id\n,\na,z\n" },
      ["transfers.txt: row 1: min_transfer_time is no number of seconds"] =
        { transfers = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\na,b,2,-600\n" },
      ["agency.txt: row 1: agency_timezone is no time zone"] = { agency = "agency_name,agency_timezone\nA,../../etc/passwd\n" },
      ["agency.txt: agency_timezone is empty"] = { agency = "agency_name,agency_timezone\nA,\n" },
    } do
      assert.equal(why, refused(feed(changes)))
    end
    assert.is_true(before == world.read(place .. "transit.db"))
    assert.equal("", select(2, world.sh("cd " .. quote(place) .. " && ls -d .import* 2>/dev/null")))
    assert.equal("08:11:00", times("b", "2026-06-08"))
  end)
end)
