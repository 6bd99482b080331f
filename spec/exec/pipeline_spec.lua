-- §6.3: the nine steps, their strings, their order, and that nothing after a failing step happens.
local demo = require "demo"
local world = require "world"

describe("the pipeline", function()
  local w
  before_each(function() w = demo.world() end)
  after_each(function() w:close() end)

  local function refused(step, error, pack, verb, args, exit)
    local envelope, status = w:exec(pack, verb, args or {})
    assert.same({ ok = false, pack_id = pack, verb_key = verb, error = error }, envelope)
    assert.equal(exit or 126, status)
    local records = w:audit()
    local last = records[#records]
    assert.equal("deny", last.kind)
    assert.equal(step, last.step)
    assert.equal(error, last.error)
  end

  it("runs a granted command", function()
    local envelope, status = w:exec("demo", "plain", { n = 3, text = "hi" })
    assert.same({ ok = true, pack_id = "demo", verb_key = "plain", result = { "--n=3", "hi", "--json" } }, envelope)
    assert.equal(0, status)
  end)

  it("1: refuses an unknown pack", function()
    refused(1, "unknown pack nothere", "nothere", "x")
    refused(1, "unknown pack ../demo", "../demo", "plain")
    refused(1, "unknown pack demo/../demo", "demo/../demo", "plain")
    refused(1, "unknown pack ", "", "plain")
  end)

  it("2: refuses a pack that isn't activated", function()
    w:cli { "deactivate", "demo" }
    refused(2, "pack demo not activated", "demo", "plain", { n = 1 })
  end)

  it("3: refuses what has no policy entry, isn't declared or is internal, with one answer", function()
    refused(3, "no policy for nopolicy", "demo", "nopolicy")
    refused(3, "no policy for nothere", "demo", "nothere")
    refused(3, "no policy for hidden", "demo", "hidden")
    refused(3, "no policy for *", "demo", "*")
    refused(3, "no policy for ", "demo", "")
  end)

  it("4: refuses who isn't anybody", function()
    w:put("policies/auth/nobody.lua", "return function() return nil end")
    w:policy("auth: { provider: nobody }\n", "auth")
    refused(4, "denied: unauthenticated", "demo", "plain", { n = 1 })
  end)

  it("4: refuses with the provider's reason", function()
    w:put("policies/auth/nobody.lua", "return function() return nil, 'the badge is grey' end")
    w:policy("auth: { provider: nobody }\n", "auth")
    refused(4, "denied: the badge is grey", "demo", "plain", { n = 1 })
  end)

  it("4: refuses a land that needs a project, and a tenant or project that isn't the principal's", function()
    refused(4, "denied: privacy.land brain requires project_id", "demo", "brain")
    local status, out = w:cli { "--tenant", "acme", "exec", "demo", "brain" }
    assert.equal(126, status)
    assert.matches('"error":"denied: tenant acme"', out, 1, true)
    status, out = w:cli { "--project", "p9", "exec", "demo", "brain" }
    assert.equal(126, status)
    assert.matches('"error":"denied: project p9"', out, 1, true)
  end)

  it("5: refuses a missing capability, the first that is missing", function()
    w:policy("packs: { demo: { bins: [./bin/show] } }\n")
    refused(5, "denied: missing demo.read for demo.plain", "demo", "plain", { n = 1 })
  end)

  it("5: an operator's deny comes with its reason", function()
    w:policy(demo.grants .. "    commands: { plain: { deny: \"closed for the audit\" } }\n")
    refused(5, "denied: closed for the audit", "demo", "plain", { n = 1 })
  end)

  it("6: asks for consent, and only JSON true is one", function()
    refused(6, "confirm required", "demo", "mark")
    for _, no in ipairs { '"true"', "1", "false", "null", "[true]", "{}" } do
      local envelope = w:send('{"pack_id":"demo","verb_key":"mark","args":{"confirm":' .. no .. "}}")
      assert.equal("confirm required", envelope.error)
    end
    for _, key in ipairs { "confirm", "apply" } do
      assert.is_true(w:exec("demo", "mark", { [key] = true }).ok)
    end
  end)

  it("6: consent comes before the arguments are judged", function()
    w:policy(demo.grants .. "    commands: { plain: { confirm: true } }\n")
    refused(6, "confirm required", "demo", "plain", { n = "x" })
  end)

  it("6: names every fault of the arguments", function()
    local envelope = w:exec("demo", "plain", { n = 0, txt = "x" })
    assert.matches("^invalid args: ", envelope.error)
    assert.matches("n: ", envelope.error, 1, true)
    assert.matches("txt: ", envelope.error, 1, true)
    assert.matches("; ", envelope.error, 1, true)
  end)

  it("6: refuses any mode but mock", function()
    for _, mode in ipairs { '"real"', '"Mock"', "true", "1" } do
      local envelope = w:send('{"pack_id":"demo","verb_key":"plain","args":{"n":1,"mode":' .. mode .. "}}")
      assert.matches("^invalid args: mode: ", envelope.error)
    end
    assert.is_true(w:exec("demo", "plain", { n = 1, mode = "mock" }).ok)
  end)

  it("6: a guard denies with its reason, and by every mistake", function()
    w:policy(demo.grants .. "    commands: { plain: { guard: small } }\n")
    local function guard(text)
      w:put("policies/guards/small.lua", text)
      return (w:exec("demo", "plain", { n = 5 }))
    end
    assert.is_true(guard("return function(r) return r.args.n < 10 end").ok)
    assert.equal("denied: too much", guard("return function(r) return false, 'too much' end").error)
    for _, wrong in ipairs {
      "return function(r) error('boom') end", "return function(r) return 1 end", "return function(r) end",
      "return function(r) return 'true' end", "return {}", "return function(r) return false end",
      "this is not Lua", "return function(r) while true do end end",
    } do
      assert.matches("^denied: guard small: ", guard(wrong).error)
    end
  end)

  it("7: refuses a pack whose Binding can't be minted, and begins the record before", function()
    local files = demo.files()
    files["pack.yaml"] = files["pack.yaml"] .. "mint: { hook: mint.lua, ttl: 15m, env: [DEMO_TOKEN] }\n"
    files["mint.lua"] = "return function() error('no') end"
    w:pack("demo", files)
    local envelope, status = w:exec("demo", "plain", { n = 1 })
    assert.matches("^mint failed: ", envelope.error)
    assert.equal(126, status)
    local records = w:audit()
    assert.equal("begin", records[#records - 1].kind)
    assert.equal("end", records[#records].kind)
    assert.equal(7, records[#records].step)
  end)

  it("8: refuses a bin that isn't allow-listed", function()
    w:policy("grants: [ { principal: \"user:*\", capabilities: [\"demo.*\"] } ]\n")
    local envelope, status = w:exec("demo", "plain", { n = 1 })
    assert.equal('sandbox: bin "./bin/show" not allowlisted', envelope.error)
    assert.equal(127, status)
  end)

  it("8: refuses a kind without an adapter", function()
    local envelope, status = w:exec("demo", "other")
    assert.equal("adapter telepathy not executable in hcp", envelope.error)
    assert.equal(1, status)
  end)

  it("9: records begin and end of what ran, with who, what and how", function()
    w:exec("demo", "plain", { n = 7, text = "seven" })
    local records = w:audit()
    local b, e = records[#records - 1], records[#records]
    assert.equal("begin", b.kind)
    assert.equal("end", e.kind)
    assert.equal(b.run_id, e.run_id)
    assert.equal("demo", b.pack)
    assert.equal("plain", b.verb)
    assert.equal(7, b.args.n)
    assert.matches("^user:", b.principal)
    assert.equal("default", b.tenant)
    assert.equal("cli", b.face)
    assert.equal(0, e.exit_code)
    assert.equal(9, e.step)
    assert.equal(b.hash, e.prev)
  end)

  it("9: an audit log that can't be written denies the run", function()
    w:exec("demo", "plain", { n = 1 })
    os.execute("rm -f " .. world.quote(w.state .. "/audit/audit.jsonl") .. "; mkfifo " ..
      world.quote(w.state .. "/audit/audit.jsonl"))
    local envelope, status = w:exec("demo", "mark", { confirm = true })
    assert.is_false(envelope.ok)
    assert.equal(125, status)
    assert.is_nil(world.read(w.state .. "/workspaces/default/-/demo/marker"))
  end)

  describe("order", function()
    -- every fault of a list at once: the earliest step answers
    it("reports the earliest of several failures and does nothing after it", function()
      local files = demo.files()
      files["pack.yaml"] = files["pack.yaml"] .. "mint: { hook: mint.lua, ttl: 15m, env: [DEMO_TOKEN] }\n"
      files["mint.lua"] = "return function() error('no') end"
      w:pack("demo", files)
      w:put("policies/auth/os_user.lua", "return function(r) return { id = 'user:x' } end")
      local marker = w.state .. "/workspaces/default/-/demo/marker"

      -- from the last step backwards, each break is put in front of the ones that are there already
      local policy = "packs: { demo: { bins: [] } }\n"
      w:policy("grants: [ { principal: \"user:*\", capabilities: [\"demo.*\"] } ]\n" .. policy)
      assert.matches("^mint failed", w:exec("demo", "mark", { confirm = true }).error)     -- 7 before 8
      assert.equal("confirm required", w:exec("demo", "mark").error)                        -- 6 before 7
      w:policy(policy)
      assert.equal("denied: missing demo.write for demo.mark", w:exec("demo", "mark").error) -- 5 before 6
      w:put("policies/auth/os_user.lua", "return function() return nil, 'nobody' end")
      assert.equal("denied: nobody", w:exec("demo", "mark").error)                          -- 4 before 5
      w:put("packs/demo/policy.yaml", "hcp: 1\npolicies: {}\n")
      assert.equal("no policy for mark", w:exec("demo", "mark").error)                      -- 3 before 4
      w:cli { "deactivate", "demo" }
      assert.equal("pack demo not activated", w:exec("demo", "mark").error)                 -- 2 before 3
      w:put("packs/demo/pack.yaml", "hcp: 2\n")
      assert.matches("^unknown pack demo: ", w:exec("demo", "mark").error)                  -- 1 before 2
      w:policy("nonsense: true\n")
      assert.matches("^config: ", w:exec("demo", "mark").error)                             -- config before 1

      assert.is_nil(world.read(marker))
    end)

    it("asks no provider, guard or hook once an earlier step refused", function()
      -- each script raises: had one been called, its message would be the answer
      w:put("policies/auth/os_user.lua", "error('provider was asked')")
      assert.equal("no policy for nopolicy", w:exec("demo", "nopolicy").error)
      w:put("policies/auth/os_user.lua", "return function(r) return { id = 'user:x' } end")
      w:put("policies/guards/boom.lua", "error('guard was asked')")
      w:policy(demo.grants .. "    commands: { mark: { guard: boom } }\n")
      assert.equal("confirm required", w:exec("demo", "mark").error)
    end)
  end)
end)
