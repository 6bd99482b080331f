local hcp = require "hcp"

-- One station of a way: the ride that led there, and the walk behind it where that ended elsewhere. `at` and `since`
-- are where and since when the traveller is on foot.
local function go(legs, step, at, since)
  local ride = step.ride
  if ride ~= hcp.null then
    legs[#legs + 1] = ride
    at, since = ride.to, ride.arrives
  end
  if step.walked then
    legs[#legs + 1] = { kind = "walk", from = at, departs = since, to = step.place, arrives = step.time }
  end
end

return function(args, ctx)
  local found = ctx.exec("connections", args)
  local journeys = hcp.array({})
  for _, step in ipairs(found.way) do
    if step.round == 0 then
      table.insert(journeys, 1, { changes = math.max(step.rides - 1, 0), legs = hcp.array({}) })
    end
    go(journeys[1].legs, step, found.from, found.since)
  end
  for _, j in ipairs(journeys) do
    if #j.legs == 0 then hcp.fail("from and to are the same station") end
    j.departs, j.arrives = j.legs[1].departs, j.legs[#j.legs].arrives
  end
  return { from = found.from, to = found.to, journeys = journeys }
end
