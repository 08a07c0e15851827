# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The supervisor ended at any moment: SIGTERM leaves no survivor, SIGKILL takes the program along, no file is half.

What happens to the program then: it is killed with the supervisor (PR_SET_PDEATHSIG). What the program itself had
started lives on inside its boundary, which nothing but its own end can take off.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import time

import pytest
from support import driver
from support.launch import Lab
from support.outcome import (
    ONCE,
    Done,
    alive,
    events,
    exec_options,
    finish,
    launch,
    line_of,
    marked,
    one_error,
    receipt_names,
    started,
    stopped_launcher,
    wait_until,
)

from aasm.governance import ledger
from aasm.receipt import verify

TRIES = 12
LONGEST = 0.15  # seconds; a launch takes about half of that


def assert_state_is_whole(lab: Lab) -> None:
    """Every file of the state directory is complete: the chain holds up to a torn last line, every receipt verifies."""
    path = lab.state / "ledger.jsonl"
    if path.exists():
        found = list(ledger.problems(str(path)))
        assert [line for line in found if "torn" not in line] == []
    for name in receipt_names(lab):
        assert name.endswith(".execution-receipt.json")
        with contextlib.redirect_stdout(io.StringIO()):
            assert verify.main([str(lab.state / "execution-receipts" / name)]) == 0


def assert_next_run_works(lab: Lab) -> None:
    """The next run works, and afterwards the ledger is whole without exception."""
    before = len(receipt_names(lab))
    done = launch(lab, "process", "sh", "-c", "exit 4")
    assert done.returncode == 4, done.stderr
    assert list(ledger.problems(str(lab.state / "ledger.jsonl"))) == []
    assert lab.ledger()[-1]["event"] == "ended"
    assert len(receipt_names(lab)) == before + 1


def wait_until_gone(mark: str) -> None:
    """Wait until no process bears the mark any more."""
    wait_until(lambda: not marked(mark), f"{mark}: nothing of the run is left")


def wait_until_gone_by(pid: int) -> None:
    """Wait until a process is gone."""
    wait_until(lambda: not alive(pid), f"{pid}: dead")


def command(lab: Lab, mark: str) -> list[str]:
    """Return the command line of a run that leaves a process with a mark behind, and whose program ignores nothing."""
    script = f"setsid sh -c 'sleep 60; {mark}' & exec sleep 61"  # a shell would wait for its child before it answers
    return lab.command(*exec_options(lab, "process"), "--", "sh", "-c", script)


def ended(process: subprocess.Popen[str], number: int) -> Done[str]:
    """Return how the command ended. An interrupt may be lost by an interpreter or shell that just starts."""
    try:
        return finish(process, 5 if number == signal.SIGINT else 15)
    except subprocess.TimeoutExpired:
        assert number == signal.SIGINT
        process.send_signal(number)  # as a person would
        return finish(process)


def test_a_request_to_end_at_any_moment_leaves_no_survivor(lab: Lab) -> None:
    assert_no_survivor(lab, signal.SIGTERM, TRIES)


