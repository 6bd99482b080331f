-- hcp workspace: a pack's kept jail from outside, with a capability of its own, on record, and no way out of it.
local world = require "world"
local cjson = require "cjson"
local quote = world.quote

local manifest = [[
hcp: 1
pack_id: box
version: 1.0.0
summary: A kept workspace
wrap: { bin: ./bin/box, workspace: { mode: workspace }, json_flag: [], stdin: "{{script}}" }
commands:
  sh: { summary: Runs a script of the spec's, cli: [box], effect: write }
]]

local function grants(capabilities)
  return ([[
grants:
  - { principal: "*", capabilities: [%s] }
packs:
  box: { bins: [./bin/box], sandbox: { limits: { workspace: 1M, timeout: 10s } } }
]]):format(capabilities)
end

describe("hcp workspace", function()
  local w, jail

  before_each(function()
    w = world.new()
    jail = w.state .. "/workspaces/default/-/box"
    w:pack("box", { ["pack.yaml"] = manifest, ["policy.yaml"] = "hcp: 1\npolicies: { sh: {} }\n",
      ["bin/box"] = { "#!/bin/sh\n. /dev/stdin\n", "755" } })
    w:policy(grants('"box.sh", "box.workspace"'))
    w:activate("box")
  end)
  after_each(function() w:close() end)

  local function sh(script)
    local envelope = w:exec("box", "sh", { script = script })
    assert.is_true(envelope.ok, envelope.error)
    return envelope.result
  end

  local function ask(words, stdin)
    local status, out, err = w:cli({ "workspace", table.unpack(words) }, { stdin = stdin })
    local ok, envelope = pcall(cjson.decode, out)
    return ok and envelope or nil, status, err, out
  end

  it("carries bytes in and out", function()
    local bytes = {}
    for i = 0, 255 do bytes[#bytes + 1] = string.char(i) end
    bytes = table.concat(bytes):rep(1000)
    assert.same({ bytes = #bytes }, ask({ "put", "box", "a file" }, bytes).result)
    assert.equal(#bytes, math.tointeger(sh("wc -c <'a file'")))
    sh("mkdir sub && cp 'a file' sub/copy")
    local _, status, err, out = ask { "get", "box", "sub/copy" }
    assert.equal(0, status)
    assert.equal("", err)
    assert.equal(bytes, out)
    local list = ask({ "ls", "box" }).result
    table.sort(list, function(a, b) return a.name < b.name end)
    assert.equal("a file", list[1].name)
    assert.equal("file", list[1].kind)
    assert.equal(#bytes, list[1].size)
    assert.equal("sub", list[2].name)
    assert.equal("folder", list[2].kind)
    assert.equal("copy", ask({ "ls", "box", "sub" }).result[1].name)
  end)

  it("puts what the program may then read and change, whoever comes first", function()
    assert.is_true(ask({ "put", "box", "in" }, "one\n").ok)
    assert.equal("one\ntwo\n", sh("echo two >>in; cat in"))
    assert.is_true(ask({ "put", "box", "in" }, "three\n").ok)
    assert.equal("three\n", sh("cat in"))
    assert.equal("in\n", (select(2, world.sh("ls -A " .. quote(jail)))))
  end)

  it("removes files, folders and all", function()
    sh("mkdir -p a/b/c && touch a/b/c/d e f")
    assert.is_true(ask({ "rm", "box", "a" }).ok)
    assert.is_true(ask({ "rm", "box", "e" }).ok)
    assert.equal("f\n", sh("ls -A"))
    assert.is_true(ask({ "rm", "box", "." }).ok)
    assert.equal("", sh("ls -A"))
    local envelope, status = ask { "rm", "box", "e" }
    assert.equal("e: No such file or directory", envelope.error)
    assert.equal(1, status)
  end)

  it("isn't led out of the jail", function()
    world.write(w.dir .. "/secret", "secret")
    sh("ln -s " .. quote(w.dir) .. " out; ln -s " .. quote(w.dir .. "/secret") .. " file; ln -s ../../../.. up; " ..
      "ln -s out/secret chain; mkdir d; ln -s /proc/self/root proc")
    for _, path in ipairs { "out/secret", "file", "up/audit/audit.jsonl", "chain", "../box/../../audit", "/etc/passwd",
      w.dir .. "/secret", "d/../../../../sessions", "proc/etc/passwd" } do
      local _, status, err, out = ask { "get", "box", path }
      assert.equal(1, status, path)
      assert.equal("", out, path)
      assert.matches("^hcp: sandbox: path escapes workspace\n", err, path)
    end
    for _, path in ipairs { "out/new", "up/new", "../new", "/tmp/new", "..", "d/.." } do
      local envelope, status = ask({ "put", "box", path }, "x")
      assert.equal(1, status, path)
      assert.equal("sandbox: path escapes workspace", envelope.error, path)
    end
    for _, path in ipairs { ".", "", "d/", "d/." } do
      local envelope, status = ask({ "put", "box", path }, "x")
      assert.same({ 1, path .. ": names no file" }, { status, envelope.error })
    end
    assert.is_nil(world.read(w.dir .. "/new"))
    for _, path in ipairs { "out/secret", "up/audit", "../box", "/" } do
      local envelope = ask { "rm", "box", path }
      assert.is_false(envelope.ok)
    end
    assert.equal("sandbox: path escapes workspace", ask({ "ls", "box", "out" }).error)
    -- a link itself is a thing of the jail: it may be replaced and removed, what it leads to stays
    assert.is_true(ask({ "put", "box", "file" }, "mine").ok)
    assert.is_true(ask({ "rm", "box", "out" }).ok)
    assert.equal("secret", world.read(w.dir .. "/secret"))
  end)

  it("fetches nothing but regular files, and never waits for one", function()
    sh("mkfifo pipe; mkdir dir; exit 0")
    for _, name in ipairs { "pipe", "dir" } do
      local _, status, err, out = ask { "get", "box", name }
      assert.equal(1, status)
      assert.equal("", out)
      assert.equal(("hcp: %s is not a regular file\n"):format(name), err)
    end
  end)

  it("keeps to the workspace's limit and leaves nothing of what didn't fit", function()
    local envelope = ask({ "put", "box", "big" }, ("x"):rep(1024 * 1024 + 1))
    assert.equal("sandbox: workspace over 1M", envelope.error)
    assert.equal("", sh("ls -A"))
  end)

  it("needs its own capability, and the pack on the session", function()
    w:policy(grants('"box.sh"'))
    for _, words in ipairs { { "ls", "box" }, { "get", "box", "x" }, { "put", "box", "x" }, { "rm", "box", "x" } } do
      local envelope, status, err = ask(words, "x")
      assert.equal(126, status)
      local why = "denied: missing box.workspace for box.workspace " .. words[1]
      assert.equal(why, envelope and envelope.error or err:match("^hcp: ([^\n]*)"))
    end
    w:policy(grants('"box.*"'))
    assert.is_true(ask({ "ls", "box" }).ok)
    w:cli { "deactivate", "box" }
    assert.equal("pack box not activated", ask({ "ls", "box" }).error)
    assert.equal("unknown pack nope", ask({ "ls", "nope" }).error)
  end)

  it("is on record, with the path", function()
    ask({ "put", "box", "in/../in" }, "x")
    ask({ "put", "box", "in" }, "x")
    local records = w:audit()
    local begin, last = records[#records - 1], records[#records]
    assert.equal("begin", begin.kind)
    assert.equal("workspace put", begin.verb)
    assert.same({ path = "in" }, begin.args)
    assert.equal("end", last.kind)
    assert.is_nil(last.error)
  end)

  it("tells wrong usage", function()
    for _, words in ipairs { {}, { "ls" }, { "get", "box" }, { "put", "box" }, { "rm", "box" }, { "mv", "box", "x" },
      { "ls", "box", "x", "y" } } do
      local _, status, err, out = ask(words)
      assert.equal(2, status)
      assert.equal("", out)
      assert.matches("usage: hcp workspace", err)
    end
  end)
end)
