-- Ordinary work notices nothing of the sandbox: what people's programs do. In tier light the same, but for what needs
-- /dev/shm: that is the host's there, and closed.
local world = require "world"

local quote = world.quote

local manifest = [[
hcp: 1
pack_id: work
version: 1.0.0
summary: Does what its stdin says
wrap: { bin: sh, argv_template: [-s], stdin: "{{script}}", json_flag: [], result: text, workspace: { mode: ephemeral } }
commands:
  do: { summary: s, effect: read, timeout: 5m }
  kept: { summary: s, effect: write, wrap: { workspace: { mode: workspace } } }
]]

local grants = [[
grants: [ { principal: "*", capabilities: ["work.*"] } ]
packs:
  work:
    bins: [sh]
    sandbox: { tier: %s, read: [%q], limits: { timeout: 5m } }
]]

for _, tier in ipairs { "strong", "light" } do
  describe("in tier " .. tier, function()
    local w

    before_each(function()
      w = world.new()
      os.execute("chmod 711 " .. quote(w.dir))
      w:pack("work", { ["pack.yaml"] = manifest, ["policy.yaml"] = "hcp: 1\npolicies: { do: {}, kept: {} }\n" })
      w:policy(grants:format(tier, world.build .. "/programs"))
      w:activate("work")
    end)
    after_each(function() w:close() end)

    local function does(expected, script, verb)
      local envelope, status = w:exec("work", verb or "do", { script = "set -e\n" .. script })
      assert.same({ true, 0 }, { envelope.ok, status }, envelope.error)
      assert.is_nil(envelope.stderr)
      assert.equal(expected, envelope.result)
    end

    local function python(expected, code) does(expected, "cat >program.py <<'END'\n" .. code .. "\nEND\n/usr/bin/python3 program.py\n") end

    local has_shm = tier == "strong" and it or function() end

    has_shm("a C program has timers, maps, shared memory, eventfd, inotify, signalfd, threads, spawn", function()
      local names = "timers,timerfd,a mapped file,POSIX shared memory,SysV shared memory,semaphores,eventfd and epoll," ..
        "inotify,signalfd,posix_spawn,popen,threads,locks,copies,passing a descriptor,memory,clocks"
      does(names:gsub(",", "\n") .. "\n", world.build .. "/programs/ordinary")
    end)

    it("Python has asyncio with subprocesses", function()
      python("HI 10\n", [[
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("tr", "a-z", "A-Z", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate(b"hi")
    sums = await asyncio.gather(*(asyncio.to_thread(lambda n=n: n) for n in range(5)))
    await asyncio.sleep(0.01)
    print(out.decode(), sum(sums))
asyncio.run(main())]])
    end)

    for _, method in ipairs { "fork", "spawn", "forkserver" } do
      has_shm("Python has multiprocessing by " .. method, function()
        python("[0, 1, 4, 9, 16] 5 b'shared'\n", ([[
import multiprocessing as mp
from multiprocessing import shared_memory
def square(n): return n * n
def write(name, lock, count):
    m = shared_memory.SharedMemory(name)
    m.buf[:6] = b"shared"
    m.close()
    for _ in range(5):
        with lock: count.value += 1
if __name__ == "__main__":
    mp.set_start_method(%q)
    with mp.Pool(2) as pool: squares = pool.map(square, range(5))
    m = shared_memory.SharedMemory(create=True, size=64)
    lock, count = mp.Lock(), mp.Value("i", 0)
    p = mp.Process(target=write, args=(m.name, lock, count))
    p.start(); p.join()
    print(squares, count.value, bytes(m.buf[:6]))
    m.close(); m.unlink()]]):format(method))
      end)
    end

    it("Python has threads, temporary files and a subprocess with a pipe", function()
      python("45 True b'abc\\n'\n", [[
import concurrent.futures as f, subprocess, tempfile, os
with f.ThreadPoolExecutor(20) as pool: total = sum(pool.map(lambda n: n, range(10)))
with tempfile.TemporaryDirectory() as d:
    with tempfile.NamedTemporaryFile(dir=d) as t: there = os.path.exists(t.name)
print(total, there, subprocess.run("echo abc | cat", shell=True, stdout=subprocess.PIPE).stdout)]])
    end)

    it("Node has WebAssembly, workers and child processes", function()
      does("42 SPAWNED sync 7\n", [[
cat >program.js <<'END'
const { execFileSync, spawn, spawnSync } = require("child_process")
const { Worker } = require("worker_threads")
const bytes = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3,
  97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11])
async function main() {
  const { instance } = await WebAssembly.instantiate(bytes)
  const text = await new Promise((resolve, reject) => {
    const p = spawn("tr", ["a-z", "A-Z"])
    let out = ""
    p.stdout.on("data", d => out += d)
    p.on("error", reject)
    p.on("close", () => resolve(out))
    p.stdin.end("spawned")
  })
  const told = await new Promise((resolve, reject) => {
    const w = new Worker("require('worker_threads').parentPort.postMessage(7)", { eval: true })
    w.on("message", resolve)
    w.on("error", reject)
  })
  if (spawnSync("false").status !== 1) throw new Error("spawnSync")
  console.log(instance.exports.add(40, 2), text, execFileSync("echo", ["sync"]).toString().trim(), told)
}
main().catch(e => { console.error(e); process.exit(1) })
END
node program.js
]])
    end)

    it("git clones a local repository, commits, branches and collects garbage", function()
      does("second first \nclean\n", [[
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1
git init -q -b main one
cd one; echo 1 >file; git add .; git commit -qm first; cd ..
git clone -q one two
cd two; git checkout -q -b side; echo 2 >>file; git commit -qam second
git gc -q --prune=now; git fsck >/dev/null 2>&1
git log --format=%s | tr '\n' ' '; echo
[ -z "$(git status --porcelain)" ] && echo clean
]])
    end)

    it("sqlite3 has a write-ahead log, and two writers", function()
      does("wal\n200\nok\n", [[
sqlite3 db 'pragma journal_mode=wal; create table t(n);'
i=0; while [ $i -lt 100 ]; do echo "insert into t values($i);"; i=$((i+1)); done >rows
sqlite3 -cmd '.timeout 20000' db <rows & sqlite3 -cmd '.timeout 20000' db <rows
wait
sqlite3 db 'select count(*) from t; pragma integrity_check;'
]])
    end)

    it("hledger reads a journal", function()
      does("                  12  food\n", [[
printf '2026-01-02 lunch\n    food  12\n    cash\n' >journal
hledger -f journal balance food --no-total
]])
    end)

    it("a shell has 200 pipelines", function()
      does("600\n", "i=0; while [ $i -lt 200 ]; do sh -c 'printf abc | cat | wc -c'; i=$((i+1)); done | awk '{ n += $1 } END { print n }'")
    end)

    it("make builds in parallel, with a compiler", function()
      does("built\n", [[
printf 'all: a b c main\n%%: %%.c\n\tcc -o $@ $<\na b c:\n\t@touch $@\n' >Makefile
echo 'int main(void) { return 0; }' >main.c
make -s -j4
./main && echo built
]])
    end)

    it("a kept workspace holds files, links, locks and sockets' names from one run to the next", function()
      does("", [[
mkdir -p dir; echo one >dir/file; ln -s dir/file link; ln dir/file hard; mkfifo fifo
(flock -n 9; echo locked >lock.ok) 9>lock; chmod 600 dir/file; touch -d 2020-01-01 hard; mv hard dir/moved
]], "kept")
      does("one one 2020 locked fifo\n", [[
echo $(cat link) $(cat dir/moved) $(date -r dir/moved +%Y) $(cat lock.ok) $([ -p fifo ] && echo fifo)
]], "kept")
    end)
  end)
end
