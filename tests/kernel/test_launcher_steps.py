# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The launcher stopped, killed or failing at each of its steps: never a success, and the program never ran."""

from __future__ import annotations

import ast
import contextlib
import os
import signal

import pytest
from support import driver
from support.launch import Lab
from support.outcome import (
    ALL_HELD,
    ONCE,
    Done,
    Status,
    assert_not_started,
    canaries,
    exec_options,
    finish,
    launch,
    started,
    stopped_launcher,
)

from aasm import launcher
from aasm._sys import boundary

ORDER = (
    "order", "descriptors", "directory", "capabilities", "no_new_privs", "controls", "landlock", "file_canary",
    "limits", "signals", "filter_a", "filter_b", "filter_canary",
)  # fmt: skip
STOP = "os.kill(os.getpid(), 19)"
STEPS = pytest.mark.parametrize("step", ORDER)


def test_the_order_of_the_steps_is_the_one_that_the_design_gives() -> None:
    """Controls before any restriction, no_new_privs before Landlock and filters, the floor's filter last."""
    assert tuple(name for name, _ in launcher.STEPS) == ORDER
    stages = [boundary.STAGES.index(name) for name in ORDER]
    assert stages == sorted(stages)
    assert boundary.STAGES[0] == "start" and boundary.STAGES[-1] == "exec"
    assert set(boundary.STAGES) - set(ORDER) == {"start", "handover", "exec"}


def arguments(lab: Lab, *more: str) -> tuple[str, ...]:
    """Return the arguments of a launch whose program leaves a mark when it runs."""
    return (*exec_options(lab, "process"), *more, "--", "touch", "ran")


def assert_never_ran(lab: Lab, done: Done[str], ending: str) -> str:
    """No success of any kind: 125, one line, the ledger says that it was not started, no mark."""
    line = assert_not_started(lab, done, 125, ending)
    assert [record["event"] for record in lab.ledger()] == ["registered", "not_started"]
    assert not (lab.workspace / "ran").exists()
    return line


# --- from outside ------------------------------------------------------------------------------------------


@ONCE
@STEPS
def test_a_launcher_killed_at_any_step_is_no_success(lab: Lab, step: str) -> None:
    status = Status()
    command = driver.driver(driver.at_step(step, STOP), *arguments(lab, *status.options))
    with started(lab, command, pass_fds=[status.number]) as process:
        os.kill(stopped_launcher(process), signal.SIGKILL)
        done = finish(process)
    line = assert_never_ran(lab, done, "setup_failed")
    assert f"step {step}: the launcher was ended by SIGKILL; nothing was executed" in line
    said = status.read()
    assert (said["code"], said["origin"], said["ending"]) == (125, "launcher", "setup_failed")


@ONCE
@pytest.mark.parametrize("step", ["order", "signals", "filter_a", "filter_canary"])
def test_a_launcher_told_to_end_at_any_step_is_no_success(lab: Lab, step: str) -> None:
    """It hears SIGTERM once its signals are as the program's: at once, or in the step that restores them."""
    with started(lab, driver.driver(driver.at_step(step, STOP), *arguments(lab))) as process:
        pid = stopped_launcher(process)
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        done = finish(process)
    line = assert_never_ran(lab, done, "setup_failed")
    late = step.startswith("filter")
    assert f"step {step if late else 'signals'}: the launcher was ended by SIGTERM" in line


def test_a_launcher_that_is_stopped_and_goes_on_does_its_work(lab: Lab) -> None:
    with started(lab, driver.driver(driver.at_step("landlock", STOP), *arguments(lab))) as process:
        os.kill(stopped_launcher(process), signal.SIGCONT)
        done = finish(process)
    assert done.returncode == 0, done.stderr
    assert (lab.workspace / "ran").exists()
    assert canaries(lab.receipt()) == ALL_HELD


