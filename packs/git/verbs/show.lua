local hcp = require "hcp"
local git = require "lib.git"

return function(args, ctx)
  local commit = git.commits(ctx.exec("raw log", { repo = args.repo, ref = args.ref, limit = 1 }))[1]
  if not commit then hcp.fail("no commit " .. args.ref) end
  local asked = { repo = args.repo, ref = commit.commit, path = args.path }
  if args.path then
    return { commit = commit.commit, path = args.path, content = ctx.exec("raw file", asked) }
  end
  commit.patch = ctx.exec("raw patch", asked)
  return commit
end
