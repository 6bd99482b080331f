-- The ledger pack on the real hledger: exact money, a journal that is whole whatever happens, and caller text that
-- stays text.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

local function install(w)
  w:ship("ledger")
  w:policy([[
grants:
  - { principal: "*", capabilities: ["ledger.*"] }
packs:
  ledger:
    bins: [./bin/ledger]
    sandbox: { limits: { timeout: 30s, memory: 1G } }
]])
  w:activate("ledger")
end

local function money(quantity, commodity)
  return { quantity = quantity, commodity = commodity or "" }
end

local function with(t, changes)
  local out = {}
  for k, v in pairs(t) do out[k] = v end
  for k, v in pairs(changes or {}) do out[k] = v end
  return out
end

describe("ledger", function()
  local w

  before_each(function()
    w = world.new()
    install(w)
  end)
  after_each(function() w:close() end)

  local function path()
    return w.state .. "/workspaces/default/-/ledger/main.journal"
  end

  local function journal() return world.read(path()) end

  -- The jail exists once something ran in it; whoever the child is must be able to write.
  local function given(text)
    if not journal() then assert.is_true(w:exec("ledger", "accounts").ok) end
    world.write(path(), text, "666")
  end

  local function run(verb, args)
    local envelope, status, stderr = w:exec("ledger", verb, args)
    assert.is_true(envelope.ok, (envelope.error or "") .. stderr)
    assert.equal(0, status)
    return envelope.result
  end

  local function transfer(args)
    return run("transfer", with({ from = "assets:cash", to = "expenses:rent", amount = 10, confirm = true }, args))
  end

  local function refused(args, why)
    local before = journal()
    local envelope, status = w:exec("ledger", "transfer",
      with({ from = "assets:cash", to = "expenses:rent", amount = 10, confirm = true }, args))
    assert.is_false(envelope.ok)
    assert.is_true(status ~= 0)
    if why then assert.matches(why, envelope.error) end
    assert.is_nil(envelope.error:find("\n", 1, true))
    assert.equal(before, journal())
    return envelope.error
  end

  local function balance_of(account)
    for _, row in ipairs(run("balance").accounts) do
      if row.account == account then return row.amounts end
    end
  end

  it("reads a journal that isn't there as an empty one, and doesn't make it", function()
    assert.same({ accounts = {} }, run("accounts"))
    assert.same({ accounts = {}, total = {} }, run("balance"))
    assert.same({ postings = {}, omitted = 0 }, run("register"))
    assert.is_false(run("doctor").exists)
    assert.is_nil(journal())
  end)

  it("moves money, and only with consent", function()
    local envelope, status = w:exec("ledger", "transfer", { from = "a", to = "b", amount = 1 })
    assert.same({ false, "confirm required", 126 }, { envelope.ok, envelope.error, status })
    assert.is_nil(journal())
    local done = transfer { commodity = "EUR", date = "2024-01-05", description = "January" }
    assert.same({ transaction = 1, date = "2024-01-05", description = "January", from = "assets:cash",
      to = "expenses:rent", amount = money("10", "EUR") }, done)
    assert.equal("2024-01-05 January\n    expenses:rent  10 EUR\n    assets:cash  -10 EUR\n", journal())
    assert.same({
      accounts = {
        { account = "assets:cash", amounts = { money("-10", "EUR") } },
        { account = "expenses:rent", amounts = { money("10", "EUR") } },
      },
      total = { money("0", "EUR") },
    }, run("balance"))
    assert.same({ accounts = { "assets:cash", "expenses:rent" } }, run("accounts"))
    assert.is_true(run("doctor").exists)
  end)

  it("takes the specification's own example", function()
    run("transfer", '{"from":"cash","to":"rent","amount":10,"apply":true}')
    assert.same({ money("10") }, balance_of("rent"))
  end)

  it("gives the two faces one result", function()
    transfer { date = "2024-01-05" }
    local status, out = w:cli { "exec", "ledger", "balance", "--", "account=assets:cash", "type=asset" }
    assert.equal(0, status)
    assert.same(run("balance", { account = "assets:cash", type = { "asset" } }), cjson.decode(out).result)
    status, out = w:cli { "exec", "ledger", "transfer", "--", "from=a", "to=b", "amount=10.50", "confirm=true" }
    assert.equal(0, status)
    assert.equal("10.50", cjson.decode(out).result.amount.quantity)
  end)

  it("adds without a float in sight", function()
    for _ = 1, 3 do transfer { amount = 0.1 } end
    assert.same({ money("0.3") }, balance_of("expenses:rent"))
    local big = "123456789012345678901234567890.123456789"
    transfer { to = "expenses:big", amount = big }
    transfer { to = "expenses:big", amount = "0.000000001" }
    assert.same({ money("123456789012345678901234567890.123456790") }, balance_of("expenses:big"))
    local envelope = w:exec("ledger", "register", { account = "expenses:big", limit = 1 })
    assert.same({ money("123456789012345678901234567890.123456790") }, envelope.result.postings[1].balance)
  end)

  it("keeps the decimals that were written", function()
    assert.equal("10.50", transfer { amount = "10.50" }.amount.quantity)
    assert.same({ money("10.50") }, balance_of("expenses:rent"))
  end)

  it("refuses amounts that are no plain decimals, and numbers that a double may have changed", function()
    for _, amount in ipairs { "0", "-1", "+1", "1e3", "1,5", ".5", "5.", "007", "", " 1", "1 ", "0x10", "1 EUR",
      "10 @ 2",
      "10 = 5", "NaN", "1\n", "0.0000000001", "0.000", ("1"):rep(31), "١", 0, -1, 1e11, 1e21, 0.00001, 1e-7, true } do
      assert.matches("amount", refused { amount = amount })
    end
    assert.matches("amount", refused { amount = cjson.null })
    for _, text in ipairs { "123456789012345.67", "0.30000000000000004" } do
      local envelope = w:exec("ledger", "transfer", ('{"from":"a","to":"b","amount":%s,"confirm":true}'):format(text))
      assert.matches("^invalid args: amount", envelope.error)
    end
  end)

  it("keeps text as it is, of any script, in the journal and in JSON", function()
    local words = { 'Café "Zum Löwen" \\ <b>&\'', "家賃 🏠", "a | b", "include secret.journal", "tab\\tand\\u0000",
      "@ 5 EUR",
      "--version", "@/pack/pack.yaml", "{{from}}", "$(id) `id` %s ~", "a  b" }
    for i, word in ipairs(words) do
      local result = transfer { description = word, to = "expenses:Büro 漢字 & Co. (x)/y's #" .. i }
      assert.equal(word, result.description)
    end
    local postings = run("register", { account = "expenses" }).postings
    for i, word in ipairs(words) do
      assert.equal(word, postings[i].description)
      assert.equal("expenses:Büro 漢字 & Co. (x)/y's #" .. i, postings[i].account)
    end
    assert.equal(1, #run("register", { account = "expenses:Büro 漢字 & Co. (x)/y's #2" }).postings)
  end)

  it("lets no account name be anything else", function()
    for _, name in ipairs { "", " a", "a ", "a  b", "a\tb", "a\nb", "a\n2024-01-01 x", "a;b", "a ; b", "2024-01-01",
      "1a", "(a)",
      "[a]", "a[b]", "*a", "! a", "=a", "a = 5", "a@b", "@a", "-a", "--file=x", "a::b", ":a", "a:", "a :b", "a: b",
        'a"b',
      "a|b", "a{b}", "a\\b", "a^", "a$", "a*", "a?", "a\194\160b", "a\226\128\139b", "a\227\128\128b", "a\226\128\174b",
      "a\r", "a\127", "a\194\133b", ("a"):rep(129) } do
      assert.matches("from", refused { from = name })
      assert.matches("to", refused { to = name })
      assert.is_false(w:exec("ledger", "balance", { account = name }).ok)
    end
    refused({ from = "x", to = "x" }, "the same account")
  end)

  it("lets no description, commodity or date be anything else", function()
    for _, text in ipairs { "a ; b", ";", "a\nb", "a\rb", "(code) x", "! x", "* x", "= x", "=2024-01-02", " a", "a ",
      "a\0b",
      "a\226\128\168b", ("a"):rep(201) } do
      refused({ description = text }, "description")
    end
    for _, text in ipairs { "1", "EUR1", "E R", '"E"', "EUR;", "@", "EUR @ 2 USD", "=", "{1}", "-", "E\194\160",
      "a.b", "*",
      ("E"):rep(13) } do
      refused({ commodity = text }, "commodity")
    end
    for _, text in ipairs { "2024", "2024-1-1", "2024/01/01", "2024-13-01", "2024-02-30", "2023-02-29", "today",
      "0000-01-01",
      "2024-01-01=2024-01-02", "2024-01-01 x", "2024-01-01\n" } do
      refused({ date = text }, "date")
    end
  end)

  it("refuses what it doesn't know", function()
    refused({ memo = "x" }, "^invalid args: ")
    assert.is_false(w:exec("ledger", "doctor", { x = 1 }).ok)
    assert.is_false(w:exec("ledger", "balance", { type = { "money" } }).ok)
    assert.is_false(w:exec("ledger", "balance", { since = "2024-02-31" }).ok)
  end)

  it("means the only commodity of the journal, and asks where there are several", function()
    transfer { commodity = "€" }
    assert.equal("€", transfer({}).amount.commodity)
    transfer { commodity = "USD" }
    refused({}, "several %(USD €%): name one")
  end)

  it("leaves a journal that doesn't check as it was", function()
    for name, text in pairs {
      ["calculated: "] = "2030-01-01 audited\n  assets:cash  0 = 100 EUR\n  equity",
      ["balance"] = "2024-01-01 x\n  a  1\n  b  2\n",
      ["main.journal"] = "2024-01-01 x\n  a  1\nnonsense\n",
    } do
      given(text)
      local why = refused({ commodity = "EUR", date = "2029-12-31" }, name)
      assert.is_nil(why:find(w.state, 1, true))
      assert.equal(text, journal())
    end
    assert.is_false(w:exec("ledger", "doctor").ok)
    assert.is_false(w:exec("ledger", "balance").ok)
  end)

  it("reads back what it wrote before it counts", function()
    for _, text in ipairs { "comment\n", "apply account x\n", "alias assets:cash=x\n", "alias /rent/=x\n" } do
      given(text)
      refused({ commodity = "EUR" }, "would make something else")
    end
    for _, text in ipairs { "decimal-mark ,\n", "commodity 1.000,00 EUR\n", "commodity 1,000.00 EUR\n",
      "D 1.000,00 EUR\n" } do
      given(text)
      assert.equal("1000.500", transfer({ commodity = "EUR", amount = "1000.500" }).amount.quantity)
      assert.equal("1.000", transfer({ commodity = "EUR", amount = "1.000" }).amount.quantity)
      assert.same({ money("1001.500", "EUR") }, balance_of("expenses:rent"))
    end
  end)

  it("appends to a last line that doesn't end", function()
    given("2024-01-01 x\n  a  1\n  b")
    transfer {}
    assert.equal("2024-01-01 x\n  a  1\n  b\n\n", journal():sub(1, 25))
    assert.equal(4, #run("register").postings)
  end)

  it("says when hledger's JSON may have rounded", function()
    given("2024-01-01 x\n  a  0.123456789012 BTC\n  b\n")
    assert.is_false(balance_of("a")[1].exact)
  end)

  it("puts a transfer through a link nowhere", function()
    given("")
    os.remove(path())
    assert(os.execute("ln -s other.journal " .. quote(path())))
    for _, verb in ipairs { "accounts", "balance", "doctor" } do
      assert.equal("main.journal is not a regular file", w:exec("ledger", verb).error)
    end
    assert.equal("main.journal is not a regular file", w:exec("ledger", "transfer",
      { from = "a", to = "b", amount = 1, confirm = true }).error)
  end)

  it("loses none of the transfers that run at once", function()
    local one = ("%s --root %s --state %s exec ledger transfer -- from=a to=b amount=0.1 confirm=true"):format(
      quote(world.hcp), quote(w.root), quote(w.state))
    local status, out = world.sh(one .. " & " .. one .. " & " .. one .. " & wait")
    assert.equal(0, status)
    assert.equal(3, select(2, out:gsub('"ok": ?true', "")), out)
    assert.same({ money("0.3") }, balance_of("b"))
    local _, files = world.sh("ls -A " .. quote((path():gsub("/[^/]*$", ""))))
    assert.equal("main.journal\n", files)
  end)

  it("answers by account, type and period", function()
    transfer { from = "income:job", to = "assets:bank", amount = 2000, date = "2024-01-31" }
    transfer { from = "assets:bank", amount = "700.10", date = "2024-02-01" }
    assert.same({ accounts = { "assets:bank" } }, run("accounts", { account = "assets" }))
    assert.same({ accounts = { "income:job" } }, run("accounts", { type = { "income" } }))
    assert.same({ accounts = {}, total = {} }, run("balance", { account = "asset" }))
    assert.same({ money("1299.90") }, run("balance", { account = "assets:bank" }).total)
    assert.same({ money("-1299.90") }, run("balance", { type = { "income", "expense" } }).total)
    assert.same({ money("2000") }, run("balance", { account = "assets", before = "2024-02-01" }).total)
    assert.same({ money("-700.10") }, run("balance", { account = "assets", since = "2024-02-01" }).total)
    local register = run("register", { account = "assets", limit = 1 })
    assert.equal(1, register.omitted)
    assert.same({ { transaction = 2, date = "2024-02-01", description = "Transfer", account = "assets:bank",
      amounts = { money("-700.10") }, balance = { money("1299.90") } } }, register.postings)
  end)

  it("reports a month", function()
    transfer { from = "income:job", to = "assets:bank", amount = 2000, commodity = "EUR", date = "2024-12-01" }
    transfer { from = "assets:bank", amount = "700.10", date = "2024-12-31" }
    transfer { from = "assets:bank", to = "lent", amount = 5, date = "2024-12-31" }
    transfer { from = "assets:bank", amount = 1, date = "2025-01-01" }
    local income = { { account = "income:job", amounts = { money("2000", "EUR") } } }
    local expenses = { { account = "expenses:rent", amounts = { money("700.10", "EUR") } } }
    assert.same({
      month = "2024-12",
      income = { accounts = income, total = { money("2000", "EUR") } },
      expenses = { accounts = expenses, total = { money("700.10", "EUR") } },
      net = { money("1299.90", "EUR") },
      changes = {
        { account = "assets:bank", amounts = { money("1294.90", "EUR") } },
        { account = "lent", amounts = { money("5", "EUR") } },
      },
      postings = 6,
    }, run("report month", { month = "2024-12" }))
    assert.same({ accounts = {}, total = {} }, run("report month", { month = "2023-01" }).income)
    for _, month in ipairs { "2024-13", "2024-00", "2024", "2024-1", "x" } do
      assert.matches("^invalid args: month", w:exec("ledger", "report month", { month = month }).error)
    end
  end)

  it("needs the capability of each command", function()
    w:policy([[
grants:
  - { principal: "*", capabilities: [ledger.read] }
packs: { ledger: { bins: [./bin/ledger] } }
]])
    assert.is_true(w:exec("ledger", "balance").ok)
    assert.is_true(w:exec("ledger", "report month", { month = "2024-01" }).ok)
    assert.equal("denied: missing ledger.write for ledger.transfer", refused {})
    assert.equal("denied: missing ledger.doctor for ledger.doctor", w:exec("ledger", "doctor").error)
  end)
end)

-- Without the runtime's schemas, as another runtime or a person would start it.
describe("the program of ledger", function()
  local w
  before_each(function() w = world.new() end)
  after_each(function() w:close() end)

  local function program(...)
    local words = {}
    for i, word in ipairs { ... } do words[i] = quote(word) end
    return world.sh(("cd %s && %s/packs/ledger/bin/ledger %s"):format(quote(w.dir), quote(world.source),
      table.concat(words, " ")))
  end

  local function journal() return world.read(w.dir .. "/main.journal") end

  it("judges every value itself", function()
    local good = { from = "a", to = "b", amount = "1", commodity = "EUR", date = "2024-01-01", description = "x" }
    local bad = {
      from = { "a  b", "a\n  c", "a;b", "1a", "(a)", "@a", "-a", "a=1", "a\194\160b", "a:", "" },
      to = { "a  b", "a\tb", "*a", "" },
      amount = { "-1", "1e3", "1 EUR", "1 @ 2", "=5", "0", "1,5", "1\n2", "0.1234567890", "" },
      commodity = { "EUR;", "E R", "1", "@", "EUR\n" },
      date = { "2024-02-30", "today", "2024-01-01=2024-01-02", "2024-01-01\n" },
      description = { "a;b", "a\nb", "(a) b", "* b", "=2024-01-02" },
    }
    for name, values in pairs(bad) do
      for _, value in ipairs(values) do
        local words = { "transfer", "--json" }
        for k, v in pairs(with(good, { [name] = value })) do words[#words + 1] = "--" .. k .. "=" .. v end
        local status, out, err = program(table.unpack(words))
        assert.equal(1, status, name .. "=" .. value)
        assert.equal("", out)
        assert.matches("^[^\n]*" .. name .. "[^\n]*\n$", err)
        assert.is_nil(journal())
      end
    end
  end)

  it("knows its words and flags, and nothing else", function()
    for _, words in ipairs { {}, { "files" }, { "--version" }, { "balance", "x" }, { "balance", "-f" }, { "balance",
      "@x" },
      { "balance", "--file=x" }, { "balance", "--limit=1" }, { "transfer", "--amount" }, { "balance", "--" } } do
      local status, out = program(table.unpack(words))
      assert.same({ 2, "" }, { status, out })
    end
  end)

  it("keeps its transfers apart without anybody's lock", function()
    local one = quote(world.source) .. "/packs/ledger/bin/ledger transfer --from=a --to=b --amount=0.1 >/dev/null"
    local status, _, err = world.sh(("cd %s && { %s & %s & %s & %s & wait; }"):format(quote(w.dir), one, one, one, one))
    assert.same({ 0, "" }, { status, err })
    local _, out = program("balance", "--account=b", "--json")
    assert.same({ money("0.4") }, cjson.decode(out).total)
  end)

  it("leaves the journal alone where the disk is full", function()
    assert.equal(0, (program("transfer", "--from=a", "--to=b", "--amount=1")))
    world.write(w.dir .. "/main.journal", journal() .. "; " .. ("x"):rep(480) .. "\n")
    local before = journal()
    local line = "cd %s && ulimit -f 1 && %s/packs/ledger/bin/ledger transfer --from=a --to=b --amount=1"
    local status = world.sh(line:format(quote(w.dir), quote(world.source)))
    assert.is_true(status ~= 0)
    assert.equal(before, journal())
  end)
end)
