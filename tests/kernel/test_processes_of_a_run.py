# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What runs as what: /proc of each process of a real run, every file that is written, and who writes it.

The tables stand in docs/audit-guide.md; a run that does something else makes them wrong here. Files and processes are
seen as audit events of Python: our package opens files in no other way.
"""

from __future__ import annotations

import ast
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

import pytest
from support import driver
from support.guide import CODE, table
from support.launch import PACKAGE, PYTHON, ROOT, Lab, python_grants
from support.outcome import ONCE

# --- what /proc says of each process ---------------------------------------------------------------------------

SNAPSHOT = """
def snapshot(who, path):
    lines = open("/proc/self/status").read().splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    kept = {name: status[name].split() for name in ("Uid", "Gid", "CapEff", "CapPrm", "NoNewPrivs", "Seccomp")}
    descriptors = {}
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            descriptors[number] = (os.readlink("/proc/self/fd/%d" % number), os.get_inheritable(number))
        except OSError:
            pass  # that of the listing
    try:
        environment = open("/proc/self/environ", "rb").read()
    except OSError:  # a process that is undumpable may not look there itself
        environment = b"\\0".join(name + b"=" + text for name, text in os.environb.items())
    with open(path, "a") as file:
        file.write(repr((who, kept, descriptors, environment)) + "\\n")
"""
IN_THE_LAUNCHER = """
steps = dict(launcher.STEPS)
def first(launch):
    snapshot("launcher, waiting", {path!r})
    steps["order"](launch)
launcher.STEPS = tuple((name, first if name == "order" else step) for name, step in launcher.STEPS)
whole = launcher.execute
def execute(launch):
    snapshot("launcher, before exec", {path!r})
    whole(launch)
launcher.execute = execute
"""
IN_THE_SUPERVISOR = """
from aasm.supervise import loop
whole = loop.Supervisor.run
def run(self, clock):
    snapshot("supervisor", {path!r})
    return whole(self, clock)
loop.Supervisor.run = run
"""
KINDS = (
    ("socket:", "socket"), ("/memfd:aasm-status", "status page"), ("anon_inode:[signalfd]", "signals"),
    (".reserved", "receipt"), ("/execution-receipts", "its directory"), ("/canary", "canary"),
)  # fmt: skip
GIVEN = {"GIVEN_TOKEN": "of-the-operator"}


class Seen(NamedTuple):
    """One process as /proc shows it to itself."""

    status: Dict[str, List[str]]
    descriptors: Dict[int, Tuple[str, bool]]  # what it is, and whether exec hands it on
    environment: bytes


def seen(lab: Lab) -> Dict[str, Seen]:
    """Run a program in a boundary that lets it look at /proc; return each process, and one without any boundary."""
    path = str(lab.workspace / "seen")
    change = driver.launcher_change(SNAPSHOT + IN_THE_LAUNCHER.format(path=path))
    change = SNAPSHOT + IN_THE_SUPERVISOR.format(path=path) + change
    words = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace), "--read", "/proc")
    look = (*PYTHON, "-c", f"import os\n{SNAPSHOT}\nimport sys\nsnapshot(sys.argv[1], {path!r})")
    done = driver.run(lab, change, *words, *python_grants(), "--report", "never", "--", *look, "program", env=GIVEN)
    assert done.returncode == 0, done.stderr
    lab.bare(*look, "free")
    lines = Path(path).read_text().splitlines()
    return {who: Seen(*rest) for who, *rest in map(ast.literal_eval, lines)}


def kinds(process: Seen) -> str:
    """Return what a process holds beside the standard streams, in words; an unknown descriptor is itself."""
    targets = [target for number, (target, _) in process.descriptors.items() if number > 2]
    named = {next((name for part, name in KINDS if part in target), target) for target in targets}
    return ", ".join(sorted(named)) or "none"


def capabilities(process: Seen, free: Seen) -> str:
    names = ("CapEff", "CapPrm")
    if all(process.status[name] == free.status[name] for name in names) and process.status["NoNewPrivs"] != ["1"]:
        return "as started"
    return "none" if all(int(process.status[name][0], 16) == 0 for name in names) else str(process.status)


def environment(process: Seen) -> str:
    if not process.environment:
        return "empty"
    return "as started" if b"of-the-operator" in process.environment else "made from nothing"


def row(who: str, process: Seen, free: Seen) -> List[str]:
    """Return the row of the guide's table for one process."""
    changed = [process.status[name][0] for name in ("NoNewPrivs", "Seccomp")]
    same = changed == [free.status[name][0] for name in ("NoNewPrivs", "Seccomp")]
    numbers = ["as started"] * 2 if same else changed
    return [who, capabilities(process, free), *numbers, kinds(process), environment(process)]


def test_each_process_of_a_run_is_what_the_guide_says(lab: Lab) -> None:
    found = seen(lab)
    free = found.pop("free")
    rows = {cells[0]: cells for cells in table("process")}
    assert set(rows) == set(found)
    assert [row(who, found[who], free) for who in rows] == list(rows.values())
    assert all(process.status["Uid"] == free.status["Uid"] for process in found.values()), "nobody changes user"
    assert all(process.status["Gid"] == free.status["Gid"] for process in found.values())
    for who in ("supervisor", "launcher, before exec"):
        handed_on = {number for number, (_, inherited) in found[who].descriptors.items() if inherited}
        assert handed_on <= {0, 1, 2}, who


# --- what is written, what is started, what is connected ------------------------------------------------------------

