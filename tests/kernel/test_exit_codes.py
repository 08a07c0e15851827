# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The exit code says how a run ended; where a program could give the same, the status line says whose it is."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import driver
from support.launch import Lab
from support.outcome import ONCE, Status, assert_not_started, events, exec_options, launch, one_error, receipt_names

ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "none"])


def launched(lab: Lab, isolation: str, *argv: str, options: tuple[str, ...] = ()) -> tuple[Any, dict[str, Any]]:
    """Run a program with a status descriptor; return the command and what the descriptor got."""
    status = Status()
    more = (*options, *status.options)
    done = launch(lab, isolation, *argv, options=more, pass_fds=[status.number])
    return done, status.read()


CODES = [*(("process", code) for code in (0, 2, 124, 125, 126, 127)), ("none", 0), ("none", 125)]


@ONCE
@pytest.mark.parametrize("isolation, code", CODES)
def test_the_programs_own_code_is_passed_through_and_told_apart_from_ours(lab: Lab, isolation: str, code: int) -> None:
    done, status = launched(lab, isolation, "sh", "-c", f"exit {code}")
    assert done.returncode == code, done.stderr
    assert (status["code"], status["origin"], status["ending"], status["signal"]) == (code, "program", "exited", None)
    assert status["schema"] == "aasm.run.status/1"
    assert not [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert [(r["event"], r["exit_code"]) for r in lab.ledger()] == [("registered", None), ("ended", code)]
    assert {record["run_id"] for record in lab.ledger()} == {status["run_id"]}
    if isolation == "process":
        assert lab.receipt()["execution"]["exit_code"] == code
        assert os.path.basename(status["receipt"]) == receipt_names(lab)[0]
    else:
        assert status["receipt"] is None and receipt_names(lab) == []


@ONCE
@ISOLATIONS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, 40])
def test_a_program_that_died_of_a_signal_gives_128_and_its_number(lab: Lab, isolation: str, number: int) -> None:
    done, status = launched(lab, isolation, "bash", "-c", f"ulimit -c 0; kill -{int(number)} $$; sleep 9")
    assert done.returncode == 128 + number, done.stderr
    expected = (128 + number, "program", "killed", int(number))
    assert (status["code"], status["origin"], status["ending"], status["signal"]) == expected
    assert events(lab) == ["registered", "ended"]
    if isolation == "process":
        execution = lab.receipt()["execution"]
        assert execution["exit_code"] is None
        assert execution["no_code_detail"]["value"] == f"ended by signal {int(number)}"


@ONCE
@ISOLATIONS
def test_a_program_that_is_not_there_gives_127(lab: Lab, isolation: str) -> None:
    for program in ("no-such-program", f"{lab.workspace}/missing", "./missing", "/etc/passwd/missing", ""):
        done, status = launched(lab, isolation, program, "argument")
        line = assert_not_started(lab, done, 127, "not_found")
        assert "not found; name a program that exists" in line
        assert (status["code"], status["origin"], status["ending"]) == (127, "launcher", "not_found")


@ONCE
@ISOLATIONS
def test_a_script_whose_interpreter_is_missing_gives_127_and_says_so(lab: Lab, isolation: str) -> None:
    script = lab.file(lab.workspace / "script", "#!/no/such/interpreter\n", 0o755)
    done, status = launched(lab, isolation, str(script))
    line = assert_not_started(lab, done, 127, "not_found")
    assert f"{script} names an interpreter or loader that does not exist" in line
    assert status["origin"] == "launcher"


CANNOT = {
    "not executable": ("#!/bin/sh\n", 0o644, "is not executable; chmod +x it"),
    "no format": ("no program at all\n", 0o755, "cannot be executed: Exec format error; a script needs a first line"),
    "empty": ("", 0o755, "cannot be executed: Exec format error"),
}


@ONCE
@ISOLATIONS
def test_a_program_that_cannot_be_executed_gives_126_and_the_reason(lab: Lab, isolation: str) -> None:
    for name, (text, mode, reason) in CANNOT.items():
        program = lab.file(lab.workspace / name, text, mode)
        done, status = launched(lab, isolation, str(program))
        assert reason in assert_not_started(lab, done, 126, "not_executable"), name
        assert (status["code"], status["origin"], status["ending"]) == (126, "launcher", "not_executable")
    done, status = launched(lab, isolation, str(lab.workspace))
    assert "is a directory" in assert_not_started(lab, done, 126, "not_executable")


