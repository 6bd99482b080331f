-- Limits: what a sandboxed program may use up.
local jail = require "jail"
local world = require "world"

local inside, grants = jail.inside, jail.grants

describe("the limits of a sandbox", function()
  local w

  before_each(function() w = jail.open() end)
  after_each(jail.close)

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
]], nil, nil, { before = jail.launcher })
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

  it("holds one that nobody stops, and the host forks on", function()
    w:policy(grants("limits: { processes: 20, timeout: 2s }"))
    local envelope = jail.envelope_of("pack", [[
while True:
    try: os.fork()
    except OSError: pass
]], { token = "bomb" .. w.dir })
    assert.equal("sandbox: timeout after 2s", envelope.error)
    assert.same({}, jail.processes_with("bomb" .. w.dir))
    assert.equal("1\n", select(2, world.sh("echo $(sh -c 'echo 1 | cat')")))
  end)

  it("limits no address space, which language runtimes reserve by the gigabyte", function()
    assert.same({ space = { -1, -1 } }, inside [[
import resource
out["space"] = list(resource.getrlimit(resource.RLIMIT_AS))
]])
  end)

  it("shares /dev/shm and /tmp with no other run, and not with the host", function()
    inside [[put("/dev/shm/mine"); put("/tmp/mine")]]
    local result = inside [[out["shm"], out["tmp"] = len(os.listdir("/dev/shm")), len(os.listdir("/tmp"))]]
    assert.same({ shm = 0, tmp = 0 }, result)
    assert.is_nil(world.read("/dev/shm/mine"))
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
