-- Of a Binding nothing stays in the memory of a server that goes on. With sanitizers memory is theirs: terabytes of it.
local cjson = require "cjson"
local world = require "world"

local quote = world.quote
local token = "tok-f00dfeedcafe0123"

local sanitized = world.read(world.build .. "/CMakeCache.txt"):match("\nHCP_SANITIZE:[^=]*=%S")

for _, deliver in ipairs(sanitized and {} or { "env", "file" }) do
  describe("a server whose run had a Binding by " .. deliver, function()
    local w
    setup(function()
      w = world.new()
      w:pack("bank", {
        ["pack.yaml"] = ([[
hcp: 1
pack_id: bank
version: 1.0.0
summary: A pack with a Binding
wrap: { bin: ./bin/bank, json_flag: [], result: text, stdin: "{{script}}" }
mint: { hook: "policies:static", ttl: 1m, env: [BANK_TOKEN], deliver: %s }
commands: { run: { summary: Runs a script, cli: [bank], effect: read } }
]]):format(deliver),
        ["policy.yaml"] = "hcp: 1\npolicies: { run: {} }\n",
        ["bin/bank"] = { "#!/bin/sh\n. /dev/stdin\n", "755" },
      })
      w:policy([[
grants: [ { principal: "*", capabilities: ["bank.*"] } ]
packs: { bank: { bins: [./bin/bank], mint: { secrets: [bank], with: { env: { BANK_TOKEN: bank } } } } }
]])
      w:put("secrets/bank", token, "600")
      assert(os.execute("chmod 700 " .. quote(w.root .. "/secrets")))
      w:put("hcp.yaml", "hcp: 1\nsessions: { default: { packs: [bank] } }\n")
    end)
    teardown(function() w:close() end)

    it("has forgotten it when the run is over", function()
      local script = deliver == "env" and 'printf %s "$BANK_TOKEN" | sha256sum' or 'sha256sum <"$HCP_FILES/BANK_TOKEN"'
      local envelope = cjson.encode { pack_id = "bank", verb_key = "run", args = { script = script } }
      local status, out, err = world.sh(("python3 spec/programs/memory.py %s bank %s --root %s --state %s"):format(
        quote(w.root .. "/secrets/bank"), quote(world.hcp), quote(w.root), quote(w.state)), envelope .. "\n" .. envelope .. "\n")
      assert.equal(0, status, err)
      local seen = cjson.decode(out)
      local sum = select(2, world.sh("printf %s " .. token .. " | sha256sum"))
      assert.same({ sum, sum }, { seen.answers[1].result, seen.answers[2].result }, out)
      assert.is_true(seen.control > 0) -- the search finds what is there
      assert.equal(0, seen.secret)
    end)
  end)
end
