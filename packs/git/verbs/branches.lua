local hcp = require "hcp"

local function short(ref)
  return (ref:gsub("^refs/heads/", ""):gsub("^refs/remotes/", ""))
end

return function(args, ctx)
  local branches = hcp.array({})
  for line in (ctx.exec("raw branches", args)):gmatch("([^\n]*)\n") do
    local ref, commit, upstream, head, time, subject =
      line:match("^([^\0]*)\0([^\0]*)\0([^\0]*)\0([^\0]*)\0([^\0]*)\0(.*)$")
    branches[#branches + 1] = {
      name = short(ref), remote = ref:sub(1, 13) == "refs/remotes/", commit = commit, current = head == "*",
      upstream = upstream ~= "" and short(upstream) or nil, time = time, subject = subject,
    }
  end
  return { branches = branches }
end
