-- hcp exec --in, --out, --keep: a caller's files in a jail that lives as long as the run.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

describe("files for an ephemeral workspace", function()
  local w, here
  setup(function()
    w = world.new()
    here = w.dir .. "/here"
    w:shell "sandbox: { tier: strong, limits: { workspace: 64K, file: 64K } }"
    local manifest = world.read(w.root .. "/packs/probe/pack.yaml")
    w:put("packs/probe/pack.yaml", manifest .. [[
  jail:
    summary: Runs it in a jail
    cli: [probe]
    wrap: { workspace: { mode: ephemeral } }
    args: { properties: { script: { type: string } } }
  lua: { summary: Runs nothing, kind: composite, script: verbs/x.lua, effect: read }
]])
    w:put("packs/probe/policy.yaml", "hcp: 1\npolicies: { run: {}, jail: {}, lua: {} }\n")
    w:put("packs/probe/verbs/x.lua", "return function() return 1 end\n")
    w:activate "probe"
  end)
  teardown(function() w:close() end)
  before_each(function() assert(os.execute(("rm -rf %s && mkdir %s"):format(quote(here), quote(here)))) end)

  local function jail(script, ...)
    local words = { "exec", "probe", "jail", ... }
    words[#words + 1] = "script=" .. script
    local status, out, err = w:cli(words, { before = "cd " .. quote(here) .. " &&" })
    return status, out ~= "" and cjson.decode(out), err
  end
  local function listing()
    local _, out = world.sh("ls -A " .. quote(here))
    return out
  end

  it("go in before the program and come out after it", function()
    world.write(here .. "/a b", "one")
    local status, envelope = jail([[ls; stat -c '%a' "a b" x; cat "a b" x >sum; mkdir d; echo deep >d/f]],
      "--in", "a b", "--in", here .. "/a b:x", "--out", "sum", "--out=d/f:got")
    assert.equal(0, status, envelope and envelope.error)
    assert.equal("a b\nx\n600\n600\n", envelope.result)
    assert.equal("oneone", world.read(here .. "/sum"))
    assert.equal("deep\n", world.read(here .. "/got"))
    assert.equal("a b\ngot\nsum\n", listing())
    local _, left = world.sh("ls -A " .. quote(w.state .. "/scratch"))
    assert.equal("", left)
  end)

  it("leave nothing behind where the run fails, and what was there as it was", function()
    world.write(here .. "/old", "old")
    local status, envelope = jail("echo new >old; exit 3", "--out", "old")
    assert.equal(3, status)
    assert.equal("exit 3", envelope.error)
    status, envelope = jail("true", "--out", "none:old")
    assert.equal(1, status)
    assert.equal("none: No such file or directory", envelope.error)
    assert.equal("old", world.read(here .. "/old"))
    assert.equal("old\n", listing())
  end)

  it("never lead out of the jail", function()
    for _, case in ipairs {
      { "ln -s /etc/passwd f", "f:got", "sandbox: path escapes workspace" },
      { "ln -s / d", "d/etc/passwd:got", "sandbox: path escapes workspace" },
      { "ln -s ../../../../../../../etc/passwd f", "f:got", "sandbox: path escapes workspace" },
      { "true", "../x:got", "sandbox: path escapes workspace" },
      { "true", "/etc/passwd:got", "sandbox: path escapes workspace" },
      { "ln -s /proc/self/root/etc/passwd f", "f:got", "sandbox: path escapes workspace" },
      { "mkfifo f", "f:got", "f is not a regular file" },
      { "mkdir f", "f:got", "f is not a regular file" },
    } do
      local script, out, message = table.unpack(case)
      local status, envelope = jail(script, "--out", out)
      assert.equal(1, status, out)
      assert.equal(message, envelope.error)
      assert.equal("", listing())
    end
    world.write(here .. "/a", "one")
    for _, name in ipairs { "..", ".", "" } do
      local status, envelope = jail("true", "--in", "a:" .. name)
      assert.equal(2, status, name)
      assert.is_false(envelope and true)
    end
  end)

  it("are bounded", function()
    world.write(here .. "/big", ("x"):rep(65537))
    world.write(here .. "/fits", ("x"):rep(40000))
    local status, envelope = jail("true", "--in", "big")
    assert.equal(1, status)
    assert.equal("sandbox: workspace over 64K", envelope.error)
    status, envelope = jail("true", "--in", "fits", "--in", "fits:more")
    assert.equal(1, status)
    assert.equal("sandbox: workspace over 64K", envelope.error)
    status, envelope = jail("head -c 40000 /dev/zero >a; head -c 40000 /dev/zero >b", "--out", "a")
    assert.equal(1, status)
    assert.equal("sandbox: workspace over 64K", envelope.error)
    status = jail("true", "--in", "nonesuch")
    assert.equal(2, status)
    status, envelope = jail("true", "--in", "fits", "--in", "fits")
    assert.equal(1, status)
    assert.equal("fits: File exists", envelope.error)
  end)

  it("are refused to every other command, before anything runs", function()
    world.write(here .. "/a", "one")
    for _, words in ipairs { { "run", "script=touch x" }, { "lua" } } do
      for _, option in ipairs { "--in=a", "--out=a", "--keep" } do
        local status, out = w:cli({ "exec", "probe", words[1], option, words[2] }, { before = "cd " .. quote(here) .. " &&" })
        assert.equal(126, status)
        assert.equal("invalid args: files go into an ephemeral workspace, and this command has none", cjson.decode(out).error)
      end
    end
    assert.equal("a\n", listing())
  end)

  it("stay with --keep where the run fails, and only there", function()
    world.write(here .. "/a", "one")
    local status, envelope, err = jail("echo trace >log; exit 4", "--keep", "--in", "a")
    assert.equal(4, status)
    assert.is_false(envelope.ok)
    local kept = err:match("hcp: warning: the workspace is kept: (%S+)\n")
    assert.equal(w.state .. "/kept/", kept:match("^(.*/)[^/]+$"))
    assert.equal("trace\n", world.read(kept .. "/log"))
    assert.equal("one", world.read(kept .. "/a"))
    status, envelope, err = jail("true", "--keep")
    assert.is_true(envelope.ok)
    assert.equal(0, status)
    assert.equal("", err)
    local _, all = world.sh("ls -A " .. quote(w.state .. "/kept"))
    assert.equal(kept:match("[^/]+$") .. "\n", all)
  end)
end)
