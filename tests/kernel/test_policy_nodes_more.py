# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""More nodes of our own that the kernel holds: no unix socket, ceilings of a policy, any system call and groups."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import pytest
from support.inside import bare, launch, policy_file, program, read, under
from support.launch import Lab, domain
from support.nodes import (
    assert_agrees,
    assert_unmet,
    foreseen,
    keys,
    outcomes,
    preview,
    warnings,
    within,
)
from support.outcome import ONCE, assert_refused, canaries

from aasm._sys import syscalls

# --- ipc.unix.allow and the nodes of the network ---

SOCKETS = """
import socket
path, port = sys.argv[1], int(sys.argv[2])
def connect(kind, to):
    with socket.socket(socket.AF_UNIX, kind) as made:
        made.connect(to)
        made.send(b"came out")
def internet():
    with socket.create_connection(("127.0.0.1", port)) as made:
        made.sendall(b"tcp")
def pair(kind):
    near, far = socket.socketpair(socket.AF_UNIX, kind)
    near.send(b"own")
    assert far.recv(3) == b"own"
def listen():
    with socket.socket() as made:
        made.listen()
ways = {"stream": lambda: connect(socket.SOCK_STREAM, path), "datagram": lambda: socket.socket(1, 2).close(),
        "abstract": lambda: connect(socket.SOCK_STREAM, "\\0" + path), "sequence": lambda: socket.socket(1, 5).close(),
        "pair": lambda: pair(socket.SOCK_STREAM), "packets": lambda: pair(socket.SOCK_SEQPACKET),
        "datagrams": lambda: pair(socket.SOCK_DGRAM), "internet": internet, "listen": listen}
tell(**{name: attempt(way) for name, way in ways.items()})
"""
UNIX = ("stream", "abstract", "datagram", "sequence")


class Listeners:
    """A unix socket in the workspace, one without a path, and a TCP port: what arrives there came out."""

    def __init__(self, lab: Lab) -> None:
        self.path = str(lab.workspace / "listener")
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for made, name in zip(self.unix, (self.path, "\0" + self.path)):
            made.bind(name)
            made.listen()
        os.chmod(self.path, 0o777)
        self.words = (self.path, str(self.tcp.getsockname()[1]))

    def came(self) -> list[int]:
        """Return how many connections each of the three was given since the last question."""
        return [self._came(made) for made in (*self.unix, self.tcp)]

    def _came(self, made: socket.socket) -> int:
        made.setblocking(False)
        for count in range(100):
            try:
                made.accept()[0].close()
            except BlockingIOError:
                return count
        raise AssertionError("too many")

    def __enter__(self) -> Listeners:
        return self

    def __exit__(self, *_: object) -> None:
        for made in (*self.unix, self.tcp):
            made.close()


def test_an_empty_list_of_unix_sockets_leaves_connected_pairs(lab: Lab) -> None:
    with Listeners(lab) as outside:
        done = under(lab, within(lab, ipc={"unix": {"allow": []}}), SOCKETS, *outside.words)
        assert {done.told[name] for name in UNIX} == {"EAFNOSUPPORT"}, done.stderr
        assert [done.told[name] for name in ("pair", "packets", "datagrams")] == ["ok", "ok", "EPERM"]
        assert (done.told["internet"], done.told["listen"], outside.came()) == ("ok", "ok", [0, 0, 1])
        assert outcomes(keys(done.stderr))["ipc.unix.allow"] == "enforced"
        assert_agrees(lab, done.stderr, "ipc", "prevention", "planned")
        assert set(bare(lab, SOCKETS, *outside.words).told.values()) == {"ok"}
        assert outside.came() == [1, 1, 1]


