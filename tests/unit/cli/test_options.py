# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: whole names, one meaning each, and one line for everything wrong."""

from __future__ import annotations

import os

import pytest

from aasm.cli.options import check, parser, split, variables
from aasm.errors import UsageError


@pytest.mark.parametrize(
    ("args", "before", "program"),
    [
        (["--", "a"], [], ["a"]),
        (["--system", "--", "a", "--", "-x", "--help"], ["--system"], ["a", "--", "-x", "--help"]),
        (["--help"], ["--help"], []),
    ],
)
def test_the_program_stands_behind_the_first_separator(args: list[str], before: list[str], program: list[str]) -> None:
    assert split(args) == (before, program)


@pytest.mark.parametrize("args", [[], ["--"], ["--system"], ["--system", "--"], ["true"]])
def test_no_program_is_an_error_and_no_shell_takes_its_place(args: list[str]) -> None:
    with pytest.raises(UsageError, match="program"):
        split(args)


@pytest.mark.parametrize(
    "args",
    [
        ["--isol", "none"], ["--isolation", "landlock"], ["--isolation"], ["--unknown"], ["stray"], ["--dry"],
        ["--max-wall-clock-seconds", "0"], ["--max-wall-clock-seconds", "-1"], ["--max-wall-clock-seconds", "1.5"],
        ["--max-wall-clock-seconds", "9" * 5000], ["--max-wall-clock-seconds", "1e3"], ["--max-wall-clock-seconds", ""],
        ["--max-wall-clock-seconds", "\u0663"], ["--max-wall-clock-seconds", str(2**53)],
        ["--status-fd", "1"], ["--status-fd", "-1"], ["--status-fd", "x"], ["--status-fd", "9999"],
        ["--home", "other"], ["--report", "sometimes"],
        ["--isolation", "none", "--isolation", "process"], ["--policy", "a", "--policy", "b"],
    ],
)  # fmt: skip
def test_a_bad_option_is_a_usage_error(args: list[str]) -> None:
    with pytest.raises(UsageError):
        parser().parse_args(args)


@pytest.mark.parametrize(
    "args",
    [
        ["--policy", "p", "--system"], ["--policy", "p", "--read", "x"], ["--policy", "p", "--write", "x"],
        ["--show-order"], ["--show-order", "--dry-run"], ["--show-order", "--dry-run", "--isolation", "process"],
        ["--policy", ""], ["--workdir", ""], ["--receipt", ""],
    ],
)  # fmt: skip
def test_contradictions_are_usage_errors(args: list[str]) -> None:
    with pytest.raises(UsageError):
        check(parser().parse_args(args))


def test_a_status_descriptor_must_be_open() -> None:
    read, write = os.pipe()
    try:
        assert parser().parse_args(["--status-fd", str(write)]).status_fd == write
    finally:
        os.close(read)
        os.close(write)
    with pytest.raises(UsageError, match="not open"):
        parser().parse_args(["--status-fd", str(write)])


def test_a_variable_is_named_once() -> None:
    assert variables(["A", "B=", "C=x=y"]) == {b"A": None, b"B": b"", b"C": b"x=y"}
    with pytest.raises(UsageError, match="more than once"):
        variables(["A", "A=1"])


def test_the_default_is_no_boundary() -> None:
    assert parser().parse_args([]).isolation == "none"
