# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a program leaves behind is ended with the run, counted and said; what is not the run's own is left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import driver
from support.launch import PYTHON, ROOT, Lab, python_grants
from support.outcome import (
    ONCE,
    Status,
    alive,
    children,
    exec_options,
    finish,
    launch,
    line_of,
    marked,
    started,
    wait_until,
)

# Each leaves processes behind and says their ids; then it ends with 7. What they have in common: `%s` is their mark.
# A process tells that it is ready by its id, so that nothing is killed before it has become what it is here for.
LEAVERS = {
    "a child": (1, """
def body(): wait()
leave(body)
"""),
    "a double fork": (1, """
def body():
    orphan()
    wait()
leave(body)
"""),
    "a session of its own": (1, """
def body():
    os.setsid()
    orphan()
    os.setsid()
    os.chdir("/")
    for fd in (0, 2): os.close(fd)
    wait()
leave(body)
"""),
    "one that ignores every signal it can": (1, """
def body():
    for number in range(1, 32):
        if number not in (9, 17, 19): signal.signal(number, signal.SIG_IGN)
    wait()
leave(body)
"""),
    "one that is stopped": (1, """
def body():
    say()
    os.kill(os.getpid(), 19)
    while True: time.sleep(9)
leave(body)
"""),
    "three generations": (3, """
def body(depth=2):
    os.setpgid(0, 0)
    if depth and not os.fork(): body(depth - 1)
    wait()
leave(body, 3)
"""),
    "one that answers the end with a child": (1, """
def body():
    def again(*_):
        if not os.fork(): signal.signal(15, signal.SIG_IGN)
    signal.signal(15, again)
    wait()
leave(body)
"""),
}  # fmt: skip

_COMMON = """
import os, signal, sys, time
MARK = sys.argv[1]
source, sink = os.pipe()
def say(): os.write(sink, b"%d\\n" % os.getpid())
def orphan():
    before = os.getpid()
    if os.fork(): os._exit(0)
    while os.getppid() == before: time.sleep(0.001)
def wait():
    say()
    while True: time.sleep(9)
def leave(body, count=1):
    if not os.fork():
        body()
    text = b""
    while text.count(b"\\n") < count: text += os.read(source, 99)
    print(text.decode().replace("\\n", " "), flush=True)
    os._exit(7)
"""


def leaver(lab: Lab, name: str) -> tuple[str, ...]:
    """Return the command line of a program that leaves something behind."""
    return (*PYTHON, "-c", _COMMON + LEAVERS[name][1], f"{lab.workspace}/mark")


@pytest.mark.parametrize("name", list(LEAVERS))
def test_what_is_left_over_is_ended_counted_and_said(lab: Lab, name: str) -> None:
    done = launch(lab, "process", *leaver(lab, name), options=python_grants())
    assert done.returncode == 7, done.stderr
    left = [int(word) for word in done.stdout.split()]
    assert len(left) == LEAVERS[name][0]
    assert not any(alive(pid) for pid in left)
    assert marked(f"{lab.workspace}/mark") == []
    count = len(left) + (name == "one that answers the end with a child")
    assert f"warning: {count} process(es) were left over when the program ended, and were ended" in done.stderr
    assert lab.receipt()["boundary"]["survivors_killed"] == count
    assert lab.leftovers() == []  # the private directory went after the last one who could write there


@pytest.mark.parametrize("name", ["a child", "a session of its own"])
def test_without_a_boundary_daemons_are_left_alone_and_nothing_is_said(lab: Lab, name: str) -> None:
    # the daemon keeps our streams open, so files take them, not pipes
    out, err = lab.outside / "out", lab.outside / "err"
    command = lab.command(*exec_options(lab, "none"), "--", *leaver(lab, name))
    with out.open("w") as stdout, err.open("w") as stderr:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, timeout=60, **lab.options()
        )
    pid = int(out.read_text())
    try:
        assert done.returncode == 7
        assert "left over" not in err.read_text()
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


@ONCE
def test_a_run_that_leaves_nothing_says_nothing(lab: Lab) -> None:
    done = launch(lab, "process", "sh", "-c", "sleep 0.01 & wait; exit 5")
    assert done.returncode == 5
    assert "left over" not in done.stderr
    assert lab.receipt()["boundary"]["survivors_killed"] == 0


@ONCE
def test_corpses_that_nobody_waited_for_are_no_survivors(lab: Lab) -> None:
    script = "import os, time\nfor _ in range(20):\n  if not os.fork(): os._exit(0)\ntime.sleep(0.1)"
    done = launch(lab, "process", *PYTHON, "-c", script, options=python_grants())
    assert done.returncode == 0, done.stderr
    assert "left over" not in done.stderr
    assert lab.receipt()["boundary"]["survivors_killed"] == 0


# Each link lives too short to be met by a look at what runs. The kernel knows whether any is left: they are one group.
CHAIN = """
import os
with open("group", "w") as file:
    file.write(str(os.getpgrp()))
if os.fork():
    {first}
for turn in range(1 << 30):
    if os.fork():
        os._exit(0)
"""


def _chain_is_left(lab: Lab) -> bool:
    """Whether any link of a chain is there that the run should have ended; then it is ended here, all at once."""
    group = int((lab.workspace / "group").read_text())
    assert group != os.getpgrp(), "a chain is started in a session of its own"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
        return True
    return False


