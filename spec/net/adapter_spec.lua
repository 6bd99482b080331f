-- Kind `http`: what goes over the wire, what comes back, and where it never goes.
local cjson = require "cjson"
local tls = require "tls"
local world = require "world"

local key = "k3y-0f-the-bank/+"

describe("an http command", function()
  local w, s
  setup(function()
    w = world.new()
    local ca = tls.authority(w.root, "ca")
    ca:certificate("server", "IP:127.0.0.1,DNS:localhost")
    s = tls.server(w.root, "server")
    w:put("hcp.yaml", "hcp: 1\nca: ca.pem\naudit: { sync: os }\n")
    os.execute("mkdir -m 700 " .. world.quote(w.root .. "/secrets"))
    w:put("secrets/key", key, "600")
    w:put("packs/bank/policy.yaml", "hcp: 1\npolicies: { go: {} }\n")
  end)
  teardown(function()
    s:stop()
    w:close()
  end)

  local usual = "{ type: object, properties: { id: { type: string }, n: {}, l: { type: array, items: {} }, o: { type: object } } }"
  -- The command's mapping, AT being the server; more: args (its schema), hosts, limits, mint = false.
  local function command(http, more)
    more = more or {}
    local manifest = ([[
hcp: 1
pack_id: bank
version: 1.0.0
summary: A bank with an API
kind: http
http: { base: "https://AT", headers: { Authorization: "Bearer {{$BANK_KEY}}" } }
%scommands:
  go: { summary: Goes, args: %s, effect: read, http: %s }
]]):format(more.mint ~= false and "mint: { hook: policies:static, ttl: 1m, env: [BANK_KEY] }\n" or "", more.args or usual, http)
    w:put("packs/bank/pack.yaml", (manifest:gsub("AT", more.at or "127.0.0.1:" .. s.port)))
    w:policy(([[
grants: [ { principal: "*", capabilities: ["bank.*"] } ]
packs:
  bank:
    sandbox: { limits: { %s } }
    mint: { secrets: [key], with: { env: { BANK_KEY: key } } }
    http: { hosts: [%s] }
]]):format(more.limits or "timeout: 20s", more.hosts or '"127.0.0.1:' .. s.port .. '"'))
    w:activate("bank")
  end
  local function go(args, options)
    local envelope, status, err, out = w:exec("bank", "go", args or {}, options)
    assert.is_nil((out .. err .. select(2, w:audit())):find(key, 1, true))
    return envelope, status
  end
  local function result(http, args, more)
    command(http, more)
    local envelope = go(args)
    assert.is_nil(envelope.error)
    return envelope.result
  end
  local function fails(http, args, more)
    command(http, more)
    local envelope, status = go(args)
    assert.is_false(envelope.ok)
    return envelope.error, status
  end
  local function sent()
    local all = s:requests()
    return all[#all], #all
  end

  it("is sent with its credential, which nobody sees", function()
    local r = result('{ url: "/echo/{{id}}" }', { id = "a b/ü?#" })
    assert.same({ body = "", auth = "[redacted]", path = "/echo/a%20b%2F%C3%BC%3F%23" }, r)
    assert.same({ "Bearer " .. key, "application/json", "hcp", "GET" },
      { sent().headers.authorization, sent().headers.accept, sent().headers["user-agent"], sent().method })
    go({ id = "x", mode = "mock" })
    assert.equal("Bearer mock", sent().headers.authorization)
  end)

  it("renders query, headers and forms as text, and leaves out what is empty", function()
    local http = [[{ url: /echo, query: { id: "{{id}}", n: "{{n}}", l: "<{{ l }}>", fix: 7, no: "{{o}}", k: "{{$BANK_KEY}}" },
      headers: { X-Id: "{{id}}", x-n: "a{{n}}", Accept: a/b } }]]
    result(http, { id = "a&b=c", n = 1.5, l = { 1, "x y", true } })
    assert.equal("/echo?fix=7&id=a%26b%3Dc&k=k3y-0f-the-bank%2F%2B&l=%3C1%2Cx%20y%2Ctrue%3E&n=1.5", sent().path)
    assert.same({ "a&b=c", "a1.5", "a/b" }, { sent().headers["x-id"], sent().headers["x-n"], sent().headers.accept })
    assert.is_nil(sent().headers.authorization) -- the command's mapping of a key stands for the pack's
    result(http, { n = false, id = "" })
    assert.equal("/echo?fix=7&k=k3y-0f-the-bank%2F%2B&l=%3C%3E&n=false", sent().path)
    result('{ url: /echo, method: POST, form: { a: "{{id}}", b: "{{n}}" } }', '{"id":"ü","n":9007199254740993}')
    assert.same({ "a=%C3%BC&b=9007199254740993", "application/x-www-form-urlencoded" }, { sent().body, sent().headers["content-type"] })
    assert.equal("no: an object can't stand there", (fails(http, { o = { a = 1 } })))
  end)

  it("keeps the type of a value that stands alone in a body", function()
    result([[{ url: /echo, method: PUT, body: { id: "{{id}}", text: "n is {{n}}", n: "{{n}}", deep: [ { l: "{{l}}" }, "{{o}}" ],
      none: [], yes: true } }]], '{"id":"\\"q\\"","n":9007199254740993,"l":[]}')
    local body = sent().body
    for _, part in ipairs { '"id":"\\"q\\""', '"n":9007199254740993', '"text":"n is 9007199254740993"', '"deep":[{"l":[]}]', '"none":[]',
      '"yes":true' } do
      assert.truthy(body:find(part, 1, true), body)
    end
    assert.same({ "PUT", "application/json" }, { sent().method, sent().headers["content-type"] })
  end)

  it("gives the answer, or what its pointer leads to", function()
    assert.equal("it says so", result("{ url: /status/200, pointer: /message }"))
    assert.is_false(result("{ url: /status/200, pointer: /no }"))
    assert.equal(3, result('{ url: /pages, query: { page: 2 }, pointer: /items/0 }'))
    assert.equal("the answer has nothing at /items/2", (fails('{ url: /pages, pointer: /items/2 }')))
    assert.equal("the answer has nothing at /message/x", (fails('{ url: /status/200, pointer: /message/x }')))
    assert.equal(cjson.null, result('{ url: /status/204 }'))
  end)

  it("fails with the status and what was said", function()
    for _, status in ipairs { 400, 404, 500 } do
      assert.equal(('GET: status %d: {"message": "it says so", "no": false}'):format(status), (fails("{ url: /status/" .. status .. " }")))
    end
    assert.equal("GET: status 302", (fails('{ url: /redirect, headers: { X-To: "https://127.0.0.1/x" } }')))
  end)

  it("collects pages by cursor, URL, path and link", function()
    local all = { 1, 2, 3, 4, 5, 6 }
    assert.same(all, result("{ url: /pages, pointer: /items, pages: { next: /page/next, as: page } }"))
    assert.same(all, result("{ url: /pages, query: { by: 'null' }, pointer: /items, pages: { next: /page/next, as: page } }"))
    assert.same(all, result("{ url: /pages, query: { by: url }, pointer: /items, pages: { next: /page/next } }"))
    assert.same(all, result("{ url: /pages, query: { by: path }, pointer: /items, pages: { next: /page/next } }"))
    assert.same(all, result("{ url: /pages, query: { by: link }, pointer: /items, pages: { next: link, most: 3 } }"))
    assert.equal("there are more than 2 pages",
      (fails("{ url: /pages, pointer: /items, pages: { next: /page/next, as: page, most: 2 } }")))
    local _, before = sent()
    assert.equal("there are more than 10 pages",
      (fails("{ url: /pages, query: { by: endless }, pointer: /items, pages: { next: /page/next, as: page } }")))
    assert.equal(before + 10, select(2, sent()))
    assert.equal("the next page is on another host",
      (fails("{ url: /pages, query: { by: elsewhere }, pointer: /items, pages: { next: /page/next } }")))
    assert.equal("a page of the answer is no list",
      (fails("{ url: /pages, query: { by: object }, pointer: /items, pages: { next: link } }")))
  end)

  it("goes to the granted hosts only, and to no other path than its own", function()
    local _, before = sent()
    assert.matches('the policy lists no host "127.0.0.1:' .. s.port .. '"$', (fails("{ url: /echo }", {}, { hosts = "" })))
    assert.matches("the host's address is of a private network and the policy doesn't list it$",
      (fails("{ url: /echo }", {}, { at = "localhost:" .. s.port, hosts = '"localhost:' .. s.port .. '"' })))
    for _, id in ipairs { "..", "." } do
      assert.equal("invalid args: the URL may not hold " .. id, (fails('{ url: "/echo/{{id}}" }', { id = id })))
    end
    for _, id in ipairs { "", cjson.null } do
      assert.matches("^invalid args: id: ", (fails('{ url: "/echo/{{id}}" }', { id = id })))
    end
    assert.equal("invalid args: id: may not be empty", (fails('{ url: "/echo/{{id}}" }')))
    assert.matches("there is no $BANK_KEY: the pack mints none", (fails("{ url: /echo }", {}, { mint = false })), 1, true)
    assert.equal(before, select(2, sent()))
    assert.matches("x%-id holds a control character$", (fails('{ url: /echo, headers: { X-Id: "{{id}}" } }', { id = "a\r\nB: c" })))
  end)

  it("has the command's time and output", function()
    local said, status = fails("{ url: /hang }", {}, { limits = "timeout: 1s" })
    assert.matches("^script: time limit of 1s exceeded at adapters/http.lua:%d+$", said)
    assert.equal(124, status)
    assert.matches("the answer is over 256K$", (fails("{ url: /huge }", {}, { limits = "output: 256K" })))
    assert.equal(256 * 1024, #result("{ url: /full }", {}, { limits = "output: 300K" }))
  end)

  it("is judged before anything is sent", function()
    local _, before = sent()
    local rows = {
      ["{ url: /x, qeury: {} }"] = 'unknown key "qeury"', ["{ query: {} }"] = "url is missing", ["{ url: 7 }"] = "url must be a text",
      ["{ url: /x, query: a }"] = "query must be a mapping", ['{ url: "/x?a=1" }'] = "what stands behind a ? belongs in `query`",
      ['{ url: "/x", base: "{{id}}" }'] = "the URL must begin with https://host/, in plain text",
      ['{ url: "@evil/", base: "https://a" }'] = "the URL must begin with https://host/, in plain text",
      ['{ url: "/x", base: "file:" }'] = "the URL must begin with https://host/, in plain text",
      ['{ url: "/x/{{nobody}}" }'] = "{{nobody}} is no argument of the command",
      ['{ url: /x, body: { a: [ "{{nobody}}" ] }, method: POST }'] = "{{nobody}} is no argument of the command",
      ['{ url: "/x/{{$BANK_KEY}}" }'] = "{{$BANK_KEY}}: a credential can't stand in a URL",
      ['{ url: "/x", query: { a: "{{" } }'] = '"{{": a brace without its partner',
      ['{ url: "/x", query: { a: "{{a b}}" } }'] = "{{a b}} is no placeholder",
      ["{ url: /x, method: get }"] = "method must be GET, HEAD, POST, PUT, PATCH or DELETE", ["{ url: /x, body: {} }"] = "GET has no body",
      ["{ url: /x, method: POST, body: {}, form: {} }"] = "either body or form", ["{ url: /x, pointer: a }"] = "pointer must begin with /",
      ["{ url: /x, pages: { as: p } }"] = "pages: next is missing", ["{ url: /x, pages: { next: p } }"] = 'pages: next can\'t be "p"',
      ["{ url: /x, pages: { next: /p, most: 0 } }"] = "pages: most can't be 0",
      ["{ url: /x, pages: { next: /p, most: 1.5 } }"] = "pages: most can't be 1.5",
      ["{ url: /x, pages: { next: /p, each: 1 } }"] = "pages: each can't be 1",
      ["{ url: /x, pages: { next: link, as: p } }"] = "pages: a link says itself where the next page is",
    }
    for http, why in pairs(rows) do assert.equal("adapter http: " .. why, (fails(http))) end
    assert.equal(before, select(2, sent()))
  end)
end)
