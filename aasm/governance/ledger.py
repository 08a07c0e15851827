# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The local ledger: one line of canonical JSON for each event, each naming the digest of the line before it.

Appending reads only the end of the file, under a lock, and returns when the line is on disk. A line that a crash cut
short was never acknowledged; it is taken away and a record says so. The chain shows a changed or missing line in the
middle; it cannot show that the newest lines were taken away, nor a rewrite of all that follows a change.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from enum import Enum
from typing import Any, Iterator, NamedTuple

from ..errors import HostError, InternalError, ReceiptError
from ..model.requirements import Identity
from ..receipt.canonical import canonical, decode, digest_bytes
from ..receipt.read import open_regular
from ..receipt.screen import free_text
from ..state import REMEDY, Directory, foresee_file, host_error, open_directory, open_file

NAME, LOCK = "ledger.jsonl", "ledger.lock"
MAX_LINE = 8192  # bytes of one line; everything in it is bounded
MAX_DETAIL = 1000  # characters of a detail; what is longer is cut, and the cut is marked
LOCK_SECONDS = 10.0
FIELDS = (
    "agent_id",
    "detail",
    "event",
    "exit_code",
    "previous",
    "receipt",
    "run_id",
    "seq",
    "time_unix_secs",
    "trace_id",
)
_MAX_TORN = 2 * MAX_LINE  # one append writes two lines at most
_WINDOW = _MAX_TORN + 3 * MAX_LINE  # so that two whole lines are always seen


class Event(Enum):
    """What a line records."""

    REGISTERED = "registered"  # before anything is started
    REFUSED = "refused"
    NOT_STARTED = "not_started"  # the program never ran
    ENDED = "ended"
    NOTED = "noted"  # something that an auditor should know about a run
    REPAIRED = "repaired"  # a torn line was taken away


class Entry(NamedTuple):
    """One event as the caller states it; number, time and chain are the ledger's."""

    event: Event
    run_id: str
    trace_id: str
    agent_id: str
    detail: str
    exit_code: int | None = None
    receipt: str | None = None  # the sealed digest of the receipt that was written


class _Tail(NamedTuple):
    """The end of a ledger: the number and digest of its last whole line, and what follows that line."""

    seq: int
    digest: str | None
    torn: bytes


def entry_of(identity: Identity, event: Event, detail: str) -> Entry:
    """Return the entry of `event` in the run of `identity`."""
    return Entry(event, identity.session_id, identity.trace_id, identity.agent_id, detail)


def append(state: str, entry: Entry, now: int | None = None) -> int:
    """Append `entry` to the ledger in the state directory `state` and return its number, once it is on disk.

    `now` is in seconds since 1970; the clock's time when it is None. HostError when the ledger cannot be trusted,
    locked or written; then nothing was recorded.
    """
    directory = open_directory(state)
    lock = -1
    try:
        # writable only: a program that may read the state directory must not be able to hold the lock
        lock = open_file(directory, LOCK, os.O_WRONLY)
        os.fchmod(lock, 0o200)
        _wait_for_lock(lock, os.path.join(directory.path, LOCK))
        return _append(directory, entry, int(time.time()) if now is None else now)
    finally:
        if lock >= 0:
            os.close(lock)  # releases it
        os.close(directory.descriptor)


def foresee(directory: Directory) -> None:
    """Raise the HostError that `append` would raise for the ledger that is there now, and change nothing."""
    lock = foresee_file(directory, LOCK, os.O_WRONLY)
    if lock is not None:
        os.close(lock)
    file = foresee_file(directory, NAME, os.O_RDWR | os.O_APPEND)
    if file is not None:
        try:
            _read_tail(file, os.fstat(file).st_size, os.path.join(directory.path, NAME))
        finally:
            os.close(file)


def problems(path: str) -> Iterator[str]:
    """Yield a line, with file and line number, for everything that is wrong with the ledger at `path`.

    Reads one line at a time, so that its size does not matter. ReceiptError when the file cannot be read.
    """
    previous: str | None = None
    seq = 0
    with os.fdopen(open_regular(path), "rb") as file:
        for number in range(1, 1 << 62):
            line = file.readline(MAX_LINE + 1)
            if not line:
                return
            fault = _fault(line, seq + 1, previous)
            if fault:
                yield f"{path}:{number}: {fault}"
            if not line.endswith(b"\n"):
                return  # torn, or so long that nothing after it can be told apart
            seq, previous = _number(line) or seq + 1, digest_bytes(line)


