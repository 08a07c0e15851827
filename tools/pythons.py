# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the Pythons of this host and makes one virtual environment for each, for tools/check.py.

Every environment lies under .venv-check/ of this tree; nothing is ever installed anywhere else. One that was not
finished, or was made for another interpreter or other requirements, is made anew.
"""

from __future__ import annotations

import fcntl
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Tuple

from metadata import read_tables
from project import read_file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENVS = os.path.join(ROOT, ".venv-check")
INSTALL_SECONDS = 600

# What an interpreter says of itself. `base` is the interpreter beneath a virtual environment.
PROBE = """
import importlib.util, json, platform, sys
print(json.dumps([
    "%d.%d" % sys.version_info[:2], platform.python_version(), sys.executable,
    getattr(sys, "_base_executable", None) or sys.executable,
    bool(importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")),
    bool(importlib.util.find_spec("pytest")), sys.implementation.name,
]))
"""

_print_lock = threading.Lock()


class Python(NamedTuple):
    """An interpreter, as PROBE described it."""

    minor: str
    version: str
    program: str
    base: str
    makes_venv: bool
    has_pytest: bool
    implementation: str


class SetupError(Exception):
    """A Python cannot be used for the tests. Says which, why, and the remedy."""


def say(text: str) -> None:
    """Print `text` at once, whole, also while two Pythons run side by side."""
    with _print_lock:
        print(text, flush=True)


# What this tree asks for, from pyproject.toml.


@functools.lru_cache(maxsize=None)
def requirements() -> Tuple[str, ...]:
    """Return what the tests need: the list `dev` of the optional dependencies."""
    return tuple(read_tables(_asked_for())["project.optional-dependencies"]["dev"])


@functools.lru_cache(maxsize=None)
def supported() -> Tuple[str, ...]:
    """Return the versions that the classifiers name: ("3.9", "3.10", ...)."""
    names = read_tables(_asked_for())["project"]["classifiers"]
    last = [name.rpartition(" :: ")[2] for name in names if name.startswith("Programming Language :: Python :: 3.")]
    return tuple(last)


def _asked_for() -> str:
    return read_file(Path(ROOT, "pyproject.toml"), "pyproject.toml").decode("utf-8")


# Finding the Pythons.


def candidates(minor: str) -> Iterator[str]:
    """Yield where a Python of this minor version may be, the best place first."""
    yield sys.executable
    name = f"python{minor}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield os.path.join(folder, name)
    for root in (os.environ.get("PYENV_ROOT", ""), os.path.expanduser("~/.pyenv")):
        if root:
            yield from sorted(glob.glob(os.path.join(glob.escape(root), "versions", f"{minor}*", "bin", name)))[::-1]
    for folder in ("/usr/bin", "/usr/local/bin", *sorted(glob.glob("/opt/*/bin"))):
        yield os.path.join(folder, name)


@functools.lru_cache(maxsize=None)
def describe(path: str) -> Optional[Python]:
    """Return what the interpreter at `path` says of itself; None when there is none, or it does not run."""
    if not os.access(path, os.X_OK):
        return None
    try:
        done = subprocess.run([path, "-E", "-c", PROBE], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
        return Python(*json.loads(done.stdout)) if done.returncode == 0 else None
    except (OSError, ValueError, TypeError, subprocess.TimeoutExpired):
        return None


def find(minor: str) -> Optional[Python]:
    """Return the first CPython of this version that can run tests, else the first that runs at all, else None."""
    unfit = None
    for path in candidates(minor):
        python = describe(path)
        if python and (python.minor, python.implementation) == (minor, "cpython"):
            if python.makes_venv or python.has_pytest:
                return python
            unfit = unfit or python
    return unfit


# The virtual environments.


def environment(python: Python) -> str:
    """Return an interpreter of this version that has what the tests need. Raises SetupError."""
    home = os.path.join(VENVS, python.minor)
    os.makedirs(VENVS, exist_ok=True)
    with open(f"{home}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of this command in the same tree waits
        program = os.path.join(home, "bin", "python")
        if intact(home, program, stamp(python)):
            return program
        problem = create(python, home, program)
    if problem and python.has_pytest:
        say(f"Python {python.version}: {problem}; using the pytest that {python.program} has")
        return python.program
    if problem:
        raise SetupError(f"Python {python.version} ({python.base}): {problem}")
    return program


def stamp(python: Python) -> str:
    """Return the text that a finished environment carries; any other means that it is made anew."""
    return "\n".join([python.version, python.base, *requirements(), ""])


def intact(home: str, program: str, wanted: str) -> bool:
    """Tell whether the environment was finished for this very interpreter and still runs pytest."""
    try:
        with open(os.path.join(home, "stamp"), encoding="utf-8") as file:
            found = file.read()
    except OSError:
        return False
    described = describe(program)
    return found == wanted and described is not None and described.has_pytest


def create(python: Python, home: str, program: str) -> str:
    """Make the environment anew. Return the empty text, or what is wrong and what to do about it."""
    shutil.rmtree(home, ignore_errors=True)
    if not python.makes_venv:
        return "its module venv or ensurepip is missing; install it (Debian, Ubuntu: apt-get install python3-venv)"
    say(f"Python {python.version}: installing {', '.join(requirements())} into {os.path.relpath(home, ROOT)}")
    made = _install_step([python.base, "-I", "-m", "venv", home])
    if made:
        return f"no virtual environment can be made: {made}"
    pip = [program, "-I", "-m", "pip", "--disable-pip-version-check", "--quiet", "--retries", "2", "install"]
    installed = _install_step([*pip, *requirements()])
    if installed:
        return f"pip: {installed}; let pip reach an index, or install pytest for {python.program}"
    describe.cache_clear()  # what was asked of this path before is no longer true
    with open(os.path.join(home, "stamp"), "w", encoding="utf-8") as file:
        file.write(stamp(python))
    return ""


def _install_step(command: List[str]) -> str:
    """Run `command`; return the empty text, or the last line that it left."""
    steps = dict(os.environ, PIP_USER="0")  # a user's pip.conf may say `user`, which no environment takes
    try:
        done = subprocess.run(
            command, env=steps, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=INSTALL_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else (lines or [f"exit code {done.returncode}"])[-1]
