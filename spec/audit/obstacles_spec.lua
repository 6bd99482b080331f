-- A log that can't be written denies every run, with path and cause; nothing ran, nothing was minted, and the log is as
-- it was. Afterwards it goes on by itself.
local demo = require "demo"
local world = require "world"
local live = require "live"
local auditlog = require "log"

local quote = world.quote
local as_root = select(2, world.sh("id -u")) == "0\n"

describe("an audit log that can't be written", function()
  local w, log, marker, undo

  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
    marker = w.state .. "/workspaces/default/-/demo/marker"
    -- a pack that mints: its hook would be refused by step 7, if it were reached
    local files = demo.files()
    files["pack.yaml"] = files["pack.yaml"]:gsub("pack_id: demo", "pack_id: minting"):gsub("summary: A pack for specs",
      "%0\nmint: { hook: mint.lua, ttl: 15m, env: [DEMO_TOKEN] }")
    files["mint.lua"] = "return function() error('the hook ran') end"
    w:pack("minting", files)
    w:policy [[
grants: [ { principal: "user:*", capabilities: ["demo.*"] } ]
packs: { demo: { bins: [./bin/show] }, minting: { bins: [./bin/show] } }
]]
    w:activate("minting")
    assert.is_true(w:exec("demo", "lua").ok)
    assert.matches("^mint failed", w:exec("minting", "mark", { confirm = true }).error)
    undo = nil
  end)
  after_each(function()
    if undo then undo() end
    w:close()
  end)

  local function denied(why, options)
    why = "audit: " .. why:gsub("^/", log.dir .. "/")
    for _, pack in ipairs { "demo", "minting" } do
      local envelope, status = w:exec(pack, "mark", { confirm = true }, options)
      assert.is_false(envelope.ok)
      assert.equal(why, envelope.error)
      assert.equal(125, status)
    end
    assert.is_nil(world.read(marker))
    return why
  end

  local function goes_on()
    assert.is_true(w:exec("demo", "mark", { confirm = true }).ok)
    assert.is_not_nil(world.read(marker))
    assert.same({}, (log:findings()))
  end

  local function kept(check)
    local before = world.read(log:path())
    check()
    assert.equal(before, world.read(log:path()))
  end

  local function sh(line)
    assert(os.execute("cd " .. quote(log.dir) .. " && " .. line))
  end

  for _, name in ipairs { "audit.jsonl", "audit.head", "audit.lock" } do
    describe("for " .. name, function()
      local function replaced(by, why)
        sh(("mv %s ../kept && %s"):format(name, by:format(name)))
        denied("/" .. name .. why)
        sh(("rm -rf %s && mv ../kept %s"):format(name, name))
        goes_on()
      end

      it("is a symbolic link", function()
        replaced("ln -s ../kept %s", " is a symbolic link: links are not followed here")
      end)
      it("is a dangling link", function()
        replaced("ln -s nowhere %s", " is a symbolic link: links are not followed here")
        assert.is_nil(world.read(log:path("nowhere")))
      end)
      it("is a FIFO", function() replaced("mkfifo %s", " is not a regular file") end)
      it("is a folder", function() replaced("mkdir %s", ": Is a directory") end)
      it("is writable by others", function()
        kept(function()
          sh("chmod 666 " .. name)
          denied("/" .. name .. " is writable by others: chmod go-w it")
          sh("chmod 620 " .. name)
          denied("/" .. name .. " is writable by others: chmod go-w it")
        end)
        sh("chmod 600 " .. name)
        goes_on()
      end)
      if as_root then
        it("is somebody else's", function()
          kept(function()
            sh("chown 12345 " .. name)
            denied("/" .. name .. " is owned by uid 12345: chown it")
          end)
          sh("chown 0 " .. name)
          goes_on()
        end)
      else
        it("can't be opened", function()
          kept(function()
            sh("chmod 400 " .. name)
            denied("/" .. name .. ": Permission denied")
          end)
          sh("chmod 600 " .. name)
          goes_on()
        end)
      end
    end)
  end

  it("for its folder is open to others", function()
    sh "chmod 755 ."
    local envelope, status = w:exec("demo", "mark", { confirm = true })
    assert.equal("config: " .. log.dir .. " is open to others: chmod 700 it", envelope.error)
    assert.equal(125, status)
    assert.is_nil(world.read(marker))
    sh "chmod 700 ."
    goes_on()
  end)

  it("for a limit of file size, which doesn't end hcp by its signal", function()
    local size = #world.read(log:path())
    kept(function() denied("/audit.jsonl: File too large", { before = ("prlimit --fsize=%d"):format(size) }) end)
    -- in the middle of a record
    kept(function() denied("/audit.jsonl: File too large", { before = ("prlimit --fsize=%d"):format(size + 100) }) end)
    goes_on()
  end)

  it("for a limit of file size between begin and end, whose result is withheld", function()
    local begin = #log:lines()[2]
    local envelope, status = w:exec("demo", "mark", { confirm = true },
      { before = ("prlimit --fsize=%d"):format(#world.read(log:path()) + begin + 200) })
    assert.equal("audit: end record not written; the command ran (exit 0): " .. log:path() .. ": File too large",
      envelope.error)
    assert.is_false(envelope.ok)
    assert.is_nil(envelope.result)
    assert.equal(125, status)
    local list, verdict = log:findings()
    assert.equal(1, verdict.orphans)
    assert.is_true(verdict.intact)
    assert.matches("^orphaned begin :0 6 run %w+ began at record 6 and has no end$", list[1])
  end)

  it("for a lock that somebody holds: denied at the deadline, while it is still held", function()
    sh "flock -x audit.lock sh -c 'echo $$ >../holder.new; mv ../holder.new ../holder; exec sleep 600' & "
    local holder = live.wait_for(function() return world.read(w.state .. "/holder") end):match("%d+")
    undo = function() os.execute("kill " .. holder .. " 2>/dev/null") end
    kept(function()
      denied "/audit.lock is held for over 5 s"
      local status, out, err = log:audit("verify")
      assert.equal(125, status)
      assert.equal("", out)
      assert.equal("hcp: audit: " .. log.dir .. "/audit.lock is held for over 5 s\n", err)
    end)
    assert.equal(0, (world.sh("kill -0 " .. holder)))
    undo()
    goes_on()
  end)

  if not as_root then return end

  it("for a full disk", function()
    undo = function() os.execute("umount " .. quote(log.dir) .. " 2>/dev/null") end
    local fill = w.dir .. "/fill"
    os.execute(("mkdir %s && cp -p %s/audit.* %s"):format(quote(fill), quote(log.dir), quote(fill)))
    assert(os.execute("mount -t tmpfs -o size=32k,mode=700 none " .. quote(log.dir)))
    -- a log of its own there, up to the last byte
    local last
    for _ = 1, 200 do
      last = w:exec("demo", "lua")
      if not last.ok then break end
    end
    assert.is_false(last.ok)
    assert.matches("No space left on device$", last.error)
    denied "/audit.jsonl: No space left on device"
    local _, verdict = log:findings()
    assert.is_true(verdict.intact)
    assert(os.execute("mount -o remount,size=1m " .. quote(log.dir)))
    assert.is_true(w:exec("demo", "mark", { confirm = true }).ok)
    _, verdict = log:findings()
    assert.is_true(verdict.intact)
    assert.is_true(verdict.orphans <= 1)
  end)

  it("for a full disk at the first record", function()
    undo = function() os.execute("umount " .. quote(log.dir) .. " 2>/dev/null") end
    assert(os.execute("mount -t tmpfs -o size=4k,mode=700 none " .. quote(log.dir)))
    denied "/audit.jsonl: No space left on device"
    assert(os.execute("mount -o remount,size=1m " .. quote(log.dir)))
    goes_on()
  end)

  it("for a read-only file system", function()
    undo = function() os.execute("umount " .. quote(log.dir) .. " 2>/dev/null") end
    assert(os.execute(("mount --bind %s %s && mount -o remount,bind,ro %s"):format(quote(log.dir), quote(log.dir),
      quote(log.dir))))
    kept(function() denied "/audit.lock: Read-only file system" end)
    undo()
    goes_on()
  end)
end)
