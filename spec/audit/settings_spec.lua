-- audit: of hcp.yaml, from outside: rotation by size, what stays of old segments, and the copy for the system's log.
local demo = require "demo"
local world = require "world"
local live = require "live"
local auditlog = require "log"
local cjson = require "cjson"

local quote = world.quote

describe("audit: in hcp.yaml", function()
  local w, log

  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
  end)
  after_each(function() w:close() end)

  local function settings(text)
    w:put("hcp.yaml", "hcp: 1\naudit: { " .. text .. " }\n")
  end

  -- two records, one of about n bytes
  local function run(n)
    assert.is_true(w:exec("demo", "lua", { text = ("x"):rep(n or 1) }).ok)
  end

  it("rotate: { size } begins a new file in the middle of runs, and the chain goes on", function()
    settings "rotate: { size: 64K }"
    for _ = 1, 12 do run(14000) end
    local list, verdict = log:findings()
    assert.same({}, list)
    assert.equal(3, verdict.segments)
    -- genesis, 24 of runs, and a `rotate` for each file after the first
    assert.equal(1 + 24 + 2, verdict.records)
    assert.equal("rotate", w:audit()[1].kind)
    assert.is_true(#world.read(log:path()) < 65536 + 16384)
    -- somebody else's reader agrees
    local reader = "cd " .. quote(log.dir) .. " && python3 " .. quote(world.source .. "/spec/audit_reader.py") ..
      " audit-*.jsonl audit.jsonl"
    local status, said = world.sh(reader)
    assert.equal(0, status)
    assert.equal("27 records, the last hash is " .. verdict.hash .. "\n", said)
    local lines = log:lines()
    lines[2] = lines[2]:gsub('"pack":"demo"', '"pack":"Demo"')
    log:store(lines)
    local err
    status, said, err = world.sh(reader)
    assert.same({ 1, "", "audit.jsonl:2: the hash does not hold\n" }, { status, said, err })
  end)

  it("keep: N leaves N segments, and verifying knows what was removed", function()
    settings "keep: 2"
    local first, said
    for i = 1, 4 do
      run()
      local status, out = log:audit("rotate")
      assert.equal(0, status)
      said = cjson.decode(out)
      first = first or said.segment
      assert.equal(i > 2 and 1 or 0, said.removed)
      assert.equal(0, said.left)
    end
    assert.is_nil(world.read(log:path(first)))
    local list, verdict = log:findings()
    assert.same({}, list)
    assert.equal(3, verdict.segments)
    local records = w:audit()
    assert.equal("remove", records[2].kind)
    assert.matches("^records up to %d+ were checked and removed, hash %x+$", records[2].detail)
    assert.equal(verdict.first - 1, tonumber(records[2].detail:match("%d+")))
    -- what somebody else removes is missing
    assert(os.execute("rm -f " .. quote(log:path(said.segment))))
    assert.same({ "missing segment audit.jsonl:1 10 records 10 to 13 are missing" }, (log:findings()))
  end)

  it("keep: N removes nothing of a log that is damaged", function()
    settings "keep: 1"
    run()
    local _, out = log:audit("rotate")
    local first = cjson.decode(out).segment
    local lines = log:lines(first)
    lines[2] = lines[2]:gsub("demo", "Demo")
    log:store(lines, first)
    run()
    local status, said, err = log:audit("rotate")
    assert.equal(1, status)
    said = cjson.decode(said)
    assert.equal(0, said.removed)
    assert.equal(1, said.left)
    assert.equal("hcp: the log is damaged, so nothing was removed: see `hcp audit verify`\n", err)
    assert.equal(table.concat(lines, "\n") .. "\n", world.read(log:path(first)))
    assert.same({ "edited " .. first .. ":2 2 record 2 was edited: its hash doesn't hold" }, (log:findings()))
  end)

  it("a checkpoint of what was removed is no proof any more", function()
    settings "keep: 1"
    assert.equal(0, (log:audit("key", "--create")))
    run()
    local _, old = log:audit("checkpoint")
    world.write(w.dir .. "/old", old)
    for _ = 1, 2 do
      run()
      assert.equal(0, (log:audit("rotate")))
    end
    local _, new = log:audit("checkpoint")
    world.write(w.dir .. "/new", new)
    assert.same({}, (log:findings("--checkpoint", w.dir .. "/new")))
    assert.same({ "missing :0 4 record 4, which the checkpoint knows, was removed: a later one is needed" },
      (log:findings("--checkpoint", w.dir .. "/old")))
  end)

  describe("syslog: SOCKET", function()
    -- Writes each datagram and a newline to a file.
    local listener = [[
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1] + ".new")
os.rename(sys.argv[1] + ".new", sys.argv[1])
with open(sys.argv[2], "ab", 0) as out:
    while True:
        out.write(s.recv(65536) + b"\n")
]]
    local socket, got, pid

    before_each(function()
      socket, got = w.dir .. "/sock", w.dir .. "/got"
      world.write(w.dir .. "/listen.py", listener)
    end)
    after_each(function()
      if pid then os.execute("kill " .. pid) end
      pid = nil
    end)

    local function listen()
      assert(os.execute(("python3 %s/listen.py %s %s & echo $! >%s/pid"):format(w.dir, socket, got, w.dir)))
      pid = live.wait_for(function() return world.read(w.dir .. "/pid") end):match("%d+")
      live.wait_for(function() return world.sh("test -S " .. socket) == 0 end)
    end

    it("gets each record as it is stored, refusals as warnings", function()
      listen()
      settings("syslog: " .. socket)
      run()
      assert.is_false(w:exec("nowhere", "x").ok)
      local wanted = log:lines()
      assert.equal(4, #wanted)
      live.wait_for(function() return select(2, (world.read(got) or ""):gsub("\n", "")) >= 4 end)
      local lines, levels = {}, {}
      for line in world.read(got):gmatch("[^\n]+") do
        local level, rest = line:match("^<(%d+)>hcp%[%d+%]: (.*)$")
        levels[#levels + 1], lines[#lines + 1] = level, rest
      end
      assert.same(wanted, lines)
      assert.same({ "86", "86", "86", "84" }, levels)
    end)

    it("changes nothing where nobody listens, but what -v says", function()
      settings("syslog: " .. socket)
      run()
      local status, out, err = w:cli { "-v", "exec", "demo", "lua" }
      assert.equal(0, status)
      assert.is_true(cjson.decode(out).ok)
      assert.matches("audit: no copy for syslog: No such file or directory\n", err)
      assert.same({}, (log:findings()))
      assert.equal(5, #log:lines())
    end)

    it("isn't asked where the file can't be written", function()
      listen()
      settings("syslog: " .. socket)
      run()
      assert(os.execute("rm -f " .. quote(log:path())))
      assert.equal("audit: log truncated", w:exec("demo", "lua").error)
      live.wait_for(function() return select(2, (world.read(got) or ""):gsub("\n", "")) >= 3 end)
      assert.equal(3, select(2, world.read(got):gsub("\n", "")))
    end)
  end)
end)
