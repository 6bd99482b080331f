local hcp = require "hcp"
local git = require "lib.git"

return function(args, ctx)
  if args.to and not args.from then hcp.fail("to needs from") end
  if args.staged and args.to then hcp.fail("staged is the index against one commit: give from alone") end
  args.off = git.filters_off(ctx, args.repo)
  local patch = ctx.exec("raw diff", args)
  args.numbers = true
  return { files = git.numbers(ctx.exec("raw diff", args)), patch = patch }
end
