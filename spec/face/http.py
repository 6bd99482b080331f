# SPDX-License-Identifier: MIT
# Clients of `hcp serve --http` that behave and misbehave: python3 http.py SCENARIO HCP ROOT STATE DIR. Prints "ok" where the
# server did right; else the assertion that failed. A limit in time ends what has failed already.
import atexit, glob, json, os, re, resource, signal, socket, struct, subprocess, sys, threading, time

scenario, HCP, ROOT, STATE, DIR = sys.argv[1:6]
MARK = "marker" + os.urandom(12).hex()  # of programs: no argv of ours may hold it
TOKEN = "Bearer token-of-a"
PORT = 0


def same(want, got):
    assert want == got, "wanted %s\ngot %s" % (want, got)


def until(condition):
    end = time.time() + 30
    while not condition():
        assert time.time() < end, "what was waited for did not happen"
        time.sleep(0.01)


def alive():
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if MARK.encode() in open(path, "rb").read():
                found.append(path)
        except OSError:
            pass
    return found


def start(where="0", *words):
    p = subprocess.Popen([HCP, "--root", ROOT, "--state", STATE, "serve", "--http", where, *words], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    atexit.register(p.kill)  # where something failed
    return p


def serve(*words):
    global PORT
    p = start("0", *words)
    said = p.stderr.readline().decode()
    PORT = int(re.fullmatch(r"hcp: listening on http://127\.0\.0\.1:(\d+)\n", said).group(1))
    return p


def connect():
    return socket.create_connection(("127.0.0.1", PORT))


def raw(text, s=None):
    """Sends bytes; status, headers and body of the one answer, or None where the other end just closes."""
    s = s or connect()
    s.sendall(text if isinstance(text, bytes) else text.encode())
    return answer(s)


def answer(s):
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            assert data == b"", "half an answer: %r" % data
            return None
        data += more
        if data.startswith(b"HTTP/1.1 100 "):
            data = data.split(b"\r\n\r\n", 1)[1]
    head, body = data.split(b"\r\n\r\n", 1)
    first, *rest = head.decode().split("\r\n")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += s.recv(65536)
    return int(first.split()[1]), headers, body


def text(method, path, body=b"", drop=(), **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    all_ = {"Host": "127.0.0.1:%d" % PORT, "Authorization": TOKEN}
    if method == "POST":
        all_.update({"Content-Type": "application/json", "Content-Length": len(body)})
    all_.update({k.replace("_", "-"): v for k, v in headers.items()})
    head = "".join("%s: %s\r\n" % (k, v) for k, v in all_.items() if k not in drop)
    return ("%s %s HTTP/1.1\r\n%s\r\n" % (method, path, head)).encode() + body


def ask(script, **more):
    return {"pack_id": "probe", "verb_key": "run", "args": {"script": script}, **more}


def good(result, **more):
    return {"ok": True, "pack_id": "probe", "verb_key": "run", "result": result, **more}


def bad(error, pack="probe", verb="run", **more):
    return {"ok": False, "pack_id": pack, "verb_key": verb, "error": error, **more}


def post(body, s=None, **headers):
    status, got, out = raw(text("POST", "/exec", body, **headers), s)
    return status, json.loads(out), got


def fine(body, want, **headers):
    status, got, more = post(body, **headers)
    same((200, want), (status, got))
    return more


SLEEP = "exec sh -c 'sleep 600; :' " + MARK


def end(p, status=0):
    p.send_signal(signal.SIGTERM)
    same(status, p.wait(30))
    same(b"", p.stdout.read())


def answers():
    p = serve()
    more = fine(ask("echo one"), good("one\n"))
    same("application/json", more["content-type"])
    runs = [json.loads(line)["run_id"] for line in open(STATE + "/audit/audit.jsonl") if '"begin"' in line]
    same([more["x-hcp-run-id"]], runs)
    fine(ask("echo $HCP_PRINCIPAL", id="x"), good("tok:a\n", id="x"))
    fine(ask("exit 3"), bad("exit 3"))
    fine(ask("echo x"), bad("denied: who are you"), drop=("Authorization",))
    fine(ask("echo x"), bad("denied: missing probe.run for probe.run"), Authorization="bearer   token-of-b")
    fine({"pack_id": "none", "verb_key": "x"}, bad("unknown pack none", "none", "x"))
    fine(b"nope", bad("invalid envelope: not a value at byte 0", "", ""))
    fine(b"", bad("invalid envelope: it ends too early at byte 0", "", ""))
    fine(ask("x", id=1.5), bad("invalid envelope: id must be a string or an integer of at most 256 bytes"))
    fine(ask("echo $HCP_TENANT"), bad("denied: tenant north"), X_HCP_Tenant="north")
    # one connection, one after the other, also where the client doesn't wait
    s = connect()
    s.sendall(b"".join(text("POST", "/exec", ask("echo %d" % n)) for n in range(5)))
    data = b""
    while data.count(b'"ok":true') < 5:
        data += s.recv(65536)
    same([b"0", b"1", b"2", b"3", b"4"], re.findall(rb'"result":"(\d)\\n"', data))
    status, headers, body = raw(text("GET", "/packs"))
    packs = json.loads(body)["packs"]
    same((200, ["probe"], ["run"]), (status, [q["pack_id"] for q in packs], list(packs[0]["commands"])))
    for who in ({"Authorization": "Bearer token-of-b"}, {"drop": ("Authorization",)}):
        same({"packs": []}, json.loads(raw(text("GET", "/packs", **who))[2]))
    status, headers, body = raw(text("GET", "/openapi.json"))
    api = json.loads(body)
    one, = api["paths"]["/exec"]["post"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    same((200, "3.1.0", {"const": "probe"}, {"const": "run"}, {"type": "object", "$id": "urn:hcp:probe:run"}),
         (status, api["openapi"], one["properties"]["pack_id"], one["properties"]["verb_key"], one["properties"]["args"]))
    same((200, b'{"ok":true}'), raw(text("GET", "/healthz", drop=("Authorization",)))[::2])
    end(p)


def refusals():
    p = serve("--host", "hcp.example", "--origin", "https://page.example")
    one = ask("echo one")

    def refused(status, error, method="POST", path="/exec", body=one, **headers):
        got = raw(text(method, path, body, **headers))
        same((status, bad(error, "", "")), (got[0], json.loads(got[2])))
        return got[1]
    for host in ("evil.example", "evil.example:%d" % PORT, "127.0.0.1.evil.example", "127.0.0.1:80:80", "127.0.0.1:x", "[::1", "localhost.",
                 "127.0.0.1@evil.example", "0x7f.1"):
        refused(403, "this server has another name: Host", Host=host)
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:99", "hcp.example", "Hcp.Example:443"):
        fine(one, good("one\n"), Host=host)
    for origin in ("null", "http://127.0.0.1:%d" % PORT, "https://page.example.evil", "https://page.example/", "HTTPS://page.example"):
        refused(403, "no page of that Origin may ask", Origin=origin)
    more = fine(one, good("one\n"), Origin="https://page.example")
    same("https://page.example", more["access-control-allow-origin"])
    assert "access-control-allow-origin" not in fine(one, good("one\n"))
    status, headers, body = raw(text("OPTIONS", "/exec", Origin="https://page.example"))
    same((204, b"", "https://page.example", "GET, POST"),
         (status, body, headers["access-control-allow-origin"], headers["access-control-allow-methods"]))
    refused(405, "it takes POST", "OPTIONS", body=b"")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", "application/json; charset=utf-16", "",
                 "application/json, text/plain"):
        refused(415, "Content-Type must be application/json", Content_Type=kind)
    fine(one, good("one\n"), Content_Type="Application/JSON ;  charset=UTF-8")
    same("POST", refused(405, "it takes POST", "GET", body=b"")["allow"])
    refused(405, "it takes GET", "POST", "/packs")
    refused(404, "there are POST /exec, GET /packs, /openapi.json and /healthz", "GET", "/../exec", b"")
    refused(404, "there are POST /exec, GET /packs, /openapi.json and /healthz", "POST", "/exec/")
    for who in ("Basic eDp5", "Bearer", "token-of-a"):
        same("Bearer", refused(401, "Authorization must be: Bearer TOKEN", Authorization=who)["www-authenticate"])
    for who in ("Bearer short", "Bearer two words", "Bearer " + "x" * 16385):
        refused(401, "a token is 8 to 16384 visible ASCII characters", Authorization=who)
    for twice in (b"Host: 127.0.0.1\r\n", b"Authorization: Bearer token-of-b\r\n", b"content-type: application/json\r\n",
                  b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Origin: x\r\nOrigin: https://page.example\r\n"):
        got = raw(text("POST", "/exec", one).replace(b"\r\n\r\n", b"\r\n" + twice + b"\r\n", 1))
        assert got is None or got[0] == 400, (twice, got)
    big = b'{"a":"' + b"x" * (1 << 20) + b'"}'
    refused(413, "invalid envelope: over 1 MiB", body=big)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(big[i:i + 50000]), big[i:i + 50000]) for i in range(0, len(big), 50000)) + b"0\r\n\r\n"
    head = text("POST", "/exec", drop=("Content-Length",), Transfer_Encoding="chunked")
    status, _, body = raw(head + chunks)
    same((413, bad("invalid envelope: over 1 MiB", "", "")), (status, json.loads(body)))
    small = json.dumps(one).encode()
    status, _, body = raw(head + b"".join(b"1\r\n%c\r\n" % c for c in small) + b"0\r\n\r\n")
    same((200, good("one\n")), (status, json.loads(body)))
    # what is no HTTP, or too much of it
    for junk in (b"nope\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n",
                 b"GET /packs HTTP/1.1\r\n\r\n", text("GET", "/packs", X="y" * 80000), text("GET", "/" + "y" * 80000),
                 text("POST", "/exec", one, Content_Length="-1"), text("POST", "/exec", one, Content_Length="0x10"), text("POST", "/exec", Content_Length=10 ** 30)):
        got = raw(junk)
        assert got is None or 400 <= got[0] <= 599, (junk[:40], got)
    fine(one, good("one\n"))
    end(p)


def alone():
    for words in (("--http", "0", "--stdio"), ("--http", "0", "--token-fd", "0"), ("--stdio", "--host", "x"), ("--socket", "x", "--origin", "y")):
        got = subprocess.run([HCP, "--root", ROOT, "--state", STATE, "serve", *words], stdin=subprocess.DEVNULL, capture_output=True)
        same((2, b""), (got.returncode, got.stdout))
    for where in ("localhost.evil:1", "1.2.3:5", "70000", ":", "::1:80", "[::1]", "127.0.0.1:-1", "name:80", ""):
        p = start(where)
        same((125, b"hcp: %s: it is ADDR:PORT, [ADDR]:PORT or PORT, with an address in digits\n" % where.encode()),
             (p.wait(30), p.stderr.read()))
    p = serve()
    q = start("127.0.0.1:%d" % PORT)
    same((125, b"hcp: 127.0.0.1:%d: Address already in use\n" % PORT), (q.wait(30), q.stderr.read()))
    end(p)


def strangers():
    """Beyond loopback: no token, no answer; and none at all where nothing asks for tokens."""
    policy = ROOT + "/policies/auth.yaml"
    was = open(policy).read()
    open(policy, "w").write("hcp: 1\n")
    p = start("0.0.0.0:0")
    same((125, b"hcp: 0.0.0.0:0 is open to others: the policy needs a provider of tokens for it (auth: { provider: token, ... })\n"),
         (p.wait(30), p.stderr.read()))
    open(policy, "w").write(was)
    p = start("0.0.0.0:0", "--host", "hcp.example")
    global PORT
    PORT = int(p.stderr.readline().decode().rsplit(":", 1)[1])
    refused = bad("denied: unauthenticated", "", "")
    status, got, headers = post(ask("echo x"), drop=("Authorization",), Host="hcp.example")
    same((401, refused, "Bearer"), (status, got, headers["www-authenticate"]))
    same(401, raw(text("GET", "/packs", drop=("Authorization",), Host="hcp.example"))[0])
    same(403, raw(text("GET", "/packs"))[0])  # it isn't called 127.0.0.1
    same(200, raw(text("GET", "/healthz", drop=("Authorization",), Host="hcp.example"))[0])
    fine(ask("echo x"), good("x\n"), Host="hcp.example")
    end(p)


def policies():
    path = ROOT + "/policies/spec.yaml"
    fine_ = open(path).read()
    p = serve()
    for what, want in ((fine_, good("x\n")), (fine_.replace("tok:a", "tok:c"), bad("denied: missing probe.run for probe.run")),
                       (fine_, good("x\n")), ("hcp: 1\nnonsense: 1\n", None), (fine_, good("x\n"))):
        open(path, "w").write(what)
        status, got, _ = post(ask("echo x"))
        health = raw(text("GET", "/healthz"))
        if want is None:
            assert got["error"].startswith("config: ") and "spec.yaml:2" in got["error"], got
            same((503, b'{"ok":false}'), health[::2])
            same(503, raw(text("GET", "/packs"))[0])
        else:
            same((200, want, 200), (status, got, health[0]))
    end(p)


def gone():
    p = serve()
    for how in ("close", "reset", "half", "killed"):
        s = connect()
        if how == "killed":
            pid = os.fork()
            if pid == 0:
                s.sendall(text("POST", "/exec", ask(SLEEP)))
                signal.pause()
            s.close()
            until(alive)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        else:
            s.sendall(text("POST", "/exec", ask(SLEEP)))
            until(alive)
            if how == "reset":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.shutdown(socket.SHUT_WR) if how == "half" else s.close()
        until(lambda: not alive())
        fine(ask("echo x"), good("x\n"))
    until(lambda: sum('"sandbox: cancelled"' in line for line in open(STATE + "/audit/audit.jsonl")) == 4)
    connect().sendall(text("POST", "/exec", ask(SLEEP)))
    s = connect()
    s.sendall(text("POST", "/exec", ask(SLEEP)))
    until(alive)
    p.kill()
    p.wait(30)
    until(lambda: not alive())


def drain():
    p = serve()
    idle, half = connect(), connect()
    half.sendall(text("POST", "/exec", ask("echo x"))[:-5])
    s = connect()
    s.sendall(text("POST", "/exec", ask("sh -c 'sleep 2; :' " + MARK + "; echo done")))
    until(alive)
    p.send_signal(signal.SIGTERM)
    same(b"", idle.recv(10))
    status, headers, body = answer(s)
    same((200, good("done\n"), "close"), (status, json.loads(body), headers["connection"]))
    half.close()
    same(0, p.wait(30))
    try:
        connect()
        raise AssertionError("it still listens")
    except ConnectionRefusedError:
        pass
    p = serve()
    s = connect()
    s.sendall(text("POST", "/exec", ask(SLEEP)))
    until(alive)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    p.send_signal(signal.SIGINT)
    status, headers, body = answer(s)
    same((200, bad("sandbox: cancelled")), (status, json.loads(body)))
    same(130, p.wait(30))
    same([], alive())


def ticks(p):
    fields = open("/proc/%d/stat" % p.pid).read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def starved():
    p = serve()
    s = connect()
    same(200, raw(text("GET", "/healthz"), s)[0])
    used = {int(n) for n in os.listdir("/proc/%d/fd" % p.pid)}
    before = resource.prlimit(p.pid, resource.RLIMIT_NOFILE)
    free = next(n for n in range(len(used) + 1) if n not in used)
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (free, before[1]))
    waiting = connect()
    spent = ticks(p)
    time.sleep(1)
    assert ticks(p) - spent < 30, "it spins: %d ticks in a second" % (ticks(p) - spent)
    status, got, headers = post(ask("echo x"), s)
    same((503, "out of memory or descriptors", "1"), (status, got["error"], headers["retry-after"]))
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, before)
    same((200, good("x\n")), post(ask("echo x"), waiting)[:2])
    end(p)


