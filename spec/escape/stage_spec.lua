-- What a long-lived runtime keeps for its runs, and that no run leaves anything in it.
local cjson = require "cjson"
local jail = require "jail"
local world = require "world"
-- One runtime, many runs.
describe("a stage", function()
  local w, rt

  before_each(function()
    w = jail.open()
    w:put("hcp.yaml", "hcp: 1\naudit: { sync: os }\n")
    rt = require "hcp".open { root = w.root, state = w.state }
  end)
  after_each(function()
    rt:close()
    jail.close()
  end)

  local function inside(code, verb)
    local text, info = rt:exec(cjson.encode { pack_id = "esc", verb_key = verb or "pack", args = { code = code } })
    assert.is_true(info.ok, text)
    return cjson.decode(text).result
  end

  -- a proc that was there when the run's own came over it
  local function is_staged(verb)
    return inside([[out["n"] = sum(l.split()[4] == "/proc" for l in get("/proc/self/mountinfo").split("\n") if l)]], verb).n == 2
  end

  -- somebody else may mount something on this machine meanwhile
  local function eventually(f)
    for _ = 1, 20 do
      if f() then return end
    end
    error("it never did", 2)
  end

  it("serves all runs from the second on", function()
    assert.is_false(is_staged())
    assert.equal(0, jail.stages())
    eventually(function() return is_staged() and is_staged() and jail.stages() == 1 end)
    rt:close()
    assert.equal(0, jail.stages())
  end)

  it("holds for one kind of run", function()
    for _, verb in ipairs { "pack", "empty", "kept" } do assert.is_false(is_staged(verb)) end
    eventually(function() return is_staged("pack") and is_staged("empty") and is_staged("kept") and jail.stages() == 3 end)
  end)

  it("keeps nothing of a run for the next", function()
    for _ = 1, 3 do
      assert.same({ tmp = {}, shm = {}, ids = {}, one = "done" }, inside [[
out["one"] = done(put, "/tmp/left")
put("/dev/shm/left")
os.unlink("/tmp/left"), os.unlink("/dev/shm/left")
out["tmp"], out["shm"] = os.listdir("/tmp"), os.listdir("/dev/shm")
out["ids"] = [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 2]
put("/tmp/left"), put("/dev/shm/left")
]])
    end
    assert.same({ tmp = { "left" } }, inside [[put("/tmp/left"); out["tmp"] = os.listdir("/tmp")]])
    for _ = 1, 2 do assert.same({ list = {} }, inside([[out["list"] = os.listdir("."); put("left")]], "empty")) end
  end)

  it("lets nothing be changed that others see", function()
    inside "pass"
    local result = inside [[
for p in ("/", "/etc", "/dev", "/pack", "/etc/passwd", "/bin"):
    out[p] = done(os.chmod, p, 0o700)
    out["in " + p] = done(put, p + "/x")
out["host"] = done(socket.sethostname, "other")
out["umount"] = call(number(166, 39), ctypes.addressof(ctypes.create_string_buffer(b"/tmp")), 2)
out["net"] = done(os.open, "/proc/1/ns/net", os.O_RDONLY)
]]
    for what, got in pairs(result) do assert.not_equal("done", got, what) end
  end)

  it("shows a file that was replaced as it is now", function()
    local file = w.dir .. "/told"
    world.write(file, "old", "644")
    os.execute("chmod 711 " .. world.quote(w.dir))
    w:policy(jail.grants(("read: [%q]"):format(file)))
    rt:close()
    rt = require "hcp".open { root = w.root, state = w.state }
    local function told() return inside(("out['told'] = get(%q)"):format(file)).told end
    for _ = 1, 3 do assert.equal("old", told()) end
    world.write(file .. ".new", "new", "644")
    os.rename(file .. ".new", file)
    for _ = 1, 3 do assert.equal("new", told()) end
  end)

  it("lets no run reach another's abstract socket", function()
    w:pack("esc", {
      ["pack.yaml"] = jail.manifest .. [[
  side: { summary: s, cli: [x], wrap: { workspace: { mode: workspace } }, lock: none, effect: write }
  both: { summary: s, kind: composite, script: both.lua, effect: write }
]],
      ["policy.yaml"] = "hcp: 1\npolicies: { pack: {}, side: {}, both: {} }\n",
      ["bin/try"] = { jail.program, "755" },
      ["both.lua"] = [[return function(args, ctx)
        return ctx.exec_all { { "side", { code = args.one } }, { "side", { code = args.two } } }
      end]],
    })
    rt:close()
    rt = require "hcp".open { root = w.root, state = w.state }
    local wait = [[
import time
def wait(name):
    end = time.time() + 60
    while not os.path.exists(name) and time.time() < end: time.sleep(0.01)
    return os.path.exists(name)
]]
    local one = wait .. [[
s = socket.socket(socket.AF_UNIX)
s.bind("\0meet")
s.listen()
c = socket.socket(socket.AF_UNIX)
out["own"] = done(c.connect, "\0meet")
put("bound")
out["waited"] = wait("tried")
]]
    local two = wait .. [[
out["waited"] = wait("bound")
c = socket.socket(socket.AF_UNIX)
out["other"] = done(c.connect, "\0meet")
out["net"] = os.readlink("/proc/self/ns/net")
put("tried")
]]
    inside("pass", "side")
    inside("pass", "side")
    local scoped = jail.scoped()
    local text, info = rt:exec(cjson.encode { pack_id = "esc", verb_key = "both", args = { one = one, two = two } })
    assert.is_true(info.ok, text)
    local result = cjson.decode(text).result
    assert.same({ own = "done", waited = true }, result[1])
    -- from another network namespace there is nobody of that name
    assert.equal(scoped and "EPERM" or "ECONNREFUSED", result[2].other)
  end)

  if jail.as_root then
    it("goes when the host's mounts change", function()
      local folder = w.dir .. "/shown"
      os.execute(("chmod 711 %s; mkdir -m 755 %s"):format(world.quote(w.dir), world.quote(folder)))
      w:policy(jail.grants(("read: [%q]"):format(folder)))
      rt:close()
      rt = require "hcp".open { root = w.root, state = w.state }
      local function shown() return inside(("out['n'] = os.listdir(%q)"):format(folder)).n end
      for _ = 1, 2 do assert.same({}, shown()) end
      local ok = os.execute(("mount -t tmpfs -o mode=755 none %s && touch %s/there"):format(folder, folder))
      finally(function() os.execute("umount " .. world.quote(folder) .. " 2>/dev/null") end)
      assert.is_true(ok)
      for _ = 1, 2 do assert.same({ "there" }, shown()) end
      assert.is_true(os.execute("umount " .. world.quote(folder)))
      for _ = 1, 2 do assert.same({}, shown()) end
    end)
  end

  it("serves one tenant", function()
    w:put("policies/auth/named.lua", [[return function(request)
      return { id = "user:x", tenant = request.token:sub(-1) }
    end]])
    w:policy("auth: { provider: named }\n" .. jail.grants())
    rt:close()
    rt = require "hcp".open { root = w.root, state = w.state }
    local seen = {}
    local function run(tenant)
      local text, info = rt:exec(cjson.encode { pack_id = "esc", verb_key = "pack",
        args = { code = [[out["net"] = os.readlink("/proc/self/ns/net")]] } }, { token = tenant })
      assert.is_true(info.ok, text)
      local net = cjson.decode(text).result.net
      assert.is_true(seen[net] == nil or seen[net] == tenant)
      seen[net] = tenant
    end
    eventually(function()
      for _ = 1, 3 do run "tenant-a" run "tenant-b" end
      return jail.stages() == 2
    end)
  end)
end)
