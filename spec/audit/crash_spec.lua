-- hcp killed at moments that nobody chose: the next run goes on, what was answered for is in the log, and verifying names
-- the runs that have no end and nothing else. Each single system call is spec/unit/test_audit_faults.c.
local demo = require "demo"
local live = require "live"
local auditlog = require "log"
local cjson = require "cjson"

describe("kill -9", function()
  local w, log

  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
  end)
  after_each(function() w:close() end)

  it("at 50 random moments loses nothing that was answered for", function()
    local answered, began, ended, by_run = {}, {}, {}, {}
    math.randomseed(6)
    for i = 1, 50 do
      local job = live.start(w, ('{"pack_id":"demo","verb_key":"plain","args":{"n":%d}}'):format(i))
      os.execute(("sleep %.4f"):format(math.random() * 0.08))
      os.execute("kill -9 " .. job.pid .. " 2>/dev/null")
      local _, out = job:wait()
      answered[i] = out:sub(-1) == "\n" and cjson.decode(out).ok
      -- the next one goes on at once
      local envelope = w:exec("demo", "plain", { n = 1000 + i })
      assert.is_true(envelope.ok, envelope.error)
    end
    local list, verdict = log:findings()
    assert.is_true(verdict.intact, list[1])
    for _, record in ipairs(w:audit()) do
      if record.kind == "begin" then
        began[record.args.n] = true
        by_run[record.run_id] = record.args.n
      elseif record.kind == "end" then
        ended[by_run[record.run_id]] = true
      end
    end
    local orphans, killed = 0, 0
    for i = 1, 50 do
      assert.is_true(ended[1000 + i])
      if answered[i] then assert.is_true(ended[i]) else killed = killed + 1 end
      if began[i] and not ended[i] then orphans = orphans + 1 end
    end
    -- every finding is one of them, and some were killed
    assert.equal(orphans, verdict.orphans)
    assert.equal(orphans, #list)
    assert.is_true(killed > 0)
  end)

  it("in a run leaves its begin, which verify and show name", function()
    w:pack("demo", { ["bin/show"] = { "#!/bin/sh\nexec sleep 600\n", "755" } })
    local job = live.start(w, '{"pack_id":"demo","verb_key":"argv"}')
    live.wait_for(function()
      local records = w:audit()
      return records[2] and records[2].kind == "begin"
    end)
    job:kill("KILL")
    assert.equal(137, (job:wait()))
    local id = w:audit()[2].run_id
    local list, verdict = log:findings()
    assert.same({ "orphaned begin :0 2 run " .. id .. " began at record 2 and has no end" }, list)
    assert.is_true(verdict.intact)
    assert.equal(log:lines()[2] .. "\n", select(2, log:audit("show", id)))
  end)
end)
