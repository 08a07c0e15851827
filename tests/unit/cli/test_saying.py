# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What goes to standard error: no text from outside makes a line of its own, whoever passes it on."""

from __future__ import annotations

import errno
import os
from typing import Iterator, List, Type

import pytest
from support.reports import CASES, LAUNCHED
from support.runs import after, before, request, resolution, resolved

from aasm import cli, run as pipeline
from aasm.cli import human, machine
from aasm.cli.run import Voice
from aasm.errors import (
    REFUSED,
    AasmError,
    HostError,
    InternalError,
    NoReceiptError,
    PolicyError,
    ReceiptError,
    RefusalError,
    SupervisionError,
    UsageError,
    one_line,
)
from aasm.model.plan import RefusalKind
from aasm.model.report import IsolationReport
from aasm.supervise import private

FORGED = ("warning: no problem at all", "aasm: receipt: x.yaml", "posture=forged", machine.HEADER)
HOSTILE = "x\n" + "\n".join(FORGED) + "\r\x0b\x0c\x1c\x85\u2028\u2029\x1b[2J\udcff\0y"
WORDS = ("", "plain", "two words", "\n", "\n\n", "a\n", "\na", "a\r\nb", HOSTILE, "é\U0001f600", "\ud800")
ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # what somebody may take for the end of a line


def said(capfd: pytest.CaptureFixture[str]) -> List[str]:
    """Return the lines that went to standard error since the last time."""
    out, err = capfd.readouterr()
    assert out == "" and (err == "" or err.endswith("\n"))
    lines = err.split("\n")[:-1]
    assert not any(char in line for line in lines for char in ENDS + "\x1b\0"), "a control character goes out"
    assert not set(FORGED) & set(lines), "a text made a line of its own"
    return lines


# --- complain and note ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["error", "warning"])
@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_a_complaint_is_one_line_whatever_it_says(kind: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    cli.complain(text, kind)
    (line,) = said(capfd)
    assert line == f"{kind}: {shown(text)}"


def shown(text: str) -> str:
    """Return a text as it is printed: what no UTF-8 can hold is spelled out as well."""
    return one_line(text).encode("utf-8", "backslashreplace").decode()


def test_a_complaint_is_an_error_unless_it_is_called_something_else(capfd: pytest.CaptureFixture[str]) -> None:
    cli.complain("what; do this")
    assert said(capfd) == ["error: what; do this"]


def test_each_line_of_a_note_is_exactly_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    for lines in ([], [""], ["a"], list(WORDS), list(reversed(WORDS)), WORDS * 3):
        cli.note(lines)
        assert said(capfd) == list(map(shown, lines))


def test_a_note_may_be_made_as_it_goes(capfd: pytest.CaptureFixture[str]) -> None:
    def lines() -> Iterator[str]:
        yield from WORDS

    cli.note(lines())
    assert len(said(capfd)) == len(WORDS)


def test_a_lost_line_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cli.os, "write", full)
    cli.complain("a")
    cli.note(["a", "b"])
    cli.complain_of(RefusalError("a\nb"))


# --- errors -----------------------------------------------------------------------------------------

ONE_LINE: List[Type[AasmError]] = [
    AasmError, UsageError, PolicyError, HostError, ReceiptError, NoReceiptError, SupervisionError, InternalError,
]  # fmt: skip


@pytest.mark.parametrize("kind", ONE_LINE, ids=lambda kind: str(kind.__name__))
def test_an_error_is_one_line(kind: Type[AasmError], capfd: pytest.CaptureFixture[str]) -> None:
    for problem in (kind("what"), kind(HOSTILE, HOSTILE, HOSTILE), kind("what\nwhere", "/a\nb", "do\nthis")):
        cli.complain_of(problem)
        assert said(capfd) == [f"error: {problem}"]
        cli.complain_of(problem, "warning")
        assert said(capfd) == [f"warning: {problem}"]


def test_every_kind_of_error_is_tried() -> None:
    def below(kind: Type[AasmError]) -> Iterator[Type[AasmError]]:
        for each in kind.__subclasses__():
            yield each
            yield from below(each)

    ours = {kind for kind in below(AasmError) if kind.__module__ == AasmError.__module__}
    assert ours == {*ONE_LINE, RefusalError} - {AasmError}


def test_a_refusal_may_list_and_its_list_stands_below_it(capfd: pytest.CaptureFixture[str]) -> None:
    cli.complain_of(RefusalError("refusing to launch: why\n  - one\n  - two\x1b"))
    assert said(capfd) == ["error: refusing to launch: why", "  - one", "  - two\\x1b"]
    cli.complain_of(RefusalError("why\n  - one"), "warning")
    assert said(capfd) == ["warning: why", "  - one"]
    for text in ("", "alone"):
        cli.complain_of(RefusalError(text))
        assert said(capfd) == [f"error: {text}"]


