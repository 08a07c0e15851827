# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a run says of itself: no boundary, no proxy, limits of root, masked values, help; and what it says nowhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support import driver
from support.launch import ROOT, Lab
from support.outcome import exec_options, marked, wait_until

from aasm._sys import process
from aasm.model.record import Ending, Event
from aasm.supervise.loop import HANDLED, Supervisor

SECRET = "a-value-that-is-nowhere"


def test_no_boundary_is_said_and_claims_nothing(lab: Lab) -> None:
    receipt = str(lab.home / "r.json")
    done = lab.aasm("run", "exec", "--isolation", "none", "--system", "--receipt", receipt, "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "posture=no_boundary\n" in done.stderr and "posture_detail=no isolation was requested" in done.stderr
    assert [line["event"] for line in lab.ledger()] == ["registered", "ended"]
    verdict = lab.aasm("receipt", "verify", receipt)
    assert verdict.returncode == 0, verdict.stdout
    with open(receipt, encoding="utf-8") as file:
        text = file.read()
    assert '"backend":null' in text and '"claim":"unmeasured"' in text and '"claim":"observed"' not in text


def test_no_proxy_is_accepted_and_reported(lab: Lab) -> None:
    done = lab.confined("true", options=("--no-proxy",))
    assert done.returncode == 0
    assert "warning: --no-proxy: this release mediates no traffic" in done.stderr


def test_a_gateway_that_cannot_be_spoken_to_refuses_the_launch(lab: Lab) -> None:
    done = lab.confined("touch", "ran", env={"AA_GATEWAY_ENDPOINT": "http://127.0.0.1:1"})
    assert done.returncode == 125 and "refusing to launch unregistered" in done.stderr
    assert not (lab.workspace / "ran").exists() and lab.ledger()[-1]["event"] == "refused"


def test_values_of_the_environment_are_in_no_output_and_no_record(lab: Lab) -> None:
    given = {"MY_TOKEN": SECRET, "DATABASE_URL": SECRET, "PLAIN": SECRET}
    options = ("--env", "MY_TOKEN", "--env", "PLAIN", "--env", f"SET={SECRET}")
    base = ("run", "exec", "--isolation", "process", "--system", *options)
    seen = [lab.aasm(*base, "--dry-run", "--", "true", env=given), lab.aasm(*base, "--", "true", env=given)]
    assert all(done.returncode == 0 for done in seen)
    assert "PLAIN=***MASKED***" in seen[0].stdout and "DATABASE_URL=<removed>" in seen[0].stdout
    written = [path.read_text() for path in lab.state.rglob("*") if path.is_file() and path.name != "ledger.lock"]
    assert SECRET not in "".join([done.stdout + done.stderr for done in seen] + written)
    assert lab.receipt()["credentials"]["delegated"] != []


def test_the_limit_of_root_is_in_the_plan_and_only_there_where_it_holds(lab: Lab) -> None:
    plan = lab.confined("true", options=("--dry-run",)).stdout
    root = os.geteuid() == 0 and lab.user.uid is None
    assert ("files of other users are out of its reach" in plan) is root


def test_the_launcher_says_what_it_does_and_how_an_order_is_carried_out_by_hand(lab: Lab) -> None:
    def launcher(*args: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "aasm.launcher", *args]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=lab.environment())

    shown = launcher("--help")
    assert shown.returncode == 0 and "--order" in shown.stdout and "by itself" in shown.stdout
    for args, code in ((("--order", str(lab.home / "none")), 2), ((), 2), (("--order", str(ROOT / "README.md")), 125)):
        done = launcher(*args)
        assert done.returncode == code and done.stderr.startswith("error: launcher: ") and done.stderr.count("\n") == 1


