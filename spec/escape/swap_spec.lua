-- What was judged is what runs, though files and folders change places all the while: a program under its pin, a pack with its
-- manifest. A run that meets the change fails; none runs the other one.
local live = require "live"
local world = require "world"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: swap
version: %s.0.0
summary: Is swapped
wrap: { bin: ./bin/%s, json_flag: [], result: text }
commands:
  run: { summary: s, cli: [x], effect: read }
]]

describe("a swap between check and exec", function()
  local w, packs

  local function pack(folder, version, bin)
    world.write(folder .. "/pack.yaml", manifest:format(version, bin))
    world.write(folder .. "/policy.yaml", "hcp: 1\npolicies: { run: {} }\n")
    world.write(folder .. "/bin/script", "#!/bin/sh\necho " .. version .. "\n", "755")
    for _, name in ipairs { "uname", "id" } do
      assert(os.execute(("cp /usr/bin/%s %s && chmod 755 %s"):format(name, quote(folder .. "/bin"), quote(folder .. "/bin/" .. name))))
    end
  end

  local function policy(bins)
    w:policy(("grants: [ { principal: '*', capabilities: ['swap.*'] } ]\npacks: { swap: { bins: [%s] } }\n"):format(bins))
  end

  before_each(function()
    w = world.new()
    packs = w.root .. "/packs"
    pack(packs .. "/swap", 1, "uname")
    policy "./bin/uname"
    w:activate("swap")
    world.write(w.dir .. "/swap.py", [[
import ctypes, os, sys
libc = ctypes.CDLL(None)
a, b, stop = (p.encode() for p in sys.argv[1:])
n = 0
while not os.path.exists(stop):
    assert libc.renameat2(-100, a, -100, b, 2) == 0  # RENAME_EXCHANGE
    n += 1
if n % 2: libc.renameat2(-100, a, -100, b, 2)
print(n)
]])
  end)
  after_each(function() w:close() end)

  -- what 40 runs gave, by how often, while `a` and `b` change places
  local function runs(a, b, check)
    local stop, out, seen = w.dir .. "/stop", w.dir .. "/swaps", {}
    assert(os.execute(("python3 %s %s %s %s >%s.new 2>&1 && mv %s.new %s &"):format(quote(w.dir .. "/swap.py"), quote(a), quote(b),
      quote(stop), quote(out), quote(out), quote(out))))
    for _ = 1, 40 do
      local envelope = w:exec("swap", "run")
      check(envelope)
      seen[envelope.ok and envelope.result or envelope.error] = true
    end
    world.write(stop, "")
    local swaps = live.wait_for(function() return world.read(out) end)
    assert.is_true(math.tointeger(swaps) > 40, swaps)
    return seen
  end

  it("never runs the program that isn't pinned", function()
    local bin = packs .. "/swap/bin"
    local function digest(name) return (select(2, world.sh("sha256sum " .. quote(bin .. "/" .. name))):match("^%x+")) end
    local wanted, other = digest "uname", digest "id"
    policy(("{ path: ./bin/uname, sha256: '%s' }"):format(wanted))
    assert.equal("Linux\n", w:exec("swap", "run").result)
    local answers = {
      ["Linux\n"] = true,
      ['sandbox: bin "./bin/uname" not allowlisted: its sha256 is ' .. other] = true,
      ["sandbox: bin unavailable: /pack/bin/uname was replaced while the run began"] = true,
    }
    for answer in pairs(runs(bin .. "/uname", bin .. "/id", function() end)) do assert.is_true(answers[answer], answer) end
    assert.equal("Linux\n", w:exec("swap", "run").result)
  end)

  it("never runs a pack's program by another one's manifest", function()
    pack(packs .. "/swap", 1, "script")
    pack(w.root .. "/other", 2, "script")
    policy "./bin/script"
    runs(packs .. "/swap", w.root .. "/other", function(envelope)
      local records = w:audit()
      local last = records[#records]
      if envelope.ok then
        assert.equal(last.pack_version, envelope.result:gsub("\n", "") .. ".0.0")
      else
        assert.truthy(envelope.error:match("was moved while it was read$") or
          envelope.error:match("was replaced while the run began$"), envelope.error)
      end
    end)
    assert.equal("1\n", w:exec("swap", "run").result)
  end)
end)