@ONCE
def test_the_wall_clock_ends_a_launcher_that_stands_still(lab: Lab) -> None:
    more = ("--max-wall-clock-seconds", "1")
    done = driver.run(lab, driver.at_step("landlock", STOP), *arguments(lab, *more))
    assert "step signals: the launcher was ended by SIGTERM" in assert_never_ran(lab, done, "setup_failed")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_a_launcher_killed_between_seal_and_exec_did_not_start_the_program(lab: Lab, number: int) -> None:
    change = """
whole = launcher.execute
def execute(launch):
    os.kill(os.getpid(), 19)
    whole(launch)
launcher.execute = execute
"""
    status = Status()
    command = driver.driver(driver.launcher_change(change), *arguments(lab, *status.options))
    with started(lab, command, pass_fds=[status.number]) as process:
        pid = stopped_launcher(process)
        os.kill(pid, number)
        with contextlib.suppress(ProcessLookupError):  # SIGKILL needs no SIGCONT, and it may be reaped by now
            os.kill(pid, signal.SIGCONT)
        done = finish(process)
    line = assert_never_ran(lab, done, "not_started")
    name = signal.Signals(number).name
    assert f"the launcher was ended by {name} after the boundary stood and before touch ran" in line
    said = status.read()
    assert (said["code"], said["origin"], said["ending"]) == (125, "launcher", "not_started")


@ONCE
def test_a_program_killed_right_after_exec_did_start(lab: Lab) -> None:
    done = launch(lab, "process", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    assert lab.ledger()[-1]["event"] == "ended"


def test_a_directory_swapped_while_the_launcher_builds_is_not_granted(lab: Lab) -> None:
    """The path is checked, then a link is put in its place before the launcher opens it: the object decides."""
    granted = lab.directory("ws/granted")
    secret = lab.file(lab.outside / "secret", "s")
    argv = (*exec_options(lab, "process")[:-1], str(granted), "--", "cat", str(granted / "secret"))
    with started(lab, driver.driver(driver.at_step("landlock", STOP), *argv)) as process:
        pid = stopped_launcher(process)
        granted.rename(lab.workspace / "away")
        granted.symlink_to(lab.outside)
        os.kill(pid, signal.SIGCONT)
        done = finish(process)
    line = assert_not_started(lab, done, 125, "setup_failed")
    assert f"step landlock: {granted}: it was replaced after it was checked; run it again" in line
    assert secret.read_text() == "s" and done.stdout == ""


def test_a_working_directory_swapped_while_the_launcher_builds_is_not_entered(lab: Lab) -> None:
    place = lab.directory("ws/place")
    argv = (*exec_options(lab, "process"), "--workdir", str(place), "--", "touch", "ran")
    with started(lab, driver.driver(driver.at_step("directory", STOP), *argv)) as process:
        pid = stopped_launcher(process)
        place.rename(lab.workspace / "away")
        place.symlink_to(lab.outside)
        os.kill(pid, signal.SIGCONT)
        done = finish(process)
    assert "step directory: Stale file handle" in assert_not_started(lab, done, 125, "setup_failed")
    assert not (lab.outside / "ran").exists() and not (lab.workspace / "away" / "ran").exists()


# --- from inside ---------------------------------------------------------------------------------------------


@ONCE
@STEPS
def test_a_step_that_fails_is_named_and_nothing_is_executed(lab: Lab, step: str) -> None:
    done = driver.run(lab, driver.at_step(step, "raise OSError(19, 'No such device')"), *arguments(lab))
    line = assert_never_ran(lab, done, "setup_failed")
    assert f"the boundary could not be set up: step {step}: " in line
    assert "No such device; nothing was executed" in line


@ONCE
@pytest.mark.parametrize("problem", ["MemoryError()", "KeyboardInterrupt()", "SystemExit(0)", "RecursionError('x')"])
def test_a_failure_of_any_kind_ends_the_launcher(lab: Lab, problem: str) -> None:
    """Even one that would be success anywhere else."""
    for step in ("order", "filter_canary"):
        done = driver.run(lab, driver.at_step(step, f"raise {problem}"), *arguments(lab))
        assert done.returncode == 125 and "Traceback" not in done.stderr, done.stderr
        assert f"step {step}: Invalid argument; nothing was executed" in done.stderr
    assert not (lab.workspace / "ran").exists()


@ONCE
def test_a_launcher_that_ends_by_itself_before_its_seal_is_no_success(lab: Lab) -> None:
    for step in ("order", "landlock", "filter_canary"):
        done = driver.run(lab, driver.at_step(step, "os._exit(0)"), *arguments(lab))
        assert done.returncode == 125, done.stderr
        assert f"step {step}: the launcher was ended; nothing was executed" in done.stderr
    assert not (lab.workspace / "ran").exists()


@ONCE
def test_a_launcher_that_never_begins_is_no_success(lab: Lab) -> None:
    for change in ("os._exit(0)", "raise SystemExit(0)", "os.kill(os.getpid(), 9)", "import no_such_module"):
        done = driver.run(lab, driver.launcher_change(change), *arguments(lab))
        assert done.returncode == 125, (change, done.stderr)
        assert "step start: the launcher was ended" in done.stderr, change
    assert not (lab.workspace / "ran").exists()


@ONCE
def test_a_program_that_ends_like_a_failing_launcher_is_not_taken_for_one(lab: Lab) -> None:
    assert launch(lab, "process", "sh", "-c", "exit 125").returncode == 125
    assert lab.ledger()[-1]["event"] == "ended" and lab.receipt()["boundary"]["sealed"] is True


# --- a boundary that does not hold -----------------------------------------------------------------------------

LEAVE_OUT = """
launcher.STEPS = tuple((name, (lambda launch: None) if name == {step!r} else step) for name, step in launcher.STEPS)
"""


@pytest.mark.parametrize("step, canary", [("landlock", "file_read"), ("filter_b", "call")])
def test_a_boundary_that_lets_its_canary_through_ends_the_launch(lab: Lab, step: str, canary: str) -> None:
    done = driver.run(lab, driver.launcher_change(LEAVE_OUT.format(step=step)), *arguments(lab))
    line = assert_never_ran(lab, done, "setup_failed")
    assert f"the boundary does not hold here: its canary {canary} was not refused; nothing was executed" in line


def test_a_canary_whose_control_failed_is_inconclusive_and_said_to_be(lab: Lab) -> None:
    failed = "(lambda launch: launch.controls.update(file_read=False, file_write=False, call=False))"
    change = driver.launcher_change(LEAVE_OUT.format(step="controls")).replace("(lambda launch: None)", failed)
    done = driver.run(lab, change, *arguments(lab))
    assert done.returncode == 0, done.stderr
    body = lab.receipt()
    assert canaries(body) == dict.fromkeys(ALL_HELD, "inconclusive")
    assert not any(record["kind"] == "exercised" for record in body["evidence_refs"])


# --- the status page -----------------------------------------------------------------------------------------------

SHOW_PAGE = """
from aasm import run
whole = run.judged
def judged(record, launcher, supervisor):
    os.write(2, ("page %r\\n" % (launcher.page.read(),)).encode())
    return whole(record, launcher, supervisor)
run.judged = judged
"""


def page(done: Done[str]) -> str:
    """Return what SHOW_PAGE said."""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("page ")]
    return line[5:]


