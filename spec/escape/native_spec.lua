-- native-local: no namespaces and no Landlock, all else stays. Root can't have it, an ordinary user gives a reason.
local jail = require "jail"
local live = require "live"
local world = require "world"

describe("mode native-local", function()
  local w

  before_each(function()
    w = jail.open()
    w:policy(jail.grants("mode: native-local, because: \"my own programs\""))
  end)
  after_each(jail.close)

  if jail.as_root then
    it("is refused as root", function()
      local envelope, status = jail.envelope_of("kept", "put('ran')")
      assert.same({ false, "sandbox: native-local unavailable: the runtime is root, and the program would be, too", 1 },
        { envelope.ok, envelope.error, status })
      assert.is_nil(world.read(w.state .. "/workspaces/default/-/esc/ran"))
    end)
    return
  end

  it("runs at the real places, says so, and puts the reason on record", function()
    local result = jail.inside([[
out["mode"] = os.environ["HCP_SANDBOX"]
out["pack"] = os.environ["HCP_PACK_ROOT"]
out["cwd"] = os.getcwd()
out["uid"] = os.getuid()
]], "kept")
    local folder = w.state .. "/workspaces/default/-/esc"
    assert.same({ mode = "native-local", pack = w.root .. "/packs/esc", cwd = folder,
      uid = tonumber((select(2, world.sh("id -u")))) }, result)
    local records = w:audit()
    local last = records[#records]
    assert.same({ "end", "native-local", "seccomp", "my own programs" }, { last.kind, last.tier, last.layers, last.because })
  end)

  it("keeps environment, descriptors, signals, privileges and limits as they are elsewhere", function()
    local result = jail.inside([[
import resource
out["env"] = sorted(os.environ)
out["fds"] = sorted(int(n) for n in os.listdir("/proc/self/fd") if done(os.fstat, int(n)) == "done")
s = dict(l.split(":\t", 1) for l in get("/proc/self/status").split("\n") if ":\t" in l)
out["status"] = [s[k] for k in ("NoNewPrivs", "Seccomp", "SigBlk", "CapEff")]
out["core"] = resource.getrlimit(resource.RLIMIT_CORE)[1]
out["files"] = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
out["session"] = os.getsid(0) == os.getpid()
out["inet"] = done(socket.socket, socket.AF_INET)
]], "pack", nil, { before = jail.launcher, env = "TOP_SECRET=hunter2" })
    local none = "0000000000000000"
    assert.same({ env = { "HCP_PACK_ID", "HCP_PACK_ROOT", "HCP_PRINCIPAL", "HCP_RUN_ID", "HCP_SANDBOX", "HCP_TENANT",
      "HCP_VERB_KEY", "HCP_WORKSPACE", "HOME", "LANG", "PATH", "TMPDIR" }, fds = { 0, 1, 2 },
      status = { "1", "2", none, none }, core = 0, files = 256, session = true, inet = "EAFNOSUPPORT" }, result)
  end)

  it("ends at its time-out, and with it what left its session", function()
    local mark = live.marker()
    w:policy(jail.grants("mode: native-local, because: \"my own\", limits: { timeout: 1s }"))
    local envelope = jail.envelope_of("pack", [[
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
for s in range(1, 32):
    if s not in (9, 19): signal.signal(s, signal.SIG_IGN)
while True: signal.pause()
]], { token = mark })
    assert.equal("sandbox: timeout after 1s", envelope.error)
    assert.same({}, live.find(mark))
  end)
end)