@ONCE
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_an_interrupt_or_a_hang_up_at_any_moment_leaves_no_survivor(lab: Lab, number: int) -> None:
    assert_no_survivor(lab, number, TRIES // 2)


def assert_no_survivor(lab: Lab, number: int, tries: int) -> None:
    """Send a signal to the supervisor at ever later moments; afterwards nobody is left, and the state is whole."""
    for turn in range(tries):
        mark = f": {lab.workspace}/mark{turn}"
        with started(lab, command(lab, mark)) as process:
            time.sleep(LONGEST * turn / tries)
            process.send_signal(number)
            done = ended(process, number)
        trace = done.stderr.partition("Traceback")[2]
        if trace:  # one that comes while the interpreter itself starts is not ours to answer
            assert "aasm/cli" not in trace and "KeyboardInterrupt" in trace, (turn, done.stderr)
        else:
            assert done.returncode in (-number, 128 + number, 125), (turn, done.stderr)
        wait_until_gone(mark)
        if done.returncode == 125:
            one_error(done)
    assert_state_is_whole(lab)
    assert lab.leftovers() == []
    assert_next_run_works(lab)


def test_a_killed_supervisor_takes_the_program_along_at_any_moment(lab: Lab) -> None:
    for turn in range(TRIES + 1):
        mark = f": {lab.workspace}/mark{turn}"
        # the shell itself stays, with its mark: it would become a last command that is a program
        command = lab.command(*exec_options(lab, "process"), "--", "sh", "-c", f"{mark}; echo up; read line")
        with started(lab, command, stdin=subprocess.PIPE) as process:
            if turn == TRIES:  # however long a launch takes here, once the program is there
                assert line_of(process) == "up"
            else:
                time.sleep(LONGEST * turn / TRIES)
            process.kill()
            process.wait(10)
            wait_until_gone(mark)
        assert_state_is_whole(lab)
    assert_next_run_works(lab)
    assert "ended" in events(lab)


def test_what_a_program_had_started_stays_inside_its_boundary_when_the_supervisor_is_killed(lab: Lab) -> None:
    secret = lab.file(lab.outside / "secret", "s")
    answer = lab.workspace / "answer"
    child = f"while [ ! -e go ]; do sleep 0.01; done; cat {secret} > answer 2>&1; echo done >> answer"
    script = f"sh -c '{child}' & echo $! $$; sleep 63"
    with started(lab, lab.command(*exec_options(lab, "process"), "--", "sh", "-c", script)) as process:
        below, program = map(int, line_of(process).split())
        process.kill()
        process.wait(10)
        wait_until(lambda: not alive(program), "the program is dead")
        assert alive(below)
        assert lab.bare("cat", str(secret)).stdout == "s"  # the control
        lab.file(lab.workspace / "go")
        wait_until(lambda: not alive(below), "what it started ends by itself")
    assert "Permission denied" in answer.read_text() and answer.read_text().endswith("done\n")
    assert events(lab) == ["registered"]  # nobody was left to record an end
    assert receipt_names(lab) == []
    assert_next_run_works(lab)


@ONCE
def test_the_launcher_ends_with_the_supervisor_at_every_step(lab: Lab) -> None:
    for step in ("order", "descriptors", "landlock", "filter_canary"):
        stopping = driver.driver(driver.at_step(step, "os.kill(os.getpid(), 19)"), *run_of_a_mark(lab))
        with started(lab, stopping) as process:
            pid = stopped_launcher(process)
            process.kill()
            process.wait(10)
            if alive(pid):  # before it asked for our death to be its own, it ends as soon as it goes on
                os.kill(pid, signal.SIGCONT)
            wait_until_gone_by(pid)
        assert not (lab.workspace / "ran").exists()
    assert_next_run_works(lab)


def run_of_a_mark(lab: Lab) -> tuple[str, ...]:
    """Return the arguments of a launch whose program leaves a mark when it runs."""
    return (*exec_options(lab, "process"), "--", "touch", "ran")


# --- every single moment at which a file changes -----------------------------------------------------------------

# Kills this process at the Nth thing that it does to a file: before it, or in the middle of a write. Counted are the
# calls of `os` that change something, from the moment at which the launch begins.
KILL_AT = """
at, seen, counting = int(os.environ.pop("AT")), 0, False
def counted(name, whole):
    def call(*args, **more):
        global seen
        if not counting or (name == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR)):
            return whole(*args, **more)
        seen += 1
        if seen == at:
            if name in ("write", "pwrite") and args[0] > 2:
                whole(args[0], args[1][: len(args[1]) // 2], *args[2:])
            os.kill(os.getpid(), 9)
        return whole(*args, **more)
    return call
for name in ("open", "write", "pwrite", "fsync", "link", "unlink", "rename", "mkdir", "rmdir", "ftruncate", "fchmod",
             "posix_fallocate"):
    setattr(os, name, counted(name, getattr(os, name)))
from aasm import run
whole_launch = run.launch
def launch(*args, **more):
    global counting
    counting = True
    try:
        return whole_launch(*args, **more)
    finally:
        counting = False
        if seen < at:
            os._exit(77)
run.launch = launch
"""


def killed_at(lab: Lab, moment: int) -> Done[str]:
    """Run a launch that is killed at the given moment; code 77 says that there were fewer moments."""
    code = driver.driver(KILL_AT, *run_of_a_mark(lab))
    return subprocess.run(
        code, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **lab.options({"AT": str(moment)})
    )  # fmt: skip


@ONCE
def test_killed_at_every_change_of_a_file_the_state_stays_whole(lab: Lab) -> None:
    for moment in range(1, 200):
        done = killed_at(lab, moment)
        if done.returncode == 77:
            assert moment > 20  # far fewer would mean that nothing was counted
            break
        assert done.returncode == -signal.SIGKILL, (moment, done.stderr)
        assert_state_is_whole(lab)
    else:
        raise AssertionError("a launch never came to its end")
    assert_next_run_works(lab)
