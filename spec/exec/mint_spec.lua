-- Step 7 with hooks: who mints what, every way in which it can go wrong, where a Binding gets to and where it doesn't.
local cjson = require "cjson"
local live = require "live"
local world = require "world"

local quote = world.quote
local token = "tok-0123456789abcdef"

local manifest = [[
hcp: 1
pack_id: bank
version: 1.0.0
summary: A pack with a mint hook
wrap: { bin: ./bin/bank, json_flag: [], stdin: "{{script}}" }
uses: [other.run]
mint: %s
commands:
  run: { summary: Runs a script, cli: [bank], effect: read }
  kept: { summary: In a kept jail, cli: [bank], wrap: { workspace: { mode: workspace } } }
  doctor: { summary: Well?, cli: [bank] }
  lua: { summary: A composite, kind: composite, script: verbs/lua.lua, effect: read }
]]
local usual = "{ hook: mint/token.lua, ttl: 15m, env: [BANK_TOKEN] }"
local good = [[
return function(request, host)
  return { env = { BANK_TOKEN = host.secret("bank_token") }, expires_in = 60, id = "b-1" }
end
]]

local function policy(mint, sandbox)
  return ('grants: [ { principal: "*", capabilities: ["bank.*", "other.*"] } ]\npacks:\n  bank:\n    bins: [./bin/bank]\n' ..
    "    mint: %s\n%s"):format(mint or "{ secrets: [bank_token] }", sandbox or "")
end

local function new(mint, hook)
  local w = world.new()
  os.execute("chmod 711 " .. quote(w.dir)) -- in tier light a root runtime's program is another user
  w:pack("bank", {
    ["pack.yaml"] = manifest:format(mint or usual),
    ["policy.yaml"] = "hcp: 1\npolicies: { run: {}, kept: {}, doctor: {}, lua: {} }\n",
    ["bin/bank"] = { "#!/bin/sh\n. /dev/stdin\n", "755" },
    ["mint/token.lua"] = hook or good,
    ["verbs/lua.lua"] = "return function(args, ctx) return {} end",
  })
  w:policy(policy())
  w:put("secrets/bank_token", token .. "\n", "600")
  assert(os.execute("chmod 700 " .. quote(w.root .. "/secrets")))
  w:activate("bank")
  return w
end

local function sh(w, script, more, options)
  local args = { script = script }
  for k, v in pairs(more or {}) do args[k] = v end
  return w:exec("bank", (options or {}).verb or "run", args, options)
end

-- A digest of the token: what a program was given, told without saying it.
local sum = "printf %s \"$BANK_TOKEN\" | sha256sum | cut -c 1-64"
local function digest(text)
  return (select(2, world.sh("printf %s " .. quote(text) .. " | sha256sum | cut -c 1-64")))
end

