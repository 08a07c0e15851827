# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The state directory: which one it is. How it is opened is tested where it is used, by the store and the ledger.

What a preview foresees of it is in test_foresee.py.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Dict, Type

import pytest

from aasm.errors import AasmError, HostError, UsageError
from aasm.state import (
    CANARY,
    expect_writable,
    foresee,
    foresee_file,
    open_canary,
    open_directory,
    open_file,
    state_dir,
)


@pytest.mark.parametrize(
    ("environ", "home", "expected"),
    [
        ({"AASM_STATE_DIR": "/srv/state", "XDG_STATE_HOME": "/x"}, "/h", "/srv/state"),
        ({"AASM_STATE_DIR": "/srv//state/./"}, "/h", "/srv/state"),
        ({"AASM_STATE_DIR": "", "XDG_STATE_HOME": "/x"}, "/h", "/x/aasm"),
        ({"XDG_STATE_HOME": "/x"}, "", "/x/aasm"),
        ({"XDG_STATE_HOME": "x"}, "/h", "/h/.local/state/aasm"),
        ({"XDG_STATE_HOME": ""}, "/h", "/h/.local/state/aasm"),
        ({}, "/h", "/h/.local/state/aasm"),
    ],
)
def test_which_directory_it_is(environ: Dict[str, str], home: str, expected: str) -> None:
    assert state_dir(environ, home) == expected


@pytest.mark.parametrize(
    ("environ", "home", "kind"),
    [
        ({"AASM_STATE_DIR": "state"}, "/h", UsageError),
        ({"AASM_STATE_DIR": "~/state"}, "/h", UsageError),
        ({"AASM_STATE_DIR": "/srv/../state"}, "/h", UsageError),
        ({}, "", HostError),
        ({"XDG_STATE_HOME": "x"}, "h", HostError),
    ],
)
def test_what_is_no_directory(environ: Dict[str, str], home: str, kind: Type[AasmError]) -> None:
    with pytest.raises(kind, match="AASM_STATE_DIR"):
        state_dir(environ, home)


def test_a_link_among_the_ancestors_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    directory = open_directory(str(tmp_path / "link" / "state"))
    os.close(directory.descriptor)
    assert (tmp_path / "real" / "state").is_dir()


def test_a_trailing_slash_does_not_hide_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(HostError, match="symbolic link"):
        open_directory(f"{tmp_path}/link/")


def test_an_ancestor_that_leads_nowhere_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(HostError, match="No such file"):
        open_directory(str(tmp_path / "link" / "state"))


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "writable"])
def test_a_file_that_cannot_be_trusted(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "file"
    if kind == "link":
        place.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.write_bytes(b"")
        place.chmod(0o666)
    tmp_path.chmod(0o700)
    directory = open_directory(str(tmp_path))
    before = sorted(os.listdir("/proc/self/fd"))
    try:
        with pytest.raises(HostError, match="file"):
            open_file(directory, "file", os.O_RDWR)
        assert sorted(os.listdir("/proc/self/fd")) == before
    finally:
        os.close(directory.descriptor)
    assert not (tmp_path / "elsewhere").exists()


def test_a_state_directory_that_is_there_is_returned_open_and_one_that_is_not_is_none(tmp_path: Path) -> None:
    assert foresee(str(tmp_path / "state")) is None and os.listdir(tmp_path) == []
    (tmp_path / "state").mkdir(mode=0o700)
    found = foresee(f"{tmp_path}/./state/")
    assert found is not None and found.path == str(tmp_path / "state")
    try:
        assert os.path.samestat(os.fstat(found.descriptor), os.stat(tmp_path / "state"))
        assert not os.get_inheritable(found.descriptor)
        assert foresee_file(found, "absent", os.O_RDWR) is None and os.listdir(tmp_path / "state") == []
    finally:
        os.close(found.descriptor)


def test_a_file_that_is_there_is_returned_open_as_it_was_asked_for(tmp_path: Path) -> None:
    directory = open_directory(str(tmp_path / "state"))
    (tmp_path / "state" / "file").write_text("kept")
    try:
        descriptor = foresee_file(directory, "file", os.O_RDWR)
        assert descriptor is not None and not os.get_inheritable(descriptor)
        assert os.read(descriptor, 9) == b"kept" and os.write(descriptor, b"") == 0
        os.close(descriptor)
    finally:
        os.close(directory.descriptor)


@pytest.mark.parametrize("path", ["state", "a/../b", ".."])
def test_a_path_that_is_not_absolute_says_how_to_write_it(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        state_dir({"AASM_STATE_DIR": path}, "/h")
    assert caught.value.remedy == "write it whole" and f"`{path}`" in str(caught.value)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o200, 0o000])
def test_the_canary_is_ours_to_read_and_write_whatever_a_program_made_of_its_mode(mode: int, tmp_path: Path) -> None:
    """Otherwise the controls before the boundary would fail, and nothing could be shown by what fails after it."""
    if mode != 0o600 and os.geteuid() != 0:
        mode = 0o600  # what cannot be opened is refused, and another test says so
    open_canary(str(tmp_path / "state"))
    path = tmp_path / "state" / CANARY
    path.write_text("kept")
    path.chmod(mode)
    open_canary(str(tmp_path / "state"))
    assert path.stat().st_mode & 0o7777 == 0o600 and path.read_text() == "kept"


def test_a_file_system_that_is_mounted_to_be_read_is_called_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_writable(str(tmp_path))  # the control
    found = os.statvfs(tmp_path)
    flags = found.f_flag | os.ST_RDONLY
    monkeypatch.setattr("aasm.state.os.statvfs", lambda path: os.statvfs_result((*found[:8], flags, found[9])))
    with pytest.raises(OSError) as caught:
        expect_writable(str(tmp_path))
    assert caught.value.errno == errno.EROFS
    with pytest.raises(HostError) as refused:
        foresee(str(tmp_path / "a" / "state"))
    assert (refused.value.what, refused.value.where) == ("Read-only file system", str(tmp_path / "a" / "state"))
