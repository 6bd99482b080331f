-- hcp mcp, as a client sees it that writes the messages itself (spec/support/mcp.py).
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

local opening = { send = { jsonrpc = "2.0", id = 0, method = "initialize", params = { protocolVersion = "2025-11-25",
  capabilities = cjson.decode("{}"), clientInfo = { name = "spec", version = "1" } } } }
local opening_with_form = { send = { jsonrpc = "2.0", id = 0, method = "initialize", params = {
  protocolVersion = "2025-11-25", capabilities = { elicitation = cjson.decode("{}") },
  clientInfo = { name = "spec", version = "1" } } } }

local function request(id, method, params)
  return { send = { jsonrpc = "2.0", id = id, method = method, params = params } }
end
local function call(id, name, args)
  return request(id, "tools/call", { name = name, arguments = args or cjson.decode("{}") })
end
local function wait(id) return { wait = id } end
local function meta(elicitation, version)
  return { ["io.modelcontextprotocol/protocolVersion"] = version or "2026-07-28",
    ["io.modelcontextprotocol/clientCapabilities"] = cjson.decode(elicitation and '{"elicitation":{}}' or "{}") }
end
local function modern(id, method, params, elicitation)
  params = params or {}
  params._meta = params._meta or meta(elicitation)
  return request(id, method, params)
end

