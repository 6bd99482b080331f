local hcp = require "hcp"
local sql = require "lib.sql"

local begins = { SELECT = true, VALUES = true, WITH = true }

-- The caller's statement stands in parentheses, with a line end that closes a comment in it.
return function(args, ctx)
  local statements = sql.statements(args.sql)
  if #statements ~= 1 or not begins[statements[1][1]] then
    hcp.fail("sql: one SELECT, VALUES or WITH … SELECT is needed")
  end
  local columns, rows = sql.rows(ctx.exec("raw read", {
    db = args.db,
    sql = ("* FROM (%s\n) LIMIT %d OFFSET %d"):format((args.sql:gsub("[%s;]+$", "")), args.limit + 1, args.offset),
  }))
  local more = #rows > args.limit
  if more then rows[#rows] = nil end
  return { columns = columns, rows = rows, more = more }
end
