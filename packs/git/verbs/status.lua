local hcp = require "hcp"
local git = require "lib.git"

local names = {
  ["."] = "unchanged", M = "modified", T = "type changed", A = "added", D = "deleted", R = "renamed", C = "copied",
  U = "unmerged",
}

-- porcelain v2: a letter for the kind, then as many fields as it has before the path.
local before = { ["1"] = 7, ["2"] = 8, u = 9 }

local function entry(line, following)
  local kind = line:sub(1, 1)
  if kind == "?" then return { path = line:sub(3), index = "untracked", worktree = "untracked" } end
  local at = 2
  for _ = 1, before[kind] do at = line:find(" ", at + 1, true) end
  local file = { path = line:sub(at + 1), index = names[line:sub(3, 3)], worktree = names[line:sub(4, 4)] }
  if kind == "u" then file.conflict = true end
  if kind == "2" then file.from = following end
  return file
end

return function(args, ctx)
  local out = { branch = hcp.null, commit = hcp.null, upstream = hcp.null, files = hcp.array({}) }
  local text = ctx.exec("raw status", { repo = args.repo, off = git.filters_off(ctx, args.repo) })
  local lines, i = git.pieces(text, "\0"), 1
  while lines[i] do
    local key, value = lines[i]:match("^# branch%.(%S+) (.*)$")
    if key == "head" and value ~= "(detached)" then out.branch = value end
    if key == "oid" and value ~= "(initial)" then out.commit = value end
    if key == "upstream" then out.upstream = value end
    if key == "ab" then
      out.ahead, out.behind = value:match("^%+(%d+) %-(%d+)$")
      out.ahead, out.behind = tonumber(out.ahead), tonumber(out.behind)
    end
    if not key then
      out.files[#out.files + 1] = entry(lines[i], lines[i + 1])
      if lines[i]:sub(1, 1) == "2" then i = i + 1 end
    end
    i = i + 1
  end
  out.clean = #out.files == 0
  return out
end
