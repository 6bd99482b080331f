-- Whatever is wrong with a file that decides: one message that names it, the same on every face, and nothing runs.
local cjson = require "cjson"
local demo = require "demo"
local hcp = require "hcp"
local world = require "world"

local quote = world.quote

local function output(line)
  local status, out = world.sh(line)
  assert(status == 0, line)
  return (out:gsub("\n$", ""))
end

local as_root = output("id -u") == "0"

-- A group named as the user, with nobody else in it, is the user's own; what it may write is the user's.
local function group_is_private()
  local user, group = output("id -un 2>/dev/null || id -u"), output("id -gn 2>/dev/null || id -g")
  local members = output("getent group " .. quote(group) .. " | cut -d: -f4; true")
  return user == group and not user:match("^%d+$") and (members == "" or members == user)
end

local function lines(text)
  return select(2, text:gsub("\n", "\n"))
end

describe("a configuration with a mistake", function()
  local w
  before_each(function()
    w = demo.world()
    w:put("hcp.yaml", "hcp: 1\ntenant: default\n")
  end)
  after_each(function() w:close() end)

  local function marker() return world.read(w.state .. "/workspaces/default/-/demo/marker") end

  -- Every face gives the same answer, and the program left no marker.
  local function refused(error, exit)
    local want = { ok = false, pack_id = "demo", verb_key = "mark", error = error }
    local envelope, status = w:exec("demo", "mark", { confirm = true })
    assert.same(want, envelope)
    assert.equal(exit, status)

    local out
    status, out = w:cli { "exec", "demo", "mark", "--", "confirm=true" }
    assert.same(want, cjson.decode(out))
    assert.equal(exit, status)

    local rt = hcp.open { root = w.root, state = w.state }
    local result = rt:exec [[{"pack_id":"demo","verb_key":"mark","args":{"confirm":true}}]]
    rt:close()
    assert.same(want, cjson.decode(result))
    assert.is_nil(marker())
  end

  local function runs()
    local envelope, status, stderr = w:exec("demo", "mark", { confirm = true })
    assert.same({ true, 0, "" }, { envelope.ok, status, stderr })
    assert.equal("", marker())
  end

  -- Where a file is, what it holds when it is sound, and how its mistakes begin and end a run.
  local function operator(path, text, typo, meant, what)
    return { path = path, text = text, exit = 125, typo = typo, meant = meant, what = what,
      version = '"hcp" must be 1, the only format version there is (column 6)',
      shown = function(line) return "config: " .. w.root .. "/" .. path .. line end }
  end
  local function packs(path, text, typo, meant, what)
    return { path = path, text = text, exit = 126, typo = typo, meant = meant, what = what,
      version = "format version 2 is not supported, this release reads 1 (column 6)",
      shown = function(line) return "unknown pack demo: " .. path .. line end }
  end
  local files = {
    operator("hcp.yaml", "hcp: 1\ntenant: default\n", "tennant", "tenant", "hcp.yaml"),
    operator("policies/spec.yaml", "hcp: 1\n" .. demo.grants, "grnts", "grants", "a policy"),
    packs("packs/demo/pack.yaml", demo.manifest, "comands", "commands", "the manifest"),
    packs("packs/demo/policy.yaml", demo.policy, "polices", "policies", "the pack's policy"),
  }

  it("is none when there is none", function() runs() end)

  it("in the policy leaves a record of what it denied", function()
    w:policy("nonsense: 1\n")
    local envelope = w:exec("demo", "plain", { n = 1 })
    local records = w:audit()
    local last = records[#records]
    assert.same({ "deny", 0, envelope.error, "demo", "plain" }, { last.kind, last.step, last.error, last.pack, last.verb })
    assert.is_nil(last.policy_digest)
  end)

  for _, file in ipairs(files) do
    describe("in " .. file.path, function()
      -- a mistake in a line of its own behind the sound text
      local function appended(line, why, column)
        w:put(file.path, file.text .. line .. "\n")
        refused(("%s (column %d)"):format(file.shown((":%d: "):format(lines(file.text) + 1)) .. why, column), file.exit)
      end

      it("unknown key: says which was meant", function()
        appended(file.typo .. ": {}", ('unknown key "%s" in %s (did you mean "%s"?)'):format(file.typo, file.what,
          file.meant), 1)
      end)

      it("unknown key that resembles none: guesses nothing", function()
        appended("qqqqqqqq: 1", ('unknown key "qqqqqqqq" in %s'):format(file.what), 1)
      end)

      it("duplicate key: names both lines", function()
        appended("hcp: 1", 'duplicate key "hcp": the first one is on line 1', 1)
      end)

      it("wrong type: says what it must be and what it is", function()
        w:put(file.path, "hcp: [1]\n" .. file.text:gsub("^hcp: 1\n", ""))
        refused(file.shown ':1: "hcp" must be a whole number, not a list (column 6)', file.exit)
        w:put(file.path, "hcp: '1'\n" .. file.text:gsub("^hcp: 1\n", ""))
        refused(file.shown ':1: "hcp" must be a whole number, not a string (column 6)', file.exit)
        w:put(file.path, "- hcp\n")
        refused(file.shown(":1: ") .. file.what .. " must be a mapping, not a list (column 1)", file.exit)
      end)

      it("format version: missing, or one that isn't known", function()
        w:put(file.path, (file.text:gsub("^hcp: 1\n", "")))
        refused(file.shown(":1: ") .. file.what .. ' needs "hcp" (column 1)', file.exit)
        w:put(file.path, (file.text:gsub("^hcp: 1\n", "hcp: 2\n")))
        refused(file.shown ":1: " .. file.version, file.exit)
      end)

      it("anchor, alias, tag and merge key: refuses each by name", function()
        appended("x: &a 1", "anchors (&) are not allowed", 4)
        appended("x: *a", "aliases (*) are not allowed: quote it", 4)
        appended("x: !!str 1", "tags (!) are not allowed", 4)
        appended("<<: {}", "merge keys (<<) are not allowed", 1)
      end)

      it("tab: says that spaces indent", function()
        appended("\tx: 1", "found a tab where spaces must indent", 1)
      end)

      it("two documents: allows one", function()
        appended("---\nhcp: 1", "only one document is allowed in a file", 1)
      end)

      it("NUL and invalid UTF-8: points at the place", function()
        w:put(file.path, file.text .. "x: \0\n")
        local envelope = w:exec("demo", "mark", { confirm = true })
        local at = file.shown((":%d: "):format(lines(file.text) + 1))
        assert.equal(at .. "control characters are not allowed (column 4)", envelope.error)
        refused(envelope.error, file.exit)
        w:put(file.path, file.text .. "x: a\255\n")
        envelope = w:exec("demo", "mark", { confirm = true })
        assert.equal(at .. "invalid leading UTF-8 octet (column 5)", envelope.error)
        refused(envelope.error, file.exit)
        appended('x: "\\0"', "a string can't hold a NUL character", 4)
      end)

      it("byte order mark: is no mistake", function()
        w:put(file.path, "\xef\xbb\xbf" .. file.text)
        runs()
      end)

      it("nothing in it: says so", function()
        w:put(file.path, "# nothing\n")
        refused(file.shown ":1: the file is empty (column 1)", file.exit)
      end)

      it("too much in it: names the limit", function()
        w:put(file.path, file.text .. ("#" .. ("x"):rep(1023)):rep(1024) .. "\n")
        refused(file.shown ": is over 1048576 bytes", file.exit)
        w:put(file.path, file.text .. "x: " .. ("["):rep(40) .. ("]"):rep(40) .. "\n")
        refused(file.shown((":%d: "):format(lines(file.text) + 1)) .. "nested too deep (column 35)", file.exit)
      end)

      it("writable by others: gives the chmod", function()
        os.execute("chmod o+w " .. quote(w.root .. "/" .. file.path))
        local shown = file.shown("")
        local path = file.exit == 125 and w.root .. "/" .. file.path or file.path
        refused(shown .. " is writable by others: chmod go-w " .. path, file.exit)
      end)

      it("folder writable by others: gives the chmod", function()
        local dir = file.path:match("^(.*)/") or ""
        local path = (w.root .. "/" .. dir):gsub("/$", "")
        os.execute("chmod o+w " .. quote(path))
        -- the folder of packs is the runtime's to name: its message is relative, as a pack's own files are
        local error = file.exit == 125 and "config: " .. path .. " is writable by others: chmod go-w " .. path
          or "unknown pack demo: packs/demo is writable by others: chmod go-w packs/demo"
        refused(error, file.exit)
      end)

      it("symbolic link: isn't followed", function()
        local path = w.root .. "/" .. file.path
        os.execute(("mv %s %s && ln -s %s %s"):format(quote(path), quote(w.dir .. "/real"), quote(w.dir .. "/real"),
          quote(path)))
        refused(file.exit == 125 and file.shown " is a symbolic link: links are not followed here"
          or file.shown " is not a regular file", file.exit)
      end)

      it("folder or FIFO in its place: isn't opened", function()
        local path = quote(w.root .. "/" .. file.path)
        os.execute("rm " .. path .. " && mkdir " .. path)
        refused(file.shown " is not a regular file", file.exit)
        os.execute("rmdir " .. path .. " && mkfifo " .. path)
        refused(file.exit == 125 and file.shown " is not a regular file"
          or file.shown " is neither a file nor a folder nor a link", file.exit)
      end)

      if as_root then
        it("another user's: says whose and what to do", function()
          os.execute("chown 54321 " .. quote(w.root .. "/" .. file.path))
          refused(file.shown " is owned by uid 54321, neither root nor the user hcp runs as: chown it", file.exit)
        end)

        it("a group's that isn't the owner's alone: gives the chmod", function()
          local path = quote(w.root .. "/" .. file.path)
          os.execute("chmod g+w " .. path)
          runs()
          os.execute("rm -rf " .. quote(w.state .. "/workspaces") .. "; chgrp 54321 " .. path)
          local shown = file.exit == 125 and w.root .. "/" .. file.path or file.path
          refused(("%s is writable by others: chmod g-w %s (its group 54321 is not the owner's alone)"):format(
            file.shown "", shown), file.exit)
        end)
      else
        it("writable by a group: only by one that is the owner's alone", function()
          os.execute("chmod g+w " .. quote(w.root .. "/" .. file.path))
          if group_is_private() then return runs() end
          local shown = file.exit == 125 and w.root .. "/" .. file.path or file.path
          refused(("%s is writable by others: chmod g-w %s (its group %s is not the owner's alone)"):format(
            file.shown "", shown, output("id -g")), file.exit)
        end)

        it("unreadable: says so", function()
          os.execute("chmod 000 " .. quote(w.root .. "/" .. file.path))
          refused(file.shown ": Permission denied", file.exit)
        end)
      end
    end)
  end

  describe("a file that isn't there", function()
    local function gone(path) os.execute("rm -r " .. quote(w.root .. "/" .. path)) end

    it("hcp.yaml: is optional", function()
      gone "hcp.yaml"
      runs()
    end)

    it("policies: nothing is granted", function()
      gone "policies"
      refused("denied: missing demo.write for demo.mark", 126)
    end)

    it("the manifest: there is no such pack, and its folder is named", function()
      gone "packs/demo/pack.yaml"
      refused("unknown pack demo: packs/demo/pack.yaml: No such file or directory", 126)
    end)

    it("the pack's policy: no command has an entry", function()
      gone "packs/demo/policy.yaml"
      refused("no policy for mark", 126)
    end)

    it("the program: 127", function()
      gone "packs/demo/bin/show"
      refused("exit 127", 127)
    end)

    it("the root: names it", function()
      os.execute("rm -r " .. quote(w.root))
      refused("config: " .. w.root .. ": No such file or directory", 125)
    end)
  end)

  describe("in a policy that looks like one", function()
    it("another ending: would not be read, so it is an error", function()
      for _, name in ipairs { "other.yml", "other.YAML" } do
        w:put("policies/" .. name, "hcp: 1\n")
        refused(("config: %s/policies/%s would not be read: rename it to end in .yaml"):format(w.root, name), 125)
        os.remove(w.root .. "/policies/" .. name)
      end
      runs()
    end)

    it("one block in two files: names the other place", function()
      w:policy(demo.grants, "again")
      refused(("config: %s/policies/spec.yaml:5: the block of pack demo is in %s/policies/again.yaml:5 already " ..
        "(column 3)"):format(w.root, w.root), 125)
    end)

    it("a provider that isn't there", function()
      w:policy("auth: { provider: nobody }\n", "auth")
      refused(("config: %s/policies/auth.yaml:2: there is no provider nobody: policies/auth/nobody.lua is missing " ..
        "(column 19)"):format(w.root), 125)
    end)
  end)

  describe("in a Lua file of the operator's", function()
    local provider = "return function(r) return { id = 'user:x' } end\n"
    local adapter = "return { run = function(command, args, ctx) return { ran = true } end }\n"

    it("a provider that others may write: is refused before step 1", function()
      w:put("policies/auth/os_user.lua", provider)
      runs()
      os.execute("rm -rf " .. quote(w.state .. "/workspaces"))
      local path = w.root .. "/policies/auth/os_user.lua"
      os.execute("chmod o+w " .. quote(path))
      local why = ("%s is writable by others: chmod go-w %s"):format(path, path)
      refused("denied: auth: " .. why, 126)
      w:policy("auth: { provider: os_user }\n", "auth")
      refused(("config: %s/policies/auth.yaml:2: provider os_user: %s (column 19)"):format(w.root, why), 125)
    end)

    it("a provider's folder that others may write: the same", function()
      w:put("policies/auth/os_user.lua", provider)
      local path = w.root .. "/policies/auth"
      os.execute("chmod o+w " .. quote(path))
      refused(("denied: auth: %s is writable by others: chmod go-w %s"):format(path, path), 126)
    end)

    it("a provider that is a link: isn't followed, and the installed one doesn't take its place", function()
      os.execute("mkdir " .. quote(w.root .. "/policies/auth"))
      local path = w.root .. "/policies/auth/os_user.lua"
      world.write(w.dir .. "/real.lua", provider)
      os.execute(("ln -s %s %s"):format(quote(w.dir .. "/real.lua"), quote(path)))
      refused("denied: auth: " .. path .. " is a symbolic link: links are not followed here", 126)
    end)

    it("a provider that isn't Lua, is too big, or raises: denies with the place", function()
      w:put("policies/auth/os_user.lua", "\n\nthis is not Lua\n")
      refused("denied: auth: script: auth/os_user.lua:3: syntax error near 'is'", 126)
      w:put("policies/auth/os_user.lua", "error('boom')\n")
      refused("denied: auth: script: auth/os_user.lua:1: boom", 126)
      w:put("policies/auth/os_user.lua", "\27Lua")
      refused("denied: auth: script: auth/os_user.lua: compiled Lua is refused", 126)
      w:put("policies/auth/os_user.lua", ("--" .. ("x"):rep(1021) .. "\n"):rep(1024) .. provider)
      refused("denied: auth: policies/auth/os_user.lua: is over 1048576 bytes", 126)
    end)

    -- Runs command `other` of kind telepathy.
    local function other()
      local envelope, status = w:exec("demo", "other")
      return envelope.error or envelope.result, status
    end

    it("an adapter: sound, writable by others, a link, not Lua", function()
      w:put("adapters/telepathy.lua", adapter)
      assert.same({ { ran = true }, 0 }, { other() })
      local path = w.root .. "/adapters/telepathy.lua"
      os.execute("chmod o+w " .. quote(path))
      assert.same({ ("config: %s is writable by others: chmod go-w %s"):format(path, path), 125 }, { other() })
      os.execute(("mv %s %s && chmod 644 %s && ln -s %s %s"):format(quote(path), quote(w.dir .. "/a.lua"),
        quote(w.dir .. "/a.lua"), quote(w.dir .. "/a.lua"), quote(path)))
      assert.same({ ("config: %s is a symbolic link: links are not followed here"):format(path), 125 }, { other() })
      os.remove(path)
      w:put("adapters/telepathy.lua", "\nthis is not Lua\n")
      assert.same({ "script: adapters/telepathy.lua:2: syntax error near 'is'", 1 }, { other() })
    end)

    it("an adapter's mistake is its own kind's: wraps go on", function()
      w:put("adapters/telepathy.lua", "this is not Lua\n", "666")
      runs()
    end)
  end)

  describe("in another pack", function()
    it("is that pack's alone", function()
      w:pack("broken", { ["pack.yaml"] = "hcp: 2\n", ["policy.yaml"] = "\tx" })
      w:pack("open", { ["pack.yaml"] = { demo.manifest, "666" } })
      os.execute(("ln -s /nowhere %s/packs/link && mkdir -m 777 %s/packs/everybodys"):format(quote(w.root),
        quote(w.root)))
      runs()
      assert.equal("unknown pack broken: packs/broken/pack.yaml:1: format version 2 is not supported, this release " ..
        "reads 1 (column 6)", w:exec("broken", "x").error)
      assert.equal("unknown pack link: packs/link is a symbolic link: links are not followed here",
        w:exec("link", "x").error)
      assert.equal("unknown pack everybodys: packs/everybodys is writable by others: chmod go-w packs/everybodys",
        w:exec("everybodys", "x").error)
    end)

    it("is never read: a neighbour that can't be opened doesn't matter", function()
      w:pack("locked", { ["pack.yaml"] = demo.manifest })
      local path = quote(w.root .. "/packs/locked")
      os.execute(("mkfifo %s/fifo && chmod 000 %s"):format(path, path))
      runs()
    end)
  end)

  describe("in a pack's other files", function()
    it("a program or script that others may write: the pack is refused whole", function()
      for _, path in ipairs { "bin/show", "verbs/lua.lua" } do
        os.execute("chmod o+w " .. quote(w.root .. "/packs/demo/" .. path))
        refused(("unknown pack demo: packs/demo/%s is writable by others: chmod go-w packs/demo/%s"):format(path, path),
          126)
        os.execute("chmod o-w " .. quote(w.root .. "/packs/demo/" .. path))
      end
      os.execute("chmod o+w " .. quote(w.root .. "/packs/demo/bin"))
      refused("unknown pack demo: packs/demo/bin is writable by others: chmod go-w packs/demo/bin", 126)
      os.execute("chmod o-w " .. quote(w.root .. "/packs/demo/bin"))
      runs()
    end)

    it("a policy entry for no command: names it", function()
      w:put("packs/demo/policy.yaml", demo.policy .. "  marc: { confirm: true }\n")
      refused(('unknown pack demo: packs/demo/policy.yaml:%d: the manifest has no command "marc" (column 3)'):format(
        lines(demo.policy) + 1), 126)
    end)

    it("an operator's overlay for no command: is the operator's mistake", function()
      w:policy(demo.grants .. "    commands: { marc: { confirm: true } }\n")
      local envelope, status = w:exec("demo", "mark", { confirm = true })
      assert.equal(("config: %s/policies/spec.yaml:7: "):format(w.root),
        envelope.error:sub(1, #("config: " .. w.root .. "/policies/spec.yaml:7: ")))
      assert.matches('"marc"', envelope.error, 1, true)
      refused(envelope.error, status)
      assert.equal(125, status)
    end)
  end)

  it("tells a verb that isn't exec, too, and does nothing", function()
    w:put("hcp.yaml", "hcp: 1\nlok: true\n")
    local why = ('hcp: %s/hcp.yaml:2: unknown key "lok" in hcp.yaml (did you mean "lock"?) (column 1)\n'):format(w.root)
    for _, words in ipairs { { "packs" }, { "session" }, { "activate", "other" }, { "deactivate", "demo" } } do
      assert.same({ 125, "", why }, { w:cli(words) })
    end
    w:put("hcp.yaml", "hcp: 1\n")
    local _, out = w:cli { "session" }
    assert.same({ session = "default", packs = { "demo" } }, cjson.decode(out))
  end)
end)

describe("sessions", function()
  local w
  before_each(function()
    w = demo.world()
    assert(w:cli { "deactivate", "demo" } == 0)
  end)
  after_each(function() w:close() end)

  local function error_of(options)
    return (w:exec("demo", "plain", { n = 1 }, options)).error
  end
  local function listed(...)
    local status, out, err = w:cli { "session", ... }
    assert.same({ 0, "" }, { status, err })
    return cjson.decode(out)
  end

  it("hcp.yaml's packs are always active, and can't be taken out elsewhere", function()
    assert.equal("pack demo not activated", error_of())
    w:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [demo] } }\n")
    assert.is_nil(error_of())
    assert.same({ session = "default", packs = { "demo" } }, listed())
    local status, _, err = w:cli { "deactivate", "demo" }
    assert.same({ 125, "hcp: pack demo is activated by hcp.yaml: take it out there\n" }, { status, err })
    assert.is_nil(error_of())
    assert.equal(0, (w:cli { "activate", "demo" }))
    assert.is_nil(world.read(w.state .. "/sessions/default.packs"):match("demo"))
  end)

  it("hcp.yaml's packs are those of the session it names", function()
    w:put("hcp.yaml", "hcp: 1\nsessions: { night: { packs: [demo] } }\n")
    assert.equal("pack demo not activated", error_of())
    assert.is_nil(error_of { env = "HCP_SESSION=night" })
    assert.equal("pack demo not activated", error_of { env = "HCP_SESSION=nigh" })
  end)

  it("mistakes in them are config errors with their place", function()
    for text, why in pairs {
      ["sessions: { 'a b': { packs: [demo] } }"] =
        '2: "a b" can\'t be the name of a session: 1 to 64 of A-Z a-z 0-9 . _ - (column 13)',
      ["sessions: { default: [demo] }"] = "2: a session must be a mapping, not a list (column 22)",
      ["sessions: { default: {} }"] = '2: a session needs "packs" (column 22)',
      ["sessions: { default: { pack: [demo] } }"] =
        '2: unknown key "pack" in a session (did you mean "packs"?) (column 24)',
      ["sessions: { default: { packs: [../demo] } }"] = '2: each item of "packs" must be 1 to 64 of A-Z a-z 0-9 . ' ..
        '_ -, begin with a letter or digit and hold no ".." (column 32)',
      ["activate: everybody"] = '2: "activate" must be invoker or operator (column 11)',
      ["lock: yes"] = '2: "lock" must be true or false, not a string (column 7)',
    } do
      w:put("hcp.yaml", "hcp: 1\n" .. text .. "\n")
      assert.equal("config: " .. w.root .. "/hcp.yaml:" .. why, error_of())
    end
  end)

  it("a name that can't be a session's is no session", function()
    for _, name in ipairs { "a/b", "../default", "a b", "", ("x"):rep(65), "caf\u{e9}" } do
      for _, words in ipairs { { "activate", "demo" }, { "exec", "demo", "plain", "--", "n=1" } } do
        assert.same({ 2, "", "hcp: a session is named by 1 to 64 of A-Z a-z 0-9 _ . -\n" },
          { w:cli { "--session", name, table.unpack(words) } })
      end
    end
    for _, name in ipairs { ".", "..", "-", ("x"):rep(64), "A_b-1.2" } do
      assert.equal(0, (w:cli { "--session", name, "activate", "demo" }))
      local _, out = w:cli { "--session", name, "exec", "demo", "plain", "--", "n=1" }
      assert.is_true(cjson.decode(out).ok)
    end
    assert.equal("pack demo not activated", error_of())
  end)

  it("a file that isn't what was written activates nothing", function()
    w:activate("demo")
    local path = w.state .. "/sessions/default.packs"
    for text, why in pairs {
      ["demo"] = "is damaged", ["demo\n../x\n"] = "is damaged", ["demo\ndemo\n"] = "is damaged",
      ["zebra\ndemo\n"] = "is damaged", ["demo\0\n"] = "is damaged", ["\n"] = "is damaged",
    } do
      world.write(path, text, "600")
      assert.equal(("pack demo not activated: %s: %s"):format(path, why), error_of())
    end
    world.write(path, "demo\n", "640")
    assert.equal("pack demo not activated: " .. path .. ": is open to others: chmod 600 it", error_of())
    os.execute(("mv %s %s/real && chmod 600 %s/real && ln -s %s/real %s"):format(quote(path), quote(w.dir),
      quote(w.dir), quote(w.dir), quote(path)))
    assert.equal("pack demo not activated: " .. path .. ": Too many levels of symbolic links", error_of())
    os.remove(path)
    world.write(path, "demo\n", "600")
    assert.is_nil(error_of())
  end)

  if as_root then
    -- hcp as uid 54321 on the root of another user, with a state of its own
    local function stranger(words)
      os.execute(("chmod 755 %s; mkdir -p %s/theirs && chown 54321:54321 %s/theirs && chmod 700 %s/theirs"):format(
        quote(w.dir), quote(w.dir), quote(w.dir), quote(w.dir)))
      local parts = { "setpriv --reuid 54321 --regid 54321 --clear-groups", quote(world.hcp), "--root", quote(w.root),
        "--state", quote(w.dir .. "/theirs") }
      for _, word in ipairs(words) do parts[#parts + 1] = quote(word) end
      return world.sh(table.concat(parts, " "))
    end
    local program = world.sh("setpriv --reuid 54321 --regid 54321 --clear-groups test -x " .. quote(world.hcp))

    it("another user can run hcp here", function()
      assert.equal(0, program)
    end)

    it("activate: operator leaves it to the owner of the root", function()
      assert.equal(0, (stranger { "activate", "demo" }))
      w:put("hcp.yaml", "hcp: 1\nactivate: operator\n")
      local why = "hcp: activation is the operator's: hcp.yaml says activate: operator\n"
      local status, out, err = stranger { "activate", "demo" }
      assert.same({ 126, "", why }, { status, out, err })
      status, out, err = stranger { "deactivate", "demo" }
      assert.same({ 126, "", why }, { status, out, err })
      out = select(2, stranger { "session" })
      assert.same({ session = "default", packs = { "demo" } }, cjson.decode(out))
      assert.equal(0, (w:cli { "activate", "demo" }))
    end)

    it("another user's session, lock or state is none of ours", function()
      w:activate("demo")
      local path = w.state .. "/sessions/default.packs"
      os.execute("chown 54321 " .. quote(path))
      assert.equal("pack demo not activated: " .. path .. ": belongs to another user", error_of())
      local status, out, err = w:cli { "deactivate", "demo" }
      assert.same({ 125, "", "hcp: " .. path .. ": belongs to another user\n" }, { status, out, err })
      os.execute("chown 0 " .. quote(path) .. "; chown 54321 " .. quote(w.state .. "/sessions/.lock"))
      status, out, err = w:cli { "deactivate", "demo" }
      assert.same({ 125, "", "hcp: " .. w.state .. "/sessions/.lock: belongs to another user\n" }, { status, out, err })
      assert.is_nil(error_of())
      os.execute("chown 54321 " .. quote(w.state))
      assert.equal(("config: %s is owned by uid 54321, not by the user hcp runs as (uid 0)"):format(w.state),
        error_of())
    end)

    it("one user's session is not another's", function()
      w:activate("demo")
      local status, out = stranger { "exec", "demo", "plain", "--", "n=1" }
      assert.equal("pack demo not activated", cjson.decode(out).error)
      assert.equal(126, status)
    end)

    -- /etc/hcp is the machine's: a private one, in a mount namespace of the spec's own
    local function locked(words, who)
      local parts = {}
      for _, word in ipairs(words) do parts[#parts + 1] = quote(word) end
      return world.sh(([[unshare -m sh -c '
        mount -t tmpfs -o mode=755 tmpfs /mnt && mkdir -p /mnt/hcp &&
        printf "hcp: 1\nlock: true\nstate: %s/theirs\n" >/mnt/hcp/hcp.yaml &&
        if ! [ -d /etc/hcp ]; then
          cp -a /etc /mnt/etc && mkdir /mnt/etc/hcp && mount --bind /mnt/etc /etc
        fi && mount --bind /mnt/hcp /etc/hcp && exec %s "$@"' sh ]]):format(w.dir, who) ..
        quote(world.hcp) .. " " .. table.concat(parts, " "))
    end

    it("lock: true in /etc/hcp: no other root and no other state but for its owner", function()
      stranger { "activate", "demo" } -- makes the folder
      local other = "setpriv --reuid 54321 --regid 54321 --clear-groups env HOME=/"
      local not_root = "hcp: /etc/hcp/hcp.yaml says lock: true, so " .. w.root .. " can't be the root\n"
      local not_state = ("hcp: /etc/hcp/hcp.yaml says lock: true, so the state folder is %s/theirs, not %s/mine\n")
        :format(w.dir, w.dir)
      assert.same({ 125, "", not_root },
        { locked({ "--root", w.root, "--state", w.dir .. "/theirs", "session" }, other) })
      assert.same({ 125, "", not_root }, { locked({ "session" }, other .. " HCP_ROOT=" .. quote(w.root)) })
      assert.same({ 125, "", not_state },
        { locked({ "--root", "/etc/hcp", "--state", w.dir .. "/mine", "session" }, other) })
      assert.same({ 125, "", not_state }, { locked({ "session" }, other .. " HCP_STATE=" .. quote(w.dir .. "/mine")) })
      local status, out = locked({ "session" }, other)
      assert.same({ 0, { session = "default", packs = { "demo" } } }, { status, cjson.decode(out) })
      status = locked({ "--root", w.root, "--state", w.state, "session" }, "env")
      assert.equal(0, status)
    end)
  else
    it("activate: operator is no bar for the owner of the root", function()
      w:put("hcp.yaml", "hcp: 1\nactivate: operator\n")
      assert.equal(0, (w:cli { "activate", "demo" }))
      assert.is_nil(error_of())
    end)
  end
end)
