-- hcp pack: what it makes loads and runs; lint names every fault at once and its place, and is quiet about good packs.
local world = require "world"
local cjson = require "cjson"

local quote = world.quote

-- Lines of a sound pack. A case replaces the line that it names and expects the fault there, or where it says.
local manifest = {
  "hcp: 1", "pack_id: p", "version: 1.0.0", "summary: A pack", "wrap:", "  bin: ./bin/p", "  agent_env: { A: b }",
  "$defs:", "  day: { type: string, pattern: '^[0-9]+$' }", "commands:", "  one:", "    summary: One",
  "    cli: [p, one, '--day={{day}}', '--n={{n}}']", "    args:", "      properties:", "        day: { $ref: '#/$defs/day' }",
  "        n: { type: integer }", "      required: [day]", "    effect: read", "    examples: [ { day: '1' } ]",
  "  two:", "    summary: Two", "    kind: composite", "    script: verbs/two.lua", "    args: {}", "    effect: read",
}
local policy = { "hcp: 1", "policies:", "  one: { capability: p.one }", "  two: { capability: p.two }" }
local script = { "local n = 0", "return function(args, ctx)", "  return n", "end" }

-- file, line, what stands there instead, part of the message, [line of the message, level]
local broken = {
  { "pack.yaml", 1, "hcp: 2", "format version 2 is not supported" },
  { "pack.yaml", 1, "", 'needs "hcp"', 2 },
  { "pack.yaml", 2, "pack_id: q", 'the folder is called "p"' },
  { "pack.yaml", 2, "pack_id: ../p", "must be 1 to 64 of" },
  { "pack.yaml", 3, "version: 1.0", "must be a string" },
  { "pack.yaml", 3, "version: v1", "must be a version like 1.0.0" },
  { "pack.yaml", 4, "sumary: x", 'did you mean "summary"' },
  { "pack.yaml", 4, "summary: x\npack_id: p", "duplicate key" , 5 },
  { "pack.yaml", 4, "summary: *x", "" },
  { "pack.yaml", 4, "\tsummary: x", "" },
  { "pack.yaml", 4, "summary: [", "a flow sequence that starts on line 4", 6 },
  { "pack.yaml", 4, "summary: ''", "must be one line of text" },
  { "pack.yaml", 4, "summary: x\nrequires: hledger", "must be a list", 5 },
  { "pack.yaml", 4, "summary: x\nuses: [7]", "must be a string", 5 },
  { "pack.yaml", 4, "summary: x\nmint: { hook: nope.lua, ttl: 5m, env: [TOKEN] }", 'no file "nope.lua"', 5 },
  { "pack.yaml", 4, "summary: x\nmint: { hook: verbs/two.lua, ttl: soon, env: [TOKEN] }", "must be a duration", 5 },
  { "pack.yaml", 4, "summary: x\nmint: { hook: verbs/two.lua, ttl: 5m, env: [LD_PRELOAD] }", "may not begin with LD_", 5 },
  { "pack.yaml", 6, "  bin: foo/p", "" },
  { "pack.yaml", 6, "  bin: ./../p", "" },
  { "pack.yaml", 6, "  workspace: { mode: workspace }", 'needs "bin"', 11 },
  { "pack.yaml", 7, "  agent_env: { PATH: /x }", '"PATH" in "agent_env"' },
  { "pack.yaml", 7, "  agent_env: { A: 7 }", "must be a string" },
  { "pack.yaml", 7, "  agent_env: { LD_PRELOAD: x }", "LD_" },
  { "pack.yaml", 7, "  deny_prefix: ['@']", 'must hold "-"' },
  { "pack.yaml", 7, "  result: xml", "must be auto, json, text or lines" },
  { "pack.yaml", 7, "  result: jsn", 'did you mean "json"' },
  { "pack.yaml", 7, "  stdin: '{{nope}}'", "which is no declared property" },
  { "pack.yaml", 7, "  files: [nope]", "which is no declared property" },
  { "pack.yaml", 7, "  workspace: { mode: pack, name: x }", 'only a workspace of mode workspace has a "name"' },
  { "pack.yaml", 7, "  workspace: { mode: here }", "must be pack, ephemeral or workspace" },
  { "pack.yaml", 7, "  json_flag: --json", "must be a list" },
  { "pack.yaml", 9, "  day: { type: strnig }", "" },
  { "pack.yaml", 9, "  day: { type: string, pattern: '[' }", "pattern" },
  { "pack.yaml", 9, "  day: { oneOf: [] }", "oneOf" },
  { "pack.yaml", 11, "  'o*ne':", "is no verb key" },
  { "pack.yaml", 12, "    sumary: One", 'did you mean "summary"' },
  { "pack.yaml", 13, "    cli: p one", "must be a list" },
  { "pack.yaml", 13, "    cli: [p, one, '--day={{dya}}']", "is no declared property" },
  { "pack.yaml", 13, "    cli: [p, one, '{{day']", "" },
  { "pack.yaml", 13, "    cli: [p, { when: nope, then: [x] }]", "is no declared property" },
  { "pack.yaml", 13, "    cli: [p, { when: day }]", "then" },
  { "pack.yaml", 13, "    cli: [p, [x]]", "" },
  { "pack.yaml", 13, "    cli: [p, one]\n    wrap: { argv_template: [x] }", "one of the two must go", 14 },
  { "pack.yaml", 16, "        day: { $ref: '#/$defs/night' }", "night" },
  { "pack.yaml", 16, "        day: { type: string, writeOnly: true }", "is writeOnly" , 13 },
  { "pack.yaml", 16, "        confirm: { type: boolean }\n        day: {}", "can't be a property", 15 },
  { "pack.yaml", 17, "        n: { type: integer, minimum: x }", "minimum" },
  { "pack.yaml", 17, "        n: { type: integer, default: x }", "default" },
  { "pack.yaml", 17, "        n: { type: integer, maxLength: -1 }", "maxLength" },
  { "pack.yaml", 18, "      required: day", "required" },
  { "pack.yaml", 19, "    effect: reads", "must be" },
  { "pack.yaml", 19, "    timeout: 10", "must be a duration" },
  { "pack.yaml", 19, "    lock: yes", "must be" },
  { "pack.yaml", 19, "    health: yes", "must be true or false" },
  { "pack.yaml", 20, "    examples: [ { day: x } ]", "the example doesn't fit" },
  { "pack.yaml", 20, "    examples: [ 7 ]", "an example must be a mapping" },
  { "pack.yaml", 20, "    script: verbs/two.lua", 'has no "script"' },
  { "pack.yaml", 23, "    kind: Composite", "must be 1 to 64 of a-z" },
  { "pack.yaml", 24, "    script: verbs/three.lua", 'no file "verbs/three.lua"' },
  { "pack.yaml", 24, "    script: /etc/passwd", "" },
  { "pack.yaml", 24, "    script: bin/p", "must end in .lua" },
  { "pack.yaml", 24, "    effect: write", "", 26 },
  { "pack.yaml", 25, "    args: []", "" },
  { "pack.yaml", 25, "    wrap: { bin: ./bin/p }", 'has no "wrap"' },
  { "policy.yaml", 1, "hcp: '1'", "" },
  { "policy.yaml", 2, "polices:", 'did you mean "policies"' },
  { "policy.yaml", 3, "  oen: { capability: p.one }", 'no command "oen"' },
  { "policy.yaml", 3, "  one: { capability: 'p.*' }", "" },
  { "policy.yaml", 3, "  one: { capability: [] }", "at least one" },
  { "policy.yaml", 3, "  one: { confirm: 'yes' }", "must be true or false" },
  { "policy.yaml", 3, "  one: { privacy: { land: moon } }", "must be local or brain" },
  { "policy.yaml", 3, "  one: true", "mapping" },
  { "policy.yaml", 3, "", "has no entry in policy.yaml", 11, "warning" },
  { "policy.yaml", 3, "  one: { capability: q.one }", 'doesn\'t begin with "p."', 3, "warning" },
  { "pack.yaml", 13, "    cli: [p, '{{day}}']", "no word of its command line", 11, "warning" },
  { "pack.yaml", 13, "    cli: [p, --n, '{{n}}', '--day={{day}}']", "--n takes the next word", 11, "warning" },
  { "pack.yaml", 13, "    cli: [p, one, --, '{{day}}']", 'behind "--" the appended --json', 11, "warning" },
  { "pack.yaml", 25, "    description: none", "has no args schema", 21, "warning" },
  { "pack.yaml", 4, "summary: x\nrequires: [no-such-program]", "isn't on this machine", 5, "warning" },
  { "pack.yaml", 4, "summary: x\nuses: [q.verb]", "isn't there", 5, "warning" },
  { "pack.yaml", 13, "    cli: [p, one, { when: n, then: ['--n={{n}}'] }]", "is not portable: it uses when/each", 11, "note" },
  { "verbs/two.lua", 3, "  return n +", "unexpected symbol near 'end'", 4 },
  { "verbs/two.lua", 1, "local n <close> = 0", "close", 1 },
  { "verbs/two.lua", 1, "\27Lua", "", 0 },
}

