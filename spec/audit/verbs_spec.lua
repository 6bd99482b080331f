-- hcp audit: what it prints, when it fails and how, and that it works where a broken policy denies every run.
local demo = require "demo"
local world = require "world"
local live = require "live"
local auditlog = require "log"
local cjson = require "cjson"

local quote = world.quote

describe("hcp audit", function()
  local w, log

  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
  end)
  after_each(function() w:close() end)

  local function run(verb, args)
    return w:exec("demo", verb or "lua", args)
  end

  local function stored(from, to)
    local lines = log:lines()
    return table.concat(lines, "\n", from or 1, to or #lines) .. "\n"
  end

  describe("tail", function()
    it("prints the last lines as they are stored", function()
      for _ = 1, 6 do assert.is_true(run().ok) end
      assert.equal(13, #log:lines())
      local status, out, err = log:audit("tail")
      assert.equal(0, status)
      assert.equal("", err)
      assert.equal(stored(4, 13), out)
      assert.equal(stored(12, 13), select(2, log:audit("tail", "-n", "2")))
      assert.equal("", select(2, log:audit("tail", "--lines=0")))
      assert.equal(stored(), select(2, log:audit("tail", "-n", "100")))
    end)

    it("prints nothing where there is no log, and makes none", function()
      local status, out = log:audit("tail")
      assert.equal(0, status)
      assert.equal("", out)
      assert.is_nil(world.read(log:path()))
    end)

    local function follow(...)
      local out = w.dir .. "/out"
      assert(os.execute(("{ %s --root %s --state %s audit tail -f %s >%s 2>%s.err & echo $! >%s.pid; wait $!; " ..
        "echo $? >%s.new; mv %s.new %s.status; } >/dev/null 2>&1 &"):format(quote(world.hcp), quote(w.root),
        quote(w.state), table.concat({ ... }, " "), out, out, out, out, out, out)))
      return out
    end
    local function prints(out, text)
      live.wait_for(function() return #(world.read(out) or "") >= #text end)
      assert.equal(text, world.read(out))
    end
    local function stop(out)
      assert(os.execute("kill -TERM " .. world.read(out .. ".pid")))
      return tonumber(live.wait_for(function() return world.read(out .. ".status") end))
    end

    it("-f goes on with each record, through rotations, until a signal ends it", function()
      assert.is_true(run().ok)
      local out = follow("-n", "2")
      prints(out, stored(2, 3))
      assert.is_true(run().ok)
      prints(out, stored(2, 5))
      local text = stored(2, 5)
      -- two rotations that it may not have seen one by one
      for _ = 1, 2 do
        local _, said = log:audit("rotate")
        assert.equal("audit-", said:match('"segment":"(audit%-)'))
        assert.is_true(run("nopolicy").ok == false)
      end
      local segment = log:lines("audit-000000000007.jsonl")
      text = text .. table.concat(segment, "\n") .. "\n" .. stored()
      prints(out, text)
      assert.equal(0, stop(out))
      assert.equal("", (world.read(out .. ".err"):gsub(world.noise, "")))
    end)

    it("-f -n 0 prints what comes", function()
      assert.is_true(run().ok)
      local out = follow("-n", "0")
      -- what it begins with isn't seen from outside: a record that it shows says that it began
      live.wait_for(function()
        run()
        return #(world.read(out) or "") > 0
      end)
      local first = cjson.decode(world.read(out):match("[^\n]+")).seq
      assert.is_true(first > 3)
      prints(out, stored(math.tointeger(first)))
      assert.equal(0, stop(out))
    end)

    it("-f ends with an error when the log becomes shorter", function()
      for _ = 1, 2 do assert.is_true(run().ok) end
      local lines = log:lines()
      local out = follow("-n", "1")
      prints(out, lines[5] .. "\n")
      log:store { lines[1], lines[2] }
      local status = live.wait_for(function() return world.read(out .. ".status") end)
      assert.equal(125, tonumber(status))
      assert.equal("hcp: audit: log truncated\n", (world.read(out .. ".err"):gsub(world.noise, "")))
    end)
  end)

  describe("show", function()
    it("prints the records of a run and of those that it asked for", function()
      w:pack("outer", {
        ["pack.yaml"] = "hcp: 1\npack_id: outer\nversion: 1.0.0\nsummary: Asks for another\nuses: [demo.lua]\n" ..
          "commands:\n  ask: { summary: Asks, kind: composite, script: ask.lua, effect: read }\n",
        ["policy.yaml"] = "hcp: 1\npolicies: { ask: { capability: demo.read } }\n",
        ["ask.lua"] = "return function(args, ctx) return ctx.exec('demo', 'lua') end\n",
      })
      w:activate("outer")
      assert.is_true(run().ok)
      local envelope = w:exec("outer", "ask")
      assert.is_true(envelope.ok, envelope.error)
      assert.is_true(run().ok)
      local records = w:audit()
      assert.equal(9, #records)
      assert.equal(records[4].run_id, records[5].parent_run_id)
      assert.equal(stored(4, 7), select(2, log:audit("show", records[4].run_id)))
      assert.equal(stored(5, 6), select(2, log:audit("show", records[5].run_id)))
    end)

    it("says so where there is no such run", function()
      assert.is_true(run().ok)
      for _, id in ipairs { "01ARZ3NDEKTSV4RRFFQ69G5FAV", "", ("x"):rep(5000) } do
        local status, out, err = log:audit("show", id)
        assert.equal(1, status)
        assert.equal("", out)
        assert.equal("hcp: the log has no run " .. id .. "\n", err)
      end
    end)
  end)

  describe("grep", function()
    it("finds records by any field, all of those that are given", function()
      assert.is_true(run().ok)
      assert.is_false(run("plain", { n = 0 }).ok)
      assert.is_false(w:exec("nowhere", "x").ok)
      local function found(...) return select(2, log:audit("grep", ...)) end
      assert.equal(stored(4), found("kind=deny"))
      assert.equal(stored(4, 4), found("kind=deny", "verb=plain"))
      assert.equal(stored(5, 5), found("pack=nowhere"))
      assert.equal(stored(5, 5), found("step=1"))
      assert.equal(stored(3, 3), found("step=9"))
      assert.equal(stored(2, 4), found("session=default", "pack=demo"))
      assert.equal(stored(5, 5), found("error=unknown pack nowhere"))
      assert.equal(stored(5, 5), found("text=unknown pack"))
      assert.equal(stored(), found("since=2020"))
      assert.equal(stored(4, 4), found('args={"n":0}'))
    end)

    it("ends with 1 where nothing fits", function()
      assert.is_true(run().ok)
      local status, out, err = log:audit("grep", "kind=deny")
      assert.equal(1, status)
      assert.equal("", out .. err)
    end)

    it("refuses what is no field rather than finding nothing", function()
      assert.is_true(run().ok)
      for word, why in pairs {
        ["knd=deny"] = 'hcp: a record has no field "knd": see docs/audit.md\n',
        ["=deny"] = 'hcp: a record has no field "": see docs/audit.md\n',
        ["deny"] = 'hcp: "deny" is not field=value\n',
      } do
        local status, out, err = log:audit("grep", word)
        assert.equal(2, status)
        assert.equal("", out)
        assert.equal(why, err)
      end
    end)
  end)

  describe("export", function()
    local function cells(line)
      local list = {}
      for cell in (line .. ","):gmatch('("[^"]*"),') do list[#list + 1] = cell end
      return list
    end

    it("gives CSV, a header and a row a record", function()
      assert.is_true(run().ok)
      local status, out = log:audit("export", "--format", "csv")
      assert.equal(0, status)
      local rows = {}
      for row in out:gmatch("([^\r\n]*)\r\n") do rows[#rows + 1] = row end
      assert.equal(4, #rows)
      assert.equal(#out, select(2, out:gsub("[^\r\n]", "")) + 2 * 4)
      assert.matches("^seq,time,kind,run_id,parent_run_id,face,uid,pid,session,principal,", rows[1])
      local record = w:audit()[2]
      assert.same({ '"2"', '"' .. record.time .. '"', '"begin"', '"' .. record.run_id .. '"' },
        table.move(cells(rows[3]), 1, 4, 1, {}))
      assert.equal(select(2, rows[1]:gsub(",", "")), select(2, rows[3]:gsub(",", "")))
    end)

    it("never begins a cell as a formula", function()
      assert.is_false(w:exec("=1+1", "x").ok)
      local _, out = log:audit("export", "--format", "csv", "kind=deny")
      assert.truthy(out:find([[,"'=1+1",]], 1, true))
    end)

    it("gives OTLP, a line of JSON a record, refusals as warnings", function()
      assert.is_true(run().ok)
      assert.is_false(w:exec("nowhere", "x").ok)
      local status, out = log:audit("export", "--format=otlp")
      assert.equal(0, status)
      local levels = {}
      for line in out:gmatch("[^\n]+") do
        local record = cjson.decode(line).resourceLogs[1].scopeLogs[1].logRecords[1]
        levels[#levels + 1] = record.severityText .. " " .. record.body.stringValue
      end
      assert.same({ "INFO genesis", "INFO begin demo lua", "INFO end demo lua",
        "WARN deny nowhere x: unknown pack nowhere" }, levels)
    end)

    it("says how many lines it had to leave out", function()
      assert.is_true(run().ok)
      local lines = log:lines()
      lines[2] = "garbage"
      log:store(lines)
      local status, out, err = log:audit("export", "--format", "otlp")
      assert.equal(1, status)
      assert.equal(2, select(2, out:gsub("\n", "")))
      assert.equal("hcp: lines that are no records were left out: 1 (hcp audit verify names them)\n", err)
    end)

    it("needs a format", function()
      for _, words in ipairs { {}, { "--format", "xml" }, { "--format", "" } } do
        local status, out, err = log:audit("export", table.unpack(words))
        assert.equal(2, status)
        assert.equal("", out)
        assert.equal("hcp: --format must be csv or otlp\n", err)
      end
    end)
  end)

  describe("checkpoint", function()
    local function keep(text)
      world.write(w.dir .. "/kept", text)
      return w.dir .. "/kept"
    end

    it("needs a key, which is made once and closed to others", function()
      assert.is_true(run().ok)
      local status, out, err = log:audit("checkpoint")
      assert.equal(125, status)
      assert.equal("", out)
      assert.equal("hcp: audit: " .. w.root .. "/secrets/audit_key is missing: `hcp audit key --create` makes one\n", err)
      -- and nothing was recorded
      assert.equal(3, #log:lines())
      status, out = log:audit("key", "--create")
      assert.equal(0, status)
      local key = cjson.decode(out)
      assert.is_true(key.created)
      assert.matches("^%x+$", key.public_key)
      assert.equal(64, #key.public_key)
      assert.equal("600 700\n", (select(2, world.sh(("cd %s/secrets && echo $(stat -c %%a audit_key .)"):format(w.root)))))
      assert.equal(65, #world.read(w.root .. "/secrets/audit_key"))
      assert.equal(key.public_key, cjson.decode((select(2, log:audit("key")))).public_key)
      status, out, err = log:audit("key", "--create")
      assert.equal(125, status)
      assert.equal("", out)
      assert.equal("hcp: audit: " .. w.root .. "/secrets/audit_key: File exists\n", err)
    end)

    it("is a record and a signed line, which the key and no other confirms", function()
      assert.is_true(run().ok)
      local _, out = log:audit("key", "--create")
      local key = cjson.decode(out).public_key
      local status, line = log:audit("checkpoint")
      assert.equal(0, status)
      local c = cjson.decode(line)
      local last = w:audit()[4]
      assert.equal("checkpoint", last.kind)
      assert.same({ hcp = 1, seq = 4, time = last.time, hash = last.hash, public_key = key, signature = c.signature }, c)
      assert.equal(0, (log:audit("verify", "--checkpoint", keep(line))))
      assert.equal(0, (log:audit("verify", "--checkpoint", keep(line), "--key", key)))
      -- without the secret the public key does
      assert(os.remove(w.root .. "/secrets/audit_key"))
      assert.equal(0, (log:audit("verify", "--checkpoint", keep(line), "--key", key)))
      assert.equal(125, (log:audit("verify", "--checkpoint", keep(line))))
      local other = key:sub(1, 1) == "0" and "1" .. key:sub(2) or "0" .. key:sub(2)
      for text, why in pairs {
        [line:gsub('"seq":4', '"seq":3')] = "the checkpoint isn't signed by that key",
        [line:gsub('"hash":"%x', '"hash":"' .. (c.hash:sub(1, 1) == "0" and "1" or "0"))] = "the checkpoint isn't signed by that key",
        ['{"hcp":1}'] = "no checkpoint",
      } do
        local code, said, err = log:audit("verify", "--checkpoint", keep(text), "--key", key)
        assert.equal(125, code)
        assert.equal("", said)
        assert.equal("hcp: audit: " .. why .. "\n", err)
      end
      local code, _, err = log:audit("verify", "--checkpoint", keep(line), "--key", other)
      assert.equal(125, code)
      assert.equal("hcp: audit: the checkpoint isn't signed by that key\n", err)
    end)

    it("that can't be read is an error, never a log without one", function()
      assert.is_true(run().ok)
      local status, out, err = log:audit("verify", "--checkpoint", w.dir .. "/nowhere")
      assert.equal(125, status)
      assert.equal("", out)
      assert.equal("hcp: " .. w.dir .. "/nowhere: can't be opened\n", err)
      status, out = log:audit("verify", "--checkpoint", keep(""), "--key", ("0"):rep(64))
      assert.equal(125, status)
      assert.equal("", out)
    end)
  end)

  it("works where a broken policy denies every run", function()
    assert.is_true(run().ok)
    w:policy("nonsense: 1\n", "broken")
    assert.is_false(run().ok)
    assert.is_true((log:verify()).intact)
    for _, words in ipairs { { "tail" }, { "grep", "kind=begin" }, { "recover" }, { "rotate" }, { "export", "--format", "csv" } } do
      assert.equal(0, (log:audit(table.unpack(words))))
    end
  end)

  it("tells wrong usage from everything else", function()
    for _, words in ipairs { {}, { "verfy" }, { "verify", "x" }, { "verify", "-f" }, { "tail", "x" }, { "tail", "--create" },
      { "tail", "-n", "x" }, { "tail", "-n", "-1" }, { "tail", "-n" }, { "tail", "-n", "" }, { "show" }, { "show", "a", "b" },
      { "grep" }, { "recover", "x" }, { "rotate", "-n", "1" }, { "checkpoint", "x" }, { "key", "x" },
      { "verify", "--key", "00" } } do
      local status, out, err = log:audit(table.unpack(words))
      assert.equal(2, status, table.concat(words, " "))
      assert.equal("", out)
      assert.matches("^[hu][cs][pa]", err)
    end
    -- its options are its own
    local status, _, err = w:cli { "packs", "-f" }
    assert.equal(2, status)
    assert.matches("^hcp: unknown option %-f\n", err)
  end)

  it("reports a pipe that nobody reads", function()
    for _ = 1, 3 do assert.is_true(run().ok) end
    local status, _, err = world.sh(("%s --root %s --state %s audit tail >/dev/full"):format(quote(world.hcp), quote(w.root),
      quote(w.state)))
    assert.equal(125, status)
    assert.equal("hcp: stdout: write: No space left on device\n", err)
  end)
end)