# Tells every event that matters on a descriptor of its own; what it opens for that is opened before it listens.
HOOK = """
import os, sys
def listen(who, path):
    sys.dont_write_bytecode = True  # what Python itself keeps beside the code is no file of a run
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    changing = ("os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.symlink", "os.truncate")
    starting = ("os.posix_spawn", "os.fork", "os.exec", "os.system", "subprocess.Popen", "pty.spawn", "os.spawn")
    meeting = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")
    def hook(event, args):
        if event == "open" and isinstance(args[2], int) and args[2] & writing:
            told = ("open", os.fsdecode(args[0]) if isinstance(args[0], (str, bytes)) else str(args[0]))
        elif event in changing:
            name = args[1] if event in ("os.rename", "os.link") else args[0]
            if isinstance(name, int):
                return  # a descriptor, which was opened before
            told = (event, os.fsdecode(name))
        elif event in starting or event in meeting:
            told = (event, "")
        else:
            return
        os.write(out, (repr((who, *told)) + "\\n").encode())
    sys.addaudithook(hook)
"""
NAMES = (
    (re.compile(r"^aasm-[0-9a-f]{16}$"), "aasm-*"),
    (re.compile(r"^\.aasm-[0-9a-f]{16}\.reserved$"), ".aasm-*.reserved"),
    (re.compile(r"^\d+-[0-9a-f-]{36}(?=\.execution-receipt\.json$)"), "TIME-ID"),
)


class Event(NamedTuple):
    """One audit event: who, what, and the name of the file without its directory and without what is random."""

    who: str
    what: str
    name: str


def told(log: Path) -> List[Event]:
    """Return the events of a log, each as often as it happened."""
    return [Event(who, what, _name(path)) for who, what, path in map(ast.literal_eval, log.read_text().splitlines())]


def _name(path: str) -> str:
    name = path.rstrip("/").rpartition("/")[2]
    for pattern, word in NAMES:
        name = pattern.sub(word, name)
    return name


def listened(lab: Lab, *words: str) -> List[Event]:
    """Carry out a command in a home of its own, with supervisor and launcher listened to; return the events."""
    log = lab.file(lab.top / "log", "", 0o666)
    change = HOOK + f"listen('supervisor', {str(log)!r})\n"
    change += driver.launcher_change(HOOK + f"listen('launcher', {str(log)!r})\n")
    done = driver.run(lab, change, *words, env={"AASM_STATE_DIR": str(lab.home / "STATE")})
    assert done.returncode == 0, done.stderr
    return told(log)


def listed(who: str) -> Dict[str, str]:
    """Return the names of the files that the guide says a process of a run with a boundary writes, with their modes."""
    rows = [cells for cells in table("file") if who in cells[1]]
    return {span.rstrip("/").rpartition("/")[2]: cells[2] for cells in rows for span in CODE.findall(cells[0])}


RUN = ("run", "exec", "--isolation", "process", "--system", "--report", "never")


@ONCE
def test_every_file_that_a_run_writes_is_in_the_guide(lab: Lab) -> None:
    events = listened(lab, *RUN, "--write", str(lab.workspace), "--", "true")
    for who in ("supervisor", "launcher"):
        written = {event.name for event in events if event.who == who and event.what != "os.posix_spawn"}
        assert written | {"null"} == set(listed(who))  # the device is for a closed stream, and none is closed here
    modes = listed("supervisor")
    state = lab.home / "STATE"
    found = [state, *state.rglob("*")]
    assert {_name(str(path)) for path in found} <= set(modes) and len(found) == 6
    for path in found:
        assert f"{stat.S_IMODE(path.stat().st_mode):04o}" == modes[_name(str(path))], path


@ONCE
def test_one_process_is_started_and_nobody_is_connected_to(lab: Lab) -> None:
    events = listened(lab, *RUN, "--write", str(lab.workspace), "--", "true")
    started = [event for event in events if event.what.startswith(("os.posix", "os.fork", "os.exec", "os.s", "sub"))]
    assert started == [Event("supervisor", "os.posix_spawn", "")]
    assert not [event for event in events if event.what.startswith("socket")]


@ONCE
def test_a_dry_run_writes_and_starts_nothing(lab: Lab) -> None:
    events = listened(lab, *RUN, "--write", str(lab.workspace), "--dry-run", "--", "true")
    assert events == []
    assert list(lab.home.iterdir()) == []


VERIFY = HOOK + """
listen("verifier", sys.argv[1])
sys.path.insert(0, sys.argv[2])
from aasm.receipt.verify import main
sys.exit(main(sys.argv[3:]))
"""


@ONCE
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_the_verifier_writes_starts_and_connects_to_nothing(lab: Lab, more: Tuple[str, ...]) -> None:
    log = lab.file(lab.top / "log", "", 0o666)
    receipt = str(ROOT / "tests" / "golden" / "receipt" / "sample.execution-receipt.json")
    command = [sys.executable, "-I", "-c", VERIFY, str(log), str(Path(PACKAGE).parent), *more, receipt]
    options: Dict[str, Any] = lab.options()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0 and "trustworthy" in done.stdout, done.stderr
    assert told(log) == []
    # the control: the same hook hears of a file, a process and a connection
    words = "open(sys.argv[2], 'w'); os.posix_spawn('/bin/true', ['true'], {}); import socket\n"
    words += "try: socket.socket().connect(('127.0.0.1', 1))\nexcept OSError: pass\n"
    heard = [sys.executable, "-I", "-c", HOOK + "listen('x', sys.argv[1])\n" + words, str(log), str(lab.top / "new")]
    lab.own(lab.top)
    assert subprocess.run(heard, capture_output=True, timeout=60, **options).returncode == 0
    assert {(event.what, event.name) for event in told(log)} == {
        ("open", "new"), ("os.posix_spawn", ""), ("socket.connect", ""),
    }  # fmt: skip
