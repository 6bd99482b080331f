-- A host whose memory runs out in the middle of a run, wherever that is: an envelope or HCP_ENOMEM, no program after a
-- refusal, nothing left, and a log that verifies. With sanitizers memory is theirs, and script_faults is what they see.
local world = require "world"

local manifest = [[
hcp: 1
pack_id: life
version: 1.0.0
summary: Runs what its stdin says
wrap: { bin: sh, argv_template: [-s], stdin: "{{script}}", json_flag: [], result: text, workspace: { mode: ephemeral } }
mint: { hook: "policies:static", ttl: 15m, env: [LIFE_KEY] }
commands:
  run: { summary: s, args: { type: object, properties: { script: { type: string } } }, effect: read }
  both: { summary: s, kind: composite, script: verbs/both.lua, effect: read }
]]

local policy = [[
grants: [ { principal: "*", capabilities: ["life.*"] } ]
packs:
  life:
    bins: [sh]
    sandbox: { write: [%q] }
    mint: { secrets: [key], with: { env: { LIFE_KEY: key } } }
]]

if not world.read(world.build .. "/CMakeCache.txt"):match("\nHCP_SANITIZE:[^=]*=%S") then
  describe("memory that runs out", function()
    local w, shared

    before_each(function()
      w = world.new()
      shared = w.dir .. "/shared"
      assert(os.execute(("chmod 711 %s; mkdir -m 777 %s; mkdir -m 700 %s/secrets"):format(w.dir, shared, w.root)))
      w:put("secrets/key", "a-value-of-a-key", "600")
      w:pack("life", { ["pack.yaml"] = manifest, ["policy.yaml"] = "hcp: 1\npolicies: { run: {}, both: {} }\n",
        ["verbs/both.lua"] = "return function(args, ctx) return { ctx.exec('run', args), #args.script } end\n" })
      w:policy(policy:format(shared))
      w:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [life] } }\naudit: { sync: os }\n")
    end)
    after_each(function() w:close() end)

    for verb, step in pairs { run = 3, both = 23 } do
      it("in a command " .. verb .. " ends in a refusal or a result", function()
        local envelope = ('{"pack_id":"life","verb_key":"%s","args":{"script":"printf x >>%s/mark"}}'):format(verb, shared)
        local status, out, err = world.run { world.build .. "/programs/starved", w.root, w.state, shared .. "/mark", envelope,
          tostring(step) }
        assert.same({ 0, "ok\n" }, { status, out }, err)
        assert.is_true(tonumber(err:match("^(%d+) runs")) > 200, err)
        assert.equal("", select(2, world.sh("ls -A " .. w.state .. "/scratch 2>/dev/null")))
      end)
    end
  end)
end
