# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The ledger: chained, appended under a lock, repaired after a crash, refused when it was changed."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

from aasm.errors import AasmError, HostError, InternalError, ReceiptError
from aasm.governance import ledger
from aasm.governance.identity import new_identity
from aasm.governance.ledger import Event, append, entry_of, problems

ROOT = Path(__file__).resolve().parents[3]
IDENTITY = new_identity("builder-7", None, (), False)
NOW = 1_790_000_000


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def entry(detail: str = "make", event: Event = Event.REGISTERED) -> ledger.Entry:
    return entry_of(IDENTITY, event, detail)


def fill(state: Path, count: int) -> List[bytes]:
    for number in range(count):
        append(str(state), entry(f"run {number}"), NOW + number)
    return lines(state)


def lines(state: Path) -> List[bytes]:
    return (state / ledger.NAME).read_bytes().splitlines(True)


def records(state: Path) -> List[Dict[str, Any]]:
    return [json.loads(line) for line in lines(state)]


def found(state: Path) -> List[str]:
    return list(problems(str(state / ledger.NAME)))


def refused(state: Path) -> str:
    before = sorted(os.listdir("/proc/self/fd"))
    data = (state / ledger.NAME).read_bytes() if (state / ledger.NAME).is_file() else None
    with pytest.raises(AasmError) as caught:
        append(str(state), entry(), NOW)
    assert sorted(os.listdir("/proc/self/fd")) == before
    if data is not None:
        assert (state / ledger.NAME).read_bytes() == data
    line = str(caught.value)
    assert "\n" not in line and caught.value.remedy
    return line


def test_each_event_is_one_line_of_canonical_json(state: Path) -> None:
    assert append(str(state), entry("make"), NOW) == 1
    ended = entry("self_exited", Event.ENDED)._replace(exit_code=3, receipt="sha256:" + "0" * 64)
    assert append(str(state), ended, NOW + 5) == 2
    first, second = records(state)
    assert first == {
        "agent_id": "builder-7",
        "detail": {"kind": "value", "value": "make"},
        "event": "registered",
        "exit_code": None,
        "previous": None,
        "receipt": None,
        "run_id": IDENTITY.session_id,
        "seq": 1,
        "time_unix_secs": NOW,
        "trace_id": IDENTITY.trace_id,
    }
    assert tuple(sorted(first)) == ledger.FIELDS
    assert (second["event"], second["seq"], second["exit_code"]) == ("ended", 2, 3)
    assert second["receipt"] == "sha256:" + "0" * 64
    for line in lines(state):
        assert json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")).encode() + b"\n" == line


def test_each_line_names_the_digest_of_the_line_before(state: Path) -> None:
    written = fill(state, 5)
    for before, record in zip(written, records(state)[1:]):
        assert record["previous"] == "sha256:" + hashlib.sha256(before).hexdigest()
    assert found(state) == []


def test_files_are_private(state: Path) -> None:
    before = os.umask(0)
    try:
        fill(state, 1)
    finally:
        os.umask(before)
    for path, mode in ((state, 0o700), (state / ledger.NAME, 0o600), (state / ledger.LOCK, 0o200)):
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_clock_is_asked_when_no_time_is_given(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 17.9)
    append(str(state), entry())
    assert records(state)[0]["time_unix_secs"] == 17


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("two\nlines\x7f", "two\\x0alines\\x7f"),
        ('a "quoted",\\"seq\\":99,"seq":7,"previous":"x"', 'a "quoted",\\"seq\\":99,"seq":7,"previous":"x"'),
        ("pass" + "word=hunter2", None),
        ("x" * 5000 + "pass" + "word=hunter2", None),
        ("\U0001f600" * 5000, "\U0001f600" * ledger.MAX_DETAIL + "... (5000 characters)"),
        ("\udcff", "\\xff"),
        ("", ""),
    ],
)
def test_details_are_one_line_screened_and_bounded(detail: str, expected: Any, state: Path) -> None:
    append(str(state), entry(detail), NOW)
    assert records(state)[0]["detail"]["value"] == expected
    assert append(str(state), entry(), NOW) == 2
    assert found(state) == []


