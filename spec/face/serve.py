# SPDX-License-Identifier: MIT
# A client of `hcp serve` that behaves and misbehaves: python3 serve.py SCENARIO HCP ROOT STATE DIR. Prints "ok" where the
# server did right; else the assertion that failed. A limit in time ends what has failed already.
import atexit, fcntl, glob, json, os, resource, signal, socket, subprocess, sys, time

scenario, HCP, ROOT, STATE, DIR = sys.argv[1:6]
MARK = "marker" + os.urandom(12).hex()  # of programs: no argv of ours may hold it
PATH = DIR + "/sock"


def serve(*words):
    p = subprocess.Popen([HCP, "--root", ROOT, "--state", STATE, "serve", *words], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=open(DIR + "/err", "ab"))
    atexit.register(p.kill)  # where something failed
    return p


def ask(script, **more):
    return {"pack_id": "probe", "verb_key": "run", "args": {"script": script}, **more}


def say(p, *what):
    for w in what:
        p.stdin.write((w if isinstance(w, str) else json.dumps(w)).encode() + b"\n")
    p.stdin.flush()


def hear(p):
    return json.loads(p.stdout.readline())


def alive():
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if MARK.encode() in open(path, "rb").read():
                found.append(path)
        except OSError:
            pass
    return found


def until(condition):
    end = time.time() + 30
    while not condition():
        assert time.time() < end, "what was waited for did not happen"
        time.sleep(0.01)


def good(result, **more):
    return {"ok": True, "pack_id": "probe", "verb_key": "run", "result": result, **more}


def bad(error, pack="probe", verb="run", **more):
    return {"ok": False, "pack_id": pack, "verb_key": verb, "error": error, **more}


def same(want, got):
    assert want == got, "wanted %s\ngot %s" % (want, got)


SLEEP = "exec sh -c 'sleep 600; :' " + MARK


def lines():
    p = serve("--stdio")
    say(p, ask("echo one", id=9007199254740993), ask("echo two", id="ü\n"))
    got = {r["id"]: r for r in (hear(p), hear(p))}
    same({9007199254740993: good("one\n", id=9007199254740993), "ü\n": good("two\n", id="ü\n")}, got)
    say(p, ask("sleep 0.3; echo slow"), ask("echo fast"), "nope", "", ask("echo last", id=1.5), ask("echo x", id="x" * 300))
    same(good("slow\n"), hear(p))
    same(good("fast\n"), hear(p))
    same(bad("invalid envelope: not a value at byte 0", "", ""), hear(p))
    same(bad("invalid envelope: it ends too early at byte 0", "", ""), hear(p))
    for _ in range(2):
        same(bad("invalid envelope: id must be a string or an integer of at most 256 bytes"), hear(p))
    say(p, '{"a":"' + "x" * (3 << 20) + '"}', ask("echo after"))
    same(bad("invalid envelope: over 1 MiB", "", ""), hear(p))
    same(good("after\n"), hear(p))
    p.stdin.write(json.dumps(ask("echo no newline")).encode())
    p.stdin.close()
    same(good("no newline\n"), hear(p))
    same(b"", p.stdout.read())
    same(0, p.wait(30))


def cancel():
    p = serve("--stdio")
    say(p, ask(SLEEP, id="a"), ask("echo b", id="b"))
    same(good("b\n", id="b"), hear(p))
    until(alive)
    say(p, ask("echo x", id="a"), {"cancel": "nobody"})
    same(bad("invalid envelope: id is that of a request in flight", id="a"), hear(p))
    say(p, {"cancel": "a"})
    same(bad("sandbox: cancelled", id="a"), hear(p))
    until(lambda: not alive())
    say(p, ask("echo again", id="a"))
    same(good("again\n", id="a"), hear(p))
    p.stdin.close()
    same(0, p.wait(30))


def eof():
    p = serve("--stdio")
    say(p, ask(SLEEP))
    until(alive)
    p.stdin.close()
    same(bad("sandbox: cancelled"), hear(p))
    same(0, p.wait(30))
    same([], alive())


def gone():
    p = serve("--stdio")
    say(p, ask(SLEEP))
    until(alive)
    p.stdout.close()
    same(0, p.wait(30))
    same([], alive())


def killed():
    p = serve("--stdio")
    say(p, ask(SLEEP))
    until(alive)
    p.kill()
    p.wait(30)
    until(lambda: not alive())


def until_refused(p):
    """The signal may come a little later than a line."""
    n, answers = 10, {}
    while answers.get(n) != bad("denied: the server is stopping", id=n):
        n += 1
        say(p, ask("echo new", id=n))
        while n not in answers:
            r = hear(p)
            answers[r.get("id")] = r
    return answers


def stop():
    p = serve("--stdio")
    say(p, ask(SLEEP, id=2))
    until(alive)
    p.send_signal(signal.SIGTERM)
    until_refused(p)
    assert alive()
    p.send_signal(signal.SIGTERM)
    same(bad("sandbox: cancelled", id=2), hear(p))
    same(b"", p.stdout.read())
    same(143, p.wait(30))
    same([], alive())


def drain():
    p = serve("--stdio")
    say(p, ask("sh -c 'sleep 2; :' " + MARK + "; echo done", id=1))
    until(alive)
    p.send_signal(signal.SIGTERM)
    answers = until_refused(p)
    same(good("done\n", id=1), answers[1] if 1 in answers else hear(p))
    same(b"", p.stdout.read())
    same(0, p.wait(30))


