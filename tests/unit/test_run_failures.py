# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A launch that fails in our own hands: a refusal until the program may have run, and no refusal any more then."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from support.runs import request

from aasm import run as pipeline
from aasm.cli.run import _refused
from aasm.errors import REFUSED, AasmError, HostError, InternalError, RefusalError, SupervisionError, UsageError
from aasm.governance import ledger
from aasm.model.record import Ending, RunRecord
from aasm.model.report import IsolationReport
from aasm.supervise.begin import Begun


class Listener:
    """A voice that keeps what is said."""

    def __init__(self) -> None:
        self.said: List[Tuple[str, str]] = []
        self.shown: List[IsolationReport] = []

    def say(self, kind: str, text: str) -> None:
        """Keep one text."""
        self.said.append((kind, text))

    def show(self, report: IsolationReport) -> None:
        """Keep one report."""
        self.shown.append(report)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the state directory of a process whose surroundings are the test's own."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("AASM_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("AA_GATEWAY_ENDPOINT", raising=False)
    return tmp_path / "state"


def events(state: Path) -> List[Tuple[str, str]]:
    """Return each event of the ledger with its detail."""
    path = state / ledger.NAME
    found: List[Dict[str, Any]] = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    return [(item["event"], str(item["detail"].get("value"))) for item in found]


def run_id(state: Path) -> str:
    """Return the id of the one run in the ledger."""
    lines = (state / ledger.NAME).read_bytes().splitlines()
    (found,) = {str(json.loads(line)["run_id"]) for line in lines}
    return found


def launch(**changes: Any) -> pipeline.Result:
    """Launch a program without a boundary; what runs it is replaced by the tests."""
    begun = Begun(-1, 0o022, 0, set(), None)
    asked = request(isolation="none", policies=(), system=True, **changes)
    return pipeline.launch(asked, begun, Listener(), lambda event: None)


def fail_with(problem: BaseException) -> Any:
    def fail(*_: Any) -> Any:
        raise problem

    return fail


FAILURES: Dict[str, Tuple[Exception, Tuple[str, str, str]]] = {
    "the host": (HostError("full", "/p", "make room"), ("full", "/p", "make room")),
    "a refusal": (RefusalError("refusing: a\n  - b"), ("refusing: a\n  - b", "", "")),
    "the command line": (UsageError("wrong", "--x", "mend it"), ("wrong", "--x", "mend it")),
    "the system": (
        OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/q"),
        ("Too many open files", "/q", "raise the limits of this process (ulimit -a)"),
    ),
    "memory": (MemoryError(), ("this process may not grow: out of memory", "", "raise its limits (ulimit -a)")),
    "a defect": (
        ValueError("odd\nthing"),
        ("internal: ValueError: odd\nthing", "", "this is a defect of aasm: report it"),
    ),
}


