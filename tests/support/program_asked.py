# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A program that is asked about with `aasm policy explain --program`, and launched."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import pytest
from support.inside import policy_file
from support.launch import PATH, Lab


class Both(NamedTuple):
    """What explain printed (None: one error line instead), its exit code, and how the launch ended."""

    answers: Optional[List[Dict[str, Any]]]
    code: int
    said: str
    done: "subprocess.CompletedProcess[str]"

    @property
    def subjects(self) -> List[str]:
        return [answer["subject"] for answer in self.answers or []]

    def expect(self, starts: bool) -> None:
        assert (self.code == 0, self.done.returncode == 0) == (starts, starts), (self.said, self.done.stderr)


def command(lab: Lab, before: Sequence[str], *args: str, env: Dict[str, str]) -> "subprocess.CompletedProcess[str]":
    options = lab.options(env) if not before else {"cwd": lab.workspace, "env": lab.environment(**env)}
    return subprocess.run([*before, *lab.command(*args)], capture_output=True, text=True, timeout=60, **options)


def both(lab: Lab, text: str, *argv: str, before: Sequence[str] = (), **env: str) -> Both:
    """Ask about a program, and launch it."""
    path = str(policy_file(lab, text, "policy.json"))
    words = ("--policy", path, "--workdir", str(lab.workspace), "--program", argv[0], "--json")
    told = command(lab, before, "policy", "explain", *words, env=env)
    done = command(lab, before, "run", "exec", "--isolation", "process", "--policy", path, "--", *argv, env=env)
    answers = json.loads(told.stdout)["answers"] if told.stdout else None
    return Both(answers, told.returncode, told.stdout + told.stderr, done)


def copied(name: str, path: Path) -> str:
    """Copy a program of this host."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(shutil.which(name, path=PATH) or name), path)
    path.chmod(0o755)
    return str(path)


def mark(path: str, permitted: int, effective: bool) -> None:
    """Give a file capabilities: struct vfs_cap_data of linux/capability.h, revision 2."""
    data = struct.pack("<5I", 0x02000000 | effective, permitted & 0xFFFFFFFF, 0, permitted >> 32, 0)
    try:
        os.setxattr(path, "security.capability", data)
    except OSError as problem:
        pytest.skip(f"no capabilities can be given to files here: {problem}")
