-- A throw-away root and state for a spec, and ways to run hcp in them.
--   local w = world.new()            a root with an empty policy
--   w:pack("demo", { ["pack.yaml"] = [[...]], ["bin/x"] = { "#!/bin/sh\n...", "755" } })
--   w:policy([[...]])                policies/spec.yaml, `hcp: 1` in front
--   w:exec("demo", "verb", { k = v })    one envelope by `exec -`: envelope, status, stderr
local cjson = require "cjson"

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
  local dir = path:match("^(.*)/[^/]*$")
  assert(os.execute("umask 022; mkdir -p " .. quote(dir)))
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
  assert(os.execute("chmod " .. (mode or "644") .. " " .. quote(path)))
end

-- What a sanitizer says of scripts' stacks, whatever happens on them.
world.noise = "==%d+==WARNING: ASan doesn't fully support makecontext[^\n]*\n"

-- Runs a shell command line; returns status, stdout, stderr. Signals give 128+n, as in a shell.
function world.sh(line, stdin)
  local base = os.tmpname()
  local out, err, inp = base .. ".out", base .. ".err", base .. ".in"
  world.write(inp, stdin or "")
  local _, how, code = os.execute(("(unset LD_PRELOAD ASAN_OPTIONS; %s) <%s >%s 2>%s"):format(line, quote(inp), quote(out), quote(err)))
  if how == "signal" then code = 128 + code end
  local o, e = world.read(out), world.read(err)
  e = e:gsub(world.noise, "")
  for _, p in ipairs { base, out, err, inp } do os.remove(p) end
  return code, o, e
end

function world.new()
  local p = assert(io.popen("mktemp -d"))
  local dir = p:read("l")
  p:close()
  local w = setmetatable({ dir = dir, root = dir .. "/root", state = dir .. "/state" }, world)
  assert(os.execute("umask 022; mkdir -p " .. quote(w.root .. "/packs") .. " " .. quote(w.root .. "/policies")))
  return w
end

function world:close()
  os.execute("chmod -R u+rwx " .. quote(self.dir) .. " 2>/dev/null; rm -rf " .. quote(self.dir))
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

function world:policy(text, name)
  self:put("policies/" .. (name or "spec") .. ".yaml", "hcp: 1\n" .. text)
end

-- A pack `probe` whose command `run` is the shell script that its argument says; `block`: of the operator's, behind
-- `bins`. In tier light a root runtime's program is another user, who passes through the world's folder.
function world:shell(block)
  os.execute("chmod 711 " .. quote(self.dir))
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
  local parts = { options.before or "", options.env and ("env " .. options.env) or "", quote(world.hcp),
    "--root", quote(self.root), "--state", quote(self.state) }
  for _, word in ipairs(words) do parts[#parts + 1] = quote(word) end
  return world.sh(table.concat(parts, " "), options.stdin)
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
