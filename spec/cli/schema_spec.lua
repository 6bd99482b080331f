-- hcp schema: what editors judge YAML files by says what the loader says. A file that holds every key is taken by both; one
-- value of it at a time is made to be of another kind, or gets a key that there isn't, and both refuse it.
local world = require "world"
local cjson = require "cjson"
local formats = { pack = "pack.yaml", ["pack-policy"] = "policy.yaml", policy = "policies/x.yaml", settings = "hcp.yaml" }

-- What may hold anything: no key in it is unknown, and what is in it is judged for what it means, if at all.
local free = { with = true, default = true, const = true, enum = true, examples = true, url = true }
-- Refused by the loader alone: one more mapping beside a kind that isn't wrap must have the kind's name; nobody is called
-- "zz zz".
local meant = {
  ['pack /commands/two/zz := [{"zz":1.5}]'] = true, ['pack /commands/three/zz := [{"zz":1.5}]'] = true,
  ['policy /packs/p/sandbox/user := ["zz zz"]'] = true,
}
-- What can't be left out.
local required = {
  pack = "/commands /commands/one/cli/3/then /commands/one/summary /commands/three/kind /commands/three/summary " ..
    "/commands/two/summary /hcp /mint/env /mint/hook /mint/ttl /pack_id /summary /version /wrap/argv_template/2/then",
  ["pack-policy"] = "/hcp /policies",
  policy = "/auth/1/provider /hcp /packs/p/bins/2/path /packs/p/sandbox/network/connect /packs/p/workspaces/w/path",
  settings = "/hcp /sessions/main/packs",
}

local whole = {
  pack = {
    hcp = 1, pack_id = "p", version = "1.0.0", summary = "A pack", bin = "p", requires = { "sh" }, kind = "wrap",
    wrap = {
      bin = "./bin/p", argv_template = { "{{verb}}", { when = "n", ["then"] = { "-n" } } }, workspace = { mode = "workspace", name = "w" },
      agent_env = { A = "b" }, home_env = "HOME", file_flags = { "--file" }, json_flag = { "--json" }, stdin = "none",
      result = "auto", deny_prefix = { "-" }, files = { "n" },
    },
    uses = { "q.verb" }, mint = { hook = "verbs/two.lua", ttl = "5m", env = { "TOKEN" }, deliver = "file" },
    ["$defs"] = { day = { type = "string" } },
    commands = {
      one = {
        summary = "One", description = "More", kind = "wrap", wrap = { result = "text" },
        cli = { "p", "one", { each = "n", ["then"] = { "{{n}}" } } },
        args = {
          type = "object", title = "T", description = "D", required = { "s" }, additionalProperties = false,
          properties = {
            n = { type = { "array" }, items = { type = "string" }, minItems = 1, maxItems = 3, uniqueItems = true },
            s = { type = "string", minLength = 1, maxLength = 5, pattern = "^a", default = "a", format = "x", writeOnly = true },
            i = { minimum = 1, maximum = 9, exclusiveMinimum = 0, exclusiveMaximum = 10, multipleOf = 1, enum = { 1, 2 }, const = 1,
              examples = { 1 } },
            d = { ["$ref"] = "#/$defs/day" },
            o = { type = "object", additionalProperties = { type = "string" } },
          },
        },
        output = { type = "object" }, effect = "read", lock = "none", timeout = "10s", internal = false, health = false,
        bootstrap = false, examples = { { s = "ab" } },
      },
      two = { summary = "Two", kind = "composite", script = "verbs/two.lua" },
      three = { summary = "Three", kind = "http", http = { url = { path = 1 } } },
    },
  },
  ["pack-policy"] = { hcp = 1, policies = { one = { capability = { "p.one" }, confirm = true, privacy = { land = "brain" } } } },
  policy = {
    hcp = 1,
    auth = { { when = { token = true, face = "cli" }, provider = "os_user", hosts = { "a:1" }, secrets = { "s" }, with = { a = 1 } } },
    principals = { ["user:x"] = { tenants = { "t" }, tenant = "t", projects = { "p" }, roles = { "r" } } },
    roles = { r = { "p.*" } },
    grants = { { principal = "user:*", capabilities = { "p.*" }, roles = { "r" }, tenants = { "t" } },
      { role = "r", capabilities = { "x" } } },
    signers = { us = ("0"):rep(64) },
    packs = {
      p = {
        digest = "sha256:" .. ("0"):rep(64), bootstrap = false, bins = { "./bin/p", { path = "/bin/sh", sha256 = ("0"):rep(64) } },
        exec = { "sh" },
        sandbox = {
          mode = "sandbox", tier = "strong", network = { connect = { 443 } }, read = { "/opt" }, write = cjson.empty_array, user = 7,
          limits = { timeout = "5s", cpu = "5s", memory = "1G", output = "8M", file = 4096, processes = 4, open_files = 16,
            workspace = "1G" },
        },
        workspaces = { w = { path = "/srv", write = true } },
        mint = { hosts = { "a:1" }, secrets = { "s" }, with = { a = 1 } }, http = { hosts = { "a:1" } },
        commands = { one = { confirm = "person", guard = "g", capability = "x", privacy = { land = "brain" }, limits = { timeout = "1s" },
          deny = "no" } },
      },
    },
  },
  settings = {
    hcp = 1, packs = { "packs" }, state = "state", tenant = "t", project_id = "p", sessions = { main = { packs = { "p" } } },
    audit = { path = "log", sync = "os", args = "none", rotate = { size = "1M", age = "1h" }, keep = 3, syslog = "/dev/log" },
    lua = { memory = "64M", instructions = "1M", timeout = "5s" }, lock = false, activate = "invoker", cgroup = "/sys/fs/cgroup/x",
    ca = "ca.pem",
  },
}