@pytest.mark.parametrize("network", [{"allowlist": [], "bind": []}, {"ports": [], "bind": []}], ids=["hosts", "ports"])
def test_no_port_to_listen_on_is_held_beside_no_network(lab: Lab, network: dict[str, Any]) -> None:
    with Listeners(lab) as outside:
        done = under(lab, within(lab, network=network), SOCKETS, *outside.words)
        assert [done.told[name] for name in ("listen", "internet", "pair")] == ["EAFNOSUPPORT", "EAFNOSUPPORT", "ok"]
        assert outside.came() == [0, 0, 0]
        assert outcomes(keys(done.stderr))["network.bind"] == "enforced"
        assert_agrees(lab, done.stderr, "network_egress", "prevention", "planned")


LISTENING = "ports to listen on are not held by this backend yet: a socket that listens without having been bound"
DESTINATIONS = "single destinations are not held by this backend yet: only the network as a whole can be refused"
NOT_HELD: dict[str, tuple[dict[str, Any], str, str]] = {
    "unix": ({"ipc": {"unix": {"allow": ["/run/x"]}}}, "ipc.unix.allow", "single unix sockets are not held"),
    "host": ({"network": {"allowlist": ["a.example:443"]}}, "network.allowlist", DESTINATIONS),
    "ports": ({"network": {"ports": [443]}}, "network.ports", DESTINATIONS),
    "bind": ({"network": {"bind": [8080]}}, "network.bind", LISTENING),
    "bind, empty": ({"network": {"bind": []}}, "network.bind", LISTENING),
    "bind beside nothing": ({"network": {"bind": [8080], "allowlist": []}}, "network.bind", LISTENING),
}


@ONCE
@pytest.mark.parametrize("case", NOT_HELD)
def test_what_nothing_holds_is_refused_with_its_reason_and_node(lab: Lab, case: str) -> None:
    sections, node, reason = NOT_HELD[case]
    assert_unmet(lab, launch(lab, within(lab, **sections), "/bin/touch", "ran"), node, reason)


# --- resources ---

MOST = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def most_open():
    found = []
    try:
        while len(found) < 200:
            found.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as problem:
        return [name_of(problem.errno), max(found) + 1]
    return ["ok", 200]
def write(size):
    with open("file", "wb", buffering=0) as file:
        file.seek(size - 1)
        file.write(b"x")
