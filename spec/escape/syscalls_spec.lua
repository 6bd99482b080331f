-- System calls: spec/programs/attempt.c makes each of them in a sandbox, and bare on the host, where it is let in; so
-- that what is refused is refused by the filter and for the number of the call, not for an argument.
local jail = require "jail"
local world = require "world"

local quote = world.quote

local refused = {
  EPERM = {
    "unshare user", "unshare mount", "unshare pid", "unshare net", "unshare ipc", "unshare uts", "unshare cgroup",
    "unshare time", "clone user", "clone mount", "clone pid", "clone net", "clone ipc", "clone uts", "clone cgroup",
    "setns", "mount tmpfs", "mount bind", "mount remount", "umount2", "pivot_root", "chroot",
    "ptrace attach", "ptrace seize", "ptrace traceme", "process_vm_readv", "process_vm_writev", "process_madvise",
    "kcmp", "pidfd_getfd", "TIOCSTI", "TIOCSTI with high bits", "TIOCLINUX", "TIOCLINUX with high bits",
    "bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "syslog", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "reboot", "quotactl",
    "quotactl_fd", "acct", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "name_to_handle_at",
    "open_by_handle_at", "fanotify_init", "personality read-implies-exec", "personality no-randomize",
    "personality linux32", "vmsplice", "mknod character device", "mknod block device",
  },
  ENOSYS = {
    "clone3 user", "clone3 plain", "open_tree", "open_tree clone", "open_tree_attr", "move_mount", "mount_setattr",
    "fsopen", "fsconfig", "fsmount", "fspick", "io_uring_setup", "io_uring_enter", "io_uring_register",
  },
}
-- answered as outside
local allowed = {
  "unshare files", "clone plain", "pidfd_send_signal to a child", "TIOCGWINSZ", "personality linux",
  "personality asked", "rseq", "membarrier", "membarrier registered", "getrandom", "statx", "faccessat2", "close_range",
  "openat2", "landlock", "seccomp", "prctl", "get_mempolicy", "memfd_create", "epoll_pwait2", "a thread", "vfork",
  "executable memory", "AF_UNIX pair",
}
if io.popen("uname -m"):read("l") == "x86_64" then
  for _, name in ipairs { "ustat", "sysfs", "modify_ldt", "iopl", "ioperm" } do table.insert(refused.EPERM, name) end
  refused["signal 31"] = { "x32 getpid", "int 0x80 getpid" } -- SIGSYS
end

local families = {
  "AF_INET TCP", "AF_INET UDP", "AF_INET ping", "AF_INET raw", "AF_INET SCTP", "AF_INET MPTCP", "AF_INET high bits",
  "AF_INET pair", "AF_INET6 TCP", "AF_INET6 UDP", "AF_INET6 MPTCP", "AF_NETLINK route", "AF_NETLINK diag",
  "AF_NETLINK uevent", "AF_PACKET", "AF_VSOCK", "AF_VSOCK high bits", "AF_ALG", "AF_KEY", "AF_BLUETOOTH", "AF_CAN",
  "AF_TIPC", "AF_TIPC pair", "AF_RDS", "AF_SMC", "AF_XDP",
}
-- what each network lets a program make; every other family is refused
local networks = {
  none = {},
  host = { "AF_INET TCP", "AF_INET UDP", "AF_INET ping", "AF_INET raw", "AF_INET SCTP", "AF_INET MPTCP", "AF_INET6 TCP",
    "AF_INET6 UDP", "AF_INET6 MPTCP", "AF_NETLINK route" },
  ["{ connect: [443] }"] = { "AF_INET TCP", "AF_INET6 TCP", "AF_NETLINK route" },
}
local around = { "AF_INET UDP", "AF_INET ping", "AF_INET raw", "AF_INET SCTP", "AF_INET MPTCP", "AF_INET6 UDP",
  "AF_INET6 MPTCP" }

local function results(text)
  local found, n = {}, 0
  for name, result in text:gmatch("([^\t\n]+)\t([^\n]+)\n") do
    assert(found[name] == nil, name)
    found[name], n = result, n + 1
  end
  return found, n
end

local manifest = [[
hcp: 1
pack_id: calls
version: 1.0.0
summary: Makes system calls
wrap: { bin: ./bin/attempt, json_flag: [], result: text }
commands:
  all: { summary: All of them, cli: [attempt], effect: read }
]]