def test_an_entry_that_nobody_checked_cannot_break_the_bound(state: Path) -> None:
    with pytest.raises(InternalError):
        append(str(state), entry()._replace(agent_id="x" * ledger.MAX_LINE), NOW)
    assert lines(state) == []
    assert append(str(state), entry(), NOW) == 1


def test_appending_reads_only_the_end(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(state, 200)
    read: List[int] = []
    whole = os.pread

    def counting(file: int, size: int, offset: int) -> bytes:
        read.append(size)
        return whole(file, size, offset)

    monkeypatch.setattr(os, "pread", counting)
    assert append(str(state), entry(), NOW) == 201
    assert sum(read) < (state / ledger.NAME).stat().st_size
    assert found(state) == []


def test_lines_as_long_as_they_get(state: Path) -> None:
    for number in range(12):
        assert append(str(state), entry("\\" * 900 + "\U0001f600" * 100), NOW) == number + 1
    assert found(state) == []


# --- a crash -------------------------------------------------------------------------------------


def test_a_kill_at_any_byte_loses_no_acknowledged_line(state: Path) -> None:
    written = fill(state, 3)
    path, whole = state / ledger.NAME, b"".join(written[:2])
    for length in range(len(written[2])):
        path.write_bytes(whole + written[2][:length])
        seq = append(str(state), entry("after"), NOW)
        assert lines(state)[:2] == written[:2]
        events = [record["event"] for record in records(state)[2:]]
        assert events == (["repaired", "registered"] if length else ["registered"])
        assert seq == len(lines(state)) and found(state) == []


def test_a_repair_says_what_was_taken_away(state: Path) -> None:
    fill(state, 1)
    with open(state / ledger.NAME, "ab") as file:
        file.write(b'{"agent')
    assert [problem.partition(".jsonl:")[2] for problem in found(state)] == ["2: the line is torn: it has no end"]
    append(str(state), entry("after", Event.ENDED)._replace(exit_code=1), NOW)
    repaired, ended = records(state)[1:]
    digest = hashlib.sha256(b'{"agent').hexdigest()
    assert repaired["detail"]["value"] == f"a torn line of 7 bytes was taken away: sha256:{digest}"
    assert (repaired["event"], repaired["seq"], repaired["exit_code"]) == ("repaired", 2, None)
    assert (ended["event"], ended["exit_code"]) == ("ended", 1)


@pytest.mark.parametrize("torn", [b"x", b'{"agent', b"\0" * 4096])
def test_a_first_line_that_was_torn(torn: bytes, state: Path) -> None:
    fill(state, 1)
    (state / ledger.NAME).write_bytes(torn)
    assert append(str(state), entry(), NOW) == 2
    assert [record["event"] for record in records(state)] == ["repaired", "registered"]
    assert found(state) == []


def test_a_write_that_fails_is_taken_back(state: Path) -> None:
    written = fill(state, 4)
    size = sum(map(len, written))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))  # the kernel writes ten bytes, then no more
    try:
        line = refused(state)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "No space left" in line or "File too large" in line
    assert lines(state) == written and append(str(state), entry(), NOW) == 5


def test_a_sync_that_fails_is_an_error(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = fill(state, 1)

    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    assert "Input/output error" in refused(state)
    assert lines(state) == written


# --- a change ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "old", "new", "words"),
    [
        (1, b"run 1", b"run X", ":3: the chain is broken"),
        (1, b'"seq":2', b'"seq":7', ":2: the number is not 2"),
        (1, b'"registered"', b'"celebrated"', ":2: the event is unknown"),
        (1, b'"agent_id"', b'"agent_ix"', ":2: the line has not the fields"),
        (1, b'{"agent', b'{ "agent', ":2: the line is not in canonical form"),
        (1, b'"seq":2', b'"seq":2.0', ":2: the line is no record"),
        (1, b"{", b"", ":2: the line is no record"),
        (2, b"run 2", b"run X", ":4: the chain is broken"),
    ],
)
def test_a_change_is_found_with_its_line(number: int, old: bytes, new: bytes, words: str, state: Path) -> None:
    written = fill(state, 4)
    assert old in written[number]
    written[number] = written[number].replace(old, new)
    (state / ledger.NAME).write_bytes(b"".join(written))
    assert words in found(state)[0] and found(state)[0].startswith(str(state / ledger.NAME))


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_missing_line_is_found(gone: int, state: Path) -> None:
    written = fill(state, 4)
    del written[gone]
    (state / ledger.NAME).write_bytes(b"".join(written))
    assert f":{gone + 1}: the number is not {gone + 1}" in found(state)[0]


