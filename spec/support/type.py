# Types lines into an interactive shell on a terminal, one at each prompt, and prints all that the terminal shows.
#   type.py LINES SHELL ARG...     LINES: a file; the shell's prompt must be "READY> "
import os
import pty
import select
import sys

lines = open(sys.argv[1], "rb").read().split(b"\n")
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen, start = b"", 0
while True:
    if lines and b"READY> " in seen[start:]:
        start = len(seen)
        os.write(fd, lines.pop(0) + b"\r")
    if not select.select([fd], [], [], 60)[0]:
        sys.exit("nothing happens: " + repr(seen[-500:]))
    try:
        some = os.read(fd, 65536)
    except OSError:
        break
    if not some:
        break
    seen += some
sys.stdout.buffer.write(seen)
