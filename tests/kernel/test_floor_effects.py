# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the floor keeps from processes outside: signals, sockets without a path, limits and priorities."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from typing import Iterator

import pytest
from support import orders
from support.inside import bare, grants, held, policy, program, read, under
from support.launch import Lab

from aasm._sys import order as order_format, syscalls

ARCH = syscalls.host_arch()


@pytest.fixture
def stranger(lab: Lab) -> Iterator[subprocess.Popen[bytes]]:
    """A process outside the boundary, of the same user, in a session of its own."""
    argv = ("/bin/sh", "-c", "trap '' CONT; sleep 60 & echo; wait")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True, **lab.options()) as made:
        try:
            assert made.stdout is not None and made.stdout.readline() == b"\n"
            yield made
        finally:
            os.killpg(made.pid, signal.SIGKILL)


def numbers(*names: str) -> tuple[str, ...]:
    return tuple(str(ARCH.numbers[name]) for name in names)


# --- signals ---

SIGNALS = """
import signal
tgkill, sigqueueinfo, pidfd_open, pidfd_send = map(int, sys.argv[2:6])
def by_descriptor(pid, number):
    raw(pidfd_send, raw(pidfd_open, pid, 0), number, 0, 0)
def queued(pid, number):
    import ctypes, struct
    info = ctypes.create_string_buffer(struct.pack("<iii", number, 0, -1), 128)  # SI_QUEUE
    raw(sigqueueinfo, pid, number, ctypes.byref(info))
ways = {"kill": os.kill, "kill the group": lambda pid, number: os.kill(-pid, number),
        "tgkill": lambda pid, number: raw(tgkill, pid, pid, number), "rt_sigqueueinfo": queued,
        "pidfd_send_signal": by_descriptor}
def table(pid, number):
    return {name: attempt(way, pid, number) for name, way in ways.items()}
def own_child():
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        while True:
            signal.pause()
    os.setpgid(pid, pid)
    found = table(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGTERM)
    return found, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
signal.signal(signal.SIGCONT, signal.SIG_IGN)
stranger = int(sys.argv[1])
children, ended = own_child()
tell(stranger=table(stranger, signal.SIGCONT), harmless=attempt(os.kill, stranger, 0), children=children, ended=ended,
     supervisor={name: attempt(way, os.getppid(), 0) for name, way in ways.items() if name != "kill the group"},
     killed=attempt(os.kill, stranger, signal.SIGTERM) if sys.argv[6] == "kill" else None)
"""
WAYS = ("kill", "kill the group", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal")


def test_no_signal_leaves_the_boundary(lab: Lab, stranger: subprocess.Popen[bytes]) -> None:
    calls = numbers("tgkill", "rt_sigqueueinfo", "pidfd_open", "pidfd_send_signal")
    done = held(lab, SIGNALS, str(stranger.pid), *calls, "kill").told
    assert done["stranger"] == {way: "EPERM" for way in WAYS}
    assert set(done["supervisor"].values()) == {"EPERM"}
    assert (done["harmless"], done["killed"]) == ("EPERM", "EPERM")
    assert done["children"] == {way: "ok" for way in WAYS} and done["ended"] == -signal.SIGTERM
    assert stranger.poll() is None
    assert lab.receipt()["execution"]["exit_code"] == 0  # the supervisor lived to say so
    control = bare(lab, SIGNALS, str(stranger.pid), *calls, "kill").told
    assert control["stranger"] == {way: "ok" for way in WAYS} and control["killed"] == "ok"
    assert stranger.wait(10) == -signal.SIGTERM


# --- sockets without a path ---

ABSTRACT = """
import socket
inherited = socket.socket(fileno=0)
def send():
    inherited.connect(sys.argv[1].replace("@", "\\0"))
    inherited.sendall(b"reached")
near, far = socket.socketpair()
near.sendall(b"own")
tell(connect=attempt(send), made=attempt(socket.socket, socket.AF_UNIX), own=far.recv(9).decode(),
     bind=attempt(socket.socketpair()[0].bind, "\\0aasm-" + str(os.getpid())))
"""


@pytest.fixture(params=[socket.SOCK_STREAM, socket.SOCK_SEQPACKET], ids=["stream", "seqpacket"])
def abstract(request: pytest.FixtureRequest) -> Iterator[tuple[str, socket.socket, socket.SocketKind]]:
    """A listener without a path, outside: its name, itself, its kind."""
    name, kind = f"@aasm-test-{os.getpid()}-{os.urandom(4).hex()}", request.param
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(name.replace("@", "\0"))
        listener.listen()
        listener.settimeout(5)
        yield name, listener, kind


def test_a_socket_that_is_connected_to_nothing_is_not_handed_in(
    lab: Lab, abstract: tuple[str, socket.socket, socket.SocketKind]
) -> None:
    name, _, kind = abstract
    with socket.socket(socket.AF_UNIX, kind) as given:
        done = held(lab, ABSTRACT, name, stdin=given)
    assert done.code == 125 and done.told == {}
    assert done.stderr.startswith("error: descriptor 0: is a socket that is not connected to one place")


def test_no_abstract_socket_outside_is_reached_even_through_an_inherited_one(
    lab: Lab, abstract: tuple[str, socket.socket, socket.SocketKind]
) -> None:
    name, listener, kind = abstract
    order = order_format.encode(orders.for_program(lab, *program(ABSTRACT, name)))
    with socket.socket(socket.AF_UNIX, kind) as given:  # only an order by hand lets such a socket in at all
        done = read(orders.by_hand(lab, order, stdin=given)).told
    assert (done["connect"], done["made"], done["own"]) == ("EPERM", "EAFNOSUPPORT", "own"), done
    with socket.socket(socket.AF_UNIX, kind) as given:
        assert bare(lab, ABSTRACT, name, stdin=given).told["connect"] == "ok"
    # the first to arrive is the control's: nothing came from inside
    with listener.accept()[0] as arrived:
        assert arrived.recv(9) == b"reached"
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()


# --- limits and priorities of others ---

OTHERS = """
import ctypes, struct
pid = int(sys.argv[1])
nr = dict(zip(("prlimit64", "ioprio_set", "sched_setaffinity", "sched_setscheduler", "sched_setattr"),
              map(int, sys.argv[2:])))
one, priority = ctypes.byref(ctypes.c_ulong(1)), ctypes.byref(ctypes.c_int(0))
attributes = ctypes.create_string_buffer(struct.pack("<IIQiIQQQ", 48, 3, 0, 5, 0, 0, 0, 0), 48)  # SCHED_BATCH, nice 5
def tries(pid):
    return {"prlimit64": call(nr["prlimit64"], pid, 7, 0, 0),
            "setpriority": attempt(os.setpriority, os.PRIO_PROCESS, pid, 5),
            "ioprio_set": call(nr["ioprio_set"], 1, pid, 0x6007),
            "sched_setaffinity": call(nr["sched_setaffinity"], pid, 8, one),
            "sched_setscheduler": call(nr["sched_setscheduler"], pid, 3, priority),
            "sched_setattr": call(nr["sched_setattr"], pid, attributes, 0)}
tell(others=tries(pid), own=tries(0), parent=[os.getpriority(os.PRIO_PROCESS, 0)])
"""
OTHER_CALLS = ("prlimit64", "ioprio_set", "sched_setaffinity", "sched_setscheduler", "sched_setattr")


def state_of(pid: int) -> tuple[object, ...]:
    """Return what the calls would change."""
    return os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), os.sched_getscheduler(pid)


