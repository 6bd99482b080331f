-- One month of the books. hledger does all the sums, so they are exact; here only signs are turned, since a journal
-- holds income as negative amounts.

local hcp = require "hcp"

local function period(month)
  local year, number = month:match("^(%d+)-(%d+)$")
  year, number = tonumber(year), tonumber(number)
  local next_year, next_number = year, number + 1
  if next_number > 12 then next_year, next_number = year + 1, 1 end
  return month .. "-01", ("%04d-%02d-01"):format(next_year, next_number)
end

local function negated(amounts)
  local out = hcp.array({})
  for i, amount in ipairs(amounts) do
    local text = amount.quantity
    if text:sub(1, 1) == "-" then
      text = text:sub(2)
    elseif text:find("[1-9]") then
      text = "-" .. text
    end
    out[i] = { quantity = text, commodity = amount.commodity, exact = amount.exact }
  end
  return out
end

local function turned(balance)
  local rows = hcp.array({})
  for i, row in ipairs(balance.accounts) do
    rows[i] = { account = row.account, amounts = negated(row.amounts) }
  end
  return { accounts = rows, total = negated(balance.total) }
end

-- The rows of `all` whose account is in none of the others: whatever is neither income nor expense, so that no
-- account is left out, of whatever name.
local function rest(all, ...)
  local known, rows = {}, hcp.array({})
  for _, balance in ipairs({ ... }) do
    for _, row in ipairs(balance.accounts) do known[row.account] = true end
  end
  for _, row in ipairs(all.accounts) do
    if not known[row.account] then rows[#rows + 1] = row end
  end
  return rows
end

return function(args, ctx)
  local since, before = period(args.month)
  local function balance(...)
    return { "balance", { type = select("#", ...) > 0 and { ... } or nil, since = since, before = before } }
  end

  local income, expenses, both, all, register = table.unpack(ctx.exec_all {
    balance("income"), balance("expense"), balance("income", "expense"), balance(),
    { "register", { since = since, before = before } },
  })
  return {
    month = args.month,
    income = turned(income),
    expenses = expenses,
    net = negated(both.total),
    changes = rest(all, income, expenses),
    postings = #register.postings,
  }
end
