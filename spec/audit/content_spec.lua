-- What gets into a record, whatever callers and programs send: one line of JSON of at most 16 KiB each, and nothing that
-- is secret.
local demo = require "demo"
local world = require "world"
local auditlog = require "log"
local cjson = require "cjson"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: say
version: 1.0.0
summary: Says what it is told
uses: [say.log in]
wrap: { bin: ./bin/say, json_flag: [] }
commands:
  any: { summary: Any text, cli: [say, fail], effect: read, wrap: { stdin: "{{text}}" } }
  "log in":
    summary: Takes a password and prints it where it shouldn't
    cli: [say, "{{how}}", "{{user}}"]
    wrap: { stdin: "{{password}}" }
    effect: read
    args:
      properties:
        how: { type: string }
        user: { type: string }
        password: { type: string, writeOnly: true }
        more: { properties: { pins: { type: array, items: { type: integer, writeOnly: true } } } }
      required: [password]
  pass:
    summary: Passes a password on
    kind: composite
    script: pass.lua
    effect: read
    args: { properties: { password: { type: string, writeOnly: true }, how: { type: string } } }
]]

describe("an audit record", function()
  local w, log

  before_each(function()
    w = demo.world()
    log = auditlog.of(w)
    w:pack("say", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = 'hcp: 1\npolicies: { any: {}, "log in": {}, pass: {} }\n',
      ["bin/say"] = { "#!/bin/sh\ncase $1 in ok) cat;; fail) cat >&2; exit 3;; " ..
        "hex) od -An -tx1 | tr -d ' \\n' >&2; exit 4;; esac\n", "755" },
      ["pass.lua"] = "return function(args, ctx) return " ..
        "ctx.exec('log in', { how = args.how, user = args.password, password = args.password }) end\n",
    })
    w:policy [[
grants: [ { principal: "*", capabilities: ["demo.*", "say.*"] } ]
packs: { demo: { bins: [./bin/show] }, say: { bins: [./bin/say] } }
]]
    w:activate("say")
  end)
  after_each(function() w:close() end)

  local function args_level(level)
    w:put("hcp.yaml", "hcp: 1\naudit: { args: " .. level .. " }\n")
  end

  -- Every line is whole, short, free of what a reader might take for a line's end, and verifies.
  local function in_order(count)
    local _, text = w:audit()
    assert.equal(count, select(2, text:gsub("\n", "")))
    for line in text:gmatch("[^\n]+") do
      assert.is_true(#line < 16384, "a line of " .. #line)
      assert.is_nil(line:find("[%z\1-\31\127]"))
      assert.is_nil(line:find("\u{2028}", 1, true) or line:find("\u{2029}", 1, true))
      assert.is_not_nil(utf8.len(line))
    end
    assert.same({}, (log:findings()))
    local status, said = world.sh("python3 " .. quote(world.source .. "/spec/audit_reader.py") .. " " .. quote(log:path()))
    assert.equal(0, status)
    assert.matches("^" .. count .. " records, the last hash is %x+\n$", said)
  end

  local odd = { "line\nfeed\rand\0nul", "\27[31mred\27]0;title\7",
    "\u{2028}\u{2029}\u{85}\u{feff}", '"},"hash":"x"}\n{"seq":1', "\127\1\31",
    ("x"):rep(900000), ("\n"):rep(400000), ("\u{2028}"):rep(300000), ("\u{10ffff}"):rep(200000) }

  it("stays one short line whatever the arguments are", function()
    for i, text in ipairs(odd) do
      local envelope = w:exec("demo", "lua", { text = text })
      -- a script's result has a limit; the record comes before
      if #text < 1000 then assert.is_true(envelope.ok, envelope.error) end
      local record = w:audit()[2 * i]
      assert.equal("begin", record.kind)
      if #text < 1000 then
        assert.equal(text, record.args.text)
      else
        assert.same({ digest = "sha256:" .. record.args.digest:sub(8), bytes = record.args.bytes }, record.args)
        assert.is_true(record.args.bytes > #text)
      end
    end
    in_order(1 + 2 * #odd)
  end)

  it("stays one short line whatever names are asked for", function()
    local n = 1
    for _, text in ipairs(odd) do
      for _, envelope in ipairs { { text, "x" }, { "demo", text }, { text, text } } do
        if #text * (envelope[1] == envelope[2] and 2 or 1) < 900000 then
          local answer = w:exec(envelope[1], envelope[2], { a = 1 })
          assert.is_false(answer.ok)
          n = n + 1
        end
      end
    end
    in_order(n)
  end)

  it("stays one short line where the envelope is none", function()
    local texts = { "", "{", '{"pack_id":"demo","verb_key":"\255\254"}', "\0\0", ("["):rep(100000), ("x"):rep(1100000), "\u{2028}" }
    for i, text in ipairs(texts) do
      local envelope = w:send(text)
      assert.is_false(envelope.ok)
      assert.matches("^invalid envelope: ", envelope.error)
      assert.equal("deny", w:audit()[i + 1].kind)
    end
    in_order(1 + #texts)
  end)

  it("stays one short line whatever a program prints, and keeps its beginning", function()
    local texts = { "a\0b", "\255\254\n\27[0m", "x\u{2028}y", ("\n"):rep(100000) .. "x", ("e"):rep(1000000), ("\0"):rep(5000) .. "x" }
    for i, text in ipairs(texts) do
      -- from a file: a program's bytes, which JSON couldn't carry
      w:pack("say", { ["bin/say"] = { "#!/bin/sh\ncat \"$HCP_PACK_ROOT/bytes\" >&2\nexit 3\n", "755" }, bytes = text })
      local envelope = w:exec("say", "any", { text = "" })
      assert.is_false(envelope.ok)
      local record = w:audit()[1 + 2 * i]
      assert.equal("end", record.kind)
      assert.equal(3, record.exit_code)
      assert.equal(#text, record.bytes_out)
      if i == 1 then assert.equal("a\0b", record.error) end
      if i == 3 then assert.equal("x\u{2028}y", record.error) end
      if i == 5 then assert.matches("^e+\u{2026} %(%d+ bytes%)$", record.error) end
    end
    in_order(1 + 2 * #texts)
  end)

  describe("of a command with writeOnly arguments", function()
    local password = "Tr0ub4dor&3 \u{fc}ber"
    local function absent(...)
      local _, text = w:audit()
      for _, secret in ipairs { ... } do assert.is_nil(text:find(secret, 1, true), secret) end
      for line in text:gmatch("[^\n]+") do
        for _, secret in ipairs { ... } do
          assert.is_nil(cjson.encode(cjson.decode(line)):find(cjson.encode(secret):sub(2, -2), 1, true), secret)
        end
      end
    end

    for _, level in ipairs { "redacted", "keys", "none" } do
      it("never holds their values, at level " .. level, function()
        args_level(level)
        for _, how in ipairs { "ok", "fail", "hex" } do
          local envelope = w:exec("say", "log in", { how = how, user = "ada", password = password, more = { pins = { 271828, 314159 } } })
          assert.equal(how == "ok", envelope.ok)
          if how == "fail" then assert.equal(password, envelope.error) end -- the caller knows it
        end
        -- refused ones, too
        assert.is_false(w:exec("say", "log in", { how = 5, password = password }).ok)
        assert.is_false(w:exec("say", "log in", { password = { password } }).ok)
        absent(password, "271828", "314159", (password:gsub(".", function(c) return ("%02x"):format(c:byte()) end)))
        local records = w:audit()
        if level == "redacted" then
          assert.same({ how = "ok", user = "ada", more = { pins = {} } }, records[2].args)
        elseif level == "keys" then
          table.sort(records[2].args)
          assert.same({ "how", "more", "password", "user" }, records[2].args)
        else
          assert.is_nil(records[2].args)
        end
        assert.equal("[redacted]", records[5].error)
        assert.equal("[redacted]", records[7].error)
        in_order(1 + 6 + 2)
      end)
    end

    it("never holds what a script passed on as another's ordinary argument, or raised", function()
      for _, how in ipairs { "ok", "fail", "hex" } do
        assert.equal(how == "ok", w:exec("say", "pass", { how = how, password = password }).ok)
      end
      absent(password)
      local records = w:audit()
      assert.equal("log in", records[3].verb)
      assert.same({ how = "ok", user = "[redacted]" }, records[3].args)
      in_order(1 + 3 * 4)
    end)

    it("never holds a value that is too long to be looked for, nor a part of it", function()
      local long = ("secret-"):rep(12000)
      assert.is_false(w:exec("say", "log in", { how = "fail", user = "ada", password = long }).ok)
      absent("secret-secret-")
      -- one that is cut where the text of an error is
      local half = ("half-"):rep(8000)
      w:pack("say", { ["bin/say"] = { "#!/bin/sh\np=$(cat); printf '%s%s' \"$p\" \"$p\" >&2; exit 3\n", "755" } })
      assert.is_false(w:exec("say", "log in", { password = half }).ok)
      absent("half-half-")
      local records = w:audit()
      assert.equal("[redacted]", records[3].error)
      assert.equal("[redacted]", records[5].error)
      in_order(5)
    end)
  end)

  it("never holds the token of the call, as an argument, a name or an error, at any level", function()
    local token = "t0ken/geheim+und=lang"
    world.write(w.dir .. "/token", token, "600")
    for _, level in ipairs { "redacted", "keys", "none" } do
      args_level(level)
      for _, envelope in ipairs { { "demo", "lua", { a = token, [token] = "b" } }, { token, "x" }, { "demo", token },
        { "say", "any", { text = token } } } do
        w:cli({ "--token-file", w.dir .. "/token", "exec", "-" },
          { stdin = cjson.encode { pack_id = envelope[1], verb_key = envelope[2], args = envelope[3] } })
      end
    end
    local records, text = w:audit()
    assert.is_nil(text:find(token, 1, true))
    assert.is_nil(text:find("geheim", 1, true))
    local denied = 0
    for _, record in ipairs(records) do
      if record.kind == "deny" then denied = denied + 1 end
    end
    assert.is_true(denied >= 6)
    in_order(#records)
  end)
end)
