#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""How long one launch takes from each kind of copy, as a ratio to the checkout: installed, not compiled, one archive.

    python3 tools/bench/copies.py [ROUNDS]

A round launches `true` once from each copy, one after the other, so that a busy machine slows them all. Printed is the
median of processor time (the command, its launcher and the program together) and of wall time. Standard library only;
it writes to a temporary directory and nowhere else.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Dict, List, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
for _place in (str(ROOT), str(ROOT / "tools")):
    if _place not in sys.path:
        sys.path.insert(0, _place)

import build_backend  # noqa: E402
import command  # noqa: E402
import install  # noqa: E402

LAUNCH = ["run", "exec", "--isolation", "process", "--system", "--report", "never", "--", "true"]


class Took(NamedTuple):
    """Seconds of one launch."""

    processor: float
    wall: float


def copies(top: Path) -> Dict[str, List[str]]:
    """Make each kind of copy beneath `top` and return the words that start it."""
    python = [sys.executable, "-I"]
    install.install(install.places(str(top / "installed")), "")
    archive = top / "aasm.pyz"
    archive.write_bytes(build_backend.pyz(ROOT))
    bare = shutil.copytree(ROOT / "aasm", top / "bare" / "aasm", ignore=shutil.ignore_patterns("__pycache__"))
    return {
        "the checkout, compiled": [*python, str(ROOT / "aasm")],
        "installed (tools/install.py)": [str(top / "installed" / "bin" / "aasm")],
        "a copy, not compiled (-B)": [*python, "-B", str(bare)],
        "aasm.pyz": [*python, str(archive)],
    }


def launched(command: List[str], state: Path) -> Took:
    """Launch `true` and return what it took. CalledProcessError when it did not run."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    variables = {"PATH": os.environ.get("PATH", os.defpath), "AASM_STATE_DIR": str(state), "HOME": str(state)}
    subprocess.run([*command, *LAUNCH], env=variables, cwd="/", check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/bench/copies.py", __doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=15, metavar="ROUNDS", help="how many (default: 15)")
    rounds = parser.parse_args(argv).rounds
    if rounds < 1:
        parser.error("ROUNDS must be 1 or more")
    with tempfile.TemporaryDirectory(prefix="aasm-bench-") as top:
        commands = copies(Path(top))
        state = Path(top) / "state"
        state.mkdir(0o700)
        for words in commands.values():
            launched(words, state)  # the first compiles, and warms the caches
        took = [{name: launched(words, state) for name, words in commands.items()} for _ in range(rounds)]
    print(f"Python {sys.version.split()[0]}, median of {rounds} launches each, in milliseconds")
    first = None
    for name in commands:
        processor, wall = (median(getattr(one[name], field) for one in took) for field in Took._fields)
        first = first or wall
        print(f"{name:30} processor {processor * 1000:6.0f}   wall {wall * 1000:6.0f}   {wall / first:4.1f} times")
    return 0


if __name__ == "__main__":
    sys.exit(command.run(main))
