-- hcp explain says what a run would do, and why, and does nothing: every verdict is compared with the run's own, and
-- what lies in the state folder before and after.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"

local quote = world.quote
local as_root = select(2, world.sh("id -u")) == "0\n"

describe("hcp explain", function()
  local w
  before_each(function() w = demo.world() end)
  after_each(function() w:close() end)

  local function line_of(path, what)
    local n = 0
    for line in io.lines(w.root .. "/" .. path) do
      n = n + 1
      if line:find(what, 1, true) then return n end
    end
    error(path .. " has no " .. what)
  end

  local function explain_text(text, ...)
    local status, out, err = w:cli({ "explain", "-", ... }, { stdin = text })
    local ok, e = pcall(cjson.decode, out)
    assert(ok, out .. err)
    return e, status, out
  end
  local function explain(verb, args, ...)
    return explain_text(('{"pack_id":"demo","verb_key":"%s","args":%s}'):format(verb, args or "{}"), ...)
  end

  -- A step's reasons as "file:line: text", the root and the state left out of names.
  local function reasons(e, step)
    local list = {}
    for _, s in ipairs(e.steps) do
      if s.step == step then
        for _, b in ipairs(s.because) do
          local place = b.file and (b.file .. (b.line and (":%d"):format(b.line) or "") .. ": ") or ""
          list[#list + 1] = (place .. b.text):gsub("^" .. w.root:gsub("%p", "%%%0") .. "/", "")
            :gsub("^" .. w.state:gsub("%p", "%%%0"), "STATE")
        end
      end
    end
    return list
  end
  local function verdicts(e)
    local words = {}
    for _, s in ipairs(e.steps) do words[#words + 1] = s.verdict end
    return table.concat(words, ",")
  end

  -- names, kinds, sizes, times of change, contents
  local function listing(dir)
    return select(2, world.sh(("cd %s && find . -printf '%%p %%y %%s %%T@ %%C@\\n' | sort; find . -type f | sort | xargs -r sha256sum")
      :format(quote(dir))))
  end

  local function each_case(check)
    w:pack("demo", { ["verbs/lua.lua"] = "return function() return (" })
    w:pack("health", {
      ["pack.yaml"] = [[
hcp: 1
pack_id: health
version: 1.0.0
summary: Needs a Binding
wrap: { bin: ./bin/show }
mint: { hook: mint/x.lua, ttl: 5m, env: [TOKEN] }
commands:
  go: { summary: x, cli: [x, go] }
  doctor: { summary: x, cli: [x, doctor] }
]],
      ["policy.yaml"] = "hcp: 1\npolicies:\n  go: {}\n  doctor: {}\n",
      ["mint/x.lua"] = "return function() return { env = { TOKEN = 'a-token-of-it' }, expires_in = 60 } end",
      ["bin/show"] = { demo.show, "755" },
    })
    w:put("policies/guards/small.lua", [[
return function(request)
  if (request.args.n or 0) > 10 then return false, "at most 10" end
  return true
end
]])
    w:policy([[
grants:
  - { principal: "*", capabilities: ["demo.*", "health.*"] }
packs:
  demo:
    bins: [./bin/show]
    commands:
      plain: { guard: small, capability: demo.extra }
      hidden: { deny: closed }
      argv: { confirm: true }
  health: { bins: [./bin/show] }
]])
    w:activate("health")
    for _, case in ipairs {
      { "demo", "argv" }, { "demo", "argv", '{"confirm":true,"a":"x","c":7}' }, { "demo", "argv", '{"confirm":"true"}' },
      { "demo", "argv", '{"confirm":true,"a":"-x"}' }, { "demo", "argv", '{"confirm":true,"a":"/etc/passwd"}' },
      { "demo", "argv", '{"confirm":true,"a":"workspace:x"}' }, { "demo", "mark", '{"apply":true}' }, { "demo", "mark" },
      { "demo", "plain", '{"n":3}' }, { "demo", "plain", '{"n":11}' }, { "demo", "plain", '{"n":0}' }, { "demo", "plain" },
      { "demo", "plain", '{"n":3,"mode":"mock"}' }, { "demo", "plain", '{"n":3,"mode":"real"}' },
      { "demo", "lua" }, { "demo", "nopolicy" }, { "demo", "hidden" }, { "demo", "brain" }, { "demo", "other" },
      { "demo", "nothing" }, { "nobody", "x" }, { "../demo", "x" }, { "health", "go" },
      { "health", "go", '{"mode":"mock"}' }, { "health", "doctor" },
    } do
      check(case[1], case[2], case[3] or "{}")
    end
  end

  it("agrees with the run in verdict, step, error and exit", function()
    local runs, refused = 0, 0
    each_case(function(pack, verb, args)
      local text = ('{"pack_id":%s,"verb_key":%s,"args":%s}'):format(cjson.encode(pack), cjson.encode(verb), args)
      local e, said = explain_text(text)
      local envelope, status = w:send(text)
      assert.same({ envelope.ok, envelope.error, status, envelope.pack_id, envelope.verb_key },
        { e.ok, e.error, said, e.pack_id, e.verb_key }, text)
      local records = w:audit()
      assert.equal(records[#records].step, e.step, text)
      assert.equal(status, e.exit)
      if e.ok then runs = runs + 1 else refused = refused + 1 end
    end)
    assert.same({ 7, 18 }, { runs, refused })
  end)

  it("agrees on what no envelope is, and on a configuration that doesn't load", function()
    for _, text in ipairs { "", "[]", "{}", '{"pack_id":"demo"}', '{"pack_id":"demo","verb_key":"plain","args":[]}' } do
      local e, said = explain_text(text)
      local envelope, status = w:send(text)
      assert.same({ envelope.error, status, 0 }, { e.error, said, e.step })
    end
    w:put("policies/broken.yaml", "hcp: 1\ngrants: 7\n")
    local e, said = explain("plain", '{"n":1}')
    local envelope, status = w:exec("demo", "plain", { n = 1 })
    assert.same({ envelope.error, status }, { e.error, said })
    assert.equal(125, status)
  end)

  it("changes nothing: no file, no record, no lock, no jail, whatever the verdict", function()
    w:exec("demo", "plain", { n = 1 })
    each_case(function(pack, verb, args)
      local before = listing(w.dir)
      explain_text(('{"pack_id":%s,"verb_key":%s,"args":%s}'):format(cjson.encode(pack), cjson.encode(verb), args))
      assert.equal(before, listing(w.dir), pack .. " " .. verb .. " " .. args)
    end)
  end)

  it("makes no state folder where there is none", function()
    assert(os.execute("rm -rf " .. quote(w.state)))
    local e = explain("plain", '{"n":1}')
    assert.equal("pack demo not activated", e.error)
    w:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [demo] } }\n")
    assert.is_true(explain("mark", '{"confirm":true}').ok)
    assert.is_true(explain("lua").ok)
    assert.is_nil(world.read(w.state .. "/sessions/default.packs"))
    assert.not_equal(0, (world.sh("test -e " .. quote(w.state))))
  end)

  it("makes no folder below tier strong either, and names those that a run would have", function()
    w:policy([[
grants: [ { principal: "*", capabilities: ["demo.*"] } ]
packs: { demo: { bins: [./bin/show], sandbox: { tier: light } } }
]])
    local before = listing(w.state)
    local e = explain("mark", '{"confirm":true}')
    assert.is_true(e.ok)
    assert.equal("light", e.sandbox.tier)
    assert.equal(w.state .. "/workspaces/default/-/demo", e.sandbox.cwd)
    assert.equal(before, listing(w.state))
  end)

  it("stops at the first step that refuses", function()
    assert.equal("passed,passed,passed,passed,passed,refused,not reached,not reached,passed", verdicts(explain("mark")))
    assert.equal("passed,passed,refused,not reached,not reached,not reached,not reached,not reached,passed",
      verdicts(explain("nothing")))
    local e = explain("mark")
    assert.equal("confirm required", e.steps[6].error)
    assert.is_nil(e.argv)
    assert.is_nil(e.sandbox)
  end)

  it("names file and line of what decided", function()
    w:policy([[
auth: { provider: os_user }
principals:
  "user:ada": { roles: [clerk], tenant: north, tenants: [north] }
roles:
  clerk: [demo.read]
grants:
  - { principal: "user:grace", capabilities: [demo.read] }
  - { principal: "user:hop*", roles: [clerk] }
packs:
  demo:
    bins: [./bin/show]
    commands:
      plain: { capability: demo.extra, deny: closed for the audit }
]])
    local policy = "policies/spec.yaml:"
    local function granted(principal)
      return reasons(explain("argv", "{}", "--principal", principal), 5)
    end
    local asks = "packs/demo/policy.yaml:" .. line_of("packs/demo/policy.yaml", "argv:") .. ": demo.read is required"
    local clerk = policy .. line_of("policies/spec.yaml", "clerk: [") .. ": demo.read is granted to role clerk"
    assert.same({ asks, policy .. line_of("policies/spec.yaml", "user:grace") .. ": demo.read is granted" },
      granted("user:grace"))
    assert.same({ asks, clerk, policy .. line_of("policies/spec.yaml", "user:hop*") .. ": user:hopper has role clerk" },
      granted("user:hopper"))
    assert.same({ asks, clerk, policy .. line_of("policies/spec.yaml", "user:ada") .. ": user:ada has role clerk" },
      granted("user:ada"))
    assert.same({ asks, clerk, "x has role clerk from its provider" }, granted('{"id":"x","roles":["clerk"]}'))
    assert.same({ asks .. ", and nothing grants it to user:eve in tenant default" }, granted("user:eve"))

    local e = explain("plain", '{"n":1}', "--principal", "user:grace")
    assert.equal("denied: missing demo.extra for demo.plain", e.error)
    assert.equal(policy .. line_of("policies/spec.yaml", "plain:") ..
      ": demo.extra is required, and nothing grants it to user:grace in tenant default", reasons(e, 5)[3])
    assert.equal(policy .. line_of("policies/spec.yaml", "plain:") .. ": nobody may: closed for the audit", reasons(e, 5)[4])
    assert.same({ "packs/demo/policy.yaml:" .. line_of("packs/demo/policy.yaml", "plain:") .. ': the entry "plain"',
      policy .. line_of("policies/spec.yaml", "  demo:") .. ": the operator's block",
      policy .. line_of("policies/spec.yaml", "plain:") .. ": the operator's overlay" }, reasons(e, 3))
    assert.same({ "the principal was given; no provider was asked",
      policy .. line_of("policies/spec.yaml", "user:ada") .. ": what the operator knows of user:ada",
      "tenant north: the principal's own" }, reasons(explain("argv", "{}", "--principal", "user:ada"), 4))
    assert.equal(policy .. line_of("policies/spec.yaml", "auth:") .. ": provider os_user", reasons(explain("argv"), 4)[1])
    assert.same({ "STATE/sessions/default.packs: session default activates it" }, reasons(e, 2))
  end)

  it("shows argv, names of the environment and the sandbox, and no value", function()
    w:pack("demo", { ["pack.yaml"] = demo.manifest .. [[
  pin:
    summary: Takes a secret
    wrap: { stdin: "{{pin}}", files: [pin], agent_env: { COLOUR: never-shown } }
    cli: [demo, "{{a}}"]
    args: { properties: { a: { type: string }, pin: { type: string, writeOnly: true } } }
]], ["policy.yaml"] = demo.policy .. "  pin: { capability: demo.read }\n" })
    local e, _, text = explain("pin", '{"a":"plain value","pin":"2718-2818"}')
    assert.is_true(e.ok, text)
    assert.same({ "/pack/bin/show", "plain value", "--json" }, e.argv)
    local names = table.concat(e.env, " ")
    assert.equal("PATH LANG HCP_SANDBOX HCP_PACK_ID HCP_VERB_KEY HCP_RUN_ID HCP_PRINCIPAL HCP_TENANT HCP_PACK_ROOT " ..
      "HCP_WORKSPACE HCP_FILES HOME COLOUR", names)
    assert.equal("/pack", e.sandbox.cwd)
    assert.equal("none", e.sandbox.network)
    assert.equal("30s", e.limits.timeout)
    assert.is_nil(text:find("2718", 1, true))
    assert.is_nil(text:find("never-shown", 1, true))
  end)

  it("asks the provider as a run does, and denies what it gets wrong", function()
    w:put("policies/auth/odd.lua", "return function(request) return { id = 'u', expires_at = 1 } end")
    w:policy('auth: { provider: odd }\ngrants: [ { principal: "*", capabilities: ["*"] } ]\n')
    local e = explain("argv")
    assert.same({ "denied: auth: the principal has expired", 4 }, { e.error, e.step })
    e = explain("argv", "{}", "--principal", '{"id":"u","expires_at":1}')
    assert.equal("denied: auth: the principal has expired", e.error)
    e = explain("argv", "{}", "--principal", '{"id":"u","rolls":[]}')
    assert.equal("denied: auth: a principal has no field rolls", e.error)
    e = explain("argv", "{}", "--principal", '{"id":')
    assert.matches("^denied: auth: ", e.error)
    e = explain("argv", "{}", "--principal", "")
    assert.equal("denied: auth: id must be a string", e.error)
  end)

  it("takes words as exec does, and refuses wrong usage", function()
    local _, out = w:cli { "explain", "demo", "plain", "n=3" }
    assert.equal("--n=3", cjson.decode(out).argv[2])
    local status, nothing, err = w:cli { "explain", "demo" }
    assert.same({ 2, "" }, { status, nothing })
    assert.matches("a pack and a verb are needed\nusage: hcp explain ", err, 1, true)
    for _, words in ipairs { { "--in", "x" }, { "--out=x" }, { "--keep" }, { "--progress" }, { "--raw" }, { "--trace-denials" } } do
      status, nothing, err = w:cli { "explain", "demo", "plain", words[1], words[2] }
      assert.same({ 2, "" }, { status, nothing })
      assert.matches("hcp: " .. words[1]:gsub("=.*", "") .. " goes with exec, not with explain\nusage: hcp explain ", err, 1, true)
    end
    status, nothing = w:cli { "--keep", "packs" }
    assert.same({ 2, "" }, { status, nothing })
  end)

  it("tells of a run by the log: what ended it, and what it can't know", function()
    local function told(id)
      local status, out, err = w:cli { "explain", "--run", id }
      assert.equal(0, status, err)
      local e = cjson.decode(out)
      local list = {}
      for i, step in ipairs(e.steps) do list[i] = step.verdict .. (step.error and ": " .. step.error or "") end
      return e, table.concat(list, " ")
    end
    local function run_of(verb, args)
      w:exec("demo", verb, args)
      local all = w:audit()
      return all[#all].run_id, all
    end
    local e, said = told((run_of("plain", { n = 3 })))
    assert.same({ true, "demo", "plain", nil, 2 }, { e.ok, e.pack_id, e.verb_key, e.error, #e.records })
    assert.equal(("passed "):rep(9), said .. " ")
    e, said = told((run_of("mark")))
    assert.same({ false, "confirm required", "deny" }, { e.ok, e.error, e.records[1].kind })
    assert.equal(("passed "):rep(5) .. "refused: confirm required" .. (" not reached"):rep(3), said)
    local id, all = run_of("plain", { n = 4 })
    -- as if hcp had been killed before the end
    local log = w.state .. "/audit/audit.jsonl"
    local whole = world.read(log)
    assert.equal("end", all[#all].kind)
    world.write(log, whole:sub(1, #whole - #whole:match("[^\n]*\n$")), "600")
    e, said = told(id)
    assert.same({ false, "it has no end record: it is still running, or hcp was killed" }, { e.ok, e.error })
    assert.equal(("passed "):rep(6) .. "not known not known not known", said)
    world.write(log, whole, "600")
    local _, out = world.sh(("script -qec '%s --root %s --state %s explain --run %s' /dev/null"):format(world.hcp, w.root, w.state, id))
    assert.matches("9 audit        passed\r\nbegan ", out, 1, true)
    assert.matches('\narguments      {"n":4}\r\n', out, 1, true)
    local status, nothing, err = w:cli { "explain", "--run", "01HZZZZZZZZZZZZZZZZZZZZZZZ" }
    assert.same({ 1, "", "hcp: the log has no run 01HZZZZZZZZZZZZZZZZZZZZZZZ\n" }, { status, nothing, err })
    status, nothing = w:cli { "explain", "--run", id, "demo", "plain" }
    assert.same({ 2, "" }, { status, nothing })
  end)

  it("is laid out for people on a terminal", function()
    local _, out = world.sh(("script -qec '%s --root %s --state %s explain demo mark' /dev/null")
      :format(world.hcp, w.root, w.state))
    assert.matches("6 confirm      refused: confirm required\r\n", out, 1, true)
    assert.matches("7 mint         not reached\r\n", out, 1, true)
    assert.matches("packs/demo/policy.yaml:4: consent is required, and was not given\r\n", out, 1, true)
  end)

  if as_root then
    it("explains another principal to the owner of the root alone", function()
      assert(os.execute(("chmod 755 %s; mkdir %s/theirs && chown 54321 %s/theirs && chmod 700 %s/theirs"):format(
        quote(w.dir), quote(w.dir), quote(w.dir), quote(w.dir))))
      local function stranger(words)
        return world.sh(("setpriv --reuid 54321 --regid 54321 --clear-groups %s --root %s --state %s/theirs %s"):format(
          quote(world.hcp), quote(w.root), quote(w.dir), words))
      end
      local status, out, err = stranger("explain demo argv --principal user:ada")
      assert.same({ 126, "", "hcp: only the owner of the root folder may ask for another principal\n" },
        { status, out, err })
      status, out = stranger("explain demo argv")
      assert.same({ 126, "pack demo not activated" }, { status, cjson.decode(out).error })
    end)
  end
end)