local function text_of(lines, at, instead)
  local copy = { table.unpack(lines) }
  if at then copy[at] = instead end
  return table.concat(copy, "\n") .. "\n"
end

describe("hcp pack", function()
  local w

  before_each(function() w = world.new() end)
  after_each(function() w:close() end)

  local function pack(file, at, instead)
    w:pack("p", {
      ["pack.yaml"] = text_of(manifest, file == "pack.yaml" and at, instead),
      ["policy.yaml"] = text_of(policy, file == "policy.yaml" and at, instead),
      ["verbs/two.lua"] = text_of(script, file == "verbs/two.lua" and at, instead),
      ["bin/p"] = { "#!/bin/sh\n", "755" },
    })
  end

  local function lint(id)
    local status, out, err = w:cli { "pack", "lint", id or "p" }
    assert.equal("", err)
    local answer = cjson.decode(out)
    assert.equal(answer.ok and 0 or 1, status)
    return answer
  end

  it("lint has nothing to say about a sound pack, and about those that ship", function()
    pack()
    assert.same({ ok = true, problems = {} }, lint())
    assert(os.execute(("umask 022; cp -R %s/packs/* %s/packs/; chmod -R u+rwX,go-w %s/packs"):format(
      quote(world.source), quote(w.root), quote(w.root))))
    local _, shipped = world.sh("ls " .. quote(world.source) .. "/packs")
    for id in shipped:gmatch("[^\n]+") do
      for _, problem in ipairs(lint(id).problems) do
        assert.equal("note", problem.level, id .. ": " .. problem.text)
      end
    end
  end)

  it("lint tells each fault of " .. #broken .. " broken packs at its place", function()
    local wrong = {}
    for _, case in ipairs(broken) do
      local file, at, instead, text, line, level = table.unpack(case)
      local name = file .. ":" .. at .. ": " .. instead
      pack(file, at, instead)
      local answer, found = lint(), false
      for _, problem in ipairs(answer.problems) do
        local place = "packs/p/" .. (level and "pack.yaml" or file)
        found = found or problem.level == (level or "error") and problem.text:find(text, 1, true) ~= nil and
          (problem.file == place or level and problem.file == "packs/p/policy.yaml") and
          (problem.line or 0) == (line or at)
      end
      if not found or answer.ok ~= ((level or "error") ~= "error") then
        wrong[#wrong + 1] = name .. "\n" .. cjson.encode(answer)
      end
    end
    assert.same({}, wrong)
  end)

  it("lint tells all faults at once", function()
    local lines = { table.unpack(manifest) }
    lines[3], lines[7], lines[13], lines[17], lines[24] = "version: x", "  result: xml", "    cli: [p, one, '{{nope}}']",
      "        n: { type: integer }\n        m: { type: integer, minimum: x }", "    script: nope.lua"
    w:pack("p", { ["pack.yaml"] = table.concat(lines, "\n"), ["policy.yaml"] = text_of(policy, 3, "  oen: {}"),
      ["verbs/two.lua"] = text_of(script, 3, "  return +"), ["bin/p"] = { "#!/bin/sh\n", "755" } })
    local places = {}
    for _, problem in ipairs(lint().problems) do
      places[#places + 1] = ("%s:%d"):format(problem.file:match("[^/]*$"), problem.line or 0)
    end
    assert.same({ "pack.yaml:3", "pack.yaml:7", "pack.yaml:18", "pack.yaml:25", "policy.yaml:3", "two.lua:3" }, places)
  end)

  it("lint knows no pack that isn't there, and no path", function()
    for _, id in ipairs { "nope", "../p", "", "/etc", ("x"):rep(100), "p/.." } do
      local answer = lint(id)
      assert.same({ false, "error", 1 }, { answer.ok, answer.problems[1].level, #answer.problems })
      assert.is_truthy(answer.problems[1].text:find("^unknown pack"))
    end
  end)

  it("new makes a pack that lints and runs, and never writes over one", function()
    for id, option in pairs { mine = "", ["my.other-one"] = " --composite" } do
      local status, out, err = world.sh(("umask 002; cd %s/packs && %s --root .. --state ../../state pack new %s%s"):format(
        quote(w.root), quote(world.hcp), id, option))
      assert.same({ 0, "" }, { status, out })
      -- the policy that it shows is the one that it needs
      w:policy(err:match("hcp: 1\n(.-)\n\nThen:"), id)
      w:activate(id)
      assert.same({ ok = true, problems = {} }, lint(id))
      local envelope = w:exec(id, "greet", { name = "$(id) {{name}}" })
      assert.is_true(envelope.ok, envelope.error)
      assert.equal("Hello, $(id) {{name}}!", type(envelope.result) == "table" and envelope.result.greeting or
        (envelope.result:gsub("\n$", "")))
      status, out, err = world.sh(("cd %s/packs && %s pack new %s"):format(quote(w.root), quote(world.hcp), id))
      assert.same({ 1, "", "hcp: " .. id .. ": File exists\n" }, { status, out, err })
    end
    for _, id in ipairs { "../x", "/tmp/x", "", "-x", "a/b", ".x" } do
      assert.equal(2, (w:cli { "pack", "new", "--", id }))
    end
  end)

  it("show gives the card of a pack", function()
    pack("pack.yaml", 17, '        n: { type: integer, description: "a\\e[2Jb" }')
    local status, out = w:cli { "pack", "show", "p" }
    assert.equal(0, status)
    assert.equal("Two", cjson.decode(out).commands.two.summary)
    local _, shown = world.sh(("script -qec '%s --root %s --state %s pack show p' /dev/null"):format(world.hcp, w.root, w.state))
    shown = shown:gsub("\r", "")
    assert.equal("p 1.0.0\nA pack\n\n  one  (read)\n      One\n      day\n      n?  integer  a?[2Jb\n\n  two  (read)\n      Two\n", shown)
  end)
end)