def test_a_program_outside_the_grants_gives_126_and_names_the_grant_that_helps(lab: Lab) -> None:
    tool = lab.file(lab.outside / "tool", "#!/bin/sh\ntouch ran; exit 6\n", 0o755)
    assert lab.bare(str(tool), cwd=lab.outside).returncode == 6  # the control: without the boundary it runs
    (lab.outside / "ran").unlink()
    line = assert_not_started(lab, launch(lab, "process", str(tool)), 126, "not_executable")
    assert f"{tool} is outside the grants; add --read {lab.outside}" in line
    assert not (lab.workspace / "ran").exists()
    done = launch(lab, "process", str(tool), options=("--read", str(lab.outside)))
    assert done.returncode == 6, done.stderr  # the remedy is one
    assert (lab.workspace / "ran").exists() and not (lab.outside / "ran").exists()


@ONCE
def test_a_policy_file_is_named_in_the_remedy_where_there_is_one(lab: Lab) -> None:
    tool = lab.file(lab.outside / "tool", "#!/bin/sh\nexit 6\n", 0o755)
    policy = lab.file(lab.home / "policy.yaml", "filesystem:\n  read:\n    allow: ['${system}']\n")
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(policy), "--", str(tool))
    line = assert_not_started(lab, done, 126, "not_executable")
    assert f"add {lab.outside} to filesystem.read.allow" in line
    lab.file(policy, f"filesystem:\n  read:\n    allow: ['${{system}}', {lab.outside}]\n")
    assert lab.aasm("run", "exec", "--isolation", "process", "--policy", str(policy), "--", str(tool)).returncode == 6


def test_an_interpreter_outside_the_grants_gives_126_and_names_the_grant_that_helps(lab: Lab) -> None:
    shell = lab.outside / "shell"
    shell.write_bytes(Path("/bin/sh").read_bytes())
    shell.chmod(0o755)
    script = lab.file(lab.workspace / "script", f"#!{shell}\nexit 8\n", 0o755)
    assert lab.bare(str(script)).returncode == 8
    line = assert_not_started(lab, launch(lab, "process", str(script)), 126, "not_executable")
    assert f"its interpreter {shell} is outside the grants; add --read {shell}" in line
    assert launch(lab, "process", str(script), options=("--read", str(shell))).returncode == 8


def test_without_the_system_directories_the_loader_is_what_is_missing(lab: Lab) -> None:
    copy = lab.workspace / "true"
    copy.write_bytes(Path("/bin/true").read_bytes())
    copy.chmod(0o755)
    command = ("run", "exec", "--isolation", "process", "--write", str(lab.workspace))
    line = assert_not_started(lab, lab.aasm(*command, "--", str(copy)), 126, "not_executable")
    assert "or its loader may not be executed inside the grants; add --system" in line
    assert lab.aasm(*command, "--system", "--", str(copy)).returncode == 0


@ONCE
@ISOLATIONS
def test_the_first_program_on_the_path_that_can_be_executed_is_taken(lab: Lab, isolation: str) -> None:
    folders = [lab.directory(f"ws/{name}") for name in ("empty", "unusable", "good")]
    lab.file(folders[1] / "tool", "", 0o644)
    lab.file(folders[2] / "tool", "#!/bin/sh\nexit 5\n", 0o755)
    path = ":".join([*map(str, folders), "/bin"])
    assert launch(lab, isolation, "tool", options=("--env", f"PATH={path}")).returncode == 5
    only = ":".join(map(str, folders[:2]))
    done = launch(lab, isolation, "tool", options=("--env", f"PATH={only}"))
    assert "is not executable" in assert_not_started_again(lab, done)


def assert_not_started_again(lab: Lab, done: Any) -> str:
    """As `assert_not_started` says it of a first run; here a run that left a receipt went before."""
    line = one_error(done)
    assert done.returncode == 126
    assert lab.ledger()[-1]["event"] == "not_started"
    return line


@ONCE
def test_the_wall_clock_ceiling_gives_124_whatever_the_program_answers(lab: Lab) -> None:
    for script, code, text in (
        ("sleep 60", None, "ended by signal 15"),
        ("trap 'exit 3' TERM; while :; do sleep 0.05; done", 3, "ended with code 3 within the grace after SIGTERM"),
    ):
        done, status = launched(lab, "process", "sh", "-c", script, options=("--max-wall-clock-seconds", "1"))
        assert done.returncode == 124, done.stderr
        assert (status["code"], status["origin"], status["ending"]) == (124, "program", "wall_clock")
        execution = lab.receipt()["execution"]
        assert execution["exit_code"] == code
        said = execution["termination"]
        assert (said["kind"], said["ceiling_secs"], said["termination_delivered"]) == (
            "wall_clock_ceiling_exceeded", 1, True,
        )  # fmt: skip
        assert said["detail"]["value"] == text
        last = lab.ledger()[-1]
        assert (last["event"], last["detail"]["value"], last["exit_code"]) == ("ended", "wall_clock", code)


