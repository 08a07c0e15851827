# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""When the launcher is started: after the command line is understood and only for a boundary; never for a dry run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aasm import cli
from aasm.cli import run as cli_run
from aasm.devtools import ExecAdapter
from aasm.supervise import begin as begin_module


class Started(Exception):
    """The launcher would have been started."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the start of a launcher be seen, and nothing be done to the process of the tests."""

    def begin(confined: bool) -> None:
        raise Started if confined else KeyboardInterrupt

    monkeypatch.setattr(begin_module, "begin", begin)
    monkeypatch.setenv("AASM_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(cli, "_fill_streams", lambda: None)


def run(*args: str) -> int:
    return cli_run.main(ExecAdapter(), list(args), imports_cwd=False)


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("isolation", ["process", "auto"])
def test_a_boundary_starts_it_before_the_policy_is_looked_for(isolation: str, tmp_path: Path) -> None:
    with pytest.raises(Started):
        run("--isolation", isolation, "--policy", str(tmp_path / "absent"), "--", "true")


@pytest.mark.usefixtures("started")
def test_no_boundary_starts_none() -> None:
    with pytest.raises(KeyboardInterrupt):
        run("--isolation", "none", "--system", "--", "true")


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("isolation", ["none", "process", "auto"])
def test_a_dry_run_starts_none_and_leaves_nothing(
    isolation: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--dry-run", "--isolation", isolation, "--system", "--", "true") == 0
    assert "--- aasm run dry-run ---" in capfd.readouterr().out
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("args", [["--isolation", "process"], ["--isolation", "process", "--nonsense", "--", "true"]])
def test_a_command_line_that_is_not_understood_starts_none(args: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "exec", *args]) == 2
    assert capfd.readouterr().err.count("\n") == 1
