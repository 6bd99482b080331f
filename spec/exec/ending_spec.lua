-- How a run ends, by itself and by force: the envelope, the exit status, the records, and that nothing is left.
local world = require "world"
local live = require "live"
local cjson = require "cjson"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: life
version: 1.0.0
summary: Runs what its stdin says
wrap: { bin: ./bin/sh, argv_template: ["{{mark}}"], stdin: "{{script}}", json_flag: [], result: text }
commands:
  run: { summary: s, effect: read }
  short: { summary: s, effect: read, timeout: 1s }
  jail: { summary: s, effect: read, wrap: { workspace: { mode: ephemeral } } }
  kept: { summary: s, effect: write, wrap: { workspace: { mode: workspace } } }
  gone: { summary: s, effect: read, wrap: { bin: ./bin/nothere } }
  broken: { summary: s, effect: read, wrap: { bin: ./bin/broken } }
  plain: { summary: s, effect: read, wrap: { bin: ./bin/plain } }
  lua: { summary: s, effect: read, kind: composite, script: verbs/lua.lua }
]]

local policy = "hcp: 1\npolicies:\n"
for verb in manifest:gmatch("\n  (%w+):") do policy = policy .. "  " .. verb .. ": { capability: life.all }\n" end

local grants = [[
grants: [ { principal: "*", capabilities: ["life.*"] } ]
packs:
  life:
    bins: [./bin/sh, ./bin/nothere, ./bin/broken, ./bin/plain]
    sandbox: { tier: %s, limits: { output: 64K, timeout: 10m } }
]]

-- sh -c's first word behind the script: every process of the run shows the marker in its argv
local program = "#!/bin/sh\nexec sh -s \"$1\"\n"

-- A process that shows the marker, ignores every request to end, and outlives whoever started it.
local stubborn = [[sh -c 'trap "" TERM HUP INT QUIT PIPE; %s; while :; do sleep 1000; done' "$1"]]
local function stays(first) return stubborn:format(first or ":") end

