-- Signature Version 4, against the examples that AWS published (its test suite of 2015, and the one of its manual).
local demo = require "demo"

local suite = { region = "us-east-1", service = "service", host = "example.amazonaws.com" }
local session = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7" ..
  "mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT" ..
  "38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
-- name, method, path, query, further headers, body, signed headers, signature
local examples = {
  { "get-vanilla", "GET", "/", "", "", "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
  { "get-vanilla-query-order-key-case", "GET", "/", "Param1=value1&Param2=value2", "", "", "host;x-amz-date",
    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
  { "get-header-value-trim", "GET", "/", "", [[["my-header1"] = " value1", ["my-header2"] = ' "a   b   c"']], "",
    "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736" },
  { "post-x-www-form-urlencoded", "POST", "/", "", '["content-type"] = "application/x-www-form-urlencoded"', "Param1=value1",
    "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a" },
  { "post-sts-header-before", "POST", "/", "", ('["x-amz-security-token"] = "%s"'):format(session), "",
    "host;x-amz-date;x-amz-security-token", "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead" },
  { "the manual's ListUsers", "GET", "/", "Action=ListUsers&Version=2010-05-08",
    '["content-type"] = "application/x-www-form-urlencoded; charset=utf-8"', "", "content-type;host;x-amz-date",
    "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7", service = "iam", host = "iam.amazonaws.com" },
}

describe("Signature Version 4", function()
  local w
  setup(function()
    w = demo.world()
    assert(os.execute("mkdir -m 700 '" .. w.root .. "/secrets'"))
    w:put("secrets/aws", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "600")
    w:put("packs/demo/pack.yaml", [[
hcp: 1
pack_id: demo
version: 1.0.0
summary: Its hook tells a signature
mint: { hook: "policies:tell", ttl: 1m, env: [X] }
commands:
  tell: { summary: Tells, kind: composite, script: tell.lua }
]])
    w:put("packs/demo/policy.yaml", "hcp: 1\npolicies: { tell: {} }\n")
    w:put("packs/demo/tell.lua", "return function() end")
  end)
  teardown(function() w:close() end)

  for _, e in ipairs(examples) do
    it("of " .. e[1], function()
      w:put("policies/mint/tell.lua", ([[
return function(_, host)
  return nil, require "lib.sigv4"(host, { method = "%s", path = "%s", query = "%s", body = "%s",
    headers = { host = "%s", ["x-amz-date"] = "20150830T123600Z", %s } },
    { id = "AKIDEXAMPLE", secret = host.secret("aws"), region = "us-east-1", service = "%s" })
end
]]):format(e[2], e[3], e[4], e[6], e.host or suite.host, e[5], e.service or suite.service))
      w:policy('grants: [ { principal: "*", capabilities: ["demo.*"] } ]\npacks: { demo: { mint: { secrets: [aws] } } }\n')
      assert.equal(("mint failed: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/%s/aws4_request, " ..
        "SignedHeaders=%s, Signature=%s"):format(e.service or suite.service, e[7], e[8]), w:exec("demo", "tell", {}).error)
    end)
  end
end)