def test_limits_and_priorities_of_outsiders_stay_as_they_are(lab: Lab, stranger: subprocess.Popen[bytes]) -> None:
    before = state_of(stranger.pid)
    done = held(lab, OTHERS, str(stranger.pid), *numbers(*OTHER_CALLS)).told
    assert set(done["own"].values()) == {"ok"}, done["own"]
    assert set(done["others"].values()) == {"EPERM"}, done["others"]
    assert state_of(stranger.pid) == before
    control = bare(lab, OTHERS, str(stranger.pid), *numbers(*OTHER_CALLS)).told
    assert set(control["others"].values()) == {"ok"}
    assert state_of(stranger.pid) != before


# --- other processes, with /proc granted ---

OTHER_PROCESS = """
pid = sys.argv[1]
def text(path):
    return open(path, "rb").read().decode(errors="replace")
names = ("environ", "mem", "maps", "fd/0", "exe", "cwd", "root", "stat", "status", "cmdline")
def look(pid):
    found = {}
    for name in names:
        path = "/proc/%s/%s" % (pid, name)
        reader = os.readlink if name in ("fd/0", "exe", "cwd", "root") else open
        found[name] = attempt(reader, path)
    return found
tell(stranger=look(pid), supervisor=look(os.getppid()), own=look("self"), seen=value(text, "/proc/%s/environ" % pid))
"""
GUARDED = ("environ", "mem", "maps", "fd/0", "exe", "cwd", "root")


def test_memory_and_environment_of_outsiders_stay_closed_with_proc_granted(lab: Lab) -> None:
    options = lab.options()
    options["env"] = {**options["env"], "MARKER": "of-the-stranger"}
    with subprocess.Popen(["/bin/sleep", "60"], **options) as stranger:
        try:
            text = policy(filesystem=grants(["/proc", lab.workspace], [lab.workspace]))
            done = under(lab, text, OTHER_PROCESS, str(stranger.pid)).told
            control = bare(lab, OTHER_PROCESS, str(stranger.pid)).told
        finally:
            stranger.kill()
    assert set(control["stranger"].values()) == {"ok"} and "of-the-stranger" in control["seen"]
    for who in ("stranger", "supervisor"):
        assert {done[who][name] for name in GUARDED} == {"EACCES"}, done[who]
        assert [done[who][name] for name in ("stat", "status", "cmdline")] == ["ok"] * 3  # stated: these stay visible
    assert "of-the-stranger" not in done["seen"]
    assert set(done["own"].values()) == {"ok"}