@pytest.mark.parametrize("change", ["last", "before", "swapped", "garbage", "long", "binary"])
def test_a_damaged_end_refuses_the_launch_and_names_the_line(change: str, state: Path) -> None:
    written = fill(state, 4)
    damaged = {
        "last": [*written[:3], written[3].replace(b'"seq":4', b'"sex":4')],
        "before": [*written[:2], written[2].replace(b"run 2", b"run X"), written[3]],
        "swapped": [*written[:2], written[3], written[2]],
        "garbage": [*written, b"hello\n"],
        "long": [*written, b"x" * 100_000],
        "binary": [*written, b"\0" * 100_000 + b"\n"],
    }[change]
    (state / ledger.NAME).write_bytes(b"".join(damaged))
    line = refused(state)
    number = {"last": 4, "before": 4, "swapped": 3}.get(change, 5)
    assert f"{state / ledger.NAME}:{number}: " in line
    assert line.endswith("move the file aside; a new ledger will be begun")
    os.rename(state / ledger.NAME, state / "aside")
    assert append(str(state), entry(), NOW) == 1


def test_what_a_hostile_line_says_stays_on_one_line(state: Path) -> None:
    fill(state, 1)
    with open(state / ledger.NAME, "ab") as file:
        file.write(b'{"\\u001b[2J\\n":1,"\\u001b[2J\\n":2}\n')
    assert refused(state).isprintable()


# --- places --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [ledger.NAME, ledger.LOCK])
@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "writable"])
def test_a_file_that_cannot_be_trusted(kind: str, name: str, state: Path) -> None:
    state.mkdir(mode=0o700)
    place = state / name
    if kind == "link":
        place.symlink_to(state / "elsewhere")
    elif kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.write_bytes(b"")
        place.chmod(0o622)
    assert str(place) in refused(state)
    assert not (state / "elsewhere").exists()


def test_a_lock_that_is_held_too_long(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(state, 1)
    monkeypatch.setattr(ledger, "LOCK_SECONDS", 0.05)
    with open(state / ledger.LOCK, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "held the lock" in refused(state)
    assert append(str(state), entry(), NOW) == 2


def test_many_writers_make_one_chain(state: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from aasm.governance import ledger, identity\n"
        "one = identity.new_identity(None, None, (), False)\n"
        "for n in range(20): ledger.append(sys.argv[2], ledger.entry_of(one, ledger.Event.REGISTERED, str(n)))"
    )
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(ROOT), str(state)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    for process in running:
        assert process.communicate(timeout=60)[1] == b"" and process.returncode == 0
    assert found(state) == []
    assert [record["seq"] for record in records(state)] == list(range(1, 81))


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo"])
def test_verifying_what_is_no_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if kind != "missing":
        path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(ReceiptError):
        list(problems(str(path)))


def test_a_ledger_in_a_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to("real")
    with pytest.raises(HostError, match="symbolic link"):
        append(str(tmp_path / "state"), entry(), NOW)


def test_appending_does_not_load_json(state: Path) -> None:
    fill(state, 3)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from aasm.governance import ledger, identity, session\n"
        "one = identity.new_identity('a', None, (), False)\n"
        "session.Session.register(sys.argv[2], one, 'make').ended(0, 'self_exited')\n"
        "print(*sorted(sys.modules))"
    )
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(ROOT), str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "aasm.governance.session" in loaded
    assert not loaded & {"json", "dataclasses", "uuid", "subprocess", "pathlib", "logging", "tempfile", "inspect"}
