-- §6, sentence by sentence: what the specs of single subjects don't show. docs/conformance.md says which test
-- stands for which requirement.
local world = require "world"
local cjson = require "cjson"

local manifest = [[
hcp: 1
pack_id: norm
version: 1.0.0
summary: A pack for the sentences of section 6
wrap: { bin: ./bin/argv }
commands:
  cli:
    summary: A template of its own, and the pack's beside it is not used
    cli: [norm, sub, "{{a}}", "--b={{b}}", "{{c}}", "end-{{d}}"]
    effect: read
  tail.report month: { summary: The default template, effect: read }
  whole key: { summary: The default template, effect: read }
  template:
    summary: A template
    effect: read
    wrap: { argv_template: ["first", "{{verb}}", "--to={{to}}", "{{rest}}"] }
  env: { summary: The environment, effect: read, cli: [norm], wrap: { bin: env, json_flag: [], result: lines } }
  flat:
    summary: More for the child
    effect: read
    cli: [norm]
    wrap: { bin: env, json_flag: [], result: lines, agent_env: { NORM_A: one, LANG: C } }
  where: { summary: Where it runs, effect: read, wrap: { bin: ./bin/where } }
  where ephemeral: { summary: x, effect: read, wrap: { bin: ./bin/where, workspace: { mode: ephemeral } } }
  where workspace: { summary: x, effect: write, wrap: { bin: ./bin/where, workspace: { mode: workspace } } }
  where named:
    summary: x
    effect: write
    wrap: { bin: ./bin/where, workspace: { mode: workspace, name: app }, home_env: NORM_HOME }
  file:
    summary: Files
    effect: read
    cli: [norm, "{{path}}", "--file={{file}}", "--file", "workspace:{{late}}"]
    wrap: { workspace: { mode: ephemeral }, file_flags: ["--file"] }
  say:
    summary: Says and ends as it is told
    effect: read
    cli: [norm, "o{{out}}", "e{{err}}", "c{{code}}"]
    wrap: { bin: ./bin/say }
  absolute: { summary: x, effect: read, cli: [norm, x], wrap: { bin: /usr/bin/printf, json_flag: [] } }
  gone: { summary: x, effect: read, wrap: { bin: ./bin/gone } }
  hidden: { summary: x, effect: read, wrap: { bin: .bin/argv } }
  unlisted: { summary: x, effect: read, wrap: { bin: ./bin/unlisted } }
  lua: { summary: In process, effect: read, kind: composite, script: verbs/lua.lua }
  luafail: { summary: In process, effect: read, kind: composite, script: verbs/fail.lua }
  outer: { summary: Nested, effect: write, kind: composite, script: verbs/outer.lua }
  again: { summary: Nested in itself, effect: read, kind: composite, script: verbs/again.lua }
  gate: { summary: Asks, effect: write, wrap: { bin: ./bin/argv } }
  inside: { summary: Internal, internal: true, effect: read, cli: [norm, inside] }
]]

local verbs = { "cli", "tail.report month", "whole key", "template", "env", "flat", "where", "where ephemeral",
  "where workspace", "where named", "file", "say", "absolute", "gone", "hidden", "unlisted", "lua", "luafail", "outer",
  "again", "inside" }

