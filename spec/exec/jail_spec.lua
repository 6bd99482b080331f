-- The kept workspace: whose it is, who may be in it at once, and how much it may hold before and after a run.
local cjson = require "cjson"
local live = require "live"
local world = require "world"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: kept
version: 1.0.0
summary: Runs what its stdin says, in its workspace
wrap: { bin: sh, argv_template: [-s, "{{mark}}"], stdin: "{{script}}", json_flag: [], result: text, workspace: { mode: workspace } }
commands:
  read: { summary: s, effect: read }
  write: { summary: s, effect: write }
  destroy: { summary: s }
  shared: { summary: s, effect: write, lock: shared }
  alone: { summary: s, effect: read, lock: exclusive }
  free: { summary: s, lock: none }
]]
local policy = "hcp: 1\npolicies: { read: {}, write: {}, destroy: {}, shared: {}, alone: {}, free: {} }\n"

describe("a kept workspace", function()
  local w

  before_each(function()
    w = world.new()
    w:pack("kept", { ["pack.yaml"] = manifest, ["policy.yaml"] = policy })
    local _, ids = world.sh("id -u; id -un 2>/dev/null")
    local uid, name = ids:match("^(%d+)\n(%S*)")
    w:policy(([[
principals: { "%s": { tenants: [default, acme], projects: [p1] } }
grants: [ { principal: "*", capabilities: ["kept.*"] } ]
packs: { kept: { bins: [sh], sandbox: { limits: { workspace: 1M, timeout: 2m } } } }
]]):format(name ~= "" and name ~= uid and "user:" .. name or "uid:" .. uid))
    w:activate("kept")
  end)
  after_each(function() w:close() end)

  local function send(verb, script, options)
    return w:exec("kept", verb, { script = script, mark = "x" }, options)
  end

  describe("by the command's lock", function()
    local folder

    before_each(function()
      send("free", "true")
      folder = w.state .. "/workspaces/default/-/kept"
    end)

    -- what `verb` is answered while a run of `first` is in there
    local function beside(first, verb, deadline)
      local job = live.start(w, cjson.encode { pack_id = "kept", verb_key = first, args = { mark = "x",
        script = "echo in >in; until [ -e go ]; do sleep 0.02; done; echo out" } })
      live.wait_for(function() return world.read(folder .. "/in") == "in\n" end)
      local _, out = w:cli({ "--deadline", deadline, "exec", "-" }, { stdin = cjson.encode {
        pack_id = "kept", verb_key = verb, args = { mark = "x", script = "cat in" } } })
      world.write(folder .. "/go", "")
      local status, first_out = job:wait()
      assert.same({ 0, "out\n" }, { status, cjson.decode(first_out).result })
      return cjson.decode(out)
    end

    for _, pair in ipairs { { "read", "read" }, { "read", "shared" }, { "write", "free" }, { "alone", "free" } } do
      it(pair[1] .. " lets " .. pair[2] .. " in beside it", function()
        assert.equal("in\n", beside(pair[1], pair[2], "1m").result)
      end)
    end

    for _, pair in ipairs { { "read", "write" }, { "write", "read" }, { "write", "write" }, { "read", "destroy" },
      { "alone", "read" }, { "shared", "alone" } } do
      it(pair[1] .. " keeps " .. pair[2] .. " waiting", function()
        assert.equal("sandbox: workspace busy", beside(pair[1], pair[2], "200ms").error)
      end)
    end
  end)

  it("is of one tenant, project and pack, and closed to other users all the way", function()
    local whose = { {}, { "--tenant", "acme" }, { "--tenant", "acme", "--project", "p1" }, { "--project", "p1" } }
    for i, words in ipairs(whose) do
      for _, word in ipairs { "exec", "-" } do words[#words + 1] = word end
      local _, out = w:cli(words, { stdin = cjson.encode { pack_id = "kept", verb_key = "write",
        args = { mark = "x", script = ("ls -A; echo %d >%d"):format(i, i) } } })
      assert.same({ ok = true, pack_id = "kept", verb_key = "write", result = "" }, cjson.decode(out))
    end
    for i, path in ipairs { "default/-", "acme/-", "acme/p1", "default/p1" } do
      assert.equal(i .. "\n", world.read(("%s/workspaces/%s/kept/%d"):format(w.state, path, i)))
    end
    local _, modes = world.sh(("find %s/workspaces -type d -printf '%%m\n' | sort -u"):format(quote(w.state)))
    assert.equal("700\n", modes)
  end)

  describe("over its limit", function()
    local over = "sandbox: workspace over 1M"

    it("fails the run that fills it, and every one after it, whatever it is filled with", function()
      for _, fill in ipairs { "head -c 2000000 /dev/zero >big", "i=0; while [ $i -lt 3000 ]; do : >$i; i=$((i+1)); done",
        "mkdir a; cd a; head -c 600000 /dev/zero >1; head -c 600000 /dev/zero >2" } do
        assert.equal(over, send("write", fill).error)
        local envelope = send("read", "echo ran")
        assert.same({ over }, { envelope.error, envelope.stdout })
        assert.is_true(world.sh(("rm -rf %s/workspaces/default/-/kept/*"):format(quote(w.state))) == 0)
        assert.equal("ran\n", send("read", "echo ran").result)
      end
    end)

    it("isn't for holes, or for what links lead to", function()
      assert.equal("", send("write", "truncate -s 50M hole; ln -s /usr/bin/git link").result)
      assert.equal("ran\n", send("read", "echo ran").result)
    end)
  end)
end)
