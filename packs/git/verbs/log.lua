local git = require "lib.git"

return function(args, ctx)
  local limit = args.limit
  args.limit = limit + 1 -- one more tells whether there are more
  local commits = git.commits(ctx.exec("raw log", args))
  local more = #commits > limit
  if more then commits[#commits] = nil end
  return { commits = commits, more = more }
end
