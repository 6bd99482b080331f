-- A small pack that the specs of the steps share: wraps over a script that prints what it was given.
local world = require "world"

local demo = {}

demo.manifest = [[
hcp: 1
pack_id: demo
version: 1.0.0
summary: A pack for specs
wrap:
  bin: ./bin/show
commands:
  argv:
    summary: Prints its argv
    cli: [demo, "{{a}}", "--b={{b}}", "-x{{c}}"]
    effect: read
  mark:
    summary: Leaves a marker in its jail
    wrap: { workspace: { mode: workspace } }
    cli: [demo, mark]
    effect: write
  plain:
    summary: One typed argument
    effect: read
    cli: [demo, "--n={{n}}", "{{text}}"]
    args:
      properties:
        n: { type: integer, minimum: 1 }
        text: { type: string }
      required: [n]
  lua:
    summary: A composite
    kind: composite
    script: verbs/lua.lua
    effect: read
  nopolicy:
    summary: No policy entry
    cli: [demo, x]
  hidden:
    summary: For this pack's scripts only
    internal: true
    cli: [demo, hidden]
  brain:
    summary: Needs a project
    cli: [demo, brain]
    effect: read
  other:
    summary: Of a kind that nobody wrote
    kind: telepathy
]]

demo.policy = [[
hcp: 1
policies:
  argv: { capability: demo.read }
  mark: { capability: demo.write, confirm: true }
  plain: { capability: demo.read }
  lua: { capability: demo.read }
  hidden: { capability: demo.read }
  brain: { capability: demo.read, privacy: { land: brain } }
  other: { capability: demo.read }
]]

-- prints its arguments as a JSON array, without help from anything but a shell
demo.show = [[
#!/bin/sh
[ "$1" = mark ] && : > marker
esc() { printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'NR>1{printf "\\n"}{printf "%s",$0}'; }
printf '['
sep=
for a; do printf '%s"%s"' "$sep" "$(esc "$a")"; sep=,; done
printf ']\n'
]]

demo.lua = [[
return function(args, ctx)
  return { args = args, verb = ctx.verb_key }
end
]]

demo.grants = [[
grants:
  - { principal: "user:*", capabilities: ["demo.*"] }
packs:
  demo:
    bins: [./bin/show]
]]

function demo.files()
  return {
    ["pack.yaml"] = demo.manifest,
    ["policy.yaml"] = demo.policy,
    ["bin/show"] = { demo.show, "755" },
    ["verbs/lua.lua"] = demo.lua,
  }
end

-- A world with the pack installed, granted and activated.
function demo.world()
  local w = world.new()
  w:pack("demo", demo.files())
  w:policy(demo.grants)
  w:activate("demo")
  return w
end

return demo
