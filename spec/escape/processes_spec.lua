-- Processes: what a sandboxed program can do to others, and what is left of it.
local jail = require "jail"
local world = require "world"

local inside, outside, quote = jail.inside, jail.outside, world.quote

describe("the processes of a sandbox", function()
  local w

  before_each(function() w = jail.open() end)
  after_each(jail.close)

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
      ["init kill"] = jail.scoped() and "EPERM" or "done", ["init term"] = jail.scoped() and "EPERM" or "done",
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
    assert.equal(1, #jail.processes_with(token)) -- so the search finds one
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
    assert.same({}, jail.processes_with(token))
  end)

  it("leaves no zombies to the init, however many lose their parents", function()
    -- more than may be at a time: each must be gone before the next ones come
    local result = inside [[
for n in range(300):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def states():
    for n in os.listdir("/proc"):
        if n.isdigit() and n not in ("1", str(os.getpid())):
            try: yield get("/proc/" + n + "/stat").split(") ")[1][0]
            except OSError: pass
while list(states()): pass
out["left"] = sorted(int(n) for n in os.listdir("/proc") if n.isdigit())
out["me"] = os.getpid()
]]
    assert.same({ 1, result.me }, result.left)
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
