-- The jail's first layer: programs that try to get out of it. Each attempt is made beside one that must work, inside
-- or outside, so that a broken attempt doesn't pass for a fence. Errors are told by the kernel's own names.
local cjson = require "cjson"
local world = require "world"

local quote = world.quote

local as_root = select(2, world.sh("id -u")) == "0\n"

-- Runs the Python that comes on its stdin and prints what it left in `out`, as JSON.
local program = [[
#!/usr/bin/python3 -IB
import ctypes, errno, json, os, signal, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
out = {}

# what f gives, or the name of its error
def attempt(f, *args, **more):
    try:
        return f(*args, **more)
    except OSError as e:
        return errno.errorcode[e.errno]

def done(f, *args, **more):
    r = attempt(f, *args, **more)
    return r if isinstance(r, str) and r in errno.errorcode.values() else "done"

# a system call by its number
def call(nr, *args):
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return "done" if r >= 0 else errno.errorcode[ctypes.get_errno()]

# f in a child: its exit code, or its signal below 0
def child(f):
    pid = os.fork()
    if pid == 0:
        try:
            f()
            os._exit(0)
        except BaseException:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def put(path, data=b"x", flags=os.O_WRONLY | os.O_CREAT):
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)

def get(path):
    with open(path, "rb") as f:
        return f.read().decode("latin-1")

machine = os.uname().machine
def number(x86_64, arm64):
    return x86_64 if machine == "x86_64" else arm64

try:
    exec(compile(sys.stdin.read(), "attempt", "exec"))
finally:
    print(json.dumps(out))
    sys.stdout.flush()
]]

local manifest = [[
hcp: 1
pack_id: esc
version: 1.0.0
summary: Tries to get out
wrap: { bin: ./bin/try, stdin: "{{code}}", json_flag: [], result: json }
commands:
  pack: { summary: s, cli: [x, "{{token}}"], effect: read }
  empty: { summary: s, cli: [x], wrap: { workspace: { mode: ephemeral } }, effect: write }
  kept: { summary: s, cli: [x, "{{token}}"], wrap: { workspace: { mode: workspace } }, effect: write }
  file:
    summary: s
    cli: [x, "--file={{file}}"]
    wrap: { workspace: { mode: workspace }, file_flags: ["--file"] }
    effect: write
  path:
    summary: s
    cli: [x, "{{file}}"]
    wrap: { workspace: { mode: workspace } }
    effect: write
]]

local policy = "hcp: 1\npolicies: { pack: {}, empty: {}, kept: {}, file: {}, path: {} }\n"

-- A list of paths in Python.
local function list_of(...)
  local items = {}
  for i, path in ipairs { ... } do items[i] = ("%q"):format(path) end
  return "[" .. table.concat(items, ", ") .. "]"
end

local function grants(sandbox, more)
  return ([[
grants: [ { principal: "*", capabilities: ["esc.*"] } ]
packs:
  esc:
    bins: [./bin/try]
    sandbox: { %s }
%s]]):format(sandbox or "", more or "")
end