describe("step 7", function()
  local w
  before_each(function() w = new() end)
  after_each(function() w:close() end)

  local function last()
    local records = w:audit()
    return records[#records], records[#records - 1]
  end

  it("gives the program what the hook made, and tells its id to the log", function()
    local envelope = sh(w, sum)
    assert.is_true(envelope.ok, envelope.error)
    assert.equal(digest(token), envelope.result)
    local ending, beginning = last()
    assert.same({ "end", "begin", 9, "b-1" }, { ending.kind, beginning.kind, ending.step, ending.binding_id })
    assert.is_nil(beginning.binding_id)
    assert.is_nil(ending.mode)
  end)

  it("tells the hook who asks for what, and what the operator says to it", function()
    w:policy(policy("{ secrets: [bank_token], with: { client: x, n: 1 } }"))
    w:put("packs/bank/mint/token.lua", [[
local json = require "cjson"
return function(q, host)
  local p = q.principal
  hcp.fail(json.encode { q.pack_id, q.verb_key, type(p.id), q.tenant, q.project_id or json.null, q.ttl,
    host.config.client, host.config.n })
end
]])
    local envelope = w:exec("bank", "run", { script = "" })
    assert.equal('mint failed: ["bank","run","string","default",null,900,"x",1]', envelope.error)
  end)

  it("finds a hook of the operator's, and the installed static.lua", function()
    w:put("packs/bank/pack.yaml", manifest:format("{ hook: policies:static, ttl: 15m, env: [BANK_TOKEN] }"))
    w:policy(policy("{ secrets: [bank_token], with: { env: { BANK_TOKEN: bank_token } } }"))
    assert.equal(digest(token), sh(w, sum).result)
    w:put("policies/mint/static.lua", [[
local value = require "value"
return function(q, host) return { env = { BANK_TOKEN = value }, expires_at = host.iso8601(host.now() + q.ttl) } end
]])
    w:put("policies/mint/value.lua", 'return "the-roots-own"')
    assert.equal(digest("the-roots-own"), sh(w, sum).result)
    w:policy(policy())
    assert(os.remove(w.root .. "/policies/mint/static.lua"))
    assert.equal("mint failed: script: mint/static.lua:11: the policy's `with` gives no env: { NAME: secret }",
      sh(w, sum).error)
    w:policy(policy("{ with: { env: { BANK_TOKEN: bank_token } } }"))
    assert.matches('^mint failed: script: mint/static.lua:15: the policy lists no secret "bank_token" for the mint hook of pack bank$',
      sh(w, sum).error)
  end)

  it("gives mock where the call says so, calls no hook and records it", function()
    w:put("packs/bank/mint/token.lua", "error('called')")
    local envelope = sh(w, "echo $BANK_TOKEN", { mode = "mock" })
    assert.equal("mock\n", envelope.result)
    local ending = last()
    assert.equal("mock", ending.mode)
    assert.is_nil(ending.binding_id)
  end)

  it("mints nothing for a health command", function()
    w:put("packs/bank/mint/token.lua", "error('called')")
    local envelope = sh(w, "echo ${BANK_TOKEN-none}", {}, { verb = "doctor" })
    assert.equal("none\n", envelope.result)
  end)

  it("is told by explain, which calls nothing", function()
    w:put("packs/bank/mint/token.lua", "return function() error('called') end")
    local status, out = w:cli { "explain", "bank", "run", "--", "script=x" }
    assert.equal(0, status)
    local e = cjson.decode(out)
    assert.same({ verdict = "passed", text = "hook mint/token.lua makes the Binding", env = "BANK_TOKEN" },
      { verdict = e.steps[7].verdict, text = e.steps[7].because[1].text, env = e.env[#e.env] })
    status, out = w:cli { "policy", "lint" }
    assert.same({ 0, true }, { status, cjson.decode(out).ok })
    w:put("packs/bank/pack.yaml", manifest:format("{ hook: policies:none, ttl: 15m, env: [BANK_TOKEN] }"))
    status, out = w:cli { "explain", "bank", "run", "--", "script=x" }
    assert.equal(126, status)
    assert.equal("mint failed: there is no policies/mint/none.lua", cjson.decode(out).error)
    status, out = w:cli { "policy", "lint" }
    local problem = cjson.decode(out).problems[1]
    assert.same({ "error", 7, "mint hook policies:none: there is no such file" }, { problem.level, problem.line, problem.text })
    assert.not_equal(0, status)
  end)

  -- hook, exact error
  local ways = {
    { "", "script: mint/token.lua: must return a function, or a table of mint and revoke; not a nil" },
    { "return nil", "script: mint/token.lua: must return a function, or a table of mint and revoke; not a nil" },
    { "return 1", "script: mint/token.lua: must return a function, or a table of mint and revoke; not a number" },
    { "return {}", "script: mint/token.lua: has no mint" },
    { "return { mint = 1 }", "script: mint/token.lua: mint must be a function, not a number" },
    { "return { revoke = function() end }", "script: mint/token.lua: has no mint" },
    { "return { mint = function() end, revok = function() end }",
      "script: mint/token.lua: a hook is made of mint and revoke alone; not of revok" },
    { "return {", "script: mint/token.lua:1: unexpected symbol near <eof>" },
    { "error('at once')", "script: mint/token.lua:1: at once" },
    { "return function() error('boom') end", "script: mint/token.lua:1: boom" },
    { "return function() error({}) end", "script: the error is a table value, not a message" },
    { "return function() hcp.fail('no luck today') end", "no luck today" },
    { "return function() return nil, 'closed on Sundays' end", "closed on Sundays" },
    { "return function() end", "mint/token.lua gave no Binding and no reason" },
    { "return function() return nil, {} end", "script: mint/token.lua: the reason must be a string, not a table" },
    { "return function() return false end", "script: mint/token.lua: must return a binding, or nil and a reason; not a boolean" },
    { "return function() return 'token' end", "script: mint/token.lua: must return a binding, or nil and a reason; not a string" },
    { "return function() return {} end", "script: mint/token.lua: env must be a table of names and values, not a nil" },
    { "return function() while true do end end", "script: instruction limit of 100M exceeded at mint/token.lua:1" },
    { "return function() local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end end",
      "script: memory limit of 64M exceeded at mint/token.lua:1" },
    { "return function() return io.open('/etc/passwd') end", "script: mint/token.lua:1: pack bank has no global 'io'" },
    { "return function() return os.getenv('HOME') end", "script: mint/token.lua:1: attempt to call a nil value (field 'getenv')" },
    { "return function() require 'nothing' end",
      "script: mint/token.lua:1: module 'nothing' not found: no nothing.lua, no nothing/init.lua" },
    { "return function(q, host) return host.exec('x') end", "script: mint/token.lua:1: attempt to call a nil value (field 'exec')" },
    { "return function(q, host) host.secret('other') end",
      "script: mint/token.lua:1: the policy lists no secret \"other\" for the mint hook of pack bank" },
    { "return function(q, host) host.secret('../policies/spec.yaml') end",
      "script: mint/token.lua:1: the policy lists no secret \"../policies/spec.yaml\" for the mint hook of pack bank" },
    { "return function(q, host) host.secret() end",
      "script: mint/token.lua:1: bad argument #1 to 'secret' (string expected, got no value)" },
    { "return function(q, host) error(host.secret('bank_token')) end", "script: the error is a userdata value, not a message" },
    { "return function(q, host) return host.secret('bank_token') end",
      "script: mint/token.lua: must return a binding, or nil and a reason; not a userdata" },
    { "return function(q, host) return { env = {}, expires_in = 1, id = host.secret('bank_token') } end",
      "script: binding.id: a secret is no JSON value" },
  }
  -- the env's value, the rest, exact error
  local function answer(env, rest, why)
    ways[#ways + 1] = { ("return function(q, host) return { env = %s%s } end"):format(env, rest), why }
  end
  local fine = "{ BANK_TOKEN = 'long-enough' }"
  for _, case in ipairs {
    { "1", "script: mint/token.lua: env must be a table of names and values, not a number" },
    { "'BANK_TOKEN=x'", "script: mint/token.lua: env must be a table of names and values, not a string" },
    { "{}", "mint/token.lua: env lacks BANK_TOKEN" },
    { "{ OTHER = 'long-enough' }", "mint/token.lua: env holds OTHER, which the manifest doesn't name" },
    { "{ bank_token = 'long-enough' }", "mint/token.lua: env holds bank_token, which the manifest doesn't name" },
    { "{ BANK_TOKEN = 'long-enough', MORE = 'long-enough' }", "mint/token.lua: env holds MORE, which the manifest doesn't name" },
    { "{ BANK_TOKEN = 'long-enough', LD_PRELOAD = '/tmp/evil.so' }",
      "mint/token.lua: env holds LD_PRELOAD, which the manifest doesn't name" },
    { "{ ['BANK_TOKEN=x\\0'] = 'long-enough' }", "script: mint/token.lua: a name in env must be text, not a text with a NUL" },
    { "{ 'long-enough' }", "script: mint/token.lua: a name in env must be text, not a number" },
    { "{ [true] = 'long-enough' }", "script: mint/token.lua: a name in env must be text, not a boolean" },
    { "{ BANK_TOKEN = 12345678 }", "script: mint/token.lua: env.BANK_TOKEN must be a handle or a string, not a number" },
    { "{ BANK_TOKEN = true }", "script: mint/token.lua: env.BANK_TOKEN must be a handle or a string, not a boolean" },
    { "{ BANK_TOKEN = {} }", "script: mint/token.lua: env.BANK_TOKEN must be a handle or a string, not a table" },
    { "{ BANK_TOKEN = hcp.null }", "script: mint/token.lua: env.BANK_TOKEN must be a handle or a string, not a userdata" },
    { "{ BANK_TOKEN = print }", "script: mint/token.lua: env.BANK_TOKEN must be a handle or a string, not a function" },
    { "{ BANK_TOKEN = '' }", "script: mint/token.lua: env.BANK_TOKEN holds nothing" },
    { "{ BANK_TOKEN = 'seven-7' }", "mint/token.lua: env.BANK_TOKEN is shorter than 8 bytes" },
    { "{ BANK_TOKEN = ('x'):rep(32769) }", "mint/token.lua: env.BANK_TOKEN is longer than 32768 bytes" },
    { "{ BANK_TOKEN = ('x'):rep(65537) }", "script: mint/token.lua: env.BANK_TOKEN holds too many bytes" },
    { "{ BANK_TOKEN = 'two lines\\nof it' }", "mint/token.lua: env.BANK_TOKEN holds a control character" },
    { "{ BANK_TOKEN = 'long-enough\\n' }", "mint/token.lua: env.BANK_TOKEN holds a control character" },
    { "{ BANK_TOKEN = 'long\\0enough' }", "mint/token.lua: env.BANK_TOKEN holds a control character" },
    { "{ BANK_TOKEN = 'long\\127enough' }", "mint/token.lua: env.BANK_TOKEN holds a control character" },
    { "{ BANK_TOKEN = 'long\\255enough' }", "mint/token.lua: env.BANK_TOKEN is not UTF-8" },
    { "{ BANK_TOKEN = host.concat(host.secret('bank_token'), '\\n') }", "mint/token.lua: env.BANK_TOKEN holds a control character" },
  } do answer(case[1], ", expires_in = 60", case[2]) end
  for _, case in ipairs {
    { "", "has no expires_in and no expires_at" },
    { ", expires_in = hcp.null", "has no expires_in and no expires_at" },
    { ", expires_in = 60, expires_at = host.now() + 60", "has both expires_in and expires_at" },
    { ", expires_in = '60'", "expires_in must be seconds" },
    { ", expires_in = true", "expires_in must be seconds" },
    { ", expires_in = {}", "expires_in must be seconds" },
    { ", expires_in = -1", "expires_in must be seconds" },
    { ", expires_in = 1e300", "expires_in must be seconds" },
    { ", expires_in = 0", "the Binding has expired" },
    { ", expires_in = 901", "the Binding is good for longer than the ttl of 15m" },
    { ", expires_in = 900.5", "the Binding is good for longer than the ttl of 15m" },
    { ", expires_at = 0", "the Binding has expired" },
    { ", expires_at = host.now() - 1", "the Binding has expired" },
    { ", expires_at = -5", "expires_at must be seconds since 1970 or a time" },
    { ", expires_at = true", "expires_at must be seconds since 1970 or a time" },
    { ", expires_at = host.now() + 1000", "the Binding is good for longer than the ttl of 15m" },
    { ", expires_at = (host.now() + 60) * 1000", "expires_at must be seconds since 1970 or a time" },
    { ", expires_at = '2020-01-01T00:00:00Z'", "the Binding has expired" },
    { ", expires_at = '9999-01-01T00:00:00Z'", "the Binding is good for longer than the ttl of 15m" },
    { ", expires_at = 'tomorrow'", "expires_at is no time as 2030-01-31T12:00:00Z" },
    { ", expires_at = ''", "expires_at is no time as 2030-01-31T12:00:00Z" },
    { ", expires_in = 60, id = 7", "id must be text of 1 to 256 bytes" },
    { ", expires_in = 60, id = ''", "id must be text of 1 to 256 bytes" },
    { ", expires_in = 60, id = ('x'):rep(257)", "id must be text of 1 to 256 bytes" },
    { ", expires_in = 60, id = 'a\\nb'", "id holds a control character" },
    { ", expires_in = 60, id = 'it is long-enough'", "id holds a secret" },
    { ", expires_in = 60, expire_in = 60", "a binding has no field expire_in" },
    { ", expires_in = 60, mode = 'mock'", "a binding has no field mode" },
  } do answer(fine, case[1], "mint/token.lua: " .. case[2]) end
  answer(fine, ", expires_in = 0/0", "script: binding.expires_in: not a number")
  answer(fine, ", expires_in = 1/0", "script: binding.expires_in: infinite")

  it("fails closed in every way for a hook to be wrong", function()
    assert.is_true(#ways >= 60)
    -- what the environment holds rescues none of them
    local ambient = "BANK_TOKEN=ambient-value AWS_ACCESS_KEY_ID=AKIAambient GITHUB_TOKEN=ghp_ambient"
    local wrong = {}
    for i, way in ipairs(ways) do
      w:put("packs/bank/mint/token.lua", way[1])
      local envelope, status, _, out = sh(w, "touch mark", {}, { verb = "kept", env = ambient })
      assert.same({ false, 126 }, { envelope.ok, status }, way[1])
      if envelope.error ~= "mint failed: " .. way[2] then wrong[#wrong + 1] = { i, way[1], envelope.error } end
      assert.is_nil(out:find(token, 1, true), way[1])
      local ending, beginning = last()
      assert.same({ "begin", "end", 7, envelope.error }, { beginning.kind, ending.kind, ending.step, ending.error })
      assert.is_nil(ending.binding_id)
    end
    assert.same({}, wrong)
    assert.is_nil(world.read(w.state .. "/workspaces/default/-/bank/mark"))
    assert.is_nil(select(2, w:audit()):find(token, 1, true))
  end)
end)

describe("a Binding", function()
  local w
  after_each(function() w:close() end)

  local function last()
    local records = w:audit()
    return records[#records]
  end
  -- the token and what it looks like encoded, anywhere in what a run leaves behind
  local function traces(...)
    local found = {}
    for _, form in ipairs { token, "dG9rLTAxMjM0NTY3ODlhYmNkZW", "746f6b2d30313233343536373839616263646566" } do
      for _, text in ipairs { ... } do
        if text:find(form, 1, true) then found[#found + 1] = text end
      end
      local _, files = world.sh("grep -rlF " .. quote(form) .. " " .. quote(w.state))
      if files ~= "" then found[#found + 1] = files end
    end
    return found
  end

  it("is hidden in results, errors, stdout, stderr and the log, in each encoding", function()
    w = new()
    local forms = [[echo "$BANK_TOKEN"; printf %s "$BANK_TOKEN" | base64; printf %s "x$BANK_TOKEN" | base64
      printf %s "$BANK_TOKEN" | od -An -tx1 | tr -d ' \n'; echo]]
    local envelope, status, err, out = sh(w, "{ " .. forms .. "; } >&2; " .. forms)
    assert.same({ true, 0 }, { envelope.ok, status })
    assert.matches("^%[redacted%]\n%[redacted%]\n", envelope.result)
    assert.same({}, traces(out, err))
    envelope, status, err, out = sh(w, forms .. "; { " .. forms .. "; } >&2; exit 3")
    assert.same({ false, 3 }, { envelope.ok, status })
    assert.matches("^%[redacted%]\n", envelope.error)
    assert.same({}, traces(out, err))
    -- right at the cut of a long error, and as a number of a document
    envelope = sh(w, "head -c 65530 /dev/zero | tr '\\0' x >&2; echo $BANK_TOKEN >&2; exit 1")
    assert.is_nil(envelope.error:find("tok-", 1, true))
    w:put("packs/bank/mint/token.lua", "return function() return { env = { BANK_TOKEN = '1234567890' }, expires_in = 9 } end")
    assert.equal('{"ok":true,"pack_id":"bank","verb_key":"run","result":{"n":"[redacted]","m":7}}\n',
      select(4, sh(w, 'echo "{\\"n\\":$BANK_TOKEN,\\"m\\":7}"')))
  end)

  it("is hidden in what its own hook prints", function()
    w = new(nil, "return function(q, host) print('made " .. token ..
      "') return { env = { BANK_TOKEN = '" .. token .. "' }, expires_in = 9 } end")
    local status, out, err = w:cli({ "exec", "-", "-v" }, { stdin = '{"pack_id":"bank","verb_key":"run","args":{"script":""}}' })
    assert.equal(0, status)
    assert.matches("made %[redacted%]", err)
    assert.same({}, traces(out, err))
  end)

  it("is in the environment of the program alone, and nothing of the caller's is", function()
    w = new()
    local ambient = "AWS_SECRET_ACCESS_KEY=ambient-1 GITHUB_TOKEN=ambient-2 BANK_OTHER=ambient-3 HOME=" .. w.dir
    world.write(w.dir .. "/.aws/credentials", "ambient-4")
    local envelope = sh(w, [[
env | cut -d = -f 1 | sort | tr '\n' ' '
echo; cat ~/.aws/credentials 2>/dev/null; env | grep -c ambient; cat /proc/1/environ 2>&1 | grep -c BANK_TOKEN
true]], {}, { env = ambient })
    assert.equal("BANK_TOKEN HCP_PACK_ID HCP_PACK_ROOT HCP_PRINCIPAL HCP_RUN_ID HCP_SANDBOX HCP_TENANT HCP_VERB_KEY " ..
      "HCP_WORKSPACE HOME LANG PATH PWD \n0\n0\n", (envelope.result or envelope.error .. (envelope.stdout or "")))
    -- seen from outside, while it runs
    local job = live.start(w, '{"pack_id":"bank","verb_key":"run","args":{"script":"exec sleep 47"}}')
    local function holders(file)
      return (select(2, world.sh(("grep -lsFf %s /proc/[0-9]*/%s | cut -d / -f 3"):format(quote(w.root .. "/secrets/bank_token"), file))))
    end
    local pid = live.wait_for(function()
      local found = holders("environ"):match("^(%d+)\n$")
      return found and world.read("/proc/" .. found .. "/comm") == "sleep\n" and found
    end)
    assert.same({ pid .. "\n", "" }, { holders("environ"), holders("cmdline") })
    job:kill("TERM")
    job:wait()
    assert.same({}, traces())
  end)

  it("isn't shown in part where the output cap cuts it", function()
    w = new()
    w:policy(policy(nil, "    sandbox: { limits: { output: 100 } }\n"))
    local envelope = sh(w, "echo first; i=0; while [ $i -lt 9 ]; do printf %s $BANK_TOKEN; i=$((i+1)); done; sleep 9")
    assert.same({ "sandbox: output over 100", "first\n" }, { envelope.error, envelope.stdout })
  end)

  it("is hidden where base64 goes over several lines", function()
    w = new(nil, "return function() return { env = { BANK_TOKEN = ('0123456789'):rep(9) }, expires_in = 9 } end")
    assert.equal("[redacted]\n", sh(w, "printf %s $BANK_TOKEN | base64").result)
  end)

  for _, tier in ipairs { "strong", "light" } do
    it("comes as a file where the manifest says so, tier " .. tier, function()
      w = new("{ hook: mint/token.lua, ttl: 15m, env: [BANK_TOKEN], deliver: file }")
      w:policy(policy(nil, "    sandbox: { tier: " .. tier .. " }\n"))
      local envelope = sh(w, [[cd "$HCP_FILES"; ls -A; stat -c %a BANK_TOKEN; stat -c %a .
sha256sum <BANK_TOKEN | cut -c 1-64; env | grep -c BANK_TOKEN]])
      assert.equal("BANK_TOKEN\n400\n700\n" .. digest(token) .. "0\n", envelope.stdout or envelope.error)
      assert.equal("", select(2, world.sh("ls -A " .. quote(w.state .. "/scratch") .. " 2>/dev/null")))
      assert.same({}, traces())
    end)
  end

  local counting = [[
return {
  mint = function(q, host)
    print("minted for " .. q.verb_key)
    return { env = { BANK_TOKEN = host.secret("bank_token") }, expires_in = 60, id = "b-1" }
  end,
  revoke = function(b, host)
    print("revoked " .. b.id .. " " .. tostring(b.expires_at > host.now()) .. " " ..
      host.hex(host.hmac_sha256(b.env.BANK_TOKEN, "x")))
    %s
  end,
}
]]
  local function logged(script, verb, args)
    args = args or {}
    args.script = script
    local envelope = cjson.encode { pack_id = "bank", verb_key = verb or "run", args = args }
    local status, out, err = w:cli({ "exec", "-", "-v" }, { stdin = envelope })
    local _, minted = err:gsub("minted for", "")
    local _, revoked = err:gsub("revoked b%-1 true %x+\n", "")
    return { minted, revoked }, cjson.decode(out), status
  end

  it("is revoked when the run ends, however it ends, and the result stays", function()
    w = new(nil, counting:format(""))
    for _, case in ipairs { { "exit 0", 0 }, { "exit 3", 3 }, { "kill -9 $$", 137 } } do
      local counts, _, status = logged(case[1])
      assert.same({ { 1, 1 }, case[2] }, { counts, status })
      assert.is_nil(last().revoke_error)
    end
    w:policy(policy(nil, "    sandbox: { limits: { timeout: 1s } }\n"))
    local counts, envelope = logged("sleep 60")
    assert.same({ { 1, 1 }, "sandbox: timeout after 1s" }, { counts, envelope.error })
    assert.same({ 0, 0 }, (logged("", "run", { mode = "mock" })))
    assert.same({ 0, 0 }, (logged("", "doctor")))
    w:policy(policy())
    for _, case in ipairs {
      { "error('gone')", "mint/token.lua:9: gone" }, { "return false, 'not today'", "not today" },
      { "return nil, 'busy'", "busy" }, { "return false", "no reason was given" },
      { "error(b.id .. '" .. token .. "')", "mint/token.lua:9: b-1[redacted]" },
    } do
      w:put("packs/bank/mint/token.lua", counting:format(case[1]))
      counts, envelope = logged("echo fine")
      assert.same({ { 1, 1 }, true, "fine\n" }, { counts, envelope.ok, envelope.result })
      assert.equal(case[2], last().revoke_error)
    end
    -- what step 7 refused may be good for something all the same
    w:put("packs/bank/mint/token.lua", (counting:format(""):gsub("expires_in = 60", "expires_in = 6000"):gsub(
      '"revoked .*"x"%)%)', '"revoked b-1 true 00"')))
    counts, envelope = logged("")
    assert.same({ { 1, 1 }, "mint failed: mint/token.lua: the Binding is good for longer than the ttl of 15m" },
      { counts, envelope.error })
  end)

  it("is revoked when the run is cancelled", function()
    -- a hook that refuses to revoke was asked
    w = new(nil, counting:format("return false, 'asked'"))
    for signal, code in pairs { TERM = 143, INT = 130 } do
      local mark = live.marker()
      local job = live.start(w, cjson.encode { pack_id = "bank", verb_key = "run",
        args = { script = "sh -c 'sleep 600; :' " .. mark } })
      live.wait_for(function() return live.find(mark)[1] end)
      job:kill(signal)
      local status, out, err = job:wait()
      assert.same({ code, "sandbox: cancelled" }, { status, cjson.decode(out).error }, err)
      assert.same({ "end", "b-1", "asked" }, { last().kind, last().binding_id, last().revoke_error })
      assert.same({}, live.find(mark))
    end
  end)

  it("doesn't show in what --trace-denials tells", function()
    w = new()
    w:put("secrets/bank_token", "back\\slash-0123456789\n", "600")
    local status, out, err = w:cli({ "--trace-denials", "exec", "-" }, { stdin = cjson.encode {
      pack_id = "bank", verb_key = "run", args = { script = 'mkdir "/usr/$BANK_TOKEN" 2>/dev/null; echo done' } } })
    assert.same({ 0, "done\n" }, { status, cjson.decode(out).result })
    assert.matches("denied: mkdir /usr/[redacted]: ", err, 1, true)
    assert.is_nil(err:find("slash-0123456789", 1, true))
  end)

  it("is shared by nested runs of the same pack, as handles for scripts", function()
    w = new(nil, counting:format(""))
    w:put("packs/bank/verbs/lua.lua", [[
return function(args, ctx)
  local b = ctx.binding
  local ok = pcall(function() return b.env.BANK_TOKEN .. "" end)
  local all = ctx.exec_all { { "run", args }, { "run", args }, { "run", args } }
  local doctor = ctx.exec("doctor", { script = "echo ${BANK_TOKEN-none}" })
  return { b.mode, type(b.env.BANK_TOKEN), ok, all, doctor }
end
]])
    local counts, envelope = logged(sum, "lua")
    local each = digest(token)
    assert.same({ { 1, 1 }, { "real", "userdata", false, { each, each, each }, "none\n" } },
      { counts, envelope.result or envelope.error })
    counts, envelope = logged("printf $BANK_TOKEN", "lua", { mode = "mock" })
    assert.same({ { 0, 0 }, { "mock", "userdata", false, { "mock", "mock", "mock" }, "none\n" } },
      { counts, envelope.result or envelope.error })
  end)
end)
