-- One command, asked for in every way that there is: the same envelope, whoever asks.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"
local hcp = require "hcp"

local quote = world.quote

describe("the faces", function()
  local w, rt
  setup(function()
    w = demo.world()
    rt = assert(hcp.open { root = w.root, state = w.state })
  end)
  teardown(function()
    rt:close()
    w:close()
  end)

  local function envelope(verb, args)
    return ('{"pack_id":"demo","verb_key":"%s","args":%s}'):format(verb, args)
  end

  it("answer alike: exec with words, exec -, the library", function()
    for _, case in ipairs {
      { "plain", '{"n":1,"text":"a b"}', { "n=1", "text=a b" } },
      { "plain", '{"n":9007199254740993}', { "n=9007199254740993" } },
      { "plain", '{"n":0}', { "n=0" } },
      { "plain", '{"n":1,"texx":"x"}', { "n=1", "texx=x" } },
      { "plain", "{}", {} },
      { "argv", '{"a":true,"b":[1,2.5,"x"],"c":null}', { "a=true", "b:=[1,2.5,\"x\"]", "c=null" } },
      { "argv", '{"a":"007","b":"1.10","c":"-"}', { "a=007", "b=1.10", 'c:="-"' } },
      { "argv", '{"a":"ü $(x) {{b}}"}', { "a=ü $(x) {{b}}" } },
      { "argv", '{"a":"-x"}', { "a=-x" } },
      { "lua", '{"k":{"deep":[1,{}]}}', { 'k:={"deep":[1,{}]}' } },
      { "mark", "{}", {} },
      { "mark", '{"confirm":true}', { "confirm=true" } },
      { "nopolicy", "{}", {} },
      { "other", "{}", {} },
    } do
      local verb, args, words = table.unpack(case)
      local _, status, _, piped = w:send(envelope(verb, args))
      local said, out = w:cli { "exec", "demo", verb, "--", table.unpack(words) }
      local json, info = rt:exec(envelope(verb, args))
      assert.equal(piped, out, verb .. " " .. args)
      assert.equal(piped, json .. "\n", verb .. " " .. args)
      assert.equal(status, said)
      assert.equal(status, info.exit)
      assert.equal(cjson.decode(piped).ok, info.ok)
      assert.equal(cjson.decode(piped).error or "", info.error)
      assert.equal(26, #info.run_id)
    end
  end)

  it("take arguments with and without --", function()
    local _, with = w:cli { "exec", "demo", "plain", "--", "n=1" }
    local _, without = w:cli { "exec", "demo", "plain", "n=1" }
    assert.equal(with, without)
    assert.is_true(cjson.decode(with).ok)
  end)

  it("type words by the schema, and by what they say where there is none", function()
    local function args(...)
      local status, out, err = w:cli { "exec", "demo", "lua", "--", ... }
      assert.equal(0, status, err)
      return out:match('"result":{"args":(.*),"verb":"lua"}}\n$')
    end
    assert.equal("{}", args())
    assert.equal('{"a":true,"b":false,"c":null}', args("a=true", "b=false", "c=null"))
    assert.equal('{"a":10,"b":-1.5,"c":"1.10","d":"007","e":"1e3"}', args("a=10", "b=-1.5", "c=1.10", "d=007", "e=1e3"))
    assert.equal('{"a":[1,2,"x"]}', args("a=1", "a=2", "a=x"))
    assert.equal('{"a":"x=y","b":"","c":"@/etc/passwd"}', args("a=x=y", "b=", "c=@/etc/passwd"))
    assert.equal('{"a":{"b":[]}}', args('a:={"b":[]}'))
    local file = w.dir .. "/text"
    world.write(file, "one\ntwo\n")
    assert.equal('{"a":"one\\ntwo\\n"}', args("a@=" .. file))
    local _, out = w:cli({ "exec", "demo", "lua", "--", "a@=-" }, { stdin = "piped" })
    assert.equal('{"a":"piped"}', out:match('"args":(.*),"verb"'))
    local status
    status, out = w:cli { "exec", "demo", "plain", "--", "n=1", "text=007" }
    assert.equal(0, status)
    assert.same({ "--n=1", "007", "--json" }, cjson.decode(out).result)
    assert.same({ "--n=1", "10", "--json" },
      cjson.decode((select(2, w:cli { "exec", "demo", "plain", "--", "n=1", "text=10" }))).result)
  end)

  it("type words by references, by values that are listed, and by what other properties are", function()
    local v = demo.world()
    v:put("packs/demo/pack.yaml", (demo.manifest:gsub("commands:", [[
$defs: { text: { type: string }, word: { $ref: "#/$defs/text" }, short: { $ref: "#/$defs/word", maxLength: 4 } }
commands:]]):gsub("    script: verbs/lua.lua\n", [[%0    args:
      properties:
        deep: { $ref: "#/$defs/short" }
        deeps: { type: array, items: { $ref: "#/$defs/short" } }
        listed: { enum: ["1", 2, "true"] }
        only: { const: "null" }
      additionalProperties: { type: string }
]])))
    local _, out = v:cli { "exec", "demo", "lua", "deep=10", "deeps=1", "deeps=x", "listed=1", "only=null", "more=7",
      "confirm=true" }
    assert.equal('{"deep":"10","deeps":["1","x"],"listed":"1","only":"null","more":"7"}', out:match('"args":(.*),"verb"'))
    _, out = v:cli { "exec", "demo", "lua", "listed=2" }
    assert.equal('{"listed":2}', out:match('"args":(.*),"verb"'))
    v:close()
  end)

  it("say what was wrong with the words, and put nothing on stdout", function()
    for _, words in ipairs {
      {}, { "exec" }, { "exec", "demo" }, { "exec", "demo", "plain", "--", "n" }, { "exec", "demo", "plain", "--", "n:={" },
      { "exec", "demo", "plain", "--", "text@=/nothere" }, { "nothing" }, { "exec", "--wrong", "demo", "plain" },
      { "packs", "x" }, { "activate" }, { "--session", "a/b", "packs" }, { "--deadline", "soon", "packs" }, { "exec", "--root" },
      { "exec", "-", "demo" }, { "exec", "-", "--", "n=1" }, { "exec", "demo", "plain", "--", "n:=1", "n=2" },
      { "exec", "demo", "plain", "--", "n=1", "n:=2" }, { "exec", "demo", "plain", "--", "n@=/dev/null", "n=2" },
      { "exec", "demo", "lua", "--", "a@=-", "b@=-" },
      { "exec", "demo", "plain", "--", "\255=1" }, { "exec", "demo", "plain", "--", "n=\255" }, { "--deadline", "0s", "packs" },
      { "--deadline", "8785h", "packs" },
    } do
      local status, out, err = w:cli(words)
      assert.equal(2, status, table.concat(words, " "))
      assert.equal("", out)
      assert.matches("^hcp: ", err)
    end
  end)

  it("help on stdout, hints on stderr", function()
    local status, out, err = w:cli { "--help" }
    assert.equal(0, status)
    assert.equal("", err)
    for _, verb in ipairs { "exec", "activate", "deactivate", "session", "packs", "workspace" } do
      assert.matches("\n  " .. verb .. " ", out)
    end
    for _, words in ipairs { "--version", "-V", "--json --version", "exec --version", "exec demo plain -V" } do
      status, out, err = world.sh(quote(world.hcp) .. " " .. words)
      assert.equal(0, status, err)
      assert.equal("hcp " .. hcp.version .. "\n", out)
    end
    for _, words in ipairs { "exec -h", "exec --help", "--json -h exec", "exec demo plain --help" } do
      status, out, err = world.sh(quote(world.hcp) .. " " .. words)
      assert.equal(0, status, err)
      assert.matches("^usage: hcp exec <pack_id>", out)
    end
    for _, case in ipairs {
      { { "exec", "demmo", "plain" }, "hint: did you mean: demo" },
      { { "exec", "demo", "plian" }, "hint: did you mean: plain" },
      { { "exec", "demo", "mark" }, "hint: this command asks for consent: add confirm=true" },
      { { "--session", "other", "exec", "demo", "plain" },
        ("hint: run: hcp --root %s --state %s --session other activate demo\n"):format(w.root, w.state) },
      { { "exce", "demo", "plain" }, "hint: did you mean: hcp exec" },
    } do
      status, out, err = w:cli(case[1])
      assert.is_true(err:find(case[2], 1, true) ~= nil, err)
      if status == 126 then assert.equal(1, select(2, out:gsub("\n", ""))) end
    end
  end)

  it("advise what can help, and nothing else", function()
    local v = demo.world()
    local function advice(...)
      local _, _, err = v:cli { "exec", ... }
      return err
    end
    local person = "hint: the operator wants a person to confirm this: no argument does\n"
    local add = "hint: this command asks for consent: add confirm=true\n"
    v:put("packs/demo/verbs/lua.lua", "return function(_, ctx) return ctx.exec('mark', {}) end\n")
    v:policy(demo.grants .. "    commands: { argv: { confirm: person }, mark: { guard: any }, plain: { confirm: true } }\n")
    v:put("policies/guards/any.lua", "return function() return true end\n")
    assert.equal(person, advice("demo", "argv"))
    assert.equal(person, advice("demo", "argv", "confirm=true"))
    assert.equal(add, advice("demo", "mark"))
    assert.equal(add, advice("demo", "plain"))
    assert.equal("hint: a command that this one calls asks for consent\n", advice("demo", "lua"))
    assert.equal("", advice("x", "plain"))
    assert.equal("", advice("", "plain"))
    assert.equal("", advice("demo", "x"))
    assert.equal("hint: did you mean: demo\n", advice("demoo", "plain"))
    assert(os.execute("chmod 644 " .. quote(v.state .. "/sessions/default.packs")))
    assert.equal("", advice("demo", "plain"))
    v:close()
  end)

  it("tell when their output can't be written, and end with 125", function()
    for to, why in pairs { [">/dev/full"] = "No space left on device", [">&-"] = "Bad file descriptor" } do
      for _, words in ipairs { "--help", "--version", "packs", "session", "exec demo plain n=1" } do
        local line = ("%s --root %s --state %s %s %s"):format(quote(world.hcp), quote(w.root), quote(w.state), words, to)
        assert.same({ 125, "", "hcp: stdout: write: " .. why .. "\n" }, { world.sh(line) }, words)
      end
    end
    assert.same({ 125, "", "" }, { w:cli({ "exec", "demo", "plain", "n=1" }, { before = "ulimit -f 0;" }) })
  end)

  it("refuse options of the library that aren't known, and NUL bytes in what names something", function()
    for message, call in pairs {
      ['unknown option "rot"'] = function() hcp.open { rot = w.root } end,
      ['unknown option "sesion"'] = function() rt:exec(envelope("plain", "{}"), { sesion = "x" }) end,
      ['unknown option ""'] = function() rt:exec(envelope("plain", "{}"), { "x" }) end,
      ["root must be a string without NUL bytes"] = function() hcp.open { root = w.root .. "\0x" } end,
      ["session must be a string without NUL bytes"] = function() rt:exec("{}", { session = "default\0x" }) end,
      ["tenant must be a string without NUL bytes"] = function() rt:exec("{}", { tenant = 7 }) end,
      ["pack must be a string without NUL bytes"] = function() rt:activate("demo\0x") end,
    } do
      local ok, err = pcall(call)
      assert.is_false(ok)
      assert.equal(message, (err:gsub("^[^ ]*:%d+: ", "")))
    end
    local closed
    do
      local short <close> = assert(hcp.open { root = w.root, state = w.state })
      closed = short
    end
    assert.has_error(function() closed:exec("{}") end)
  end)

  it("print the result alone with --raw, and nothing of a failure", function()
    local status, out = w:cli { "--raw", "exec", "demo", "plain", "--", "n=1" }
    assert.equal(0, status)
    assert.equal('["--n=1","--json"]\n', out)
    local err
    status, out, err = w:cli { "--raw", "exec", "demo", "mark" }
    assert.equal(126, status)
    assert.equal("", out)
    assert.matches("hcp: confirm required\n", err)
  end)

  it("change one session at once and lose nothing", function()
    local v = world.new()
    local ids, lines = {}, {}
    for i = 1, 12 do
      ids[i] = ("p%02d"):format(i)
      local files = demo.files()
      files["pack.yaml"] = files["pack.yaml"]:gsub("pack_id: demo", "pack_id: " .. ids[i])
      v:pack(ids[i], files)
      lines[i] = ("%s --root %s --state %s activate %s >/dev/null &"):format(quote(world.hcp), quote(v.root),
        quote(v.state), ids[i])
    end
    v:policy("grants: []\n")
    world.sh(table.concat(lines, "\n") .. "\nwait")
    local _, out = v:cli { "session" }
    local packs = cjson.decode(out).packs
    table.sort(packs)
    assert.same(ids, packs)
    v:close()
  end)
end)
