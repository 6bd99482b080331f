-- docs/conformance.md against the tree: every row names tests, the tests are there, no row is lost or doubled.
local world = require "world"

local words = { "MUST", "MUST NOT", "SHOULD", "MAY", "rule", "beyond" }

local function cells(line)
  local out = {}
  for cell in line:sub(2):gmatch("([^|]*)|") do out[#out + 1] = cell:match("^%s*(.-)%s*$") end
  return out
end

-- The rows of both tables, each with its table's heading.
local function rows_of(text)
  local rows, heading = {}, nil
  for line in text:gmatch("[^\n]+") do
    heading = line:match("^## (.+)$") or heading
    if heading and line:sub(1, 1) == "|" and not line:match("^|%-") and not line:match("^| id |") then
      local c = cells(line)
      rows[#rows + 1] = { heading = heading, id = c[1], word = c[2], what = c[3], tests = c[4], cells = #c }
    end
  end
  return rows
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

local function escape(s)
  return (s:gsub("%W", "%%%0"))
end

-- nil where the reference leads to one test, else why not
local function missing(reference)
  local path, name = reference:match('^(spec/[%w_/]+_spec%.lua): "(.+)"$')
  local c_path, c_name = reference:match("^(spec/unit/test_[%w_]+%.c): ([%w_]+)$")
  if not path and not c_path then return "is no reference to a test" end
  local text = world.read(path or c_path)
  if not text then return "names a file that isn't there" end
  text = "\n" .. text
  if path then
    local n = count(text, "\n%s*it%(\"" .. escape((name:gsub('"', '\\"'))) .. "\", function")
    return n ~= 1 and ("names a test that is there %d times"):format(n) or nil
  end
  if count(text, "\nstatic void " .. c_name .. "%(void %*%*") ~= 1 then return "names a function that isn't there" end
  -- defined and in the list of what is run
  return count(text, "%f[%w_]" .. c_name .. "%f[^%w_]") < 2 and "names a test that nothing runs" or nil
end

local function check_row(row, seen, faults)
  local function fault(why) faults[#faults + 1] = ("%s: %s"):format(row.id, why) end
  if row.cells ~= 4 or row.what == "" then fault("a row has four cells") end
  if seen[row.id] then fault("stands twice") end
  seen[row.id] = true
  local rest = (row.tests or ""):gsub("`([^`]*)`", function(reference)
    local why = missing(reference)
    if why then fault(reference .. " " .. why) end
    return "T"
  end)
  if not rest:match("^T[T, ]*$") then fault("names no test") end
end

local function word_of(row)
  if row.heading == "Required" then return row.word end
  return (row.word == "extension" or row.word == "decision") and "beyond" or row.word
end

local function check(text)
  local faults, seen, counts = {}, {}, {}
  for _, row in ipairs(rows_of(text)) do
    check_row(row, seen, faults)
    counts[word_of(row)] = (counts[word_of(row)] or 0) + 1
  end
  local head = text:match("\nRows: ([^\n]*)%.\n") or ""
  local said = {}
  for word, n in head:gmatch("(%a[%a ]-) (%d+)") do said[word] = tonumber(n) end
  for _, word in ipairs(words) do
    if said[word] ~= counts[word] then
      faults[#faults + 1] = ("%s: %s rows, the head says %s"):format(word, counts[word], said[word])
    end
    counts[word] = nil
  end
  for word in pairs(counts) do faults[#faults + 1] = word .. ": is no word of the second column" end
  return faults
end

describe("docs/conformance.md", function()
  local text = assert(world.read("docs/conformance.md"))

  it("names a test that is there for every requirement and decision", function()
    assert.same({}, check(text))
  end)

  it("has a row for every section of the specification", function()
    local sections = {}
    for _, row in ipairs(rows_of(text)) do
      local section = row.heading == "Required" and row.id:match("^6%.%d")
      if section then sections[section] = true end
    end
    for i = 1, 7 do assert.is_true(sections["6." .. i], "6." .. i) end
  end)

  it("would not pass with a row lost, doubled, without a test, or with one that isn't there", function()
    local row = assert(text:match("\n(| 6%.1%-2 |[^\n]*)\n"))
    local function changed(to)
      local at, last = text:find(row, 1, true)
      return check(text:sub(1, at - 1) .. to .. text:sub(last + 1))
    end
    local function with(test)
      return changed("| 6.1-2 | MUST | x | " .. test .. " |")
    end
    assert.same({ "MUST: 17 rows, the head says 18" }, changed("x"))
    assert.same({ "6.1-2: stands twice", "MUST: 19 rows, the head says 18" }, changed(row .. "\n" .. row))
    assert.same({ "6.1-2: names no test" }, with(""))
    assert.same({ "6.1-2: names no test" }, with("later"))
    assert.same({ "6.1-2: spec/no_spec.lua is no reference to a test" }, with("`spec/no_spec.lua`"))
    assert.same({ '6.1-2: spec/no_spec.lua: "x" names a file that isn\'t there' }, with('`spec/no_spec.lua: "x"`'))
    assert.same({ '6.1-2: spec/conformance_spec.lua: "x" names a test that is there 0 times' },
      with('`spec/conformance_spec.lua: "x"`'))
    assert.same({ "6.1-2: spec/unit/test_root.c: nothing names a function that isn't there" },
      with("`spec/unit/test_root.c: nothing`"))
    assert.same({ "SHALL: is no word of the second column" }, { changed((row:gsub("MUST", "SHALL")))[2] })
  end)
end)
