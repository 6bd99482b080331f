-- The library inside programs that lead lives of their own: threads, signals, descriptors and memory as no command has
-- them. Each host runs programs that work, fail, are killed, and says whether it noticed anything but results.
local live = require "live"
local world = require "world"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: life
version: 1.0.0
summary: Runs what its stdin says
wrap: { bin: sh, argv_template: [-s, "{{mark}}"], stdin: "{{script}}", json_flag: [], result: text }
commands:
  run: { summary: s, effect: read }
]]

local grants = [[
grants: [ { principal: "*", capabilities: ["life.*"] } ]
packs:
  life:
    bins: [sh]
    sandbox: { tier: %s, write: [%q], limits: { output: 64K, timeout: 2m } }
]]

for _, tier in ipairs { "strong", "light" } do
  describe("in tier " .. tier .. " a host", function()
    local w, shared, mark

    before_each(function()
      w = world.new()
      shared = w.dir .. "/shared"
      mark = live.marker()
      os.execute(("chmod 711 %s; mkdir -m 777 %s"):format(quote(w.dir), quote(shared)))
      w:pack("life", { ["pack.yaml"] = manifest, ["policy.yaml"] = "hcp: 1\npolicies: { run: {} }\n" })
      w:policy(grants:format(tier, shared))
      w:put("hcp.yaml", "hcp: 1\naudit: { sync: os }\n")
      w:activate("life")
    end)
    after_each(function() w:close() end)

    local function host(kind)
      local status, out, err = world.sh(("%s/programs/host %s %s %s %s %s"):format(quote(world.build), kind,
        quote(w.root), quote(w.state), quote(shared), mark))
      assert.same({ "ok\n", "", 0 }, { out, err, status })
    end

    it("may run from threads that end at once", function() host "brief-thread" end)
    it("may run where its first thread has ended", function() host "no-main-thread" end)
    it("may run eight commands in a row from eight threads, and sixty-four at a time", function() host "many-threads" end)
    if tier == "strong" then
      it("of a gigabyte is not copied", function() host "big" end)
      it("that closes or replaces descriptors which aren't its own runs nothing outside of a sandbox", function()
        w:policy(grants:format(tier, "/opt")) -- a stage has no places beneath /tmp, which is each run's own
        host "closes-stages"
      end)
      it("with hardly any descriptors has as many for later runs as for the first", function()
        w:policy(grants:format(tier, "/opt"))
        host "little-room"
      end)
    end
    it("that ignores SIGCHLD learns how programs ended", function() host "ignores-children" end)
    it("that reaps whatever it finds meets no child, and no SIGCHLD", function() host "reaps-all" end)
    it("to whom orphans fall has none left", function() host "is-subreaper" end)
    it("with an alarm every 200 microseconds gets on", function() host "has-alarms" end)
    it("that blocks all signals hands on none of that, and keeps its mask", function() host "blocks-signals" end)
    it("without standard descriptors keeps none of theirs", function() host "closed-stdio" end)
    it("with descriptors above its limit of 64 hands on none", function() host "few-descriptors" end)
    it("keeps its handlers, mask, umask, ids, folder, limits, locale, environment and descriptors", function() host "untouched" end)
    it("holds no more output than the limit", function() host "endless-output" end)

    it("that is killed takes its run along, though a copy of it lives on with all of its descriptors", function()
      local status = world.sh(("%s/programs/copied %s %s %s %s"):format(quote(world.build), quote(w.root), quote(w.state),
        quote(shared), mark))
      assert.equal(137, status)
      local copy = world.read(shared .. "/pid")
      live.wait_for(function() return #live.find(mark) == 0 end)
      assert.equal(0, (world.sh("kill -0 " .. copy)))
      world.sh("kill -9 " .. copy)
      -- and the copy may use what it inherited
      assert.equal('{"ok":true,"pack_id":"life","verb_key":"run","result":"hi\\n"}', world.read(shared .. "/answer"))
      local kinds = {}
      for i, record in ipairs(w:audit()) do kinds[i] = record.kind end
      assert.same({ "genesis", "begin", "begin", "end" }, kinds)
    end)

    it("has nothing left of 300 runs of which 100 are killed", function()
      local function picture()
        local files = ("cd %s && ls -A scratch 2>/dev/null; find workspaces 2>/dev/null; ls -A"):format(quote(w.state))
        return { select(2, world.sh(files)), select(2, world.sh("find /sys/fs/cgroup -type d 2>/dev/null | sort")) }
      end
      w:exec("life", "run", { mark = "x", script = "true" }) -- so that log and folders are there
      local before = picture()
      host "three-hundred"
      assert.same(before, picture())
      assert.same({}, live.find(mark))
      local ended = 0
      for _, record in ipairs(w:audit()) do ended = ended + (record.kind == "end" and 1 or 0) end
      assert.equal(305, ended)
    end)
  end)
end
