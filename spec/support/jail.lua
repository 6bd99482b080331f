-- A world for programs that try to get out of a sandbox. Each attempt is made beside one that must work, inside or
-- outside, so that a broken attempt doesn't pass for a fence. Errors are told by the kernel's own names.
--   local w = jail.open(); jail.close()          one at a time
--   jail.inside [[out["x"] = done(os.mkdir, "/x")]]    Python in the sandbox; what it left in `out`
--   jail.outside(...)                            the same on the host
local cjson = require "cjson"
local world = require "world"

local quote = world.quote

local jail = {}

jail.as_root = select(2, world.sh("id -u")) == "0\n"

-- Runs the Python that comes on its stdin and prints what it left in `out`, as JSON.
local program = [[
#!/usr/bin/python3 -IB
import ctypes, errno, json, os, signal, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
out = {}

# what f gives, or the name of its error
def attempt(f, *args, **more):
    try:
        return f(*args, **more)
    except OSError as e:
        return errno.errorcode[e.errno]

def done(f, *args, **more):
    r = attempt(f, *args, **more)
    return r if isinstance(r, str) and r in errno.errorcode.values() else "done"

# a system call by its number
def call(nr, *args):
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return "done" if r >= 0 else errno.errorcode[ctypes.get_errno()]

# f in a child: its exit code, or its signal below 0
def child(f):
    pid = os.fork()
    if pid == 0:
        try:
            f()
            os._exit(0)
        except BaseException:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def put(path, data=b"x", flags=os.O_WRONLY | os.O_CREAT):
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)

def get(path):
    with open(path, "rb") as f:
        return f.read().decode("latin-1")

machine = os.uname().machine
def number(x86_64, arm64):
    return x86_64 if machine == "x86_64" else arm64

try:
    exec(compile(sys.stdin.read(), "attempt", "exec"))
finally:
    print(json.dumps(out))
    sys.stdout.flush()
]]

local manifest = [[
hcp: 1
pack_id: esc
version: 1.0.0
summary: Tries to get out
wrap: { bin: ./bin/try, stdin: "{{code}}", json_flag: [], result: json }
commands:
  pack: { summary: s, cli: [x, "{{token}}"], effect: read }
  empty: { summary: s, cli: [x], wrap: { workspace: { mode: ephemeral } }, effect: write }
  cat: { summary: s, cli: [cat], wrap: { bin: cat, stdin: none, result: text }, effect: read }
  kept: { summary: s, cli: [x, "{{token}}"], wrap: { workspace: { mode: workspace } }, effect: write }
  file:
    summary: s
    cli: [x, "--file={{file}}"]
    wrap: { workspace: { mode: workspace }, file_flags: ["--file"] }
    effect: write
  path:
    summary: s
    cli: [x, "{{file}}"]
    wrap: { workspace: { mode: workspace } }
    effect: write
]]

local policy = "hcp: 1\npolicies: { pack: {}, empty: {}, cat: {}, kept: {}, file: {}, path: {} }\n"

-- A list of paths in Python.
function jail.list_of(...)
  local items = {}
  for i, path in ipairs { ... } do items[i] = ("%q"):format(path) end
  return "[" .. table.concat(items, ", ") .. "]"
end

function jail.grants(sandbox, more)
  return ([[
grants: [ { principal: "*", capabilities: ["esc.*"] } ]
packs:
  esc:
    bins: [./bin/try, cat]
    sandbox: { %s }
%s]]):format(sandbox or "limits: { timeout: 2m, cpu: 1m }", more or "") -- for slow machines
end

local w

-- How many namespaces of stages this process holds.
function jail.stages()
  local list = io.popen("ls -l /proc/$PPID/fd")
  local _, count = list:read("a"):gsub("mnt:%[", "")
  list:close()
  return count
end

-- The same by a runtime that goes on: in the stage which two harmless runs before have made.
local function send_warm(self, text, options)
  if options and (options.env or options.before) then return world.send(self, text, options) end
  local rt <close> = require "hcp".open { root = self.root, state = self.state }
  local decoded, envelope = pcall(cjson.decode, text)
  if decoded and type(envelope) == "table" and type(envelope.args) == "table" and envelope.args.code then
    envelope.args.code = "pass"
    for _ = 1, 2 do rt:exec(cjson.encode(envelope)) end
    jail.staged = jail.staged or jail.stages() > 0
  end
  local out, info = rt:exec(text)
  return cjson.decode(out), info.exit, "", out
end

function jail.open()
  w = world.new()
  w:pack("esc", { ["pack.yaml"] = manifest, ["policy.yaml"] = policy, ["bin/try"] = { program, "755" } })
  w:policy(jail.grants())
  w:activate("esc")
  if jail.warm then w.send = send_warm end
  jail.secret = w.dir .. "/secret"
  world.write(jail.secret, "the secret\n", "644")
  return w
end

function jail.close()
  w:close()
end

function jail.envelope_of(verb, code, args, options)
  args = args or {}
  args.code = code
  return w:exec("esc", verb, args, options)
end

-- what the code left in `out`, run in the sandbox
function jail.inside(code, verb, args, options)
  local envelope, status = jail.envelope_of(verb or "pack", code, args, options)
  assert(envelope.ok and status == 0 and not envelope.stderr, cjson.encode(envelope))
  return envelope.result
end

-- the same on the host
function jail.outside(code, before)
  local status, out, err = world.sh((before or "") .. " " .. quote(w.root .. "/packs/esc/bin/try"), code)
  assert(status == 0 and err == "", err)
  return cjson.decode(out)
end

-- Landlock fences signals and abstract sockets from its sixth version on; the last run's record says which held.
function jail.scoped()
  local records = w:audit()
  return tonumber(records[#records].layers:match("landlock(%d+)")) >= 6
end

-- the processes whose command line holds the token
function jail.processes_with(token)
  local found = {}
  local list = io.popen("ls /proc")
  for pid in list:lines() do
    local line = pid:match("^%d+$") and world.read("/proc/" .. pid .. "/cmdline")
    if line and line:find(token, 1, true) then found[#found + 1] = pid end
  end
  list:close()
  return found
end

-- starts a program with descriptors 3 to 20 and 2048 open, with core dumps on, a signal ignored and one blocked, as far as
-- it may
jail.launcher = [[python3 -c 'import fcntl, os, resource, signal, sys
for kind in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE):
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (hard, hard))
f, d = (fcntl.fcntl(os.open(p, os.O_RDONLY), fcntl.F_DUPFD, 100) for p in ("/etc/passwd", "/"))
for n in [*range(3, 21), 2048]: os.dup2(f if n % 2 else d, n)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])
os.execvp(sys.argv[1], sys.argv[1:])' ]]

jail.program, jail.manifest, jail.pack_policy = program, manifest, policy

return jail