-- Each place in a document: what holds it, and its key.
local function places(value, path, list)
  local mapping = false
  for key, inner in pairs(value) do
    mapping = mapping or type(key) == "string"
    if not free[key] then
      list[#list + 1] = { holder = value, key = key, path = path .. "/" .. key }
      if type(inner) == "table" then places(inner, path .. "/" .. key, list) end
    end
  end
  if mapping then list[#list + 1] = { holder = value, key = "zz", path = path .. "/zz" } end
  return list
end

local function encode(document) return (cjson.encode(document):gsub("\\/", "/")) end

-- What isn't of the kind of a value.
local function others(value)
  if type(value) == "table" then return { 7.5, "zz zz", cjson.null } end
  return { { zz = 1.5 }, { { 1.5 } }, type(value) == "string" and 7.5 or "zz zz" }
end

-- The document with one place changed at a time: f(text, what).
local function each_change(format, f)
  local document = whole[format]
  for _, at in ipairs(places(document, "", {})) do
    local before = at.holder[at.key]
    for _, value in ipairs(before == nil and { 7.5, { zz = 1.5 } } or others(before)) do
      at.holder[at.key] = value
      f(encode(document), ("%s %s := %s"):format(format, at.path, encode { value }))
    end
    if type(at.key) == "string" and before ~= nil then
      at.holder[at.key] = nil
      f(encode(document), ("%s %s removed"):format(format, at.path))
    end
    at.holder[at.key] = before
  end
end

local function judge(files)
  local status, out, err = world.sh("node spec/npm/schema.mjs", cjson.encode(files))
  assert.equal(0, status, err)
  return cjson.decode(out)
end

local function schema(format) return world.build .. "/schema/" .. format .. ".json" end

describe("hcp schema", function()
  local w
  before_each(function() w = world.new() end)
  after_each(function() w:close() end)

  it("is what was built, and knows four formats", function()
    for format in pairs(formats) do
      local status, out, err = world.run { world.hcp, "schema", format }
      assert.same({ 0, world.read(schema(format)), "" }, { status, out, err })
    end
    for _, words in ipairs { {}, { "nope" }, { "pack", "policy" } } do
      assert.equal(2, (world.run { world.hcp, "schema", table.unpack(words) }))
    end
  end)

  it("takes what ships", function()
    local files = { [schema "pack"] = {}, [schema "pack-policy"] = {}, [schema "policy"] = {} }
    for pattern, format in pairs { ["packs/*/pack.yaml"] = "pack", ["packs/*/policy.yaml"] = "pack-policy",
      ["policies/*.yaml"] = "policy" } do
      local _, out = world.sh("ls " .. pattern)
      for path in out:gmatch("[^\n]+") do table.insert(files[schema(format)], path) end
    end
    local count = 0
    for path, why in pairs(judge(files)) do
      assert.equal("", why, path)
      count = count + 1
    end
    assert.is_true(count >= 9)
  end)

  -- Keys in the C tables, and in the properties of a schema with all that lies beneath.
  local function table_keys(...)
    local keys = {}
    for _, path in ipairs { ... } do
      local text = world.read(path)
      for key in text:gmatch('ROW%(%s*[%w_]*,?%s*"([^"]+)"') do keys[key] = true end
      for key in text:gmatch('%.key = "([^"]+)"') do keys[key] = true end
    end
    return keys
  end
  local function properties(value, keys)
    for key, inner in pairs(value) do
      if key == "properties" and type(inner) == "table" then
        for name in pairs(inner) do keys[name] = true end
      end
      if type(inner) == "table" then properties(inner, keys) end
    end
    return keys
  end
  local function keys_of(value, keys)
    for key, inner in pairs(value) do
      if type(key) == "string" then keys[key] = true end
      if type(inner) == "table" then keys_of(inner, keys) end
    end
    return keys
  end

  it("holds every key of the loader's tables and no other, and so does what is changed here", function()
    local sources = {
      pack = { "core/pack/tables.c", "core/pack/schema.c", "core/argv/compile.c" },
      policy = { "core/policy/tables.c" }, settings = { "core/root/settings.c" },
    }
    for format, paths in pairs(sources) do
      local held = properties(cjson.decode(world.read(schema(format))), {})
      if format == "pack" then properties(cjson.decode(world.read(schema "pack-policy")), held) end
      local used = keys_of(whole[format], format == "pack" and keys_of(whole["pack-policy"], {}) or {})
      local rows = table_keys(table.unpack(paths))
      for key in pairs(held) do
        assert.is_true(rows[key] or key == "connect", format .. " has a key of no row: " .. key)
        assert.is_true(used[key] or key == "because", format .. ": no change of " .. key)
      end
      for key in pairs(rows) do assert.is_true(held[key], format .. " lacks " .. key) end
    end
  end)

  -- Both or neither; all that differs at once. What is left out the loader may miss for what else the file says.
  local function compare(changes, refused)
    local differ, files, needed, broken, formats_seen = {}, {}, {}, 0, 0
    for path, change in pairs(changes) do
      files[change.schema] = files[change.schema] or {}
      table.insert(files[change.schema], path)
    end
    for path, why in pairs(judge(files)) do
      local what, fault = changes[path].what, refused[path]
      local format, removed = what:match("^(%S+) (%S+) removed$")
      if removed and why ~= "" then
        needed[format] = needed[format] or {}
        table.insert(needed[format], removed)
      end
      if (why == "") ~= (fault == nil) and not meant[what] and not (removed and why == "") then
        differ[#differ + 1] = ("%s: schema: %s; loader: %s"):format(what, why, fault or "")
      end
      broken = broken + (fault and 1 or 0)
    end
    table.sort(differ)
    assert.same({}, differ)
    for format, list in pairs(needed) do
      table.sort(list)
      assert.equal(required[format], table.concat(list, " "))
      formats_seen = formats_seen + 1
    end
    assert.equal(2, formats_seen)
    return broken
  end

  it("refuses for packs what the loader refuses, and nothing else", function()
    local changes, refused, n = {}, {}, 0
    local function put(format, text, what)
      n = n + 1
      local id = "m" .. n
      text = text:gsub('"pack_id":"p"', '"pack_id":"' .. id .. '"')
      local manifest = format == "pack" and text or encode(whole.pack):gsub('"pack_id":"p"', '"pack_id":"' .. id .. '"')
      w:pack(id, { ["pack.yaml"] = manifest, ["verbs/two.lua"] = "return 1\n",
        ["policy.yaml"] = format == "pack-policy" and text or nil })
      changes[("%s/packs/%s/%s"):format(w.root, id, formats[format])] = { what = what, schema = schema(format) }
    end
    for _, format in ipairs { "pack", "pack-policy" } do
      put(format, encode(whole[format]), format .. " whole")
      each_change(format, function(text, what) put(format, text, what) end)
    end
    local _, out = w:cli { "policy", "lint" }
    for _, problem in ipairs(cjson.decode(out).problems) do
      if problem.level == "error" then refused[w.root .. "/" .. problem.file] = problem.text end
    end
    assert.is_true(compare(changes, refused) > 300)
  end)

  it("refuses for policies and settings what the loader refuses, and nothing else", function()
    local changes, refused, n = {}, {}, 0
    for _, format in ipairs { "policy", "settings" } do
      local function put(text, what)
        n = n + 1
        local root = ("%s/%d"):format(w.dir, n)
        local path = root .. "/" .. formats[format]
        world.write(path, text)
        world.write(root .. "/policies/guards/g.lua", "return 1\n")
        changes[path] = { what = what, schema = schema(format) }
        local _, out, err = world.run { world.hcp, "--root", root, "--state", w.state, "policy", "lint" }
        local ok, answer = pcall(cjson.decode, out)
        if not ok then
          refused[path] = err
        elseif not answer.ok then
          refused[path] = answer.problems[1].text
        end
      end
      put(encode(whole[format]), format .. " whole")
      each_change(format, put)
    end
    assert.is_true(compare(changes, refused) > 200)
  end)
end)
