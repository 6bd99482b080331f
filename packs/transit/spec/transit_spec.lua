-- The feed that comes with the pack, asked as an agent would.
local test = require "hcp.test"
local cjson = require "cjson"

describe("transit", function()
  before_each(function()
    test.reset()
    test.exec("import", { example = true }, { confirm = true })
  end)

  it("has nothing to tell before there is a feed", function()
    test.reset()
    assert.equal("there is no feed yet: import one", test.try("stops", { name = "" }).error)
    assert.equal(cjson.null, test.exec("doctor").feed)
  end)

  it("finds stops by words", function()
    local found = test.exec("stops", { name = "gate hospital" })
    assert.same({ 1, "hospital", "Hospital, Main Gate" }, { #found.stops, found.stops[1].stop_id, found.stops[1].name })
  end)

  it("tells departures past midnight as of the next day", function()
    local found = test.exec("departures", { stop = "Central Station", date = "2026-01-02", time = "23:50", limit = 1 })
    assert.same({ "2026-01-03T00:30:00", "N1", "central-1", true },
      { found.departures[1].time, found.departures[1].route, found.departures[1].stop_id, found.more })
  end)

  it("plans a change, and the later way without one", function()
    local asked = { from = "Airport", to = "Old Bridge", date = "2026-01-05", time = "08:00" }
    local journeys = test.exec("plan", asked).journeys
    assert.same({ 2, 1, "2026-01-05T08:30:00", 0, "2026-01-05T08:31:00" },
      { #journeys, journeys[1].changes, journeys[1].arrives, journeys[2].changes, journeys[2].arrives })
    assert.same({ "t1-3", "walk" }, { journeys[2].legs[1].trip_id, journeys[2].legs[2].kind })
  end)

  it("shapes what the search found", function()
    local a, b = { stop_id = "a", name = "A" }, { stop_id = "b", name = "B" }
    test.stub("connections", { from = a, to = b, since = "2026-01-05T08:00:00", way = {
      { rides = 0, round = 0, place = b, time = "2026-01-05T08:05:00", walked = true, ride = cjson.null } } })
    assert.same({ { changes = 0, departs = "2026-01-05T08:00:00", arrives = "2026-01-05T08:05:00", legs = {
      { kind = "walk", from = a, to = b, departs = "2026-01-05T08:00:00", arrives = "2026-01-05T08:05:00" } } } },
      test.exec("plan", { from = "a", to = "b" }).journeys)
  end)
end)
