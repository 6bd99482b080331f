-- hcp policy: every fault of a root at once; who may do what, by the decision of step 5; tests of a policy.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"

local quote = world.quote
local as_root = select(2, world.sh("id -u")) == "0\n"

describe("hcp policy", function()
  local w
  before_each(function() w = demo.world() end)
  after_each(function() w:close() end)

  local function policy(...)
    local status, out, err = w:cli { "policy", ... }
    local ok, value = pcall(cjson.decode, out)
    assert(ok, out .. err)
    return value, status
  end

  -- "level file:line:column: text", the root left out
  local function problems()
    local value, status = policy("lint")
    local list = {}
    for _, p in ipairs(value.problems) do
      local place = p.file or ""
      for _, n in ipairs { p.line or false, p.column or false } do
        if n then place = ("%s:%d"):format(place, n) end
      end
      list[#list + 1] = ("%s %s: %s"):format(p.level, place, p.text):gsub(w.root:gsub("%p", "%%%0") .. "/", "")
    end
    assert.equal(value.ok and 0 or 1, status)
    return list, value.ok
  end

  describe("lint", function()
    it("finds nothing wrong with what is right", function()
      local list, ok = problems()
      assert.same({}, list)
      assert.is_true(ok)
    end)

    it("names every fault of every file at once, with its place", function()
      w:put("hcp.yaml", "hcp: 1\npakcs: [x]\nlua: { timeout: soon }\nsessions: { \"a b\": { packs: [] } }\n")
      os.remove(w.root .. "/policies/spec.yaml")
      w:put("policies/a.yaml", [[
hcp: 1
auth:
  - { provider: nobody }
  - { when: { face: phone }, provider: os_user }
roles:
  clerk: [demo.read, "demo.*.x"]
grants:
  - { principal: "user:*x", capabilities: [demo.read] }
  - { capabilities: [demo.read] }
  - { principal: "user:*", roles: [clerk, chief] }
]])
      w:put("policies/b.yaml", [[
hcp: 2
packs:
  demo:
    bins: [bin/show, ./bin/show, ./bin/show]
    sandbox:
      tier: weak
      read: [/nowhere, relative]
      limits: { cpu: 10, memory: lots }
    workspaces: { app: { path: /nowhere } }
    commands:
      plain: { confirm: false, guard: missing, limits: { timeout: now } }
      mark: { dney: x }
      argv: { deny: closed }
]])
      w:put("policies/c.yaml", "hcp: 3\nroles: { clerk: [x] }\nrolls: {}\n")
      w:put("policies/d.yaml", "hcp: 1\ngrants: [\n")
      w:put("policies/e.yml", "hcp: 1\n")
      w:put("policies/f.yaml", "hcp: 1\npacks: { demo: { bins: [] } }\n")
      local list, ok = problems()
      assert.is_false(ok)
      assert.same({
        'error hcp.yaml:2:1: unknown key "pakcs" in hcp.yaml (did you mean "packs"?)',
        'error hcp.yaml:3:17: "timeout" must be a duration like 10s, 500ms, 15m or 1h, a year at most',
        'error hcp.yaml:4:13: "a b" can\'t be the name of a session: 1 to 64 of A-Z a-z 0-9 . _ -',
        "error : policies/e.yml would not be read: rename it to end in .yaml",
        "error policies/a.yaml:3:17: there is no provider nobody: policies/auth/nobody.lua is missing",
        'error policies/a.yaml:4:21: "face" must be library, cli, stdio, socket, http or mcp',
        'error policies/a.yaml:6:22: each item of "role" may be "*" or end in ".*"',
        'error policies/a.yaml:8:18: "principal" may hold "*" at its end only',
        'error policies/a.yaml:9:5: a grant needs "principal" or "role", one of the two',
        'error policies/b.yaml:1:6: "hcp" must be 1, the only format version there is',
        'error policies/b.yaml:4:12: "bins" must be ./inside/the/pack, /an/absolute/path or a bare name',
        "error policies/b.yaml:4:34: bin ./bin/show is listed twice",
        'error policies/b.yaml:6:13: "tier" must be strong or light',
        'error policies/b.yaml:8:22: "cpu" must be a duration like 10s, 500ms, 15m or 1h, a year at most',
        'error policies/b.yaml:8:34: "memory" must be a size like 64K, 256M or 1G',
        "error policies/b.yaml:7:14: /nowhere: No such file or directory",
        "error policies/b.yaml:7:24: relative must be an absolute path",
        "error policies/b.yaml:9:32: /nowhere: No such file or directory",
        'error policies/b.yaml:11:25: "confirm" must be true or person: an overlay only tightens',
        'error policies/b.yaml:11:67: "timeout" must be a duration like 10s, 500ms, 15m or 1h, a year at most',
        "error policies/b.yaml:11:39: there is no guard missing: policies/guards/missing.lua is missing",
        'error policies/b.yaml:12:15: unknown key "dney" in an overlay (did you mean "deny"?)',
        'error policies/c.yaml:3:1: unknown key "rolls" in a policy (did you mean "roles"?)',
        'error policies/c.yaml:1:6: "hcp" must be 1, the only format version there is',
        "error policies/d.yaml:3:1: did not find expected node content while parsing a flow node",
        "error policies/c.yaml:2:10: role clerk is in policies/a.yaml:6 already",
        "error policies/f.yaml:2:10: the block of pack demo is in policies/b.yaml:3 already",
        "error policies/a.yaml:10:35: role chief is granted and nowhere defined",
      }, list)
    end)

    it("judges packs, their overlays and pins, and every script", function()
      w:pack("broken", { ["pack.yaml"] = "hcp: 1\npack_id: broken\nversion: one\nsummary: x\ncommands: {}\n" })
      w:put("policies/guards/bad.lua", "return function(\n")
      w:put("policies/auth/global.lua", "return function() return { id = 'x' } end\n")
      w:policy([[
grants: [ { principal: "*", capabilities: ["*"] } ]
packs:
  demo:
    digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"
    bins: [./bin/show]
    commands:
      plian: { confirm: true }
      mrak: { deny: x }
  absent: { bins: [] }
]])
      w:pack("demo", { ["policy.yaml"] = demo.policy:gsub("argv: { capability: demo.read }", "argv: { capability: ledger.read }") })
      local list, ok = problems()
      assert.is_false(ok)
      assert.matches('^error packs/broken/pack.yaml:3:10: ', list[1])
      assert.equal('error policies/spec.yaml:8:7: pack demo has no command "plian"', list[2])
      assert.equal('error policies/spec.yaml:9:7: pack demo has no command "mrak"', list[3])
      assert.matches("^error policies/spec.yaml:4: pack demo: its digest is sha256:%x+, ", list[4])
      assert.matches("^error policies/guards/bad.lua: script: policies/guards/bad.lua:2: ", list[5])
      assert.equal('warning packs/demo/policy.yaml:3: argv requires ledger.read, which doesn\'t begin with "demo."', list[6])
      assert.equal("warning policies/spec.yaml:10: no pack absent is installed", list[7])
      assert.equal(7, #list)
    end)

    it("only warns of what loads, and changes nothing", function()
      w:policy('grants: [ { principal: "*", capabilities: ["demo.*"] } ]\npacks: { absent: {} }\n')
      assert(os.execute("rm -rf " .. quote(w.state)))
      local list, ok = problems()
      assert.is_true(ok)
      assert.same({ "warning policies/spec.yaml:3: no pack absent is installed" }, list)
      assert.not_equal(0, (world.sh("test -e " .. quote(w.state))))
    end)

    it("agrees with the run on whether anything runs", function()
      for _, text in ipairs { "grants: 7\n", "roles: { a: [b, c] }\n", 'grants: [ { principal: x, roles: [gone] } ]\n' } do
        w:policy(text)
        local _, ok = problems()
        local envelope = w:exec("demo", "plain", { n = 1 })
        assert.equal(not ok, envelope.error ~= nil and envelope.error:match("^config: ") ~= nil, text)
      end
    end)
  end)

  local grants = [[
principals:
  "user:ada": { tenants: [north, south], tenant: north }
  "user:bob": { roles: [clerk] }
roles:
  clerk: [demo.read]
grants:
  - { principal: "user:ada", capabilities: ["demo.*"], tenants: [north] }
  - { principal: "svc:*", capabilities: [demo.read, demo.extra] }
  - { role: chief, capabilities: ["demo.*"] }
  - { principal: "user:eve", roles: [chief], tenants: [south] }
packs:
  demo:
    bins: [./bin/show]
    commands:
      plain: { capability: demo.extra }
      lua: { deny: closed }
]]

  local function brief(list)
    local out = {}
    for _, one in ipairs(list) do
      out[#out + 1] = (one.principal or "role " .. one.role) .. (one.tenants and " in " .. table.concat(one.tenants, ",") or "")
    end
    table.sort(out)
    return out
  end

  it("show PACK VERB says who can", function()
    w:policy(grants)
    assert.same({ "role chief", "role clerk", "svc:*", "user:ada in north", "user:bob", "user:eve in south" },
      brief(policy("show", "demo", "argv").who))
    assert.same({ "role chief", "svc:*", "user:ada in north", "user:eve in south" }, brief(policy("show", "demo", "plain").who))
    local mark = policy("show", "demo", "mark")
    assert.same({ "role chief", "user:ada in north", "user:eve in south" }, brief(mark.who))
    assert.equal("true", mark.confirm)
    assert.same({ capability = "demo.write", file = "packs/demo/policy.yaml", line = 4 }, mark.requires[1])
    local lua = policy("show", "demo", "lua")
    assert.same({}, lua.who)
    assert.equal("closed", lua.deny)
    local status, out, err = w:cli { "policy", "show", "demo", "nopolicy" }
    assert.same({ 126, "", "hcp: no policy for nopolicy\n" }, { status, out, err })
  end)

  it("show --principal says what somebody can, as explain would", function()
    w:policy(grants)
    local function may(principal, ...)
      local value, status = policy("show", "--principal", principal, ...)
      local out = {}
      assert.equal(0, status)
      for _, c in ipairs(value.commands) do
        out[#out + 1] = c.verb_key .. (c.allowed and (c.confirm and " with consent" or "") or ": " .. c.error)
      end
      return table.concat(out, "; ")
    end
    local rest = "; nopolicy: no policy for nopolicy; brain: denied: privacy.land brain requires project_id; other"
    assert.equal("argv; mark with consent; plain; lua: denied: closed" .. rest, may("user:ada"))
    assert.equal("argv: denied: missing demo.read for demo.argv; mark: denied: missing demo.write for demo.mark; " ..
      "plain: denied: missing demo.read for demo.plain; lua: denied: missing demo.read for demo.lua" .. rest ..
      ": denied: missing demo.read for demo.other", may("user:ada", "--tenant", "south"))
    assert.equal("argv; mark: denied: missing demo.write for demo.mark; plain: denied: missing demo.extra for demo.plain; " ..
      "lua: denied: closed" .. rest, may("user:bob"))
    assert.equal("argv; mark with consent; plain; lua: denied: closed" .. rest, may('{"id":"x","roles":["chief"]}'))
  end)

  describe("test", function()
    local function tests(text)
      world.write(w.dir .. "/tests.yaml", text)
      return w:cli { "policy", "test", w.dir .. "/tests.yaml" }
    end

    it("passes where every verdict and every reason is the expected one, in any session", function()
      w:policy(grants)
      assert.equal(0, (w:cli { "deactivate", "demo" }))
      local status, out = tests([[
hcp: 1
tests:
  - { name: reading, principal: "user:bob", envelope: { pack_id: demo, verb_key: argv }, ok: true }
  - principal: "user:bob"
    envelope: { pack_id: demo, verb_key: mark, args: { confirm: true } }
    ok: false
    error: "denied: missing demo.write for demo.mark"
  - { principal: "user:ada", envelope: { pack_id: demo, verb_key: mark }, ok: false, error: confirm required }
  - { principal: "user:ada", tenant: south, envelope: { pack_id: demo, verb_key: argv }, ok: false,
      error: "denied: missing demo.read for demo.argv" }
  - { principal: { id: x, projects: [p1], roles: [chief] }, project_id: p1, ok: true,
      envelope: { pack_id: demo, verb_key: brain } }
  - { principal: "user:ada", envelope: { pack_id: demo, verb_key: plain, args: { n: 0 } }, ok: false,
      error: "invalid args: n: must be at least 1" }
]])
      local value = cjson.decode(out)
      for _, t in ipairs(value.tests) do assert.is_true(t.passed, cjson.encode(t)) end
      assert.same({ 0, true, 6, 0 }, { status, value.ok, value.passed, value.failed })
    end)

    it("fails where a verdict or a reason is another", function()
      w:policy(grants)
      local status, out = tests([[
hcp: 1
tests:
  - { principal: "user:bob", envelope: { pack_id: demo, verb_key: mark }, ok: true }
  - { principal: "user:bob", envelope: { pack_id: demo, verb_key: mark }, ok: false, error: "denied: missing demo.read" }
  - { principal: "user:bob", envelope: { pack_id: demo, verb_key: argv }, ok: false, error: "denied: closed" }
  - { principal: "user:bob", envelope: { pack_id: demo, verb_key: argv }, ok: true }
]])
      local value = cjson.decode(out)
      assert.same({ 1, false, 1, 3 }, { status, value.ok, value.passed, value.failed })
      assert.same({ ok = false, error = "denied: missing demo.write for demo.mark", step = 5 }, value.tests[1].got)
      assert.same({ 3, 4, 5, 6 }, { value.tests[1].line, value.tests[2].line, value.tests[3].line, value.tests[4].line })
      assert.same({ ok = true, step = 9 }, value.tests[3].got)
    end)

    it("takes JSON, too, and refuses a file that tests nothing", function()
      local status = tests('{"hcp":1,"tests":[{"principal":"user:x","envelope":{"pack_id":"demo","verb_key":"argv"},"ok":true}]}')
      assert.equal(0, status)
      local path = w.dir .. "/tests.yaml"
      for text, why in pairs {
        ["hcp: 1\ntests: []\n"] = ":2: there is no test (column 8)",
        ["hcp: 1\n"] = ':1: a policy test needs "tests" (column 1)',
        ["hcp: 2\ntests: [x]\n"] = ':1: "hcp" must be 1, the only format version there is (column 6)',
        ["hcp: 1\ntests:\n  - { principal: x, envelope: {}, ok: false }\n"] =
          ':3: a test that expects a refusal needs "error", its reason (column 5)',
        ["hcp: 1\ntests:\n  - { principal: x, envelope: {}, ok: true, error: y }\n"] =
          ':3: what is ok has no "error" (column 52)',
        ["hcp: 1\ntests:\n  - { principal: 7, envelope: {}, ok: true }\n"] =
          ':3: "principal" must be an id or a mapping (column 18)',
        ["hcp: 1\ntests:\n  - { envelope: {}, ok: true }\n"] = ':3: a test needs "principal" (column 5)',
      } do
        local code, out, err = tests(text)
        assert.same({ 125, "", "hcp: " .. path .. why .. "\n" }, { code, out, err })
      end
      local code, out, err = w:cli { "policy", "test", w.dir .. "/gone.yaml" }
      assert.same({ 125, "", "hcp: " .. w.dir .. "/gone.yaml can't be opened\n" }, { code, out, err })
    end)
  end)

  it("refuses wrong usage", function()
    for _, words in ipairs { {}, { "lint", "x" }, { "show" }, { "show", "demo" }, { "test" }, { "lint", "--principal", "x" },
      { "show", "demo", "argv", "--principal", "x" } } do
      local status, out, err = w:cli { "policy", table.unpack(words) }
      assert.same({ 2, "" }, { status, out })
      assert.matches("usage: hcp policy lint | test FILE | show", err, 1, true)
    end
  end)

  if as_root then
    it("tells who may what to the owner of the root alone", function()
      assert(os.execute(("chmod 755 %s; mkdir %s/theirs && chown 54321 %s/theirs && chmod 700 %s/theirs"):format(
        quote(w.dir), quote(w.dir), quote(w.dir), quote(w.dir))))
      world.write(w.dir .. "/t.yaml",
        "hcp: 1\ntests: [ { principal: x, envelope: { pack_id: demo, verb_key: argv }, ok: true } ]\n")
      local function stranger(words)
        return world.sh(("setpriv --reuid 54321 --regid 54321 --clear-groups %s --root %s --state %s/theirs policy %s")
          :format(quote(world.hcp), quote(w.root), quote(w.dir), words))
      end
      local status, out, err = stranger("show demo argv")
      assert.same({ 126, "", "hcp: only the owner of the root folder may ask who may\n" }, { status, out, err })
      for _, words in ipairs { "show --principal x", "test " .. w.dir .. "/t.yaml" } do
        status, out, err = stranger(words)
        assert.same({ 126, "", "hcp: only the owner of the root folder may ask for another principal\n" },
          { status, out, err })
      end
    end)
  end
end)
