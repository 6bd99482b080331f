-- For the specs of a pack, which `hcp pack test` runs: local test = require "hcp.test".
-- Every run is one of the real program, in a root that holds this pack alone, with mock Bindings unless it says
-- otherwise.
local cjson = require "cjson"

local test = {}

local function variable(name)
  return os.getenv(name) or error("hcp.test works under `hcp pack test`: $" .. name .. " isn't set")
end
local dir, root, program = variable "HCP_TEST_DIR", variable "HCP_ROOT", variable "HCP_TEST_PROGRAM"

test.pack = variable "HCP_TEST_PACK"

local function quote(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

local function write(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
end

local function read(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read "a"
  f:close()
  return text
end

-- hcp with words: exit status, stdout, stderr.
function test.hcp(words, stdin)
  local line = { quote(program) }
  for i, word in ipairs(words) do line[i + 1] = quote(word) end
  write(dir .. "/in", stdin or "")
  local _, _, status = os.execute(("%s <%s >%s 2>%s"):format(table.concat(line, " "), quote(dir .. "/in"),
    quote(dir .. "/out"), quote(dir .. "/err")))
  return status, read(dir .. "/out"), read(dir .. "/err")
end

-- The result envelope of a run. options: `confirm = true`; `mode = "real"` asks the mint hook; `pack`, another one.
function test.try(verb, args, options)
  options = options or {}
  local all = { confirm = options.confirm, mode = options.mode ~= "real" and "mock" or nil }
  for name, value in pairs(args or {}) do all[name] = value end
  local text = cjson.encode { pack_id = options.pack or test.pack, verb_key = verb, args = all }
  local _, out, err = test.hcp({ "exec", "-" }, text)
  local ok, answer = pcall(cjson.decode, out)
  if not ok then error("no envelope: " .. out .. err, 2) end
  return answer
end

-- Its result; the error is raised.
function test.exec(verb, args, options)
  local answer = test.try(verb, args, options)
  if not answer.ok then error(verb .. ": " .. answer.error .. (answer.stderr and "\n" .. answer.stderr or ""), 2) end
  return answer.result
end

-- A file of the throw-away root: test.put("policies/more.yaml", text), test.put("secrets/key", text, "600").
function test.put(path, text, mode)
  local folder = root .. "/" .. (path:match "^(.*)/[^/]*$" or "")
  os.execute(("mkdir -p -m %s %s"):format(path:match "^secrets/" and "700" or "755", quote(folder)))
  write(root .. "/" .. path, text)
  os.execute(("chmod %s %s"):format(mode or "644", quote(root .. "/" .. path)))
end

local stubs = {}

local template = read((debug.getinfo(1, "S").source:sub(2):gsub("test%.lua$", "stubbing.lua")))

local function write_stubs()
  local lines = { "local stubs = {" }
  for verb, source in pairs(stubs) do
    lines[#lines + 1] = ("[%q] = (function() %s\nend)(),"):format(verb, source)
  end
  lines[#lines + 1] = "}"
  test.put("adapters/composite.lua", table.concat(lines, "\n") .. "\n" .. template)
end

-- From now on a script that asks for `verb`, or for "other.verb" of another pack, gets this answer, and nothing runs.
function test.stub(verb, answer)
  stubs[verb] = ("local a = cjson.decode(%q)\nreturn function() return a end"):format(cjson.encode(answer))
  write_stubs()
end

-- The same with Lua text: `return function(args) ... end`, run as scripts are. hcp.fail makes the call fail.
function test.stub_script(verb, source)
  stubs[verb] = source
  write_stubs()
end

-- Forgets stubs and what commands kept in workspaces: before_each(test.reset).
function test.reset()
  stubs = {}
  os.execute("rm -rf " .. quote(root .. "/adapters") .. " " .. quote(variable "HCP_STATE" .. "/workspaces"))
end

return test
