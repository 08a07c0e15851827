# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of a whole launch ask about its end: the one error line, the ledger, the receipts, the processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

import pytest
from support.launch import Lab, users

# For a test in which it makes no difference who runs the command: the user with the fewest rights does.
ONCE = pytest.mark.parametrize("user", users()[-1:], indirect=True)

Done = subprocess.CompletedProcess  # of str


def exec_options(lab: Lab, isolation: str) -> tuple[str, ...]:
    """Return the words before the options of a test: with a boundary the workspace is writable."""
    base = ("run", "exec", "--isolation", isolation, "--system")
    return (*base, "--write", str(lab.workspace)) if isolation == "process" else base


def launch(lab: Lab, isolation: str, *argv: str, options: Sequence[str] = (), **more: Any) -> Done[str]:
    """Run a program with or without a boundary."""
    return lab.aasm(*exec_options(lab, isolation), *options, "--", *argv, **more)


def one_error(done: Done[str]) -> str:
    """Return the only `error:` line of a command that failed; there is no traceback and no word on standard output."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr and "internal" not in lines[0], done.stderr
    assert done.stdout == ""
    return lines[0]


def canaries(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the results of the canaries that were tried, by name."""
    found = {item["name"]: item["result"] for item in body["boundary"]["canaries"]}
    assert set(found) == {"file_read", "file_write", "open_files", "file_size", "call"}
    return {name: result for name, result in found.items() if result != "not_applicable"}


ALL_HELD = {"file_read": "held", "file_write": "held", "call": "held"}  # of a run without ceilings


def events(lab: Lab) -> list[str]:
    """Return the events of the ledger, oldest first."""
    return [record["event"] for record in lab.ledger()]


def receipt_names(lab: Lab) -> list[str]:
    """Return the names of everything in the directory of the receipts that a reader would take for a receipt."""
    folder = lab.state / "execution-receipts"
    return sorted(name for name in os.listdir(folder) if not name.startswith(".")) if folder.exists() else []


def assert_refused(lab: Lab, done: Done[str], *words: str) -> str:
    """A refusal: 125, one error line with `words` in it, the ledger says so last, no receipt, nothing left behind."""
    line = one_error(done)
    assert done.returncode == 125, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert events(lab)[-1] == "refused", events(lab)
    assert receipt_names(lab) == []
    assert lab.leftovers() == []
    return line


def assert_not_started(lab: Lab, done: Done[str], code: int, reason: str) -> str:
    """A program that never ran: the code, one error line, the reason in the ledger, no receipt, nothing left behind."""
    line = one_error(done)
    assert done.returncode == code, done.stderr
    last = lab.ledger()[-1]
    assert (last["event"], last["detail"]["value"]) == ("not_started", reason)
    assert events(lab)[-2] == "registered"
    assert receipt_names(lab) == []
    assert lab.leftovers() == []
    return line


# --- the status descriptor ---------------------------------------------------------------------------


class Status:
    """A pipe for --status-fd: `number` is what the command inherits; `read` gives what it wrote."""

    def __init__(self) -> None:
        self._source, self.number = os.pipe()

    @property
    def options(self) -> tuple[str, str]:
        return ("--status-fd", str(self.number))

    def read(self) -> dict[str, Any]:
        """Close our end and return the one line that was written."""
        os.close(self.number)
        with os.fdopen(self._source) as stream:
            lines = stream.read().splitlines()
        assert len(lines) == 1, lines
        found = json.loads(lines[0])
        assert isinstance(found, dict)
        return found


# --- processes -----------------------------------------------------------------------------------------


def state_of(pid: int) -> str:
    """Return the state letter of a process, "" when there is none (or only its corpse)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    letter = text.rpartition(")")[2].split()[0]
    return "" if letter in "ZX" else letter


def alive(pid: int) -> bool:
    """Say whether a process is there and no corpse."""
    return state_of(pid) != ""


def marked(mark: str) -> list[int]:
    """Return every process whose command line holds `mark`, without us: how a whole tree is found from outside."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                if mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes() and alive(int(entry)):
                    found.append(int(entry))
    return found


def children(pid: int) -> list[int]:
    """Return the processes whose parent is `pid`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(fields[1]) == pid and fields[0] not in "ZX":
                    found.append(int(entry))
    return found


def wait_until(happens: Callable[[], Any], what: str, seconds: float = 10.0) -> Any:
    """Return the first true value of `happens`, asked again and again; fail when none comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = happens()
        if found:
            return found
        time.sleep(0.008)
    raise AssertionError(f"waited in vain: {what}")


@contextlib.contextmanager
def started(lab: Lab, command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a command and leave it running; whatever happens, it and what it started is gone afterwards."""
    settings = {**lab.options(more.pop("env", None), more.pop("cwd", None)), **more}
    settings.setdefault("stdin", subprocess.DEVNULL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="surrogateescape", **settings
    ) as process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    below = children(process.pid)
    if process.poll() is None:
        process.kill()
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(10)


def finish(process: subprocess.Popen[str], seconds: float = 40.0) -> Done[str]:
    """Wait for the end of a started command and return it as a completed one."""
    out, err = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def line_of(process: subprocess.Popen[str]) -> str:
    """Return the next line that a started command prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def stopped_launcher(process: subprocess.Popen[str]) -> int:
    """Return the launcher of a command that was made to stop it (driver.at_step), once it has stopped."""

    def found() -> int:
        return next((pid for pid in children(process.pid) if state_of(pid) == "T"), 0)

    return int(wait_until(found, "the launcher stops"))
