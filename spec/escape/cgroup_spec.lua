-- Limits for a run's whole tree, in a cgroup v2 folder that the operator names.
local world = require "world"

-- A folder of its own beneath the first cgroup v2 mount, with both controllers; nil where this host gives none.
local function delegated()
  for mount in world.read("/proc/self/mountinfo"):gmatch("[^\n]+") do
    local at = mount:match("^%S+ %S+ %S+ %S+ (%S+) .* %- cgroup2 ")
    local have = at and world.read(at .. "/cgroup.controllers") or ""
    if have:find "memory" and have:find "pids" then
      local _, dir = world.sh(("cd %s && mkdir -p hcp-spec && for f in . hcp-spec; do echo +memory +pids >$f/cgroup.subtree_control; " ..
        "done && mktemp -d %s/hcp-spec/XXXXXX"):format(at, at))
      if dir:find("hcp-spec", 1, true) then return (dir:gsub("%s+$", "")) end
    end
  end
end

describe("a cgroup", function()
  local w

  local function limits(tier, cpu)
    w:shell(("sandbox: { tier: %s, limits: { memory: 64M, processes: 20, cpu: %s, timeout: 2m } }"):format(tier, cpu))
  end

  local function open(cgroup, tier)
    w = world.new()
    limits(tier or "strong", "1m")
    w:put("hcp.yaml", "hcp: 1\ncgroup: " .. cgroup .. "\n")
    w:activate("probe")
  end
  after_each(function() w:close() end)

  local function run(script) return w:exec("probe", "run", { script = script }) end

  describe("that can't hold a run is named, and nothing runs:", function()
    local function refuses(why)
      local envelope = run("echo ran")
      assert.equal("sandbox: cgroup unavailable: " .. why, envelope.error)
      assert.is_nil(envelope.stdout)
      local records = w:audit()
      assert.equal("end", records[#records].kind)
      assert.equal(envelope.error, records[#records].error)
    end

    it("none is there", function()
      open "/nothing/here"
      refuses "/nothing/here: No such file or directory"
    end)

    it("it is a folder of another file system", function()
      open "/usr"
      refuses "/usr is no cgroup v2 folder"
    end)

    it("it is a link", function()
      open "/proc/self/root"
      refuses "/proc/self/root: Not a directory"
    end)
  end)

  -- listed in spec/host-bound: not every host has one to give
  for _, tier in ipairs { "strong", "light" } do
    describe("in tier " .. tier, function()
      local dir

      before_each(function()
        dir = delegated()
        if dir then open(dir, tier) else w = world.new() end
      end)
      after_each(function() if dir then world.sh("rmdir " .. dir) end end)

      local function it_needs_one(name, test)
        it(name, function()
          if not dir then return pending("no cgroup v2 folder with memory and pids") end
          test()
          local _, left = world.sh("ls -d " .. dir .. "/*/ 2>/dev/null")
          assert.equal("", left)
        end)
      end

      it_needs_one("is what the record says held", function()
        assert.equal("hello\n", run("echo hello").result)
        local records = w:audit()
        assert.equal("cgroup", records[#records].limits_held)
        assert.matches("^cgroup,", records[#records].layers)
      end)

      it_needs_one("holds the memory of the tree, not of a process", function()
        local envelope = run("hold() { head -c 30m /dev/zero | tail -c 30m | wc -c; }; hold & hold & hold & wait; echo all")
        assert.equal("sandbox: killed by signal 9", envelope.error)
      end)

      it_needs_one("holds the number of processes", function()
        local envelope = run("i=0; while [ $i -lt 40 ]; do sleep 50 & i=$((i+1)); done; echo all")
        assert.is_false(envelope.ok)
        assert.matches("fork", envelope.stderr)
      end)

      it_needs_one("holds the processor time of the tree", function()
        limits(tier, "2s")
        local envelope = run("burn() { while :; do :; done; }; burn & burn & wait")
        assert.equal("sandbox: killed by signal 24", envelope.error)
      end)

      it_needs_one("ends what its program left behind", function()
        assert.equal("done\n", run("(setsid sh -c 'sleep 1000 & sleep 1000' &) & echo done").result)
      end)
    end)
  end
end)