def test_a_chain_of_forks_that_never_stands_still_is_ended_too(lab: Lab) -> None:
    chain = CHAIN.format(first="os._exit(3)")
    try:
        done = launch(lab, "process", *PYTHON, "-c", chain, options=python_grants(), start_new_session=True)
    finally:
        left = _chain_is_left(lab)  # one that is left may hold our pipes
    assert not left
    assert done.returncode == 3, done.stderr
    assert lab.receipt()["boundary"]["survivors_killed"] >= 1


def test_a_failure_of_the_supervisor_does_not_spare_what_is_being_forked(lab: Lab) -> None:
    chain = CHAIN.format(first="open('up', 'w').close(); __import__('time').sleep(60)")
    options = (*exec_options(lab, "process"), *python_grants(), "--max-wall-clock-seconds", "1")
    try:
        done = driver.run(lab, driver.FAILS_WHEN_UP, *options, "--", *PYTHON, "-c", chain, start_new_session=True)
    finally:
        left = _chain_is_left(lab)
    assert not left
    assert done.returncode == 125 and "planned failure" in done.stderr


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_request_to_end_takes_the_whole_tree_along(lab: Lab) -> None:
    mark = f"{lab.workspace}/mark"
    script = f"setsid sh -c 'trap \"\" TERM; : {mark}; sleep 60 & echo ready; wait' & exec sleep 50"
    with started(lab, lab.command(*exec_options(lab, "process"), "--", "sh", "-c", script)) as process:
        assert line_of(process) == "ready"
        wait_until(lambda: len(marked(mark)) == 2, "only the command and the inner shell still bear the mark")
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.returncode == 128 + signal.SIGTERM
    assert marked(mark) == []
    assert lab.receipt()["boundary"]["survivors_killed"] >= 2


def test_who_was_there_before_us_is_not_ended(lab: Lab) -> None:
    """A shell starts something and then becomes our command: what it started is a child of ours, but not of the run."""
    sleeper = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    command = lab.command(*exec_options(lab, "process"), "--", "sh", "-c", "setsid sleep 49 & exit 7")
    script = f'{sys.executable} -I -S -c "$0" & exec "$@"'
    with started(lab, ["sh", "-c", script, sleeper, *command]) as process:
        before = int(line_of(process))
        try:
            wait_until(lambda: process.poll() is not None, "the command ends")
            assert alive(before)
        finally:
            os.kill(before, signal.SIGKILL)
        assert process.returncode == 7
    assert lab.receipt()["boundary"]["survivors_killed"] == 1


# --- what the supervisor is ------------------------------------------------------------------------------


def test_the_supervisor_is_one_thread_and_adopts_every_orphan(lab: Lab) -> None:
    """The program ends with the thread that started it (PR_SET_PDEATHSIG); there is only one, which ends last."""
    script = "(sleep 51 & echo $! $(exec sh -c 'echo $PPID')) ; read line; exit 4"
    with started(
        lab, lab.command(*exec_options(lab, "process"), "--", "sh", "-c", script), stdin=subprocess.PIPE
    ) as process:
        orphan = int(line_of(process).split()[0])
        assert os.listdir(f"/proc/{process.pid}/task") == [str(process.pid)]
        wait_until(lambda: orphan in children(process.pid), "the orphan is adopted")
        done_input(process)
        assert finish(process).returncode == 4
    assert not alive(orphan)


def done_input(process: subprocess.Popen[str]) -> None:
    """Send a started command one line and the end of input."""
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()


# Executes a program without CAP_SYS_PTRACE (19, linux/capability.h): root with it could read everybody.
WITHOUT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from aasm._sys import boundary
boundary.keep_capabilities(~(1 << 19) & (1 << 41) - 1)
os.execv(sys.argv[2], sys.argv[2:])
"""
PEEK = """
import sys
for pid in sys.argv[1:]:
    try:
        open(f"/proc/{pid}/mem", "rb").close()
        print("opened")
    except OSError as problem:
        print(problem.errno)
"""


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_other_processes_of_the_same_user_cannot_read_the_supervisor(lab: Lab, isolation: str) -> None:
    without = (sys.executable, "-I", "-S", "-c", WITHOUT, str(ROOT))
    command = lab.command(*exec_options(lab, isolation), "--", "sh", "-c", "echo ready; exec sleep 52")
    with started(lab, [*without, *command]) as run:
        assert line_of(run) == "ready"
        (program,) = children(run.pid)
        wait_until(lambda: b"sleep" in _command_line(program), "the program is there")
        seen = lab.bare(*without, sys.executable, "-I", "-S", "-c", PEEK, str(program), str(run.pid))
        assert seen.stdout.split() == ["opened", "13"], seen.stderr  # the program can be read, we cannot: EACCES
        run.send_signal(signal.SIGTERM)
        assert finish(run).returncode == 143


@ONCE
def test_a_thread_that_ended_too_early_would_never_look_like_success(lab: Lab) -> None:
    """What the one thread above is for: the kernel kills a program whose starter ended, and that is what is said."""
    change = """
import threading, time
from aasm.supervise import begin
whole = begin.start_launcher
def in_a_thread():
    made = []
    def work():
        made.append(whole())
        while not os.path.exists("started"):
            time.sleep(0.005)
    threading.Thread(target=work).start()
    while not made:
        time.sleep(0.001)
    return made[0]
begin.start_launcher = in_a_thread
"""
    status = Status()
    begun = time.monotonic()
    done = driver.run(
        lab, change, *exec_options(lab, "process"), *status.options, "--", "sh", "-c", "touch started; exec sleep 20",
        pass_fds=[status.number],
    )  # fmt: skip
    assert time.monotonic() - begun < 10
    said = status.read()
    assert (done.returncode, said["ending"], said["signal"]) == (137, "killed", 9)
