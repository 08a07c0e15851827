# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The descriptors 0, 1 and 2 are made to exist, in a process of its own for each case."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import pytest
from project import ROOT

# Standard error of the parent stays at 9, to tell; the file that is opened first stands for whatever comes next.
CHILD = """
import json, os, stat, sys
sys.path.insert(0, sys.argv[1])
from aasm._sys import streams
streams.NOWHERE = sys.argv[3]
os.dup2(2, 9)
for number in json.loads(sys.argv[2]):
    os.close(number)
try:
    found = {"filled": streams.fill(), "next": os.open("/", os.O_RDONLY)}
    found["inherited"] = [number for number in (0, 1, 2) if os.get_inheritable(number)]
except OSError as problem:
    found = {"errno": problem.errno, "file": problem.filename}
os.write(9, json.dumps(found).encode())
"""


def told(closed: List[int], nowhere: str = "/dev/null") -> Any:
    command = [sys.executable, "-I", "-S", "-c", CHILD, str(ROOT), json.dumps(closed), nowhere]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr)


@pytest.mark.parametrize("closed", [[], [0], [1], [2], [0, 2], [0, 1, 2]], ids=str)
def test_what_is_closed_is_filled_and_the_next_file_is_none_of_them(closed: List[int]) -> None:
    found = told(closed)
    assert found["filled"] == closed and found["next"] > 2 and found["inherited"] == [0, 1, 2]


def test_where_nothing_is_closed_nothing_is_opened() -> None:
    assert told([], "/dev/null/absent")["filled"] == []


def test_without_a_device_it_fails_and_names_it(tmp_path: Path) -> None:
    file = tmp_path / "null"
    assert told([0], str(file)) == {"errno": errno.ENOENT, "file": str(file)}
    file.write_text("")
    assert told([1], str(file)) == {"errno": errno.ENODEV, "file": str(file)}
