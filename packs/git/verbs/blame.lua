local hcp = require "hcp"

return function(args, ctx)
  args.to = args.to or args.from + 199
  if args.to < args.from then hcp.fail("to is before from") end
  local lines, line = hcp.array({}), nil
  for text in (ctx.exec("raw blame", args)):gmatch("([^\n]*)\n") do
    local commit, number = text:match("^(%x+) %d+ (%d+)")
    if line and text:sub(1, 1) == "\t" then
      line.text = text:sub(2)
      lines[#lines + 1], line = line, nil
    elseif line then
      local key, value = text:match("^(%S+) (.*)$")
      if key == "author" then line.author = value end
      if key == "author-time" then line.time = os.date("!%Y-%m-%dT%H:%M:%SZ", tonumber(value)) end
      if key == "summary" then line.subject = value end
    elseif commit then
      line = { line = tonumber(number), commit = commit }
    end
  end
  return { path = args.path, lines = lines }
end
