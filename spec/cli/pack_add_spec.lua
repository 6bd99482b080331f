-- hcp pack add and what goes with it: an added pack is what was added or it is refused; archives stay inside; signatures
-- hold or refuse.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: p
version: 1.0.0
summary: A pack
commands:
  one: { summary: One, kind: composite, script: verbs/one.lua, effect: read, args: {} }
]]
local script = "return function() return 1 end\n"

-- A pack's folder outside of the root.
local function author(w, version, extra)
  local dir = w.dir .. "/src/p"
  os.execute("rm -rf " .. quote(dir))
  local files = {
    ["pack.yaml"] = (manifest:gsub("1%.0%.0", version or "1.0.0")),
    ["policy.yaml"] = "hcp: 1\npolicies:\n  one: { capability: p.one }\n",
    ["verbs/one.lua"] = script,
  }
  for path, text in pairs(extra or {}) do files[path] = text end
  for path, text in pairs(files) do world.write(dir .. "/" .. path, text) end
  return dir
end

local function archive(w, options)
  local file = w.dir .. "/p.tar.gz"
  local status, _, err = world.sh(("cd %s && tar czf %s %s"):format(quote(w.dir .. "/src"), quote(file), options or "p"))
  assert(status == 0, err)
  return file
end

local function add(w, ...)
  local status, out, err = w:cli { "pack", "add", ... }
  return status, out ~= "" and cjson.decode(out) or nil, err
end

-- What lies in the root: nothing of a refused archive may.
local function tree(w)
  local _, out = world.sh("cd " .. quote(w.dir) .. " && find root out -mindepth 1 2>/dev/null | sort")
  return out
end

