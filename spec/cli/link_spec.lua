-- hcp link, and the command that it makes: the same run as by hcp exec, whatever a careless caller writes.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: demo
version: 1.0.0
summary: A pack for links
bin: dem
commands:
  transfer:
    summary: Move money
    description: Moves it.
    kind: composite
    script: verbs/echo.lua
    effect: write
    args:
      properties:
        from: { type: string, description: Where it comes from }
        amount: { type: number, description: "How much \e]0;x\a" }
        dry_run: { type: boolean, default: false }
        tags: { type: array, items: { type: string } }
        speed: { enum: [fast, slow, "not at all"] }
        meta: { type: object }
      required: [amount]
    examples: [ { from: "it's", amount: 10, dry_run: false, tags: [a, b], meta: { x: 1 } } ]
  "report month": { summary: A month, kind: composite, script: verbs/echo.lua, effect: read }
  demo.state: { summary: Fine, kind: composite, script: verbs/echo.lua, effect: read, args: {} }
  bad: { summary: Fails, cli: [dem, bad] }
wrap: { bin: ./bin/fail }
]]

describe("a linked command", function()
  local w, bin
  local function linked(words, options)
    return world.sh((options or "") .. " " .. quote(bin .. "/dem") .. " " .. words)
  end
  local function link(words, before)
    return w:cli({ "link", "--dir", bin, table.unpack(words) }, { before = before })
  end

  setup(function()
    w = world.new()
    bin = w.dir .. "/bin"
    assert(os.execute("mkdir " .. quote(bin)))
    w:pack("demo", {
      ["pack.yaml"] = manifest,
      ["policy.yaml"] = "hcp: 1\npolicies: { transfer: { confirm: true }, report month: {}, demo.state: {}, bad: {} }\n",
      ["verbs/echo.lua"] = "return function(args, ctx) return { verb = ctx.verb_key, args = args } end\n",
      ["bin/fail"] = { "#!/bin/sh\necho no >&2; exit 7\n", "755" },
    })
    w:pack("other", {
      ["pack.yaml"] = "hcp: 1\npack_id: other\nversion: 1.0.0\nsummary: x\nbin: dem\nwrap: { bin: ./x }\n" ..
        "commands: { x: { summary: x, cli: [other, x] } }\n",
      ["policy.yaml"] = "hcp: 1\npolicies: { x: {} }\n",
    })
    w:policy('grants: [ { principal: "*", capabilities: ["demo.*"] } ]\npacks: { demo: { bins: [./bin/fail] } }\n')
    w:activate("demo")
    local status, out = link { "demo" }
    assert.equal(0, status)
    assert.equal(bin .. "/dem", cjson.decode(out).link)
  end)
  teardown(function() w:close() end)

  it("is the run that hcp exec makes", function()
    for words, exec in pairs {
      ["transfer --amount 10 --confirm"] = { "transfer", "--", "amount=10", "confirm=true" },
      ["transfer --amount=10"] = { "transfer", "--", "amount=10" },
      ["transfer --confirm --amount -5"] = { "transfer", "--", "confirm=true", "amount=-5" },
      ["transfer --confirm --amount ten"] = { "transfer", "--", "confirm=true", "amount=ten" },
      ["transfer --confirm --amount 1 --dry-run"] = { "transfer", "--", "confirm=true", "amount=1", "dry_run=true" },
      ["transfer --confirm --amount 1 --no-dry_run"] = { "transfer", "--", "confirm=true", "amount=1", "dry_run=false" },
      ["transfer --confirm --amount 1 --tags a --tags -b"] = { "transfer", "--", "confirm=true", "amount=1", "tags=a", "tags=-b" },
      ["transfer --confirm --amount 1 --from=--x"] = { "transfer", "--", "confirm=true", "amount=1", "from=--x" },
      ["transfer --confirm --amount 1 --from 'ü €'"] = { "transfer", "--", "confirm=true", "amount=1", "from=ü €" },
      ["transfer --confirm --amount 1 --amount 2"] = { "transfer", "--", "confirm=true", "amount=1", "amount=2" },
      ["transfer --confirm --args '{\"amount\":1,\"meta\":{\"a\":[]}}'"] =
        { "transfer", "--", "confirm=true", "amount:=1", 'meta:={"a":[]}' },
      ["transfer --confirm=yes --amount 1"] = { "transfer", "--", "confirm=yes", "amount=1" },
      ["transfer amount=3 -- confirm=true"] = { "transfer", "amount=3", "confirm=true" },
      ["report month --a 1 --b --c-d 007"] = { "report", "month", "--", "a=1", "b=true", "c-d=007" },
      ["state"] = { "demo.state" },
      ["bad"] = { "bad" },
      ["nonesuch --amount 10 --x"] = { "nonesuch", "--", "amount=10", "x=true" },
    } do
      local status, out = linked(words)
      local said, expected = w:cli { "exec", "demo", table.unpack(exec) }
      assert.equal(expected, out, words)
      assert.equal(said, status, words)
      assert.equal("table", type(cjson.decode(out)))
    end
  end)

  it("refuses what it can't understand, says what to do, and runs nothing", function()
    local before = #w:audit()
    for words, message in pairs {
      [""] = "usage: dem <verb> [--flags]",
      ["--amount 10 transfer"] = "unknown option --amount: flags come behind the verb",
      ["transfer --amout 3"] = "dem transfer has no flag --amout\nhint: did you mean: --amount",
      ["transfer -amount 3"] = "dem transfer has no flag -amount\nhint: did you mean: --amount",
      ["transfer --jsn --amount 3"] = "has no flag --jsn\nhint: did you mean: --json",
      ["transfer 10"] = 'unexpected word "10": arguments are flags (dem transfer --help)',
      ["transfer --amount"] = "--amount needs a value",
      ["transfer --from --amount 1"] = "--from needs a value; one that begins with -- is written --flag=VALUE",
      ["transfer --amount 1 --dry-run false"] = 'unexpected word "false"',
      ["transfer --amount 1 --no-dry-run=false"] = "--no-dry-run=false takes no value",
      ["transfer --no-amount"] = "has no flag --no-amount",
      ["transfer --amount 1 --session x"] = "--session is an option of hcp: it stands before the verb",
      ["transfer --amount 1 --args '{\"amount\":2}'"] = "amount is given twice",
      ["transfer --args '[1]'"] = "--args must be one JSON object",
      ["transfer --args '{'"] = "--args: ",
      ["transfer --from $(printf '\\377') --amount 1"] = "from: the value is not UTF-8",
      ["transfer --amount 1 -- x"] = '"x" is not k=v',
      ["state --x 1"] = "dem state has no flag --x",
    } do
      local status, out, err = linked(words)
      assert.equal(2, status, words)
      assert.equal("", out, words)
      assert.is_truthy(err:find(message, 1, true), words .. ": " .. err)
    end
    assert.equal(before, #w:audit())
  end)

  it("hints at the verb and at consent", function()
    local _, _, err = linked "transfr --amount 10"
    assert.equal("hint: did you mean: transfer\n", err)
    _, _, err = linked "transfer --amount 10"
    assert.equal("hint: this command asks for consent: add --confirm\n", err)
  end)

  it("keeps root, state and session of the link; options before the verb win", function()
    local status, out = linked("state", "cd / && HCP_ROOT=/nonexistent HCP_STATE=/nonexistent")
    assert.equal(0, status, out)
    status, out = linked "--session elsewhere state"
    assert.equal(126, status)
    assert.equal("pack demo not activated", cjson.decode(out).error)
    assert.equal(0, (link { "demo", "--as", "there", "--session", "elsewhere" }))
    status = world.sh(quote(bin .. "/there") .. " state")
    assert.equal(126, status)
  end)

  it("helps from the manifest, creates nothing, and shows no escape sequence", function()
    local status, out = linked "--help"
    assert.equal(0, status)
    assert.is_truthy(out:find("  report month       A month\n", 1, true), out)
    status, out = linked "report --help"
    assert.equal(0, status)
    assert.is_nil(out:find("Move money", 1, true))
    local fresh = w.dir .. "/fresh"
    status, out = linked("--state " .. quote(fresh) .. " transfer --amount --help")
    assert.equal(0, status)
    for _, line in ipairs {
      "usage: dem transfer [--flags]\nMove money\n\nMoves it.\n",
      "  --from TEXT              Where it comes from\n",
      "  --amount NUMBER          How much ?]0;x? (required)\n",
      "  --[no-]dry-run           (default false)\n",
      "  --speed fast|slow|'not at all'\n",
      "  --confirm                consent, which this command asks for\n",
      [[dem transfer --from 'it'\''s' --amount 10 --no-dry-run --tags a --tags b --args '{"meta":{"x":1}}']] .. "\n",
    } do
      assert.is_truthy(out:find(line, 1, true), out)
    end
    assert.is_nil(out:find("[\1-\9\11-\31\127]"))
    assert.is_nil(world.read(fresh .. "/audit/audit.jsonl"))
    assert.is_true(os.execute("[ ! -e " .. quote(fresh) .. " ]"))
  end)

  it("shows its examples as they can be run", function()
    local _, help = linked "transfer --help"
    local example = help:match("examples:\n  dem ([^\n]+)\n")
    local status, out = linked(example .. " --confirm")
    assert.equal(0, status, out)
    assert.same({ from = "it's", amount = 10, dry_run = false, tags = { "a", "b" }, meta = { x = 1 } },
      cjson.decode(out).result.args)
  end)

  it("is refused to a program of its own pack", function()
    local status, out, err = linked("state", "HCP_PACK_ID=demo")
    assert.equal(2, status)
    assert.equal("", out)
    assert.is_truthy(err:find("a program of the pack demo calls dem, which is that pack", 1, true))
  end)

  it("takes no name of hcp, a shell or an interpreter, by spelling or by file", function()
    for _, name in ipairs { "hcp", "sh", "bash", "python3.11", "lua5.4", "env", "sudo" } do
      local status, out, err = link { "demo", "--as", name }
      assert.equal(2, status, name)
      assert.equal("", out)
      assert.is_truthy(err:find("it would hide hcp, a shell or an interpreter", 1, true), err)
      assert.is_nil(world.read(bin .. "/" .. name))
    end
    local tools = w.dir .. "/tools"
    assert(os.execute(("mkdir %s && ln -s /bin/sh %s/posix && ln -s %s %s/runner"):format(tools, tools, quote(world.hcp), tools)))
    for name, same in pairs { posix = "that is ", runner = "that is hcp here" } do
      local status, _, err = link({ "demo", "--as", name }, "PATH=" .. tools .. ":$PATH")
      assert.equal(2, status, name)
      assert.is_truthy(err:find(same, 1, true), err)
    end
    for _, name in ipairs { "../x", "-x", ".x", "", "a/b", "a\nb" } do
      local status = link { "demo", "--as=" .. name }
      assert.equal(2, status, name)
    end
  end)

  it("overwrites nothing but a link of the same pack", function()
    world.write(bin .. "/foreign", "#!/bin/sh\n")
    assert(os.execute("ln -s /bin/ls " .. quote(bin .. "/points") .. "; ln -s nowhere " .. quote(bin .. "/dangling")))
    for _, name in ipairs { "foreign", "points", "dangling" } do
      local status, _, err = link { "demo", "--as", name }
      assert.equal(1, status, name)
      assert.is_truthy(err:find("is no link of hcp's", 1, true), err)
      status = w:cli { "unlink", name, "--dir", bin }
      assert.equal(1, status, name)
    end
    assert.equal("#!/bin/sh\n", world.read(bin .. "/foreign"))
    local status, _, err = link { "other" }
    assert.equal(1, status)
    assert.is_truthy(err:find("is the pack demo: hcp unlink dem", 1, true), err)
    assert.equal(0, (link { "demo" }))
  end)

  it("is taken away by unlink", function()
    assert.equal(0, (link { "demo", "--as", "gone" }))
    local status, out = w:cli { "unlink", "gone", "--dir", bin }
    assert.equal(0, status)
    assert.equal("demo", cjson.decode(out).pack_id)
    assert.is_nil(world.read(bin .. "/gone"))
    assert.equal(1, (w:cli { "unlink", "gone", "--dir", bin }))
    assert.equal(2, (w:cli { "unlink", "../bin/dem", "--dir", bin }))
  end)

  it("says when PATH doesn't lead to it", function()
    local _, _, err = link { "demo" }
    assert.is_truthy(err:find(bin .. " is not in PATH", 1, true), err)
    _, _, err = link({ "demo" }, "PATH=" .. quote(bin) .. ":$PATH")
    assert.equal("", err)
  end)

  it("is made for a pack that loads, and judged when it is read", function()
    local status, out, err = link { "nonesuch" }
    assert.equal(126, status)
    assert.equal("", out)
    assert.is_truthy(err:find("unknown pack nonesuch", 1, true), err)
    local text = world.read(bin .. "/dem")
    for from, to in pairs { ["pack_id: .-\n"] = 'pack_id: "../x"\n', ["root: .-\n"] = 'root: "x"\n', ["hcp: 1"] = "hcp: 2",
                            ["hcp: 1\n"] = "hcp: 1\nmore: 1\n" } do
      world.write(bin .. "/broken", (text:gsub("(\n)" .. from, "%1" .. to, 1)), "755")
      status, out, err = world.sh(quote(bin .. "/broken") .. " state")
      assert.equal(125, status, to)
      assert.equal("", out)
      assert.is_truthy(err:find("/broken:%d+: "), err)
    end
  end)
end)
