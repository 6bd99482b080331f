-- host.http: where it goes, what it believes, what it never does, and that no secret comes out of it.
local demo = require "demo"
local tls = require "tls"
local world = require "world"
local cjson = require "cjson"

local secret = "k3y-0f-the-0perator/+"

describe("host.http", function()
  local w, s, ca
  setup(function()
    w = demo.world()
    ca = tls.authority(w.root, "ca")
    ca:certificate("server", "IP:127.0.0.1,DNS:localhost")
    s = tls.server(w.root, "server")
    w:put("hcp.yaml", "hcp: 1\nca: ca.pem\n")
    os.execute("mkdir -m 700 " .. world.quote(w.root .. "/secrets"))
    w:put("secrets/key", secret .. "\n", "600")
  end)
  teardown(function()
    s:stop()
    w:close()
  end)

  local function here(path) return "https://127.0.0.1:" .. s.port .. path end
  -- What the provider says: `body` ends in an expression; what it gives is told as JSON.
  local function says(body, hosts, options)
    w:put("policies/auth/p.lua", "return function(_, host)\n" .. body .. "\nend")
    w:policy(("auth: { provider: p, secrets: [key], hosts: [%s] }\n"):format(hosts or ('"127.0.0.1:' .. s.port .. '"')))
    local status, out, err = w:cli({ "exec", "demo", "plain", "n=1" }, options)
    assert.equal(126, status, out .. err)
    local said = cjson.decode(out).error
    assert.is_nil((out .. err):find(secret, 1, true))
    return (said:gsub("^denied: auth: ", ""))
  end
  local function answer(options, hosts, more)
    return cjson.decode(says("local a = host.http" .. options .. " hcp.fail(cjson.encode(a))", hosts, more))
  end
  local function fails(options, hosts, more)
    return (says("host.http" .. options .. " hcp.fail('it went through')", hosts, more):gsub("^script: auth/p.lua:%d+: ", ""))
  end
  local function count() return #s:requests() end

  it("asks, and gives status, headers, body and JSON", function()
    local a = answer(('{ url = "%s", query = { b = "x y&", a = 1 }, headers = { Accept = "a/b" } }'):format(here "/echo?z=1"))
    assert.equal(200, a.status)
    assert.equal("application/json", a.headers["content-type"])
    assert.equal("/echo?z=1&a=1&b=x%20y%26", a.json.path)
    assert.equal(a.json.path, cjson.decode(a.body).path)
    local r = s:requests()
    assert.equal("a/b", r[#r].headers.accept)
    assert.equal("GET", r[#r].method)
    assert.is_nil(r[#r].headers["user-agent"])
    assert.equal(404, answer(('{ url = "%s" }'):format(here "/nothing")).status)
  end)

  it("sends forms, JSON and bodies, with handles in them", function()
    local key = 'host.secret("key")'
    local rows = {
      { 'form = { k = ' .. key .. ', a = "ü" }', "a=%C3%BC&k=k3y-0f-the-0perator%2F%2B", "application/x-www-form-urlencoded" },
      { 'json = { k = { ' .. key .. ' }, }', '{"k":["' .. secret .. '"]}', "application/json" },
      { 'body = host.concat("<", ' .. key .. ', ">")', "<" .. secret .. ">", "application/octet-stream" },
      { 'body = "x", headers = { ["Content-Type"] = "text/plain" }', "x", "text/plain" },
    }
    for _, row in ipairs(rows) do
      local a = answer(('{ method = "POST", url = "%s", %s }'):format(here "/echo", row[1]))
      assert.equal(200, a.status)
      local r = s:requests()
      assert.equal(row[2], r[#r].body)
      assert.equal(row[3], r[#r].headers["content-type"])
      assert.equal("POST", r[#r].method)
    end
  end)

  it("takes a secret that comes back out of headers, body and JSON", function()
    local a = answer(('{ url = "%s", headers = { Authorization = host.concat("Bearer ", host.secret("key")) } }'):format(here "/echo"))
    local r = s:requests()
    assert.equal("Bearer " .. secret, r[#r].headers.authorization)
    assert.equal("[redacted]", a.json.auth)
    assert.equal("[redacted]", a.headers["x-seen"])
    assert.is_nil(a.body:find(secret, 1, true))
    assert.truthy(a.body:find("[redacted]", 1, true))
  end)

  it("gives secrets of the answer as handles", function()
    local said = says(([[
local a = host.http{ url = "%s", secrets = { "auth.client_token", "no.such" } }
hcp.fail(("%%s %%s %%s %%s %%s"):format(type(a.json.auth.client_token), a.json.again, a.body, a.json.n,
  host.equal(a.json.auth.client_token, 's3cr"3t-t0ken')))]]):format(here "/token"))
    assert.equal("userdata [redacted] nil 3 true", said)
    assert.equal("the answer's n is no text", fails(('{ url = "%s", secrets = { "n" } }'):format(here "/token")))
  end)

  it("follows no redirect, to whatever host", function()
    local before = count()
    for _, to in ipairs { here "/echo", "https://localhost:" .. s.port .. "/echo", "file:///etc/passwd" } do
      local a = answer(('{ url = "%s", headers = { ["X-To"] = "%s" } }'):format(here "/redirect", to))
      assert.equal(302, a.status)
      assert.equal(to, a.headers.location)
    end
    assert.equal(before + 3, count())
  end)

  it("reaches listed hosts only, at addresses that may be reached", function()
    local before, port = count(), s.port
    local at = "127.0.0.1:" .. port
    local private = "the host's address is of a private network and the policy doesn't list it"
    local rows = {
      { here "/x", "", 'the policy lists no host "127.0.0.1:' .. port .. '"' },
      { here "/x", '"127.0.0.1:1"', 'the policy lists no host "127.0.0.1:' .. port .. '"' },
      { here "/x", '"http://' .. at .. '"', 'the policy lists no host "127.0.0.1:' .. port .. '"' },
      { "http://" .. at .. "/x", '"' .. at .. '"', 'the policy lists no host "http://' .. at .. '"' },
      { "https://localhost:" .. port, '"localhost:' .. port .. '"', private },
      { "https://2130706433:" .. port, '"2130706433:' .. port .. '"', private },
      { "https://[::ffff:127.0.0.1]:" .. port, '"' .. at .. '"', 'the policy lists no host "[::ffff:127.0.0.1]:' .. port .. '"' },
    }
    for _, row in ipairs(rows) do
      assert.equal(row[3], fails(('{ url = "%s" }'):format(row[1]), row[2]))
    end
    for _, url in ipairs { "https://a@" .. at .. "/", "https://" .. at .. "/#f", "ftp://" .. at, "file:///etc/passwd",
      "https://" .. at .. "\\@x", "https://" .. at .. "/ x", "https:/" .. at, "https://" .. at .. "x", "//" .. at, "" } do
      assert.equal("the URL must be https://host[:port]/… in ASCII, without a user or a fragment",
        fails(("{ url = %q }"):format(url)))
    end
    assert.equal(before, count())
    assert.equal(404, answer(('{ url = "https://localhost:%s/x" }'):format(port),
      ('"localhost:%s", "127.0.0.1:%s"'):format(port, port)).status)
  end)

  it("asks nothing of the environment", function()
    local env = ("HTTPS_PROXY=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 ALL_PROXY=socks5://127.0.0.1:1 " ..
      "CURL_CA_BUNDLE=/dev/null SSL_CERT_FILE=/dev/null SSLKEYLOGFILE=%s/keys HOME=%s"):format(w.dir, w.dir)
    world.write(w.dir .. "/.netrc", "machine 127.0.0.1 login u password p\n", "600")
    world.write(w.dir .. "/.curlrc", "proxy = http://127.0.0.1:1\n")
    local a = answer(('{ url = "%s" }'):format(here "/echo"), nil, { env = env })
    assert.equal(cjson.null, a.json.auth)
    assert.is_nil(world.read(w.dir .. "/keys"))
  end)

  it("believes only the authority of the settings, and only the name that was asked", function()
    local other = tls.authority(w.root, "other")
    other:certificate("foreign", "IP:127.0.0.1")
    ca:certificate("misnamed", "DNS:elsewhere.example")
    ca:certificate("expired", "IP:127.0.0.1", -1)
    for _, name in ipairs { "foreign", "misnamed", "expired" } do
      local wrong = tls.server(w.root, name)
      local said = fails(('{ url = "https://127.0.0.1:%s/x", headers = { A = host.secret("key") } }'):format(wrong.port),
        '"127.0.0.1:' .. wrong.port .. '"')
      assert.truthy(said:find("^SSL"), name .. ": " .. said)
      assert.same({}, wrong:requests())
      wrong:stop()
    end
    w:put("hcp.yaml", "hcp: 1\n")
    local said = fails(('{ url = "%s" }'):format(here "/x"))
    w:put("hcp.yaml", "hcp: 1\nca: ca.pem\n")
    assert.truthy(said:find("^SSL"), said)
  end)

  it("goes without TLS where the policy says so", function()
    local plain = tls.server(w.root, "server", "plain")
    assert.equal(404, answer(('{ url = "http://127.0.0.1:%s/x" }'):format(plain.port), '"http://127.0.0.1:' .. plain.port .. '"').status)
    plain:stop()
  end)

  it("ends with the time, and takes no more than it can hold", function()
    assert.equal("262144", says(('hcp.fail(#host.http{ url = "%s" }.body .. "")'):format(here "/full")))
    assert.equal("the answer is over 256K", fails(('{ url = "%s" }'):format(here "/huge")))
    assert.equal("no answer in time", fails(('{ url = "%s", timeout = 0.3 }'):format(here "/hang")))
    assert.equal("no answer in time", fails(('{ url = "%s", timeout = 0.3 }'):format(here "/drip")))
    assert.truthy(fails(('{ url = "%s" }'):format(here "/cut")):find("^transfer closed"))
    assert.truthy(fails('{ url = "https://127.0.0.1:1/" }', '"127.0.0.1:1"'):find("^Failed to connect"))
  end)

  it("refuses what could pass for something else", function()
    local before, url = count(), ('url = "%s"'):format(here "/x")
    for options, why in pairs {
      ["{ " .. url .. ', headers = { A = "x\\r\\nB: y" } }'] = "A holds a control character",
      ["{ " .. url .. ', headers = { ["A:"] = "x" } }'] = 'header "A:" can\'t be set',
      ["{ " .. url .. ', headers = { Host = "x" } }'] = 'header "Host" can\'t be set',
      ["{ " .. url .. ', headers = { ["transfer-encoding"] = "x" } }'] = 'header "transfer-encoding" can\'t be set',
      ["{ " .. url .. ', method = "CONNECT" }'] = "method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
      ["{ " .. url .. ', timeout = 11 }'] = "timeout must be above 0 and at most 10 seconds",
      ["{ " .. url .. ', timeout = 0/0 }'] = "timeout must be above 0 and at most 10 seconds",
      ["{ " .. url .. ', boddy = "x" }'] = 'unknown option "boddy"',
      ["{ " .. url .. ', body = "x", form = {} }'] = "one of form, json and body, not several",
      ["{ " .. url .. ', secrets = "x" }'] = "secrets must be a list of paths",
    } do
      assert.equal(why, fails(options))
    end
    assert.equal(before, count())
  end)

  it("is no part of hcp until a script asks", function()
    local function loaded(words)
      local _, _, err = w:cli(words, { env = "LD_DEBUG=files" })
      local found = {}
      for _, name in ipairs { "libhcp", "libjansson", "libcurl", "libssl", "libcrypto", "libmicrohttpd", "hcp-net" } do
        found[name] = err:find("calling init: [^\n]*/" .. name:gsub("%-", "%%-") .. "[.%w-]*%.so") ~= nil
          or err:find("calling init: [^\n]*/" .. name:gsub("%-", "%%-") .. "%.so") ~= nil
      end
      return found
    end
    local plain = { libhcp = true, libjansson = true, libcurl = false, libssl = false, libcrypto = false, libmicrohttpd = false,
      ["hcp-net"] = false }
    w:policy(demo.grants)
    for _, words in ipairs { { "exec", "demo", "plain", "n=1" }, { "packs" }, { "policy", "lint" }, { "doctor" }, { "--help" } } do
      assert.same(plain, loaded(words), words[1])
    end
    w:put("policies/auth/p.lua", ('return function(_, host) host.http{ url = "%s" } end'):format(here "/x"))
    w:policy(('auth: { provider: p, hosts: ["127.0.0.1:%s"] }\n'):format(s.port))
    local all = loaded { "exec", "demo", "plain", "n=1" }
    for _, name in ipairs { "libcurl", "libssl", "libcrypto", "hcp-net" } do assert.is_true(all[name], name) end
  end)
end)
