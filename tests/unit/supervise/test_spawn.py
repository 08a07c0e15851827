# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Which interpreter the launcher is started with, and that nothing may write what it calls itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from aasm import trusted
from aasm.errors import HostError
from aasm.supervise import spawn
from aasm.surroundings import Surroundings

RUNNING = os.readlink("/proc/self/exe")


def test_it_is_what_it_calls_itself() -> None:
    assert spawn.interpreter() == sys.executable


@pytest.mark.parametrize("name", ["", "/nowhere/python3", "/usr"])
def test_where_no_program_is_there_the_kernel_says_which_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", name)
    assert spawn.interpreter() == RUNNING


def test_a_file_that_is_not_to_be_executed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "python3"
    file.write_text("")
    monkeypatch.setattr(sys, "executable", str(file))
    assert spawn.interpreter() == RUNNING


def test_where_nothing_says_it_the_remedy_is_a_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(spawn.os, "readlink", absent)
    with pytest.raises(HostError, match="start it by its whole path"):
        spawn.interpreter()


@pytest.mark.parametrize("name", ["", "/nowhere/python3"])
def test_the_name_and_the_interpreter_are_both_trusted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", name)
    found = trusted._python(Surroundings({}, "", "/", "/state"))
    paths = [item.path for item in found if item.what == "the Python interpreter"]
    assert paths == [path for path in (name, RUNNING) if path]
    assert all(item.path.startswith("/") for item in found)
