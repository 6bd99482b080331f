-- Text to SQL and back. sqlite3 prints rows as SQL literals, the one of its forms that keeps every value apart: its
-- JSON has blobs that are no UTF-8 and numbers of twenty digits.
local hcp = require "hcp"

local sql = {}

-- A row of sqlite_schema that is the author's table or view.
sql.ours = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"

function sql.quote(text)
  return "'" .. text:gsub("'", "''") .. "'"
end

-- What SQL is made of, longest first: comments, texts and names in quotes, words, single characters.
local tokens = {
  "^%s+", "^%-%-[^\n]*", "^/%*.-%*/", "^/%*.*$", "^'[^']*'", '^"[^"]*"', "^`[^`]*`", "^%[[^%]]*%]",
  "^[%w_\128-\255]+", "^.",
}

local function token_at(text, at)
  for _, pattern in ipairs(tokens) do
    local found = text:match(pattern, at)
    if found then return found end
  end
end

-- The statements of `text`, each as the list of its words in capitals. A trigger holds statements of its own, up to
-- END. Parentheses that don't match, or a quote that isn't closed, are an error: nothing may reach beyond its place.
function sql.statements(text)
  local list, words, depth, at = {}, {}, 0, 1
  local function close()
    if depth ~= 0 then hcp.fail("sql: parentheses don't match") end
    if words[1] then list[#list + 1] = words end
    words = {}
  end
  while at <= #text do
    local token = token_at(text, at)
    at = at + #token
    if token:find("^['\"`]$") or token:find("^/%*") and not token:find("%*/$") then
      hcp.fail("sql: a quote or comment isn't closed")
    end
    if token == "(" then depth = depth + 1 end
    if token == ")" then depth = depth - 1 end
    if depth < 0 then hcp.fail("sql: parentheses don't match") end
    if token == ";" and not (words.trigger and words.open > 0) then
      close()
    elseif not token:find("^%s") and token:sub(1, 2) ~= "--" and token:sub(1, 2) ~= "/*" then
      local word = token:upper()
      words[#words + 1] = word
      if #words < 4 and words[1] == "CREATE" and word == "TRIGGER" then words.trigger, words.open = true, 1 end
      if words.trigger then words.open = words.open + (word == "CASE" and 1 or word == "END" and -1 or 0) end
    end
  end
  close()
  return list
end

local function text_at(text, at)
  local parts, from = {}, at + 1
  while true do
    local quote = text:find("'", from, true)
    if not quote then hcp.fail("sqlite3's answer is not understood") end
    parts[#parts + 1] = text:sub(from, quote - 1)
    if text:sub(quote + 1, quote + 1) ~= "'" then return table.concat(parts, "'"), quote + 1 end
    from = quote + 2
  end
end

local words = { NULL = hcp.null, Inf = "Infinity", ["-Inf"] = "-Infinity" }

-- The literal at `at`, and where it ends.
local function literal(text, at)
  local first = text:sub(at, at)
  if first == "'" then return text_at(text, at) end
  local stop = text:find("[,\n]", at) or #text + 1
  local word = text:sub(at, stop - 1)
  if first == "X" then return { blob = word:sub(3, -2) }, stop end
  local value = words[word]
  if value == nil then value = tonumber(word) end
  if value == nil then hcp.fail("sqlite3's answer is not understood") end
  return value, stop
end

-- Names of the columns, and a list of values for each row. Without rows sqlite3 tells no columns.
function sql.rows(text)
  local lines, row, at = hcp.array({}), hcp.array({}), 1
  while at <= #text do
    row[#row + 1], at = literal(text, at)
    if text:sub(at, at) ~= "," then
      lines[#lines + 1], row = row, hcp.array({})
    end
    at = at + 1
  end
  local columns = hcp.array({})
  if lines[1] then columns = table.remove(lines, 1) end
  return columns, lines
end

-- The rows of a query of ours, each by its columns' names.
function sql.objects(ctx, db, query)
  local columns, rows = sql.rows(ctx.exec("raw read", { db = db, sql = query }))
  local out = hcp.array({})
  for i, row in ipairs(rows) do
    out[i] = {}
    for j, name in ipairs(columns) do out[i][name] = row[j] end
  end
  return out
end

return sql
