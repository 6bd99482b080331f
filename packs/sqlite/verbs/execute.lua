local hcp = require "hcp"
local sql = require "lib.sql"

-- These would end the transaction or can't run in one.
local never = {
  BEGIN = true, COMMIT = true, END = true, ROLLBACK = true, SAVEPOINT = true, RELEASE = true, VACUUM = true,
  ATTACH = true, DETACH = true, PRAGMA = true,
}

-- The last line tells that the end was reached; what the caller's statements print stands before it.
return function(args, ctx)
  for _, words in ipairs(sql.statements(args.sql)) do
    if never[words[1]] then hcp.fail("sql: " .. words[1] .. " can't stand here: all runs in one transaction") end
  end
  local text = ctx.exec("raw write", { db = args.db, sql = args.sql .. "\n; COMMIT; SELECT total_changes()" })
  local changes = math.tointeger(tonumber(text:match("([^\n]*)\n$")))
  if not changes then hcp.fail("sqlite3's answer is not understood") end
  return { changes = changes }
end