tell(below=attempt(write, 5000), above=attempt(write, 5001), open=most_open())
"""
STATED = {"max_open_files": 64, "max_file_size_bytes": 5000, "max_cpu_seconds": 9, "max_wall_clock_seconds": 60}


@pytest.mark.parametrize(
    ("option", "most", "stated_by"),
    [
        ((), 64, "resources.max_open_files"),
        (("--max-open-files", "40"), 40, "--max-open-files"),
        (("--max-open-files", "100"), 64, "resources.max_open_files"),
    ],
    ids=["policy", "smaller-option", "larger-option"],
)
def test_of_policy_and_option_the_smaller_ceiling_is_held(
    lab: Lab, option: tuple[str, ...], most: int, stated_by: str
) -> None:
    path = policy_file(lab, within(lab, resources=STATED))
    base = ("run", "exec", "--isolation", "process", "--policy", str(path), *option, "--max-wall-clock-seconds", "50")
    done = lab.aasm(*base, "--", *program(MOST))
    assert read(done).told == {"below": "ok", "above": "EFBIG", "open": ["EMFILE", most]}, done.stderr
    assert (lab.workspace / "file").stat().st_size == 0  # truncated, and the one byte too far never written
    found = {node: outcome for node, outcome in outcomes(keys(done.stderr)).items() if "max" in node}
    assert found == {
        stated_by: "enforced", "resources.max_file_size_bytes": "enforced", "resources.max_cpu_seconds": "unmet",
        "--max-wall-clock-seconds": "observed",
    }  # fmt: skip
    assert_agrees(lab, done.stderr, "resource", "unsupported", "unmeasured")  # the weakest of them decides
    assert (canaries(lab.receipt())["open_files"], canaries(lab.receipt())["file_size"]) == ("held", "held")
    assert bare(lab, MOST).told == {"below": "ok", "above": "ok", "open": ["ok", 200]}


@ONCE
def test_the_preview_shows_the_smaller_ceiling_and_what_keeps_it(lab: Lab) -> None:
    options = ("--max-open-files", "40", "--max-file-size-bytes", "9000")
    found = foreseen(lab, within(lab, resources=STATED), *options)
    kept = {item["name"]: (item["value"], item["kept_by"]) for item in found["launch_command"]["ceilings"]}
    assert {name: value for name, (value, _) in kept.items()} == {**STATED, "max_open_files": 40}
    assert kept["max_file_size_bytes"][1] == "RLIMIT_FSIZE, soft and hard" and "nothing" in kept["max_cpu_seconds"][1]


@ONCE
def test_the_wall_clock_of_a_policy_ends_a_run_and_is_named(lab: Lab) -> None:
    text = within(lab, resources={"max_wall_clock_seconds": 1, "max_open_files": 64})
    done = launch(lab, text, "/bin/sleep", "9")
    assert done.returncode == 124, done.stderr
    assert [line for line in warnings(done.stderr) if "1 s (resources.max_wall_clock_seconds)" in line], done.stderr
    line = domain(lab.receipt(), "resource")
    assert (line["state"], line["claim"]) == ("observe_only", "detected")
    words = ("--show-order", "--home", "real")
    said = preview(lab, text, *words).stderr
    assert [line for line in said.splitlines() if "max_wall_clock_seconds is not in the order" in line], said


@ONCE
@pytest.mark.parametrize("name", ["max_memory_bytes", "max_pids"])
def test_a_ceiling_of_a_policy_that_nothing_holds_is_refused(lab: Lab, name: str) -> None:
    done = launch(lab, within(lab, resources={**STATED, name: 100000}), "/bin/touch", "ran")
    assert_unmet(lab, done, f"resources.{name}", "no control group is used")


# --- syscalls.allow ---

NUMBERS = syscalls.host_arch().numbers
FEW = """
numbers = json.loads(sys.argv[1])
def inherited():
    pid = os.fork()
    if not pid:
        try:
            os.getgroups()
        except OSError as problem:
            os._exit(problem.errno)
        os._exit(0)
    status = os.waitpid(pid, 0)[1] >> 8
    if status:
        raise OSError(status, "")
tell(named=call(numbers["ioprio_get"], 1, 0), group=attempt(os.mkdir, "made"), groups=attempt(os.getgroups),
     uname=attempt(os.uname), socket=call(numbers["socket"], 2, 1, 0), child=attempt(inherited),
     schedule=call(numbers["sched_yield"]))
"""
INSIDE, BEYOND = ("named", "group"), ("groups", "uname", "socket", "child", "schedule")


def test_any_call_and_group_can_be_named_and_no_other_call_is_made(lab: Lab) -> None:
    words = json.dumps({name: NUMBERS[name] for name in ("ioprio_get", "socket", "sched_yield")})
    named = ["@files", "@memory", "@descriptors", "@signals", "exit_group", "ioprio_get"]
    done = under(lab, within(lab, syscalls={"allow": named}), FEW, words)
    assert done.told == {**dict.fromkeys(INSIDE, "ok"), **dict.fromkeys(BEYOND, "EPERM")}, done.stderr
    assert outcomes(keys(done.stderr))["syscalls.allow"] == "enforced"
    assert_agrees(lab, done.stderr, "syscall", "prevention", "planned")
    (lab.workspace / "made").rmdir()
    assert set(bare(lab, FEW, words).told.values()) == {"ok"}


WORK = """
set -e
printf '%s\\n' b a b | sort | uniq -c | tr -d ' ' > sorted
git init -q -b main repo
cd repo
git config user.name Tester; git config user.email tester@example.org
cp ../sorted file; git add file; git commit -qm first
git log --oneline | wc -l | tr -d ' '
exec "$@"
"""
ROUND = """
import subprocess, threading
thread = threading.Thread(target=os.getpid)
thread.start()
thread.join()
said = subprocess.check_output(["/bin/sh", "-c", "echo said | cat"], text=True)
name, swap, hangup = map(int, sys.argv[1:])
tell(said=said, sethostname=call(name, b"x", 1), swap=call(swap, 0), hangup=call(hangup),
     chroot=attempt(os.chroot, "/"))
