# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A Python that is too old is told so in one line, by each file that somebody can start."""

from __future__ import annotations

import subprocess
import sys

import pytest
from project import ROOT

STARTS = ("aasm/__main__.py", "aasm/receipt/__main__.py", "tools/zip_main.py")
CHILD = "import runpy, sys; sys.version_info = (3, 8, 18); runpy.run_path(sys.argv[1], run_name='__main__')"


@pytest.mark.parametrize("name", STARTS)
def test_an_old_python_is_one_line(name: str) -> None:
    command = [sys.executable, "-I", "-S", "-B", "-c", CHILD, str(ROOT / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "error: this is Python 3.8; start it with Python 3.9 or a later one\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("name", ["build.py", "sbom.py"])
def test_so_it_is_by_the_tools(name: str) -> None:
    command = [sys.executable, "-I", "-S", "-B", "-c", CHILD, str(ROOT / "tools" / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: this is Python ") and done.stderr.endswith("; take 3.9 or a later one\n")