describe("hcp mcp", function()
  local w
  setup(function()
    w = world.new()
    local files = demo.files()
    files["pack.yaml"] = files["pack.yaml"] .. [[
  slow: { summary: Sleeps, cli: [demo, slow], effect: read, wrap: { bin: ./bin/slow, json_flag: [] } }
  chatty: { summary: Prints, kind: composite, script: verbs/chatty.lua, effect: read }
  fits: { summary: Fits, kind: composite, script: verbs/lua.lua, effect: read, output: { type: object } }
  misfit: { summary: No object, cli: [demo, x], effect: read, output: { type: object, required: [a] } }
  "two words": { summary: With a space, cli: [demo, x], effect: destructive }
  two.words-and_a-name.that.goes-on.until_it-is.longer-than.sixty-four.bytes: { summary: Long, cli: [demo, x] }
  person:
    summary: "A person's \u202e word"
    cli: [demo, "{{what}}", "{{more}}"]
    args: { properties: { what: { type: string }, more: { type: string, default: filled } }, required: [what] }
  through: { summary: Asks for person, kind: composite, script: verbs/through.lua }
  forbidden: { summary: Not granted, cli: [demo, x] }
]]
    files["policy.yaml"] = files["policy.yaml"] .. [[
  slow: { capability: demo.read }
  chatty: { capability: demo.read }
  fits: { capability: demo.read }
  misfit: { capability: demo.read }
  "two words": { capability: demo.read }
  two.words-and_a-name.that.goes-on.until_it-is.longer-than.sixty-four.bytes: { capability: demo.read }
  person: { capability: demo.write }
  through: { capability: demo.write }
  forbidden: { capability: other.thing }
]]
    files["bin/slow"] = { "#!/bin/sh\nexec sleep 61723\n", "755" }
    files["verbs/chatty.lua"] = 'return function() print("{\\"jsonrpc\\":\\"2.0\\"}") print("noise") return { ok = 1 } end\n'
    files["verbs/through.lua"] = 'return function(_, ctx) return ctx.exec("person", { what = "x" }) end\n'
    w:pack("demo", files)
    w:policy([[
grants: [ { principal: "*", capabilities: ["demo.*"] } ]
packs:
  demo:
    bins: [./bin/show, ./bin/slow]
    commands: { person: { confirm: person } }
]])
    w:activate("demo")
  end)
  teardown(function() w:close() end)

  local function talk(steps, words)
    local line = ("python3 spec/support/mcp.py %s --root %s --state %s mcp %s"):format(quote(world.hcp), quote(w.root),
      quote(w.state), words or "")
    local status, out, err = world.sh(line, cjson.encode(steps))
    assert.equal(0, status, err)
    local said = cjson.decode(out)
    local by_id = {}
    for _, m in ipairs(said.got) do if m.id ~= nil and m.id ~= cjson.null then by_id[m.id] = m end end
    return by_id, said, err
  end

  local function denials(verb)
    local n, ran = 0, 0
    for _, r in ipairs((w:audit())) do
      if r.verb == verb and r.face == "mcp" then
        if r.kind == "deny" then n = n + 1 elseif r.kind == "begin" then ran = ran + 1 end
      end
    end
    return n, ran
  end

  it("opens with initialize, and offers its revision to clients that ask for another", function()
    for _, version in ipairs { "2025-11-25", "2024-11-05", "1999-01-01" } do
      local open = request(1, "initialize", { protocolVersion = version, capabilities = cjson.decode("{}") })
      local by_id, said = talk { open, request(2, "ping"), wait(2) }
      assert.equal("2025-11-25", by_id[1].result.protocolVersion)
      assert.equal("hcp", by_id[1].result.serverInfo.name)
      assert.same({ tools = {} }, by_id[1].result.capabilities)
      assert.same({}, by_id[2].result)
      assert.equal(0, said.status)
    end
  end)

  local function tools()
    local by_id = talk { opening, request(1, "tools/list"), wait(1) }
    local by_name = {}
    for _, t in ipairs(by_id[1].result.tools) do by_name[t.name] = t end
    return by_name
  end

  it("lists what this principal may run, and nothing else", function()
    local names = {}
    for name in pairs(tools()) do names[#names + 1] = name end
    table.sort(names)
    local long = table.remove(names, 12)
    assert.equal(64, #long)
    assert.truthy(long:match("^demo%.two%.words%-and_a%-name%.that%.goes%-on%.until_it%-is%.l[a-z.-]*_%x%x%x%x%x%x%x%x$"), long)
    assert.same({ "demo.argv", "demo.chatty", "demo.fits", "demo.lua", "demo.mark", "demo.misfit", "demo.other",
      "demo.person", "demo.plain", "demo.slow", "demo.through", "demo.two_words" }, names)
    local by_id = talk { opening, call(1, long), wait(1) }
    assert.equal('["x","--json"]', by_id[1].result.content[1].text)
  end)

  it("tells commands apart whose names would be one", function()
    w:pack("twin", {
      ["pack.yaml"] = 'hcp: 1\npack_id: twin\nversion: 1.0.0\nsummary: Two of a name\nkind: composite\ncommands:\n' ..
        '  "a b": { summary: A space, script: v.lua }\n  a_b: { summary: None, script: v.lua }\n',
      ["policy.yaml"] = 'hcp: 1\npolicies: { "a b": {}, a_b: {} }\n',
      ["v.lua"] = "return function(_, ctx) return { key = ctx.verb_key } end\n",
    })
    w:policy('grants: [ { principal: "*", capabilities: ["twin.*"] } ]\n', "twin")
    w:activate("twin")
    local found = {}
    for name, tool in pairs(tools()) do
      if name:match("^twin%.a_b_%x%x%x%x%x%x%x%x$") then found[tool.title] = name end
      assert.not_equal("twin.a_b", name)
    end
    local by_id = talk { opening, call(1, found["A space"]), call(2, found["None"]), wait(1), wait(2) }
    assert.equal("a b", by_id[1].result.structuredContent.key)
    assert.equal("a_b", by_id[2].result.structuredContent.key)
    assert.equal(0, (w:cli { "deactivate", "twin" }))
  end)

  it("gives all four hints, the schemas and where consent goes", function()
    local t = tools()
    assert.same({ readOnlyHint = true, destructiveHint = false, idempotentHint = true, openWorldHint = true },
      t["demo.plain"].annotations)
    assert.same({ readOnlyHint = false, destructiveHint = false, idempotentHint = false, openWorldHint = true },
      t["demo.mark"].annotations)
    assert.same({ readOnlyHint = false, destructiveHint = true, idempotentHint = false, openWorldHint = true },
      t["demo.two_words"].annotations)
    assert.equal("One typed argument", t["demo.plain"].title)
    assert.same({ type = "object", required = { "n" }, additionalProperties = false,
      properties = { n = { type = "integer", minimum = 1 }, text = { type = "string" } } }, t["demo.plain"].inputSchema)
    assert.same({ type = "object" }, t["demo.argv"].inputSchema)
    assert.equal("boolean", t["demo.mark"].inputSchema.properties.confirm.type)
    assert.is_nil(t["demo.mark"].inputSchema.required)
    assert.is_nil(t["demo.person"].inputSchema.properties.confirm)
    assert.same({ type = "object" }, t["demo.fits"].outputSchema)
    assert.is_nil(t["demo.plain"].outputSchema)
  end)

  it("answers a call with the result, and a refusal with the result envelope", function()
    local by_id = talk { opening, call(1, "demo.lua", { a = 1.5 }), call(2, "demo.plain", { n = 0 }), call(3, "demo.mark"),
      call(4, "demo.forbidden"), call(5, "demo.fits"), call(6, "demo.misfit"), call(7, "demo.two_words"),
      call(8, "demo.mark", { confirm = true }),
      wait(1), wait(2), wait(3), wait(4), wait(5), wait(6), wait(7), wait(8) }
    assert.same({ args = { a = 1.5 }, verb = "lua" }, by_id[1].result.structuredContent)
    assert.same({ args = { a = 1.5 }, verb = "lua" }, cjson.decode(by_id[1].result.content[1].text))
    assert.is_false(by_id[1].result.isError)
    assert.equal(26, #by_id[1].result._meta["hcp/run_id"])
    assert.is_nil(by_id[1].result.resultType)
    assert.is_true(by_id[2].result.isError)
    assert.is_nil(by_id[2].result.structuredContent)
    local envelope = w:exec("demo", "plain", { n = 0 })
    assert.same(envelope, cjson.decode(by_id[2].result.content[1].text))
    assert.equal("confirm required", cjson.decode(by_id[3].result.content[1].text).error)
    assert.equal(-32602, by_id[4].error.code)
    assert.equal("fits", by_id[5].result.structuredContent.verb)
    assert.is_false(by_id[6].result.isError)
    assert.is_nil(by_id[6].result.structuredContent)
    assert.equal('["x","--json"]', by_id[6].result.content[1].text)
    assert.is_nil(by_id[7].result.structuredContent)
    assert.is_false(by_id[8].result.isError)
  end)

  it("answers what is no request of these revisions", function()
    local by_id, said = talk { opening, wait(0), { send = "{" }, { send = "[]" }, { send = "17" },
      { send = '{"jsonrpc":"1.0","id":1,"method":"ping"}' }, { send = '{"jsonrpc":"2.0","id":1.5,"method":"ping"}' },
      { send = '{"jsonrpc":"2.0","id":null,"method":"ping"}' }, { send = '{"jsonrpc":"2.0","id":{},"method":"ping"}' },
      { send = '{"jsonrpc":"2.0","id":2,"method":"ping","params":[1]}' }, { send = '{"jsonrpc":"2.0","id":3}' },
      { send = '{"jsonrpc":"2.0","method":"what/ever"}' }, { send = '{"jsonrpc":"2.0","id":"none","result":{}}' },
      request(4, "resources/list"), request(5, "tools/call", {}), { send = ("x"):rep(3 * 1024 * 1024) },
      request(9007199254740993, "ping"), call("a", "demo.nothing"), wait("a"), request("last", "ping"), wait("last") }
    local codes = {}
    for _, m in ipairs(said.got) do
      if m.id == cjson.null then codes[#codes + 1] = m.error.code end
    end
    assert.same({ -32700, -32600, -32600, -32600, -32600, -32600, -32600, -32600 }, codes)
    assert.equal(-32602, by_id[2].error.code)
    assert.equal(-32600, by_id[3].error.code)
    assert.equal(-32601, by_id[4].error.code)
    assert.equal(-32602, by_id[5].error.code)
    assert.equal(-32602, by_id["a"].error.code)
    assert.same({}, by_id["last"].result)
    assert.equal(0, said.status)
  end)

  it("speaks the newer revision without a handshake", function()
    local by_id = talk { modern(1, "server/discover"), modern(2, "tools/list"),
      modern(3, "tools/call", { name = "demo.lua" }), modern(4, "tools/list", { _meta = meta(false, "2030-01-01") }),
      modern(5, "tools/list", { _meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28" } }),
      request(6, "tools/list"), request(7, "server/discover"), modern(8, "ping"),
      modern(9, "tools/call", { name = "demo.two_words" }),
      wait(1), wait(2), wait(3), wait(4), wait(5), wait(6), wait(7), wait(8), wait(9) }
    assert.same({ "2026-07-28" }, by_id[1].result.supportedVersions)
    assert.equal("complete", by_id[1].result.resultType)
    assert.equal("hcp", by_id[1].result._meta["io.modelcontextprotocol/serverInfo"].name)
    assert.equal("complete", by_id[2].result.resultType)
    assert.equal("private", by_id[2].result.cacheScope)
    assert.equal(0, by_id[2].result.ttlMs)
    assert.equal(13, #by_id[2].result.tools)
    assert.equal("lua", by_id[3].result.structuredContent.verb)
    assert.equal("complete", by_id[3].result.resultType)
    assert.equal(-32022, by_id[4].error.code)
    assert.same({ supported = { "2026-07-28" }, requested = "2030-01-01" }, by_id[4].error.data)
    assert.equal(-32602, by_id[5].error.code)
    assert.equal(-32600, by_id[6].error.code)
    assert.equal(-32602, by_id[7].error.code)
    assert.equal(-32601, by_id[8].error.code)
    assert.same({ "x", "--json" }, by_id[9].result.structuredContent)
  end)

  it("prints nothing but protocol, however chatty scripts and the log are", function()
    local by_id, _, err = talk({ opening, call(1, "demo.chatty"), wait(1) }, "--verbose")
    assert.same({ ok = 1 }, by_id[1].result.structuredContent)
    assert.truthy(err:find("noise", 1, true))
  end)

  local function sleepers() return (select(2, world.sh("pgrep -fc '[s]leep 61723'"))) end

  it("tells of progress, cancels without an answer, and goes on", function()
    local before = sleepers()
    local slow = call(1, "demo.slow")
    slow.send.params._meta = { progressToken = "tok" }
    local by_id, said = talk { opening, slow, { method = "notifications/progress" }, request(2, "ping"), wait(2),
      { send = { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 1 } } },
      call(3, "demo.plain", { n = 1 }), wait(3) }
    assert.is_nil(by_id[1])
    assert.is_false(by_id[3].result.isError)
    local last = 0
    for _, m in ipairs(said.got) do
      if m.method == "notifications/progress" then
        assert.equal("tok", m.params.progressToken)
        assert.is_true(m.params.progress > last)
        last = m.params.progress
      end
    end
    assert.is_true(last >= 1)
    assert.equal(before, sleepers())
  end)

  it("ends with its client, and leaves no process", function()
    local before = sleepers()
    for _, last in ipairs { {}, { { kill = "SIGTERM" } }, { { kill = "SIGKILL" } } } do
      local steps = { opening, call(1, "demo.slow"), call(2, "demo.plain", { n = 1 }), wait(2) }
      for _, step in ipairs(last) do steps[#steps + 1] = step end
      talk(steps)
      for _ = 1, 200 do
        if sleepers() == before then break end
        os.execute("sleep 0.05")
      end
      assert.equal(before, sleepers())
    end
    local status = world.sh(("(%s --root %s --state %s mcp; echo $? >&3) 3>%s | head -c 1 >/dev/null"):format(
      quote(world.hcp), quote(w.root), quote(w.state), quote(w.dir .. "/status")),
      cjson.encode(opening.send) .. "\n" .. (cjson.encode(request(1, "ping").send) .. "\n"):rep(20000))
    assert.equal(0, status)
    assert.equal("0\n", world.read(w.dir .. "/status"))
  end)

  it("holds a revoked grant at once, and a broken policy denies", function()
    local grants = w.root .. "/policies/spec.yaml"
    local kept, revoked = quote(w.dir .. "/kept"), quote(grants)
    local by_id = talk { opening, call(1, "demo.plain", { n = 1 }), wait(1),
      { shell = ("cp -p %s %s; sed -i 's/demo[.][*]/none/' %s"):format(revoked, kept, revoked) },
      call(2, "demo.plain", { n = 1 }), wait(2),
      { shell = ("echo nonsense: 1 >> %s"):format(revoked) }, call(4, "demo.plain", { n = 1 }), wait(4),
      request(5, "tools/list"), wait(5),
      { shell = ("sed -i /nonsense/d %s"):format(revoked) }, request(3, "tools/list"), wait(3),
      call(8, "demo.plain", { n = 1 }), wait(8),
      { shell = ("cp -p %s %s"):format(kept, revoked) },
      request(6, "tools/list"), wait(6), call(7, "demo.plain", { n = 1 }), wait(7) }
    assert.is_false(by_id[1].result.isError)
    assert.equal("denied: missing demo.read for demo.plain", cjson.decode(by_id[2].result.content[1].text).error)
    assert.same({}, by_id[3].result.tools)
    assert.equal("denied: missing demo.read for demo.plain", cjson.decode(by_id[8].result.content[1].text).error)
    assert.is_true(by_id[8].result.isError)
    assert.truthy(cjson.decode(by_id[4].result.content[1].text).error:find("^config: .*nonsense"))
    assert.equal(-32603, by_id[5].error.code)
    assert.truthy(by_id[5].error.message:find("^config: .*/spec.yaml:%d+: .*nonsense"))
    assert.is_true(#by_id[6].result.tools > 0)
    assert.is_false(by_id[7].result.isError)
  end)

  describe("confirm: person", function()
    local function error_of(answer)
      assert.is_true(answer.result.isError)
      assert.is_nil(answer.result.structuredContent)
      return cjson.decode(answer.result.content[1].text).error
    end
    local function reply(id, action)
      return { send = { jsonrpc = "2.0", id = id, result = { action = action, content = cjson.decode("{}") } } }
    end

    it("is never an argument, and refuses where nobody can be asked", function()
      local _, ran = denials("person")
      local by_id = talk { opening, call(1, "demo.person", { what = "x", confirm = true }), call(2, "demo.person", {}),
        wait(1), wait(2) }
      assert.equal("confirm required", error_of(by_id[1]))
      assert.equal("confirm required", error_of(by_id[2]))
      by_id = talk { modern(1, "tools/call", { name = "demo.person", arguments = { what = "x", apply = true } }), wait(1) }
      assert.equal("confirm required", error_of(by_id[1]))
      assert.equal("confirm required", w:exec("demo", "person", { what = "x", confirm = true }).error)
      assert.equal(ran, (select(2, denials("person"))))
    end)

    it("asks with all that will run, visibly, and runs it once where a person agrees", function()
      local _, before = denials("person")
      local by_id, said = talk { opening_with_form, call(1, "demo.person", { what = "a\27[2J\u{202e}b" }),
        { method = "elicitation/create" }, reply("consent-1", "accept"), wait(1), reply("consent-1", "accept"),
        request(2, "ping"), wait(2) }
      local asked
      for _, m in ipairs(said.got) do if m.method == "elicitation/create" then asked = m end end
      local _, first = w:cli { "explain", "demo", "plain", "n=1", "--json" }
      assert.equal(table.concat({ "May this run, once, exactly so?", 'pack: "demo"', 'command: "person"',
        'what it does: "A person\'s \\u{202e} word"', 'as: "' .. cjson.decode(first).principal.id .. '"',
        'tenant: "default"', 'arguments: {"what":"a\\u001b[2J\\u{202e}b","more":"filled"}', "" }, "\n"),
        asked.params.message)
      assert.same({ type = "object", properties = {} }, asked.params.requestedSchema)
      assert.is_false(by_id[1].result.isError)
      assert.truthy(by_id[1].result.content[1].text:find("filled", 1, true))
      local _, after = denials("person")
      assert.equal(before + 1, after)
    end)

    it("refuses what was declined, cancelled or answered with an error", function()
      local _, before = denials("person")
      for _, answer in ipairs { reply("consent-1", "decline"), reply("consent-1", "cancel"), reply("consent-1", "yes"),
        { send = { jsonrpc = "2.0", id = "consent-1", error = { code = -1, message = "accept" } } } } do
        local by_id = talk { opening_with_form, call(1, "demo.person", { what = "x" }), { method = "elicitation/create" },
          answer, wait(1) }
        assert.equal("confirm required", error_of(by_id[1]))
      end
      assert.equal(before, (select(2, denials("person"))))
    end)

    it("judges arguments before it asks, and asks for nobody's script", function()
      local by_id, said = talk { opening_with_form, call(1, "demo.person", {}), call(2, "demo.through"), wait(1), wait(2) }
      assert.equal("invalid args: what: is required", error_of(by_id[1]))
      assert.truthy(error_of(by_id[2]):find("confirm required", 1, true))
      for _, m in ipairs(said.got) do assert.not_equal("elicitation/create", m.method) end
    end)

    local function ask(id, args)
      return modern(id, "tools/call", { name = "demo.person", arguments = args }, true)
    end
    local function retry(id, args, action, state, name)
      return modern(id, "tools/call", { name = name or "demo.person", arguments = args,
        requestState = state or { from = { 1, "result", "requestState" } },
        inputResponses = { consent = { action = action, content = cjson.decode("{}") } } }, true)
    end

    it("asks by the result in the newer revision; the state is good once, for exactly that", function()
      local _, before = denials("person")
      local by_id = talk { ask(1, { what = "x" }), wait(1),
        retry(2, { what = "y" }, "accept"), wait(2), -- another run: asked anew, and the state is spent
        retry(3, { what = "x" }, "accept"), wait(3),
        retry(4, { what = "x" }, "accept", { from = { 3, "result", "requestState" } }), wait(4),
        retry(5, { what = "x" }, "accept", { from = { 3, "result", "requestState" } }), wait(5),
        ask(6, { what = "x" }), wait(6),
        retry(7, { what = "x" }, "decline", { from = { 6, "result", "requestState" } }), wait(7),
        retry(8, { what = "x" }, "accept", { from = { 6, "result", "requestState" } }), wait(8) }
      assert.equal("input_required", by_id[1].result.resultType)
      assert.equal("elicitation/create", by_id[1].result.inputRequests.consent.method)
      assert.equal("input_required", by_id[2].result.resultType)
      assert.equal("input_required", by_id[3].result.resultType)
      assert.is_false(by_id[4].result.isError)
      assert.same({ "x", "filled", "--json" }, by_id[4].result.structuredContent)
      assert.equal("input_required", by_id[5].result.resultType)
      assert.equal("confirm required", error_of(by_id[7]))
      assert.equal("input_required", by_id[8].result.resultType)
      assert.equal(before + 1, (select(2, denials("person"))))
    end)

    it("takes no state that another process sealed, or that was changed", function()
      local _, before = denials("person")
      local first = talk { ask(1, { what = "x" }), wait(1) }
      local state = first[1].result.requestState
      assert.equal(118, #state)
      local by_id = talk { ask(1, { what = "x" }), wait(1), retry(2, { what = "x" }, "accept", state), wait(2),
        retry(3, { what = "x" }, "accept", ""), wait(3), retry(4, { what = "x" }, "accept", ("A"):rep(118)), wait(4),
        retry(5, { what = "x" }, "accept", state .. "AAAA"), wait(5) }
      for i = 2, 5 do assert.equal("input_required", by_id[i].result.resultType) end
      assert.equal(before, (select(2, denials("person"))))
    end)
  end)
end)