"""


def test_a_program_runs_under_the_group_that_is_made_for_it(lab: Lab) -> None:
    calls = (str(NUMBERS[name]) for name in ("sethostname", "swapoff", "vhangup"))
    words = ("/bin/sh", "-c", WORK, "sh", *program(ROUND, *calls))
    done = launch(lab, within(lab, syscalls={"allow": ["@program"]}), *words)
    assert done.returncode == 0 and done.stdout.splitlines()[0] == "1", done.stderr
    refused = dict.fromkeys(("sethostname", "swap", "hangup", "chroot"), "EPERM")
    assert read(done).told == {"said": "said\n", **refused}
    assert (lab.workspace / "sorted").read_text() == "1a\n2b\n" and (lab.workspace / "repo/.git/refs").is_dir()
    assert_agrees(lab, done.stderr, "syscall", "prevention", "planned")


NARROWED = """
import socket, threading
def forked():
    if not os.fork():
        os._exit(0)
    os.wait()
thread = threading.Thread(target=os.getpid)
thread.start()
thread.join()
tell(fork=attempt(forked), spawn=attempt(os.posix_spawn, "/bin/true", ["true"], {}), thread="ok",
     socket=attempt(socket.socket), pair=attempt(socket.socketpair), mode=attempt(os.chmod, "file", 0o4755))
"""


def test_other_denials_hold_beneath_a_list_that_names_their_calls(lab: Lab) -> None:
    lab.file(lab.workspace / "file")
    others = {"network": {"allowlist": []}, "capabilities": {"deny": ["terminal_exec"]}}
    text = within(lab, syscalls={"allow": ["@program"]}, **others)
    told = under(lab, text, NARROWED).told
    assert (told["fork"], told["spawn"], told["thread"]) == ("EPERM", "EPERM", "ok")
    assert (told["socket"], told["pair"], told["mode"]) == ("EAFNOSUPPORT", "ok", "EPERM")
    assert (lab.workspace / "file").stat().st_mode & 0o7777 == 0o644
    assert {domain(lab.receipt(), name)["state"] for name in ("syscall", "network_egress", "process_creation")} == {
        "prevention"
    }
    control = bare(lab, NARROWED).told
    assert control == dict.fromkeys(control, "ok")


IN_NONE = "is refused in every boundary, so allowing it would mean nothing; take it out"
IS_NONE, KNOWN = "is no system call and no group of them;", "name a call of Linux, or one of @files, @descriptors"
CANNOT_BE_NAMED = {
    "ptrace": f'"ptrace" {IN_NONE}',
    "clone3": f'"clone3" {IN_NONE}',
    "mkdri": f'"mkdri" {IS_NONE} did you mean mkdir? {KNOWN}',
    "@file": f'"@file" {IS_NONE} did you mean @files? {KNOWN}',
    "Read": f'"Read" {IS_NONE} did you mean read? {KNOWN}',
    "zzzzzz": f'"zzzzzz" {IS_NONE} {KNOWN}',
}


@ONCE
def test_a_call_that_cannot_be_named_is_an_error_at_its_place(lab: Lab) -> None:
    lines = "".join(f'    - "{name}"\n' for name in CANNOT_BE_NAMED)
    path = policy_file(lab, f"syscalls:\n  allow:\n    - read\n{lines}")
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "/bin/touch", "ran")
    assert f"{path}:4:7: {CANNOT_BE_NAMED['ptrace']}" in assert_refused(lab, done)
    faults = [line for line in lab.aasm("policy", "validate", str(path)).stderr.splitlines() if "error: " in line]
    assert len(faults) == len(CANNOT_BE_NAMED)
    for number, (line, text) in enumerate(zip(faults, CANNOT_BE_NAMED.values()), 4):
        assert line.startswith(f"error: {path}:{number}:7: {text}"), line
