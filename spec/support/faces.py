# SPDX-License-Identifier: MIT
"""Asks the same of every server: {"hcp": [words], "dir": folder, "stdio"|"socket"|"http"|"mcp": [lines]} on stdin, the answers' lines by
face on stdout. A face that isn't there isn't asked; "tokens" go with the lines of "http". A server gets its next line once it has answered the last."""
import atexit
import http.client
import json
import re
import socket
import subprocess
import sys
import time

job = json.load(sys.stdin)


def start(*words, **more):
    p = subprocess.Popen([*job["hcp"], *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
    atexit.register(p.kill)  # where something failed
    return p


def end(p):
    p.stdin.close()
    if p.wait(60) not in (0, 143):
        raise SystemExit("status %d" % p.returncode)


def lines(p):
    answers = []
    for line in job["stdio"] if p.args[-1] == "--stdio" else job["mcp"]:
        p.stdin.write(line.encode() + b"\n")
        p.stdin.flush()
        answers.append(p.stdout.readline().decode().rstrip("\n"))
    end(p)
    return answers


def over_socket():
    path = job["dir"] + "/faces.sock"
    p = start("serve", "--socket", path)
    s = socket.socket(socket.AF_UNIX)
    for _ in range(3000):
        try:
            s.connect(path)
            break
        except OSError:
            time.sleep(0.01)
    f = s.makefile("rwb")
    answers = []
    for line in job["socket"]:
        f.write(line.encode() + b"\n")
        f.flush()
        answers.append(f.readline().decode().rstrip("\n"))
    p.terminate()
    end(p)
    return answers


def over_http():
    p = start("serve", "--http", "0", stderr=subprocess.PIPE)
    c = http.client.HTTPConnection("127.0.0.1", int(re.search(rb":(\d+)\n", p.stderr.readline()).group(1)))
    answers = []
    for i, line in enumerate(job["http"]):
        token = {"Authorization": "Bearer " + job["tokens"][i]} if "tokens" in job else {}
        c.request("POST", "/exec", line.encode(), {"Content-Type": "application/json", **token})
        answers.append(c.getresponse().read().decode())
    c.close()
    p.terminate()
    end(p)
    return answers


ask = {"stdio": lambda: lines(start("serve", "--stdio")), "socket": over_socket, "http": over_http, "mcp": lambda: lines(start("mcp"))}
json.dump({face: ask[face]() for face in ask if face in job}, sys.stdout)