@ONCE
def test_a_program_that_ignores_the_end_of_its_time_is_killed_after_the_grace(lab: Lab) -> None:
    change = "from aasm.supervise import loop\nloop.GRACE_SECONDS = 0.2\n"
    script = "trap '' TERM; while :; do sleep 0.05; done"
    options = ("--max-wall-clock-seconds", "1")
    done = driver.run(lab, change, *exec_options(lab, "process"), *options, "--", "sh", "-c", script)
    assert done.returncode == 124, done.stderr
    assert lab.receipt()["execution"]["termination"]["detail"]["value"] == "ended by signal 9"


@ONCE
def test_a_program_that_ends_in_time_knows_nothing_of_the_ceiling(lab: Lab) -> None:
    done, status = launched(lab, "process", "sh", "-c", "exit 9", options=("--max-wall-clock-seconds", "30"))
    assert (done.returncode, status["ending"]) == (9, "exited")
    assert lab.receipt()["execution"]["termination"] == {"kind": "self_exited"}


@ONCE
def test_a_ceiling_without_a_boundary_is_said_not_to_hold(lab: Lab) -> None:
    done = launch(lab, "none", "sh", "-c", "exit 9", options=("--max-wall-clock-seconds", "30"))
    assert done.returncode == 9
    assert "warning: without a boundary no ceiling is enforced: --max-wall-clock-seconds" in done.stderr


@ONCE
@ISOLATIONS
def test_a_refusal_gives_125_and_a_status_line_of_the_launcher(lab: Lab, isolation: str) -> None:
    status = Status()
    missing = ("--policy", str(lab.home / "missing.yaml"))
    command = ("run", "exec", "--isolation", isolation, *missing, *status.options, "--", "touch", "ran")
    done = lab.aasm(*command, pass_fds=[status.number])
    assert done.returncode == 125
    one_error(done)
    said = status.read()
    assert (said["code"], said["origin"], said["ending"]) == (125, "launcher", "refused")
    assert events(lab) == ["refused"]
    assert not (lab.workspace / "ran").exists()


@ONCE
@ISOLATIONS
def test_the_status_descriptor_does_not_reach_the_program(lab: Lab, isolation: str) -> None:
    status = Status()
    script = f"if echo forged >&{status.number}; then exit 1; else exit 0; fi"
    done = launch(lab, isolation, "bash", "-c", script, options=status.options, pass_fds=[status.number])
    assert done.returncode == 0, done.stderr
    assert status.read()["code"] == 0


@ONCE
def test_a_status_descriptor_that_takes_nothing_changes_no_exit_code(lab: Lab) -> None:
    with open("/dev/full", "w") as full:
        options = ("--status-fd", str(full.fileno()))
        done = launch(lab, "process", "sh", "-c", "exit 6", options=options, pass_fds=[full.fileno()])
    assert done.returncode == 6
    assert "warning: --status-fd: the line could not be written" in done.stderr
    source, sink = os.pipe()
    os.close(source)
    options = ("--status-fd", str(sink))
    done = launch(lab, "process", "sh", "-c", "exit 6", options=options, pass_fds=[sink])
    os.close(sink)
    assert done.returncode == 6
    assert "warning: --status-fd: the line could not be written" in done.stderr


@ONCE
@ISOLATIONS
def test_standard_output_belongs_to_the_program_alone(lab: Lab, isolation: str) -> None:
    done = launch(lab, isolation, "sh", "-c", "printf out; printf err >&2")
    assert done.stdout == "out"
    assert "err" in done.stderr
    quiet = launch(lab, isolation, "sh", "-c", "printf out; printf err >&2", options=("--report", "never"))
    assert (quiet.stdout, quiet.stderr) == ("out", "err")


@ISOLATIONS
def test_a_reader_that_went_away_ends_the_program_as_in_any_pipeline(lab: Lab, isolation: str) -> None:
    source, sink = os.pipe()
    os.close(source)
    command = lab.command(*exec_options(lab, isolation), "--", "sh", "-c", "while :; do echo more; done")
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.PIPE, text=True, timeout=60, **lab.options()
    )  # fmt: skip
    os.close(sink)
    assert done.returncode == 128 + signal.SIGPIPE
    assert "Traceback" not in done.stderr
