# What a server still knows when its runs are over: memory.py SECRET_FILE LEFT HCP WORDS... runs `hcp WORDS serve --stdio`, sends the
# envelopes that stand on stdin, a line each, and searches the server's memory then. The
# answers, and how often the secret was found, as one JSON object.
import json, subprocess, sys

secret = open(sys.argv[1], "rb").read().strip()
control = sys.argv[2].encode()
server = subprocess.Popen(sys.argv[3:] + ["serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def count(what):
    found = 0
    with open("/proc/%d/maps" % server.pid) as maps, open("/proc/%d/mem" % server.pid, "rb", 0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if mode[0] != "r" or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            try:
                memory.seek(start)
                found += memory.read(end - start).count(what)
            except OSError:
                pass  # a guard page
    return found


answers = []
for line in sys.stdin:
    server.stdin.write(line.encode())
    server.stdin.flush()
    answers.append(json.loads(server.stdout.readline()))
print(json.dumps({"answers": answers, "secret": count(secret), "control": count(control)}))
server.stdin.close()
server.wait()