def test_the_control_a_run_that_ends_is_recorded_as_ended(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = RunRecord(Ending.EXITED, 3, None, 0, "exec", 0, False, {}, 1, 2, None, 0)
    monkeypatch.setattr(pipeline, "_run", lambda *_: record)
    assert launch().code == 3
    assert [event for event, _ in events(state)] == ["registered", "ended"]


def test_a_report_that_cannot_be_shown_changes_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = Listener()
    monkeypatch.setattr(voice, "show", fail_with(MemoryError()))
    identity = pipeline.new_identity(None, None, (), dry_run=False)
    held = pipeline._Held(request(isolation="none"), pipeline.surroundings(), identity, voice)
    held.shown = IsolationReport._make([None] * len(IsolationReport._fields))
    held.clean()
    ((kind, text),) = voice.said
    assert kind == "warning" and text.startswith("the report is not shown: this process may not grow: out of memory")


@pytest.mark.parametrize("name", FAILURES)
def test_once_the_program_may_have_run_no_failure_is_a_refusal(
    name: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, parts = FAILURES[name]
    monkeypatch.setattr(pipeline, "_run", fail_with(problem))
    with pytest.raises(SupervisionError) as caught:
        launch()
    assert (caught.value.what, caught.value.where, caught.value.remedy) == parts
    assert caught.value.exit_code == REFUSED and "\n" not in str(caught.value)  # one that listed lists no more
    assert caught.value.run_id == run_id(state)
    (first, _), (event, detail) = events(state)
    assert (first, event) == ("registered", "noted")
    assert detail.startswith("supervision failed, the program may have run: ")


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("stage", ["_prepare", "_enter"])
def test_until_then_every_failure_is_a_refusal_of_its_own_kind(
    name: str, stage: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, parts = FAILURES[name]
    monkeypatch.setattr(pipeline, stage, fail_with(problem))
    monkeypatch.setattr(pipeline, "_run", fail_with(AssertionError("it was run")))
    with pytest.raises(AasmError) as caught:
        launch()
    expected = {"the system": HostError, "memory": HostError, "a defect": InternalError}.get(name, type(problem))
    assert type(caught.value) is expected
    assert (caught.value.what, caught.value.where, caught.value.remedy) == parts
    assert [event for event, _ in events(state)] == ["registered", "refused"]
    assert caught.value.run_id == run_id(state)


def test_a_working_directory_that_cannot_be_entered_is_refused_before_anything_runs(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chdir(path: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(pipeline, "_run", fail_with(AssertionError("it was run")))
    place = os.getcwd()
    with monkeypatch.context() as patched:
        patched.setattr(pipeline.os, "chdir", chdir)
        with pytest.raises(HostError) as caught:
            launch()
    assert caught.value.where == place and caught.value.what == "Permission denied" and caught.value.remedy
    assert [event for event, _ in events(state)] == ["registered", "refused"]


@pytest.mark.parametrize(
    ("problem", "origin", "ending"),
    [
        (SupervisionError("a"), "unknown", "supervision_failed"),
        (HostError("a"), "launcher", "refused"),
        (RefusalError("a"), "launcher", "refused"),
        (InternalError("a"), "launcher", "refused"),
        (UsageError("a"), "launcher", "refused"),
    ],
)
def test_the_status_line_tells_a_failed_supervision_from_a_refusal(
    problem: AasmError, origin: str, ending: str
) -> None:
    assert _refused(problem) == (problem.exit_code, origin, ending, None, "", None)  # of a run that has no id yet
    problem.run_id = "run-7"
    assert _refused(problem) == (problem.exit_code, origin, ending, None, "run-7", None)


# --- refused before there was anything to launch with -------------------------------------------------


def refuse(problem: AasmError) -> List[Tuple[str, str]]:
    voice = Listener()
    pipeline.refuse(request(), voice, problem)
    return voice.said


def test_a_refusal_before_everything_is_recorded(state: Path) -> None:
    assert refuse(HostError("no descriptor", "descriptor 0", "open it")) == []
    assert events(state) == [("refused", "descriptor 0: no descriptor; open it")]


def test_it_is_recorded_even_where_the_working_directory_is_gone(state: Path, tmp_path: Path) -> None:
    (tmp_path / "work").rmdir()
    with pytest.raises(FileNotFoundError):
        os.getcwd()
    assert refuse(HostError("the first failure")) == []
    assert events(state) == [("refused", "the first failure")]


def test_where_no_place_is_known_the_first_failure_stays_the_one_that_is_reported(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AASM_STATE_DIR", "not/absolute")
    assert refuse(HostError("the first failure")) == []  # and nothing is raised in its place
    assert not state.exists()


def test_a_record_that_cannot_be_made_is_said_beside_it(state: Path) -> None:
    state.mkdir(mode=0o700)
    (state / ledger.NAME).mkdir()
    ((kind, text),) = refuse(HostError("the first failure"))
    assert kind == "warning" and text.startswith("the refusal could not be recorded: ") and ledger.NAME in text


def test_a_launch_whose_working_directory_is_gone_is_refused_and_recorded(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_run", fail_with(AssertionError("it was run")))
    (tmp_path / "work").rmdir()
    with pytest.raises(HostError, match="the working directory is gone") as caught:
        launch()
    assert "--workdir" in caught.value.remedy
    ((event, detail),) = events(state)
    assert event == "refused" and "the working directory is gone" in detail
