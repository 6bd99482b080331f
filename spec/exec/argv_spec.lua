-- §6.4: from arguments to what the program was really given: argv, stdin, files, environment, paths.
local world = require "world"

local quote = world.quote

-- Its own argv as the kernel keeps it, in hex: no shell, no quoting and no encoder stands between.
local show = "#!/bin/sh\nod -An -v -tx1 /proc/$$/cmdline\n"

local manifest = [=[
hcp: 1
pack_id: args
version: 1.0.0
summary: Shows what a program is given
wrap:
  bin: ./bin/show
  argv_template: ["{{verb}}", "--account={{account}}"]
  json_flag: []
  result: text
  agent_env: { ONE: pack, TWO: pack }
commands:
  whole: { summary: s, cli: [x, "{{a}}"], effect: read }
  flag: { summary: s, cli: [x, "--b={{a}}"], effect: read }
  inside: { summary: s, cli: [x, "pre{{a}}post"], effect: read }
  pair: { summary: s, cli: [x, "{{a}}{{b}}"], effect: read }
  short: { summary: s, cli: [x, "-x{{a}}"], effect: read }
  spaced: { summary: s, cli: [x, "{{ a }}", "", "last"], effect: read }
  cliverb: { summary: s, cli: [x, "{{verb}}"], effect: read }
  json: { summary: s, cli: [x, "{{a}}"], wrap: { json_flag: ["--json"] }, effect: read }
  "json two": { summary: s, cli: [x, "{{a}}"], wrap: { json_flag: ["-o", "json"] }, effect: read }
  at: { summary: s, cli: [x, "{{a}}"], wrap: { deny_prefix: ["-", "@"] }, effect: read }
  "a.b c": { summary: s, effect: read }
  "a": { summary: s, effect: read }
  "a b": { summary: s, effect: read }
  "p.q.r": { summary: s, effect: read }
  "o-p_q": { summary: s, effect: read }
  own: { summary: s, wrap: { argv_template: ["first", "{{verb}}", "{{a}}"] }, effect: read }
  when: { summary: s, cli: [x, { when: a, then: ["-v", "--a={{a}}"] }, "end"], effect: read }
  each: { summary: s, cli: [x, { each: a, then: ["--tag", "{{a}}"] }, "--all={{a}}"], effect: read }
  each1: { summary: s, cli: [x, { each: a, then: ["--tag={{a}}"] }], effect: read }
  env: { summary: s, cli: [x], wrap: { bin: ./bin/env, agent_env: { TWO: own, THREE: own } }, effect: read }
  in-none: { summary: s, cli: [x], wrap: { bin: ./bin/cat }, effect: read }
  in-json: { summary: s, cli: [x], wrap: { bin: ./bin/cat, stdin: json }, effect: read }
  in-arg: { summary: s, cli: [x], wrap: { bin: ./bin/cat, stdin: "{{a}}" }, effect: read }
  files: { summary: s, cli: [x], wrap: { bin: ./bin/files, files: [pin, note] }, effect: read }
  jail:
    summary: s
    cli: [x, "{{a}}", "--b={{b}}"]
    wrap: { workspace: { mode: ephemeral } }
    effect: read
  kept: { summary: s, cli: [x, "{{a}}", "--b={{b}}"], wrap: { workspace: { mode: workspace } }, effect: write }
  file: &&
    summary: s
    cli: [x, "--file", "{{a}}", "--file={{b}}", "{{c}}"]
    wrap: { workspace: { mode: workspace }, file_flags: ["--file"] }
    effect: write
  nojail: { summary: s, cli: [x, "--file={{a}}"], wrap: { file_flags: ["--file"] }, effect: read }
  home: { summary: s, cli: [x], wrap: { bin: ./bin/env, workspace: { mode: workspace } }, effect: write }
  away:
    summary: s
    cli: [x]
    wrap: { bin: ./bin/env, home_env: AWAY, workspace: { mode: workspace } }
    effect: write
]=]
manifest = manifest:gsub(" &&\n", "\n")

