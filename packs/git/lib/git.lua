-- What the verbs share: git's answers are read field by field, as NUL bytes part them.
local hcp = require "hcp"

local git = {}

-- The pieces of `text` before each `mark`, one byte; what stands behind the last mark is left out.
function git.pieces(text, mark)
  local out, from = {}, 1
  while true do
    local at = text:find(mark, from, true)
    if not at then return out end
    out[#out + 1] = text:sub(from, at - 1)
    from = at + 1
  end
end

-- The repository's filters are programs that its configuration names: settings that take each of them out.
function git.filters_off(ctx, repo)
  local off, seen = hcp.array({}), {}
  for _, name in ipairs(git.pieces(ctx.exec("raw config", { repo = repo }), "\0")) do
    local filter = name:match("^(filter%..+)%.[^.]+$")
    if filter and not seen[filter] then
      if filter:find("[=\n]") then hcp.fail("a filter of the repository has a name that can't be taken out") end
      seen[filter] = true
      for _, key in ipairs({ ".clean=", ".smudge=", ".process=", ".required=false" }) do
        off[#off + 1] = filter .. key
      end
    end
  end
  return off
end

-- Commits of `raw log`.
function git.commits(text)
  local fields, commits = git.pieces(text, "\0"), hcp.array({})
  for i = 1, #fields - 5, 6 do
    local parents, message = hcp.array({}), fields[i + 5]:gsub("\n+$", "")
    for hash in fields[i + 1]:gmatch("%x+") do parents[#parents + 1] = hash end
    commits[#commits + 1] = {
      commit = fields[i], parents = parents, time = fields[i + 2],
      author = { name = fields[i + 3], email = fields[i + 4] },
      subject = message:match("^[^\n]*"), message = message,
    }
  end
  return commits
end

-- Lines that came and went, by file, from `--numstat -z`; a binary file has no numbers.
function git.numbers(text)
  local fields, files, i = git.pieces(text, "\0"), hcp.array({}), 1
  while fields[i] do
    local added, deleted, path = fields[i]:match("^(%S+)\t(%S+)\t(.*)$")
    local file = { added = tonumber(added), deleted = tonumber(deleted), binary = added == "-" }
    if path == "" then
      file.from, file.path = fields[i + 1], fields[i + 2]
      i = i + 2
    else
      file.path = path
    end
    files[#files + 1] = file
    i = i + 1
  end
  return files
end

return git
