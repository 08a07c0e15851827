# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a launch does to its own process before it starts anything, and what a preview foresees of that."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

import pytest
from project import ROOT

from aasm.errors import HostError
from aasm.supervise import begin


@pytest.mark.parametrize("confined", [True, False])
def test_every_launch_marks_all_above_2_before_it_starts_anything(
    monkeypatch: pytest.MonkeyPatch, confined: bool
) -> None:
    """What the inventory relies on, with and without a boundary alike."""
    called: List[Tuple[str, object]] = []
    monkeypatch.setattr(begin.boundary, "close_on_exec_from", lambda first: called.append(("close", first)))
    for module, name in ((begin.process, "become_undumpable"), (begin.process, "become_subreaper")):
        monkeypatch.setattr(module, name, lambda: None)
    monkeypatch.setattr(begin, "_check_descriptors", lambda: None)
    monkeypatch.setattr(begin, "_bystanders", set)
    monkeypatch.setattr(begin.signal, "signal", lambda *_: None)
    monkeypatch.setattr(begin.signal, "pthread_sigmask", lambda *_: None)
    monkeypatch.setattr(begin.process, "blocked_signals", lambda: 0)
    monkeypatch.setattr(begin.process, "signal_descriptor", lambda _: -1)
    monkeypatch.setattr(begin.os, "umask", lambda _: 0o022)
    monkeypatch.setattr(begin, "start_launcher", lambda: called.append(("start", None)))
    begin.begin(confined)
    assert called == [("close", 3), *([("start", None)] if confined else [])]


# --- what a preview foresees --------------------------------------------------------------------------

# Prints what the process would be refused for, whether asking changed it, what it is refused for, and whether that did.
SCRIPT = """
import ctypes, json, os, signal, sys
sys.path.insert(0, sys.argv[1])
from aasm.errors import AasmError
from aasm.supervise import begin

def outcome(call):
    try:
        begun = call()
    except AasmError as problem:
        return [type(problem).__name__, str(problem)]
    if begun is not None:
        begun.discard()
    return ["", ""]

def facts():
    numbers = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
    umask, subreaper = os.umask(0), ctypes.c_int()
    os.umask(umask)
    prctl = ctypes.CDLL(None).prctl
    prctl(37, ctypes.byref(subreaper), 0, 0, 0)  # PR_GET_CHILD_SUBREAPER
    mask = sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    handlers = [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())]
    return [[(n, os.get_inheritable(n)) for n in numbers], umask, subreaper.value, prctl(3, 0, 0, 0, 0), mask, handlers]

confined, answer = sys.argv[2] == "True", int(sys.argv[3])
before = facts()
said = outcome(lambda: begin.foresee(confined))
asked = facts()
done = outcome(lambda: begin.begin(confined))
os.write(answer, json.dumps([said, asked == before, done, facts() == before]).encode())
"""


def began(confined: bool, streams: Dict[str, Any]) -> Tuple[str, str]:
    """Return how a process with these standard streams is refused, which it must have been told before."""
    read, write = os.pipe()
    given: Dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": None, **streams}
    command = [sys.executable, "-I", "-S", "-c", SCRIPT, str(ROOT), str(confined), str(write)]
    try:
        subprocess.run(command, pass_fds=[write], check=True, timeout=60, **given)
    finally:
        os.close(write)
        with os.fdopen(read) as file:
            answer = file.read()
    said, unchanged, done, untouched = json.loads(answer)
    assert said == done and unchanged
    assert untouched is bool(done[0])  # the control: what is seen to stay the same does change when it is begun
    return done[0], done[1]


def unconnected() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def datagrams() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.connect(("127.0.0.1", 9))  # to one place, and yet sendto(2) reaches every other
    return made


def listening() -> socket.socket:
    server = socket.socket(socket.AF_INET)
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    return server


def bound() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", 0))
    return made


SOCKETS: Dict[str, Callable[[], socket.socket]] = {
    "unconnected": unconnected, "datagrams": datagrams, "listening": listening, "bound": bound,
}  # fmt: skip
STREAMS = {"stdin": 0, "stdout": 1, "stderr": 2}


@pytest.mark.parametrize("kind", SOCKETS)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_socket_that_leads_anywhere_is_foreseen_where_a_boundary_refuses_it(kind: str, stream: str) -> None:
    with SOCKETS[kind]() as end:
        name, text = began(True, {stream: end})
        assert name == "HostError" and text.startswith(f"descriptor {STREAMS[stream]}: is a socket")
        assert stream != "stdin" or began(False, {stream: end}) == ("", "")


@pytest.mark.parametrize("confined", [True, False])
def test_a_process_that_can_supervise_is_not_refused(confined: bool) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with one, other:
        assert began(confined, {"stdin": one}) == ("", "")


def unreadable(*_: object) -> Any:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


PROC: Dict[str, Tuple[Any, str, Any, str]] = {
    "another's": (begin.os, "readlink", lambda path: "1", "processes cannot be seen here"),
    "none": (begin.os, "readlink", unreadable, "processes cannot be seen here"),
    "closed": (begin.os, "listdir", unreadable, "cannot be listed: Permission denied"),
    "hidden": (begin.process, "stat_of", lambda pid: None, "processes of others are hidden here"),
}


@pytest.mark.parametrize("case", PROC)
def test_a_proc_that_shows_too_little_is_foreseen_where_a_boundary_needs_it(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "_check_descriptors", lambda: None)
    begin.foresee(True)  # the control: as it is here, it shows enough
    module, name, answer, words = PROC[case]
    monkeypatch.setattr(begin.boundary, "close_on_exec_from", lambda first: None)
    monkeypatch.setattr(begin.process, "become_undumpable", lambda: None)
    for step in (begin.foresee, begin.begin):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, answer)
            with pytest.raises(HostError) as caught:
                step(True)
            begin.foresee(False)  # nothing but the program is ended then
        assert caught.value.where == "/proc" and caught.value.what.startswith(words) and caught.value.remedy


def test_of_both_faults_the_first_that_a_launch_meets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(what: str) -> Callable[[], None]:
        def failing() -> None:
            raise HostError(what)

        return failing

    monkeypatch.setattr(begin, "_check_descriptors", fail("descriptors"))
    monkeypatch.setattr(begin, "_check_proc", fail("proc"))
    monkeypatch.setattr(begin.boundary, "close_on_exec_from", lambda first: None)
    monkeypatch.setattr(begin.process, "become_undumpable", lambda: None)
    for step in (begin.begin, begin.foresee):
        with pytest.raises(HostError, match="descriptors"):
            step(True)
