-- Tokens: how they come, which provider decides, what a provider gets wrong, and that none is seen anywhere.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"
local hcp = require "hcp"

local quote = world.quote
local secret = "t0ken-Ueb3rall-und-nirg3nds/9+x=" -- 32 visible characters

describe("a token", function()
  local w, file
  before_each(function()
    w = demo.world()
    file = w.dir .. "/token"
    world.write(file, secret .. "\n", "600")
  end)
  after_each(function() w:close() end)

  local function sha256(text)
    return (select(2, world.sh("printf %s " .. quote(text) .. " | sha256sum")):match("^%x+"))
  end
  local function policy(auth, rest)
    w:policy(auth .. [[

roles: { clerk: [demo.read] }
grants: [ { role: clerk, capabilities: [demo.read] } ]
packs: { demo: { bins: [./bin/show] } }
]] .. (rest or ""))
  end
  local function tokens(entry)
    policy(([[
auth: { provider: token, with: { tokens: [
  { sha256: "%s", id: "svc:other" },
  { sha256: "%s", id: "svc:ci", %s } ] } }
]]):format(sha256("another-token-of-somebody"), sha256(secret), entry or "roles: [clerk]"))
  end
  local function plain(options)
    local status, out, err = w:cli({ "exec", "demo", "plain", "n=1" }, options)
    return out ~= "" and cjson.decode(out).error or cjson.decode(out).ok, status, err, out
  end
  local function provider(body)
    w:put("policies/auth/p.lua", "return function(request, host) " .. body .. " end")
    policy("auth: { provider: p }")
  end

  it("comes by file, descriptor or variable, and stands for somebody", function()
    tokens()
    local said
    for _, way in ipairs {
      function() return w:cli { "--token-file", file, "exec", "demo", "plain", "n=1" } end,
      function() return w:cli({ "--token-fd", "7", "exec", "demo", "plain", "n=1" }, { before = "exec 7<" .. file .. ";" }) end,
      function() return w:cli({ "--token-fd", "0", "exec", "demo", "plain", "n=1" }, { stdin = secret }) end,
      function() return w:cli({ "exec", "demo", "plain", "n=1" }, { env = "HCP_TOKEN_FILE=" .. quote(file) }) end,
      function() return w:cli({ "--token-file", file, "exec", "demo", "plain", "n=1" }, { env = "HCP_TOKEN_FILE=/nowhere" }) end,
    } do
      local status, out, err = way()
      assert.equal(0, status, out .. err)
      said = cjson.decode(out)
      assert.is_true(said.ok)
    end
    local records = w:audit()
    assert.equal("svc:ci", records[#records].principal)
    local rt = assert(hcp.open { root = w.root, state = w.state })
    local json = rt:exec('{"pack_id":"demo","verb_key":"plain","args":{"n":1}}', { token = secret })
    assert.is_true(cjson.decode(json).ok)
    rt:close()
  end)

  it("is redacted where the text of an error is cut", function()
    tokens()
    for _, before in ipairs { 65536 - 5, 65536 - #secret, 65536 } do
      w:pack("demo", { ["bin/show"] = { ("#!/bin/sh\nhead -c %d /dev/zero | tr '\\0' x >&2\nprintf %%s %s >&2\nexit 3\n")
        :format(before, quote(secret)), "755" } })
      local said = plain { env = "HCP_TOKEN_FILE=" .. quote(file) }
      assert.equal((("x"):rep(before) .. "[redacted]"):sub(1, 65536), said)
    end
  end)

  it("is refused by wrong usage before anything runs", function()
    tokens()
    local before = #w:audit()
    local function usage(why, words, options)
      local status, out, err = w:cli(words, options)
      assert.same({ 2, "", "hcp: " .. why .. "\n" }, { status, out, err })
    end
    local run = { "exec", "demo", "plain", "n=1" }
    local function with(...)
      local words = { ... }
      for _, word in ipairs(run) do words[#words + 1] = word end
      return words
    end
    local shape = ": a token is one line of 8 to 16384 visible ASCII characters"
    usage("the token's file /nowhere can't be opened", with("--token-file", "/nowhere"))
    usage("the token's file  can't be opened", run, { env = "HCP_TOKEN_FILE=" })
    usage("--token-file and --token-fd: one of the two, not both", with("--token-file", file, "--token-fd", "3"))
    usage("--token-fd needs the number of a descriptor", with("--token-fd", "x"))
    usage("--token-fd needs the number of a descriptor", with("--token-fd", "-1"))
    usage("--token-fd can't be read", with("--token-fd", "77"))
    os.execute("chmod 640 " .. quote(file))
    usage("the token's file " .. file .. " is open to others: chmod 600 it", with("--token-file", file))
    for _, text in ipairs { "", "\n", "short\n", "two words here\n", "two\nlines-of-it\n", "nul\0inside-it", "umlaut-\xc3\xbc-there",
      ("x"):rep(16385) } do
      world.write(file, text, "600")
      usage(file .. shape, with("--token-file", file))
    end
    world.write(file, ("x"):rep(16384), "600")
    assert.equal("denied: unknown token", plain { env = "HCP_TOKEN_FILE=" .. quote(file) })
    assert.equal(before + 2, #w:audit()) -- genesis and that denial
    assert.equal(2, (w:cli(with("--token", secret))))
  end)

  it("that nobody knows, or none, denies, and no other provider is asked", function()
    policy(([[
auth:
  - { when: { token: true }, provider: token, with: { tokens: [ { sha256: "%s", id: "svc:ci", roles: [clerk] } ] } }
  - { provider: os_user }
]]):format(sha256("another-token-of-somebody")), 'principals: { "user:root": { roles: [clerk] } }\n')
    assert.equal("denied: unknown token", plain { env = "HCP_TOKEN_FILE=" .. quote(file) })
    local _, out = w:cli { "explain", "demo", "plain", "n=1" }
    assert.equal("provider os_user", cjson.decode(out).steps[4].because[1].text)
    _, out = w:cli({ "explain", "demo", "plain", "n=1" }, { env = "HCP_TOKEN_FILE=" .. quote(file) })
    assert.equal("provider token", cjson.decode(out).steps[4].because[1].text)
    tokens()
    assert.equal("denied: a token is required", plain())
    -- where no entry fits, nobody is anybody
    policy("auth: [ { when: { token: false }, provider: os_user } ]")
    assert.equal("denied: unauthenticated", plain { env = "HCP_TOKEN_FILE=" .. quote(file) })
    policy("auth: [ { when: { token: true }, provider: os_user } ]")
    assert.equal("denied: unauthenticated", plain())
    policy("auth: [ { when: { face: http }, provider: os_user } ]")
    assert.equal("denied: unauthenticated", plain())
  end)

  it("brings tenant, project, roles and its end", function()
    local asked = { env = "HCP_TOKEN_FILE=" .. quote(file) }
    tokens('tenant: north, tenants: [north, south], project_id: p1, projects: [p1, p2], roles: [clerk]')
    local function who(...)
      local _, out = w:cli({ "explain", "demo", "brain", ... }, asked)
      local e = cjson.decode(out)
      return e.error or e.principal.tenant .. "/" .. e.principal.project_id
    end
    assert.equal("north/p1", who())
    assert.equal("south/p2", who("--tenant", "south", "--project", "p2"))
    assert.equal("denied: tenant west", who("--tenant", "west"))
    assert.equal("denied: project p3", who("--project", "p3"))
    w:put("hcp.yaml", "hcp: 1\ntenant: south\nproject_id: p2\n")
    assert.equal("south/p2", who())
    assert.equal("north/p1", who("--tenant", "north", "--project", "p1"))
    os.remove(w.root .. "/hcp.yaml")
    tokens('roles: [clerk], expires_at: "2001-01-01T00:00:00Z"')
    assert.equal("denied: auth: the principal has expired", plain(asked))
    tokens('roles: [clerk], expires_at: "2999-01-01T00:00:00Z"')
    assert.is_true(plain(asked))
    tokens("roles: [chief]")
    assert.equal("denied: unknown role chief", plain(asked))
    tokens("roles: []")
    assert.equal("denied: missing demo.read for demo.plain", plain(asked))
    tokens("roles: [clerk]")
    assert.equal("denied: privacy.land brain requires project_id", who())
  end)

  it("meets a list that is wrong: all of it denies", function()
    local asked = { env = "HCP_TOKEN_FILE=" .. quote(file) }
    local sum, count = sha256(secret), 0
    for with, why in pairs {
      [""] = "the policy gives no list of tokens",
      [", with: { tokens: x }"] = "the policy gives no list of tokens",
      [", with: { tokens: [ { id: x } ] }"] = "token 1: sha256 must be 64 hexadecimal digits in lower case",
      [", with: { tokens: [ { sha256: 'ab', id: x } ] }"] = "token 1: sha256 must be 64 hexadecimal digits in lower case",
      [", with: { tokens: [ { sha256: '" .. sum:upper() .. "', id: x } ] }"] =
        "token 1: sha256 must be 64 hexadecimal digits in lower case",
      [", with: { tokens: [ { sha256: '" .. sum .. "' } ] }"] = "token 1: it has no id",
      [", with: { tokens: [ { sha256: '" .. sum .. "', id: x, rolls: [clerk] } ] }"] = "token 1: rolls",
      [", with: { tokens: [ { sha256: '" .. sum .. "', id: x, roles: clerk } ] }"] = "token 1: roles",
      [", with: { tokens: [ { sha256: '" .. sum .. "', id: 7 } ] }"] = "token 1: id",
      [", with: { tokens: [ { sha256: '" .. sum .. "', id: x }, { sha256: '" .. sum .. "', id: y } ] }"] =
        "token 2: its sha256 stands twice",
      [", with: { tokens: [ { sha256: '" .. sum .. "', id: x, expires_at: soon } ] }"] = "not a time of RFC 3339",
    } do
      policy("auth: { provider: token" .. with .. " }")
      local error, status = plain(asked)
      assert.matches("^denied: auth: script: ", error)
      assert.is_truthy(error:find(why, 1, true), error .. " / " .. why)
      assert.equal(126, status)
      count = count + 1
    end
    assert.equal(11, count)
  end)

  it("meets a provider that is wrong: each denies with its own word", function()
    local asked = { env = "HCP_TOKEN_FILE=" .. quote(file) }
    for body, why in pairs {
      ["return nil"] = "denied: unauthenticated",
      ["return nil, 'not today'"] = "denied: not today",
      ["return false"] = "denied: auth: ",
      ["return 'svc:ci'"] = "denied: auth: ",
      ["return {}"] = "denied: auth: a principal needs an id",
      ["return { id = '' }"] = "denied: auth: id must be a string",
      ["return { id = 7 }"] = "denied: auth: id must be a string",
      ["return { id = 'a\\nb' }"] = "denied: auth: a principal needs an id",
      ["return { id = ('x'):rep(257) }"] = "denied: auth: a principal needs an id",
      ["return { id = 'x', roles = 'clerk' }"] = "denied: auth: roles must be a list",
      ["return { id = 'x', roles = { 7 } }"] = "denied: auth: roles must hold strings",
      ["return { id = 'x', rolls = {} }"] = "denied: auth: a principal has no field rolls",
      ["return { id = 'x', tenant = {} }"] = "denied: auth: tenant must be a string",
      ["return { id = 'x', tenants = 'a' }"] = "denied: auth: tenants must be a list",
      ["return { id = 'x', expires_at = 'soon' }"] = "denied: auth: expires_at must be seconds since 1970",
      ["return { id = 'x', expires_at = 0 }"] = "denied: auth: expires_at must be seconds since 1970",
      ["return { id = 'x', expires_at = -1 }"] = "denied: auth: expires_at must be seconds since 1970",
      ["return { id = 'x', expires_at = host.now() - 1 }"] = "denied: auth: the principal has expired",
      ["return { id = 'x', roles = { 'nobody' } }"] = "denied: unknown role nobody",
      ["return { id = 'x', tenant = '../y', roles = { 'clerk' } }"] = "denied: tenant ../y",
      ["error('broken')"] = "denied: auth: script: auth/p.lua:1: broken",
      ["error()"] = "denied: auth: ",
      ["while true do end"] = "denied: auth: script: ",
      ["return host.secret('none')"] = "denied: auth: ",
      ["return { id = request.token }"] = "denied: auth: the principal holds the token",
      ["return { id = 'x', claims = { t = 'Bearer ' .. request.token } }"] = "denied: auth: the principal holds the token",
      ["return { id = 'x', claims = { [host.base64(request.token)] = 1 } }"] =
        "denied: auth: the principal holds the token",
      ["return os.getenv('HOME')"] = "denied: auth: script: ",
    } do
      provider(body)
      w:put("hcp.yaml", "hcp: 1\nlua: { timeout: 300ms, instructions: 2M }\n")
      local error, status = plain(asked)
      assert.equal(why, error:sub(1, #why), body)
      assert.equal(126, status)
    end
  end)

  it("is seen nowhere: not in errors, logs, records, explanations or the state folder", function()
    provider([[
      local t = request.token
      print("print", t)
      hcp.log.warn(host.base64("x" .. t), host.hex(t), host.uri(t))
      if request.verb_key == "mark" then return nil, "no: " .. t .. " " .. host.base64url("ab" .. t) end
      if request.verb_key == "lua" then error("raised " .. t) end
      if request.verb_key == "argv" then error({ t }) end
      return { id = "x", roles = { "clerk" } }]])
    local b64 = select(2, world.sh("printf %s " .. quote(secret) .. " | base64 -w0"))
    local hex = select(2, world.sh("printf %s " .. quote(secret) .. " | od -An -tx1 | tr -d ' \\n'"))
    local asked = { env = "HCP_TOKEN_FILE=" .. quote(file) }
    local all = {}
    for _, words in ipairs {
      { "-v", "exec", "demo", "mark" }, { "-v", "exec", "demo", "lua" }, { "-v", "exec", "demo", "argv" },
      { "-v", "exec", "demo", "plain", "n=1", "text=" .. secret }, { "-v", "exec", "demo", "plain", "n=1", "text=" .. b64 },
      { "-v", "explain", "demo", "mark" }, { "-v", "explain", "demo", "plain", "n=1", "text=" .. secret },
    } do
      local _, out, err = w:cli(words, asked)
      all[#all + 1] = out .. err
    end
    assert.equal("denied: no: [redacted] ", cjson.decode(all[1]:match("^[^\n]+")).error:sub(1, 23))
    assert.matches("print[ \t]%[redacted%]", all[1])
    local plain_result = cjson.decode(all[4]:match("^{[^\n]+"))
    assert.same({ "--n=1", "[redacted]", "--json" }, plain_result.result)
    local text = table.concat(all)
    local _, state = world.sh("cat " .. quote(w.state) .. "/audit/*; find " .. quote(w.state))
    for _, form in ipairs { secret, b64:sub(1, 40), hex, hex:upper(), (secret:gsub("[/+=]", function(c)
      return ("%%%02X"):format(c:byte())
    end)) } do
      assert.is_nil(text:find(form, 1, true), form)
      assert.is_nil(state:find(form, 1, true), form)
    end
    local records = w:audit()
    assert.equal("[redacted]", records[#records - 1].args.text)
  end)

  it("reaches no program and no guard", function()
    tokens()
    w:put("policies/guards/look.lua", "return function(request) return false, tostring(request.token) end")
    local asked = { env = "HCP_TOKEN_FILE=" .. quote(file) }
    w:pack("demo", { ["bin/show"] = { "#!/bin/sh\ncat /proc/self/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; env\n", "755" } })
    local status, out = w:cli({ "exec", "demo", "argv", "a=x" }, asked)
    assert.equal(0, status, out)
    assert.is_nil(out:find(secret, 1, true))
    assert.is_nil(out:find("HCP_TOKEN", 1, true))
    assert.is_nil(out:find("redacted", 1, true))
    policy(([[
auth: { provider: token, with: { tokens: [ { sha256: "%s", id: "svc:ci", roles: [clerk] } ] } }
]]):format(sha256(secret)))
    w:policy((world.read(w.root .. "/policies/spec.yaml"):gsub("^hcp: 1\n", ""):gsub("bins: %[./bin/show%]",
      "bins: [./bin/show], commands: { plain: { guard: look } }")))
    assert.equal("denied: nil", plain(asked))
  end)
end)