describe("the jail", function()
  local w, secret

  before_each(function()
    w = world.new()
    w:pack("esc", { ["pack.yaml"] = manifest, ["policy.yaml"] = policy, ["bin/try"] = { program, "755" } })
    w:policy(grants())
    w:activate("esc")
    secret = w.dir .. "/secret"
    world.write(secret, "the secret\n", "644")
  end)
  after_each(function() w:close() end)

  local function envelope_of(verb, code, args, options)
    args = args or {}
    args.code = code
    local envelope, status, stderr = w:exec("esc", verb, args, options)
    return envelope, status, stderr
  end

  -- what the code left in `out`, run in the jail
  local function inside(code, verb, args, options)
    local envelope, status = envelope_of(verb or "pack", code, args, options)
    assert.same({ true, 0 }, { envelope.ok, status }, cjson.encode(envelope))
    assert.is_nil(envelope.stderr)
    return envelope.result
  end

  -- the same on the host
  local function outside(code, before)
    local status, out, err = world.sh((before or "") .. " " .. quote(w.root .. "/packs/esc/bin/try"), code)
    assert.same({ 0, "" }, { status, err })
    return cjson.decode(out)
  end

  -- Landlock fences signals and abstract sockets from its sixth version on; the last run's record says which held.
  local function scoped()
    local records = w:audit()
    return tonumber(records[#records].layers:match("landlock(%d+)")) >= 6
  end

  -- the processes whose command line holds the token
  local function processes_with(token)
    local found = {}
    local list = io.popen("ls /proc")
    for pid in list:lines() do
      local line = pid:match("^%d+$") and world.read("/proc/" .. pid .. "/cmdline")
      if line and line:find(token, 1, true) then found[#found + 1] = pid end
    end
    list:close()
    return found
  end

  -- starts a program with descriptors 3 to 20 open and with core dumps on, as far as it may
  local launcher = [[python3 -c 'import os,resource,sys
f = os.open("/etc/passwd", os.O_RDONLY)
d = os.open("/", os.O_RDONLY)
for n in range(3, 21): os.dup2(f if n % 2 else d, n)
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
os.execvp(sys.argv[1], sys.argv[1:])' ]]

  describe("files", function()
    it("has none of the host's but the system's", function()
      local code = ([[
for p in %s:
    out[p] = done(os.lstat, p)
]]):format(list_of("/etc/shadow", "/root", "/home", "/run", "/var", "/sys", "/boot", "/mnt", secret, w.dir,
        w.root, w.root .. "/policies/spec.yaml", w.state, w.state .. "/sessions/default.packs", world.build, "/usr",
        "/pack/pack.yaml", "/etc/passwd", "/tmp"))
      local here, there = outside(code), inside(code)
      for path, answer in pairs(there) do
        local system = path == "/usr" or path == "/pack/pack.yaml" or path == "/etc/passwd" or path == "/tmp"
        -- the temporary folder lies in /tmp, of which the jail has one of its own
        assert.equal(system and "done" or "ENOENT", answer, path)
      end
      for _, path in ipairs { "/etc/shadow", "/root", "/home", "/var", secret, w.root .. "/policies/spec.yaml",
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
      local code = ("out['secret'] = attempt(get, %q)"):format(secret)
      assert.same({ secret = "the secret\n" }, outside(code))
      assert.same({ secret = "ENOENT" }, inside(code))
      os.execute(("mkdir -m 755 %s/shown && cp %s %s/shown/secret; chmod 666 %s/shown/secret; chmod 755 %s"):format(
        quote(w.dir), quote(secret), quote(w.dir), quote(w.dir), quote(w.dir)))
      w:policy(grants(("read: [%q]"):format(w.dir .. "/shown")))
      assert.same({ shown = "the secret\n", write = "EROFS", secret = "ENOENT" }, inside(([[
out["shown"] = attempt(get, %q)
out["write"] = done(put, %q)
out["secret"] = attempt(get, %q)
]]):format(w.dir .. "/shown/secret", w.dir .. "/shown/secret", secret)))
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
      assert.same(wanted, inside("for p in " .. list_of(table.unpack(paths)) .. ": out[p] = done(put, p)"))
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
      assert.equal(manifest, world.read(w.root .. "/packs/esc/pack.yaml"))
      assert.equal(program, world.read(w.root .. "/packs/esc/bin/try"))
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
]]):format(secret))
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

  describe("processes", function()
    it("sees only its own", function()
      local code = [[
out["pids"] = sorted(int(n) for n in os.listdir("/proc") if n.isdigit())
out["me"] = os.getpid()
]]
      local result = inside(code)
      assert.same({ 1, result.me }, result.pids)
      assert.is_true(#outside(code).pids > 2)
    end)

    it("can neither signal, trace nor read the init or the host", function()
      local pid = world.read("/proc/self/stat"):match("^%d+")
      local code = ([[
import ctypes
host = %s
for name, p in (("init", 1), ("host", host)):
    out[name + " ptrace"] = call(number(101, 117), 16, p, 0, 0)
    out[name + " read"] = call(number(310, 270), p, 0, 0, 0, 0, 0)
    out[name + " write"] = call(number(311, 271), p, 0, 0, 0, 0, 0)
    out[name + " pidfd_getfd"] = call(438, p, 0, 0)
    out[name + " kcmp"] = call(number(312, 272), p, p, 0, 0, 0)
out["traceme"] = child(lambda: os._exit(1 if call(number(101, 117), 0, 0, 0, 0) == "EPERM" else 0))
out["host kill"] = done(os.kill, host, 0)
out["host pidfd"] = done(os.pidfd_open, host)
out["init kill"] = done(os.kill, 1, 9)
out["init term"] = done(os.kill, 1, 15)
out["child kill"] = child(lambda: os.kill(os.getpid(), 9))
]]):format(pid)
      local result = inside(code)
      assert.same({
        ["init ptrace"] = "EPERM", ["host ptrace"] = "EPERM", ["init read"] = "EPERM", ["host read"] = "EPERM",
        ["init write"] = "EPERM", ["host write"] = "EPERM", ["init pidfd_getfd"] = "EPERM",
        ["host pidfd_getfd"] = "EPERM", ["init kcmp"] = "EPERM", ["host kcmp"] = "EPERM", traceme = 1,
        ["host kill"] = "ESRCH", ["host pidfd"] = "ESRCH",
        -- without Landlock's scopes the kernel takes a signal to a namespace's first process and drops it: the answer
        -- came after it
        ["init kill"] = scoped() and "EPERM" or "done", ["init term"] = scoped() and "EPERM" or "done",
        ["child kill"] = -9,
      }, result)
      local here = outside(("out['kill'] = done(os.kill, %s, 0)\n"):format(pid) ..
        "out['traceme'] = child(lambda: os._exit(1 if call(number(101, 117), 0, 0, 0, 0) == 'EPERM' else 0))")
      assert.same({ kill = "done", traceme = 0 }, here)
    end)

    it("leaves none behind", function()
      local token = "left-" .. tostring(w.dir):gsub("%W", "")
      local fifo = w.dir .. "/fifo"
      os.execute(("mkfifo %s; sh -c 'read x <%s' %s &"):format(quote(fifo), quote(fifo), token))
      assert.equal(1, #processes_with(token)) -- so the search finds one
      os.execute("echo >" .. quote(fifo))
      local result = inside([[
r, ready = os.pipe()
for n in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for s in range(1, 32):
                if s not in (9, 19): signal.signal(s, signal.SIG_IGN)
            os.write(ready, b"x")
            while True: signal.pause()
        os._exit(0)
for n in range(3):
    os.read(r, 1)
    os.wait()
out["token"] = sys.argv[1]
out["alive"] = len([n for n in os.listdir("/proc") if n.isdigit()])
]], "pack", { token = token })
      assert.same({ token = token, alive = 5 }, result)
      assert.same({}, processes_with(token))
    end)

    it("has no terminal to type into", function()
      local code = [[
import fcntl, termios
c = b"x"
out["TIOCSTI"] = done(fcntl.ioctl, 0, termios.TIOCSTI, c)
out["TIOCLINUX"] = done(fcntl.ioctl, 0, 0x541C, b"\3" + b"\0" * 20)
out["high"] = "done" if libc.ioctl(0, ctypes.c_ulong(0x100005412), c) == 0 else errno.errorcode[ctypes.get_errno()]
out["size"] = done(fcntl.ioctl, 0, termios.TIOCGWINSZ, b"\0" * 8)
out["tty"] = done(os.open, "/dev/tty", os.O_RDWR)
out["ptmx"] = done(os.open, "/dev/ptmx", os.O_RDWR)
out["session"] = os.getsid(0) == os.getpid()
out["isatty"] = [os.isatty(n) for n in range(3)]
]]
      assert.same({ TIOCSTI = "EPERM", TIOCLINUX = "EPERM", high = "EPERM", size = "ENOTTY", tty = "ENOENT",
        ptmx = "ENOENT", session = true, isatty = { false, false, false } }, inside(code))
      local here = outside(code, "setsid -w")
      assert.same({ "ENOTTY", "done" }, { here.size, here.ptmx })
    end)
  end)

  describe("the kernel", function()
    it("gives no namespace, mount or device", function()
      assert.same({
        mount = "EPERM", remount = "EPERM", bind = "EPERM", umount = "EPERM", pivot = "EPERM", chroot = "EPERM",
        newuser = "EPERM", newns = "EPERM", newnet = "EPERM", newpid = "EPERM", newtime = "EPERM", clone = "EPERM",
        clone3 = "ENOSYS", setns = "EPERM", open_tree = "ENOSYS", fsopen = "ENOSYS", mount_setattr = "ENOSYS",
        null = "EPERM", disk = "EPERM", fifo = "done", files = "done",
      }, inside [[
def mount(*a): return "done" if libc.mount(*a) == 0 else errno.errorcode[ctypes.get_errno()]
def unshare(flag): return "done" if libc.unshare(flag) == 0 else errno.errorcode[ctypes.get_errno()]
out["mount"] = mount(b"none", b"/tmp", b"tmpfs", 0, None)
out["remount"] = mount(None, b"/pack", None, 32, None)
out["bind"] = mount(b"/tmp", b"/pack", None, 4096, None)
out["umount"] = call(number(166, 39), b"/tmp", 2)
out["pivot"] = call(number(155, 41), b"/tmp", b"/tmp")
out["chroot"] = done(os.chroot, "/tmp")
out["newuser"] = unshare(0x10000000)
out["newns"] = unshare(0x00020000)
out["newnet"] = unshare(0x40000000)
out["newpid"] = unshare(0x20000000)
out["newtime"] = unshare(0x80)
out["clone"] = call(number(56, 220), 0x10000000 | 17, 0, 0, 0, 0)
out["clone3"] = call(435, b"\0" * 64, 64)
out["setns"] = call(number(308, 268), os.open("/proc/self/ns/net", 0), 0)
out["open_tree"] = call(428, -100, b"/", 1)
out["fsopen"] = call(430, b"tmpfs", 0)
out["mount_setattr"] = call(442, -100, b"/pack", 0, b"\0" * 32, 32)
out["null"] = done(os.mknod, "/tmp/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
out["disk"] = done(os.mknod, "/tmp/disk", 0o666 | stat.S_IFBLK, os.makedev(8, 0))
out["fifo"] = done(os.mknod, "/tmp/fifo", 0o666 | stat.S_IFIFO)
out["files"] = unshare(0x400)
]])
    end)

    it("gives nothing of itself", function()
      assert.same({
        bpf = "EPERM", perf = "EPERM", userfaultfd = "EPERM", keyctl = "EPERM", syslog = "EPERM", module = "EPERM",
        kexec = "EPERM", io_uring = "ENOSYS", handle = "EPERM", personality = "EPERM", vmsplice = "EPERM",
        getrandom = "done",
      }, inside [[
out["bpf"] = call(number(321, 280), 0, 0, 0)
out["perf"] = call(number(298, 241), 0, 0, -1, -1, 0)
out["userfaultfd"] = call(number(323, 282), 0)
out["keyctl"] = call(number(250, 219), 0, 0, 0)
out["syslog"] = call(number(103, 116), 10, 0, 0)
out["module"] = call(number(313, 273), 0, 0, 0)
out["kexec"] = call(number(246, 104), 0, 0, 0, 0)
out["io_uring"] = call(425, 1, b"\0" * 120)
out["handle"] = call(number(304, 265), -100, 0, 0)
out["personality"] = call(number(135, 92), 0x0040000)
out["vmsplice"] = call(number(278, 75), 1, 0, 0, 0)
out["getrandom"] = call(number(318, 278), ctypes.create_string_buffer(8), 8, 0)
]])
    end)

    if io.popen("uname -m"):read("l") == "x86_64" then
      it("knows the call's number in no other convention", function()
        local code = [[
out["x32"] = child(lambda: call(0x40000000 | 39))
import mmap
def i386():
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    m.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid by int 0x80
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
out["i386"] = child(i386)
def x86_64():
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    m.write(b"\xb8\x27\x00\x00\x00\x0f\x05\xc3")  # the same by syscall
    if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))() != os.getpid():
        os._exit(1)
out["x86_64"] = child(x86_64)
]]
        local here = outside(code)
        assert.same({ 0, 0 }, { here.x32, here.x86_64 })
        -- a kernel without 32-bit calls kills such a program by itself
        assert.same({ x32 = -31, i386 = here.i386 == 0 and -31 or here.i386, x86_64 = 0 }, inside(code))
      end)
    end
  end)

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
      if as_root then
        assert.same({ 65534 }, result.ids)
      end
      for _, id in ipairs(result.ids) do assert.not_equal(0, id) end
      result.ids = nil
      local none = "0000000000000000"
      -- an ordinary user can't drop groups: the own one is mapped, others the kernel shows as nobody's
      local own = as_root and "65534" or select(2, world.sh("id -g")):match("%d+")
      for group in result.Groups:gmatch("%d+") do assert.is_true(group == "65534" or group == own, group) end
      result.Groups = nil
      assert.same({ NoNewPrivs = "1", Seccomp = "2", CapInh = none, CapPrm = none, CapEff = none, CapAmb = none,
        root = "EINVAL", other = "EINVAL", groups = "EPERM", same = "done", umask = 63 }, result)
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
out["id"] = subprocess.run(["/pack/bin/suid", "-u"], stdout=subprocess.PIPE).stdout.decode().strip()
]])
      end)
    end
  end)

  describe("what it inherits", function()
    it("is no descriptor", function()
      local code = [[
out["fds"] = [n for n in range(0, 64) if done(os.fstat, n) == "done"]
]]
      assert.same({ 0, 1, 2 }, inside(code, nil, nil, { before = launcher }).fds)
      local here = outside(code, launcher).fds
      for n = 0, 20 do assert.equal(n, here[n + 1]) end
    end)

    it("is no variable of the environment", function()
      local code = "out.update(os.environ)"
      local env = "TOP_SECRET=hunter2 LD_BIND_NOW=1 PYTHONPATH=/tmp BASH_ENV=/tmp/x HCP_PACK_ID=no"
      local result = inside(code, nil, nil, { env = env })
      assert.matches("^%w+$", result.HCP_RUN_ID)
      assert.matches("^u%w+:", result.HCP_PRINCIPAL)
      result.HCP_RUN_ID, result.HCP_PRINCIPAL = nil, nil
      assert.same({ PATH = "/usr/local/bin:/usr/bin:/bin", LANG = "C.UTF-8", HOME = "/tmp", HCP_SANDBOX = "sandbox",
        HCP_PACK_ID = "esc", HCP_VERB_KEY = "pack", HCP_TENANT = "default", HCP_PACK_ROOT = "/pack",
        HCP_WORKSPACE = "/pack" }, result)
      assert.equal("hunter2", outside(code, "env " .. env).TOP_SECRET)
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

  describe("limits", function()
    it("dumps no core, whatever the host allows", function()
      local result = inside([[
import resource
out["core"] = list(resource.getrlimit(resource.RLIMIT_CORE))
try:
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    out["raise"] = "done"
except ValueError:
    out["raise"] = "refused"
pid = os.fork()
if pid == 0: os.abort()
status = os.waitpid(pid, 0)[1]
out["signal"] = os.WTERMSIG(status)
out["dumped"] = os.WCOREDUMP(status)
]], nil, nil, { before = launcher })
      assert.same({ core = { 0, 0 }, raise = "refused", signal = 6, dumped = false }, result)
    end)

    it("holds a fork bomb", function()
      w:policy(grants("limits: { processes: 10 }"))
      local result = inside [[
n = 0
while n < 100:
    try:
        pid = os.fork()
    except OSError as e:
        out["error"] = errno.errorcode[e.errno]
        break
    if pid == 0:
        while True: signal.pause()
    n += 1
out["children"] = n
]]
      assert.same({ error = "EAGAIN", children = 9 }, result)
      w:policy(grants("limits: { processes: 20 }"))
      assert.equal(0, inside("out['code'] = max(child(lambda: None) for n in range(100))").code)
    end)

    it("holds memory", function()
      w:policy(grants("limits: { memory: 64M }"))
      assert.same({ big = "MemoryError", small = 8388608 }, inside [[
def take(n):
    try:
        return len(bytearray(n))
    except MemoryError:
        return "MemoryError"
out["big"] = take(256 << 20)
out["small"] = take(8 << 20)
]])
    end)

    it("holds the size of a file, and of /tmp, /dev/shm and the empty jail", function()
      w:policy(grants("limits: { file: 1M }"))
      local result = inside([[
def fill(dir, size):
    total, n = 0, 0
    while total < 64 << 20:
        with open("%s/%d" % (dir, n), "wb", buffering=0) as f:
            try:
                left = size
                while left > 0:
                    wrote = f.write(b"x" * min(left, 65536))
                    left -= wrote
                    total += wrote
            except OSError as e:
                return [errno.errorcode[e.errno], total <= 1 << 20]
        n += 1
    return ["never", False]
for d in ("/tmp", "/dev/shm", "/workspace"):
    os.mkdir(d + "/many"); os.mkdir(d + "/one")
    out[d] = fill(d + "/many", 65536)
    for n in os.listdir(d + "/many"): os.unlink(d + "/many/" + n)
    put(d + "/sound", b"x" * 65536)
    out[d + " file"] = os.stat(d + "/sound").st_size
    os.unlink(d + "/sound")
]], "empty")
      local full = { "ENOSPC", true }
      assert.same({ ["/tmp"] = full, ["/dev/shm"] = full, ["/workspace"] = full, ["/tmp file"] = 65536,
        ["/dev/shm file"] = 65536, ["/workspace file"] = 65536 }, result)
      -- one file in the kept jail, which is a folder of the host's
      result = inside([[
with open("/workspace/big", "wb", buffering=0) as f:
    try:
        while True: f.write(b"x" * 65536)
    except OSError as e:
        out["error"] = errno.errorcode[e.errno]
out["size"] = os.stat("/workspace/big").st_size
]], "kept")
      assert.same({ error = "EFBIG", size = 1048576 }, result)
    end)

    it("holds descriptors and can't be raised", function()
      w:policy(grants("limits: { open_files: 32 }"))
      assert.same({ open = { "EMFILE", 32 }, raise = "refused" }, inside [[
import resource
held = []
try:
    while True: held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as e:
    out["open"] = [errno.errorcode[e.errno], held[-1] + 1]
for fd in held: os.close(fd)
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    out["raise"] = "done"
except ValueError:
    out["raise"] = "refused"
]])
    end)
  end)

  describe("the network", function()
    local pid, port, name

    -- A server of the host's on TCP, an abstract socket and a path. It writes its port into a FIFO when it listens.
    before_each(function()
      name = "spec" .. w.dir:gsub("%W", "")
      os.execute("mkfifo " .. quote(w.dir .. "/ready"))
      world.write(w.dir .. "/server.py", [[
import os, select, socket, sys
dir, name = sys.argv[1:]
tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen(64)
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\0" + name); abstract.listen(64)
path = socket.socket(socket.AF_UNIX); path.bind(dir + "/socket"); path.listen(64)
with open(dir + "/ready", "w") as f: f.write("%d %d\n" % (os.getpid(), tcp.getsockname()[1]))
while True:
    for s in select.select([tcp, abstract, path], [], [])[0]:
        c = s.accept()[0]
        try: c.sendall(b"hello")
        except OSError: pass
        c.close()
]])
      os.execute(("exec 3>&- ; python3 %s %s %s >/dev/null 2>&1 &"):format(quote(w.dir .. "/server.py"), quote(w.dir),
        name))
      local ready = io.open(w.dir .. "/ready")
      pid, port = ready:read("l"):match("^(%d+) (%d+)$")
      ready:close()
    end)
    after_each(function() os.execute("kill " .. pid) end)

    local function attempts()
      return ([[
def hello(family, address):
    s = socket.socket(family)
    s.settimeout(5)
    s.connect(address)
    return s.recv(5).decode()
out["tcp"] = attempt(hello, socket.AF_INET, ("127.0.0.1", %s))
out["abstract"] = attempt(hello, socket.AF_UNIX, "\0%s")
out["path"] = attempt(hello, socket.AF_UNIX, "%s/socket")
]]):format(port, name, w.dir)
    end
    local closed = [[
out["metadata"] = done(lambda: socket.socket(socket.AF_INET).connect(("169.254.169.254", 80)))
for f in ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"):
    out[f] = done(socket.socket, getattr(socket, f), socket.SOCK_DGRAM if f != "AF_ALG" else socket.SOCK_SEQPACKET)
out["raw"] = done(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
out["interfaces"] = [l.split(":")[0].strip() for l in get("/proc/net/dev").split("\n")[2:] if l]
a, b = socket.socketpair()
a.send(b"x")
out["pair"] = b.recv(1).decode()
s = socket.socket(socket.AF_UNIX); s.bind("\0own"); s.listen(1)
c = socket.socket(socket.AF_UNIX)
out["own"] = done(c.connect, "\0own")
]]

    it("isn't there", function()
      assert.same({ tcp = "hello", abstract = "hello", path = "hello" }, outside(attempts()))
      assert.same({ tcp = "EAFNOSUPPORT", abstract = "ECONNREFUSED", path = "ENOENT" }, inside(attempts()))
      assert.same({ metadata = "EAFNOSUPPORT", AF_INET = "EAFNOSUPPORT", AF_INET6 = "EAFNOSUPPORT",
        AF_NETLINK = "EAFNOSUPPORT", AF_PACKET = "EAFNOSUPPORT", AF_VSOCK = "EAFNOSUPPORT", AF_ALG = "EAFNOSUPPORT",
        raw = "EAFNOSUPPORT", interfaces = { "lo" }, pair = "x", own = "done" }, inside(closed))
    end)

    it("is the host's where the operator says so, its sockets in files still not", function()
      w:policy(grants("network: host"))
      local result = inside(attempts())
      assert.same({ "hello", "ENOENT" }, { result.tcp, result.path })
      assert.equal(scoped() and "EPERM" or "hello", result.abstract)
    end)

    it("is one port where the operator names it", function()
      w:policy(grants("network: { connect: [1] }"))
      local envelope = envelope_of("pack", attempts())
      assert.equal("EACCES", envelope.result.tcp)
      w:policy(grants(("network: { connect: [%s] }"):format(port)))
      assert.equal("hello", inside(attempts()).tcp)
      assert.same({ udp = "EPROTONOSUPPORT", raw = "EPROTONOSUPPORT", mptcp = "EPROTONOSUPPORT" }, inside [[
out["udp"] = done(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
out["raw"] = done(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
out["mptcp"] = done(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 262)
]])
    end)
  end)

  describe("the workspace", function()
    local function plant()
      return inside(([[
os.symlink("/etc", "host")
os.symlink("../../../../../..%s", "up")
os.symlink(%q, "absolute")
os.symlink("/", "top")
os.symlink("loop", "loop")
os.mkdir("dir")
os.symlink("..", "dir/back")
os.symlink("dir/../note", "good")
put("note", b"a note")
out["pack"] = done(os.link, "/pack/pack.yaml", "hard")
out["system"] = done(os.link, "/etc/passwd", "hard")
out["proc"] = done(os.link, "/proc/self/environ", "hard")
out["own"] = done(os.link, "note", "hard")
for p in ("absolute", "up"):
    out[p] = attempt(get, p)
out["dir"] = os.getcwd()
]]):format(secret, secret), "kept")
    end

    it("keeps links that lead to nothing of the host's", function()
      assert.same({ pack = "EXDEV", system = "EXDEV", proc = "EXDEV", own = "done", absolute = "ENOENT", up = "ENOENT",
        dir = "/workspace" }, plant())
      local jail = w.state .. "/workspaces/default/-/esc"
      assert.equal("the secret\n", world.read(jail .. "/absolute")) -- seen from the host it is a link to the secret
    end)

    it("refuses a file that an earlier run's link leads out of the jail", function()
      plant()
      local escapes = { ok = false, pack_id = "esc", error = "sandbox: path escapes workspace" }
      for _, path in ipairs { "host/passwd", "host", "up", "absolute", "top", "top/etc/passwd", "loop", "../x",
        "dir/back/../host/passwd", "dir/back/back/../..", "./dir/../../x" } do
        for verb, value in pairs { file = path, path = "workspace:" .. path } do
          local envelope, status = envelope_of(verb, "out['ran'] = True", { file = value })
          escapes.verb_key = verb
          if path:match("^dir/back/") then
            -- `..` behind a link is resolved as text first: no way out by counting
            assert.is_true(envelope.error == nil or envelope.error == escapes.error)
          else
            assert.same(escapes, envelope, path)
            assert.equal(1, status)
          end
        end
      end
      for verb, value in pairs { file = "good", path = "workspace:good" } do
        assert.same({ text = "a note", arg = verb == "file" and "--file=/workspace/good" or "/workspace/good" },
          inside("out['arg'] = sys.argv[1]; out['text'] = get(sys.argv[1].split('=')[-1])", verb, { file = value }))
      end
    end)

    it("refuses the host's own paths, however they are written", function()
      for _, path in ipairs { "/etc/passwd", "/home/x", "/root", "/etc/../root/x", "//etc/passwd",
        "/tmp/../etc/passwd" } do
        for _, verb in ipairs { "file", "path" } do
          assert.equal("sandbox: host path not allowed", envelope_of(verb, "", { file = path }).error, path)
        end
      end
      -- any other path is what it is inside, where there is none of the host's
      assert.same({ arg = "--file=" .. secret, text = "ENOENT" },
        inside("out['arg'] = sys.argv[1]; out['text'] = attempt(get, sys.argv[1][7:])", "file", { file = secret }))
    end)

    it("opens no other run's and no other pack's", function()
      inside("put('mine', b'x')", "kept")
      w:pack("two", { ["pack.yaml"] = manifest:gsub("pack_id: esc", "pack_id: two"), ["policy.yaml"] = policy,
        ["bin/try"] = { program, "755" } })
      w:policy("grants: [ { principal: '*', capabilities: ['two.*'] } ]\npacks: { two: { bins: [./bin/try] } }\n",
        "two")
      w:activate("two")
      local list = "out['list'] = os.listdir('.')"
      local envelope = w:exec("two", "kept", { code = list })
      assert.equal("[]", cjson.encode(envelope.result.list):gsub("{}", "[]"))
      assert.same({ "mine" }, inside(list, "kept").list)
      assert.equal(0, #inside(list, "empty").list)
    end)

    it("that a run shut or swapped for a link stays a folder of hcp's", function()
      -- the mount can't be moved from inside, and what is in it can't stand for it
      assert.same({ rename = "EROFS", rmdir = "EROFS", chmod = "done" }, inside([[
out["rename"] = done(os.rename, "/workspace", "/elsewhere")
out["rmdir"] = done(os.rmdir, "/workspace")
out["chmod"] = done(os.chmod, "/workspace", 0o777)
]], "kept"))
      local jail = w.state .. "/workspaces/default/-/esc"
      os.execute(("rmdir %s && ln -s %s %s"):format(quote(jail), quote(w.dir), quote(jail)))
      assert.equal("sandbox: workspace: " .. jail .. " is a symbolic link: links are not followed here",
        envelope_of("kept", "put('marker')").error)
      assert.is_nil(world.read(w.dir .. "/marker"))
    end)
  end)
end)