def slow():
    """Who sends a byte a second doesn't hold a connection for longer than a request may take."""
    p = serve()
    s, t = connect(), connect()
    s.sendall(b"POST /exec HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    ended = []

    def trickle():
        try:
            while True:
                s.sendall(b"y")
                time.sleep(0.5)
        except OSError:
            ended.append(s)
    th = threading.Thread(target=trickle, daemon=True)
    th.start()
    fine(ask("echo x"), good("x\n"))
    same(b"", t.recv(10))  # nothing was asked
    th.join(30)
    same([s], ended)
    fine(ask("echo x"), good("x\n"))
    end(p)


def state_of(p):
    """What must be the same before and after: descriptors, threads, children; and memory in KiB."""
    status = open("/proc/%d/status" % p.pid).read()
    children = open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read().split()
    fds = []
    for n in os.listdir("/proc/%d/fd" % p.pid):
        try:
            kind = os.readlink("/proc/%d/fd/%s" % (p.pid, n)).split(":")[0]
            if kind not in ("mnt", "net", "user"):  # of stages, few at any time
                fds.append(kind)
        except FileNotFoundError:
            pass  # it was closed meanwhile
    fds.sort()
    return (fds, re.search(r"Threads:\s+(\d+)", status).group(1), children), int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def misbehave(until_):
    """Cut off in the middle of a request, in the middle of a run; slow; and back again."""
    whole = text("POST", "/exec", ask("sleep 0.05; echo x"))
    while time.time() < until_:
        for part in (whole[:20], whole[:-3], whole):
            s = connect()
            s.sendall(part)
            time.sleep(0.02)
            s.close()
        s = connect()
        for i in range(0, len(whole), 16):
            s.sendall(whole[i:i + 16])
            time.sleep(0.005)
        got = answer(s)
        assert (got[0], json.loads(got[2])) == (200, good("x\n")), got
        s.close()


def load():
    seconds = int(os.environ.get("HCP_LOAD_SECONDS", "10"))
    p = serve()
    threading.Thread(target=lambda: [None for _ in p.stderr], daemon=True).start()
    failed = []

    def bad_one():
        try:
            misbehave(time.time() + seconds)
        except BaseException as e:
            failed.append(repr(e))

    def bout(seconds_):
        return subprocess.run(["wrk", "-t2", "-c56", "-d%ds" % seconds_, "--timeout", "30s", "-s", "spec/face/load.lua",
                               "http://127.0.0.1:%d" % PORT], capture_output=True, text=True)
    time.sleep(4)  # what a runtime keeps is there once its pack has been as it is for a while
    fine(ask("echo x"), good("x\n"))
    fine(ask("echo x"), good("x\n"))
    time.sleep(0.2)
    before, _ = state_of(p)
    bout(2)
    _, warm = state_of(p)
    bad_ones = [threading.Thread(target=bad_one) for _ in range(8)]
    for t in bad_ones:
        t.start()
    got = bout(seconds)
    for t in bad_ones:
        t.join()
    same([], failed)
    told = [line.split(" ") for line in got.stdout.splitlines() if line.startswith("told ")]
    assert len(told) == 2, got
    for line in told:
        same(["0", "-"], line[1:3])
        assert all(int(n) > 0 for n in line[3:]) and len(line) == 10, got.stdout
    assert "errors 0 0 0 0" in got.stdout, got.stdout
    until(lambda: state_of(p)[0] == before)
    _, after = state_of(p)
    # a sanitizer keeps what was freed
    room = 8 if "libasan" not in open("/proc/%d/maps" % p.pid).read() else 400
    assert after < warm + room * 1024, "%d KiB, then %d" % (warm, after)
    fine(ask("echo x"), good("x\n"))
    end(p)


globals()[scenario]()
print("ok")
