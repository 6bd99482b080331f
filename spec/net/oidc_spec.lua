-- From an OpenID provider's token to a Binding in a program: `oidc-provider` of spec/npm on loopback, over TLS with an authority
-- of the spec's own. tools/packages test installs it.
local cjson = require "cjson"
local live = require "live"
local tls = require "tls"
local world = require "world"

local quote = world.quote
local npm = os.getenv("HCP_NPM") or world.source .. "/spec/npm"

-- A token of the client `ada` or `tool`, for a resource.
local fetch = [[
import base64, json, ssl, sys, urllib.parse, urllib.request
url, ca, who, resource = sys.argv[1:]
form = {"grant_type": "client_credentials", "resource": resource, "scope": "read"}
q = urllib.request.Request(url, urllib.parse.urlencode(form).encode())
pair = ":".join(urllib.parse.quote(s, safe="") for s in (who, who + "-secret:/+"))
q.add_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
print(json.load(urllib.request.urlopen(q, context=ssl.create_default_context(cafile=ca)))["access_token"], end="")
]]
-- A token's claims under another header; signed by what `how` says.
local forge = [[
import base64, hashlib, hmac, json, sys
token, how, key = sys.argv[1:]
enc = lambda b: base64.urlsafe_b64encode(b).rstrip(b"=").decode()
head = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
head["alg" if how in ("none", "HS256") else "kid"] = how
data = enc(json.dumps(head).encode()) + "." + token.split(".")[1]
sig = token.split(".")[2] if how != "none" else ""
if how == "HS256":
    sig = enc(hmac.new(open(key, "rb").read(), data.encode(), hashlib.sha256).digest())
print(data + "." + sig, end="")
]]

