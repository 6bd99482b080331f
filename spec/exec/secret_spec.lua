-- hcp secret: kept by the root's owner, from stdin, closed to others, and never shown.
local demo = require "demo"
local world = require "world"
local cjson = require "cjson"

local quote = world.quote
local as_root = select(2, world.sh("id -u")) == "0\n"

describe("hcp secret", function()
  local w
  before_each(function() w = demo.world() end)
  after_each(function() w:close() end)

  local function secret(words, stdin)
    return w:cli({ "secret", table.unpack(words) }, { stdin = stdin })
  end
  local function list()
    local _, out = secret { "list" }
    return cjson.decode(out).secrets
  end
  local function mode(path)
    return (select(2, world.sh("stat -c %a " .. quote(w.root .. "/" .. path))):gsub("%s", ""))
  end

  it("sets, replaces, lists and removes", function()
    assert.same({}, list())
    assert.same({ 0, "", "" }, { secret({ "set", "zeta" }, "first value\n") })
    assert.same({ 0, "", "" }, { secret({ "set", "alpha_key.pem" }, "-----BEGIN\nlines\n") })
    assert.same({ "700", "600", "600" }, { mode("secrets"), mode("secrets/zeta"), mode("secrets/alpha_key.pem") })
    assert.same({ { name = "alpha_key.pem" }, { name = "zeta" } }, list())
    assert.equal("first value\n", world.read(w.root .. "/secrets/zeta"))
    assert.same({ 0, "", "" }, { secret({ "set", "zeta" }, "second\0value") })
    assert.equal("second\0value", world.read(w.root .. "/secrets/zeta"))
    assert.same({ 0, "", "" }, { secret { "rm", "zeta" } })
    assert.same({ { name = "alpha_key.pem" } }, list())
    local status, out, err = secret { "rm", "zeta" }
    assert.same({ 125, "", "hcp: there is no secret zeta\n" }, { status, out, err })
    assert.equal("", select(2, world.sh("ls -A " .. quote(w.root .. "/secrets") .. " | grep -v alpha")))
  end)

  it("makes files 0600 whatever the umask is, and starts no state", function()
    assert(os.execute("rm -rf " .. quote(w.state)))
    for _, umask in ipairs { "000", "077", "777" } do
      local status, _, err = w:cli({ "secret", "set", "key" .. umask }, { stdin = "x", before = "umask " .. umask .. ";" })
      assert.same({ 0, "" }, { status, err })
      assert.equal("600", mode("secrets/key" .. umask))
    end
    assert.equal("700", mode("secrets"))
    assert.not_equal(0, (world.sh("test -e " .. quote(w.state))))
  end)

  it("is what a provider gets, and a provider that isn't listed doesn't", function()
    w:put("policies/auth/p.lua", [[
return function(request, host)
  return { id = host.hex(host.sha256("x")):sub(1, 4) .. tostring(host.equal(host.secret("pin"), "2718-2818")) }
end]])
    w:policy('auth: { provider: p, secrets: [pin] }\ngrants: [ { principal: "*", capabilities: ["*"] } ]\n' ..
      "packs: { demo: { bins: [./bin/show] } }\n")
    assert.equal(0, (secret({ "set", "pin" }, "2718-2818\n")))
    local envelope = w:exec("demo", "plain", { n = 1 })
    assert.is_true(envelope.ok, envelope.error)
    local records = w:audit()
    assert.equal("2d71true", records[#records].principal)
    w:policy('auth: { provider: p }\ngrants: [ { principal: "*", capabilities: ["*"] } ]\n')
    assert.matches('the policy lists no secret "pin" for provider p', w:exec("demo", "plain", { n = 1 }).error, 1, true)
  end)

  it("refuses names, values and words that are wrong", function()
    for _, name in ipairs { "../x", "a/b", ".hidden", "", "a..b", ("x"):rep(65), "a b" } do
      local status, out, err = secret({ "set", name }, "value")
      assert.same({ 125, "" }, { status, out }, name)
      assert.matches("a secret's name must be 1 to 64", err, 1, true)
    end
    for _, value in ipairs { "", "\n", "\r\n", ("x"):rep(65537) } do
      local status, out, err = secret({ "set", "x" }, value)
      assert.same({ 125, "", "hcp: a secret is 1 to 65536 bytes\n" }, { status, out, err })
    end
    assert.same({}, list())
    assert.equal(0, (secret({ "set", "x" }, ("x"):rep(65536))))
    for _, words in ipairs { {}, { "set" }, { "set", "x", "value" }, { "rm" }, { "list", "x" }, { "get", "x" }, { "show", "x" } } do
      local status, out = secret(words)
      assert.same({ 2, "" }, { status, out })
    end
  end)

  it("trusts no folder or file that is open to others, and follows no link", function()
    assert.equal(0, (secret({ "set", "x" }, "value-of-x")))
    os.execute("chmod 644 " .. quote(w.root .. "/secrets/x"))
    assert.same({ { name = "x", error = w.root .. "/secrets/x is open to others: chmod 600 it" } }, list())
    os.execute("chmod 750 " .. quote(w.root .. "/secrets"))
    local status, out, err = secret({ "set", "y" }, "value")
    assert.same({ 125, "", "hcp: " .. w.root .. "/secrets is open to others: chmod 700 it\n" }, { status, out, err })
    os.execute(("rm -rf %s/secrets; mkdir -m 700 %s/elsewhere; ln -s %s/elsewhere %s/secrets"):format(quote(w.root),
      quote(w.dir), quote(w.dir), quote(w.root)))
    status, out, err = secret({ "set", "y" }, "value")
    assert.same({ 125, "" }, { status, out })
    assert.matches("link", err)
    assert.equal("", select(2, world.sh("ls -A " .. quote(w.dir .. "/elsewhere"))))
  end)

  it("works while the policy is broken", function()
    w:policy("grants: 7\n")
    assert.same({ 0, "", "" }, { secret({ "set", "x" }, "value") })
    assert.same({ { name = "x" } }, list())
  end)

  if as_root then
    it("is for the owner of the root alone", function()
      assert(os.execute(("chmod 755 %s; chown -R 54321 %s/root"):format(quote(w.dir), quote(w.dir))))
      local status, out, err = secret({ "set", "x" }, "value")
      assert.equal("", out)
      assert.not_equal(0, status)
      assert.not_equal("", err)
      assert.not_equal(0, (world.sh("test -e " .. quote(w.root .. "/secrets"))))
    end)
  end
end)
