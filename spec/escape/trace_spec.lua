-- hcp exec --trace-denials: what a program was refused, told on stderr, and nothing else different.
local world = require "world"

for _, tier in ipairs { "strong", "light" } do
  describe("tracing denials in tier " .. tier, function()
    local w

    before_each(function()
      w = world.new()
      w:shell("exec: [sh, cat, mkdir, head, unshare, sleep, python3], sandbox: { tier: " .. tier ..
        ", limits: { processes: 8, file: 1M, timeout: 60s } }")
      w:activate("probe")
    end)
    after_each(function() w:close() end)

    local function both(script)
      local words = { "exec", "probe", "run", "--", "script=" .. script }
      local status, out = w:cli(words)
      table.insert(words, 1, "--trace-denials")
      local traced_status, traced_out, told = w:cli(words)
      assert.equal(status, traced_status)
      assert.equal(out, traced_out)
      return told
    end

    it("tells nothing where nothing was refused", function()
      assert.equal("", both "echo hello; read x </etc/passwd")
    end)

    it("names the path that isn't there for the program, and not one that is nowhere", function()
      local told = both "cat /etc/fstab; cat /etc/nowhere; true"
      assert.matches("denied: openat /etc/fstab: ", told, 1, true)
      assert.is_nil(told:find("nowhere", 1, true))
    end)

    it("names what can't be written, executed or called, and once", function()
      local told = both "mkdir /usr/x; mkdir /usr/x; ls /; unshare -U true; true"
      assert.matches("denied: mkdir /usr/x: ", told, 1, true)
      assert.equal(1, select(2, told:gsub("denied: mkdir ", "")))
      assert.matches("denied: execve /usr/bin/ls: Permission denied (see exec)\n", told, 1, true)
      assert.matches("denied: unshare(268435456, ", told, 1, true)
    end)

    it("follows children and threads", function()
      local told = both [[(sh -c 'cat /etc/fstab &'; true) | cat
        python3 -c 'import threading, os
t = threading.Thread(target=os.mkdir, args=("/usr/thread",)); t.start(); t.join()' 2>/dev/null | cat; true]]
      assert.matches("openat /etc/fstab: ", told, 1, true)
      assert.matches("mkdir /usr/thread: ", told, 1, true)
    end)

    it("names limits", function()
      local told = both "head -c 2000000 /dev/zero >\"${TMPDIR:-/tmp}/big\" 2>/dev/null; true"
      assert.matches(": File too large (limit file)\n", told, 1, true)
      if tier == "strong" then
        told = both "i=0; while [ $i -lt 10 ]; do sleep 100 & i=$((i+1)); done 2>/dev/null; true"
        assert.matches("denied: clone(", told, 1, true)
        assert.matches("(limit processes)\n", told, 1, true)
      end
    end)

    it("shows control characters of a path as numbers", function()
      local told = both "mkdir \"/usr/$(printf '\\033[31m\\nx')\"; true"
      assert.matches("denied: mkdir /usr/\\x1b[31m\\x0ax: ", told, 1, true)
    end)

    it("tells nothing of a path that it knows a part of", function()
      local told = both("cat /etc/" .. ("./"):rep(600) .. "fstab; true")
      assert.matches("denied: openat [a path of 1023 bytes or more]: ", told, 1, true)
      assert.is_nil(told:find("/etc/./", 1, true))
    end)

    it("ends like any run: by signal, at the time-out, with all that it left", function()
      assert.equal("", both "kill -9 $$")
      local began = #w:audit()
      local status, out = w:cli({ "--trace-denials", "--deadline", "1s", "exec", "probe", "run", "--",
        "script=(trap '' TERM; sleep 777) & wait" })
      assert.equal(124, status)
      assert.matches("sandbox: timeout after 1s", out, 1, true)
      assert.equal(began + 2, #w:audit())
      local _, left = world.sh("ps ax -o args | grep '^sleep 777$'")
      assert.equal("", left)
    end)
  end)
end
