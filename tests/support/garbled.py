# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Hands many damaged orders to the launcher, each in a process of its own: `garbled.py ROOT DIRECTORY SEED`.

The whole order executes `echo ran`. Prints JSON: for each kind of damage how many orders were tried, which of them
executed the program, and every exit code and every line on standard error.
"""

from __future__ import annotations

import json
import os
import random
import struct
import sys
from typing import Dict, Iterator, List, Tuple

sys.path.insert(0, sys.argv[1])

from aasm import launcher  # noqa: E402
from aasm._sys import bpf, order as orders, syscalls  # noqa: E402
from aasm._sys.order import FIELD, HEADER, LARGEST  # noqa: E402

Case = Tuple[str, bytes]


def whole() -> bytes:
    """Return a small order that holds every kind of field but the notifying filter and limits."""
    arch, order = syscalls.host_arch(), orders.Order()
    found = os.stat("/")
    order.handled = (0, 0, 3, 0)
    order.filter_b = bpf.assemble(bpf.Filter(arch, {}, bpf.ALLOW, bpf.ALLOW, bpf.KILL_PROCESS, bpf.ALLOW))
    order.name, order.working_dir = b"garbled", (found.st_dev, found.st_ino, b"/")
    order.candidates, order.argv, order.environment = [b"/bin/echo"], [b"echo", b"ran"], [b"A=b"]
    return orders.encode(order)


def fields(data: bytes) -> List[Tuple[int, int]]:
    """Return (position, length) of every field, its tag and length included."""
    found, at = [], HEADER.size
    while at < len(data):
        size = FIELD.size + FIELD.unpack_from(data, at)[1]
        found.append((at, size))
        at += size
    return found


def framed(body: bytes) -> bytes:
    return HEADER.pack(orders.MAGIC, len(body)) + body


def truncated(data: bytes) -> Iterator[Case]:
    """Yield the order cut at every byte, with its old length and with one that fits."""
    first_argument = min(at for at, _ in fields(data) if data[at : at + 4] == b"argv")
    for end in range(len(data)):
        yield "truncated", data[:end]
        if HEADER.size <= end <= first_argument:
            yield "truncated, length corrected", framed(data[HEADER.size : end])


def structure_flipped(data: bytes, choose: random.Random) -> Iterator[Case]:
    """Yield the order with one bit wrong in each byte that is structure: magic, lengths, tags."""
    places = [*range(HEADER.size)]
    places += [at + step for at, _ in fields(data) for step in range(FIELD.size)]
    for at in places:
        yield "structure", flipped(data, at, choose.randrange(8))


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def anywhere_flipped(data: bytes, choose: random.Random) -> Iterator[Case]:
    for _ in range(60):
        yield "anywhere", flipped(data, choose.randrange(len(data)), choose.randrange(8))


def malformed(data: bytes) -> Iterator[Case]:
    """Yield orders that are well formed but for one thing."""
    body = data[HEADER.size :]
    parts = [data[at : at + size] for at, size in fields(data)]
    for part in parts:
        if part[:4] in orders.SINGLE:
            yield "a field twice", framed(body + part)
        if part[:4] in orders.NEEDED and sum(other[:4] == part[:4] for other in parts) == 1:
            yield "a field missing", framed(body.replace(part, b"", 1))
    yield "a field missing", framed(b"".join(part for part in parts if part[:4] != b"argv"))
    for tag in (b"what", b"\0\0\0\0", b"ARGV", b"fltC"):
        yield "an unknown field", framed(body + FIELD.pack(tag, 3) + b"abc")
    for tag, payload in ((b"hand", b""), (b"caps", b"1"), (b"rule", b"x" * 5), (b"limi", b"x" * 9), (b"mask", b"")):
        rest = b"".join(part for part in parts if part[:4] != tag)
        yield "a field of the wrong length", framed(rest + FIELD.pack(tag, len(payload)) + payload)
    yield "a filter of the wrong length", framed(body.replace(FIELD.pack(b"fltB", 56), FIELD.pack(b"fltB", 55)))
    for tag in (b"argv", b"envv", b"exec", b"cnyR"):
        yield "a zero byte", framed(body + FIELD.pack(tag, 3) + b"a\0b")
    for length in (LARGEST + 1, 2**63, 2**64 - 1, LARGEST, len(body) + 1):
        yield "a length that is not there", HEADER.pack(orders.MAGIC, length) + body
    yield "an oversized field", framed(body + struct.pack("<4sI", b"envv", 0xFFFFFFFF) + b"abc")
    yield "another magic", b"aasm-or2" + data[8:]
    yield "nothing", b""


def noise(data: bytes, choose: random.Random) -> Iterator[Case]:
    for size in (1, 15, 16, 17, 100, 5000):
        yield "noise", bytes(choose.randrange(256) for _ in range(size))
        yield "noise behind a header", framed(bytes(choose.randrange(256) for _ in range(size)))


def carried_out(data: bytes, path: str) -> Tuple[int, str, str]:
    """Let the launcher have one order in a child; return its exit code (a signal as its negative) and its words."""
    with open(path + "/order", "wb") as stream:
        stream.write(data)
    with open(path + "/out", "w+b") as out, open(path + "/err", "w+b") as err:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os._exit(launcher.main(["--order", path + "/order"]))
        status = os.waitpid(pid, 0)[1]
        out.seek(0)
        err.seek(0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        return code, out.read().decode(errors="replace"), err.read().decode(errors="replace")


def main() -> None:
    choose, data, path = random.Random(int(sys.argv[3])), whole(), sys.argv[2]
    cases = [("whole", data), *truncated(data), *structure_flipped(data, choose), *malformed(data),
             *noise(data, choose), *anywhere_flipped(data, choose)]  # fmt: skip
    kinds: Dict[str, Dict[str, object]] = {}
    for kind, case in cases:
        code, out, err = carried_out(case, path)
        found = kinds.setdefault(kind, {"tried": 0, "executed": [], "codes": [], "errors": []})
        found["tried"] = int(str(found["tried"])) + 1
        for name, value in (("executed", case.hex() if out else None), ("codes", code), ("errors", err or None)):
            kept = found[name]
            assert isinstance(kept, list)
            if value is not None and value not in kept:
                kept.append(value)
    print(json.dumps(kinds))


if __name__ == "__main__":
    main()