local verbs = {}
for key in manifest:gmatch("\n  (\"?[%w][%w%. _-]*\"?):") do
  local is_verb = not ({ bin = 1, argv_template = 1, json_flag = 1, result = 1, agent_env = 1 })[key]
  if is_verb then verbs[#verbs + 1] = key end
end
local policy = "hcp: 1\npolicies:\n"
for _, key in ipairs(verbs) do policy = policy .. ("  %s: { capability: args.all }\n"):format(key) end

local grants = [[
grants: [ { principal: "*", capabilities: ["args.*"] } ]
packs: { args: { bins: [./bin/show, ./bin/env, ./bin/cat, ./bin/files] } }
]]

describe("argv", function()
  local w

  setup(function()
    w = world.new()
    w:pack("args", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = policy,
      ["bin/show"] = { show, "755" },
      ["bin/env"] = { "#!/bin/sh\nexec env -0\n", "755" },
      ["bin/cat"] = { "#!/bin/sh\nexec od -An -v -tx1\n", "755" },
      ["bin/files"] = { "#!/bin/sh\ncd \"$HCP_FILES\" && for f in *; do stat -c '%a %n' $f; cat $f; echo; done\n", "755" },
    })
    w:policy(grants)
    w:activate("args")
  end)
  teardown(function() w:close() end)

  local function unhex(text)
    return (text:gsub("%s", ""):gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end))
  end

  -- the words behind "/bin/sh <script>"
  local function argv(verb, args)
    local envelope, status, stderr = w:exec("args", verb, args)
    assert.equal("", stderr)
    assert.is_nil(envelope.error)
    assert.equal(0, status)
    local words = {}
    for word in unhex(envelope.result):gmatch("([^\0]*)\0") do words[#words + 1] = word end
    assert.equal("/pack/bin/show", words[2])
    return { table.unpack(words, 3) }
  end

  local function input(verb, args)
    local envelope = w:exec("args", verb, args)
    assert.is_nil(envelope.error)
    return unhex(envelope.result)
  end

  local function refused(exit, step, error, verb, args)
    local envelope, status = w:exec("args", verb, args)
    assert.same({ ok = false, pack_id = "args", verb_key = verb, error = error }, envelope)
    assert.equal(exit, status)
    local records = w:audit()
    assert.equal(step, records[#records].step)
    assert.equal(step < 7 and "deny" or "end", records[#records].kind)
  end

  local function invalid(error, verb, args) refused(126, 6, "invalid args: " .. error, verb, args) end
  local function boxed(error, verb, args) refused(1, 8, "sandbox: " .. error, verb, args) end

  describe("values", function()
    it("renders numbers as String() does, and every digit of an integer", function()
      for given, text in pairs {
        ["10"] = "10", ["0"] = "0", ["-0"] = "0", ["-0.0"] = "0", ["0.1"] = "0.1", ["1.5"] = "1.5", ["1.0"] = "1",
        ["1.10"] = "1.1", ["1E2"] = "100", ["1e20"] = "100000000000000000000", ["1e21"] = "1e+21",
        ["1.25e21"] = "1.25e+21", ["123456789012345680000.0"] = "123456789012345680000", ["0.000001"] = "0.000001",
        ["0.0000001"] = "1e-7", ["1.5e-9"] = "1.5e-9", ["5e-324"] = "5e-324",
        ["1.7976931348623157e308"] = "1.7976931348623157e+308", ["9007199254740992"] = "9007199254740992",
        ["9007199254740993"] = "9007199254740993", ["9007199254740993.0"] = "9007199254740992",
        ["-9007199254740993"] = "-9007199254740993", ["9223372036854775807"] = "9223372036854775807",
        ["-9223372036854775808"] = "-9223372036854775808", ["0.30000000000000004"] = "0.30000000000000004",
      } do
        assert.same({ "--b=" .. text }, argv("flag", '{"a":' .. given .. "}"), given)
      end
    end)

    it("renders booleans as words, and null, nothing and empty lists as no token", function()
      assert.same({ "true" }, argv("whole", { a = true }))
      assert.same({ "false" }, argv("whole", { a = false }))
      assert.same({ "--b=false" }, argv("flag", { a = false }))
      assert.same({ "--b=0" }, argv("flag", { a = 0 }))
      for _, args in ipairs { "{}", '{"a":null}', '{"a":""}', '{"a":[]}', '{"a":[null]}' } do
        assert.same({}, argv("whole", args))
        assert.same({}, argv("flag", args))
        assert.same({ "-x" }, argv("short", args))
      end
      assert.same({ "," }, argv("whole", '{"a":[[],[]]}'))
      assert.same({ "prepost" }, argv("inside", {}))
      assert.same({ "last" }, argv("spaced", {}))
      assert.same({ "v", "last" }, argv("spaced", { a = "v" }))
    end)

    it("joins lists with a comma, nested ones too", function()
      assert.same({ "a,b" }, argv("whole", '{"a":["a","b"]}'))
      assert.same({ "1,2,3" }, argv("whole", '{"a":[1,[2,[3]]]}'))
      assert.same({ "true,,x" }, argv("whole", '{"a":[true,null,"x"]}'))
      assert.same({ ",1" }, argv("whole", '{"a":[null,1]}'))
      assert.same({ "a b,c,d" }, argv("whole", '{"a":["a b","c,d"]}'))
      assert.same({ "1e+21,0.1,9007199254740993" }, argv("whole", '{"a":[1e21,0.1,9007199254740993]}'))
    end)

    it("keeps text as it is: nothing is split, expanded, trimmed or read again", function()
      for _, text in ipairs {
        " ", "  a  b  ", "a\tb", "line\nline\n", "\r", "'", '"', "'\"'", "\\", "\\n", "$(id)", "`id`", "$HOME", "*", "?",
        "[a]", "~", "~root", "a;b", "a|b", "a&&b", ">x", "#x", "!x", "%s%n", "=", "a=b", "{{a}}", "{{b}}",
        "{{verb}}", "{{ a }}", "{{", "}}", "+x", "@x", "/x", "://", "\1\127", "\u{e9}", "\u{65e5}\u{672c}",
        "\u{1f389}", "\u{202e}x", "\u{feff}", "\u{2028}", "e\u{301}", "\u{10ffff}",
      } do
        assert.same({ text }, argv("whole", { a = text, b = "B" }))
        assert.same({ "--b=" .. text }, argv("flag", { a = text, b = "B" }))
        assert.same({ "pre" .. text .. "post" }, argv("inside", { a = text, b = "B" }))
      end
    end)

    it("takes a token of the kernel's longest length, and not one byte more", function()
      local text = ("x"):rep(128 * 1024 - 1)
      assert.same({ text }, argv("whole", { a = text }))
      invalid("too long", "whole", { a = text .. "x" })
      invalid("too long", "flag", { a = text })
    end)
  end)

  describe("refuses", function()
    it("objects, wherever they are", function()
      for _, args in ipairs { '{"a":{}}', '{"a":{"b":1}}', '{"a":[{}]}', '{"a":[1,[{"x":2}]]}' } do
        for _, verb in ipairs { "whole", "flag", "inside", "each" } do
          invalid("a: an object can't be an argument", verb, args)
        end
      end
    end)

    it("NUL bytes", function()
      for _, args in ipairs { '{"a":"\\u0000"}', '{"a":"x\\u0000y"}', '{"a":["x","\\u0000"]}' } do
        invalid("a: holds a NUL byte", "whole", args)
        invalid("a: holds a NUL byte", "flag", args)
      end
    end)

    it("a value that would begin a token as an option", function()
      for _, text in ipairs { '"-"', '"--"', '"-x"', '"--help"', '"-5"', '["-x"]', "[-1,2]", '["-",1]' } do
        invalid('a: may not start with "-"', "whole", '{"a":' .. text .. "}")
      end
      invalid('a: may not start with "-"', "pair", { a = "-x" })
      invalid('b: may not start with "-"', "pair", { b = "-x" })
      invalid('b: may not start with "-"', "pair", { a = "", b = "-x" })
      invalid('a: may not start with "-"', "each", '{"a":["ok","-x"]}')
      invalid('a: may not start with "@"', "at", { a = "@file" })
      invalid('a: may not start with "-"', "at", { a = "-x" })
    end)

    it("no number, and nothing that a literal or another value stands before", function()
      assert.same({ "-5" }, argv("whole", { a = -5 }))
      assert.same({ "-1.5" }, argv("whole", { a = -1.5 }))
      assert.same({ "-1x" }, argv("pair", { a = -1, b = "x" }))
      assert.same({ "1-x" }, argv("pair", { a = 1, b = "-x" }))
      assert.same({ "--b=--help" }, argv("flag", { a = "--help" }))
      assert.same({ "-x-y" }, argv("short", { a = "-y" }))
      assert.same({ "\u{2212}5" }, argv("whole", { a = "\u{2212}5" }))
      assert.same({ " -x" }, argv("whole", { a = " -x" }))
      assert.same({ "x@" }, argv("at", { a = "x@" }))
    end)
  end)

  describe("{{verb}}", function()
    it("is the words of the key behind its first dot, or of the whole key", function()
      assert.same({ "b", "c" }, argv("a.b c", {}))
      assert.same({ "a" }, argv("a", {}))
      assert.same({ "a", "b" }, argv("a b", {}))
      assert.same({ "q.r" }, argv("p.q.r", {}))
      assert.same({ "o-p_q" }, argv("o-p_q", {}))
    end)

    it("stands in the pack's template beside its arguments", function()
      assert.same({ "b", "c", "--account=1" }, argv("a.b c", { account = 1 }))
      assert.same({ "b", "c" }, argv("a.b c", { verb = "x", account = "" }))
    end)

    it("is an argument like any other in cli", function()
      assert.same({ "x y" }, argv("cliverb", { verb = "x y" }))
      assert.same({}, argv("cliverb", {}))
    end)
  end)

  describe("a command's wrap", function()
    it("overrides the pack's key by key", function()
      assert.same({ "first", "own", "v" }, argv("own", { a = "v" }))
      assert.same({ "v", "--json" }, argv("json", { a = "v" }))
      assert.same({ "v", "-o", "json" }, argv("json two", { a = "v" }))
      assert.same({ "@v" }, argv("whole", { a = "@v" }))
    end)

    it("merges agent_env and gives nothing of the runtime's environment", function()
      local envelope = w:exec("args", "env", {}, { env = "ONE=host SECRET=host LD_PRELOAD_X=host" })
      local env = {}
      for name, value in envelope.result:gmatch("([^=%z]+)=([^%z]*)%z") do env[name] = value end
      assert.matches("^[0-9A-HJKMNP-TV-Z]+$", env.HCP_RUN_ID)
      assert.equal(26, #env.HCP_RUN_ID)
      local records = w:audit()
      assert.equal(records[#records].run_id, env.HCP_RUN_ID)
      assert.same({
        ONE = "pack", TWO = "own", THREE = "own",
        PATH = "/usr/local/bin:/usr/bin:/bin", LANG = "C.UTF-8", HOME = "/tmp",
        HCP_SANDBOX = "sandbox", HCP_PACK_ID = "args", HCP_VERB_KEY = "env", HCP_RUN_ID = env.HCP_RUN_ID,
        HCP_PRINCIPAL = records[#records].principal,
        HCP_TENANT = "default", HCP_PACK_ROOT = "/pack", HCP_WORKSPACE = "/pack", PWD = "/pack",
      }, env)
    end)

    it("names the variable that is the jail in mode workspace", function()
      local envelope = w:exec("args", "home")
      assert.matches("\0HOME=/workspace\0", "\0" .. envelope.result, 1, true)
      envelope = w:exec("args", "away")
      assert.matches("\0AWAY=/workspace\0", "\0" .. envelope.result, 1, true)
      assert.matches("\0HOME=/tmp\0", "\0" .. envelope.result, 1, true)
    end)

    it("can't take \"-\" from the refused prefixes", function()
      local v = world.new()
      finally(function() v:close() end)
      v:pack("args", { ["pack.yaml"] = manifest:gsub('%["%-", "@"%]', '["@"]'), ["policy.yaml"] = policy,
        ["bin/show"] = { show, "755" } })
      v:policy(grants)
      v:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [args] } }\n")
      local envelope, status = v:exec("args", "whole", { a = 1 })
      assert.matches('^unknown pack args: .*"deny_prefix" must hold "%-"', envelope.error)
      assert.equal(126, status)
    end)
  end)

  describe("extended tokens", function()
    it("when: shows its tokens for a value that is given, not false, null or empty", function()
      for given, text in pairs {
        ["true"] = "true", ["0"] = "0", ['"x"'] = "x", ['"false"'] = "false", ["[1]"] = "1",
      } do
        assert.same({ "-v", "--a=" .. text, "end" }, argv("when", '{"a":' .. given .. "}"))
      end
      for _, args in ipairs { "{}", '{"a":false}', '{"a":null}', '{"a":""}', '{"a":[]}', '{"a":{}}' } do
        assert.same({ "end" }, argv("when", args))
      end
    end)

    it("each: shows its tokens once an element, and the list elsewhere is the list", function()
      assert.same({ "--tag", "a b", "--tag", "7", "--all=a b,7" }, argv("each", '{"a":["a b",7]}'))
      assert.same({ "--tag", "x", "--all=x" }, argv("each", { a = "x" }))
      assert.same({ "--tag=-x", "--tag=1,2", "--tag=true" }, argv("each1", '{"a":["-x",[1,2],null,"",true]}'))
      for _, args in ipairs { "{}", '{"a":null}', '{"a":[]}' } do assert.same({}, argv("each", args)) end
    end)
  end)

  describe("stdin", function()
    it("is empty without a word about it", function()
      assert.equal("", input("in-none", { a = "x" }))
    end)

    it("json: is the arguments, every digit, without the reserved ones", function()
      assert.equal('{"z":1,"a":[9007199254740993,null],"t":"\u{e9}\\n\\"","o":{}}', input("in-json",
        '{"z":1,"confirm":true,"a":[9007199254740993,null],"mode":"mock","t":"\u{e9}\\n\\"","o":{},"apply":false}'))
      assert.equal("{}", input("in-json", {}))
    end)

    it("{{name}}: is that argument's text, without a newline", function()
      assert.equal("a\nb", input("in-arg", { a = "a\nb" }))
      assert.equal("-rf {{b}}", input("in-arg", { a = "-rf {{b}}" }))
      assert.equal("1e+21", input("in-arg", '{"a":1e21}'))
      assert.equal("a,b", input("in-arg", '{"a":["a","b"]}'))
      assert.equal("", input("in-arg", {}))
      local text = ("x"):rep(1000000)
      assert.equal(text, input("in-arg", { a = text }))
    end)
  end)

  it("files hold arguments that argv may not show", function()
    local function files(args)
      local envelope = w:exec("args", "files", args)
      assert.is_nil(envelope.error)
      return envelope.result
    end
    assert.equal("400 note\na\nb\n400 pin\n-1234\n", files { pin = "-1234", note = "a\nb", other = "x" })
    assert.equal("400 pin\n9007199254740993\n", files('{"pin":9007199254740993,"note":null}'))
    assert.equal("400 note\n\n", files { note = "" })
  end)

  describe("paths", function()
    it("of the host are refused, however they are written, in every mode", function()
      for _, path in ipairs {
        "/etc", "/etc/", "/etc/passwd", "/home", "/home/x", "/root/.ssh", "/Users/x", "//etc//passwd", "/./etc/x",
        "/usr/../etc/passwd", "/usr/share/../../root", "/../etc/x", "/etc/../etc/x", "workspace:/etc/passwd",
      } do
        for _, verb in ipairs { "whole", "flag", "jail", "kept" } do
          boxed("host path not allowed", verb, { a = path })
        end
        boxed("host path not allowed", "jail", { b = path })
        boxed("host path not allowed", "file", { a = path })
      end
      boxed("host path not allowed", "whole", { a = "x=/etc/passwd" })
    end)

    it("that only look like them pass", function()
      for _, path in ipairs {
        "/etcetera", "/homes/x", "etc/passwd", "./etc/passwd", "/usr/etc/passwd", "/", "/usr/share/x", "/ETC/passwd",
        "/users/x", "/etc/../usr",
      } do
        assert.same({ path }, argv("whole", { a = path }))
      end
    end)

    it("behind workspace: are the jail's", function()
      for given, seen in pairs {
        ["workspace:"] = "/workspace", ["workspace:f"] = "/workspace/f", ["workspace:/f"] = "/workspace/f",
        ["workspace:a/b c"] = "/workspace/a/b c", ["workspace:a/../b"] = "/workspace/b",
        ["workspace:./a//b/."] = "/workspace/a/b", ["workspace:$(x)"] = "/workspace/$(x)",
      } do
        assert.same({ seen, "--b=" .. seen }, argv("jail", { a = given, b = given }))
        assert.same({ seen, "--b=" .. seen }, argv("kept", { a = given, b = given }))
      end
      assert.same({ "xworkspace:f" }, argv("jail", { a = "xworkspace:f" }))
    end)

    it("can't leave the jail by \"..\"", function()
      for _, path in ipairs {
        "workspace:..", "workspace:../x", "workspace:a/../../x", "workspace:a/../../workspace/x",
      } do
        boxed("path escapes workspace", "jail", { a = path })
        boxed("path escapes workspace", "jail", { b = path })
        boxed("path escapes workspace", "kept", { a = path })
      end
      boxed("path escapes workspace", "file", { a = "../x" })
      boxed("path escapes workspace", "file", { b = "a/../../x" })
    end)

    it("need a jail", function()
      boxed("no workspace", "whole", { a = "workspace:x" })
      boxed("no workspace", "flag", { a = "workspace:x" })
      boxed("no workspace", "nojail", { a = "x" })
      assert.same({ "--file=/usr/share/x" }, argv("nojail", { a = "/usr/share/x" }))
    end)

    it("behind a file flag are the jail's, with and without the word", function()
      assert.same({ "--file", "/workspace/x", "--file=/workspace/y/z", "plain" },
        argv("file", { a = "x", b = "y/z", c = "plain" }))
      assert.same({ "--file", "/workspace/x", "--file=/usr/share/z" },
        argv("file", { a = "workspace:x", b = "/usr/share/z" }))
      assert.same({ "--file", "/workspace/x" }, argv("file", { a = "/workspace/a/../x" }))
    end)

    it("can't leave the jail by a link", function()
      assert.same({ "f" }, argv("kept", { a = "f" }))
      local jail = w.state .. "/workspaces/default/-/args"
      assert(os.execute(("cd %s && mkdir d && : > d/f && ln -s /usr/share abs && ln -s ../.. up && ln -s d/f in && " ..
        "ln -s loop loop && ln -s nowhere dangling && ln -s /workspace/d/f rooted"):format(quote(jail))))
      for _, name in ipairs { "abs", "abs/x", "up", "up/x", "loop", "rooted" } do
        boxed("path escapes workspace", "kept", { a = "workspace:" .. name })
        boxed("path escapes workspace", "kept", { b = "workspace:" .. name })
        boxed("path escapes workspace", "file", { a = name })
        boxed("path escapes workspace", "file", { a = "x", b = name })
      end
      for _, name in ipairs { "in", "d/f", "dangling", "new" } do
        assert.same({ "/workspace/" .. name }, argv("kept", { a = "workspace:" .. name }))
      end
    end)
  end)
end)
