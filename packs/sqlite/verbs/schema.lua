local hcp = require "hcp"
local sql = require "lib.sql"

-- What `query` tells of all tables at once, by table: each row names its own as `of`.
local function by_table(ctx, args, tables, query)
  local out = {}
  for _, t in ipairs(tables) do out[t.name] = hcp.array({}) end
  for _, row in ipairs(sql.objects(ctx, args.db, "s.name AS of, " .. query)) do
    local list = out[row.of]
    row.of = nil
    list[#list + 1] = row
  end
  return out
end

local columns = [[c.name, c.type, c."notnull" AS required, c.dflt_value AS "default", c.pk AS key
  FROM (%s) AS s, pragma_table_info(s.name) AS c ORDER BY s.name, c.cid]]
local indexes = [[i.name, i."unique" AS "unique",
    (SELECT group_concat(coalesce(x.name, '(expression)'), ', ') FROM pragma_index_info(i.name) AS x) AS columns
  FROM (%s) AS s, pragma_index_list(s.name) AS i ORDER BY s.name, i.name]]
local keys = [[k."from" AS "column", k."table" AS "table", k."to" AS "to"
  FROM (%s) AS s, pragma_foreign_key_list(s.name) AS k ORDER BY s.name, k.id, k.seq]]

return function(args, ctx)
  local which = "SELECT * FROM sqlite_schema WHERE " .. sql.ours
  if args.table then which = which .. " AND name = " .. sql.quote(args.table) .. " COLLATE NOCASE" end
  local tables = sql.objects(ctx, args.db, "name, type, sql FROM (" .. which .. ") ORDER BY name")
  if args.table and #tables == 0 then hcp.fail("no table " .. args.table) end

  local function ask(query)
    local before, after = query:match("^(.*)%%s(.*)$")
    return by_table(ctx, args, tables, before .. which .. after)
  end
  local c, i, k = ask(columns), ask(indexes), ask(keys)
  for _, t in ipairs(tables) do
    t.columns, t.indexes, t.foreign_keys = c[t.name], i[t.name], k[t.name]
    for _, column in ipairs(t.columns) do column.required, column.key = column.required == 1, column.key > 0 end
    for _, index in ipairs(t.indexes) do index.unique = index.unique == 1 end
  end
  return { tables = tables }
end
