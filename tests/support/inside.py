# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that run inside the boundary and tell, as one line of JSON, what each of their attempts gave.

`PRELUDE` is put in front of every such program. `attempt` and `call` answer "ok" or the name of an errno, so one child
can try a whole table and the same child can run without the boundary as the control.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from support.launch import PYTHON, Lab

PRELUDE = """
import errno, json, os, sys
def name_of(number):
    return errno.errorcode.get(number, str(number))
def attempt(do, *args, **more):
    try:
        do(*args, **more)
    except OSError as problem:
        return name_of(problem.errno)
    return "ok"
def value(do, *args):
    try:
        return do(*args)
    except OSError as problem:
        return name_of(problem.errno)
_libc = None
def raw(number, *args):
    import ctypes
    global _libc
    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
        _libc.syscall.restype = ctypes.c_long
    result = _libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result
def call(number, *args):
    return attempt(raw, number, *args)
def tell(**found):
    sys.stdout.write(json.dumps(found) + "\\n")
    sys.stdout.flush()
"""

# What a policy has to grant so that PYTHON runs inside.
SYSTEM = ("${system}", os.path.realpath(os.path.dirname(os.path.dirname(PYTHON[0]))))


class Run(NamedTuple):
    """What a program told, and how it ended."""

    told: dict[str, Any]
    code: int
    stderr: str


def program(body: str, *args: str) -> tuple[str, ...]:
    """Return the command line of a program for inside: the prelude, then `body`, with `args` from sys.argv[1] on."""
    return (*PYTHON, "-c", PRELUDE + body, *args)


def read(done: subprocess.CompletedProcess[str]) -> Run:
    """Return what a finished program told; nothing when it told nothing."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return Run(json.loads(lines[-1]) if lines else {}, done.returncode, done.stderr)


def bare(lab: Lab, body: str, *args: str, **more: Any) -> Run:
    """Run a program without the boundary: the control."""
    return read(lab.bare(*program(body, *args), **more))


def held(lab: Lab, body: str, *args: str, options: Sequence[str] = (), **more: Any) -> Run:
    """Run a program inside the boundary that `lab.confined` makes."""
    return read(lab.confined(*program(body, *args), options=options, **more))


def policy_file(lab: Lab, text: str, name: str = "policy.yaml") -> Path:
    """Write a policy beside the workspace, where no grant reaches it."""
    return lab.file(lab.top / name, text)


def policy(**sections: Any) -> str:
    """Return a policy with these sections; JSON is a policy format as well as YAML."""
    return json.dumps(sections)


def grants(read: Sequence[object] | None = (), write: Sequence[object] | None = ()) -> dict[str, Any]:
    """Return the section `filesystem`: SYSTEM and `read` may be read, `write` written; None leaves a list out."""
    made: dict[str, Any] = {}
    if read is not None:
        made["read"] = {"allow": [*SYSTEM, *map(str, read)]}
    if write is not None:
        made["write"] = {"allow": [str(path) for path in write]}
    return made


def launch(lab: Lab, text: str, *argv: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run `argv` under the policy `text`."""
    path = policy_file(lab, text, "policy.json")
    return lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", *argv, **more)


def under(lab: Lab, text: str, body: str, *args: str, **more: Any) -> Run:
    """Run a program for inside under the policy `text`."""
    return read(launch(lab, text, *program(body, *args), **more))


def snapshot(top: Path) -> Mapping[str, tuple[int, str]]:
    """Return every name beneath `top` with its mode and content: two of them are equal when nothing was changed."""
    found = {}
    for path in (top, *sorted(top.rglob("*"))):
        mode = path.lstat().st_mode
        content = path.read_text() if stat.S_ISREG(mode) else os.readlink(path) if stat.S_ISLNK(mode) else ""
        found[str(path.relative_to(top))] = (mode, content)
    return found
