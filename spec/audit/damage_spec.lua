-- Each kind of damage in a log has its own name and place, from outside; what a checkpoint that was kept elsewhere
-- adds; and that an ordinary run refuses a log that isn't the one it knows.
local demo = require "demo"
local world = require "world"
local auditlog = require "log"

describe("hcp audit verify", function()
  local w, log

  -- genesis, then two records a run
  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
    for _ = 1, 3 do assert.is_true(w:exec("demo", "lua").ok) end
    assert.equal(7, #log:lines())
  end)
  after_each(function() w:close() end)

  local function is(wanted, ...)
    local list, verdict = log:findings(...)
    assert.same(wanted, list)
    return verdict
  end

  local function refused(why)
    local envelope, status = w:exec("demo", "mark", { confirm = true })
    assert.is_false(envelope.ok)
    assert.equal("audit: " .. why, envelope.error)
    assert.equal(125, status)
    assert.is_nil(world.read(w.state .. "/workspaces/default/-/demo/marker"))
  end

  local function rotate()
    local status, out = log:audit("rotate")
    assert.equal(0, status)
    return out:match('"segment":"([^"]+)"')
  end

  it("finds nothing in a log that is as it was written", function()
    local verdict = is {}
    assert.is_true(verdict.intact)
    assert.equal(7, verdict.records)
    assert.equal(1, verdict.first)
    assert.equal(7, verdict.last)
    assert.equal(log.hash(log:lines()[7]), verdict.hash)
  end)

  it("names an edited byte", function()
    local lines = log:lines()
    lines[4] = lines[4]:gsub('"principal":"user:', '"principal":"User:')
    log:store(lines)
    is { "edited audit.jsonl:4 4 record 4 was edited: its hash doesn't hold" }
    local offset = #lines[1] + #lines[2] + #lines[3] + 3
    assert.equal(offset, log:verify().findings[1].offset)
  end)

  it("names a record that was made anew with a hash that holds", function()
    local lines = log:lines()
    lines[4] = log.forge((lines[4]:gsub('"principal":"user:', '"principal":"User:')))
    log:store(lines)
    is { "edited audit.jsonl:5 4 record 4 was replaced: record 5 follows another" }
  end)

  it("names a line that is no record", function()
    local lines = log:lines()
    table.insert(lines, 4, '{"seq":4}')
    log:store(lines)
    is { "edited audit.jsonl:4 0 a line that is no record" }
  end)

  it("names removed records", function()
    local lines = log:lines()
    table.remove(lines, 4)
    table.remove(lines, 4)
    log:store(lines)
    is { "missing audit.jsonl:4 4 records 4 to 5 are missing" }
    refused "log truncated"
  end)

  it("names reordered records", function()
    local lines = log:lines()
    lines[5], lines[6] = lines[6], lines[5]
    log:store(lines)
    is { "missing audit.jsonl:5 5 record 5 is missing", "misplaced audit.jsonl:6 5 record 5 stands after record 6" }
  end)

  it("names a record that stands twice", function()
    local lines = log:lines()
    table.insert(lines, 5, lines[4])
    log:store(lines)
    is { "duplicated audit.jsonl:5 4 record 4 stands here again" }
  end)

  it("names a fork: two writers of one number", function()
    local lines = log:lines()
    lines[8] = log.forge((lines[7]:gsub('"pid":%d+', '"pid":1')))
    log:store(lines)
    is { "duplicated audit.jsonl:8 7 record 7 was written twice: two writers at once" }
    refused "log damaged after record 7"
  end)

  it("names records that are gone at the end", function()
    local lines = log:lines()
    lines[7] = nil
    log:store(lines)
    is { "truncated :0 7 the log ends at record 6, the head knows record 7", "orphaned begin :0 6 run " ..
      lines[6]:match('"run_id":"(%w+)"') .. " began at record 6 and has no end" }
    refused "log truncated"
  end)

  it("names records that are gone at the end with a head that was made to fit, by a checkpoint kept elsewhere", function()
    assert.equal(0, (log:audit("key", "--create")))
    local _, kept = log:audit("checkpoint")
    world.write(w.dir .. "/kept", kept)
    assert.is_true(is({}, "--checkpoint", w.dir .. "/kept").intact)
    local lines = log:lines()
    lines[8], lines[7], lines[6] = nil, nil, nil
    log:store(lines)
    local size = #table.concat(lines, "\n") + 1
    local head = world.read(log:path("audit.head"))
    head = head:gsub('"size":%d+', '"size":' .. size):gsub('"seq":%d+', '"seq":5')
      :gsub('"time":"[^"]+"', '"time":"' .. lines[5]:match('"time":"([^"]+)"') .. '"')
      :gsub('"hash":"%x+"', '"hash":"' .. log.hash(lines[5]) .. '"'):gsub("%s+$", "")
    log:put(head .. (" "):rep(255 - #head) .. "\n", "audit.head")
    -- whoever may write both can do this; without the checkpoint nothing shows it
    assert.is_true(is({}).intact)
    is({ "truncated :0 8 the log ends at record 5, the checkpoint knows record 8" }, "--checkpoint", w.dir .. "/kept")
    -- nor does it help to go on
    for _ = 1, 3 do assert.is_true(w:exec("demo", "lua").ok) end
    is({ "edited :0 8 record 8 is not the one that the checkpoint knows" }, "--checkpoint", w.dir .. "/kept")
  end)

  it("names half a record at the end, which the next run cuts off, keeps and records", function()
    local lines = log:lines()
    local half = lines[7]:sub(1, 100)
    log:put(table.concat(lines, "\n") .. "\n" .. half)
    is { "torn audit.jsonl:8 0 half a record, 100 bytes" }
    assert.is_true(w:exec("demo", "lua").ok)
    assert.is_true(is({}).intact)
    assert.equal(half, world.read(log:path("audit.torn-8")))
    local records = w:audit()
    assert.equal("recover", records[8].kind)
    assert.equal("a torn record of 100 bytes was cut off and kept as audit.torn-8", records[8].detail)
    assert.equal(10, #records)
  end)

  it("names a log that was deleted", function()
    assert(os.remove(log:path()))
    is { "truncated audit.jsonl:0 7 the log is missing", "truncated :0 7 the log ends at record 0, the head knows record 7" }
    refused "log truncated"
  end)

  it("names a log that is another file", function()
    assert(os.execute(("cd '%s' && cp -p audit.jsonl copy && mv copy audit.jsonl"):format(log.dir)))
    is { "replaced audit.jsonl:0 0 the log is another file than the one that was written" }
    refused "log truncated"
  end)

  it("names a head that is gone or damaged", function()
    local head = world.read(log:path("audit.head"))
    log:put(head:gsub('"seq":7', '"seq":6'):sub(1, 255), "audit.head")
    is { "replaced audit.head:0 0 the head is damaged" }
    assert(os.remove(log:path("audit.head")))
    is { "replaced audit.head:0 0 the head is missing" }
    refused "log truncated"
  end)

  it("names a missing segment, in the middle and at the beginning", function()
    local first = rotate()
    assert.equal("audit-000000000007.jsonl", first)
    assert.is_true(w:exec("demo", "lua").ok)
    local second = rotate()
    assert.equal("audit-000000000010.jsonl", second)
    assert.is_true(w:exec("demo", "lua").ok)
    assert.equal(13, is({}).records)
    assert(os.rename(log:path(second), w.dir .. "/second"))
    is { "missing segment audit.jsonl:1 8 records 8 to 10 are missing" }
    assert(os.rename(w.dir .. "/second", log:path(second)))
    assert(os.remove(log:path(first)))
    is { "missing segment audit-000000000010.jsonl:1 1 records 1 to 7 are missing" }
  end)

  it("names damage in a segment, with that file's name and line", function()
    local first = rotate()
    local lines = log:lines(first)
    lines[3] = lines[3]:gsub('"kind":"end"', '"kind":"bnd"')
    log:store(lines, first)
    is { "edited audit-000000000007.jsonl:3 3 record 3 was edited: its hash doesn't hold", "orphaned begin :0 2 run " ..
      lines[2]:match('"run_id":"(%w+)"') .. " began at record 2 and has no end" }
  end)

  it("names a clock that goes back", function()
    local lines = log:lines()
    lines[5] = lines[5]:gsub('"time":"%d%d%d%d', '"time":"1999')
    log.rechain(lines, 5)
    log:store(lines)
    local list = log:findings()
    assert.equal("clock audit.jsonl:5 5 record 5 is from before the record before it", list[1])
  end)

  it("names a second genesis", function()
    local lines = log:lines()
    lines[8] = log.forge((lines[1]:gsub('"pid":%d+', '"pid":1')))
    log:store(lines)
    is { "restarted audit.jsonl:8 1 a second genesis: the chain begins anew" }
  end)

  it("names the end of another run, and the run that has none", function()
    local lines = log:lines()
    local id = lines[6]:match('"run_id":"(%w+)"')
    lines[7] = log.forge((lines[7]:gsub('"kind":"end","run_id":"%w+"', '"kind":"end","run_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"')))
    log:store(lines)
    -- the head knows the record that was there
    is { "edited :0 7 record 7 is not the one that the head knows",
      "orphaned begin :0 6 run " .. id .. " began at record 6 and has no end" }
  end)
end)

describe("hcp audit recover", function()
  local w, log

  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
    for _ = 1, 3 do assert.is_true(w:exec("demo", "lua").ok) end
  end)
  after_each(function() w:close() end)

  it("leaves a log that is fine as it is", function()
    local before = world.read(log:path())
    local status, out = log:audit("recover")
    assert.equal(0, status)
    assert.equal('{"recovered":false,"detail":"the log is fine"}\n', out)
    assert.equal(before, world.read(log:path()))
  end)

  it("goes on after the last record that is known, and the gap stays visible", function()
    local lines = log:lines()
    local lost = { lines[6], lines[7] }
    lines[7], lines[6] = nil, nil
    log:store(lines)
    local status, out = log:audit("recover")
    assert.equal(0, status)
    assert.equal('{"recovered":true,"detail":"goes on after record 7; records 6 to 7 are missing"}\n', out)
    assert.is_true(w:exec("demo", "lua").ok)
    local list, verdict = log:findings()
    assert.same({ "missing audit.jsonl:6 6 records 6 to 7 are missing (known)" }, list)
    assert.is_false(verdict.intact)
    assert.equal(1, verdict.known)
    -- what turns up again fits
    lines = log:lines()
    table.insert(lines, 6, lost[2])
    table.insert(lines, 6, lost[1])
    log:store(lines)
    assert.same({}, (log:findings()))
  end)

  it("takes up a log that was deleted", function()
    assert(os.remove(log:path()))
    local status, out = log:audit("recover")
    assert.equal(0, status)
    assert.equal('{"recovered":true,"detail":"goes on after record 7; the log was missing; records 1 to 7 are missing"}\n', out)
    assert.is_true(w:exec("demo", "lua").ok)
    assert.same({ "missing audit.jsonl:1 1 records 1 to 7 are missing (known)" }, (log:findings()))
  end)
end)
