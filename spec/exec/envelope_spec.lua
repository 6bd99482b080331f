-- §6.1 and §6.2: what an envelope may be, and that whatever is wrong with one comes back as an envelope.
local demo = require "demo"
local cjson = require "cjson"

describe("the envelope", function()
  local w
  setup(function() w = demo.world() end)
  teardown(function() w:close() end)

  local function invalid(text, pack, verb)
    local envelope, status, _, out = w:send(text)
    assert.is_false(envelope.ok)
    assert.equal(126, status)
    assert.matches("^invalid envelope: %S", envelope.error)
    assert.equal(pack or "", envelope.pack_id)
    assert.equal(verb or "", envelope.verb_key)
    assert.equal(1, select(2, out:gsub("\n", "")))
    local records = w:audit()
    assert.equal("deny", records[#records].kind)
    assert.equal(0, records[#records].step)
    return envelope.error
  end

  it("refuses what is no JSON object", function()
    for _, text in ipairs { "", " ", "null", "[]", "1", '"x"', "{", "{}}", "{}{}", "{,}", "{'a':1}", "nul", "\0",
      "{\"pack_id\":\"demo\",}", "\239\187\191{}" } do
      invalid(text)
    end
  end)

  it("names what is missing or of a wrong type, with the ids that were readable", function()
    assert.matches("pack_id is required", invalid('{"verb_key":"plain"}', "", "plain"))
    assert.matches("verb_key is required", invalid('{"pack_id":"demo"}', "demo"))
    assert.matches("pack_id must be a string", invalid('{"pack_id":1,"verb_key":"plain"}', "", "plain"))
    assert.matches("verb_key must be a string", invalid('{"pack_id":"demo","verb_key":[]}', "demo"))
    assert.matches("args must be an object", invalid('{"pack_id":"demo","verb_key":"plain","args":[]}', "demo", "plain"))
    invalid('{"pack_id":"demo","verb_key":"plain","args":null}', "demo", "plain")
    invalid('{"pack_id":"demo","surface_id":"other","verb_key":"plain"}', "demo", "plain")
    invalid('{"surface_id":{},"verb_key":"plain"}', "", "plain")
    invalid('{"pack_id":"de\\u0000mo","verb_key":"plain"}', "", "plain")
  end)

  it("refuses duplicate keys, bad UTF-8, deep nesting, big integers and more than a mebibyte", function()
    assert.matches("duplicate", invalid('{"pack_id":"demo","pack_id":"demo","verb_key":"x"}'))
    invalid('{"pack_id":"demo","verb_key":"x","args":{"a":1,"a":2}}')
    invalid('{"pack_id":"d\xff","verb_key":"x"}')
    invalid('{"pack_id":"\\ud800","verb_key":"x"}')
    invalid('{"pack_id":"demo","verb_key":"x","args":{"a":' .. ("["):rep(80) .. ("]"):rep(80) .. "}}")
    invalid('{"pack_id":"demo","verb_key":"x","args":{"a":123456789012345678901234567890}}')
    invalid('{"pack_id":"demo","verb_key":"x","args":{"a":1e999}}')
    assert.matches("1 MiB", invalid('{"pack_id":"demo","verb_key":"x","args":{"a":"' .. ("x"):rep(1024 * 1024) .. '"}}'))
  end)

  it("takes surface_id for pack_id, and ignores what it doesn't know", function()
    assert.is_true(w:send('{"surface_id":"demo","verb_key":"plain","args":{"n":1},"future":{"x":[1]}}').ok)
    assert.is_true(w:send('{"surface_id":"demo","pack_id":"demo","verb_key":"plain","args":{"n":1}}').ok)
  end)

  it("takes args as empty where there are none", function()
    local envelope = w:send('{"pack_id":"demo","verb_key":"argv"}')
    assert.same({ "-x", "--json" }, envelope.result)
  end)

  it("keeps the reserved keys from templates, scripts and schemas", function()
    local envelope = w:send('{"pack_id":"demo","verb_key":"lua","args":{"confirm":true,"apply":false,"mode":"mock","k":1}}')
    assert.same({ k = 1 }, envelope.result.args)
  end)

  it("has no fields but those of the contract", function()
    local envelope = w:exec("demo", "plain", { n = 1 })
    for key in pairs(envelope) do
      assert.is_truthy(({ ok = 1, pack_id = 1, verb_key = 1, result = 1, stderr = 1 })[key])
    end
  end)

  it("puts one line on stdout, and the ids as they came", function()
    local _, _, _, out = w:send('{"pack_id":"demo\\n\\u2028","verb_key":"x"}')
    assert.equal(1, select(2, out:gsub("\n", "")))
    assert.equal("demo\n\226\128\168", cjson.decode(out).pack_id)
  end)
end)
