# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts with nothing but Python and libc, and with even less: every command behaves there, or refuses in one line.

support/rootfs.py makes them. The user has no entry anywhere, no HOME, no locale, no terminal, and umask 077; code and
root are read-only, /proc shows processes alone, and /dev and /etc are not there.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Tuple

import pytest
from support.launch import domain
from support.outcome import ALL_HELD, canaries
from support.rootfs import AASM, PLACE, PROC, PYTHON, TMP, UID, Restricted

from aasm.receipt.verify import verify_file

Changes = Dict[str, Any]

# --- what is asked of each host -----------------------------------------------------------------------------

EXEC = ("run", "exec", "--isolation", "process", "--report", "never", "--system", "--write", f"{PLACE}/ws")
UNCONFINED = ("run", "exec", "--isolation", "none", "--report", "never", "--system")
CHILD = """
import errno, json, os, socket
def attempt(do, *args):
    try:
        do(*args)
    except OSError as problem:
        return errno.errorcode[problem.errno]
    return "ok"
def read(path):
    with open(path) as stream:
        stream.read()
def write(path):
    with open(path, "a") as stream:
        stream.write("x")
told = {
    "read outside": attempt(read, "/place/outside/secret"),
    "write outside": attempt(write, "/place/outside/secret"),
    "create outside": attempt(write, "/place/outside/new"),
    "list outside": attempt(os.listdir, "/place/outside"),
    "create in state": attempt(write, "/place/state/planted"),
    "open a socket": attempt(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM),
    "write in ws": attempt(write, "/place/ws/written"),
    "read a program": attempt(read, "/usr/lib/libread"),
}
with open("/place/ws/told", "w") as stream:
    json.dump({**told, "umask": os.umask(0)}, stream)
"""
PROGRAM = (PYTHON, "-I", "-S", "-c", CHILD)
# What is the same with and without a boundary: errors of the host's own too.
SIBLINGS = {"write in ws": "ok", "read a program": "ENOENT", "umask": 0o077}
ATTEMPTS = ("read outside", "write outside", "create outside", "list outside", "create in state")
FREE = {**SIBLINGS, **dict.fromkeys((*ATTEMPTS, "open a socket"), "ok")}
HELD = {**SIBLINGS, **dict.fromkeys(ATTEMPTS, "EACCES"), "open a socket": "EAFNOSUPPORT"}

STATE = {"AASM_STATE_DIR": f"{PLACE}/state"}
RUNS: Mapping[str, Changes] = {
    "nothing but /proc and /tmp": {},
    "--isolation auto, a whole /proc": {"isolation": "auto", "mounts": [["proc", "/proc", 0, ""], TMP]},
    "streams closed, /dev/null": {"devices": ["null"], "closed": [0, 1, 2]},
    "LC_ALL=C, /tmp without exec": {
        "environment": {**STATE, "LC_ALL": "C"}, "mounts": [PROC, ["tmpfs", "/tmp", 8, "mode=1777"]],
    },
    "a locale that is not there, no /tmp but TMPDIR": {
        "environment": {**STATE, "LC_ALL": "xx_XX.nothing", "TMPDIR": f"{PLACE}/tmp"}, "mounts": [PROC],
    },
    "as process 1": {"as_init": True},
    "root": {"uid": 0},
    "the limits of docs/kernel-support.md": {
        "limits": {"RLIMIT_NOFILE": 12, "RLIMIT_FSIZE": 64 << 10, "RLIMIT_DATA": 16 << 20, "RLIMIT_AS": 32 << 20},
    },
    "no name and no PATH, in /": {"argv0": "python3", "directory": "/"},
    "the name of nothing": {"argv0": "/nowhere/python3"},
}  # fmt: skip


def command(host: Changes) -> Tuple[List[str], Changes]:
    """Return the launch of a host, with the interpreter under the name that it has there, and the rest of the host."""
    rest = {name: value for name, value in host.items() if name not in ("argv0", "isolation")}
    launch = [host.get("isolation", word) if word == "process" else word for word in EXEC]
    return [host.get("argv0", PYTHON), *AASM[1:], *launch, "--", *PROGRAM], {"program": PYTHON, **rest}


def told(bare: Restricted) -> Dict[str, Any]:
    """Return what the program told, and take it away."""
    path = bare.place / "ws" / "told"
    found = json.loads(path.read_text())
    path.unlink()
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", list(RUNS))
def test_the_boundary_holds(bare: Restricted, name: str) -> None:
    bare = Restricted(bare.tree, bare.place, {"uid": RUNS[name].get("uid", UID)})
    control = bare.run(*PROGRAM)
    assert (control.returncode, told(bare)) == (0, FREE), control.stderr
    for left in ("outside/new", "state/planted"):
        (bare.place / left).unlink()
    before = bare.files()
    argv, changes = command(RUNS[name])
    done = bare.run(*argv, **changes)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert told(bare) == HELD
    after = bare.files()
    assert {path: after[path] for path in before if path != "ws/written"} == {
        path: data for path, data in before.items() if path != "ws/written"
    }
    receipt = bare.receipt()
    assert set(after) - set(before) == {receipt, "state/canary", "state/ledger.jsonl", "state/ledger.lock"}
    body = json.loads(after[receipt])["body"]
    assert canaries(body) == ALL_HELD
    assert [domain(body, one)["state"] for one in ("filesystem_read", "filesystem_write")] == ["prevention"] * 2
    assert bare.ledger() == ["registered", "ended"]
    assert list((bare.place / "tmp").iterdir()) == []
    inside = bare.aasm("receipt", "verify", f"{PLACE}/{receipt}")
    assert inside.returncode == 0 and "\ntrustworthy: true " in inside.stdout, inside.stderr
    assert verify_file(str(bare.place / receipt)).trustworthy
