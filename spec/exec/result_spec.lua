-- §6.2, §6.4 step 8: what a program prints and how it exits, as a result envelope, to the byte.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: out
version: 1.0.0
summary: Prints what its stdin says
wrap: { bin: ./bin/print, stdin: "{{text}}", json_flag: [] }
commands:
  auto: { summary: s, cli: [x], effect: read }
  json: { summary: s, cli: [x], wrap: { result: json }, effect: read }
  text: { summary: s, cli: [x], wrap: { result: text }, effect: read }
  lines: { summary: s, cli: [x], wrap: { result: lines }, effect: read }
  sh: { summary: s, cli: [x], wrap: { bin: ./bin/sh }, effect: read }
  shtext: { summary: s, cli: [x], wrap: { bin: ./bin/sh, result: text }, effect: read }
  shjson: { summary: s, cli: [x], wrap: { bin: ./bin/sh, result: json }, effect: read }
  checked:
    summary: s
    cli: [x]
    output: { type: object, properties: { n: { type: integer, maximum: 9 } }, required: [n] }
    effect: read
  lua:
    summary: s
    kind: composite
    script: verbs/lua.lua
    output: { type: object, properties: { n: { type: integer, maximum: 9 } }, required: [n] }
    effect: read
]]

local policy = "hcp: 1\npolicies:\n"
for verb in manifest:gmatch("\n  (%w+):") do policy = policy .. "  " .. verb .. ": { capability: out.all }\n" end

local grants = [[
grants: [ { principal: "*", capabilities: ["out.*"] } ]
packs: { out: { bins: [./bin/print, ./bin/sh] } }
]]

local files = {
  ["pack.yaml"] = manifest,
  ["policy.yaml"] = policy,
  ["bin/print"] = { "#!/bin/sh\nexec cat\n", "755" },
  ["bin/sh"] = { "#!/bin/sh\nexec sh -s\n", "755" },
  ["verbs/lua.lua"] = "return function(args) return args.value end\n",
}