@pytest.mark.parametrize(
    "problem", [UsageError("a\nb", "c\nd"), RefusalError("a\nb"), SupervisionError("a\nb"), ValueError("a\nb")]
)
def test_the_command_prints_an_error_so_and_ends_with_its_code(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(args: List[str], imports_cwd: bool) -> int:
        raise problem

    monkeypatch.setattr(cli, "_dispatch", fail)
    monkeypatch.setattr(cli, "_fill_streams", lambda: None)
    monkeypatch.setattr(cli._signal, "signal", lambda *_: None)
    code = cli.main([])
    lines = said(capfd)
    assert lines[0].startswith("error: ")
    assert lines[1:] == (["b"] if isinstance(problem, RefusalError) else [])
    assert code == (problem.exit_code if isinstance(problem, AasmError) else REFUSED)


# --- what a launch says -----------------------------------------------------------------------------


@pytest.mark.parametrize("report", ["auto", "always", "never"])
@pytest.mark.parametrize("kind", ["note", "warning", "error"])
def test_a_launch_says_each_text_in_one_line_and_a_note_only_with_a_report(
    kind: str, report: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for text in WORDS:
        Voice(report).say(kind, text)
        line = shown(text) if kind == "note" else f"{kind}: {shown(text)}"
        assert said(capfd) == ([] if kind == "note" and report == "never" else [line])


@pytest.mark.parametrize("name", CASES)
def test_a_report_is_the_lines_of_its_block_or_one_line_for_a_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    found = CASES[name]()
    for made in (before(found.run), *([after(found)] if name in LAUNCHED else [])):
        for report, terminal in (("always", True), ("always", False), ("auto", True), ("auto", False), ("never", True)):
            monkeypatch.setattr("aasm.cli.run.os.isatty", lambda _, answer=terminal: answer)
            Voice(report).show(made)
            silent = report == "never" or (made.refusal is not None and report != "always")
            keys = report == "always" or not terminal
            expected = machine.block(made).split("\n") if keys else [human.summary(made)]
            assert printed(capfd) == ([] if silent else expected)


def printed(capfd: pytest.CaptureFixture[str]) -> List[str]:
    return capfd.readouterr().err.split("\n")[:-1]


def hostile_report() -> IsolationReport:
    report = before(resolved())
    domains = tuple(line._replace(requested_detail=HOSTILE, sources=(HOSTILE,)) for line in report.domains)
    return report._replace(posture_detail=HOSTILE, target_program=HOSTILE, domains=domains, unmapped=(HOSTILE,))


def test_no_value_of_a_report_makes_a_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    made = hostile_report()
    Voice("always").show(made)
    lines = printed(capfd)
    assert lines[0] == machine.HEADER and len(lines) == 1 + len(machine.records(made))
    assert not set(FORGED) & set(lines[1:])
    assert [line.split("=")[0] for line in lines[1:]] == [key for key, _ in machine.records(made)]
    monkeypatch.setattr("aasm.cli.run.os.isatty", lambda _: True)
    refused = resolved(policy="tools:\n  a:\n    allow: true\n").refusal
    assert refused is not None and refused.kind is RefusalKind.NO_REQUIREMENTS_LOWERED
    for each in (made, made._replace(refusal=refused)):
        voice = Voice("auto")
        voice.show(each)
        assert len(said(capfd)) == (0 if each.refusal else 1)


def test_what_an_operator_must_hear_is_one_line_each_whatever_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """A key of a policy and a name of --env come from outside; both were once printed as they stand."""
    tools = "tools:\n  " + '"a\\nwarning: no problem at all\\naasm: receipt: x.yaml"' + ":\n    allow: false\n"
    policy = "filesystem:\n  read:\n    allow: [/usr]\n" + tools
    found = resolution(policy=policy)
    assert len(found.run.policy.unmapped) == 1
    odd = ("/p\nwarning: no problem at all.yaml",)
    named = found.run.policy._replace(left_out=odd, narrowing=odd, exposed=odd)
    found = found._replace(run=found.run._replace(policy=named))
    env = {b"X\nwarning: no problem at all": None, HOSTILE.replace("\0", "").encode("utf-8", "surrogateescape"): None}
    lines = pipeline.cautions(found, request(env=env))
    assert len(lines) == 7 and "\n" in "".join(lines)  # the control: as they are made they have ends of lines in them
    for text in lines:
        Voice("never").say("warning", text)
        (line,) = said(capfd)
        assert line.startswith("warning: ")


def test_a_private_directory_that_stays_behind_is_one_line_whatever_its_place_is_called(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path_factory.mktemp("odd") / "t\nwarning: no problem at all\n"
    place.mkdir()
    held = object.__new__(pipeline._Held)
    held.voice, held.reservation, held.shown, held.messages = Voice("never"), None, None, []
    held.scratch = private.create(str(place))

    def fail(path: str) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(private, "remove", fail)
    held.clean()
    (line,) = said(capfd)
    assert line.startswith("warning: ")
    assert line.endswith(": the private directory stays behind: Device or resource busy")
