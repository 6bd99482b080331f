-- policies/auth/jwt.lua against tokens of every wrong kind: made by openssl, judged by a server's key set.
local cjson = require "cjson"
local demo = require "demo"
local tls = require "tls"
local world = require "world"

local quote = world.quote

local function sh(line, stdin)
  local status, out, err = world.sh(line, stdin)
  assert(status == 0, err)
  return out
end
local function base64url(bytes)
  return (sh("base64 -w0", bytes):gsub("+", "-"):gsub("/", "_"):gsub("=", ""))
end

describe("the provider jwt", function()
  local w, s, jwks, keys
  local function key_set(...)
    world.write(w.root .. "/served/jwks", cjson.encode { keys = { ... } })
  end
  setup(function()
    w = demo.world()
    tls.authority(w.root, "ca"):certificate("server", "IP:127.0.0.1")
    s = tls.server(w.root, "server")
    w:put("hcp.yaml", "hcp: 1\nca: ca.pem\n")
    keys = w.dir .. "/keys"
    os.execute("mkdir " .. quote(keys))
    local at = quote(keys)
    sh(("cd %s && openssl genrsa -out rsa.pem 2048 && openssl rsa -in rsa.pem -pubout -out rsa.pub && " ..
      "openssl genrsa -out weak.pem 1024 && openssl genrsa -out other.pem 2048 && " ..
      "openssl ecparam -name prime256v1 -genkey -noout -out ec.pem && openssl genpkey -algorithm ed25519 -out ed.pem"):format(at))
    local function modulus(name)
      local hex = sh(("cd %s && openssl rsa -in %s -noout -modulus"):format(at, name)):match("=(%x+)")
      return base64url((hex:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end)))
    end
    local ec = sh(("cd %s && openssl pkey -in ec.pem -pubout -outform DER"):format(at)):sub(-64)
    local ed = sh(("cd %s && openssl pkey -in ed.pem -pubout -outform DER"):format(at)):sub(-32)
    jwks = {
      rsa = { kty = "RSA", kid = "r", use = "sig", alg = "RS256", n = modulus "rsa.pem", e = "AQAB" },
      weak = { kty = "RSA", kid = "w", n = modulus "weak.pem", e = "AQAB" },
      ec = { kty = "EC", kid = "e", crv = "P-256", x = base64url(ec:sub(1, 32)), y = base64url(ec:sub(33)) },
      ed = { kty = "OKP", kid = "o", crv = "Ed25519", x = base64url(ed) },
      enc = { kty = "RSA", kid = "enc", use = "enc", n = modulus "rsa.pem", e = "AQAB" },
    }
    key_set(jwks.rsa, jwks.weak, jwks.ec, jwks.ed, jwks.enc)
  end)
  teardown(function()
    s:stop()
    w:close()
  end)

  local now = os.time()
  local function claims(more)
    local c = { iss = "https://idp", aud = "hcp", sub = "ada", exp = now + 600, groups = { "staff", "other" }, org = { id = "acme" } }
    for k, v in pairs(more or {}) do c[k] = v ~= cjson.null and v or nil end
    return cjson.encode(c)
  end
  local signers = {
    rsa = function(data, key) return sh(("openssl dgst -sha256 -sign %s/%s.pem"):format(quote(keys), key or "rsa"), data) end,
    ed = function(data)
      world.write(keys .. "/data", data)
      return sh(("openssl pkeyutl -sign -rawin -inkey %s/ed.pem -in %s/data"):format(quote(keys), quote(keys)))
    end,
    ec = function(data)
      local der = sh(("openssl dgst -sha256 -sign %s/ec.pem"):format(quote(keys)), data)
      local at, out = 3, ""
      for _ = 1, 2 do
        local n = der:byte(at + 1)
        out = out .. ("\0"):rep(32) .. der:sub(at + 2, at + 1 + n)
        out = out:sub(1, #out - 32 - n) .. (("\0"):rep(32) .. der:sub(at + 2, at + 1 + n)):sub(-32)
        at = at + 2 + n
      end
      return out
    end,
    hmac = function(data)
      local pub = world.read(keys .. "/rsa.pub")
      local hex = pub:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
      return sh(("openssl dgst -sha256 -mac HMAC -macopt hexkey:%s -binary"):format(hex:gsub("\n", "0a")), data)
    end,
  }
  local function token(header, body, signer, key)
    local data = base64url(header) .. "." .. base64url(body or claims())
    return data .. "." .. base64url(signers[signer or "rsa"](data, key))
  end
  local function says(text, more)
    w:policy(([[
auth: { provider: jwt, hosts: ["127.0.0.1:%s"], with: { issuer: "https://idp", audience: hcp, prefix: "idp:",
  jwks_url: "https://127.0.0.1:%s/jwks", claims: { roles: groups, tenant: org.id }, roles: { staff: clerk }%s } }
roles: { clerk: [demo.read] }
grants: [ { role: clerk, capabilities: [demo.read], tenants: [acme] } ]
packs: { demo: { bins: [./bin/show] } }
]]):format(s.port, s.port, more or ""))
    local _, out, err = w:cli({ "--token-fd", "0", "exec", "demo", "plain", "n=1" }, { stdin = text })
    local e = cjson.decode(out)
    assert.is_nil((out .. err):find(text, 1, true))
    return e.ok or e.error
  end
  local R = '{"alg":"RS256","kid":"r"}'

  it("takes tokens of the three algorithms, and maps claims", function()
    for _, row in ipairs { { R, "rsa" }, { '{"alg":"ES256","kid":"e"}', "ec" }, { '{"alg":"EdDSA","kid":"o"}', "ed" } } do
      assert.is_true(says(token(row[1], nil, row[2])))
    end
    local records = w:audit()
    assert.equal("idp:ada", records[#records].principal.id or records[#records].principal)
    assert.is_true(says(token(R, claims { aud = { "x", "hcp" } })))
    assert.is_true(says(token(R, claims { exp = os.time() - 20 }), ", leeway: 300"))
  end)

  it("refuses the rest", function()
    local good = token(R)
    local unsigned = base64url('{"alg":"none"}') .. "." .. base64url(claims()) .. "."
    local h, b, g = good:match("^(.-)%.(.-)%.(.*)$")
    local alg, wrong, none = "the token's algorithm isn't taken", "the token's signature is wrong", "the token is no JWT"
    local rows = {
      { unsigned, none },
      { unsigned .. "AA", alg },
      { token('{"alg":"None","kid":"r"}'), alg },
      { token('{"alg":"HS256","kid":"r"}', nil, "hmac"), alg },
      { token('{"alg":"RS512","kid":"r"}'), alg },
      { token('{"kid":"r"}'), alg },
      { token('{"alg":"RS256","kid":"unknown"}'), "no key for the token: unknown kid" },
      { token('{"alg":"ES256","kid":"r"}'), "no key for the token: unknown kid" },
      { token('{"alg":"RS256","kid":"enc"}'), "no key for the token: unknown kid" },
      { token('{"alg":"RS256"}'), "the token names no key and there are several" },
      { token('{"alg":"RS256","kid":7}'), "the token's kid is no text" },
      { token('{"alg":"RS256","kid":"r","crit":["exp"]}'), "the token has a critical header" },
      { token('{"alg":"none","alg":"RS256","kid":"r"}'), none },
      { token(R, nil, "rsa", "other"), wrong },
      { token('{"alg":"ES256","kid":"e"}', nil, "rsa"), wrong },
      { h .. "." .. base64url(claims { sub = "eve" }) .. "." .. g, wrong },
      { token(R, claims { exp = now - 1 }), "the token is expired" },
      { token(R, claims { exp = cjson.null }), "the token has no exp" },
      { token(R, claims { exp = tostring(now + 60) }), "the token has no exp" },
      { token(R, claims { nbf = now + 300 }), "the token isn't valid yet" },
      { token(R, claims { nbf = "x" }), "the token isn't valid yet" },
      { token(R, claims { iat = now + 300 }), "the token was issued in the future" },
      { token(R, claims { aud = "other" }), "the token is for another audience" },
      { token(R, claims { aud = cjson.null }), "the token is for another audience" },
      { token(R, claims { aud = { hcp = "hcp" } }), "the token is for another audience" },
      { token(R, claims { iss = "https://idp/" }), "the token is of another issuer" },
      { token(R, claims { iss = cjson.null }), "the token is of another issuer" },
      { token(R, '{"iss":"https://idp","aud":"hcp","sub":"ada","sub":"eve","exp":' .. now + 60 .. "}"), none },
      { h .. "." .. b, none },
      { good .. "!", none },
      { ".." .. g, none },
      { ("a"):rep(200), none },
    }
    for i, row in ipairs(rows) do
      assert.equal("denied: " .. row[2], says(row[1]), "row " .. i)
    end
    assert.equal("denied: auth: script: auth/jwt.lua:77: the key is no public key for the algorithm",
      (says(token('{"alg":"RS256","kid":"w"}', nil, "rsa", "weak")):gsub("lua:%d+", "lua:77")))
    assert.equal("denied: the token's algorithm isn't taken", says(good, ", algs: [ES256]"))
  end)

  it("refuses a key that was withdrawn, and denies where no set can be had", function()
    local good = token(R)
    key_set(jwks.ec)
    assert.equal("denied: no key for the token: unknown kid", says(good))
    world.write(w.root .. "/served/jwks", "{broken")
    assert.truthy(says(good):find("the key set is no JSON", 1, true))
    os.remove(w.root .. "/served/jwks")
    assert.truthy(says(good):find("the key set's server answers with status 404", 1, true))
    key_set(jwks.rsa)
    assert.is_true(says(good))
  end)

  it("denies whatever is wrong with its policy", function()
    local good = token(R)
    for with, why in pairs {
      ["audiense: x"] = 'with: unknown key "audiense"',
      ["leeway: x"] = "with: leeway must be a number",
      ["jwks: { keys: [] }"] = "with: one of jwks_url and jwks is needed",
      ["leeway: 301"] = "leeway must be from 0 to 300 seconds",
      ["algs: [HS256]"] = "alg must be RS256, ES256 or EdDSA",
      ["algs: []"] = "no algorithm is named",
    } do
      local said = says(good, ", " .. with)
      assert.truthy(said:find("denied: auth: script: auth/jwt.lua:%d+: ") and said:find(why, 1, true), said)
    end
  end)

  it("signs what openssl believes", function()
    local at = quote(keys)
    os.execute("mkdir -p -m 700 " .. quote(w.root .. "/secrets"))
    w:put("secrets/rsa", world.read(keys .. "/rsa.pem"), "600")
    w:put("policies/auth/p.lua", [[
return function(_, host)
  local key = host.secret("rsa")
  hcp.fail(host.base64(host.sign{ alg = "RS256", key = key, data = "hello" }) .. " " ..
    host.base64(host.sha256("x")) .. " " .. type(host.sign_jwt{ alg = "RS256", key = key, claims = { a = 1 } }))
end]])
    w:policy("auth: { provider: p, secrets: [rsa] }\n")
    local _, out = w:cli { "exec", "demo", "plain", "n=1" }
    local sig, _, kind = cjson.decode(out).error:match("^denied: auth: (%S+) (%S+) (%S+)$")
    assert.equal("userdata", kind, out)
    world.write(keys .. "/sig", sh("base64 -d", sig))
    assert.equal("Verified OK\n", sh(("cd %s && printf hello | openssl dgst -sha256 -verify rsa.pub -signature sig"):format(at)))
  end)
end)