local function set(list)
  local names = {}
  for _, name in ipairs(list) do names[name] = true end
  return names
end

-- One run for all that is asserted of it.
local function attempts(sandbox)
  local w = world.new()
  os.execute("chmod 711 " .. quote(w.dir))
  w:pack("calls", { ["pack.yaml"] = manifest, ["policy.yaml"] = "hcp: 1\npolicies: { all: {} }\n",
    ["bin/attempt"] = { world.read(world.build .. "/programs/attempt"), "755" } })
  w:policy(("grants: [ { principal: '*', capabilities: ['calls.*'] } ]\n" ..
    "packs: { calls: { bins: [./bin/attempt], sandbox: { %s } } }\n"):format(sandbox))
  w:activate("calls")
  local envelope = w:exec("calls", "all")
  w:close()
  assert(envelope.ok, envelope.error)
  return envelope.result
end

local function bare()
  local status, out, err = world.sh("cd / && " .. quote(world.build .. "/programs/attempt"))
  assert(status == 0, err)
  return out
end

local kinds = { { "strong", "tier: strong" }, { "light", "tier: light" } }
if not jail.as_root then
  kinds[3] = { "native-local", "mode: native-local, because: a spec" }
end

describe("a system call", function()
  local outside, count

  setup(function() outside, count = results(bare()) end)

  it("that no test here judges isn't attempted", function()
    local judged = set(allowed)
    judged["AF_UNIX stream"], judged["AF_UNIX datagram"] = true, true
    for _, names in pairs(refused) do
      for _, name in ipairs(names) do judged[name] = true end
    end
    for _, name in ipairs(families) do judged[name] = true end
    local n = 0
    for name in pairs(judged) do
      assert.not_nil(outside[name], name)
      n = n + 1
    end
    assert.equal(n, count)
  end)

  if jail.as_root then
    it("is let in where there is no sandbox", function()
      -- sockets apart, of which this kernel may know few; a kernel may have been built without some calls
      for _, error in ipairs { "EPERM", "signal 31" } do
        for _, name in ipairs(refused[error] or {}) do assert.not_equal(error, outside[name], name) end
      end
      for _, name in ipairs { "clone3 user", "clone3 plain", "open_tree clone", "move_mount", "mount_setattr", "fsopen",
        "fsconfig", "fsmount", "fspick" } do
        assert.equal("done", outside[name], name)
      end
    end)
  end

  for _, kind in ipairs(kinds) do
    describe("in " .. kind[1], function()
      local inside

      setup(function() inside = results(attempts(kind[2])) end)

      for answer, names in pairs(refused) do
        for _, name in ipairs(names) do
          it("is refused with " .. answer .. ": " .. name, function()
            -- Landlock speaks before mknod asks for a right
            if kind[1] ~= "strong" and name:match("^mknod") and inside[name] == "EACCES" then return end
            -- a kernel without 32-bit calls ends such a program by itself
            local gone = name:match("^int 0x80") and outside[name] == "signal 11"
            assert.equal(gone and "signal 11" or answer, inside[name])
          end)
        end
      end

      for _, name in ipairs(allowed) do
        it("works as outside: " .. name, function() assert.equal(outside[name], inside[name]) end)
      end
    end)
  end

  for network, open in pairs(networks) do
    for _, tier in ipairs { "strong", "light" } do
      describe("with network " .. network .. " in " .. tier, function()
        local inside

        setup(function() inside = results(attempts(("tier: %s, network: %s"):format(tier, network))) end)

        it("makes only these sockets: " .. table.concat(open, ", "), function()
          local may, passed_by = set(open), set(network:match("connect") and around or {})
          for _, name in ipairs(families) do
            if name == "AF_INET raw" and may[name] then
              assert.equal("EPERM", inside[name]) -- the kernel's word: it takes a capability
            elseif may[name] then
              assert.equal(outside[name], inside[name], name)
            else
              assert.equal(passed_by[name] and "EPROTONOSUPPORT" or "EAFNOSUPPORT", inside[name], name)
            end
          end
        end)

        it("makes " .. (tier == "strong" and "" or "no ") .. "unix sockets, and pairs of them", function()
          local named = tier == "strong" and "done" or "EAFNOSUPPORT"
          assert.same({ named, named, "done" },
            { inside["AF_UNIX stream"], inside["AF_UNIX datagram"], inside["AF_UNIX pair"] })
        end)
      end)
    end
  end
end)
