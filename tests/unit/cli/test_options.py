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
        ["--isolation", "none", "--isolation", "process"], ["--workdir", "a", "--workdir", "b"],
        ["--receipt", "a", "--receipt", "b"], ["--policy"],
    ],
)  # fmt: skip
def test_a_bad_option_is_a_usage_error(args: list[str]) -> None:
    with pytest.raises(UsageError):
        parser().parse_args(args)


def message(*args: str) -> str:
    """Return what is said about a wrong command line."""
    with pytest.raises(UsageError) as caught:
        parser().parse_args(list(args))
    text = str(caught.value)
    assert text.endswith("; see `aasm run exec --help`")
    return text[: text.rindex("; see")]


FLAGS = ("--dry-run", "--json", "--show-order", "--system", "--no-proxy")


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("value", ["x", "", "true"])
def test_a_value_that_an_option_does_not_take_is_called_that(flag: str, value: str) -> None:
    """It is an error, and so nothing is ignored."""
    assert message(f"{flag}={value}") == f"argument {flag}: takes no value, and was given {value!r}"


def test_every_option_without_a_value_is_tried() -> None:
    without = [action.option_strings[-1] for action in parser()._actions if action.nargs == 0]
    assert sorted(without) == sorted((*FLAGS, "--help"))


@pytest.mark.parametrize("byte", range(0x80, 0x100))
def test_a_byte_that_is_no_utf8_shows_as_everywhere_else(byte: int) -> None:
    word = os.fsdecode(b"a" + bytes([byte]))
    shown = f"a\\x{byte:02x}"
    assert f"invalid choice: '{shown}'" in message("--isolation", word)
    assert message("--max-pids", word).endswith(f"not '{shown}'")
    assert message("--status-fd", word).endswith(f"not '{shown}'")
    assert message(f"--{word}") == f"unrecognized arguments: --{shown}"
    assert message(f"--dry-run={word}") == f"argument --dry-run: takes no value, and was given '{shown}'"


def test_a_character_beyond_ascii_shows_as_itself() -> None:
    assert "'é\U0001f600'" in message("--isolation", "é\U0001f600")


def test_help_has_the_same_headings_on_every_python() -> None:
    headings = [line for line in parser().format_help().splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["options:", "boundary:", "ceilings:", "program:", "output:"]


@pytest.mark.parametrize(
    "args",
    [
        ["--policy", "p", "--system"], ["--policy", "p", "--read", "x"], ["--policy", "p", "--write", "x"],
        ["--show-order"], ["--show-order", "--dry-run"], ["--show-order", "--dry-run", "--isolation", "process"],
        ["--policy", ""], ["--policy", "p", "--policy", ""], ["--policy", "", "--policy", "p"], ["--workdir", ""],
        ["--policy", "p", "--policy", "q", "--system"],
        ["--receipt", ""],
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


def test_several_policies_are_kept_in_their_order_and_none_is_the_default() -> None:
    assert parser().parse_args([]).policy == []
    options = parser().parse_args(["--policy", "b", "--policy=a", "--policy", "b"])
    check(options)
    assert options.policy == ["b", "a", "b"]
