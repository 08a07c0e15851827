# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Signals: who gets them, what ends a run, and what the program finds as its own dispositions and mask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from support import driver
from support.launch import Lab
from support.outcome import (
    ONCE,
    alive,
    children,
    events,
    exec_options,
    finish,
    launch,
    line_of,
    marked,
    one_error,
    receipt_names,
    started,
    state_of,
    wait_until,
)

ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "none"])
TOLD = ("HUP", "INT", "QUIT", "USR1", "USR2", "WINCH")  # SIGTERM too, which is told last
ECHO = """
for name in HUP INT QUIT USR1 USR2 WINCH; do trap "echo $name" $name; done
trap "echo TERM; exit 9" TERM
echo ready
while :; do sleep 0.01; done
"""


def command(lab: Lab, isolation: str, *argv: str, options: tuple[str, ...] = ()) -> list[str]:
    """Return the command line that launches a program."""
    return lab.command(*exec_options(lab, isolation), *options, "--", *argv)


def program_of(supervisor: int) -> int:
    """Return the only child of a supervisor."""
    found = children(supervisor)
    assert len(found) == 1
    return found[0]


@ISOLATIONS
def test_signals_to_the_command_reach_the_program_each_once(lab: Lab, isolation: str) -> None:
    with started(lab, command(lab, isolation, "bash", "-c", ECHO)) as process:
        assert line_of(process) == "ready"
        for name in TOLD:
            process.send_signal(getattr(signal, f"SIG{name}"))
            assert line_of(process) == name
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.stdout == "TERM\n"  # and nothing came twice
    assert done.returncode == 9
    assert lab.ledger()[-1]["exit_code"] == 9
    if isolation == "process":
        said = lab.receipt()["execution"]
        assert said["termination"] == {"kind": "operator_requested", "forwarded": True}
        assert said["exit_code"] == 9


@ISOLATIONS
def test_a_request_to_end_ends_a_program_that_knows_nothing_of_it(lab: Lab, isolation: str) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        with started(lab, command(lab, isolation, "sh", "-c", "echo ready; exec sleep 60")) as process:
            assert line_of(process) == "ready"
            process.send_signal(number)
            done = finish(process)
        assert done.returncode == 128 + number, done.stderr


@ISOLATIONS
def test_a_second_request_ends_at_once_a_program_that_refuses_the_first(lab: Lab, isolation: str) -> None:
    script = "trap 'echo no' TERM; echo ready; while :; do sleep 0.01; done"
    with started(lab, command(lab, isolation, "bash", "-c", script)) as process:
        assert line_of(process) == "ready"
        program = program_of(process.pid)
        process.send_signal(signal.SIGTERM)
        assert line_of(process) == "no"
        assert process.poll() is None and alive(program)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert time.monotonic() - begun < 4  # less than the grace of five seconds
    assert done.returncode == 128 + signal.SIGKILL
    assert not alive(program)


@ONCE
@ISOLATIONS
def test_after_the_grace_a_program_that_refuses_to_end_is_killed(lab: Lab, isolation: str) -> None:
    change = "from aasm.supervise import loop\nassert loop.GRACE_SECONDS == 5.0\nloop.GRACE_SECONDS = 0.3\n"
    script = "trap '' TERM; echo ready; while :; do sleep 0.01; done"
    with started(lab, driver.driver(change, *exec_options(lab, isolation), "--", "bash", "-c", script)) as process:
        assert line_of(process) == "ready"
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.returncode == 128 + signal.SIGKILL


def test_a_request_to_end_reaches_a_stopped_program(lab: Lab) -> None:
    with started(lab, command(lab, "process", "sh", "-c", "echo ready; exec sleep 60")) as process:
        assert line_of(process) == "ready"
        program = program_of(process.pid)
        os.kill(program, signal.SIGSTOP)
        wait_until(lambda: state_of(program) == "T", "the program stops")
        process.send_signal(signal.SIGTERM)
        assert finish(process).returncode == 128 + signal.SIGTERM


@ONCE
def test_the_wall_clock_goes_on_for_a_stopped_program(lab: Lab) -> None:
    argv = ("sh", "-c", "kill -STOP $$; exit 7")
    done = launch(lab, "process", *argv, options=("--max-wall-clock-seconds", "1"))
    assert done.returncode == 124, done.stderr


@ONCE
def test_a_program_that_ended_in_time_was_not_ended_by_the_clock(lab: Lab) -> None:
    """The supervisor was stopped while both happened, so it finds out about the two at once."""
    argv = command(lab, "process", "sh", "-c", "echo ready; read line; exit 7", options=WITHIN_A_SECOND)
    with started(lab, argv, stdin=subprocess.PIPE) as process:
        assert line_of(process) == "ready" and process.stdin is not None
        program = program_of(process.pid)
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T", "the supervisor stops")
        process.stdin.write("\n")
        process.stdin.flush()
        wait_until(lambda: not alive(program), "the program ends")
        time.sleep(1.1)  # the ceiling passes
        process.send_signal(signal.SIGCONT)
        done = finish(process)
    assert done.returncode == 7 and "ceiling" not in done.stderr, done.stderr
    assert lab.receipt()["execution"]["termination"] == {"kind": "self_exited"}