local function policies()
  local lines = { "hcp: 1", "policies:" }
  for _, verb in ipairs(verbs) do lines[#lines + 1] = ('  "%s": { capability: norm.use }'):format(verb) end
  lines[#lines + 1] = "  gate: { capability: norm.use, confirm: true }"
  return table.concat(lines, "\n") .. "\n"
end

local argv = [[
#!/bin/sh
esc() { printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' | awk 'NR>1{printf "\\n"}{printf "%s",$0}'; }
printf '['
sep=
for a; do printf '%s"%s"' "$sep" "$(esc "$a")"; sep=,; done
printf ']\n'
]]

local where = [[
#!/bin/sh
w=true
(: >mark) 2>/dev/null || w=false
printf '{"cwd":"%s","write":%s,"home":"%s","norm_home":"%s","pack":"%s","workspace":"%s","sandbox":"%s"}\n' \
  "$(pwd)" "$w" "$HOME" "$NORM_HOME" "$HCP_PACK_ROOT" "$HCP_WORKSPACE" "$HCP_SANDBOX"
]]

local say = [[
#!/bin/sh
printf '%b' "${1#o}"
printf '%b' "${2#e}" >&2
exit "$(expr "0${3#c}" + 0)"
]]

local grants = [[
grants:
  - { principal: "*", capabilities: ["norm.*"] }
packs:
  norm:
    bins: [./bin/argv, ./bin/where, ./bin/say, ./bin/gone, .bin/argv, /usr/bin/printf, env]
]]

local function files(more)
  return {
    ["pack.yaml"] = manifest .. (more or ""),
    ["policy.yaml"] = policies(),
    ["bin/argv"] = { argv, "755" },
    [".bin/argv"] = { argv, "755" },
    ["bin/where"] = { where, "755" },
    ["bin/say"] = { say, "755" },
    ["bin/unlisted"] = { argv, "755" },
    ["verbs/lua.lua"] = "return function(args, ctx) return { args = args, who = ctx.principal.id } end\n",
    ["verbs/fail.lua"] = "return function(args) hcp.fail(args.why) end\n",
    ["verbs/outer.lua"] = [[
return function(args, ctx)
  local got = ctx.try("gate", { confirm = args.lie })
  return { gate = got, inside = ctx.exec("inside", {}), env = ctx.exec("flat", {}), who = ctx.principal.id }
end
]],
    ["verbs/again.lua"] = "return function(_, ctx) return ctx.try('again', {}) end\n",
    ["mint.lua"] = "return function() error('the hook was called') end\n",
  }
end

local function new(policy, more)
  local w = world.new()
  w:pack("norm", files(more))
  w:policy(policy or grants)
  w:activate("norm")
  return w
end

local function names_of(lines)
  local names = {}
  for _, line in ipairs(lines) do names[#names + 1] = line:match("^[^=]*") end
  table.sort(names)
  return names
end

local function value_of(lines, name)
  for _, line in ipairs(lines) do
    local value = line:match("^" .. name .. "=(.*)$")
    if value then return value end
  end
end

describe("section 6", function()
  local w
  setup(function() w = new() end)
  teardown(function() w:close() end)

  local function result(verb, args)
    local envelope = w:exec("norm", verb, args)
    assert.is_true(envelope.ok, envelope.error)
    return envelope.result
  end

  local function failed(verb, args, error, exit)
    local envelope, status = w:exec("norm", verb, args)
    assert.is_false(envelope.ok)
    assert.equal(error, envelope.error)
    assert.equal(exit, status)
    return envelope
  end

  describe("6.2, the result", function()
    it("is stdout as JSON where it is JSON, of any type", function()
      for text, value in pairs { ["1.50"] = 1.5, ["true"] = true, ['"x"'] = "x", ["null"] = cjson.null } do
        assert.equal(value, result("say", { out = text }))
      end
      assert.same({ a = { 1, 2 } }, result("say", { out = ' {"a": [1, 2]}\n' }))
    end)

    it("is stdout as it is where it is no JSON, white space and all", function()
      for _, text in ipairs { "hello\n", "", " ", "{", "{} {}", "[1,]", "NaN", "'x'" } do
        assert.equal(text, result("say", { out = text }))
      end
    end)

    it("has stderr beside it where there is some, and stdout where the program failed", function()
      assert.same({ ok = true, pack_id = "norm", verb_key = "say", result = 1, stderr = "careful" },
        (w:exec("norm", "say", { out = "1", err = "careful" })))
      assert.same({ ok = false, pack_id = "norm", verb_key = "say", error = "bad", stdout = "half", stderr = "bad\n" },
        (w:exec("norm", "say", { out = "half", err = "bad\n", code = 3 })))
    end)

    it("is an envelope for a denial on every face, and no error of the transport", function()
      local hcp = require "hcp"
      local rt = assert(hcp.open { root = w.root, state = w.state })
      for step, case in pairs {
        [0] = { "[]", "invalid envelope: not an object" },
        [1] = { '{"pack_id":"gone","verb_key":"x"}', "unknown pack gone" },
        [3] = { '{"pack_id":"norm","verb_key":"x"}', "no policy for x" },
        [6] = { '{"pack_id":"norm","verb_key":"gate"}', "confirm required" },
        [8] = { '{"pack_id":"norm","verb_key":"gone"}', "exit 127" },
      } do
        local text, info = rt:exec(case[1])
        local envelope, _, _, out = w:send(case[1])
        assert.equal(text .. "\n", out)
        assert.is_false(envelope.ok)
        assert.equal(case[2], envelope.error)
        assert.equal(step, info.step)
      end
      rt:close()
    end)
  end)

  describe("6.3, the errors", function()
    it("name pack and verb whole, as they were asked for", function()
      for _, id in ipairs { ("p"):rep(3000), "a\nb", "\u{2028}", "../norm", "." } do
        local envelope, status = w:exec(id, "cli")
        assert.same({ ok = false, pack_id = id, verb_key = "cli", error = "unknown pack " .. id }, envelope)
        assert.equal(126, status)
      end
      for _, verb in ipairs { ("v"):rep(3000), "a\nb", "cli ", "CLI", "" } do
        local envelope, status = w:exec("norm", verb)
        assert.same({ ok = false, pack_id = "norm", verb_key = verb, error = "no policy for " .. verb }, envelope)
        assert.equal(126, status)
      end
    end)
  end)

  describe("6.4, the argv", function()
    it("1: drops the bin's name, fills in, and removes what renders empty", function()
      assert.same({ "sub", "x", "--b=1.5", "true", "end-1,2", "--json" },
        result("cli", { a = "x", b = 1.5, c = true, d = { 1, 2 } }))
      assert.same({ "sub", "end-", "--json" }, result("cli", {}))
      assert.same({ "sub", "end-", "--json" }, result("cli", { a = "", b = "", c = cjson.null }))
      assert.same({ "sub", "{{b}}", "--b={{a}}", "end-", "--json" }, result("cli", { a = "{{b}}", b = "{{a}}" }))
    end)

    it("2: renders the template where there is no cli, with the command's tail for {{verb}}", function()
      assert.same({ "first", "template", "--to=y", "z", "--json" }, result("template", { to = "y", rest = "z" }))
      assert.same({ "report", "month", "--json" }, result("tail.report month"))
      assert.same({ "whole", "key", "--json" }, result("whole key"))
    end)

    it("4: finds a bin that begins with a dot in the pack, and takes any other as given", function()
      assert.same({ "hidden", "--json" }, result("hidden"))
      assert.equal("x", result("absolute"))
    end)

    it("5: hands every value over as one argument, whatever a shell would make of it", function()
      local evil = { "$(touch x)", "`id`", "; id", "a b", "* ?", "$HOME", "'\"'", "a\nb", "|&><", "\\" }
      for _, text in ipairs(evil) do
        assert.same({ "sub", text, "end-" .. text, "--json" }, result("cli", { a = text, d = text }))
      end
    end)
  end)

  describe("6.4 step 6, where it runs", function()
    it("is the pack, read-only, in mode pack", function()
      assert.same({ cwd = "/pack", write = false, home = "/tmp", norm_home = "", pack = "/pack", workspace = "/pack",
        sandbox = "sandbox" }, result("where"))
      assert.is_nil(world.read(w.root .. "/packs/norm/mark"))
    end)

    it("is an empty jail that goes away, in mode ephemeral", function()
      for _ = 1, 2 do
        assert.same({ cwd = "/workspace", write = true, home = "/tmp", norm_home = "", pack = "/pack",
          workspace = "/workspace", sandbox = "sandbox" }, result("where ephemeral"))
      end
      assert.is_nil(world.read(w.state .. "/workspaces/default/-/norm/mark"))
    end)

    it("is a jail that stays, and HOME is it, in mode workspace", function()
      assert.same({ cwd = "/workspace", write = true, home = "/workspace", norm_home = "", pack = "/pack",
        workspace = "/workspace", sandbox = "sandbox" }, result("where workspace"))
      assert.equal("", world.read(w.state .. "/workspaces/default/-/norm/mark"))
    end)

    it("is the operator's folder where the workspace has a name, and home_env names another variable", function()
      local folder = w.dir .. "/app"
      assert(os.execute("mkdir -p " .. folder .. " && chmod 755 " .. w.dir))
      w:policy(grants .. "    workspaces: { app: { path: " .. folder .. ", write: false } }\n")
      assert.same({ cwd = "/workspace", write = false, home = "/tmp", norm_home = "/workspace", pack = "/pack",
        workspace = "/workspace", sandbox = "sandbox" }, result("where named"))
      w:policy(grants)
      failed("where named", {}, 'sandbox: no workspace: the operator names no folder "app"', 1)
    end)

    it("has an environment built from nothing, and agent_env merged into it", function()
      local options = { env = "NORM_AMBIENT=1 AWS_SECRET_ACCESS_KEY=ambient" }
      local names = { "HCP_PACK_ID", "HCP_PACK_ROOT", "HCP_PRINCIPAL", "HCP_RUN_ID", "HCP_SANDBOX", "HCP_TENANT",
        "HCP_VERB_KEY", "HCP_WORKSPACE", "HOME", "LANG", "PATH" }
      assert.same(names, names_of(w:exec("norm", "env", {}, options).result))
      names[#names + 1] = "NORM_A"
      table.sort(names)
      local lines = w:exec("norm", "flat", {}, options).result
      assert.same(names, names_of(lines))
      assert.equal("one", value_of(lines, "NORM_A"))
      assert.equal("C", value_of(lines, "LANG"))
      assert.equal("/usr/local/bin:/usr/bin:/bin", value_of(lines, "PATH"))
      assert.equal("flat", value_of(lines, "HCP_VERB_KEY"))
    end)

    it("says native-local where the operator chose that, and that is refused to root", function()
      local n = new(grants .. "    sandbox: { mode: native-local, because: a spec }\n")
      local envelope, status = n:exec("norm", "where")
      if world.sh("test $(id -u) = 0") == 0 then
        assert.equal("sandbox: native-local unavailable: the runtime is root, and the program would be, too",
          envelope.error)
        assert.equal(1, status)
      else
        assert.equal("native-local", envelope.result.sandbox)
        assert.equal(n.root .. "/packs/norm", envelope.result.cwd)
      end
      n:close()
    end)
  end)

  describe("6.4 step 7, files", function()
    it("rewrites workspace: tokens and values of file flags into the jail", function()
      assert.same({ "/workspace/a/b", "--file=/workspace/c", "--file", "/workspace/d", "--json" },
        result("file", { path = "workspace:a//./b", file = "c", late = "d" }))
      assert.same({ "plain", "--file=/workspace/x", "--file", "/workspace", "--json" },
        result("file", { path = "plain", file = "workspace:x" }))
    end)

    it("refuses paths of the host, however they are spelt, and paths out of the jail", function()
      for _, path in ipairs { "/etc", "/etc/passwd", "/home/x", "/root/", "/Users/x", "//etc//passwd", "/./etc",
        "/usr/../etc/passwd", "--x=/etc/passwd" } do
        if path:sub(1, 1) ~= "-" then failed("file", { path = path }, "sandbox: host path not allowed", 1) end
        failed("file", { file = path:gsub("^%-%-x=", "") }, "sandbox: host path not allowed", 1)
      end
      failed("cli", { b = "/etc/passwd" }, "sandbox: host path not allowed", 1)
      failed("file", { path = "workspace:../x" }, "sandbox: path escapes workspace", 1)
      failed("file", { file = "a/../../x" }, "sandbox: path escapes workspace", 1)
      failed("cli", { a = "workspace:x" }, "sandbox: no workspace", 1)
      assert.same({ "sub", "/usr/share", "end-/etc", "--json" }, result("cli", { a = "/usr/share", d = "/etc" }))
    end)
  end)

  describe("6.4 step 8, how it ended", function()
    it("is ok with 0, else stderr, else exit and the code", function()
      assert.equal("fine", result("say", { out = "fine", code = 0 }))
      failed("say", { err = "no such book", code = 3 }, "no such book", 3)
      failed("say", { code = 3 }, "exit 3", 3)
      failed("say", { err = " \n", code = 4 }, "exit 4", 4)
      failed("say", { err = "two\nlines\n\n", code = 1 }, "two\nlines", 1)
      failed("say", { out = '{"ok":true}', code = 255 }, "exit 255", 255)
    end)

    it("keeps what stands behind a NUL byte in stderr", function()
      failed("say", { err = "\\0000boom", code = 2 }, "\0boom", 2)
    end)

    it("is 127 for a bin that is missing, one that isn't allow-listed and a program that says so", function()
      failed("gone", {}, "exit 127", 127)
      failed("unlisted", {}, 'sandbox: bin "./bin/unlisted" not allowlisted', 127)
      failed("say", { code = 127 }, "exit 127", 127)
    end)
  end)

  describe("6.5, two faces", function()
    local function cli(verb, words, options)
      local line = { "exec", "norm", verb, "--" }
      for _, word in ipairs(words or {}) do line[#line + 1] = word end
      return w:cli(line, options)
    end

    it("give the same result for the same arguments", function()
      for _, case in ipairs {
        { "cli", '{"a":"x","b":1.5,"c":true,"d":[1,2]}', { "a=x", "b=1.5", "c=true", "d:=[1,2]" } },
        { "template", '{"to":"007","rest":"1.10"}', { "to=007", "rest=1.10" } },
        { "say", '{"out":"{\\"n\\":9007199254740993}","code":0}', { 'out={"n":9007199254740993}', "code=0" } },
        { "say", '{"err":"oh","code":9}', { "err=oh", "code=9" } },
        { "tail.report month", "{}", {} },
        { "gate", '{"confirm":true}', { "confirm=true" } },
        { "gate", "{}", {} },
      } do
        local _, status, _, envelope = w:exec("norm", case[1], case[2])
        local code, out = cli(case[1], case[3])
        assert.equal(envelope, out)
        assert.equal(status, code)
      end
    end)

    it("put one line of JSON on stdout, and end with another status than 0 on failure", function()
      for _, case in ipairs {
        { 0, "cli" }, { 126, "gate" }, { 126, "nothere" }, { 127, "gone" }, { 127, "unlisted" }, { 7, "say", "code=7" },
        { 1, "luafail", "why=no" },
      } do
        local code, out = cli(case[2], { case[3] })
        assert.equal(case[1], code)
        assert.equal(1, select(2, out:gsub("\n", "")))
        assert.equal(code == 0, cjson.decode(out).ok)
      end
    end)

    it("print JSON on a terminal, too, and ask nobody anything", function()
      local line = world.quote(world.hcp) .. " --root " .. w.root .. " --state " .. w.state .. " exec norm gate"
      local _, out = world.sh("script -qec " .. world.quote(line) .. " /dev/null", "yes\n")
      local text = out:match("{.*}")
      assert.equal("confirm required", cjson.decode((text:gsub("\r", ""))).error)
    end)

    it("read nothing from stdin that they weren't told to read", function()
      local line = world.quote(world.hcp) .. " --root " .. w.root .. " --state " .. w.state .. " exec norm gate"
      local _, out = world.sh(line .. "; cat", "yes\nleft over\n")
      assert.equal('{"ok":false,"pack_id":"norm","verb_key":"gate","error":"confirm required"}\nyes\nleft over\n', out)
    end)
  end)

  describe("6.6, other adapters", function()
    it("run a composite in this process, with an envelope of the same form", function()
      local envelope = w:exec("norm", "lua", { k = { 1 } })
      local who = envelope.result.who
      assert.equal("string", type(who))
      assert.same({ ok = true, pack_id = "norm", verb_key = "lua", result = { args = { k = { 1 } }, who = who } },
        envelope)
      local records = w:audit()
      assert.equal("lua", records[#records].verb)
      assert.is_nil(records[#records].exit_code)
      assert.is_nil(records[#records].tier)
      w:exec("norm", "cli")
      records = w:audit()
      assert.equal(0, records[#records].exit_code)
      assert.equal("strong", records[#records].tier)
    end)

    it("fail with the script's own message", function()
      assert.same({ ok = false, pack_id = "norm", verb_key = "luafail", error = "closed on Sundays" },
        failed("luafail", { why = "closed on Sundays" }, "closed on Sundays", 1))
    end)

    it("nest with the caller's principal and consent, and a script consents for nobody", function()
      local envelope = w:exec("norm", "outer", { lie = true })
      assert.is_true(envelope.ok, envelope.error)
      assert.equal("confirm required", envelope.result.gate.error)
      assert.same({ "inside", "--json" }, envelope.result.inside)
      assert.equal(envelope.result.who, value_of(envelope.result.env, "HCP_PRINCIPAL"))
      assert.is_true(w:exec("norm", "outer", { confirm = true }).result.gate.ok)
      failed("inside", {}, "no policy for inside", 126)
    end)

    it("refuse a command that is under way above itself", function()
      assert.same({ ok = false, pack_id = "norm", verb_key = "again", error = "denied: norm.again calls itself" },
        result("again"))
    end)
  end)
end)

describe("section 6 with a mint hook", function()
  local w
  local more = "  doctor: { summary: Well?, cli: [norm], wrap: { bin: env, json_flag: [], result: lines } }\n" ..
    "mint: { hook: mint.lua, ttl: 15m, env: [NORM_TOKEN] }\n"
  setup(function()
    w = new(nil, more)
    w:put("packs/norm/policy.yaml", policies() .. "  doctor: { capability: norm.use }\n")
  end)
  teardown(function() w:close() end)

  it("gives a mock Binding where mode is mock, to nested runs, too, and calls no hook", function()
    local envelope = w:exec("norm", "env", { mode = "mock" })
    assert.is_true(envelope.ok, envelope.error)
    assert.equal("mock", value_of(envelope.result, "NORM_TOKEN"))
    envelope = w:exec("norm", "outer", { mode = "mock" })
    assert.is_true(envelope.ok, envelope.error)
    assert.equal("mock", value_of(envelope.result.env, "NORM_TOKEN"))
  end)

  it("runs nothing where minting fails, whatever the environment holds", function()
    local envelope, status = w:exec("norm", "where workspace", {}, { env = "NORM_TOKEN=ambient" })
    assert.matches("^mint failed: ", envelope.error)
    assert.equal(126, status)
    assert.is_nil(world.read(w.state .. "/workspaces/default/-/norm/mark"))
  end)

  it("mints nothing for a health command, and gives it nothing else", function()
    local envelope = w:exec("norm", "doctor", {}, { env = "NORM_TOKEN=ambient" })
    assert.is_true(envelope.ok, envelope.error)
    assert.is_nil(value_of(envelope.result, "NORM_TOKEN"))
    assert.equal("doctor", value_of(envelope.result, "HCP_VERB_KEY"))
  end)
end)