@ONCE
def test_the_page_says_how_far_the_launcher_came(lab: Lab) -> None:
    nothing = dict.fromkeys(boundary.CANARIES, "not_applicable")
    held = {**nothing, **ALL_HELD}
    files = {**held, "call": "not_applicable"}
    done = driver.run(lab, SHOW_PAGE, *arguments(lab))
    stage, failure, _, sealed, exec_errno, seen = ast.literal_eval(page(done))
    assert (stage, failure, sealed, exec_errno, seen) == ("exec", 0, True, 0, held)
    fail = SHOW_PAGE + driver.at_step("filter_b", "raise OSError(19, '')")
    stage, failure, _, sealed, exec_errno, seen = ast.literal_eval(page(driver.run(lab, fail, *arguments(lab))))
    assert (stage, failure, sealed, exec_errno, seen) == ("filter_b", 19, False, 0, files)
    never = SHOW_PAGE + driver.launcher_change("os._exit(0)")
    stage, failure, _, sealed, exec_errno, seen = ast.literal_eval(page(driver.run(lab, never, *arguments(lab))))
    assert (stage, failure, sealed, exec_errno, seen) == ("start", 0, False, 0, nothing)
    missing = driver.run(lab, SHOW_PAGE, *exec_options(lab, "process"), "--", "no-such-program")
    stage, failure, _, sealed, exec_errno, seen = ast.literal_eval(page(missing))
    assert (stage, failure, sealed, exec_errno, seen) == ("exec", 0, True, 2, held)
