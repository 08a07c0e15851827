# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where a path of a question leads, and what the kernel is asked about its type and mode."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aasm import answering
from aasm.errors import UsageError
from aasm.model.question import Action, Kind, Question


class Place:
    """Two directories with a few files."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        for name in ("ws/dir", "out/dir"):
            (self.top / name).mkdir(parents=True)
        for name in ("ws/file", "out/file"):
            (self.top / name).write_text("x")
            (self.top / name).chmod(0o755)
        (self.top / "out/link").symlink_to(self.top / "out/dir")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    "name, kind, depth, leads",
    [
        ("ws/file", Kind.FILE, 0, "ws/file"),
        ("ws//./dir/../file", Kind.FILE, 0, "ws/file"),
        ("out/link", Kind.DIRECTORY, 0, "out/dir"),
        ("out/link/../file", Kind.FILE, 0, "out/file"),
        ("out/link/new", Kind.MISSING, 1, "out/dir/new"),
        ("ws/new/newer/newest", Kind.MISSING, 3, "ws/new/newer/newest"),
        ("ws-evil", Kind.MISSING, 1, "ws-evil"),
        ("ws/file/below", Kind.IMPOSSIBLE, 1, "ws/file/below"),
        ("ws/new/../file", Kind.IMPOSSIBLE, 0, "ws/file"),
    ],
)
def test_a_path_is_followed_as_the_kernel_would(place: Place, name: str, kind: Kind, depth: int, leads: str) -> None:
    found = answering.target(f"{place.top}/{name}")
    assert (found.path, found.kind, found.depth) == (f"{place.top}/{leads}", kind, depth)
    assert bool(found.problem) is (kind is Kind.IMPOSSIBLE)


def test_the_identities_are_those_of_what_exists_and_of_everything_above(place: Place) -> None:
    found = answering.target(f"{place.top}/out/link/new/newer")
    above = [place.top / "out/dir", place.top / "out", place.top, *place.top.parents]
    assert found.identities == tuple((path.stat().st_dev, path.stat().st_ino) for path in above)


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_path_that_can_be_none_is_a_wrong_command_line(path: str) -> None:
    with pytest.raises(UsageError):
        answering.absolute(path, "/base")


@pytest.mark.parametrize("path, expected", [("a/b", "/base/a/b"), ("/a", "/a"), ("../x", "/base/../x")])
def test_a_relative_path_is_taken_from_where_the_program_would_start(path: str, expected: str) -> None:
    assert answering.absolute(path, "/base") == expected


# --- file modes, of this user -----------------------------------------------------------------------


def by_modes(place: Place, action: Action, name: str) -> str:
    path = f"{place.top}/{name}"
    return answering.by_modes(Question(action, path, answering.target(path)))


@pytest.mark.parametrize(
    "action, name, says",
    [
        (Action.READ, "ws/file", ""),
        (Action.READ, "ws", ""),
        (Action.READ, "ws/new", ""),
        (Action.WRITE, "ws/new/newer", ""),
        (Action.EXECUTE, "ws/file", ""),
        (Action.EXECUTE, "ws/new", ""),
        (Action.EXECUTE, "ws/dir", "is no regular file"),
        (Action.READ, "ws/file/", "Not a directory"),
        (Action.READ, "ws/file/..", "Not a directory"),
        (Action.READ, "ws/new/../file", "leads nowhere"),
        (Action.WRITE, "ws/new/", "would be a directory"),
        (Action.READ, "loop", "symbolic links"),
        (Action.WRITE, f"ws/{'n' * 256}", "too long"),
    ],
)
def test_the_kernel_is_asked_about_the_path_as_it_is_spelled(
    place: Place, action: Action, name: str, says: str
) -> None:
    (place.top / "loop").symlink_to("loop")
    found = by_modes(place, action, name)
    assert (says in found) if says else (found == "")


def test_a_file_that_nobody_may_execute_is_refused_even_to_root(place: Place) -> None:
    (place.top / "ws/file").chmod(0o644)
    assert by_modes(place, Action.EXECUTE, "ws/file").endswith("/ws/file does not permit it to this user")
