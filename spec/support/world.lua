-- A throw-away root and state for a spec, and ways to run hcp in them.
--   local w = world.new()            a root with an empty policy
--   w:pack("demo", { ["pack.yaml"] = [[...]], ["bin/x"] = { "#!/bin/sh\n...", "755" } })
--   w:policy([[...]])                policies/spec.yaml, `hcp: 1` in front
--   w:exec("demo", "verb", { k = v })    one envelope by `exec -`: envelope, status, stderr
local cjson = require "cjson"
local posix = require "spec_posix"

local world = {}
world.__index = world

local build = os.getenv("HCP_BUILD") or "build"
local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  local p = assert(io.popen("pwd"))
  local here = p:read("l")
  p:close()
  return here .. "/" .. path
end
world.build = absolute(build)
world.hcp = world.build .. "/hcp"
world.source = absolute(".")

function world.quote(s)
  return "'" .. tostring(s):gsub("'", [['\'']]) .. "'"
end
local quote = world.quote

function world.read(path)
  local f = io.open(path, "rb")
  if not f then return nil end
  local s = f:read("a")
  f:close()
  return s
end

function world.write(path, text, mode)
  posix.makedirs(path:match("^(.*)/[^/]*$"))
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
  posix.chmod(path, mode or "644")
end

-- Lua itself may need a sanitizer in front; what it starts does not.
posix.unsetenv("LD_PRELOAD")
posix.unsetenv("ASAN_OPTIONS")

-- What a sanitizer says of scripts' stacks, whatever happens on them.
world.noise = "==%d+==WARNING: ASan doesn't fully support makecontext[^\n]*\n"

-- Runs a program by its words; returns status, stdout, stderr. Signals give 128+n, as in a shell.
function world.run(words, stdin)
  local status, out, err = posix.run(words, stdin or "")
  return status, out, (err:gsub(world.noise, ""))
end

-- The same for a shell command line.
function world.sh(line, stdin)
  return world.run({ "/bin/sh", "-c", line }, stdin)
end

function world.new()
  local dir = posix.mkdtemp()
  local w = setmetatable({ dir = dir, root = dir .. "/root", state = dir .. "/state" }, world)
  posix.makedirs(w.root .. "/packs")
  posix.makedirs(w.root .. "/policies")
  return w
end

function world:close()
  if not posix.remove(self.dir) then
    os.execute("chmod -R u+rwx " .. quote(self.dir) .. " 2>/dev/null; rm -rf " .. quote(self.dir))
  end
end

function world:put(path, text, mode)
  world.write(self.root .. "/" .. path, text, mode)
end

function world:pack(id, files)
  for path, what in pairs(files) do
    local text, mode = what, nil
    if type(what) == "table" then text, mode = what[1], what[2] end
    self:put("packs/" .. id .. "/" .. path, text, mode)
  end
end

-- A pack of this repository. Whoever its program runs as passes through the world's folder.
function world:ship(id)
  posix.chmod(self.dir, "711")
  local copy = self.root .. "/packs/" .. id
  assert(os.execute(("umask 022; cp -R %s %s && chmod -R u+rwX,go-w %s"):format(quote(world.source .. "/packs/" .. id),
    quote(copy), quote(copy))))
end

function world:policy(text, name)
  self:put("policies/" .. (name or "spec") .. ".yaml", "hcp: 1\n" .. text)
end

-- A pack `probe` whose command `run` is the shell script that its argument says; `block`: of the operator's, behind
-- `bins`. In tier light a root runtime's program is another user, who passes through the world's folder.
function world:shell(block)
  posix.chmod(self.dir, "711")
  self:pack("probe", {
    ["pack.yaml"] = [[
hcp: 1
pack_id: probe
version: 1.0.0
summary: Runs a shell script of the spec's
wrap: { bin: ./bin/probe, json_flag: [], result: text, stdin: "{{script}}" }
commands:
  run: { summary: Runs it, cli: [probe], effect: read }
]],
    ["policy.yaml"] = "hcp: 1\npolicies: { run: {} }\n",
    ["bin/probe"] = { "#!/bin/sh\n. /dev/stdin\n", "755" },
  })
  self:policy('grants: [ { principal: "*", capabilities: ["probe.*"] } ]\n' ..
    "packs: { probe: { bins: [./bin/probe], " .. block .. " } }\n")
end

-- hcp with words; options: stdin, env ("A=b C=d"), before (shell text in front)
function world:cli(words, options)
  options = options or {}
  local argv = { world.hcp, "--root", self.root, "--state", self.state, table.unpack(words) }
  if not options.env and not options.before then return world.run(argv, options.stdin) end
  for i, word in ipairs(argv) do argv[i] = quote(word) end
  return world.sh(("%s %s %s"):format(options.before or "", options.env and ("env " .. options.env) or "",
    table.concat(argv, " ")), options.stdin)
end

function world:activate(...)
  local status, out, err = self:cli({ "activate", ... })
  assert(status == 0, err .. out)
end

function world:send(text, options)
  local status, out, err = self:cli({ "exec", "-" }, { stdin = text, env = options and options.env,
    before = options and options.before })
  local ok, envelope = pcall(cjson.decode, out)
  assert(ok, "stdout is no JSON: " .. out .. "\nstderr: " .. err)
  return envelope, status, err, out
end

-- args: a table, or JSON text
function world:exec(pack, verb, args, options)
  local text = type(args) == "string" and args or (args == nil or next(args) == nil) and "{}" or cjson.encode(args)
  return self:send(('{"pack_id":%s,"verb_key":%s,"args":%s}'):format(cjson.encode(pack), cjson.encode(verb), text),
    options)
end

function world:audit()
  local text = world.read(self.state .. "/audit/audit.jsonl") or ""
  local records = {}
  for line in text:gmatch("[^\n]+") do records[#records + 1] = cjson.decode(line) end
  return records, text
end

return world
