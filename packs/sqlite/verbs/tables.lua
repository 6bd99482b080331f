local sql = require "lib.sql"

return function(args, ctx)
  return { tables = sql.objects(ctx, args.db, "name, type FROM sqlite_schema WHERE " .. sql.ours .. " ORDER BY name") }
end