describe("a result", function()
  local w

  setup(function()
    w = world.new()
    w:pack("out", files)
    w:policy(grants)
    w:activate("out")
  end)
  teardown(function() w:close() end)

  -- the envelope's own bytes
  local function printed(verb, text)
    local status, out, stderr = w:cli({ "exec", "-" },
      { stdin = ('{"pack_id":"out","verb_key":"%s","args":{"text":%s}}'):format(verb, cjson.encode(text)) })
    assert.equal("", stderr)
    return out, status
  end

  local function gives(json, verb, text)
    local out, status = printed(verb, text)
    assert.equal(('{"ok":true,"pack_id":"out","verb_key":"%s","result":%s}\n'):format(verb, json), out)
    assert.equal(0, status)
  end

  local function ends(exit, expected, verb, text)
    local envelope, status, stderr = w:exec("out", verb, { text = text })
    expected.ok, expected.pack_id, expected.verb_key = false, "out", verb
    assert.same(expected, envelope)
    assert.equal(exit, status)
    assert.equal("", stderr)
    local records = w:audit()
    assert.equal("end", records[#records].kind)
    assert.equal(8, records[#records].step)
    return records[#records]
  end

  describe("that is JSON", function()
    it("keeps its bytes", function()
      for _, text in ipairs {
        "9007199254740993", "1.10", "[]", "{}", "123456789012345678901234567890", "-123456789012345678901234567890",
        "0.1000000000000000055511151231257827", "1e5", "1E+5", "1e999", "-0", "-0.0", "0", "null", "true", "false", '""',
        '"a"', '"\\u00e9"',
        '"\u{e9}"', '"\\/"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\"\\\\"',
        '{"z":1.10,"a":{"b":[1,2.0,[]]},"A":null}', '[[[[]]]]', '[{"n":9007199254740993},1.10,"x"]', '{"":0}',
      } do
        gives(text, "auto", text)
        gives(text, "json", text)
        gives(text, "auto", text .. "\n")
      end
    end)

    it("loses the white space between tokens, and no other", function()
      gives('{"a":[1,"b c\\td"],"d":1.10}', "auto", '\n{ "a" : [ 1 ,\t"b c\\td" ],\r\n "d":1.10 }\n\n')
      gives("1.10", "json", "  1.10  ")
    end)

    it("may be a thousand levels deep; deeper is text", function()
      local deep = ("["):rep(1000) .. ("]"):rep(1000)
      gives(deep, "auto", deep)
      gives('"[' .. deep .. ']"', "auto", "[" .. deep .. "]")
    end)

    it("may be big", function()
      local list = {}
      for i = 1, 60000 do list[i] = ('{"i":%d.0}'):format(i) end
      local text = "[" .. table.concat(list, ",") .. "]"
      gives(text, "auto", text)
    end)
  end)

  describe("that is text", function()
    it("is the string, with its newlines", function()
      for text, json in pairs {
        [""] = '""', ["\n"] = '"\\n"', [" "] = '" "', ["hello\n"] = '"hello\\n"', ["1 2"] = '"1 2"', ["{"] = '"{"',
        ["{}{}"] = '"{}{}"', ["[1,]"] = '"[1,]"', ["NaN"] = '"NaN"', ["01"] = '"01"', ["1."] = '"1."', ["+1"] = '"+1"',
        ["'a'"] = [["'a'"]], ["nul"] = '"nul"', ["True"] = '"True"',
        ['"a'] = '"\\"a"', ["\u{e9}\u{1f389}"] = '"\u{e9}\u{1f389}"',
        ["a\tb\\"] = '"a\\tb\\\\"',
      } do
        gives(json, "auto", text)
      end
      gives('"1.10\\n"', "text", "1.10\n")
      gives('"{\\"a\\":1}"', "text", '{"a":1}')
      gives('""', "text", "")
    end)

    it("that is no UTF-8 has U+FFFD for each byte that isn't", function()
      local function binary(octal) return w:exec("out", "shtext", { text = "printf '" .. octal .. "'" }).result end
      assert.equal("a\u{fffd}b", binary "a\\377b")
      assert.equal("\u{fffd}\u{fffd}\u{fffd}", binary "\\200\\300\\376")
      assert.equal("\u{e9}\u{fffd}", binary "\\303\\251\\303")
      assert.equal("\0a\0", binary "\\000a\\000")
      assert.equal("\u{fffd}\u{fffd}\u{fffd}", binary "\\355\\240\\200") -- a surrogate
      assert.equal("\u{fffd}\u{fffd}", binary "\\300\\257") -- an overlong slash
      assert.equal("\"a\u{fffd}\"", w:exec("out", "sh", { text = "printf '\"a\\377\"'" }).result)
    end)
  end)

  it("json: makes anything else a failure, and shows what was printed", function()
    for text, at in pairs { ["hello"] = 0, ["1 2"] = 2, ["{}x"] = 2, ["[1,]"] = 3 } do
      local envelope, status = w:exec("out", "json", { text = text })
      assert.matches("^invalid result: result: not JSON at byte " .. at .. ": %S", envelope.error)
      assert.is_nil(envelope.result)
      assert.equal(text, envelope.stdout)
      assert.equal(1, status)
    end
    local envelope, status = w:exec("out", "json", { text = "" })
    assert.matches("^invalid result: result: not JSON at byte 0: %S", envelope.error)
    assert.is_nil(envelope.stdout)
    assert.equal(1, status)
    envelope = w:exec("out", "shjson", { text = "printf '\"\\377\"'" })
    assert.matches("^invalid result: result: not JSON at byte 1: %S", envelope.error)
    assert.equal("\"\u{fffd}\"", envelope.stdout)
  end)

  it("lines: is a list of strings", function()
    for text, json in pairs {
      [""] = "[]", ["a"] = '["a"]', ["a\n"] = '["a"]',
      ["a\nb"] = '["a","b"]', ["\n"] = '[""]', ["a\n\nb\n"] = '["a","","b"]',
      ["1.10\n{}\n"] = '["1.10","{}"]', ["a\r\nb"] = '["a\\r","b"]', ["\u{e9} \t\n"] = '["\u{e9} \\t"]',
    } do
      gives(json, "lines", text)
    end
  end)

  describe("of many bytes", function()
    local function head(n, where)
      return ("head -c %d /dev/zero | tr '\\0' x %s"):format(n, where or "")
    end

    it("is whole up to the limit of 8M", function()
      local envelope, status = w:exec("out", "sh", { text = head(8 * 1024 * 1024) })
      assert.equal(0, status)
      assert.equal(8 * 1024 * 1024, #envelope.result)
      assert.is_nil(envelope.result:find("[^x]"))
    end)

    it("fails one byte above, on stderr, too", function()
      local envelope, status = w:exec("out", "sh", { text = head(8 * 1024 * 1024 + 1) })
      assert.equal("sandbox: output over 8M", envelope.error)
      assert.equal(1, status)
      assert.equal(8 * 1024 * 1024, #envelope.stdout)
      assert.is_nil(envelope.result)
      envelope, status = w:exec("out", "sh", { text = head(8 * 1024 * 1024 + 1, ">&2") })
      assert.equal("sandbox: output over 8M", envelope.error)
      assert.equal(1, status)
      assert.equal(8 * 1024 * 1024, #envelope.stderr)
    end)

    it("is limited by the operator, each stream for itself", function()
      local v = world.new()
      finally(function() v:close() end)
      v:pack("out", files)
      v:policy(grants:gsub("bin/sh%]", "%0, sandbox: { limits: { output: 1000 } }"))
      v:activate("out")
      local both = head(1000, ">&2") .. ";" .. head(1000)
      local envelope = v:exec("out", "sh", { text = both })
      local text = ("x"):rep(1000)
      assert.same({ ok = true, pack_id = "out", verb_key = "sh", result = text, stderr = text }, envelope)
      envelope = v:exec("out", "sh", { text = both .. ";echo" })
      assert.equal("sandbox: output over 1000", envelope.error)
      assert.equal(("x"):rep(1000), envelope.stdout)
    end)
  end)

  describe("of an exit status", function()
    it("that isn't 0 is the failure's name where stderr says nothing", function()
      for _, code in ipairs { 1, 2, 3, 64, 99, 124, 126, 127, 128, 137, 255 } do
        local record = ends(code, { error = "exit " .. code }, "sh", "exit " .. code)
        assert.equal(code, record.exit_code)
        assert.equal("exit " .. code, record.error)
      end
      ends(3, { error = "exit 3", stderr = " \n\t\n" }, "sh", "printf ' \\n\\t\\n' >&2; exit 3")
    end)

    it("that isn't 0 has stderr, trimmed at its end, for an error, and both streams beside it", function()
      ends(3, { error = " two\nlines", stderr = " two\nlines \r\n\n" }, "sh",
        "printf ' two\\nlines \\r\\n\\n' >&2; exit 3")
      ends(1, { error = "why", stderr = "why\n", stdout = '{"ok":true}\n' }, "sh",
        "echo '{\"ok\":true}'; echo why >&2; exit 1")
      ends(1, { error = "exit 1", stdout = "out" }, "sh", "printf out; exit 1")
      ends(1, { error = "a\u{fffd}", stderr = "a\u{fffd}" }, "sh", "printf 'a\\377' >&2; exit 1")
    end)

    it("cuts that error at 64 KiB, and not stderr", function()
      local text = ("x"):rep(70000)
      local envelope = w:exec("out", "sh", { text = "head -c 70000 /dev/zero | tr '\\0' x >&2; exit 1" })
      assert.equal(text:sub(1, 65536), envelope.error)
      assert.equal(text, envelope.stderr)
    end)

    it("0 is ok whatever stderr says, which stands beside the result", function()
      assert.equal('{"ok":true,"pack_id":"out","verb_key":"sh","result":1.10,"stderr":"careful\\n"}\n',
        (printed("sh", "echo 1.10; echo careful >&2")))
    end)
  end)

  describe("with an output schema", function()
    local over, missing = "n: must be at most 9", "n: is required"
    local list, word = "result: must be an object, not a list", "result: must be an object, not a string"

    it("that it fits is given, without a word", function()
      gives('{"n":9,"m":1.10}', "checked", '{"n":9,"m":1.10}')
    end)

    it("that it misses stays ok for a wrap, and is logged", function()
      for text, why in pairs { ['{"n":10}'] = over, ["{}"] = missing, ["[]"] = list, ["x"] = word } do
        local envelope, status, stderr = w:exec("out", "checked", { text = text })
        assert.is_true(envelope.ok)
        assert.equal(0, status)
        assert.equal("hcp: warning: out.checked: invalid result: " .. why .. "\n", stderr)
      end
    end)

    it("that it misses fails for a composite", function()
      assert.same({ n = 9 }, w:exec("out", "lua", { value = { n = 9 } }).result)
      for json, why in pairs { ['{"n":10}'] = over, ["{}"] = missing, ['"x"'] = word } do
        local envelope, status = w:exec("out", "lua", '{"value":' .. json .. "}")
        assert.same({ ok = false, pack_id = "out", verb_key = "lua", error = "invalid result: " .. why }, envelope)
        assert.equal(1, status)
      end
    end)
  end)

  describe("--raw", function()
    local function raw(verb, text)
      local status, out, err = w:cli { "--raw", "exec", "out", verb, "--", "text:=" .. cjson.encode(text) }
      return out, status, err
    end

    it("is the result alone: text as it is, everything else as JSON, a newline behind", function()
      for text, out in pairs {
        ["1.10"] = "1.10\n", ['{ "z":1, "a":[] }'] = '{"z":1,"a":[]}\n', ["hello\n"] = "hello\n", ["hello"] = "hello\n",
        [""] = "\n", ['"a\\nb"'] = "a\nb\n", ["null"] = "null\n", ["true"] = "true\n",
        ["123456789012345678901234567890"] = "123456789012345678901234567890\n",
      } do
        assert.same({ out, 0, "" }, { raw("auto", text) })
      end
      assert.same({ "a\0b\n", 0, "" }, { raw("sh", "printf 'a\\000b'") })
    end)

    it("leaves stdout empty for a failure, and says why on stderr", function()
      assert.same({ "", 3, "hcp: exit 3\n" }, { raw("sh", "echo out; exit 3") })
      assert.same({ "", 4, "hcp: why\n" }, { raw("sh", "echo why >&2; exit 4") })
    end)
  end)

  it("comes to a stdout that is closed as a failure of hcp", function()
    local status, out, err = w:cli({ "exec", "out", "auto", "--", "text=x" }, { before = "exec >&-;" })
    assert.same({ 125, "" }, { status, out })
    assert.matches("^hcp: stdout: %S", err)
    status, out, err = world.sh(("%s --root %s --state %s exec out auto -- text=x >/dev/full"):format(quote(world.hcp),
      quote(w.root), quote(w.state)))
    assert.same({ 125, "" }, { status, out })
    assert.matches("^hcp: stdout: %S", err)
  end)
end)
