# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The state directory: which one it is. How it is opened is tested where it is used, by the store and the ledger."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict, Type

import pytest

from aasm.errors import AasmError, HostError, UsageError
from aasm.state import open_directory, open_file, state_dir


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