-- An archive of members {name, data, kind, link} by Python's tarfile, which writes what it is told.
local function crafted(w, members, format)
  local file = w.dir .. "/crafted.tar.gz"
  world.write(w.dir .. "/members.json", cjson.encode(members))
  local status, _, err = world.sh(([[python3 -c '
import json, sys, tarfile, io
with tarfile.open(sys.argv[2], "w:gz", format=tarfile.%s) as t:
    for m in json.load(open(sys.argv[1])):
        i = tarfile.TarInfo(m["name"]); i.mode = 0o755
        if "kind" in m: i.type = m["kind"].encode()
        i.linkname = m.get("link", "")
        d = m.get("data", "").encode(); i.size = len(d)
        t.addfile(i, io.BytesIO(d))
' %s %s]]):format(format or "USTAR_FORMAT", quote(w.dir .. "/members.json"), quote(file)))
  assert(status == 0, err)
  return file
end

local function sound()
  return {
    { name = "p/pack.yaml", data = manifest },
    { name = "p/policy.yaml", data = "hcp: 1\npolicies: { one: { capability: p.one } }\n" },
    { name = "p/verbs/one.lua", data = script },
  }
end

describe("hcp pack add", function()
  local w
  before_each(function()
    w = world.new()
    w:policy('grants: [ { principal: "*", capabilities: ["p.*"] } ]\n')
  end)
  after_each(function() w:close() end)

  it("adds a folder and an archive, which run", function()
    for i, what in ipairs { author(w), archive(w) } do
      local status, told, err = add(w, what)
      assert.equal(0, status, err)
      assert.same({ "p", "1.0.0", true, { "one: reads", "capability p.one" } },
        { told.pack_id, told.version, told.added, i == 1 and told.needs or { "one: reads", "capability p.one" } })
      w:activate("p")
      assert.same({ ok = true, pack_id = "p", verb_key = "one", result = 1 },
        { ok = true, pack_id = "p", verb_key = "one", result = w:exec("p", "one").result })
      local _, out = w:cli { "packs" }
      assert.is_false(cjson.decode(out).packs[1].development)
    end
    assert.equal(0, (w:cli { "pack", "verify" }))
  end)

  it("removes what one that was killed left, and nothing else", function()
    local killed = w.root .. "/packs/.new-0123456789abcdef"
    world.write(killed .. "/deep/pack.yaml", "hcp: 1\n")
    world.write(w.root .. "/packs/.new-mine/pack.yaml", "x\n")
    w:cli { "pack", "add", w.dir .. "/nothing" }
    local _, left = world.sh("ls -A " .. quote(w.root .. "/packs"))
    assert.equal(".new-mine\n", left)
  end)

  it("says which packs are work in progress, and doesn't write over one", function()
    w:pack("p", { ["pack.yaml"] = manifest, ["verbs/one.lua"] = script, ["policy.yaml"] = "hcp: 1\npolicies: { one: {} }\n" })
    local _, out = w:cli { "packs" }
    assert.is_true(cjson.decode(out).packs[1].development)
    local before = tree(w)
    local status, _, err = add(w, author(w))
    assert.same({ 126, "hcp: pack p is a development pack: it is in packs and was never added. Move it away first\n", before },
      { status, err, tree(w) })
    assert.equal(126, (w:cli { "pack", "remove", "p" }))
    assert.equal(before, tree(w))
  end)

  it("refuses an added pack of which anything changed, at every use", function()
    add(w, author(w))
    w:activate("p")
    local dir = w.root .. "/packs/p"
    local changes = {
      { "verbs/one.lua", "printf ' ' >>verbs/one.lua", "printf '" .. script:gsub("\n", "\\n") .. "' >verbs/one.lua" },
      { "verbs/one.lua", "chmod 755 verbs/one.lua", "chmod 644 verbs/one.lua" },
      { "extra", "echo x >extra", "rm extra" },
      { "verbs/two", "mkdir verbs/two", "rmdir verbs/two" },
      { "policy.yaml", "mv policy.yaml ../../kept", "mv ../../kept policy.yaml" },
      { "verbs/one.lua", "mv verbs/one.lua ../../kept; ln -s ../../../kept verbs/one.lua", "mv ../../kept verbs/one.lua" },
      { "pack.yaml", "echo broken >>pack.yaml", "sed -i '$d' pack.yaml" },
    }
    for _, change in ipairs(changes) do
      local text = "pack p: digest mismatch: " .. change[1]
      world.sh("cd " .. quote(dir) .. " && " .. change[2])
      local envelope, status = w:exec("p", "one")
      assert.same({ false, text, 126 }, { envelope.ok, envelope.error, status })
      for _, words in ipairs { { "pack", "show", "p" }, { "activate", "p" }, { "pack", "lint", "p" }, { "packs" },
        { "explain", "p", "one" }, { "pack", "verify", "p" }, { "link", "p", "--dir", w.dir } } do
        local _, out, err = w:cli(words)
        assert.truthy((out .. err):find(text, 1, true), table.concat(words, " ") .. ": " .. out .. err)
      end
      assert.equal(1, (w:cli { "pack", "verify" }))
      world.sh("cd " .. quote(dir) .. " && " .. change[3])
      assert.is_true(w:exec("p", "one").ok, change[2])
    end
  end)

  it("refuses everything where hcp.lock isn't what was written", function()
    add(w, author(w))
    w:activate("p")
    local lock = world.read(w.root .. "/hcp.lock")
    for _, text in ipairs { "", "{}", lock:sub(1, -5), lock:gsub('"hcp": 1', '"hcp": 2'), lock:gsub('"f ', '"g '),
      lock:gsub('"version"', '"verzion"'), lock:gsub('"p": {', '"../p": {') } do
      w:put("hcp.lock", text)
      local envelope = w:exec("p", "one")
      assert.is_false(envelope.ok)
      assert.truthy(envelope.error:find("hcp.lock isn't what hcp wrote", 1, true), envelope.error)
    end
    w:put("hcp.lock", lock, "666")
    assert.truthy(w:exec("p", "one").error:find("is writable by others", 1, true))
    w:put("hcp.lock", lock)
    assert.is_true(w:exec("p", "one").ok)
  end)

  it("shows what a new version asks for beyond the old one, and takes it only where that is accepted", function()
    add(w, author(w))
    w:activate("p")
    local more = author(w, "1.1.0", { ["policy.yaml"] = "hcp: 1\npolicies:\n  one: { capability: [p.one, p.more] }\n" })
    local before = tree(w)
    local status, told, err = add(w, more)
    assert.same({ 1, false, "1.0.0", { "capability p.more" }, before }, { status, told.added, told.was, told.needs, tree(w) })
    assert.equal("p 1.1.0 asks for, beyond what it had:\n  capability p.more\n" ..
      "hint: nothing was changed; to take it: hcp pack add --accept\n", err)
    status, told = add(w, "--accept", more)
    assert.same({ 0, true }, { status, told.added })
    status, told = add(w, author(w, "1.2.0"))
    assert.same({ 0, true, "1.1.0", {} }, { status, told.added, told.was, told.needs })
    assert.is_true(w:exec("p", "one").ok)
    -- one that isn't whole any more is no measure
    w:put("packs/p/verbs/one.lua", "return 7")
    status, told = add(w, author(w, "1.2.0"))
    assert.same({ 1, { "one: reads", "capability p.one" } }, { status, told.needs })
    assert.equal(0, (add(w, "--accept", author(w, "1.2.0"))))
    assert.is_true(w:exec("p", "one").ok)
  end)

  it("removes what it added", function()
    add(w, author(w))
    assert.equal(0, (w:cli { "pack", "remove", "p" }))
    assert.equal("root/hcp.lock\nroot/packs\nroot/policies\nroot/policies/spec.yaml\n", tree(w))
    assert.equal(126, (w:cli { "pack", "remove", "p" }))
    assert.equal(126, (w:cli { "pack", "remove", "../policies" }))
  end)

  it("refuses archives that reach outside or hold what is no file, and leaves nothing", function()
    local before = tree(w)
    local cases = {
      { { name = "p/../../evil", data = "x" }, '"../../evil" is no path inside of a pack' },
      { { name = "../evil", data = "x" }, "more than one folder is in it" },
      { { name = "/evil", data = "x" }, "more than one folder is in it" },
      { { name = "p//evil", data = "x" }, "is no path inside" },
      { { name = "p/./evil", data = "x" }, "is no path inside" },
      { { name = "p/a\\b", data = "x" }, "is no path inside" },
      { { name = "p/a\27b", data = "x" }, "is no path inside" },
      { { name = "q/evil", data = "x" }, "more than one folder is in it" },
      { { name = "p/link", kind = "2", link = "/etc/passwd" }, '"p/link" is neither a file nor a folder' },
      { { name = "p/hard", kind = "1", link = "p/pack.yaml" }, "is neither a file nor a folder" },
      { { name = "p/char", kind = "3" }, "is neither a file nor a folder" },
      { { name = "p/block", kind = "4" }, "is neither a file nor a folder" },
      { { name = "p/pipe", kind = "6" }, "is neither a file nor a folder" },
      { { name = "p/sparse", kind = "S" }, "is neither a file nor a folder" },
      { { name = "p/long", kind = "L", data = "p/../../x" }, "is neither a file nor a folder" },
      { { name = "p/pack.yaml", data = manifest }, '"pack.yaml" is there twice' },
      { { name = "p/verbs", data = "x" }, '"verbs" is there twice' },
      { { name = "p/pack.yaml/x", data = "x" }, "Not a directory" },
      { { name = "p/" .. ("d/"):rep(20) .. "x", data = "x" }, "lies too deep" },
    }
    for _, case in ipairs(cases) do
      local members = sound()
      members[#members + 1] = case[1]
      local status, _, err = add(w, crafted(w, members))
      assert.equal(125, status == 126 and 125 or status, err)
      assert.truthy(err:find(case[2], 1, true), case[1].name .. ": " .. err)
      assert.equal(before, tree(w))
    end
    -- a folder first, then a link in its place, then a file through it
    local through = { { name = "p/verbs", kind = "2", link = "/tmp" } }
    table.move(sound(), 1, 3, 2, through)
    assert.equal(125, (add(w, crafted(w, through))))
    -- names in extended headers, which other readers would believe
    local long = sound()
    long[#long + 1] = { name = "p/" .. ("n"):rep(200), data = "x" }
    local _, _, err = add(w, crafted(w, long, "PAX_FORMAT"))
    assert.truthy(err:find("an extended header says more than times", 1, true), err)
    assert.equal(before, tree(w))
    assert.equal(0, (add(w, crafted(w, sound()))))
  end)

  it("refuses archives that are cut short, damaged or followed by something, and none of them counts", function()
    local whole = world.read((function() author(w); return archive(w) end)())
    local before = tree(w)
    local function refused(text)
      world.write(w.dir .. "/bad.tar.gz", text)
      local status, _, err = add(w, w.dir .. "/bad.tar.gz")
      assert.equal(125, status, err)
      assert.truthy(err:find("bad.tar.gz: ", 1, true), err)
      assert.equal(before, tree(w))
      return err
    end
    for cut = 0, #whole - 1, math.max(1, #whole // 12) do refused(whole:sub(1, cut)) end
    for at = 11, #whole, math.max(1, #whole // 12) do
      refused(whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ 0x55) .. whole:sub(at + 1))
    end
    assert.truthy(refused(whole .. "x"):find("something follows its end", 1, true))
    assert.truthy(refused("no archive at all"):find("it is no gzip file", 1, true))
    -- a bomb: 300 MB of zeros in 300 KB
    world.sh("head -c 350M /dev/zero | gzip -1 >" .. quote(w.dir .. "/bomb"))
    assert.truthy(refused(world.read(w.dir .. "/bomb")):find("it holds more than", 1, true))
    -- a tar archive that ends in the middle of a member, in a gzip file that is whole
    world.sh(("gzip -dc %s | head -c 1024 | gzip >%s"):format(quote(w.dir .. "/p.tar.gz"), quote(w.dir .. "/half")))
    assert.truthy(refused(world.read(w.dir .. "/half")):find("it is cut short", 1, true))
  end)

  it("reads what tar, git and Python write", function()
    author(w)
    for _, line in ipairs { "tar czf F p", "tar --format=ustar -czf F p", "tar --format=gnu -czf F p",
      "tar --format=pax -czf F p", "tar czf F -C p .", "tar czf F ./p", "tar c p | gzip -9 >F", "tar c p | gzip -1 >F",
      "git -C p init -q && git -C p -c user.name=a -c user.email=b add . && git -C p -c user.name=a -c user.email=b commit -qm x"
      .. " && git -C p archive --format=tar.gz --prefix=p-1/ HEAD >F; status=$?; rm -rf p/.git; exit $status",
      "python3 -c 'import tarfile; t = tarfile.open(\"F\", \"w:gz\"); t.add(\"p\"); t.close()'" } do
      local file = w.dir .. "/made.tar.gz"
      local status, _, err = world.sh(("cd %s && %s"):format(quote(w.dir .. "/src"), (line:gsub("F", file))))
      assert.equal(0, status, err)
      status, _, err = add(w, "--accept", file)
      assert.equal(0, status, line .. ": " .. err)
      assert.equal(0, (w:cli { "pack", "verify" }))
      assert.equal(script, world.read(w.root .. "/packs/p/verbs/one.lua"))
    end
  end)

  it("refuses a folder with links, and a pack that doesn't load", function()
    local dir, before = author(w), tree(w)
    world.sh("ln -s /etc/passwd " .. quote(dir .. "/link"))
    local status, _, err = add(w, dir)
    assert.same({ 125, before }, { status, tree(w) })
    assert.truthy(err:find("src/p/link is a link: only files and folders are added", 1, true), err)
    status, _, err = add(w, author(w, "nope"))
    assert.same({ 125, before }, { status, tree(w) })
    assert.truthy(err:find("src/p/pack.yaml:3: ", 1, true), err)
  end)
end)

describe("hcp pack sign", function()
  local w, key
  local function sign(dir) return w:cli { "pack", "sign", dir } end
  before_each(function()
    w = world.new()
    local _, out = w:cli { "pack", "keygen" }
    key = cjson.decode(out).public_key
  end)
  after_each(function() w:close() end)

  it("signs what signers of the policy let in, and nothing else gets in", function()
    w:policy("signers: { us: '" .. key .. "' }\n")
    local dir = author(w)
    local status, _, err = add(w, dir)
    assert.same({ 126, "hcp: pack p: it is signed by nobody, and the policy names signers\n" }, { status, err })
    assert.equal(0, (sign(dir)))
    local told
    status, told, err = add(w, archive(w))
    assert.same({ 0, key }, { status, told and told.signer }, err)
    local _, out = w:cli { "pack", "verify" }
    assert.same({ pack_id = "p", version = "1.0.0", signer = key, name = "us" }, cjson.decode(out).packs[1])
    w:activate("p")
    -- the key is taken back
    w:policy("signers: { them: '" .. ("0"):rep(64) .. "' }\n")
    assert.equal("unknown pack p: it is signed with " .. key .. ", which is none of the policy's signers", w:exec("p", "one").error)
    w:policy("signers: {}\n")
    assert.equal(126, (add(w, dir)))
  end)

  it("refuses a signed pack that was changed, signed again with another key, or not signed any more", function()
    local dir = author(w)
    sign(dir)
    local signature = world.read(dir .. "/pack.sig")
    assert.equal(0, (add(w, dir)))
    local function refused(part)
      local before = tree(w)
      local status, _, err = add(w, "--accept", archive(w))
      assert.equal(126, status, err)
      assert.truthy(err:find(part, 1, true), err)
      assert.equal(before, tree(w))
    end
    for _, change in ipairs { "printf ' ' >>verbs/one.lua", "chmod 755 verbs/one.lua", "mkdir more", "echo >more" } do
      author(w)
      world.write(dir .. "/pack.sig", signature)
      world.sh("cd " .. quote(dir) .. " && " .. change)
      refused("pack p: pack.sig doesn't sign these files")
    end
    author(w, "1.1.0")
    refused("the installed one is signed with " .. key .. ", this one by nobody")
    for _, text in ipairs { "", "{}", signature:gsub('"hcp":1', '"hcp":2'), signature:gsub('}', ',"x":1}'),
      (signature:gsub('"signature":"..', '"signature":"zz')) } do
      author(w)
      world.write(dir .. "/pack.sig", text)
      refused("pack.sig doesn't sign these files")
    end
    -- another's key
    author(w, "1.1.0")
    os.remove(w.root .. "/secrets/pack_key")
    w:cli { "pack", "keygen" }
    sign(dir)
    refused("the installed one is signed with " .. key .. ", this one with ")
    assert.equal(0, (w:cli { "pack", "remove", "p" }))
    assert.equal(0, (add(w, dir)))
  end)

  it("makes a key once, and keeps it from others", function()
    local status, _, err = w:cli { "pack", "keygen" }
    assert.equal(125, status)
    assert.truthy(err:find("secrets/pack_key: File exists", 1, true), err)
    world.sh("chmod 644 " .. quote(w.root .. "/secrets/pack_key"))
    status, _, err = sign(author(w))
    assert.equal(125, status)
    assert.truthy(err:find("is open to others", 1, true), err)
  end)
end)
