# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The command with one thing in it changed: how a test reaches a moment, a limit or a failure that no option reaches.

A driver is a Python program that imports the package, carries out the change and then calls the command's own entry.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from support.launch import ROOT, Lab
from support.outcome import Done

_BEGIN = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from aasm import cli
"""
_END = """
sys.exit(cli.main(sys.argv[1:]))
"""

# Stands before what the supervisor has the launcher's interpreter carry out: the launcher is imported and changed.
_BOOT = """
import os, sys
sys.path.insert(0, sys.argv[1])
launcher = __import__(sys.argv[2].split(".")[0] + ".launcher", fromlist=["serve"])
del sys.path[0]
{change}
"""

# Carries out an action before one step of the launcher, or after it.
_STEP = """
def with_(name, step, wanted={step!r}, after={after!r}):
    if name != wanted:
        return name, step
    def changed(launch):
        if after:
            step(launch)
        act()
        if not after:
            step(launch)
    return name, changed
def act():
    {action}
launcher.STEPS = tuple(with_(*entry) for entry in launcher.STEPS)
"""

# The supervisor fails, in a way that nobody foresaw, once the program has made the file "up" where the command was run.
FAILS_WHEN_UP = """
import os
from aasm.supervise import loop
whole = loop.Supervisor._clocks
def clocks(self):
    whole(self)
    if os.path.exists("up"):
        raise RuntimeError("planned failure")
loop.Supervisor._clocks = clocks
"""


def driver(change: str, *args: str) -> list[str]:
    """Return the command line of `aasm ARGS` with the Python statements `change` carried out first."""
    return [sys.executable, "-I", "-c", _BEGIN + change + _END, *args]


def launcher_change(change: str) -> str:
    """Return the change for `driver` that carries out `change` in the launcher, where `launcher` is its module."""
    boot = _BOOT.format(change=change)
    return f"from aasm.supervise import spawn\nspawn.BOOT = {boot!r} + spawn.BOOT\n"


def at_step(step: str, action: str, after: bool = False) -> str:
    """Return the change for `driver` that carries out `action` in the launcher, before (or after) one of its steps."""
    return launcher_change(_STEP.format(step=step, after=after, action=action))


def run(lab: Lab, change: str, *args: str, env: Any = None, cwd: Any = None, **more: Any) -> Done[str]:
    """Run a driver to its end, as the lab runs the command."""
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        driver(change, *args), capture_output=True, text=True, errors="surrogateescape", timeout=60,
        **lab.options(env, cwd), **more,
    )  # fmt: skip
