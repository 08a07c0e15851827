# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a preview asks of the places that a launch writes: it says what the launch would say, and changes nothing."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
from support.runs import request

from aasm import bind, state
from aasm.errors import AasmError
from aasm.governance import ledger
from aasm.governance.identity import new_identity
from aasm.receipt import store
from aasm.supervise import private
from aasm.surroundings import Surroundings

IDENTITY = new_identity("builder-7", None, (), False)
ENTRY = ledger.entry_of(IDENTITY, ledger.Event.REGISTERED, "a test")
USERS = ["root", "nobody"] if os.geteuid() == 0 else ["self"]


@pytest.fixture(params=USERS)
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of the user as whom the test goes on: modes refuse nothing to root, and everything to the other."""
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="aasm-foresee-")))
    if request.param == "nobody":
        who = pwd.getpwnam("nobody")
        os.chown(top, who.pw_uid, who.pw_gid)
        os.setegid(who.pw_gid)
        os.seteuid(who.pw_uid)
    umask = os.umask(0o022)
    try:
        yield top
    finally:
        os.umask(umask)
        if request.param == "nobody":
            os.seteuid(0)
            os.setegid(0)
        for above, names, _ in os.walk(top):  # from the top, so that each can be looked into
            for path in (os.path.join(above, name) for name in names):
                os.path.islink(path) or os.chmod(path, 0o700)
        shutil.rmtree(top)


def snapshot(top: Path) -> List[Tuple[Any, ...]]:
    """Return everything about everything beneath a folder that is not merely read."""
    paths = [top, *sorted(path for folder, _, _ in os.walk(top) for path in Path(folder).iterdir())]
    found = [(str(path), path.lstat()) for path in paths]
    return [(path, s.st_mode, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in found]


def outcome(call: Callable[[], object]) -> Tuple[str, str]:
    """Return the kind and the words of the error in which a call ends; two empty texts when in none."""
    before = sorted(os.listdir("/proc/self/fd"))
    try:
        call()
    except AasmError as problem:
        assert problem.remedy or problem.where, "neither a place nor a remedy"
        return type(problem).__name__, str(problem)
    finally:
        assert sorted(os.listdir("/proc/self/fd")) == before, "a descriptor is left open"
    return "", ""


def compared(top: Path, foreseen: Callable[[], object], real: Callable[[], object]) -> Tuple[str, str]:
    """Return how the real call ends, which the foreseen one must have said without changing anything."""
    before = snapshot(top)
    said = outcome(foreseen)
    assert snapshot(top) == before
    done = outcome(real)
    assert said == done
    return done


Make = Callable[[Path], object]


def nothing(path: Path) -> None:
    pass


def folder(mode: int = 0o700) -> Make:
    def make(path: Path) -> None:
        path.mkdir()
        path.chmod(mode)

    return make


def file(mode: int = 0o600, data: bytes = b"") -> Make:
    def make(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(mode)

    return make


def link(to: str) -> Make:
    return lambda path: path.symlink_to(to)


def chain(*numbers: int, tail: bytes = b"") -> Make:
    """Make a ledger with this many lines, of which those numbered are left out, and `tail` behind it."""

    def make(path: Path) -> None:
        for _ in range(4):
            ledger.append(str(path.parent), ENTRY, 1_790_000_000)
        lines = path.read_bytes().splitlines(True)
        path.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in numbers) + tail)

    return make


NONE, EVERY, OTHERS = "", "everybody", "not root"  # whom it is refused to
Rows = Dict[str, Tuple[Make, str]]

# What may be in the place of a directory or a file, and whom it is refused to.
DIRECTORIES: Rows = {
    "nothing": (nothing, NONE),
    "a directory": (folder(), NONE),
    "one that others may read": (folder(0o755), NONE),
    "one that its group may write": (folder(0o770), EVERY),
    "one that all may write": (folder(0o777), EVERY),
    "one that may not be written": (folder(0o500), OTHERS),
    "one that may not be entered": (folder(0o600), OTHERS),
    "one that may not be read": (folder(0o300), OTHERS),
    "one that may not be used": (folder(0), OTHERS),
    "a file": (file(), EVERY),
    "a pipe": (os.mkfifo, EVERY),
    "a link to a directory": (link("/tmp"), EVERY),
    "a link to a file": (link("/etc/passwd"), EVERY),
    "a link that leads nowhere": (link("nowhere"), EVERY),
    "a link to itself": (lambda path: path.symlink_to(path.name), EVERY),
}
FILES: Rows = {
    "nothing": (nothing, NONE),
    "a file": (file(), NONE),
    "one that others may read": (file(0o644), NONE),
    "one that its group may write": (file(0o620), EVERY),
    "one that all may write": (file(0o666), EVERY),
    "one that may not be used": (file(0), OTHERS),
    "a directory": (folder(), EVERY),
    "a pipe": (os.mkfifo, EVERY),
    "a device": (link("/dev/full"), EVERY),
    "a link to a file": (link("/etc/passwd"), EVERY),
    "a link that leads nowhere": (link("nowhere"), EVERY),
    "a link to itself": (lambda path: path.symlink_to(path.name), EVERY),
}


def is_refused(whom: str) -> bool:
    return whom == EVERY or (whom == OTHERS and os.geteuid() != 0)


# --- the state directory and what is in it ------------------------------------------------------------


def foresee_canary(path: Path) -> None:
    directory = state.foresee(str(path))
    if directory is not None:
        try:
            found = state.foresee_file(directory, state.CANARY, os.O_RDWR)
            if found is not None:
                assert stat.S_ISREG(os.fstat(found).st_mode)
                os.close(found)
        finally:
            os.close(directory.descriptor)


@pytest.mark.parametrize("row", DIRECTORIES)
def test_the_state_directory(place: Path, row: str) -> None:
    make, whom = DIRECTORIES[row]
    make(place / "state")
    done = compared(place, lambda: foresee_canary(place / "state"), lambda: state.open_canary(str(place / "state")))
    assert bool(done[0]) is is_refused(whom)
    if row == "nothing":
        assert (place / "state" / state.CANARY).is_file()  # the control: the real one makes what is missing


ABOVE: Rows = {
    **DIRECTORIES,
    "one that its group may write": (folder(0o770), NONE),
    "one that all may write": (folder(0o1777), NONE),
    "one that may not be read": (folder(0o300), NONE),  # nobody lists it
    "a link to a directory": (link("."), NONE),
}


@pytest.mark.parametrize("row", ABOVE)
@pytest.mark.parametrize("below", ["state", "a/b/state"])
def test_what_lies_above_the_state_directory(place: Path, row: str, below: str) -> None:
    make, whom = ABOVE[row]
    make(place / "above")
    path = place / "above" / below
    done = compared(place, lambda: foresee_canary(path), lambda: state.open_canary(str(path)))
    assert bool(done[0]) is is_refused(whom)


@pytest.mark.parametrize("row", FILES)
def test_the_canary(place: Path, row: str) -> None:
    make, whom = FILES[row]
    (place / "state").mkdir(mode=0o700)
    make(place / "state" / state.CANARY)
    done = compared(place, lambda: foresee_canary(place / "state"), lambda: state.open_canary(str(place / "state")))
    assert bool(done[0]) is is_refused(whom) and (not done[0] or state.CANARY in done[1])


def opened(path: Path, call: Callable[[state.Directory], object]) -> Callable[[], None]:
    """Return a call with the open state directory."""

    def made() -> None:
        directory = state.open_directory(str(path))
        try:
            call(directory)
        finally:
            os.close(directory.descriptor)

    return made


LEDGERS: Rows = {
    **FILES,
    "one that may only be read": (file(0o400), OTHERS),
    "one line": (chain(1, 2, 3), NONE),
    "a whole ledger": (chain(), NONE),
    "a torn line": (chain(tail=b'{"agent_id":'), NONE),  # it is taken away, and a record says so
    "nothing but a torn line": (file(data=b'{"agent_id":'), NONE),
    "a line that is no record": (chain(tail=b"garbage\n"), EVERY),
    "nothing but garbage": (file(data=b"garbage\n"), EVERY),
    "an empty line": (file(data=b"\n"), EVERY),
    "a line that is missing before the last": (chain(2), EVERY),
    "a torn line that is too long": (chain(tail=b"x" * 3 * ledger.MAX_LINE), EVERY),
    "one long line": (file(data=b"x" * 20 * ledger.MAX_LINE), EVERY),
}


@pytest.mark.parametrize("row", LEDGERS)
def test_the_ledger(place: Path, row: str) -> None:
    make, whom = LEDGERS[row]
    (place / "state").mkdir(mode=0o700)
    make(place / "state" / ledger.NAME)
    path = str(place / "state")
    done = compared(place, opened(place / "state", ledger.foresee), lambda: ledger.append(path, ENTRY, 1_790_000_001))
    assert bool(done[0]) is is_refused(whom) and (not done[0] or ledger.NAME in done[1])


@pytest.mark.parametrize("row", [*FILES, "one that may only be written"])
def test_the_lock_of_the_ledger(place: Path, row: str) -> None:
    make, whom = {**FILES, "one that may only be written": (file(0o200), NONE)}[row]
    (place / "state").mkdir(mode=0o700)
    make(place / "state" / ledger.LOCK)
    path = str(place / "state")
    done = compared(place, opened(place / "state", ledger.foresee), lambda: ledger.append(path, ENTRY, 1_790_000_001))
    assert bool(done[0]) is is_refused(whom) and (not done[0] or ledger.LOCK in done[1])


@pytest.mark.parametrize("row", DIRECTORIES)
def test_the_directory_of_the_receipts(place: Path, row: str) -> None:
    make, whom = DIRECTORIES[row]
    (place / "state").mkdir(mode=0o700)
    make(place / "state" / store.DIRECTORY)

    def real() -> None:
        store.abandon(store.reserve(str(place / "state"), "run-1"))

    done = compared(place, opened(place / "state", store.foresee), real)
    assert bool(done[0]) is is_refused(whom) and (not done[0] or store.DIRECTORY in done[1])


# --- a receipt of a name of its own -------------------------------------------------------------------


@pytest.mark.parametrize("row", FILES)
def test_what_is_in_the_place_of_a_receipt(place: Path, row: str) -> None:
    FILES[row][0](place / "r.json")
    path = str(place / "r.json")
    done = compared(place, lambda: store.foresee_file(path), lambda: store.abandon(store.reserve_file(path)))
    assert (done[0] == "") is (row == "nothing")
    assert row == "nothing" or (done[0] == "UsageError" and "exists already" in done[1])


FOLDERS: Rows = {
    **DIRECTORIES,
    "one that its group may write": (folder(0o770), NONE),
    "one that all may write": (folder(0o777), NONE),
    "a link to a directory": (link("."), NONE),
}


@pytest.mark.parametrize("row", FOLDERS)
def test_the_directory_in_which_a_receipt_is_to_lie(place: Path, row: str) -> None:
    make, whom = FOLDERS[row]
    make(place / "in")
    path = str(place / "in" / "r.json")
    done = compared(place, lambda: store.foresee_file(path), lambda: store.abandon(store.reserve_file(path)))
    assert bool(done[0]) is (row == "nothing" or is_refused(whom)) and (not done[0] or path in done[1])


@pytest.mark.parametrize("name", ["", ".", "..", "in/", "/", "n" * 256])
def test_what_is_no_name_for_a_receipt(place: Path, name: str) -> None:
    path = os.path.join(place, name)
    done = compared(place, lambda: store.foresee_file(path), lambda: store.abandon(store.reserve_file(path)))
    assert done[0] in ("UsageError", "HostError")


def test_a_receipt_in_the_working_directory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    path = "r.json"
    done = compared(place, lambda: store.foresee_file(path), lambda: store.abandon(store.reserve_file(path)))
    assert done == ("", "")


# --- the private directory ----------------------------------------------------------------------------


@pytest.mark.parametrize("row", FOLDERS)
def test_where_the_private_directory_is_made(place: Path, row: str) -> None:
    make, whom = FOLDERS[row]
    make(place / "tmp")
    path = str(place / "tmp")
    done = compared(place, lambda: private.foresee(path), lambda: private.remove(private.create(path)))
    unread = row == "one that may not be read"  # nobody lists it
    assert bool(done[0]) is (row == "nothing" or (is_refused(whom) and not unread))
    assert not done[0] or (done[0] == "HostError" and path in done[1] and "TMPDIR" in done[1])


# --- all that a launch writes -------------------------------------------------------------------------


Whole = Tuple[Path, Callable[[], None], Callable[[], None]]


@pytest.fixture
def whole(place: Path, monkeypatch: pytest.MonkeyPatch) -> Whole:
    """Return a state directory, what a preview asks of it, and what a launch does with it, in its order."""
    path = place / "state"
    monkeypatch.setattr("aasm.supervise.begin.foresee", lambda confined: None)
    around = Surroundings({}, "/h", str(place), str(path))

    def real() -> None:
        state.open_canary(str(path))
        store.abandon(store.reserve(str(path), "run-1"))
        ledger.append(str(path), ENTRY, 1_790_000_000)

    return path, lambda: bind._foresee(request(), around), real


PARTS = (state.CANARY, store.DIRECTORY, ledger.LOCK, ledger.NAME)


def test_a_state_directory_that_has_all_it_needs_need_not_be_writable(place: Path, whole: Whole) -> None:
    path, foresee, real = whole
    assert compared(place, foresee, real) == ("", "")  # nothing was there, and now all is
    for mode, whom in ((0o500, NONE), (0o100, OTHERS), (0o300, OTHERS), (0o700, NONE)):
        path.chmod(mode)
        assert bool(compared(place, foresee, real)[0]) is is_refused(whom), oct(mode)


@pytest.mark.parametrize("missing", PARTS)
def test_a_part_that_is_missing_cannot_be_made_where_nothing_may_be_written(
    place: Path, whole: Whole, missing: str
) -> None:
    path, foresee, real = whole
    real()
    (path / missing).rename(place / missing)
    path.chmod(0o500)
    done = compared(place, foresee, real)
    assert bool(done[0]) is is_refused(OTHERS) and (not done[0] or missing in done[1])


@pytest.mark.parametrize("first, second", list(itertools.combinations(PARTS, 2)))
def test_of_several_faults_the_first_that_a_launch_meets_is_named(
    place: Path, whole: Whole, first: str, second: str
) -> None:
    path, foresee, real = whole
    path.mkdir(mode=0o700)
    for name in (first, second):
        os.mkfifo(path / name)
    done = compared(place, foresee, real)
    assert done[0] == "HostError" and first in done[1]


@pytest.mark.parametrize("asked", [{"isolation": "none"}, {"receipt": "r.json"}])
def test_receipts_that_nobody_will_write_are_not_asked_about(place: Path, whole: Whole, asked: Dict[str, str]) -> None:
    path, foresee, _ = whole
    path.mkdir(mode=0o700)
    os.mkfifo(path / store.DIRECTORY)
    assert outcome(foresee)[0] == "HostError"
    around = Surroundings({}, "/h", str(place), str(path))
    assert outcome(lambda: bind._foresee(request(**asked), around)) == ("", "")
