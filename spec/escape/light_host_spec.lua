-- Tier light has the host's own tree in front of it, and files that belong to the program's own user: neither rights nor
-- mounts keep it from them, Landlock alone does. Each attempt is made on the host first, where it works.
local jail = require "jail"
local world = require "world"

local quote = world.quote

describe("in tier light a file of the program's own user", function()
  local w, own, as_program

  local function fresh()
    world.sh(("rm -rf %s; mkdir -p %s/dir"):format(own, own))
    for _, name in ipairs { "read", "write", "append", "open", "creat", "odd", "truncate", "unlink", "rename", "move", "link", "exec",
      "chmod", "utime", "xattr" } do
      world.write(own .. "/" .. name, "#!/bin/sh\n", "755")
    end
    if jail.as_root then os.execute("chown -R 65534:65534 " .. own) end
  end

  before_each(function()
    w = jail.open()
    os.execute("chmod 711 " .. quote(w.dir))
    w:policy(jail.grants("tier: light, limits: { timeout: 2m, cpu: 1m }"))
    own = w.dir .. "/own"
    as_program = jail.as_root and "setpriv --reuid 65534 --regid 65534 --clear-groups " or ""
  end)
  after_each(jail.close)

  -- `here`: a folder that may be written
  local code = [[
os.chdir(%q)
here = %s
def opened(path, flags): os.close(os.open(path, flags))
def run(path):
    import subprocess
    subprocess.run([os.path.abspath(path)])
out["read"] = done(get, "read")
out["write"] = done(put, "write", b"x", os.O_WRONLY)
out["append"] = done(put, "append", b"x", os.O_WRONLY | os.O_APPEND)
out["open"] = done(opened, "open", os.O_RDONLY | os.O_TRUNC)
out["creat"] = "done" if libc.creat(b"creat", 0o600) >= 0 else errno.errorcode[ctypes.get_errno()]
out["odd"] = done(opened, "odd", 3 | os.O_TRUNC) # neither for reading nor for writing
out["truncate"] = done(os.truncate, "truncate", 0)
out["unlink"] = done(os.unlink, "unlink")
out["rename"] = done(os.rename, "rename", "renamed")
out["move"] = done(os.rename, "move", here + "/moved")
out["link"] = done(os.link, "link", here + "/linked")
out["exec"] = done(run, "exec")
out["new"] = done(put, "new")
out["mkdir"] = done(os.mkdir, "mkdir")
out["rmdir"] = done(os.rmdir, "dir")
out["symlink"] = done(os.symlink, "read", "symlink")
out["fifo"] = done(os.mkfifo, "fifo")
out["socket"] = done(os.mknod, "socket", 0o600 | stat.S_IFSOCK)
out["list"] = done(os.listdir, ".")
out["chmod"] = done(os.chmod, "chmod", 0o700)
out["utime"] = done(os.utime, "utime", (0, 0))
out["xattr"] = done(os.setxattr, "xattr", "user.spec", b"x")
]]

  it("can't be read, changed, removed or led out, and nothing can be made beside it", function()
    fresh()
    os.execute(("mkdir -m 777 %s; chmod 777 %s"):format(quote(w.dir .. "/free"), quote(w.dir .. "/free")))
    local bare = jail.outside(code:format(own, ("%q"):format(w.dir .. "/free")), as_program)
    local none = bare.xattr == "ENOTSUP" -- by this file system
    for name, answer in pairs(bare) do assert.equal(name == "xattr" and none and "ENOTSUP" or "done", answer, name) end
    fresh()
    local before = select(2, world.sh(("cd %s && ls -A && cat *"):format(own)))
    local result = jail.inside(code:format(own, 'os.environ["HCP_WORKSPACE"]'), "kept")
    -- the kernel says EXDEV where a folder would give a file more rights than it has
    for _, name in ipairs { "move", "link" } do
      if result[name] == "EXDEV" then result[name] = "EACCES" end
    end
    local wanted = {}
    for name in pairs(bare) do wanted[name] = "EACCES" end
    -- SECURITY.md: Landlock knows nothing of these
    for _, name in ipairs { "chmod", "utime", "xattr" } do wanted[name] = bare[name] end
    assert.same(wanted, result)
    assert.equal(before, select(2, world.sh(("cd %s && ls -A && cat *"):format(own))))
    assert.equal("", select(2, world.sh("ls -A " .. quote(w.state .. "/workspaces/default/-/esc"))))
  end)

  it("isn't emptied by opening it for reading, where it may be read", function()
    -- of the pack and of the operator's read list
    local shown = w.dir .. "/shown"
    world.write(shown .. "/file", "kept", "644")
    if jail.as_root then os.execute(("chown -R 65534 %s"):format(shown)) end
    w:policy(jail.grants(("tier: light, read: [%q], limits: { timeout: 2m, cpu: 1m }"):format(shown)))
    assert.same({ read = "kept", open = "EACCES", odd = "EACCES", truncate = "EACCES", again = "kept" }, jail.inside(([[
os.chdir(%q)
out["read"] = get("file")
out["open"] = done(os.open, "file", os.O_RDONLY | os.O_TRUNC)
out["odd"] = done(os.open, "file", 3 | os.O_TRUNC)
out["truncate"] = done(os.truncate, "file", 0)
out["again"] = get("file")
]]):format(shown)))
    assert.equal("kept", world.read(shown .. "/file"))
  end)
end)
