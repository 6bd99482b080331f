-- Files: what a sandboxed program sees of the host, may write, and may run.
local jail = require "jail"
local world = require "world"

local inside, outside, grants, quote, as_root = jail.inside, jail.outside, jail.grants, world.quote, jail.as_root

describe("the files of a sandbox", function()
  local w

  before_each(function() w = jail.open() end)
  after_each(jail.close)

  it("has none of the host's but the system's", function()
    local code = ([[
for p in %s:
    out[p] = done(os.lstat, p)
]]):format(jail.list_of("/etc/shadow", "/root", "/home", "/run", "/var", "/sys", "/boot", "/mnt", jail.secret, w.dir,
      w.root, w.root .. "/policies/spec.yaml", w.state, w.state .. "/sessions/default.packs", world.build, "/usr",
      "/pack/pack.yaml", "/etc/passwd", "/tmp"))
    local here, there = outside(code), inside(code)
    for path, answer in pairs(there) do
      local system = path == "/usr" or path == "/pack/pack.yaml" or path == "/etc/passwd" or path == "/tmp"
      -- the temporary folder lies in /tmp, of which the jail has one of its own
      assert.equal(system and "done" or "ENOENT", answer, path)
    end
    for _, path in ipairs { "/etc/shadow", "/root", "/home", "/var", jail.secret, w.root .. "/policies/spec.yaml",
      w.state .. "/sessions/default.packs" } do
      assert.equal("done", here[path], path)
    end
  end)

  it("has a root of exactly these names", function()
    local result = inside [[
out["root"] = sorted(n for n in os.listdir("/") if not n.startswith("lib"))
out["etc"] = [n for n in os.listdir("/etc") if n not in ("alternatives", "ld.so.cache", "localtime", "timezone",
  "ca-certificates", "ssl", "pki", "crypto-policies", "passwd", "group")]
out["dev"] = sorted(os.listdir("/dev"))
out["passwd"] = get("/etc/passwd").count("\n")
]]
    assert.same({ "bin", "dev", "etc", "pack", "proc", "sbin", "tmp", "usr" }, result.root)
    assert.same({}, result.etc)
    assert.same({ "fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero" }, result.dev)
    assert.equal(2, result.passwd)
  end)

  it("reads a secret only where the operator lets it", function()
    local code = ("out['secret'] = attempt(get, %q)"):format(jail.secret)
    assert.same({ secret = "the secret\n" }, outside(code))
    assert.same({ secret = "ENOENT" }, inside(code))
    os.execute(("mkdir -m 755 %s/shown && cp %s %s/shown/secret; chmod 666 %s/shown/secret; chmod 755 %s"):format(
      quote(w.dir), quote(jail.secret), quote(w.dir), quote(w.dir), quote(w.dir)))
    w:policy(grants(("read: [%q]"):format(w.dir .. "/shown")))
    assert.same({ shown = "the secret\n", write = "EROFS", secret = "ENOENT" }, inside(([[
out["shown"] = attempt(get, %q)
out["write"] = done(put, %q)
out["secret"] = attempt(get, %q)
]]):format(w.dir .. "/shown/secret", w.dir .. "/shown/secret", jail.secret)))
  end)

  it("writes nothing but its own", function()
    -- as root it is nobody inside, and the owner and mode of a file refuse it before the mount does
    local foreign = as_root and "EACCES" or "EROFS"
    local wanted = {
      ["/pack/x"] = "EROFS", ["/pack/pack.yaml"] = foreign, ["/pack/bin/try"] = foreign, ["/usr/x"] = "EROFS",
      ["/usr/bin/x"] = "EROFS", ["/x"] = "EROFS", ["/etc/x"] = "EROFS", ["/etc/passwd"] = "EACCES",
      ["/dev/x"] = "EROFS", ["/proc/x"] = "ENOENT", ["/proc/sys/kernel/core_pattern"] = "EROFS",
      ["/proc/sys/kernel/hostname"] = "EROFS", ["/proc/self/oom_score_adj"] = "EROFS",
      ["/tmp/x"] = "done", ["/dev/shm/x"] = "done", ["/dev/null"] = "done",
    }
    local paths = {}
    for path in pairs(wanted) do paths[#paths + 1] = path end
    assert.same(wanted, inside("for p in " .. jail.list_of(table.unpack(paths)) .. ": out[p] = done(put, p)"))
    assert.same({ chmod = "EROFS", unlink = "EROFS", rename = "EROFS", truncate = foreign, utime = "EROFS",
      xattr = "EROFS", mkdir = "EROFS" }, inside [[
out["chmod"] = done(os.chmod, "/pack/bin/try", 0o777)
out["unlink"] = done(os.unlink, "/pack/pack.yaml")
out["rename"] = done(os.rename, "/pack/pack.yaml", "/pack/y")
out["truncate"] = done(os.truncate, "/pack/pack.yaml", 0)
out["utime"] = done(os.utime, "/pack/pack.yaml", (0, 0))
out["xattr"] = done(os.setxattr, "/pack/pack.yaml", "user.x", b"x")
out["mkdir"] = done(os.mkdir, "/pack/dir")
]])
    assert.equal(jail.manifest, world.read(w.root .. "/packs/esc/pack.yaml"))
    assert.equal(jail.program, world.read(w.root .. "/packs/esc/bin/try"))
    assert.equal("bin\npack.yaml\npolicy.yaml\n", select(2, world.sh("ls " .. quote(w.root .. "/packs/esc"))))
    assert.is_nil(world.read("/tmp/x"))
  end)

  it("has no way round through /proc", function()
    local result = inside(([[
for p in ["environ", "maps", "mem", "root", "cwd", "exe", "fd", "auxv", "stack", "syscall"]:
    path = "/proc/1/" + p
    out[p] = done(os.listdir if p == "fd" else os.readlink if p in ("root", "cwd", "exe") else get, path)
out["through"] = done(os.lstat, "/proc/1/root/etc")
out["self"] = done(get, "/proc/self/environ")
a, b = os.stat("/proc/self/root/../.."), os.stat("/")
out["top"] = [a.st_dev, a.st_ino] == [b.st_dev, b.st_ino]
out["up"] = attempt(get, "/proc/self/cwd/../../../../../..%s")
out["uid_map"] = done(put, "/proc/self/uid_map", b"0 0 1\n", os.O_WRONLY)
out["setgroups"] = done(put, "/proc/self/setgroups", b"allow", os.O_WRONLY)
out["map"] = get("/proc/self/uid_map").split()
out["uid"] = str(os.getuid())
]]):format(jail.secret))
    assert.same({ result.uid, result.uid, "1" }, result.map)
    result.map, result.uid = nil, nil
    assert.same({ environ = "EACCES", maps = "EACCES", mem = "EACCES", root = "EACCES", cwd = "EACCES",
      exe = "EACCES", fd = "EACCES", auxv = "EACCES", stack = "EACCES", syscall = "EACCES", through = "EACCES",
      self = "done", top = true, up = "ENOENT", uid_map = "EROFS", setgroups = "EROFS" }, result)
  end)

  it("can't run what no rule lets it run", function()
    local code = [[
import shutil, subprocess
def run(path):
    return subprocess.run([path, "-u"], stdout=subprocess.PIPE).stdout.decode().strip() == str(os.getuid())
shutil.copy("/usr/bin/id", "/tmp/copy")
out["id"] = attempt(run, "/usr/bin/id")
out["copy"] = attempt(run, "/tmp/copy")
out["loader"] = attempt(lambda: subprocess.run([loader(), "/usr/bin/id", "-u"], stdout=subprocess.PIPE).returncode)
]]
    code = "import glob\ndef loader(): return (glob.glob('/lib64/ld-*') + glob.glob('/lib/ld-linux-*'))[0]\n" .. code
    assert.same({ id = true, copy = true, loader = 0 }, inside(code))
    w:policy(grants(nil, "    exec: []\n"))
    local result = inside(code)
    assert.same({ "EACCES", "EACCES" }, { result.id, result.copy })
    w:policy(grants(nil, "    exec: [id]\n"))
    result = inside(code)
    assert.same({ true, "EACCES" }, { result.id, result.copy })
  end)
end)