def test_everything_that_happens_in_a_run_is_an_event_as_it_happens() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    signals = process.signal_descriptor(HANDLED)
    try:
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 30"], {"PATH": "/bin:/usr/bin"}, setsigmask=before)
        seen: list[Event] = []
        supervisor = Supervisor(pid, signals, set(), confined=False)
        supervisor.listener = seen.append
        record = supervisor.run(1)
    finally:
        os.close(signals)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert record.ending is Ending.WALL_CLOCK and record.signal == signal.SIGTERM
    assert [event.kind for event in seen] == ["started", "wall_clock", "survivors"]


@pytest.mark.parametrize("option", ["--agent-id", "--team-id"])
def test_an_id_that_is_none_is_a_usage_error_and_starts_nothing(lab: Lab, option: str) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as status:
        done = lab.confined("true", options=(option, "not an id", "--status-fd", str(writing)), pass_fds=(writing,))
        os.close(writing)
        assert (done.returncode, status.read()) == (2, "")
    assert done.stderr.startswith(f"error: {option}: ") and lab.ledger() == []


def test_no_name_from_outside_makes_a_line_of_its_own(lab: Lab) -> None:
    """A policy's words, a variable's name, a directory: none of them can speak in our name."""
    forged = "a\nwarning: forged\n--- execution isolation (machine-readable) ---\nposture=x\naasm: receipt: /x"
    tool = json.dumps({"filesystem": {"read": {"allow": ["${system}"]}}, "tools": {forged: {"allow": False}}})
    policy = lab.file(lab.top / "p.json", tool)
    for more in ((), ("--dry-run",)):
        words = ("run", "exec", "--isolation", "process", "--policy", str(policy), "--env", forged, "--report", "never")
        done = lab.aasm(*words, *more, "--agent-id", "a", "--", "true", env={"TMPDIR": str(lab.tmp)})
        assert done.returncode == 0, done.stderr
        assert not set(forged.splitlines()[1:]) & set(done.stderr.splitlines())
        assert all(line.startswith("warning: ") for line in done.stderr.splitlines())
    done = lab.aasm(*words[:-2], "--", forged, cwd=lab.workspace)
    assert done.stderr.count("--- execution isolation (machine-readable) ---\n") == 1
    assert "posture=x" not in done.stderr.splitlines()


def test_names_that_look_like_authority_do_not_travel_by_themselves(lab: Lab) -> None:
    done = lab.confined("sh", "-c", "env", env={"LC_API_TOKEN": SECRET, "LC_ALL": "C.UTF-8"})
    assert "LC_ALL=C.UTF-8" in done.stdout and SECRET not in done.stdout
    assert [item["value"] for item in lab.receipt()["credentials"]["removed"]] == ["LC_API_TOKEN"]


def test_a_large_environment_reaches_the_program_whole(lab: Lab) -> None:
    names = {f"LC_{number:05}": "v" for number in range(20_000)}
    done = lab.confined("sh", "-c", "env | grep -c ^LC_", env=names)
    assert done.stdout == "20000\n", done.stderr


def test_a_failure_of_the_supervisor_ends_the_tree_and_is_recorded_as_what_it_is(lab: Lab) -> None:
    mark = f": {lab.workspace}/mark"
    script = f"setsid sh -c 'touch up; sleep 60; {mark}' & sleep 61"
    options = (*exec_options(lab, "process"), "--max-wall-clock-seconds", "1")  # something wakes the loop
    reading, writing = os.pipe()
    options = (*options, "--status-fd", str(writing))
    done = driver.run(lab, driver.FAILS_WHEN_UP, *options, "--", "sh", "-c", script, pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as stream:
        status = json.load(stream)
    assert (status["ending"], status["origin"], status["code"]) == ("supervision_failed", "unknown", 125)
    assert status["run_id"] == lab.ledger()[-1]["run_id"]
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert done.returncode == 125 and len(errors) == 1 and "planned failure" in errors[0]
    assert "Traceback" not in done.stderr
    wait_until(lambda: not marked(mark), "the tree is ended")
    assert lab.ledger()[-1]["event"] == "noted" and "may have run" in lab.ledger()[-1]["detail"]["value"]
