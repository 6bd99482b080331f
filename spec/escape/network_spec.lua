-- Sockets and the network.
local jail = require "jail"
local world = require "world"

local inside, outside, grants, quote = jail.inside, jail.outside, jail.grants, world.quote

describe("the network of a sandbox", function()
  local w

  before_each(function() w = jail.open() end)
  after_each(jail.close)

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
    assert.equal(jail.scoped() and "EPERM" or "hello", result.abstract)
  end)

  it("is one port where the operator names it", function()
    w:policy(grants("network: { connect: [1] }"))
    local envelope = jail.envelope_of("pack", attempts())
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