WITHIN_A_SECOND = ("--max-wall-clock-seconds", "1", "--report", "never")


@ISOLATIONS
def test_stop_and_continue_are_passed_on_where_there_is_no_terminal(lab: Lab, isolation: str) -> None:
    # The program handles them: in an orphaned process group, as under CI, the kernel drops a stop that nobody handles.
    script = "trap 'echo stop' TSTP; trap 'echo go' CONT; echo ready; while [ ! -e go ]; do sleep 0.01; done; exit 4"
    with started(lab, command(lab, isolation, "sh", "-c", script)) as process:
        assert line_of(process) == "ready"
        process.send_signal(signal.SIGTSTP)
        assert line_of(process) == "stop"
        assert state_of(process.pid) in "SR"  # nobody could continue us, so we do not stop
        process.send_signal(signal.SIGCONT)
        assert line_of(process) == "go"
        lab.file(lab.workspace / "go")
        assert finish(process).returncode == 4


# --- what the program inherits ------------------------------------------------------------------------

SHOW = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
LIBRARY = 1 << 31 | 1 << 32  # signals 32 and 33 belong to the C library, whose posix_spawn(3) leaves them ignored
# Sets dispositions and mask as some caller might, then executes. SIGPIPE and SIGXFSZ, which this interpreter ignores,
# are put back first, so that both ways start alike.
PREPARE = """
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
for name in sys.argv[1].split(","):
    if name:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_SETMASK, [getattr(signal, name) for name in sys.argv[2].split(",") if name])
os.execvp(sys.argv[3], sys.argv[3:])
"""
CALLERS = {
    "a shell": ("", ""),
    "a shell that starts it in the background": ("SIGINT,SIGQUIT", ""),
    "nohup": ("SIGHUP", ""),
    "one that blocks": ("", "SIGTERM,SIGUSR1,SIGCHLD,SIGINT"),
    "both": ("SIGTERM,SIGUSR2,SIGTSTP", "SIGUSR2,SIGHUP,SIGWINCH"),
}


def masks(text: str) -> list[int]:
    """Return the two masks that SHOW printed, without the library's own signals."""
    return [int(line.split()[1], 16) & ~LIBRARY for line in text.splitlines()]


@ONCE
@ISOLATIONS
def test_the_program_finds_the_dispositions_and_the_mask_of_whoever_started_us(lab: Lab, isolation: str) -> None:
    for name, (ignored, blocked) in CALLERS.items():
        prepare = (sys.executable, "-I", "-S", "-c", PREPARE, ignored, blocked)
        control = lab.bare(*prepare, *SHOW)
        assert len(masks(control.stdout)) == 2 and any(masks(control.stdout)) == (name != "a shell")
        whole = [*prepare, *command(lab, isolation, *SHOW, options=("--read", "/proc"))]
        done = subprocess.run(
            whole, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **lab.options()
        )
        assert masks(done.stdout) == masks(control.stdout), (name, done.stderr)


@ONCE
@ISOLATIONS
def test_a_caller_that_ignores_the_end_of_children_still_learns_the_code(lab: Lab, isolation: str) -> None:
    prepare = (sys.executable, "-I", "-S", "-c", PREPARE, "SIGCHLD", "")
    with started(lab, [*prepare, *command(lab, isolation, "sh", "-c", "exit 6")]) as process:
        assert finish(process, 10).returncode == 6


# --- before there is a program -------------------------------------------------------------------------

AT = {
    "before anything": "from aasm.supervise import begin\nact_before(begin, 'begin')\n",
    "while it is planned": "from aasm import run\nact_before(run, 'resolve')\n",
    "when it is registered": "from aasm import run\nact_before(run, '_prepare')\n",
}
ACT = """
def act_before(module, name, number={number}):
    whole = getattr(module, name)
    def changed(*args, **more):
        os.kill(os.getpid(), number)
        return whole(*args, **more)
    setattr(module, name, changed)
"""


@ONCE
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name)
@pytest.mark.parametrize("moment", list(AT))
def test_a_request_to_end_before_the_program_runs_is_no_success(lab: Lab, moment: str, number: int) -> None:
    mark = f"{lab.workspace}/ran"
    change = ACT.format(number=int(number)) + AT[moment]
    begun = time.monotonic()
    done = driver.run(lab, change, *exec_options(lab, "process"), "--", "sh", "-c", f"sleep 30; touch {mark}")
    assert time.monotonic() - begun < 15
    assert done.returncode in (-number, 125, 128 + number), done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""
    if done.returncode == 125:
        assert "nothing was executed" in one_error(done)
        assert events(lab) == ["registered", "not_started"] and receipt_names(lab) == []
    assert not os.path.exists(mark)
    assert wait_until(lambda: not marked(mark), "nothing of the run is left")
    assert lab.leftovers() == []
