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

  it("reaches sockets in folders that the operator shows, and in no others", function()
    w:policy(grants(("read: [%q]"):format(w.dir .. "/shown")))
    os.execute(("mkdir -m 755 %s/shown; chmod 755 %s; ln %s/socket %s/shown/socket; chmod 666 %s/socket"):format(quote(w.dir),
      quote(w.dir), quote(w.dir), quote(w.dir), quote(w.dir)))
    local result = inside(attempts() .. ([[
out["shown"] = attempt(hello, socket.AF_UNIX, "%s/shown/socket")
]]):format(w.dir))
    assert.same({ "ENOENT", "hello" }, { result.path, result.shown }) -- read-only mounts don't stop it: docs/sandbox.md
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
    assert.same({ ["53"] = "ECONNREFUSED", ["54"] = "EACCES", options = "use-vc" }, inside [[
for p in (53, 54): out[p] = done(lambda: socket.socket().connect(("127.0.0.1", p)))
out["options"] = os.environ["RES_OPTIONS"]
]])
    assert.same({ udp = "EPROTONOSUPPORT", raw = "EPROTONOSUPPORT", mptcp = "EPROTONOSUPPORT" }, inside [[
out["udp"] = done(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
out["raw"] = done(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
out["mptcp"] = done(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 262)
]])
  end)

  if jail.as_root then
    it("of named ports finds names, over TCP", function()
      -- a network of the test's own in which a server answers on TCP's port 53 only
      world.write(w.dir .. "/resolv.conf", "nameserver 127.0.0.1\n")
      world.write(w.dir .. "/named.py", [[
import ctypes, fcntl, os, socket, struct, sys
s = socket.socket()
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
assert ctypes.CDLL(None).mount(sys.argv[1].encode(), b"/etc/resolv.conf", None, 4096, None) == 0
s.bind(("127.0.0.1", 53))
s.listen()
if os.fork():
    os.execv(sys.argv[2], sys.argv[2:])
os.dup2(os.open("/dev/null", os.O_RDWR), 1)
c = s.accept()[0]
q = c.recv(struct.unpack(">H", c.recv(2))[0])
r = q[:2] + struct.pack(">5H", 0x8180, 1, 1, 0, 0) + q[12:q.index(b"\0", 12) + 5]
r += struct.pack(">3HIH4B", 0xc00c, 1, 1, 60, 4, 192, 0, 2, 7)
c.sendall(struct.pack(">H", len(r)) + r)
]])
      local code = "out['a'] = sorted({a[4][0] for a in socket.getaddrinfo('name.example', 80, socket.AF_INET)})"
      local before = ("timeout 60 unshare -mn python3 %s %s"):format(quote(w.dir .. "/named.py"), quote(w.dir .. "/resolv.conf"))
      w:policy(grants("network: { connect: [443] }"))
      assert.same({ a = { "192.0.2.7" } }, inside(code, nil, nil, { before = before }))
    end)
  end
end)