describe("with an OpenID provider,", function()
  local w, dir, pid, port

  local function python(text, ...)
    local words = {}
    for i, word in ipairs { ... } do words[i] = quote(word) end
    local status, out, err = world.sh("python3 - " .. table.concat(words, " "), text)
    assert(status == 0, err)
    return out
  end
  local function start(at)
    os.remove(dir .. "/port")
    local p = assert(io.popen(("node %s %s %s %s >%s 2>&1 & echo $!"):format(quote(world.source .. "/spec/npm/oidc_server.mjs"), quote(npm),
      quote(dir), at or "", quote(dir .. "/out"))))
    pid = p:read("l")
    p:close()
    port = live.wait_for(function() return world.read(dir .. "/port") end)
  end
  local function stop()
    os.execute("kill " .. pid)
    -- in a container without an init nobody collects it, and what is left of it has no threads
    live.wait_for(function()
      local gone, tasks = world.run { "/bin/ls", "/proc/" .. pid .. "/task" }
      local stat = world.read("/proc/" .. pid .. "/stat")
      return gone ~= 0 or not stat or (tasks == pid .. "\n" and stat:match("%) Z"))
    end)
  end
  local function token(resource, who)
    return python(fetch, "https://127.0.0.1:" .. port .. "/token", dir .. "/ca.pem", who or "ada", resource or "urn:hcp")
  end
  local function policy(resource, keys)
    w:policy((([[
auth: { provider: jwt, hosts: ["AT"], with: { issuer: "https://AT", audience: "urn:hcp", prefix: "idp:", JWKS,
  claims: { tenant: org, roles: groups }, roles: { staff: clerk } } }
roles: { clerk: ["bank.*"] }
grants: [ { role: clerk, capabilities: ["bank.*"], tenants: [acme] } ]
packs:
  bank:
    bins: [./bin/bank]
    mint: { hosts: ["AT"], secrets: [tool], with: { token_url: "https://AT/token", revoke_url: "https://AT/token/revocation",
      client_id: tool, client_secret: tool, env: BANK_TOKEN, scope: readRESOURCE } }
]]):gsub("AT", "127.0.0.1:" .. port):gsub("JWKS",
      keys or ('jwks_url: "https://127.0.0.1:%s/jwks"'):format(port)):gsub("RESOURCE", resource or "")))
  end
  local function exec(text, script)
    local envelope = cjson.encode { pack_id = "bank", verb_key = "run", args = { script = script or "echo fine" } }
    world.write(w.dir .. "/token", text, "600")
    local status, out, err = w:cli({ "--token-file", w.dir .. "/token", "exec", "-" }, { stdin = envelope })
    assert.is_nil((out .. err):find(text, 1, true))
    return cjson.decode(out), status, out .. err
  end
  local function refused(text) return exec(text).error end

  setup(function()
    w = world.new()
    dir = w.dir .. "/idp"
    os.execute("mkdir -m 700 " .. quote(dir) .. " " .. quote(w.root .. "/secrets"))
    tls.authority(dir, "ca"):certificate("server", "IP:127.0.0.1")
    w:put("ca.pem", world.read(dir .. "/ca.pem"))
    w:put("hcp.yaml", "hcp: 1\nca: ca.pem\nsessions: { default: { packs: [bank] } }\n")
    w:put("secrets/tool", "tool-secret:/+", "600")
    w:pack("bank", {
      ["pack.yaml"] = [[
hcp: 1
pack_id: bank
version: 1.0.0
summary: Its program needs a token
wrap: { bin: ./bin/bank, json_flag: [], result: text, stdin: "{{script}}" }
mint: { hook: "policies:oauth2", ttl: 10m, env: [BANK_TOKEN] }
commands:
  run: { summary: Runs a script, cli: [bank], effect: read }
]],
      ["policy.yaml"] = "hcp: 1\npolicies: { run: {} }\n", ["bin/bank"] = { "#!/bin/sh\n. /dev/stdin\n", "755" },
    })
    start()
    policy()
  end)
  teardown(function()
    stop()
    w:close()
  end)

  it("its token is a principal, whose program gets a token of its own that is nowhere else", function()
    local mine = token()
    local envelope, status, all = exec(mine, 'echo "$BANK_TOKEN"; echo "$BANK_TOKEN" >&2; printf %s "$BANK_TOKEN" | sha256sum')
    assert.same({ true, 0 }, { envelope.ok, status }, envelope.error)
    local issued = world.read(dir .. "/issued")
    local made = issued:match("([^\n]+)\n$")
    assert.are_not.equal(mine, made)
    -- the program had it, whole
    assert.equal(select(2, world.sh("printf %s " .. made .. " | sha256sum")), envelope.result:match("[^\n]*\n$"))
    local records = w:audit()
    assert.same({ "idp:ada", "acme", "end" }, { records[#records].principal, records[#records].tenant, records[#records].kind })
    assert.is_nil(records[#records].revoke_error)
    local function nowhere(text)
      assert.is_nil(all:find(text, 1, true))
      assert.equal("", select(2, world.sh("grep -rlF " .. text .. " " .. quote(w.state) .. " " .. quote(w.root))))
    end
    for text in issued:gmatch("[^\n]+") do nowhere(text) end
    -- this server takes tokens that it signed back from nobody
    policy(', resource: "urn:bank"')
    assert.is_true(exec(mine).ok)
    policy()
    records = w:audit()
    assert.equal("the revocation endpoint answers with status 400", records[#records].revoke_error)
  end)

  it("the token is in the environment of the program alone, while it runs", function()
    world.write(w.dir .. "/token", token(), "600")
    local before = select(2, world.read(dir .. "/issued"):gsub("\n", ""))
    local envelope = '{"pack_id":"bank","verb_key":"run","args":{"script":"exec sleep 47"}}'
    local p = assert(io.popen(("%s --root %s --state %s --token-file %s/token exec - <<'E' >/dev/null 2>&1 & echo $!\n%s\nE"):format(
      quote(world.hcp), quote(w.root), quote(w.state), quote(w.dir), envelope)))
    local hcp_pid = p:read("l")
    p:close()
    local made = live.wait_for(function()
      local text = world.read(dir .. "/issued")
      return select(2, text:gsub("\n", "")) > before and text:match("([^\n]+)\n$")
    end)
    world.write(dir .. "/made", made)
    local function holders(file)
      return (select(2, world.sh(("grep -lsFf %s /proc/[0-9]*/%s | cut -d / -f 3"):format(quote(dir .. "/made"), file))))
    end
    local child = live.wait_for(function()
      local found = holders("environ"):match("^(%d+)\n$")
      return found and world.read("/proc/" .. found .. "/comm") == "sleep\n" and found
    end)
    assert.same({ child .. "\n", "" }, { holders("environ"), holders("cmdline") })
    assert.are_not.equal(hcp_pid, child)
    os.execute("kill " .. hcp_pid)
    live.wait_for(function() return holders("environ") == "" end)
    live.wait_for(function()
      local records = w:audit()
      return records[#records].kind == "end" and records[#records].error == "sandbox: cancelled"
    end)
  end)

  it("refuses what isn't its token, or isn't for us", function()
    local good = token()
    assert.is_true(exec(good).ok)
    assert.equal("denied: the token is for another audience", refused(token("urn:other")))
    assert.equal("denied: the token is no JWT", refused(python(forge, good, "none", "")))
    assert.equal("denied: the token's algorithm isn't taken", refused(python(forge, good, "none", "") .. "AAAA"))
    assert.equal("denied: the token's algorithm isn't taken", refused(python(forge, good, "HS256", dir .. "/public.pem")))
    assert.equal("denied: no key for the token: unknown kid", refused(python(forge, good, "another", "")))
    local short = token("urn:short")
    w:put("policies/spec.yaml", (world.read(w.root .. "/policies/spec.yaml"):gsub('audience: "urn:hcp"', 'audience: "urn:short"')))
    live.wait_for(function() return refused(short) == "denied: the token is expired" end)
    policy()
    assert.equal("denied: a token is required", w:exec("bank", "run", { script = "" }).error)
  end)

  it("refuses by a stale key set, and by none", function()
    local old, at = token(), port
    assert.is_true(exec(old).ok)
    local set = python("import ssl, sys, urllib.request as u\nprint(u.urlopen(sys.argv[1], " ..
      "context=ssl.create_default_context(cafile=sys.argv[2])).read().decode())", "https://127.0.0.1:" .. port .. "/jwks", dir .. "/ca.pem")
    stop()
    start(at)
    local new = token()
    assert.is_true(exec(new).ok)
    assert.equal("denied: no key for the token: unknown kid", refused(old))
    policy(nil, "jwks: " .. set)
    assert.is_true(exec(old).ok) -- who keeps the old set believes what it says
    assert.equal("denied: no key for the token: unknown kid", refused(new))
    policy()
    stop()
    assert.matches("^denied: auth: script: auth/jwt.lua:%d+: Failed to connect", refused(new))
    start(at)
  end)
end)
