-- The mint hooks for services: what each gives and takes back, and every way in which its service can be wrong.
local cjson = require "cjson"
local tls = require "tls"
local world = require "world"

local quote = world.quote
local manifest = [[
hcp: 1
pack_id: bank
version: 1.0.0
summary: A pack whose credentials a service gives
wrap: { bin: ./bin/bank, json_flag: [], result: text, stdin: "{{script}}" }
mint: { hook: "policies:%s", ttl: %s, env: [%s] }
commands:
  run: { summary: Runs a script, cli: [bank], effect: read }
  kept: { summary: In a kept jail, cli: [bank], wrap: { workspace: { mode: workspace } } }
]]

-- What each service's hook is given, what it gives, and what is taken back; AT stands for the server.
local services = {
  oauth2 = {
    ttl = "10m", env = "API_TOKEN", secrets = "client", with = 'token_url: "https://AT/token", revoke_url: "https://AT/revoke", ' ..
      "client_id: hcp-client, client_secret: client, env: API_TOKEN, scope: read",
    value = "^oauth%-access%-%d+$", revoked = "^oauth%-access%-(%d+)\n$", at = "the token endpoint",
  },
  github_app = {
    ttl = "65m", env = "GITHUB_TOKEN", secrets = "app_key", with = 'api: "https://AT", app_id: "12345", ' ..
      'installation_id: "678", key: app_key, repositories: [site], permissions: { contents: read }',
    value = "^ghs_installation%-%d+$", revoked = "^ghs_installation%-(%d+)\n$", at = "GitHub",
  },
  aws_sts = {
    ttl = "20m", env = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN", secrets = "aws_key",
    with = 'endpoint: "https://AT", region: eu-west-1, role_arn: "arn:aws:iam::123456789012:role/reader", ' ..
      "access_key_id: AKIDEXAMPLE, secret_access_key: aws_key",
    value = "^ASIAEXAMPLE%d+ sts%-secret%-key%-%d+ sts%-session%-token%-%d+$", at = "STS",
    id = "^arn:aws:sts::123456789012:assumed%-role/reader/user=3A[%w=]+$",
  },
  vault = {
    ttl = "10m", env = "DB_USER, DB_PASSWORD", secrets = "role_secret", with = 'address: "https://AT", role_id: role-1, ' ..
      "secret_id: role_secret, path: database/creds/reader, env: { DB_USER: username, DB_PASSWORD: password }",
    value = "^v%-user%-name%-%d+ v%-pass%-word%-%d+$", revoked = "^database/creds/reader/(%d+)\na login\n$",
    at = "Vault's login", id = "^database/creds/reader/%d+$",
  },
}
local secrets = {
  client = "cl1ent:secret/+%", aws_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", role_secret = "vault-secret-id",
  subject = "subject-token-1", vault_token = "hvs.static-token-0123", wrong = "not-the-secret",
}

