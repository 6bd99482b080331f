#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Verifies the chain of an hcp audit log with nothing of hcp: audit_reader.py FILE...

Give rotated segments first, oldest to newest, and the current file last."""
import hashlib
import sys

prev, seq = "0" * 64, 0
for name in sys.argv[1:]:
    with open(name, "rb") as log:
        for number, line in enumerate(log, 1):
            where = f"{name}:{number}"
            body, mark, rest = line.rpartition(b',"hash":"')
            if not mark or rest[64:] != b'"}\n':
                sys.exit(f"{where}: no whole record")
            if hashlib.sha256(body).hexdigest() != rest[:64].decode("ascii", "replace"):
                sys.exit(f"{where}: the hash does not hold")
            if not body.startswith(b'{"seq":%d,' % (seq + 1)):
                sys.exit(f"{where}: record {seq + 1} is missing")
            if not body.endswith(b',"prev":"%s"' % prev.encode()):
                sys.exit(f"{where}: does not follow the record before")
            prev, seq = rest[:64].decode(), seq + 1
print(f"{seq} records, the last hash is {prev}")
