# SPDX-License-Identifier: MIT
"""A client of `hcp mcp` for specs, raw: a script of steps on stdin, a JSON list of all that was read on stdout.

A step is {"send": message or text}, {"wait": id}, {"method": what the server sends}, {"shell": command} or {"kill": signal};
then stdin ends. Whatever the server prints must be a JSON-RPC message a line, or the client fails.
"""
import json
import signal
import subprocess
import sys
import threading

steps = json.load(sys.stdin)
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
got, changed = [], threading.Condition()
ended = False


def read():
    global ended
    for line in child.stdout:
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and line.endswith(b"\n"), line
        with changed:
            got.append(message)
            changed.notify_all()
    with changed:
        ended = True
        changed.notify_all()


def fill(value):
    """{"from": [id, path...]} stands for what an answer said."""
    if isinstance(value, dict) and set(value) == {"from"}:
        wanted, *path = value["from"]
        found = next(m for m in got if m.get("id") == wanted)
        for key in path:
            found = found[key]
        return found
    if isinstance(value, dict):
        return {k: fill(v) for k, v in value.items()}
    return [fill(v) for v in value] if isinstance(value, list) else value


def wait(test):
    with changed:
        assert changed.wait_for(lambda: test() or ended, 60), "no answer; so far: " + json.dumps(got)


threading.Thread(target=read, daemon=True).start()
for step in steps:
    if "send" in step:
        what = step["send"]
        child.stdin.write((what if isinstance(what, str) else json.dumps(fill(what))).encode() + b"\n")
        child.stdin.flush()
    elif "wait" in step:
        wait(lambda: any(m.get("id") == step["wait"] for m in got))
    elif "method" in step:
        wait(lambda: any(m.get("method") == step["method"] for m in got))
    elif "shell" in step:
        subprocess.run(step["shell"], shell=True, check=True)
    elif "kill" in step:
        child.send_signal(getattr(signal, step["kill"]))
if child.stdin and not child.stdin.closed:
    child.stdin.close()
status = child.wait(60)
wait(lambda: ended)
json.dump({"got": got, "status": status}, sys.stdout)
