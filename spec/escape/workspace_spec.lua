-- The workspace: the one folder of the host that a program writes.
local cjson = require "cjson"
local jail = require "jail"
local live = require "live"
local world = require "world"

local inside, quote = jail.inside, world.quote

describe("the workspace of a sandbox", function()
  local w

  before_each(function() w = jail.open() end)
  after_each(jail.close)

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
]]):format(jail.secret, jail.secret), "kept")
  end

  it("keeps links that lead to nothing of the host's", function()
    assert.same({ pack = "EXDEV", system = "EXDEV", proc = "EXDEV", own = "done", absolute = "ENOENT", up = "ENOENT",
      dir = "/workspace" }, plant())
    local folder = w.state .. "/workspaces/default/-/esc"
    assert.equal("the secret\n", world.read(folder .. "/absolute")) -- seen from the host it is a link to the secret
  end)

  it("refuses a file that an earlier run's link leads out of the jail", function()
    plant()
    local escapes = { ok = false, pack_id = "esc", error = "sandbox: path escapes workspace" }
    for _, path in ipairs { "host/passwd", "host", "up", "absolute", "top", "top/etc/passwd", "loop", "../x",
      "dir/back/../host/passwd", "dir/back/back/../..", "./dir/../../x" } do
      for verb, value in pairs { file = path, path = "workspace:" .. path } do
        local envelope, status = jail.envelope_of(verb, "out['ran'] = True", { file = value })
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
        assert.equal("sandbox: host path not allowed", jail.envelope_of(verb, "", { file = path }).error, path)
      end
    end
    -- any other path is what it is inside, where there is none of the host's
    assert.same({ arg = "--file=" .. jail.secret, text = "ENOENT" },
      inside("out['arg'] = sys.argv[1]; out['text'] = attempt(get, sys.argv[1][7:])", "file", { file = jail.secret }))
  end)

  it("opens no other run's and no other pack's", function()
    inside("put('mine', b'x')", "kept")
    w:pack("two", { ["pack.yaml"] = jail.manifest:gsub("pack_id: esc", "pack_id: two"), ["policy.yaml"] = jail.pack_policy,
      ["bin/try"] = { jail.program, "755" } })
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
    local folder = w.state .. "/workspaces/default/-/esc"
    os.execute(("rmdir %s && ln -s %s %s"):format(quote(folder), quote(w.dir), quote(folder)))
    assert.equal("sandbox: workspace: " .. folder .. " is a symbolic link: links are not followed here",
      jail.envelope_of("kept", "put('marker')").error)
    assert.is_nil(world.read(w.dir .. "/marker"))
  end)

  it("is no place from which hcp runs or reads anything of its own", function()
    inside([[
for p in ("hcp.yaml", "pack.yaml", "policy.yaml"): put(p, b"nonsense: [")
put("cat", b"#!/bin/sh\n: >/workspace/ran\n")
os.chmod("cat", 0o755)
import subprocess
env = dict(os.environ, HOME="/workspace", GIT_CONFIG_NOSYSTEM="1")
subprocess.run(["git", "init", "-q", "."], env=env, check=True)
for h in ("post-checkout", "pre-commit", "post-index-change"):
    put(".git/hooks/" + h, b"#!/bin/sh\n: >/workspace/ran\n"); os.chmod(".git/hooks/" + h, 0o755)
subprocess.run(["git", "config", "core.fsmonitor", "/workspace/cat"], env=env, check=True)
]], "kept")
    w:policy(jail.grants() .. "  other: { bins: [] }\n")
    w:policy("grants: [ { principal: '*', capabilities: ['esc.workspace'] } ]\n", "workspace")
    local folder = w.state .. "/workspaces/default/-/esc"
    for _, words in ipairs { { "ls", "esc" }, { "ls", "esc", ".git" }, { "get", "esc", "cat" }, { "put", "esc", "new" },
      { "rm", "esc", ".git/config" } } do
      local status, _, err = w:cli({ "workspace", table.unpack(words) }, { stdin = "x", before = "cd " .. quote(folder) .. " && " })
      assert.equal(0, status, err)
      assert.is_nil(world.read(folder .. "/ran"))
    end
    assert.is_nil(inside("out['list'] = 1", "kept").ran)
    assert.is_nil(world.read(folder .. "/ran"))
    local status, out = w:cli({ "--raw", "exec", "esc", "cat" }, { before = "cd " .. quote(folder) .. " && " })
    assert.same({ 0, nil }, { status, world.read(folder .. "/ran") }, out)
  end)

  it("can't be raced out of by links that come and go", function()
    inside("os.mkdir('dir'); put('dir/secret', b'own')", "kept")
    w:policy("grants: [ { principal: '*', capabilities: ['esc.workspace'] } ]\n", "workspace")
    local folder = w.state .. "/workspaces/default/-/esc"
    world.write(w.dir .. "/swap.py", [[
import ctypes, os, sys
os.chdir(sys.argv[1])
os.symlink(sys.argv[2], "link")
libc = ctypes.CDLL(None)
while os.path.exists("dir"):
    libc.renameat2(-100, b"dir", -100, b"link", 2)  # RENAME_EXCHANGE
]])
    os.execute(("python3 %s %s %s >/dev/null 2>&1 &"):format(quote(w.dir .. "/swap.py"), quote(folder), quote(w.dir)))
    live.wait_for(function() return world.sh("test -e " .. quote(folder .. "/link")) == 0 end)
    local seen = {}
    for _ = 1, 100 do
      local _, out = w:cli { "workspace", "get", "esc", "dir/secret" }
      assert.is_nil(out:find("the secret", 1, true))
      seen[out == "own" and "own" or "refused"] = true
      w:cli({ "workspace", "put", "esc", "dir/new" }, { stdin = "x" })
      assert.is_nil(world.read(w.dir .. "/new"))
    end
    world.sh("rm -rf " .. quote(folder .. "/dir") .. " " .. quote(folder .. "/link"))
    live.wait_for(function() return #live.find(w.dir .. "/swap.py") == 0 or world.sh("rm -rf " .. quote(folder .. "/dir")) ~= 0 end)
    assert.is_true(seen.own or seen.refused)
  end)
end)
