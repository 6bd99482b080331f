-- Tier light: no namespaces, the host's own tree behind Landlock, a scratch folder in the place of private mounts.
local world = require "world"
local live = require "live"
local jail = require "jail"
local cjson = require "cjson"

local manifest = [[
hcp: 1
pack_id: probe
version: 1.0.0
summary: Runs a shell script of the spec's
wrap:
  bin: ./bin/probe
  json_flag: []
  stdin: "{{script}}"
commands:
  pack: { summary: In the pack, cli: [probe], effect: read }
  ephemeral: { summary: In an empty jail, cli: [probe], wrap: { workspace: { mode: ephemeral }, files: [pin] } }
  kept: { summary: In a kept jail, cli: [probe], wrap: { workspace: { mode: workspace } } }
]]

local policy = [[
hcp: 1
policies: { pack: {}, ephemeral: {}, kept: {} }
]]

local grants = [[
grants:
  - { principal: "*", capabilities: ["probe.*"] }
packs:
  probe:
    bins: [./bin/probe]
    sandbox: { tier: light, limits: { workspace: 1M, timeout: 20s } }
]]

describe("tier light", function()
  local w

  before_each(function()
    w = world.new()
    os.execute("chmod 711 " .. world.quote(w.dir)) -- a root runtime's program is another user
    w:pack("probe", { ["pack.yaml"] = manifest, ["policy.yaml"] = policy, ["bin/probe"] = { "#!/bin/sh\n. /dev/stdin\n", "755" } })
    w:policy(grants)
    w:activate("probe")
  end)
  after_each(function() w:close() end)

  local function sh(verb, script, more)
    local args = { script = script }
    for k, v in pairs(more or {}) do args[k] = v end
    local envelope, status = w:exec("probe", verb, args)
    local text = tostring(envelope.ok and envelope.result or envelope.error)
    return text:gsub("\n$", ""), envelope, status
  end

  local function left()
    local _, out = world.sh("ls -A " .. world.quote(w.state .. "/scratch"))
    return out
  end

  it("says in the record that it held, without namespaces", function()
    assert.equal("hello", (sh("pack", "echo hello")))
    local records = w:audit()
    assert.equal("light", records[#records].tier)
    assert.matches("landlock", records[#records].layers)
    assert.matches("seccomp", records[#records].layers)
    assert.is_nil(records[#records].layers:find("ns", 1, true))
  end)

  it("reads no file of the host beyond the allow-list", function()
    world.write(w.dir .. "/secret", "secret", "644")
    for _, path in ipairs { w.dir .. "/secret", w.state .. "/audit/audit.jsonl", "/root", "/home", "/var/log" } do
      assert.matches("Permission denied$", (sh("pack", "ls " .. path .. "/. 2>&1; cat " .. path .. " 2>&1; true")), path)
    end
    assert.matches("root", (sh("pack", "head -1 /etc/passwd")))
  end)

  it("writes nowhere but in its own places, which are gone afterwards", function()
    local where = sh("ephemeral", 'echo x > here && echo y > "$TMPDIR/there" && pwd')
    assert.matches("/scratch/[^/]*/jail$", where)
    assert.equal("", left())
    assert.is_nil(world.read(where .. "/here"))
    for _, path in ipairs { w.dir, w.state, w.root, "/tmp", "/var/tmp", "/usr", "." } do
      assert.matches("Permission denied", (sh("pack", "(echo x > " .. path .. "/escaped) 2>&1; true")),
        path)
      assert.is_nil(world.read(path .. "/escaped"))
    end
  end)

  it("finds its files, and nobody else does", function()
    assert.equal("pin 1234", (sh("ephemeral", 'echo "pin $(cat "$HCP_FILES/pin")"', { pin = "1234" })))
    assert.equal("", left())
  end)

  if jail.as_root then
    it("names the folder that keeps its program from the sandbox's user", function()
      local bin = w.root .. "/packs/probe/bin"
      for _, tier in ipairs { "light", "strong" } do
        w:policy((grants:gsub("light", tier)))
        for _, folder in ipairs { { bin, "/pack/bin" }, { w.dir } } do
          os.execute("chmod 700 " .. world.quote(folder[1]))
          local answer, _, status = sh("pack", "echo in")
          if tier == "light" or folder[2] then
            local shown = tier == "light" and folder[1] or folder[2]
            assert.same({ "sandbox: bin unavailable: " .. shown ..
              " is closed to the user that the program runs as: chmod o+x it", 1 }, { answer, status })
          else
            assert.equal("in", answer) -- its own root has no such folder
          end
          os.execute("chmod 711 " .. world.quote(folder[1]))
          assert.equal("in", (sh("pack", "echo in")))
        end
      end
    end)
  end

  it("keeps a jail by its real path", function()
    assert.equal("", (sh("kept", "echo one > file")))
    assert.equal("one", (sh("kept", 'cat "$HCP_WORKSPACE/file"')))
    assert.equal("one\n", world.read(w.state .. "/workspaces/default/-/probe/file"))
  end)

  it("refuses a jail that is over its limit, before and after", function()
    local error = sh("kept", "head -c 2000000 /dev/zero > big; echo done")
    assert.equal("sandbox: workspace over 1M", error)
    assert.equal("sandbox: workspace over 1M", (sh("kept", "rm big")))
    assert.equal(2000000, #world.read(w.state .. "/workspaces/default/-/probe/big"))
  end)

  it("makes no socket", function()
    local why = sh("pack", [[python3 -c '
import socket
for f in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    try:
        socket.socket(f, socket.SOCK_STREAM if f != socket.AF_NETLINK else socket.SOCK_RAW)
        print("made", f)
    except OSError as e:
        print(e.errno)
print(len(socket.socketpair()))
']])
    assert.equal("1\n1\n1\n1\n2", (why:gsub("13\n", "1\n"):gsub("97\n", "1\n")))
  end)

  it("reaches no shared memory, semaphore or queue of the host", function()
    local calls = [[
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_ssize_t
def call(name, *args):
    return errno.errorcode[ctypes.get_errno()] if getattr(libc, name)(*args) < 0 else "done"
]]
    local ids = {}
    local _, made, err = world.sh("python3 -", calls .. [[
print(libc.shmget(0, 4096, 0o1666), libc.semget(0, 1, 0o1666), libc.msgget(0, 0o1666))
]])
    assert.equal("", err)
    for id in made:gmatch("%d+") do ids[#ids + 1] = id end
    assert.equal(3, #ids)
    local reach = ([[
for a in (("shmat", %s, 0, 0), ("semop", %s, b"\0" * 6, 1), ("msgrcv", %s, bytes(64), 8, 0, 0o4000)):
    print(a[0], call(*a))
]]):format(table.unpack(ids))
    local make = [[
for a in (("shmget", 0, 4096, 0o600), ("semget", 0, 1, 0o600), ("msgget", 0, 0o600), ("mq_open", b"/any", 0o102, 0o600, None)):
    print(a[0], call(*a))
]]
    local _, outside = world.sh("python3 -", calls .. reach)
    local inside = sh("pack", "python3 - <<'.'\n" .. calls .. reach .. make .. ".\n")
    world.sh(("ipcrm -m %s -s %s -q %s"):format(table.unpack(ids)))
    assert.equal("shmat done\nsemop done\nmsgrcv ENOMSG\n", outside)
    assert.equal("shmat ENOSYS\nsemop ENOSYS\nmsgrcv ENOSYS\nshmget ENOSYS\nsemget ENOSYS\nmsgget ENOSYS\nmq_open ENOSYS", inside)
  end)

  it("sweeps what a killed runtime left", function()
    local slow = cjson.encode { pack_id = "probe", verb_key = "ephemeral", args = { script = "echo up > there; sleep 600" } }
    local script = ([[printf %%s %s | %s --root %s --state %s exec - & pid=$!
      for i in $(seq 500); do ls %s/scratch/*/jail/there >/dev/null 2>&1 && break; sleep 0.02; done; kill -9 $pid; wait $pid]]):format(
      world.quote(slow), world.quote(world.hcp), world.quote(w.root), world.quote(w.state), world.quote(w.state))
    world.sh("bash -c " .. world.quote(script))
    assert.is_true(#left() > 0)
    assert.equal("hello", (sh("pack", "echo hello")))
    assert.equal("", left())
  end)

  it("reads no environment, memory or descriptor of hcp, nor of any other process", function()
    local code = [[exec python3 -c '
import os
others = [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) != os.getpid()]
def bytes_of(path):
    with open(path, "rb") as f: return path.endswith("mem") or f.read(1) # of a kernel thread there are none
assert os.getppid() in others and HOST in others
for pid in others:
    for name in ("environ", "mem", "maps", "fd/0", "fd/1", "cwd", "root", "exe"):
        path = "/proc/%d/%s" % (pid, name)
        try:
            ask = bytes_of if name in ("environ", "mem", "maps") else os.readlink
            if ask(path): print("read", path)
        except OSError as e:
            if e.errno not in (1, 2, 3, 13): print(name, e) # it may be gone
    try:
        os.kill(pid, 0)
        print("may signal")
    except OSError: pass
open("/proc/self/environ")
print("tried")
']]
    local host = world.read("/proc/self/stat"):match("^%d+")
    local scope = sh("pack", "true") and tonumber(w:audit()[#w:audit()].layers:match("landlock(%d+)")) >= 6
    local answer = sh("pack", (code:gsub("HOST", host)))
    assert.equal("tried", scope and answer or (answer:gsub("may signal\n", "")))
  end)

  it("can't set a limit of the init, of hcp, nor of any other process", function()
    local answer = sh("pack", [[exec python3 -c '
import os, resource
tried = 0
for pid in [os.getppid()] + [int(n) for n in os.listdir("/proc") if n.isdigit() and int(n) != os.getpid()]:
    for limits in ((), ((0, 0),)):
        try:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, *limits)
            print("reached", pid)
        except PermissionError: tried += 1
resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
print("tried", tried > 2)
']])
    assert.equal("tried True", answer)
  end)

  describe("ends all that descends from the program", function()
    local mark
    -- two that ignore whatever can be ignored, one of them in a session of its own and with no parent left
    local function crowd(last)
      local stay = ([[sh -c 'trap "" TERM HUP INT QUIT PIPE; echo up >>"$TMPDIR/up"; while :; do sleep 1000; done' %s]]):format(mark)
      return ("(setsid %s >/dev/null 2>&1 &) & %s >/dev/null 2>&1 & " ..
        "until [ \"$(grep -c up \"$TMPDIR/up\" 2>/dev/null)\" = 2 ]; do :; done; %s"):format(stay, stay, last)
    end

    before_each(function() mark = live.marker() end)

    it("when that ends by itself", function()
      assert.equal("done", (sh("pack", crowd "echo done")))
      assert.same({}, live.find(mark))
    end)

    it("when that is killed", function()
      assert.equal("sandbox: killed by signal 9", (sh("pack", crowd "kill -9 $$")))
      assert.same({}, live.find(mark))
    end)

    it("when its output is over the limit", function()
      assert.equal("sandbox: output over 8M", (sh("pack", crowd "exec yes")))
      assert.same({}, live.find(mark))
    end)

    it("at the time-out", function()
      w:policy((grants:gsub("20s", "1s")))
      assert.equal("sandbox: timeout after 1s", (sh("pack", crowd "sleep 600")))
      assert.same({}, live.find(mark))
    end)

    for signal, exit in pairs { TERM = 143, KILL = 137 } do
      it("with SIG" .. signal .. " to hcp", function()
        local script = crowd("exec sleep 600")
        local job = live.start(w, cjson.encode { pack_id = "probe", verb_key = "pack", args = { script = script } })
        live.wait_for(function() return #live.find(mark) == 2 end)
        job:kill(signal)
        assert.equal(exit, (job:wait()))
        live.wait_for(function() return #live.find(mark) == 0 end)
      end)
    end
  end)
end)