describe("a mint hook for a service", function()
  local w, s, dir, key
  setup(function()
    w = world.new()
    dir = w.dir .. "/services"
    assert(os.execute("mkdir -m 700 " .. quote(dir) .. " " .. quote(w.root .. "/secrets")))
    local ca = tls.authority(dir, "ca")
    ca:certificate("server", "IP:127.0.0.1,DNS:localhost")
    w:put("ca.pem", world.read(dir .. "/ca.pem"))
    w:put("hcp.yaml", "hcp: 1\nca: ca.pem\naudit: { sync: os }\n")
    assert(os.execute(("cd %s && { openssl genrsa -traditional -out app.key 2048 && openssl rsa -in app.key -pubout -out app.pem; } " ..
      "2>/dev/null"):format(quote(dir))))
    key = world.read(dir .. "/app.key")
    w:put("secrets/app_key", key, "600")
    for name, value in pairs(secrets) do w:put("secrets/" .. name, value, "600") end
    w:pack("bank", { ["policy.yaml"] = "hcp: 1\npolicies: { run: {}, kept: {} }\n", ["bin/bank"] = { "#!/bin/sh\n. /dev/stdin\n", "755" } })
    s = tls.server(dir, "server", nil, "services.py")
  end)
  teardown(function()
    s:stop()
    w:close()
  end)
  before_each(function()
    os.remove(dir .. "/fault")
    os.remove(dir .. "/revoked")
  end)

  local function fault(text) world.write(dir .. "/fault", text) end
  local function revoked() return world.read(dir .. "/revoked") or "" end
  -- Sets the world up for `service`; `more`: with, host, secrets, limits, env, ttl.
  local function use(service, more)
    local it, at = services[service], "127.0.0.1:" .. s.port
    more = more or {}
    w:put("packs/bank/pack.yaml", manifest:format(service, more.ttl or it.ttl, more.env or it.env))
    w:policy(([[
grants: [ { principal: "*", capabilities: ["bank.*"] } ]
packs:
  bank:
    bins: [./bin/bank]
    sandbox: { limits: { timeout: %s } }
    mint: { hosts: ["%s"], secrets: [%s], with: { %s } }
]]):format(more.timeout or "20s", more.host or at, more.secrets or it.secrets, ((more.with or it.with):gsub("AT", more.at or at))))
    w:activate("bank")
  end
  local function run(script, verb) return w:exec("bank", verb or "run", { script = script }) end
  -- How the hook fails: nothing ran, and neither the output nor the log holds a secret.
  local function fails()
    local envelope, status, err, out = run("touch mark", "kept")
    assert.same({ false, 126 }, { envelope.ok, status }, out .. err)
    for _, value in pairs(secrets) do assert.is_nil((out .. err .. select(2, w:audit())):find(value, 1, true)) end
    assert.is_nil(world.read(w.state .. "/workspaces/default/-/bank/mark"))
    local records = w:audit()
    assert.same({ "end", 7, envelope.error }, { records[#records].kind, records[#records].step, records[#records].error })
    return (envelope.error:gsub("^mint failed: ", ""))
  end
  -- The values as the program saw them, told by a file of its kept jail so that nothing redacts them.
  local function seen(service)
    local names = services[service].env:gsub("[%w_]+", '"$%0"'):gsub(",", "")
    local envelope, _, err, out = run("echo " .. names .. " >seen; env | grep -c -e AWS_ -e TOKEN -e DB_; echo " .. names, "kept")
    assert.is_true(envelope.ok, envelope.error)
    local value = world.read(w.state .. "/workspaces/default/-/bank/seen"):gsub("\n$", "")
    assert(os.remove(w.state .. "/workspaces/default/-/bank/seen"))
    for word in value:gmatch("%S+") do
      assert.is_nil((out .. err .. select(2, w:audit())):find(word, 1, true))
      assert.equal("", select(2, world.sh("grep -rlF " .. quote(word) .. " " .. quote(w.state))))
    end
    return value, envelope
  end

  for name, service in pairs(services) do
    it(name .. " gives each run credentials of its own and takes them back", function()
      use(name)
      local first, envelope = seen(name)
      assert.matches(service.value, first)
      local count = select(2, service.env:gsub("[%w_]+", ""))
      assert.equal(count .. "\n" .. ("[redacted] "):rep(count):sub(1, -2) .. "\n", envelope.result)
      local records = w:audit()
      local last = records[#records]
      assert.is_nil(last.revoke_error)
      if service.id then assert.matches(service.id, last.binding_id) end
      if service.revoked then
        assert.equal(first:match("%d+$"), revoked():match(service.revoked))
      else
        assert.equal("", revoked())
      end
      assert.are_not.equal(first, (seen(name)))
    end)

    it(name .. " refuses what is no answer of its service", function()
      use(name)
      local at = service.at
      for text, why in pairs {
        down = at .. " answers with status 503", page = at .. " answers with status 200", list = at .. " answers with status 200",
        broken = at .. " answers with status 200", ["json 200 {}"] = at .. " answers with status 200",
        ["json 201 {}"] = at .. " answers with status 201", ["json 200 null"] = at .. " answers with status 200",
        ["redirect https://localhost:" .. s.port .. "/token"] = at .. " answers with status 307", huge = "the answer is over 256K",
      } do
        fault(text)
        assert.equal(why, (fails():gsub("^script: [^:]+:%d+: ", "")), text)
      end
      use(name, { timeout = "1s" })
      for _, text in ipairs { "hang", name == "oauth2" and "drip" or nil } do
        fault(text)
        assert.matches("^script: time limit of 1s exceeded at mint/" .. name, fails())
      end
    end)

    it(name .. " goes nowhere but where the policy says", function()
      local before = #s:requests()
      use(name, { host = "127.0.0.1:1" })
      assert.matches('the policy lists no host "127%.0%.0%.1:' .. s.port .. '"$', fails())
      use(name, { host = "localhost:" .. s.port, at = "localhost:" .. s.port })
      assert.matches("the host's address is of a private network and the policy doesn't list it$", fails())
      use(name, { secrets = "wrong" })
      assert.matches('the policy lists no secret "[%w_]+" for the mint hook of pack bank$', fails())
      w:put("hcp.yaml", "hcp: 1\naudit: { sync: os }\n")
      use(name)
      assert.matches("SSL certificate problem", fails())
      w:put("hcp.yaml", "hcp: 1\nca: ca.pem\naudit: { sync: os }\n")
      assert.equal(before, #s:requests())
    end)

    it(name .. " takes no key in `with` that it doesn't know", function()
      use(name, { with = service.with .. ", scopes: all" })
      assert.equal('mint.with: unknown key "scopes"', fails())
      use(name, { with = service.with:gsub("region: eu%-west%-1", "region: 1"):gsub("key: app_key", "key: 1"):gsub(
        "client_secret: client", "client_secret: 1"):gsub("address: [^,]+", "address: 1") })
      assert.matches("^mint%.with: [%w_]+ must be a string$", fails())
      use(name, { with = "env: X" })
      assert.matches("^mint%.with: ", fails())
    end)
  end

  it("tells a wrong secret by the server's word alone", function()
    local function with(name, from) return { secrets = "wrong", with = (services[name].with:gsub(from, "%1wrong")) } end
    use("oauth2", with("oauth2", "(client_secret: )%w+"))
    assert.equal("the token endpoint answers with status 401: invalid_client", fails())
    use("aws_sts", with("aws_sts", "(secret_access_key: )[%w_]+"))
    assert.equal("STS answers with status 403: SignatureDoesNotMatch", fails())
    use("vault", with("vault", "(secret_id: )[%w_]+"))
    assert.equal("Vault's login answers with status 400", fails())
    use("github_app", with("github_app", "([^_]key: )[%w_]+"))
    assert.matches("^script: mint/github_app.lua:%d+: ", fails())
    w:put("secrets/other_key", select(2, world.sh("openssl genrsa 2048 2>/dev/null")), "600")
    use("github_app", { secrets = "other_key", with = services.github_app.with:gsub("key: app_key", "key: other_key") })
    assert.equal("GitHub answers with status 401", fails())
  end)

  it("refuses a Binding that lasts too long, ends never, or is of another kind", function()
    local long, none = "the Binding is good for longer than the ttl of ", "has no expires_in and no expires_at"
    local bearer, aws = '"access_token":"long-enough","token_type":"Bearer"', '"AccessKeyId":"ASIA1234","SecretAccessKey":"long-enough"'
    for _, row in ipairs {
      { "oauth2", "200 {" .. bearer .. ',"expires_in":601}', "policies:oauth2: " .. long .. "10m" },
      { "oauth2", "200 {" .. bearer .. "}", "policies:oauth2: " .. none },
      { "oauth2", "200 {" .. bearer .. ',"expires_in":0}', "policies:oauth2: the Binding has expired" },
      { "oauth2", '200 {"access_token":"long-enough","token_type":"mac","expires_in":9}', "the token endpoint gives no bearer token" },
      { "oauth2", '200 {"access_token":"long-enough","expires_in":9}', "the token endpoint gives no bearer token" },
      { "oauth2", '200 {"access_token":"short","token_type":"Bearer","expires_in":9}',
        "policies:oauth2: env.API_TOKEN is shorter than 8 bytes" },
      { "oauth2", '200 {"access_token":"two\\nlines of it","token_type":"Bearer","expires_in":9}',
        "policies:oauth2: env.API_TOKEN holds a control character" },
      { "oauth2", '200 {"access_token":7,"token_type":"Bearer","expires_in":9}', "the answer's access_token is no text" },
      { "oauth2", '400 {"error":"<b>prose of a stranger</b>"}', "the token endpoint answers with status 400" },
      { "github_app", '201 {"token":"long-enough","expires_at":"2099-01-01T00:00:00Z"}', "policies:github_app: " .. long .. "65m" },
      { "github_app", '201 {"token":"long-enough"}', "policies:github_app: " .. none },
      { "github_app", '201 {"token":"long-enough","expires_at":"soon"}',
        "policies:github_app: expires_at is no time as 2030-01-31T12:00:00Z" },
      { "aws_sts", '200 {"AssumeRoleResponse":{"AssumeRoleResult":{}}}', "STS answers with status 200" },
      { "aws_sts", '200 {"AssumeRoleResponse":"x"}', "STS answers with status 200" },
      { "aws_sts", '200 {"AssumeRoleResponse":{"AssumeRoleResult":{"Credentials":{' .. aws .. ',"Expiration":1}}}}',
        "policies:aws_sts: env lacks AWS_SESSION_TOKEN" },
      { "aws_sts", '200 {"AssumeRoleResponse":{"AssumeRoleResult":{"Credentials":{' .. aws ..
        ',"SessionToken":"long-enough","Expiration":1}}}}', "policies:aws_sts: the Binding has expired" },
    } do
      use(row[1])
      fault("json " .. row[2])
      assert.equal(row[3], (fails():gsub("^script: [^:]+:%d+: ", "")), row[2])
    end
  end)

  it("oauth2 exchanges a token, and tells who it is in the form where the policy says so", function()
    use("oauth2", { secrets = "client, subject", with = services.oauth2.with ..
      ', client_auth: post, subject_token: subject, audience: "https://api/", resource: "urn:r"' })
    assert.matches(services.oauth2.value, (seen("oauth2")))
    local asked
    for _, r in ipairs(s:requests()) do asked = r.path == "/token" and r or asked end
    assert.is_nil(asked.headers.authorization)
    assert.equal("audience=https%3A%2F%2Fapi%2F&client_id=hcp-client&client_secret=cl1ent%3Asecret%2F%2B%25" ..
      "&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange" ..
      "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&resource=urn%3Ar&scope=read" ..
      "&subject_token=subject-token-1&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token", asked.body)
    use("oauth2", { secrets = "client, wrong", with = services.oauth2.with .. ", subject_token: wrong" })
    assert.equal("the token endpoint answers with status 400: invalid_request", fails())
    use("oauth2", { with = services.oauth2.with .. ", client_auth: jwt" })
    assert.equal("mint.with: client_auth must be basic or post", fails())
  end)

  it("github_app asks for the named repositories and permissions only", function()
    use("github_app")
    seen("github_app")
    local all = s:requests()
    local asked = all[#all - 1]
    assert.equal("/app/installations/678/access_tokens", asked.path)
    assert.same({ repositories = { "site" }, permissions = { contents = "read" } }, cjson.decode(asked.body))
    use("github_app", { with = services.github_app.with:gsub("678", "../678") })
    assert.equal("mint.with: installation_id must be a number in quotes", fails())
    assert.is_nil(select(2, w:audit()):find(key:match("\n(.-)\n"), 1, true))
  end)

  it("aws_sts sends the session policy and who the session is for", function()
    use("aws_sts", { with = services.aws_sts.with .. [[, external_id: "a b", policy: '{"Version":"2012-10-17"}', duration: 1000]] })
    seen("aws_sts")
    local all = s:requests()
    assert.matches("^Action=AssumeRole&DurationSeconds=1000&ExternalId=a%%20b&Policy=%%7B%%22Version%%22%%3A%%222012%-10%-17%%22%%7D" ..
      "&RoleArn=arn%%3Aaws%%3Aiam%%3A%%3A123456789012%%3Arole%%2Freader&RoleSessionName=user%%3D3A[%w%%]+&Version=2011%-06%-15$",
      all[#all].body)
    use("aws_sts", { with = services.aws_sts.with:gsub("https://AT", "https://AT/path") })
    assert.equal("mint.with: endpoint must be https://host[:port]", fails())
    use("aws_sts", { with = services.aws_sts.with .. ", duration: 899" })
    assert.equal("STS answers with status 400: ValidationError", fails())
  end)

  it("vault takes a token instead of a role, one of the two, and needs a lease", function()
    local token = 'address: "https://AT", token: vault_token, env: { DB_USER: username, DB_PASSWORD: password }, path: '
    use("vault", { secrets = "vault_token", with = token .. "database/creds/reader" })
    assert.matches(services.vault.value, (seen("vault")))
    assert.matches("^database/creds/reader/%d+\n$", revoked())
    use("vault", { secrets = "vault_token", with = token .. "secret/data/plain" })
    assert.equal("Vault gives no lease for that path", fails())
    use("vault", { secrets = "vault_token", with = token .. "no/such" })
    assert.equal("Vault answers with status 404", fails())
    for _, more in ipairs { ", role_id: role-1", ", secret_id: role_secret", ", role_id: role-1, secret_id: role_secret" } do
      use("vault", { with = token .. "x" .. more })
      assert.equal("mint.with: either token, or role_id and secret_id", fails())
    end
    -- what can't be used is given back
    os.remove(dir .. "/revoked")
    use("vault", { ttl = "1m" })
    assert.matches("is good for longer than the ttl of 1m$", fails())
    assert.matches(services.vault.revoked, revoked())
  end)

  it("is told when a service takes nothing back, and the result stays", function()
    fault("keeps")
    for name, why in pairs {
      oauth2 = "the revocation endpoint answers with status 503", github_app = "GitHub answers with status 503",
      vault = "Vault answers with status 503",
    } do
      use(name)
      local envelope = run("echo fine")
      assert.same({ true, "fine\n" }, { envelope.ok, envelope.result })
      local records = w:audit()
      assert.same({ "end", why }, { records[#records].kind, records[#records].revoke_error })
    end
  end)

  it("can't keep a ttl that its service has nothing for: lint says so", function()
    for name, least in pairs { aws_sts = { "14m", "15m" }, github_app = { "59m", "1h" } } do
      use(name, { ttl = least[1] })
      local said = ("mint: policies:%s gives nothing for less than %s, so no Binding fits this ttl; " ..
        "leave a few minutes more for clocks that differ"):format(name, least[2])
      for _, words in ipairs { { "policy", "lint" }, { "pack", "lint", "bank" } } do
        local status, out = w:cli(words)
        local first = cjson.decode(out).problems[1]
        assert.same({ 1, "error", said, 6 }, { status, first.level, first.text, first.line })
      end
      use(name, { ttl = least[2] })
      assert.equal(0, (w:cli { "policy", "lint" }))
    end
  end)
end)
