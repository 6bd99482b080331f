local git = require "lib.git"

-- All that can refuse comes before the first change; the last is the commit itself, whole or not at all.
return function(args, ctx)
  ctx.exec("raw identity", { repo = args.repo, author_name = args.author_name, author_email = args.author_email })
  args.off = git.filters_off(ctx, args.repo)
  local new = git.pieces(ctx.exec("raw untracked", { repo = args.repo, paths = args.paths }), "\0")
  if #new > 0 then ctx.exec("raw know", { repo = args.repo, files = new }) end
  ctx.exec("raw commit", args)
  return git.commits(ctx.exec("raw log", { repo = args.repo, limit = 1 }))[1]
end
