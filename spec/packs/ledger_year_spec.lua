-- A year of a household's journal, 10,000 postings: what the ledger pack says of it is what whole cents, added up here,
-- say.
local world = require "world"

local TRANSACTIONS = 5000

local function money(cents)
  local sign = cents < 0 and "-" or ""
  cents = math.abs(cents)
  return { quantity = ("%s%d.%02d"):format(sign, cents // 100, cents % 100), commodity = "EUR" }
end

-- Numbers that are the same each time.
local function numbers(seed)
  return function(most)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % most + 1
  end
end

local function year()
  local pick, all = numbers(7), {}
  local kinds = { "food", "rent", "travel", "books", "heating" }
  for i = 1, TRANSACTIONS do
    local day = (i - 1) * 365 // TRANSACTIONS + 1
    local t = { date = os.date("!%Y-%m-%d", 1672531200 + (day - 1) * 86400), cents = pick(20000) * 3 + pick(100) }
    if i % 9 == 0 then
      t.from, t.to = "income:job", "assets:bank:checking"
    elseif i % 7 == 0 then
      t.from, t.to = "assets:bank:checking", "assets:cash"
    else
      t.from, t.to = pick(3) == 1 and "assets:cash" or "assets:bank:checking", "expenses:" .. kinds[pick(#kinds)]
    end
    all[i] = t
  end
  return all
end

local function text_of(all)
  local lines = {}
  for i, t in ipairs(all) do
    local text = money(t.cents).quantity
    lines[i] = ("%s entry %d\n    %s  %s EUR\n    %s  -%s EUR\n"):format(t.date, i, t.to, text, t.from, text)
  end
  return table.concat(lines, "\n")
end

-- Cents by account of what `counts`.
local function sums(all, counts)
  local sum = {}
  for _, t in ipairs(all) do
    if counts(t) then
      sum[t.to] = (sum[t.to] or 0) + t.cents
      sum[t.from] = (sum[t.from] or 0) - t.cents
    end
  end
  return sum
end

describe("a year of a journal", function()
  local w, all

  setup(function()
    w, all = world.new(), year()
    w:ship("ledger")
    w:policy([[
grants: [ { principal: "*", capabilities: ["ledger.*"] } ]
packs: { ledger: { bins: [./bin/ledger], sandbox: { limits: { timeout: 10m, cpu: 60s, memory: 1G } } } }
]])
    w:activate("ledger")
    assert.is_true(w:exec("ledger", "accounts").ok)
    world.write(w.state .. "/workspaces/default/-/ledger/main.journal", text_of(all), "666")
  end)
  teardown(function() w:close() end)

  local function run(verb, args)
    local envelope, _, err = w:exec("ledger", verb, args)
    assert.is_true(envelope.ok, (envelope.error or "") .. err)
    return envelope.result
  end

  local function balances(args)
    local found = {}
    for _, row in ipairs(run("balance", args).accounts) do
      assert.equal(1, #row.amounts, row.account)
      found[row.account] = row.amounts[1]
    end
    return found
  end

  local function expected(counts)
    local out = {}
    for account, cents in pairs(sums(all, counts)) do
      if cents ~= 0 then out[account] = money(cents) end
    end
    return out
  end

  it("has the balance of each account to the cent", function()
    assert.same(expected(function() return true end), balances())
    assert.same(expected(function(t) return t.date < "2023-07-01" end), balances { before = "2023-07-01" })
  end)

  it("tells the changes of a month, and reports it", function()
    local function in_march(t) return t.date >= "2023-03-01" and t.date < "2023-04-01" end
    assert.same(expected(in_march), balances { since = "2023-03-01", before = "2023-04-01" })
    local report, sum, postings, net = run("report month", { month = "2023-03" }), sums(all, in_march), 0, 0
    for _, t in ipairs(all) do if in_march(t) then postings = postings + 2 end end
    for _, row in ipairs(report.expenses.accounts) do assert.same({ money(sum[row.account]) }, row.amounts, row.account) end
    for account, cents in pairs(sum) do
      if account:match "^expenses" or account:match "^income" then net = net - cents end
    end
    assert.equal(5, #report.expenses.accounts)
    assert.same({ { account = "income:job", amounts = { money(-sum["income:job"]) } } }, report.income.accounts)
    assert.same({ money(net) }, report.net)
    assert.equal(postings, report.postings)
  end)

  it("runs through all postings of an account to its balance", function()
    local answer = run("register", { account = "assets:cash", limit = 25 })
    local count = 0
    for _, t in ipairs(all) do
      if t.from == "assets:cash" or t.to == "assets:cash" then count = count + 1 end
    end
    assert.equal(25, #answer.postings)
    assert.equal(count - 25, answer.omitted)
    assert.same({ money(sums(all, function() return true end)["assets:cash"]) }, answer.postings[25].balance)
  end)

  it("takes one more, and stays whole", function()
    local before = sums(all, function() return true end)["assets:cash"]
    run("transfer", { from = "assets:cash", to = "expenses:food", amount = "0.01", commodity = "EUR", date = "2023-12-31",
      confirm = true })
    assert.same(money(before - 1), balances()["assets:cash"])
    assert.equal(text_of(all), world.read(w.state .. "/workspaces/default/-/ledger/main.journal"):sub(1, #text_of(all)))
    assert.is_true(run("doctor").exists)
  end)
end)
