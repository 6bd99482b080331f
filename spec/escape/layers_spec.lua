-- Layers: whatever step of the set-up a host refuses, the run fails by that layer's name and the program never runs.
local cjson = require "cjson"
local jail = require "jail"
local world = require "world"

-- what is refused, what is said in tier strong and below it; nil: that tier doesn't ask for it
local both = function(layer) return layer, layer end
local calls = {
  memfd_create = { both "spawn" }, pipe2 = { both "spawn" }, ["clone:0:0x4000"] = { both "spawn" }, dup3 = { both "spawn" },
  close_range = { both "spawn" }, pidfd_open = { both "supervise" }, execveat = { both "init" },
  rt_sigaction = { both "init" }, setsid = { both "init" }, fchdir = { "root" }, fsopen = { "root" }, fsconfig = { "root" },
  fsmount = { "root" }, move_mount = { "root" }, pivot_root = { "root" }, umount2 = { "root" }, sethostname = { "utsns" },
  open_tree = { "mount" }, openat2 = { both "bin" }, mount = { "procfs" }, symlinkat = { "mount" }, chdir = { "root", "cwd" },
  landlock_create_ruleset = { both "landlock" }, landlock_add_rule = { both "landlock" },
  landlock_restrict_self = { both "landlock" }, capset = { jail.as_root and "ids" or "userns", "ids" },
  ["prctl:0:255:38"] = { both "no_new_privs" }, ["prctl:0:255:36"] = { nil, "supervise" }, signalfd4 = { both "supervise" },
  prlimit64 = { both "limits" }, seccomp = { both "seccomp" },
}
if jail.as_root then
  calls.setgroups, calls.setresgid, calls.setresuid = { both "ids" }, { both "ids" }, { both "ids" }
  calls.unshare = { "userns" }
else
  calls["clone:0:0x10000000"] = { "userns" }
end
-- the sanitizers' own start asks for these before there is an hcp
local _, libraries = world.sh("ldd " .. world.quote(world.hcp))
if libraries:find "libasan" then calls.prlimit64, calls.rt_sigaction = nil, nil end
local names = {}
for call in pairs(calls) do names[#names + 1] = call end
table.sort(names)

for i, tier in ipairs { "strong", "light" } do
  describe("in tier " .. tier .. " a run ends before it begins where a host refuses", function()
    local w

    before_each(function()
      w = jail.open()
      os.execute("chmod 711 " .. world.quote(w.dir))
      w:policy(jail.grants("tier: " .. tier))
    end)
    after_each(jail.close)

    for _, call in ipairs(names) do
      local layer = calls[call][i]
      if layer then
        it(call, function()
          local without = ("%s/programs/without %s=EPERM --"):format(world.quote(world.build), call)
          local envelope, status = jail.envelope_of("kept", "put('ran')", {}, { before = without })
          assert.same({ false, 1 }, { envelope.ok, status }, cjson.encode(envelope))
          assert.matches("^sandbox: " .. layer .. " unavailable: ", envelope.error)
          assert.is_nil(world.read(w.state .. "/workspaces/default/-/esc/ran"))
          local records = w:audit()
          assert.same({ "end", envelope.error }, { records[#records].kind, records[#records].error })
          -- and it was this call that mattered
          assert.is_true(jail.envelope_of("kept", "put('ran')").ok)
          assert.equal("x", world.read(w.state .. "/workspaces/default/-/esc/ran"))
        end)
      end
    end
  end)
end