for _, tier in ipairs { "strong", "light" } do describe("the end of a run in tier " .. tier, function()
  local w, mark

  before_each(function()
    mark = live.marker()
    w = world.new()
    os.execute("chmod 711 " .. quote(w.dir)) -- in tier light a root runtime's program passes through it
    w:pack("life", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = policy,
      ["bin/sh"] = { program, "755" },
      ["bin/broken"] = { "#!/nothere/interpreter\n", "755" },
      ["bin/plain"] = { "#!/bin/sh\n", "644" },
      ["verbs/lua.lua"] = "return function() error('no luck', 0) end\n",
    })
    w:policy(grants:format(tier))
    w:activate("life")
  end)
  after_each(function() w:close() end)

  local function text(script, verb)
    return cjson.encode { pack_id = "life", verb_key = verb or "run", args = { mark = mark, script = script } }
  end

  -- every path beneath a folder
  local function tree(dir)
    local _, out = world.sh("cd " .. quote(dir) .. " && find . | sort")
    return out
  end

  local function nothing_left()
    assert.same({}, live.find(mark))
    local _, mounts = world.sh("cat /proc/self/mountinfo")
    assert.is_nil(mounts:find(w.dir, 1, true))
  end

  local function last()
    local records = w:audit()
    return records[#records], records[#records - 1]
  end

  -- status, record and envelope of a run that was refused or failed while it ran
  local function ends(exit, error, script, verb, more)
    local envelope, status, stderr = w:send(text(script, verb))
    local expected = { ok = false, pack_id = "life", verb_key = verb or "run", error = error }
    for key, value in pairs(more or {}) do expected[key] = value end
    assert.same(expected, envelope)
    assert.equal(exit, status)
    assert.equal("", stderr)
    nothing_left()
    local e, b = last()
    assert.equal("begin", b.kind)
    assert.equal("end", e.kind)
    assert.equal(b.run_id, e.run_id)
    assert.equal(error, e.error)
    assert.equal(8, e.step)
    return e
  end

  describe("by its main program", function()
    local function done(script, result, verb)
      local envelope, status, stderr = w:send(text(script, verb))
      assert.same({ ok = true, pack_id = "life", verb_key = verb or "run", result = result }, envelope)
      assert.equal(0, status)
      assert.equal("", stderr)
      nothing_left()
      local e = last()
      assert.equal("end", e.kind)
      assert.equal(9, e.step)
      assert.equal(0, e.exit_code)
    end

    it("doesn't wait for a grandchild that keeps stdout open", function()
      done(stays "echo up >${TMPDIR:-/tmp}/up" .. " & until [ -s ${TMPDIR:-/tmp}/up ]; do :; done; echo done", "done\n")
    end)

    it("doesn't wait for one that keeps stdout open behind a closed one of the main program", function()
      done(stays "echo up >${TMPDIR:-/tmp}/up" .. " & until [ -s ${TMPDIR:-/tmp}/up ]; do :; done; echo done; exec >&- 2>&-", "done\n")
    end)

    it("takes down what left its session and its parents", function()
      done("(setsid sh -c '(" .. stays("echo up >${TMPDIR:-/tmp}/up"):gsub("'", [['\'']]) ..
        " </dev/null >/dev/null 2>&1 &)' \"$1\" &) & until [ -s ${TMPDIR:-/tmp}/up ]; do :; done; echo done", "done\n")
    end)

    it("takes down many of them", function()
      done("i=0; while [ $i -lt 20 ]; do setsid " .. stays "echo up >>${TMPDIR:-/tmp}/up" ..
        " & i=$((i+1)); done; until [ \"$(grep -c up ${TMPDIR:-/tmp}/up 2>/dev/null)\" = 20 ]; do :; done; echo done", "done\n")
    end)

    it("takes down those of a jail, and the jail", function()
      done(":", "", "jail") -- the log and its folder are there
      local before = tree(w.state)
      done("echo x >file; " .. stays "echo up >up" .. " & until [ -s up ]; do :; done; ls", "file\nup\n", "jail")
      assert.equal(before, tree(w.state))
    end)
  end)

  describe("by force", function()
    it("is the signal's name and 128 and its number", function()
      for _, signal in ipairs { 9, 15, 11, 6, 2 } do
        local record = ends(128 + signal, "sandbox: killed by signal " .. signal, "kill -" .. signal .. " $$")
        assert.equal(signal, record.signal)
        assert.is_nil(record.exit_code)
      end
      ends(137, "sandbox: killed by signal 9", "echo out; echo why >&2; " .. stays() .. " & kill -9 $$", "run",
        { stdout = "out\n", stderr = "why\n" })
    end)

    it("is not the signal of a child that the main program saw", function()
      ends(137, "Killed", "sh -c 'kill -9 $$'; exit $?", "run", { stderr = "Killed\n" })
    end)

    it("comes at the time-out, whatever the tree does against it", function()
      ends(124, "sandbox: timeout after 1s", "echo begun; " .. stays() .. " & " .. stays(), "short", { stdout = "begun\n" })
      ends(124, "sandbox: timeout after 1s", "exec >&- 2>&-; setsid " .. stays() .. " & wait", "short")
    end)

    it("comes at the caller's deadline", function()
      local status, out = w:cli({ "--deadline", "700ms", "exec", "-" }, { stdin = text(stays()) })
      local envelope = cjson.decode(out)
      assert.equal("sandbox: timeout after 700ms", envelope.error)
      assert.equal(124, status)
      nothing_left()
      assert.equal("end", last().kind)
    end)

    it("comes when the output is over its limit, from whoever prints", function()
      local x = ("x\n"):rep(32 * 1024)
      ends(1, "sandbox: output over 64K", "exec yes x", "run", { stdout = x })
      ends(1, "sandbox: output over 64K", "exec yes x >&2", "run", { stderr = x })
      ends(1, "sandbox: output over 64K", "trap '' PIPE; setsid yes x & " .. stays(), "run", { stdout = x })
    end)

    for signal, exit in pairs { INT = 130, TERM = 143, HUP = 129 } do
      it("comes with SIG" .. signal .. " to hcp, which still answers and records", function()
        local job = live.start(w, text("echo begun; (setsid " .. stays() .. " &) & " .. stays()))
        live.wait_for(function() return #live.find(mark) >= 3 end)
        job:kill(signal)
        local status, out, err = job:wait()
        assert.equal(exit, status)
        assert.same({ ok = false, pack_id = "life", verb_key = "run", error = "sandbox: cancelled", stdout = "begun\n" },
          cjson.decode(out))
        assert.equal(1, select(2, out:gsub("\n", "")))
        assert.equal("", err)
        nothing_left()
        local e, b = last()
        assert.same({ "begin", "end", b.run_id }, { b.kind, e.kind, e.run_id })
        assert.equal("sandbox: cancelled", e.error)
      end)
    end

    it("doesn't come with SIGHUP where that was ignored, as under nohup", function()
      local job = live.start(w, text("until [ -e go ]; do sleep 0.01; done; echo done", "kept"), "ignore")
      live.wait_for(function() return live.find(mark)[1] end)
      job:kill("HUP")
      world.write(w.state .. "/workspaces/default/-/life/go", "")
      local status, out = job:wait()
      assert.same({ 0, "done\n" }, { status, cjson.decode(out).result })
      nothing_left()
    end)

    it("comes with SIGKILL to hcp: the tree dies, the begin stays alone, and the next run works", function()
      local before
      w:send(text("echo x")) -- the log and its folder are there
      for _, verb in ipairs { "run", "jail", "kept" } do
        if verb == "kept" then w:send(text("echo x", "kept")) end
        before = tree(w.state)
        local job = live.start(w, text("(setsid " .. stays() .. " &) & " .. stays(), verb))
        live.wait_for(function() return #live.find(mark) >= 3 end)
        job:kill("KILL")
        local status, out = job:wait()
        assert.equal(137, status)
        assert.equal("", out)
        live.wait_for(function() return #live.find(mark) == 0 end)
        nothing_left()
        if tier == "strong" then assert.equal(before, tree(w.state)) end
        local b = last()
        assert.equal("begin", b.kind)
        local envelope = w:send(text("echo next", verb))
        assert.equal("next\n", envelope.result)
        assert.equal(before, tree(w.state)) -- below tier strong the next run sweeps
        for _, record in ipairs(w:audit()) do
          assert.is_false(record.kind == "end" and record.run_id == b.run_id)
        end
      end
    end)
  end)

  it("frees the jail for whoever waits for it", function()
    local job = live.start(w, text(stays(), "kept"))
    live.wait_for(function() return live.find(mark)[1] end)
    local status, out = w:cli({ "--deadline", "300ms", "exec", "-" }, { stdin = text("echo x", "kept") })
    assert.equal("sandbox: workspace busy", cjson.decode(out).error)
    assert.equal(124, status)
    job:kill("KILL")
    assert.equal("x\n", w:send(text("echo x", "kept")).result)
    assert.equal(137, (job:wait()))
  end)

  it("has the exit status of its kind", function()
    local function status(envelope, words)
      local code, out = w:cli(words or { "exec", "-" }, { stdin = envelope })
      local ok, value = pcall(cjson.decode, out)
      return { code, ok and value.error or out }
    end
    assert.same({ 0, '{"ok":true,"pack_id":"life","verb_key":"run","result":""}\n' }, status(text("exit 0")))
    assert.same({ 7, "exit 7" }, status(text("exit 7")))
    assert.same({ 143, "sandbox: killed by signal 15" }, status(text("kill $$")))
    assert.same({ 1, "sandbox: host path not allowed" },
      status('{"pack_id":"life","verb_key":"run","args":{"mark":"/etc/x"}}'))
    assert.same({ 126, "no policy for nothere" }, status(text("", "nothere")))
    assert.same({ 126, "invalid envelope: not an object" }, status("[]"))
    assert.same({ 126, "invalid args: too long" }, status((text(""):gsub(mark, ("x"):rep(140000))))) -- the kernel's word
    assert.same({ 126, "exit 126" }, status(text("", "broken")))
    assert.same({ 126, "exit 126" }, status(text("", "plain")))
    assert.same({ 127, "exit 127" }, status(text("", "gone")))
    assert.equal(1, status(text("", "lua"))[1])
    w:policy("grants: [ { principal: \"*\", capabilities: [\"life.*\"] } ]\n")
    assert.same({ 127, 'sandbox: bin "./bin/sh" not allowlisted' }, status(text("")))
    w:policy("nonsense: 1\n")
    assert.equal(125, status(text(""))[1])
    assert.equal(1, (status(text(""))[2]:find("config: " .. w.root .. "/policies/spec.yaml:2: ", 1, true)))
    assert.same({ 2, "" }, status("", { "exec", "life" }))
  end)
end) end
