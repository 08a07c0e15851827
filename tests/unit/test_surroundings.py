# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the operator's process gives a run, also where it gives less than usual."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from aasm.errors import HostError, InternalError, RefusalError, SupervisionError, UsageError
from aasm.surroundings import refusable, surroundings


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Start in a folder of the test's own, with a home and a state directory that are known."""
    folder = Path(os.path.realpath(tmp_path)) / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", "/some//home/")
    monkeypatch.setenv("AASM_STATE_DIR", "/some/state")
    return folder


def test_everything_is_known_in_the_usual_case(here: Path) -> None:
    found = surroundings()
    assert (found.cwd, found.home, found.state) == (str(here), "/some/home", "/some/state")
    assert dict(found.environ) == dict(os.environb)
    assert found.variable("HOME") == "/some//home/" and found.variable("AASM_NO_SUCH_NAME") is None


def test_a_working_directory_that_is_gone_is_no_reason_to_know_nothing_else(here: Path) -> None:
    usual = surroundings()
    here.rmdir()
    with pytest.raises(FileNotFoundError):  # the control: it is gone
        os.getcwd()
    assert surroundings() == usual._replace(cwd="")


def test_one_that_cannot_be_told_is_like_one_that_is_gone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def getcwd() -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("aasm.surroundings.os.getcwd", getcwd)
    assert surroundings().cwd == ""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("value", [None, "", "relative", "~"])
def test_a_home_that_is_no_path_is_that_of_the_user(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME") if value is None else monkeypatch.setenv("HOME", value)
    assert surroundings().home == pwd.getpwuid(os.getuid()).pw_dir

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert surroundings().home == ""
    monkeypatch.delenv("AASM_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with pytest.raises(HostError, match="no home directory is known"):
        surroundings()


@pytest.mark.usefixtures("here")
def test_a_state_directory_that_is_no_path_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AASM_STATE_DIR", "relative")
    with pytest.raises(UsageError, match="AASM_STATE_DIR"):
        surroundings()


def test_a_preview_shows_what_a_launch_refuses_and_neither_misuse_nor_our_own_defects() -> None:
    assert refusable(HostError("a")) and refusable(RefusalError("a"))
    assert not refusable(UsageError("a")) and not refusable(InternalError("a"))
    assert SupervisionError("a").exit_code == HostError("a").exit_code
