# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The place of a receipt: held in advance, filled once, never overwriting, and refused where it cannot be trusted."""

from __future__ import annotations

import errno
import os
import pwd
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from aasm.errors import AasmError, HostError, UsageError
from aasm.receipt import store

ROOT = Path(__file__).resolve().parents[3]
DATA = b'{"body":{}}\n'
RUN = "4b0c6f0e-6a55-4f5e-9f0a-0f1b2c3d4e5f"


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask000", "umask022", "umask077"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def listed(path: Path) -> List[str]:
    return sorted(os.listdir(path)) if path.is_dir() else []


def open_descriptors() -> List[str]:
    return sorted(os.listdir("/proc/self/fd"))


def refuse(number: int) -> Callable[..., Any]:
    def refusing(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return refusing


def test_a_receipt_is_stored_under_its_name_with_private_modes(tmp_path: Path, umask: int) -> None:
    state = tmp_path / "a" / "b" / "state"
    before = open_descriptors()
    held = store.reserve(str(state), RUN)
    folder = state / "execution-receipts"
    assert [mode(path) for path in (tmp_path / "a", tmp_path / "a" / "b", state, folder)] == [0o700] * 4
    (temporary,) = listed(folder)
    assert temporary.startswith(".aasm-") and mode(folder / temporary) == 0o600
    path = store.write(held, DATA, 1790000031)
    assert path == str(folder / f"1790000031-{RUN}.execution-receipt.json")
    assert listed(folder) == [os.path.basename(path)]
    assert Path(path).read_bytes() == DATA
    assert mode(Path(path)) == 0o600 and os.stat(path).st_nlink == 1
    assert open_descriptors() == before


def test_space_is_held_in_advance(tmp_path: Path) -> None:
    held = store.reserve(str(tmp_path / "state"), RUN)
    try:
        status = os.fstat(held.descriptor)
        assert status.st_size == store.SPACE and status.st_blocks * 512 >= store.SPACE
    finally:
        store.abandon(held)


def test_no_descriptor_of_a_reservation_is_inherited(tmp_path: Path) -> None:
    held = store.reserve(str(tmp_path / "state"), RUN)
    try:
        assert not os.get_inheritable(held.descriptor)
        assert not os.get_inheritable(held.directory.descriptor)
    finally:
        store.abandon(held)


def test_an_abandoned_place_leaves_nothing(tmp_path: Path) -> None:
    before = open_descriptors()
    store.abandon(store.reserve(str(tmp_path / "state"), RUN))
    assert listed(tmp_path / "state" / store.DIRECTORY) == []
    held = store.reserve_file(str(tmp_path / "r.json"))
    os.unlink(tmp_path / held.temporary)
    store.abandon(held)  # nothing left to remove: no error either
    assert listed(tmp_path) == ["state"]
    assert open_descriptors() == before


@pytest.mark.parametrize("size", [0, 1, store.SPACE - 1, store.SPACE, 5 * store.SPACE])
def test_exactly_the_data_is_stored(size: int, tmp_path: Path) -> None:
    path = store.write(store.reserve_file(str(tmp_path / "r.json")), b"x" * size, 1)
    assert path == str(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_bytes() == b"x" * size


def test_many_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    held = [store.reserve(str(tmp_path), f"run-{number}") for number in range(20)]
    paths = [store.write(each, DATA, 5) for each in held]
    assert len(set(paths)) == 20 == len(listed(tmp_path / store.DIRECTORY))


def test_a_name_that_begins_with_a_dash_is_only_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store.write(store.reserve_file("-r.json"), DATA, 7) == "./-r.json"
    assert listed(tmp_path) == ["-r.json"]


def test_the_place_stays_the_same_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    held = store.reserve_file("r.json")
    monkeypatch.chdir("/")
    store.write(held, DATA, 7)
    assert listed(tmp_path) == ["r.json"]


@pytest.mark.parametrize("run_id", ["", "a/b", "..", "a.b", "a\n", "é", "a b", "a\0"])
def test_a_run_id_is_no_path(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        store.reserve(str(tmp_path), run_id)
    assert listed(tmp_path) == []


# --- never overwritten ---------------------------------------------------------------------------


def test_a_file_that_is_there_is_refused_before_the_launch(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("/nowhere")
    for name in ("r.json", "link"):
        with pytest.raises(UsageError, match="exists already"):
            store.reserve_file(str(tmp_path / name))
    assert listed(tmp_path) == ["link", "r.json"]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no-links"])
def test_a_file_that_came_during_the_run_is_left_alone(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    held = store.reserve_file(str(tmp_path / "r.json"))
    (tmp_path / "r.json").write_bytes(b"mine")
    with pytest.raises(HostError, match="it was kept as") as caught:
        store.write(held, DATA, 1)
    assert (tmp_path / "r.json").read_bytes() == b"mine"
    assert (tmp_path / held.temporary).read_bytes() == DATA
    assert held.temporary in str(caught.value)


def test_where_there_are_no_links_the_file_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse(errno.EOPNOTSUPP))
    store.write(store.reserve_file(str(tmp_path / "r.json")), DATA, 1)
    assert listed(tmp_path) == ["r.json"] and (tmp_path / "r.json").read_bytes() == DATA


@pytest.mark.parametrize("trick", ["removed", "replaced", "linked"])
def test_a_reservation_that_was_tampered_with_is_noticed(trick: str, tmp_path: Path) -> None:
    held = store.reserve_file(str(tmp_path / "r.json"))
    os.unlink(tmp_path / held.temporary)
    if trick == "replaced":
        (tmp_path / held.temporary).write_bytes(b"other")
    if trick == "linked":
        (tmp_path / held.temporary).symlink_to("/etc/hostname")
    with pytest.raises(HostError):
        store.write(held, DATA, 1)
    assert not (tmp_path / "r.json").exists()


# --- places that are refused ---------------------------------------------------------------------


def refused(make: Callable[[], Any]) -> str:
    before = open_descriptors()
    with pytest.raises(AasmError) as caught:
        make()
    assert open_descriptors() == before
    line = str(caught.value)
    assert "\n" not in line and caught.value.where and caught.value.remedy
    return line


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("kind", ["link", "file", "fifo", "writable", "group"])
def test_a_directory_that_cannot_be_trusted(kind: str, depth: int, tmp_path: Path) -> None:
    state = tmp_path / "state"
    place = state / store.DIRECTORY if depth else state
    place.parent.mkdir(mode=0o700, exist_ok=True)
    if kind == "link":
        (tmp_path / "real").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "real")
    elif kind == "file":
        place.write_bytes(b"")
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.mkdir()
        place.chmod(0o777 if kind == "writable" else 0o770)
    line = refused(lambda: store.reserve(str(state), RUN))
    words = {"link": "symbolic link", "writable": "mode 0777", "group": "mode 0770"}.get(kind, "Not a directory")
    assert words in line and str(place) in line


@pytest.mark.unprivileged
def test_a_directory_of_somebody_else(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        (tmp_path / "state").mkdir(mode=0o700)
        os.chown(tmp_path / "state", pwd.getpwnam("nobody").pw_uid, -1)
        state = str(tmp_path / "state")
    else:
        state = "/"
    assert "belongs to the user" in refused(lambda: store.reserve(state, RUN))


@pytest.mark.unprivileged
def test_a_directory_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from aasm.receipt import store\n"
        "for make in (lambda: store.reserve(sys.argv[2] + '/locked/state', 'r'),\n"
        "             lambda: store.reserve_file(sys.argv[2] + '/locked/r.json')):\n"
        "    try: make()\n"
        "    except Exception as problem: print(type(problem).__name__, problem)"
    )
    (tmp_path / "locked").chmod(0o555)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        if os.geteuid() == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    nobody = pwd.getpwnam("nobody")
    who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(ROOT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/", **who)  # type: ignore[call-overload]
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("HostError ") and "Permission denied" in line for line in lines)


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "No space left"), (errno.EDQUOT, "free some space"), (errno.EIO, "correct it")],
)
def test_a_full_disk_is_found_before_the_launch(
    number: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", refuse(number))
    assert words in refused(lambda: store.reserve(str(tmp_path), RUN))
    assert listed(tmp_path / store.DIRECTORY) == []


def test_where_space_cannot_be_allocated_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", refuse(errno.EOPNOTSUPP))
    held = store.reserve_file(str(tmp_path / "r.json"))
    assert os.fstat(held.descriptor).st_size == store.SPACE
    assert Path(store.write(held, DATA, 1)).read_bytes() == DATA


def test_a_limit_on_file_sizes_is_found_before_the_launch(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        assert "File too large" in refused(lambda: store.reserve(str(tmp_path), RUN))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert listed(tmp_path / store.DIRECTORY) == []


def test_a_write_that_fails_at_the_end_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = store.reserve_file(str(tmp_path / "r.json"))
    before = open_descriptors()
    monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
    with pytest.raises(HostError, match="r.json: Input/output error"):
        store.write(held, DATA, 1)
    assert listed(tmp_path) == []
    assert len(before) - len(open_descriptors()) == 2


@pytest.mark.parametrize("path", ["", ".", "..", "a/", "/", "missing/r.json"])
def test_a_name_that_is_no_place(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        store.reserve_file(path)
    assert caught.value.remedy and listed(tmp_path) == []


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    assert "File name too long" in refused(lambda: store.reserve_file(str(tmp_path / ("x" * 256))))


def test_the_longest_name_will_do(tmp_path: Path) -> None:
    assert os.path.exists(store.write(store.reserve_file(str(tmp_path / ("x" * 255))), DATA, 1))