def _append(directory: Directory, entry: Entry, now: int) -> int:
    path = os.path.join(directory.path, NAME)
    file = open_file(directory, NAME, os.O_RDWR | os.O_APPEND)
    try:
        size = os.fstat(file).st_size
        tail = _read_tail(file, size, path)
        data = b""
        if tail.torn:
            size -= len(tail.torn)
            os.ftruncate(file, size)
            note = f"a torn line of {len(tail.torn)} bytes was taken away: {digest_bytes(tail.torn)}"
            data = _line(entry._replace(event=Event.REPAIRED, detail=note, exit_code=None, receipt=None), tail, now)
            tail = _Tail(tail.seq + 1, digest_bytes(data), b"")
        _write(file, data + _line(entry, tail, now), size)
        if size == 0:
            os.fsync(directory.descriptor)
        return tail.seq + 1
    except OSError as problem:
        raise host_error(problem, path) from None
    finally:
        os.close(file)


def _line(entry: Entry, tail: _Tail, now: int) -> bytes:
    record = {
        "agent_id": entry.agent_id,
        "detail": _detail(entry.detail),
        "event": entry.event.value,
        "exit_code": entry.exit_code,
        "previous": tail.digest,
        "receipt": entry.receipt,
        "run_id": entry.run_id,
        "seq": tail.seq + 1,
        "time_unix_secs": now,
        "trace_id": entry.trace_id,
    }
    line = canonical(record) + b"\n"
    if len(line) > MAX_LINE:
        raise InternalError(f"a ledger line of {len(line)} bytes")
    return line


def _detail(text: str) -> dict[str, object]:
    tagged = free_text(text)  # screened as a whole, before anything is cut
    value = tagged["value"]
    if isinstance(value, str) and len(value) > MAX_DETAIL:
        tagged["value"] = f"{value[:MAX_DETAIL]}... ({len(value)} characters)"
    return tagged


def _write(file: int, data: bytes, size: int) -> None:
    """Append `data` and see it on disk; when that fails, take back what was written and raise the OSError."""
    try:
        written = os.write(file, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def _read_tail(file: int, size: int, path: str) -> _Tail:
    """Return the end of the ledger, or raise a HostError that names the line at which the chain is broken.

    No JSON is parsed here: in canonical JSON a quote inside a text is always escaped, so that `,"seq":` and
    `"previous":"` can only be names of members.
    """
    start = max(0, size - _WINDOW)
    data = os.pread(file, _WINDOW, start)
    whole, newline, torn = data.rpartition(b"\n")
    lines = [line + b"\n" for line in whole.split(b"\n")] if newline else []
    if start:
        lines = lines[1:]  # its beginning may lie before the window
    if len(torn) > _MAX_TORN or (start and len(lines) < 2):  # no tail that any append could have left
        raise _broken(path)
    if not lines:
        return _Tail(0, None, torn)
    before = digest_bytes(lines[-2]) if len(lines) > 1 else None
    seq = _number(lines[-1])
    if seq is None or len(lines[-1]) > MAX_LINE or _previous(before) not in lines[-1]:
        raise _broken(path)
    return _Tail(seq, digest_bytes(lines[-1]), torn)


def _previous(digest: str | None) -> bytes:
    return b'"previous":' + (b"null" if digest is None else b'"' + digest.encode() + b'"')


def _number(line: bytes) -> int | None:
    """Return the number that `line` states, or None when there is no such thing in it."""
    _, name, rest = line.partition(b',"seq":')
    digits = rest.partition(b",")[0]
    return int(digits) if name and digits.isdigit() and len(digits) < 16 else None


def _broken(path: str) -> HostError:
    found = next(problems(path), f"{path}: its last line is no record of a ledger")
    return HostError(f"the ledger is damaged: {found}", "", "move the file aside; a new ledger will be begun")


def _fault(line: bytes, seq: int, previous: str | None) -> str:
    """Return what is wrong with `line`, which should be the record `seq` after the line with the digest `previous`."""
    if not line.endswith(b"\n"):
        return "the line is too long" if len(line) > MAX_LINE else "the line is torn: it has no end"
    try:
        record = decode(line[:-1])
        if canonical(record) != line[:-1]:
            return "the line is not in canonical form"
    except ReceiptError as problem:
        return f"the line is no record: {problem.what}"
    return _record_fault(record, seq, previous)


def _record_fault(record: Any, seq: int, previous: str | None) -> str:
    if not isinstance(record, dict) or tuple(sorted(record)) != FIELDS:
        return "the line has not the fields of a record"
    if record["event"] not in [event.value for event in Event]:
        return "the event is unknown"
    if record["seq"] != seq:
        return f"the number is not {seq}, which follows the line before"
    if record["previous"] != previous:
        return "the chain is broken: `previous` is not the digest of the line before"
    return ""


def _wait_for_lock(lock: int, path: str) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise HostError("another process has held the lock too long", path, "end that process") from None
            time.sleep(0.005)
        except OSError as problem:
            raise HostError(f"cannot be locked: {problem.strerror}", path, REMEDY) from None
