-- What is told of scripts is what they have: the annotations, the luacheck std and the document name what spec/globals
-- lists (and what that lists, spec/unit/test_script_globals.c finds in the states themselves).
local world = require "world"
local cjson = require "cjson"

local function listed(what)
  local names = {}
  for line in io.lines "spec/globals" do
    local name = line:match "^([%w_.]+) "
    if name and what(name) then names[name] = true end
  end
  assert(next(names))
  return names
end

local function is_global(name) return not name:match "^ctx%." and not name:match "^host%." end

describe("for authors", function()
  it("the luacheck std holds the globals and no more", function()
    local names = {}
    local function down(t, prefix)
      for name, value in pairs(t) do
        if value.fields then down(value.fields, prefix .. name .. ".") else names[prefix .. name] = true end
      end
    end
    down(dofile("lua/luacheck/hcp.lua").read_globals, "")
    assert.same(listed(is_global), names)
  end)

  it("luacheck finds what a script hasn't got, and nothing in a good one", function()
    local w = world.new()
    world.write(w.dir .. "/rc", 'stds.hcp = dofile "' .. world.source .. '/lua/luacheck/hcp.lua"\nstd = "hcp"\n')
    world.write(w.dir .. "/good.lua", "local t = {}\nfor _, v in ipairs(t) do hcp.log.info(cjson.encode(v)) end\n" ..
      "return function(args) return args and string.rep('x', 3) end\n")
    world.write(w.dir .. "/bad.lua", "os.getenv('X')\nio.write('x')\nsetmetatable({}, {})\nx = coroutine\n")
    local line = "luacheck --no-cache --no-color --codes --formatter plain --config %s/rc %s/%s.lua"
    local status, out = world.sh(line:format(w.dir, w.dir, "good"))
    assert.same({ 0, "" }, { status, out })
    status, out = world.sh(line:format(w.dir, w.dir, "bad"))
    assert.equal(1, status)
    local found = {}
    for what in out:gmatch "'([%w.]+)'" do found[#found + 1] = what end
    assert.same({ "getenv", "os", "io", "setmetatable", "x", "coroutine" }, found)
    w:close()
  end)

  it("the annotations name every function of hcp, cjson, ctx and host, and no more", function()
    local names = {}
    local tables = { ctx = "ctx", adapter_ctx = "ctx", host = "host", hcp = "hcp", ["hcp.log"] = "hcp.log", cjson = "cjson" }
    for _, path in ipairs { "lua/types/hcp.lua", "lua/types/cjson.lua" } do
      local text = assert(world.read(path))
      assert(load(text, "=" .. path, "t"))
      for table_name, name in text:gmatch "function ([%w_.]-)%.([%w_]+)%(" do
        names[assert(tables[table_name], table_name) .. "." .. name] = true
      end
    end
    for _, value in ipairs { "hcp.null", "hcp.version", "cjson.null", "cjson.empty_array", "host.config" } do
      names[value] = true
    end
    assert.same(listed(function(name)
      return name:match "^ctx%." or name:match "^host%." or name:match "^cjson%." or
        (name:match "^hcp%." and not name:match "^hcp%.json%.")
    end), names)
  end)

  it("docs/lua.md names what isn't Lua's own, and the rest by library", function()
    local text = assert(world.read "docs/lua.md")
    for name in pairs(listed(function(name) return not name:match "^[smtu]%w+%." and not name:match "^hcp%.json%." end)) do
      local short = name:match "^cjson%.(.*)" or name:match "^hcp%.log%.(.*)" or name:match "^ctx%.(.*)" or name:match "^os%.(.*)"
      local spelt = short or name
      if not text:find("%f[%w_]" .. spelt:gsub("%.", "%%.") .. "%f[^%w_]") then error(name .. " is missing") end
    end
  end)

  it("the templates are what editors and luacheck read", function()
    local text = world.read(world.build .. "/lua/luarc.json")
    local luarc = cjson.decode(text)
    assert.equal("Lua 5.4", luarc["runtime.version"])
    assert.matches("/hcp/lua/types$", luarc["workspace.library"][1])
    assert.matches('^stds%.hcp = dofile "/[^@]*/hcp/lua/luacheck/hcp%.lua"\n', world.read(world.build .. "/lua/luacheckrc"))
  end)
end)