def policy():
    path = ROOT + "/policies/spec.yaml"
    fine = open(path).read()
    p = serve("--stdio")
    for text, want in ((fine, good("x\n")), (fine.replace("probe.*", "other.*"), bad("denied: missing probe.run for probe.run")),
                       (fine, good("x\n")), ("hcp: 1\nnonsense: 1\n", None), (fine, good("x\n"))):
        open(path, "w").write(text)
        say(p, ask("echo x"))
        got = hear(p)
        if want is None:
            assert got["error"].startswith("config: ") and "spec.yaml:2" in got["error"], got
        else:
            same(want, got)
    p.stdin.close()
    same(0, p.wait(30))


def chatty():
    p = serve("--stdio", "--verbose")
    say(p, ask("echo noise >&2; head -c 300000 /dev/zero | tr '\\0' x"))
    r = hear(p)
    same((True, "x" * 300000, "noise\n"), (r["ok"], r["result"], r["stderr"]))
    p.stdin.close()
    same(b"", p.stdout.read())
    same(0, p.wait(30))


def many():
    p = serve("--stdio")
    if os.fork() == 0:
        say(p, *[ask("echo %d" % n) for n in range(100)])
        os._exit(0)
    for n in range(100):
        same(good("%d\n" % n), hear(p))
    p.stdin.close()
    same(0, p.wait(30))


def connect(path=PATH):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s, s.makefile("rwb")


def talk(f, what):
    f.write(json.dumps(what).encode() + b"\n")
    f.flush()
    return json.loads(f.readline())


def listening():
    p = serve("--socket", PATH)

    def there():
        try:
            connect()[0].close()
            return True
        except OSError:
            return False
    until(there)
    return p


def sockets():
    open(PATH, "w").write("mine")
    p = serve("--socket", PATH)
    same(125, p.wait(30))
    same("mine", open(PATH).read())
    os.unlink(PATH)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(PATH)
    stale.close()
    p = listening()
    same(0o600, os.stat(PATH).st_mode & 0o777)
    same(125, serve("--socket", PATH).wait(30))
    one, f = connect()
    other, g = connect()
    same(good("%d\n" % os.getuid()), talk(f, ask("echo ${HCP_PRINCIPAL#peer:}")))
    g.write(json.dumps(ask(SLEEP, id=1)).encode() + b"\n")
    g.flush()
    until(alive)
    # another client's id is not this one's to cancel
    f.write(b'{"cancel":1}\n')
    same(good("still\n"), talk(f, ask("echo still")))
    assert alive()
    g.close()
    other.close()
    until(lambda: not alive())
    same(good("here\n"), talk(f, ask("echo here")))
    if os.getuid() == 0:
        os.chmod(PATH, 0o666)
        os.chmod(DIR, 0o711)
        pid = os.fork()
        if pid == 0:
            os.setuid(4242)
            s, h = connect()
            os._exit(0 if talk(h, ask("echo ${HCP_PRINCIPAL#peer:}")) == good("4242\n") else 1)
        same(0, os.waitpid(pid, 0)[1])
    f.write(json.dumps(ask(SLEEP, id=1)).encode() + b"\n")
    f.flush()
    until(alive)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    p.send_signal(signal.SIGINT)
    same(bad("sandbox: cancelled", id=1), json.loads(f.readline()))
    same(130, p.wait(30))
    same([], alive())
    assert not os.path.exists(PATH)


def ticks(p):
    fields = open("/proc/%d/stat" % p.pid).read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def starved():
    p = listening()
    _, f = connect()
    time.sleep(3)  # policies that were written just now are read again for each envelope
    same(good("one\n"), talk(f, ask("echo one")))
    listing = lambda: {int(n) for n in os.listdir("/proc/%d/fd" % p.pid)}
    used = listing()
    while time.sleep(0.5) or listing() != used:  # what the answer's run had is closed after it was sent
        used = listing()
    before = resource.prlimit(p.pid, resource.RLIMIT_NOFILE)
    free = next(n for n in range(len(used) + 1) if n not in used)
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (free, before[1]))
    waiting, g = connect()
    spent = ticks(p)
    time.sleep(1)
    assert ticks(p) - spent < 30, "it spins: %d ticks in a second" % (ticks(p) - spent)
    same("out of memory or descriptors", talk(f, ask("echo two"))["error"])
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, before)
    same(good("three\n"), talk(g, ask("echo three")))
    same(good("four\n"), talk(f, ask("echo four")))
    p.send_signal(signal.SIGTERM)
    same(0, p.wait(30))


def stale():
    s = socket.socket(socket.AF_UNIX)
    s.bind(PATH)
    s.close()


def race():
    for _ in range(4):
        stale()
        started = [serve("--socket", PATH) for _ in range(6)]
        until(lambda: sum(p.poll() is not None for p in started) == 5)
        for p in started:
            if p.poll() is not None:
                same(125, p.returncode)
        left, = (p for p in started if p.poll() is None)
        _, f = connect()
        same(good("%d\n" % left.pid), talk(f, ask("echo $SERVER".replace("$SERVER", str(left.pid)))))
        f.close()
        left.send_signal(signal.SIGTERM)
        same(0, left.wait(30))
        assert not os.path.exists(PATH)
    # what another may be about to judge is left alone
    stale()
    mine = os.stat(PATH).st_ino
    fd = os.open(DIR, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    p = serve("--socket", PATH)
    same(125, p.wait(30))
    same(mine, os.stat(PATH).st_ino)
    assert ": somebody holds a lock on it" in open(DIR + "/err").read()


def tokens():
    for words in (("--socket", PATH, "--token-fd", "0"), (), ("--stdio", "--socket", PATH)):
        p = serve(*words)
        same(2, p.wait(30))
        same(b"", p.stdout.read())


globals()[scenario]()
print("ok")
