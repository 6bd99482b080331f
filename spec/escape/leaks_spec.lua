-- Leaks: what of the host and of hcp itself comes along into a sandbox, and with which rights.
local cjson = require "cjson"
local jail = require "jail"
local live = require "live"
local world = require "world"

local inside, outside, quote, as_root = jail.inside, jail.outside, world.quote, jail.as_root

for _, tier in ipairs { "strong", "light" } do describe("what a sandbox of tier " .. tier .. " hands in", function()
  local w

  before_each(function()
    w = jail.open()
    os.execute("chmod 711 " .. quote(w.dir)) -- a root runtime's program is another user
    w:policy(jail.grants("tier: " .. tier))
  end)
  after_each(jail.close)

  describe("who it is", function()
    it("has no privilege and can gain none", function()
      local result = inside [[
s = dict(l.split(":\t", 1) for l in get("/proc/self/status").split("\n") if ":\t" in l)
for k in ("NoNewPrivs", "Seccomp", "Groups", "CapInh", "CapPrm", "CapEff", "CapAmb"):
    out[k] = s[k].strip()
out["ids"] = sorted(set(os.getresuid() + os.getresgid()))
out["root"] = done(os.setuid, 0)
out["other"] = done(os.setresuid, 1, 1, 1)
out["groups"] = done(os.setgroups, [0])
out["same"] = done(os.setuid, os.getuid())
out["umask"] = os.umask(0)
]]
      if as_root then assert.same({ 65534 }, result.ids) end
      for _, id in ipairs(result.ids) do assert.not_equal(0, id) end
      result.ids = nil
      local none = "0000000000000000"
      -- an ordinary user can't drop groups: in strong the own one is mapped, others the kernel shows as nobody's
      local own = " 65534 " .. (as_root and "" or select(2, world.sh(tier == "strong" and "id -g" or "id -G"))):gsub("%s", " ")
      for group in result.Groups:gmatch("%d+") do assert.matches(" " .. group .. " ", own, 1, true) end
      if as_root then assert.equal("", result.Groups) end
      result.Groups = nil
      -- in a user namespace there is no other id to ask for
      local other = tier == "strong" and "EINVAL" or "EPERM"
      assert.same({ NoNewPrivs = "1", Seccomp = "2", CapInh = none, CapPrm = none, CapEff = none, CapAmb = none,
        root = other, other = other, groups = "EPERM", same = "done", umask = 63 }, result)
    end)

    if as_root then
      it("gains nothing from a set-user-id program", function()
        os.execute(("cp /usr/bin/id %s/packs/esc/bin/suid && chmod 4755 %s/packs/esc/bin/suid; chmod 755 %s"):format(
          quote(w.root), quote(w.root), quote(w.dir)))
        local _, out = world.sh("setpriv --reuid 54321 --regid 54321 --clear-groups " ..
          quote(w.root .. "/packs/esc/bin/suid") .. " -u")
        assert.equal("0\n", out) -- on the host it is one
        assert.same({ id = "65534" }, inside [[
import subprocess
out["id"] = subprocess.run([os.environ["HCP_PACK_ROOT"] + "/bin/suid", "-u"], stdout=subprocess.PIPE).stdout.decode().strip()
]])
      end)
    end
  end)

  describe("what it inherits", function()
    it("is no descriptor, whatever its number", function()
      local code = [[
out["fds"] = sorted(int(n) for n in os.listdir("/proc/self/fd") if done(os.fstat, int(n)) == "done")
]]
      assert.same({ 0, 1, 2 }, inside(code, nil, nil, { before = jail.launcher }).fds)
      local here = {}
      for _, n in ipairs(outside(code, jail.launcher).fds) do here[n] = true end
      for n = 0, 20 do assert.is_true(here[n]) end
      assert.is_true(here[2048])
    end)

    it("is no ignored or blocked signal", function()
      local code = [[
s = dict(l.split(":\t", 1) for l in get("/proc/self/status").split("\n") if ":\t" in l)
out.update((k, int(s[k], 16)) for k in ("SigBlk", "SigIgn"))
]]
      -- Python itself ignores SIGPIPE and SIGXFSZ
      local own = (1 << 12) | (1 << 24)
      assert.same({ SigBlk = 0, SigIgn = own }, inside(code, nil, nil, { before = jail.launcher }))
      local here = outside(code, jail.launcher)
      assert.equal((1 << 11) | (1 << 14), here.SigBlk & ((1 << 11) | (1 << 14)))
      assert.equal(own | (1 << 9), here.SigIgn & (own | (1 << 9)))
    end)

    it("is no variable of the environment", function()
      local code = "out.update(os.environ)"
      local env = "TOP_SECRET=hunter2 LD_BIND_NOW=1 PYTHONPATH=/tmp BASH_ENV=/tmp/x HCP_PACK_ID=no"
      local result = inside(code, nil, nil, { env = env })
      assert.matches("^%w+$", result.HCP_RUN_ID)
      assert.matches("^u%w+:", result.HCP_PRINCIPAL)
      result.HCP_RUN_ID, result.HCP_PRINCIPAL = nil, nil
      local pack, home = "/pack", "/tmp"
      if tier == "light" then
        pack, home = w.root .. "/packs/esc", result.HOME
        assert.equal(1, (home:find(w.state .. "/scratch/", 1, true)))
      end
      assert.same({ PATH = "/usr/local/bin:/usr/bin:/bin", LANG = "C.UTF-8", HOME = home, HCP_SANDBOX = "sandbox",
        HCP_PACK_ID = "esc", HCP_VERB_KEY = "pack", HCP_TENANT = "default", HCP_PACK_ROOT = pack,
        HCP_WORKSPACE = pack, TMPDIR = tier == "light" and home or nil }, result)
      assert.equal("hunter2", outside(code, "env " .. env).TOP_SECRET)
    end)

    it("is no input: who reads it is at the end at once", function()
      local status, out = w:cli({ "--raw", "exec", "esc", "cat" }, { stdin = "the caller's own\n" })
      assert.same({ 0, "" }, { status, (out:gsub("\n", "")) })
    end)

    it("is no terminal, though the caller has one", function()
      -- a terminal of hcp's own to control it
      local terminal = [[python3 -c 'import fcntl, os, sys, termios
os.setsid()
ends = os.openpty()
fcntl.ioctl(ends[1], termios.TIOCSCTTY, 0)
for fd in ends: os.set_inheritable(fd, True)
os.environ["NAME"] = os.ttyname(ends[1])
os.execvp(sys.argv[1], sys.argv[1:])' ]]
      local code = [[
out["tty"] = done(os.open, "/dev/tty", os.O_RDWR)
out["name"] = sorted({done(os.open, os.environ.get("NAME", "/dev/pts/%d" % n), os.O_RDWR) for n in range(64)})
out["list"] = done(os.listdir, "/dev/pts")
out["session"] = os.getsid(0) == os.getpid()
]]
      local here = jail.outside(code:gsub("range%(64%)", "range(1)"), terminal)
      assert.same({ tty = "done", name = { "done" }, list = "done", session = true }, here)
      local no = tier == "strong" and "ENOENT" or "EACCES"
      local result = inside(code, nil, nil, { before = terminal })
      if tier == "light" and result.name[2] == "ENOENT" then result.name[2] = nil end -- those that aren't there
      assert.same({ tty = no, name = { no }, list = no, session = true }, result)
    end)

    it("is no secret in an argv, and nothing in the init's environment or argv", function()
      local secret, mark = live.marker(), live.marker()
      local code = "out['ran'] = True; " .. ("import time; %s = 1; time.sleep(600)"):format(secret)
      local job = live.start(w, cjson.encode { pack_id = "esc", verb_key = "pack", args = { token = mark, code = code } })
      local pid = live.wait_for(function() return live.find(mark)[1] end)
      local init = world.read("/proc/" .. pid .. "/stat"):match("^%d+ %b() %a (%d+)")
      assert.equal("hcp-init\0", world.read("/proc/" .. init .. "/cmdline"))
      -- its folder in /proc is root's
      assert.equal(as_root and "" or nil, world.read("/proc/" .. init .. "/environ"))
      assert.same({}, live.find(secret))
      job:kill("TERM")
      assert.equal(143, (job:wait()))
    end)

    it("is an input that can't be written, and pipes that lead nowhere else", function()
      assert.same({ write = "EPERM", again = "EPERM", out = "pipe", err = "pipe" }, inside [[
out["write"] = done(os.pwrite, 0, b"x", 0)
def again():
    fd = os.open("/proc/self/fd/0", os.O_RDWR)
    os.pwrite(fd, b"x", 0)
out["again"] = done(again)
out["out"] = os.readlink("/proc/self/fd/1").split(":")[0]
out["err"] = os.readlink("/proc/self/fd/2").split(":")[0]
]])
    end)
  end)
end) end
