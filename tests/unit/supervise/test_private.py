# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The private directory is ours alone, and whatever a program left in it is removed."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from aasm.errors import HostError
from aasm.supervise import private


def test_it_is_made_for_us_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = private.create(str(tmp_path))
    finally:
        os.umask(before)
    for path in (made, *(os.path.join(made, name) for name in os.listdir(made))):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    private.remove(made)
    assert not os.path.exists(made)


def test_two_are_never_the_same(tmp_path: Path) -> None:
    assert private.create(str(tmp_path)) != private.create(str(tmp_path))


def test_a_place_that_does_not_take_it_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="TMPDIR"):
        private.create(str(tmp_path / "absent"))


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_nothing_stays_behind_when_it_cannot_be_made_whole(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, made = os.mkdir, []

    def mkdir(path: str, mode: int) -> None:
        made.append(path)
        if len(made) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(path, mode)

    monkeypatch.setattr(private.os, "mkdir", mkdir)
    with pytest.raises(HostError) as caught:
        private.create(str(tmp_path))
    assert os.listdir(tmp_path) == []
    assert (caught.value.where, len(made)) == (str(tmp_path), at)
    assert "No space left on device" in caught.value.what and "TMPDIR" in caught.value.remedy
    monkeypatch.setattr(private.os, "mkdir", whole)
    kept = private.create(str(tmp_path))
    assert os.listdir(tmp_path) == [os.path.basename(kept)]  # the control


def test_what_lies_beside_it_is_left_alone_when_it_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = private.create(str(tmp_path))
    monkeypatch.setattr(private.os, "urandom", lambda _: bytes.fromhex(other.rpartition("-")[2]))
    with pytest.raises(HostError, match="File exists"):
        private.create(str(tmp_path))
    assert sorted(os.listdir(other)) == ["home", "run", "tmp"]


def test_everything_a_program_can_leave_is_removed(tmp_path: Path) -> None:
    made = Path(private.create(str(tmp_path)))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (made / "tmp" / "file").write_text("x")
    (made / "tmp" / "link").symlink_to(outside)
    os.link(outside / "kept", made / "home" / "hard")
    os.mkfifo(made / "home" / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(made / "run" / "s"))
    locked = made / "home" / "locked"
    (locked / "inner").mkdir(parents=True)
    (locked / "inner" / "file").write_text("x")
    (locked / "inner").chmod(0)
    locked.chmod(0)
    (made / os.fsdecode(b"\xff\n odd")).mkdir()
    (made / "aasm.1").mkdir()
    private.remove(str(made))
    assert not made.exists()
    assert (outside / "kept").read_text() == "x"


def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    made = private.create(str(tmp_path))
    here = os.open(os.path.join(made, "tmp"), os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d" * 50, dir_fd=here)
        below = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    private.remove(made)
    assert not os.path.exists(made)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    made = private.create(str(tmp_path))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "kept").write_text("x")
    os.rename(made, tmp_path / "moved")
    os.symlink(victim, made)
    with pytest.raises(OSError):
        private.remove(made)
    assert (victim / "kept").exists()


@pytest.mark.parametrize(("variable", "expected"), [(None, "/tmp"), ("relative", "/tmp"), ("/", "/"), ("", "/tmp")])
def test_it_lies_in_the_systems_temporary_directory(variable: str | None, expected: str) -> None:
    assert private.parent(variable) == os.path.realpath(expected)


def test_the_variables_point_into_it_and_the_real_home_stays_when_it_is_used() -> None:
    inside = private.variables("/p", None)
    assert inside[b"HOME"] == b"/p/home" and inside[b"TMPDIR"] == b"/p/tmp"
    assert inside[b"XDG_CACHE_HOME"] == b"/p/home/.cache"
    real = private.variables("/p", "/h/me")
    assert real[b"HOME"] == b"/h/me" and real[b"TMPDIR"] == b"/p/tmp" and b"XDG_CACHE_HOME" not in real
