-- The documents say what the program does: their files load, their sessions give what they show, their links lead
-- somewhere. A fence "```yaml packs/x/pack.yaml" is that file of a root; a fence "```console" is a session in it.
local world = require "world"
local cjson = require "cjson"
local quote = world.quote

local function fences(path)
  local list, open = {}, nil
  for line in io.lines(path) do
    if open and line == "```" then
      open.text = table.concat(open, "\n") .. "\n"
      list[#list + 1], open = open, nil
    elseif open then
      open[#open + 1] = line
    elseif line:sub(1, 3) == "```" then
      local lang, name = line:match("^```(%S+) ?(.*)$")
      open = { lang = assert(lang, path .. ": a fence without a language"), name = name }
    end
  end
  assert(not open, path .. ": a fence that doesn't end")
  return list
end

local function put_files(w, list)
  local put = {}
  for _, f in ipairs(list) do
    if f.name:match("/") or f.name == "hcp.yaml" then
      assert(not put[f.name], f.name .. " stands twice")
      put[f.name] = true
      w:put(f.name, f.text, f.lang == "sh" and "755" or "644")
    end
  end
  -- who has no name on this machine may do what users may
  w:policy('grants: [ { principal: "uid:*", capabilities: ["*"] } ]\n')
  return put
end

local function copy(w, what)
  assert(os.execute(("umask 022; cp -R %s %s && chmod -R go-w %s"):format(what, quote(w.root), quote(w.root))))
end

-- What differs from run to run.
local function normal(text)
  return (text:gsub("%d%d%d%d%-%d%d%-%d%d", "<date>"):gsub("%f[%w][0-9A-HJKMNP-TV-Z]+%f[%W]", function(word)
    return #word == 26 and "<run>" or nil
  end))
end

local function commands(f)
  local list = {}
  for _, line in ipairs(f) do
    local command = line:match("^%$ (.*)")
    if command then
      list[#list + 1] = { command = command, shown = "" }
    else
      list[#list].shown = list[#list].shown .. line .. "\n"
    end
  end
  return list
end

local function run(w, command)
  local _, out, err = world.sh(("unset HCP_SESSION; export PATH=%s:\"$PATH\" HCP_ROOT=%s HCP_STATE=%s; %s"):format(
    quote(world.build), quote(w.root), quote(w.state), command))
  -- a build with sanitizers says so beside
  return out .. err:gsub("==%d+==WARNING: ASan doesn't fully support makecontext[^\n]*\n", "")
end

local function sessions(w, list)
  local count = 0
  for _, f in ipairs(list) do
    for _, c in ipairs(f.lang == "console" and commands(f) or {}) do
      assert.equal(normal(c.shown), normal(run(w, c.command)), c.command)
      count = count + 1
    end
  end
  return count
end

local function markdown()
  local list = {}
  for _, pattern in ipairs { "*.md", "docs/*.md", "packs/*/*.md" } do
    local _, out = world.sh("ls " .. pattern)
    for path in out:gmatch("[^\n]+") do list[#list + 1] = path end
  end
  return list
end

local function shipped_packs()
  local list, _, out = {}, world.sh("ls packs")
  for id in out:gmatch("[^\n]+") do list[#list + 1] = id end
  return list
end

describe("the documents", function()
  local w
  before_each(function() w = world.new() end)
  after_each(function() w:close() end)

  -- files that stand whole in a document, commands it shows, packs it makes
  local documents = {
    ["README.md"] = { files = 4, commands = 7, packs = { "hi" }, policies = true },
    ["docs/pack.md"] = { files = 5, commands = 7, packs = { "notes" } },
    ["docs/author.md"] = { files = 1, commands = 12, packs = { "todo" } },
    ["docs/operator.md"] = { files = 2, commands = 9 },
    ["docs/agents.md"] = { files = 0, commands = 6, policies = true },
    ["docs/policy.md"] = { files = 4, commands = 8 },
    ["docs/envelope.md"] = { files = 0, commands = 6, policies = true },
    ["docs/adapters.md"] = { files = 5, commands = 4, packs = { "facts" } },
    ["docs/lua.md"] = { files = 6, commands = 3, packs = { "pair" } },
    ["docs/sandbox.md"] = { files = 3, commands = 4, packs = { "look" } },
  }

  for path, expected in pairs(documents) do
    it(path .. " holds files that load and sessions that are so", function()
      local list, loaded, count = fences(path), {}, 0
      copy(w, expected.policies and "packs policies" or "packs")
      for _ in pairs(put_files(w, list)) do count = count + 1 end
      assert.equal(expected.files, count)
      assert.equal(expected.commands, sessions(w, list))
      local status, out, err = w:cli { "packs" }
      assert.equal(0, status, err)
      for _, pack in ipairs(cjson.decode(out).packs) do
        assert.is_nil(pack.error)
        loaded[#loaded + 1] = pack.pack_id
      end
      local shipped = shipped_packs()
      table.move(expected.packs or {}, 1, #(expected.packs or {}), #shipped + 1, shipped)
      table.sort(shipped)
      assert.same(shipped, loaded)
    end)
  end

  it("hold Lua that compiles, and yaml whose kind is told", function()
    local lua = 0
    for _, path in ipairs(markdown()) do
      for _, f in ipairs(fences(path)) do
        if f.lang == "lua" then
          assert(load(f.text, "=" .. path, "t"))
          lua = lua + 1
        end
        if f.name:match("%.ya?ml$") then assert.equal("hcp: 1", f[1], path) end
      end
    end
    assert.equal(12, lua)
  end)

  it("README.md shows what tools/demo runs", function()
    local demo, readme = {}, {}
    for line in io.lines("tools/demo") do
      local command = line:match("^hcp [^%(]*")
      if command then demo[#demo + 1] = command:gsub(" || true$", "") end
    end
    for _, f in ipairs(fences("README.md")) do
      for _, c in ipairs(f.lang == "console" and #readme == 0 and commands(f) or {}) do
        readme[#readme + 1] = c.command
      end
    end
    assert.equal(5, #demo)
    assert.same(demo, readme)
  end)

  it("README.md tells what that leaves in the log", function()
    copy(w, "packs policies")
    put_files(w, {})
    for _, c in ipairs(commands(fences("README.md")[1])) do run(w, c.command) end
    local kinds = {}
    for _, record in ipairs((w:audit())) do kinds[#kinds + 1] = record.kind end
    assert.same({ "genesis", "deny", "deny", "begin", "end", "begin", "end" }, kinds)
  end)

  -- How a program is run, by its name's end. What has sanitizers wants them in the program, too, or in front of it.
  local function started(name)
    local sanitizers = world.read(world.build .. "/CMakeCache.txt"):match("\nHCP_SANITIZE:[^=]*=(%S+)")
    local sanitize = sanitizers and "-fsanitize=" .. sanitizers or ""
    local library = ("-I%s/core/include -L%s -lhcp -Wl,-rpath,%s"):format(quote(world.source), quote(world.build), quote(world.build))
    local preload = sanitizers and "ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$(cc -print-file-name=libasan.so) " or ""
    local ways = {
      c = ("cc -std=gnu11 -Wall -Wextra -Werror %s %s %s -o program && ./program"):format(sanitize, name, library),
      cc = ("c++ -std=c++17 -Wall -Wextra -Werror %s %s %s -o program && ./program"):format(sanitize, name, library),
      lua = ("%sLUA_CPATH=%s/?.so lua5.4 %s"):format(preload, quote(world.build), name),
      py = ("%sLD_LIBRARY_PATH=%s python3 %s"):format(preload, quote(world.build), name),
    }
    return ways[name:match("%.(%w+)$")]
  end

  for page, programs in pairs { ["docs/embed.md"] = 2, ["docs/hosts.md"] = 4 } do
    it(page .. " has programs that do what they show", function()
      local name, count = nil, 0
      copy(w, "packs policies")
      put_files(w, {})
      for _, f in ipairs(fences(page)) do
        if f.lang == "output" then
          local status, out, err = world.sh(("cd %s && %s %s %s"):format(quote(w.dir), started(name), quote(w.root), quote(w.state)))
          assert.same({ 0, f.text }, { status, out }, name .. ": " .. err)
          count = count + 1
        elseif f.name ~= "" then
          name = f.name
          world.write(w.dir .. "/" .. name, f.text)
        end
      end
      assert.equal(programs, count)
    end)
  end

  it("link to files that are there", function()
    local links = 0
    for _, path in ipairs(markdown()) do
      local text, dir = world.read(path), path:match("^(.*/)") or ""
      for target in text:gmatch("%]%(([^)%s]+)%)") do
        if not target:match("^%a+:") and not target:match("^#") then
          local file = dir .. target:gsub("#.*$", "")
          local there = io.open(file)
          assert(there, path .. " links to " .. target)
          there:close()
          links = links + 1
        end
      end
    end
    assert.is_true(links >= 20)
  end)

  it("include manual pages without a warning", function()
    for _, page in ipairs { "man/hcp.1", "man/hcp-pack.5", "man/hcp-policy.5", "man/hcp.yaml.5", "man/libhcp.3" } do
      local status, out, err = world.sh("mandoc -Tlint -W warning " .. page)
      assert.same({ 0, "", "" }, { status, out, err })
    end
  end)

  it("name every key that the tables have", function()
    local tables = {
      ["core/pack/tables.c"] = { "docs/pack.md", "man/hcp-pack.5" },
      ["core/policy/tables.c"] = { "docs/policy.md", "man/hcp-policy.5" },
      ["core/root/settings.c"] = { "docs/policy.md", "man/hcp.yaml.5" },
    }
    for source, pages in pairs(tables) do
      local keys = 0
      for key in world.read(source):gmatch('ROW%([%w_]+, "([^"]+)"') do
        keys = keys + 1
        for _, page in ipairs(pages) do
          local text = world.read(page)
          local word = key:gsub("%p", "%%%0")
          local named = text:match("`" .. word .. "[`:]") or text:match("[{ ]" .. word .. ": ")
          if not page:match("%.md$") then named = text:match("\n%.%u%l[^\n]* " .. word .. "%f[^%w_]") end
          assert(named, page .. " doesn't name " .. key)
        end
      end
      assert.is_true(keys > 10)
    end
  end)
end)
