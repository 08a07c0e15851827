# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A wrong command line: one error line, exit 2, nothing started, nothing recorded. What follows `--` is not ours."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Sequence

import pytest
from support.launch import Lab
from support.outcome import ONCE, Done, events, exec_options, launch, one_error

from aasm.cli.options import ceiling, parser

RUN = ("run", "exec")
NUMBER = "expected a whole number from 1 to 9007199254740991, not "
DESCRIPTOR = "expected the number of an open descriptor above 2, not "

# The words between `run exec` and `-- touch ran`, and what the line must say.
WRONG: dict[str, tuple[Sequence[str], str]] = {
    "unknown option": (["--nonsense"], "unrecognized arguments: --nonsense"),
    "unknown short option": (["-x"], "unrecognized arguments: -x"),
    "abbreviation": (["--isol", "process"], "unrecognized arguments: --isol process"),
    "abbreviation with a sign": (["--max-wall-clock=3"], "unrecognized arguments: --max-wall-clock=3"),
    "a word too many": (["word"], "unrecognized arguments: word"),
    "an empty word": ([""], "unrecognized arguments: "),
    "no value": (["--isolation"], "argument --isolation: expected one argument"),
    "a value that is an option": (["--policy", "--system"], "argument --policy: expected one argument"),
    "isolation": (["--isolation", "Process"], "argument --isolation: invalid choice: 'Process'"),
    "empty isolation": (["--isolation", ""], "argument --isolation: invalid choice: ''"),
    "home": (["--home", "/root"], "argument --home: invalid choice: '/root'"),
    "report": (["--report", "loud"], "argument --report: invalid choice: 'loud'"),
    "unknown backend": (["--isolation-backend", "docker"], "there is no backend `docker`; this build has sandlock, "),
    "empty backend": (["--isolation", "auto", "--isolation-backend", ""], "there is no backend ``; this build has"),
    "endless backend": (["--isolation-backend", "b" * 5000], "there is no backend `bbb"),
    "backend in capitals": (["--isolation", "auto", "--isolation-backend", "SANDLOCK"], "there is no backend `SAN"),
    "backend without a boundary": (
        ["--isolation-backend", "aasm-native"], "--isolation-backend: names a backend, and --isolation none asks"),
    "a switch with a value": (["--dry-run=x"], "argument --dry-run: takes no value, and was given 'x'"),
    "bytes that are no text": (["--isolation", "\udcff"], "invalid choice: '\\xff'"),
    "JSON without a preview": (["--json"], "--json: only a dry run is printed as JSON; add --dry-run"),
    "JSON of an order": (["--dry-run", "--json", "--show-order", "--isolation", "auto"], "an order is bytes, not JSON"),
    "descriptor of the program": (["--status-fd", "2"], DESCRIPTOR + "'2'"),
    "descriptor in words": (["--status-fd", "stdout"], DESCRIPTOR + "'stdout'"),
    "negative descriptor": (["--status-fd=-1"], DESCRIPTOR + "'-1'"),
    "closed descriptor": (["--status-fd", "77"], "descriptor 77 is not open"),
    "descriptor past all": (["--status-fd", str(2**64)], DESCRIPTOR),
    "variable without a name": (["--env", "=value"], "--env: expected NAME or NAME=VALUE"),
    "empty variable": (["--env", ""], "--env: expected NAME or NAME=VALUE"),
    "variable twice": (["--env", "A=1", "--env", "A"], "--env: A is given more than once"),
    "authority of ours": (["--env", "AA_API_KEY"], "AA_API_KEY is authority of the supervisor and never passed on"),
    "authority of ours with a value": (["--env", "AASM_TOKEN=secret"], "AASM_TOKEN is authority of the supervisor"),
    "policy and path": (["--policy", "p", "--read", "/"], "--policy: states a policy, and so does --read, --write or"),
    "policy and system": (["--policy", "p", "--system"], "--policy: states a policy, and so does --read, --write or"),
    "empty policy": (["--policy", ""], "--policy: is empty; name a path"),
    "empty workdir": (["--workdir", ""], "--workdir: is empty; name a path"),
    "empty receipt": (["--receipt", ""], "--receipt: is empty; name a path"),
    "order without a preview": (["--show-order"], "--show-order: only a dry run shows an order; add --dry-run"),
    "order without a boundary": (["--dry-run", "--show-order"], "--show-order: without a boundary there is no order"),
    "control characters": (["--isolation", "a\nerror: b\x1b[2J"], "error: b"),
    "no text": (["--isolation", "\udcff\udc80"], "invalid choice: "),
}
CEILINGS = [option for option in parser()._option_string_actions if option.startswith("--max-")]
NO_CEILING = ("0", "-1", "ten", "1.5", "1e3", "1K", " 1", "1_0", "\u0661", "", str(2**53), "9" * 5000)
OPTIONS = [
    option
    for action in parser()._actions
    for option in action.option_strings
    if option.startswith("--") and option not in ("--help", "--no-proxy", "--write", *CEILINGS)
]
TWICE = {
    "--isolation": "process", "--workdir": ".", "--home": "real", "--isolation-backend": "sandlock",
    "--agent-id": "a", "--team-id": "t", "--receipt": "r", "--report": "never", **dict.fromkeys(CEILINGS, "3"),
}  # fmt: skip


def assert_usage_error(lab: Lab, done: Done[str], words: str) -> None:
    """One line with these words, exit 2; no program, no launcher, no record, no file."""
    line = one_error(done)
    assert done.returncode == 2, done.stderr
    assert words in line, line
    assert line.isprintable() and done.stderr == line + "\n"
    assert list(lab.workspace.iterdir()) == [] and list(lab.state.iterdir()) == [] and lab.leftovers() == []


@ONCE
@pytest.mark.parametrize("turn", range(6))
def test_a_wrong_option_is_one_line_and_nothing_happens(lab: Lab, turn: int) -> None:
    for name in list(WRONG)[turn::6]:
        options, words = WRONG[name]
        assert_usage_error(lab, lab.aasm(*RUN, *options, "--", "touch", "ran"), words)


@ONCE
def test_a_ceiling_that_is_no_number_is_one_line_and_nothing_happens(lab: Lab) -> None:
    assert len(CEILINGS) == 6
    for number, value in enumerate(NO_CEILING):
        option = CEILINGS[number % 6]
        done = lab.aasm(*RUN, f"{option}={value}", "--", "touch", "ran")
        assert_usage_error(lab, done, f"argument {option}: {NUMBER}'{value[:100]}")


def test_every_ceiling_has_the_same_check() -> None:
    checks = {parser()._option_string_actions[option].type for option in CEILINGS}
    assert checks == {ceiling}


NOT_UTF8 = {
    "the program": [b"tou\xffch", b"ran"],
    "argument 1": [b"touch", b"r\xe9n"],
    "argument 2": [b"touch", b"a", b"\xff"],
}


@ONCE
def test_what_is_not_utf8_is_refused_as_soon_as_a_boundary_is_asked_for(lab: Lab) -> None:
    for words, program in NOT_UTF8.items():
        command = [*map(os.fsencode, lab.command(*exec_options(lab, "process"))), b"--", *program]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, **lab.options())
        text = subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
        assert_usage_error(lab, text, f"error: {words} is not UTF-8, and reports name it; ")
    command = [*map(os.fsencode, lab.command(*exec_options(lab, "none"))), b"--", b"touch", b"r\xe9n"]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, **lab.options())
    assert os.listdir(os.fsencode(lab.workspace)) == [b"r\xe9n"]


def test_the_table_names_every_option() -> None:
    """So that an option that is new gets its wrong values too."""
    named = {word.partition("=")[0] for options, _ in WRONG.values() for word in options} | set(TWICE)
    assert [option for option in OPTIONS if option not in named] == []


@ONCE
def test_an_option_that_stands_twice_is_refused_since_nobody_knows_which_was_meant(lab: Lab) -> None:
    for option, value in TWICE.items():
        done = lab.aasm(*RUN, option, value, f"{option}={value}", "--", "touch", "ran")
        assert_usage_error(lab, done, f"{option}: given more than once")
    reading, writing = os.pipe()
    words = ("--status-fd", str(writing), "--status-fd", str(writing))
    done = lab.aasm(*RUN, *words, "--", "touch", "ran", pass_fds=[writing])
    os.close(reading)
    os.close(writing)
    assert_usage_error(lab, done, "--status-fd: given more than once")


@ONCE
def test_a_policy_may_stand_twice_since_both_count_and_an_empty_name_among_them_is_refused(lab: Lab) -> None:
    """It is no option of which nobody knows which one was meant: the program may do what both allow."""
    wide = lab.file(lab.home / "wide.yaml", f"filesystem: {{read: {{allow: ['${{system}}', {lab.workspace}]}}}}\n")
    words = f"filesystem: {{read: {{allow: ['${{system}}']}}, write: {{allow: [{lab.workspace}]}}}}\n"
    narrow = lab.file(lab.home / "narrow.yaml", words)
    lab.file(lab.workspace / "there", "text")
    for order in ((wide, narrow), (narrow, wide)):
        options = [word for path in order for word in ("--policy", str(path))]
        done = lab.aasm("run", "exec", "--isolation", "process", *options, "--", "cat", "there")
        assert done.returncode == 1 and "there: Permission denied" in done.stderr, done.stderr
    alone = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(wide), "--", "cat", "there")
    assert (alone.returncode, alone.stdout) == (0, "text"), alone.stderr
    (lab.workspace / "there").unlink()
    before = list(lab.state.iterdir())
    done = lab.aasm(*RUN, "--policy", str(wide), "--policy", "", "--", "touch", "ran")
    assert done.returncode == 2 and "--policy: is empty" in one_error(done)
    assert list(lab.workspace.iterdir()) == [] and list(lab.state.iterdir()) == before


WHERE = {
    "no program": ([*RUN], "no `--` separates the options from the program"),
    "no program behind the sign": ([*RUN, "--system", "--"], "no program stands behind `--`"),
    "no sign": ([*RUN, "--system", "touch", "ran"], "no `--` separates the options from the program"),
    "no command": ([], "no command was given"),
    "no target": (["run"], "run needs a subcommand"),
    "unknown target": (["run", "touch", "--", "ran"], "unknown subcommand 'touch' of run"),
    "unknown command": (["exec", "--", "touch", "ran"], "unknown command 'exec'"),
    "option first": (["--isolation", "process", "run", "exec", "--", "touch", "ran"], "unknown command '--isolation'"),
    "receipt without a verb": (["receipt"], "receipt needs a subcommand"),
    "receipt with another": (["receipt", "make"], "unknown subcommand 'make' of receipt"),
}


@ONCE
@pytest.mark.parametrize("name", list(WHERE))
def test_a_command_that_is_none_is_one_line_and_nothing_happens(lab: Lab, name: str) -> None:
    words, text = WHERE[name]
    assert_usage_error(lab, lab.aasm(*words), text)


@ONCE
@pytest.mark.parametrize("option", ["--agent-id", "--team-id"])
def test_an_id_that_is_none_or_looks_like_a_credential_is_refused(lab: Lab, option: str) -> None:
    for value in ("", "a b", "\u00e9", "x" * 129):
        done = lab.aasm(*exec_options(lab, "process"), option, value, "--", "touch", "ran")
        assert_usage_error(lab, done, f"{option}: not an id")
    secret = "ghp_" + "a1B2" * 9
    done = lab.aasm(*exec_options(lab, "process"), f"{option}={secret}", "--", "touch", "ran")
    assert_usage_error(lab, done, f"{option}: looks like a credential")
    assert secret not in done.stderr


@ONCE
def test_a_path_that_is_none_is_an_error_of_the_command_line(lab: Lab) -> None:
    """Found out once the launch has begun: nothing ran, and nothing was registered."""
    cases = (("--read", "", "an empty path"), ("--write", "", "an empty path"),
             ("--workdir", "missing", "missing: No such file or directory"),
             ("--workdir", "/etc/passwd", "/etc/passwd is not a directory"))  # fmt: skip
    for option, value, words in cases:
        done = lab.aasm(*exec_options(lab, "process"), option, value, "--", "touch", "ran")
        assert done.returncode == 2 and words in one_error(done), done.stderr
    assert not {"registered", "ended"} & set(events(lab))
    assert list(lab.workspace.iterdir()) == [] and lab.leftovers() == []


@ONCE
def test_what_stands_behind_the_sign_belongs_to_the_program(lab: Lab) -> None:
    words = ["--help", "--version", "--isolation", "none", "-h", "--", "--status-fd", "9", "--dry-run"]
    done = launch(lab, "process", "printf", "%s|", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{word}|" for word in words)
    assert lab.receipt()["boundary"]["sealed"] is True


@ONCE
def test_an_option_may_have_its_value_behind_an_equals_sign(lab: Lab) -> None:
    options = ("--isolation=process", "--system", f"--write={lab.workspace}", "--env=A=b=c", "--report=never")
    done = lab.aasm(*RUN, *options, "--", "sh", "-c", 'echo "$A"')
    assert (done.returncode, done.stdout, done.stderr) == (0, "b=c\n", "")


@ONCE
def test_version_and_help_print_and_do_nothing(lab: Lab) -> None:
    version = lab.aasm("--version")
    assert version.returncode == 0 and version.stdout.startswith("aasm ") and version.stdout.count("\n") == 1
    for words in (["--help"], ["-h"], ["run", "--help"], ["receipt", "--help"], [*RUN, "--help"], [*RUN, "-h"]):
        done = lab.aasm(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
        assert "usage: aasm" in done.stdout
    done = lab.aasm(*RUN, "--isolation", "process", "--help", "--", "touch", "ran")
    assert done.returncode == 0 and "usage: aasm run exec" in done.stdout
    assert list(lab.workspace.iterdir()) == [] and list(lab.state.iterdir()) == []


PRINTING = [["--version"], [*RUN, "--help"], [*RUN, "--system", "--dry-run", "--", "x"]]


@ONCE
@pytest.mark.parametrize("words", PRINTING)
def test_output_that_cannot_be_written_is_one_line_and_no_success(lab: Lab, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            lab.command(*words), stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            **lab.options(),
        )  # fmt: skip
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: standard output: No space left on device")
    assert done.returncode == 125
    source, sink = os.pipe()
    os.close(source)  # a reader that has left is nobody's error
    done = subprocess.run(
        lab.command(*words), stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.PIPE, text=True, timeout=60,
        **lab.options(),
    )  # fmt: skip
    os.close(sink)
    assert (done.returncode, done.stderr) == (0, "")


@ONCE
def test_a_preview_starts_nothing_and_records_nothing(lab: Lab) -> None:
    done = lab.aasm(*exec_options(lab, "process"), "--dry-run", "--", "touch", "ran")
    assert done.returncode == 0, done.stderr
    assert "--- launch command ---" in done.stdout and "touch ran" in done.stdout
    assert list(lab.workspace.iterdir()) == [] and list(lab.state.iterdir()) == [] and lab.leftovers() == []


# --- what each kind of run leaves in the ledger ------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_every_kind_of_run_leaves_its_records(lab: Lab, isolation: str) -> None:
    runs: list[tuple[tuple[str, ...], int, list[str]]] = [
        (("--", "sh", "-c", "exit 3"), 3, ["registered", "ended"]),
        (("--", "sh", "-c", "kill -9 $$"), 137, ["registered", "ended"]),
        (("--", "no-such-program"), 127, ["registered", "not_started"]),
        (("--", str(lab.workspace)), 126, ["registered", "not_started"]),
        (("--receipt", str(lab.state), "--", "true"), 2, ["refused"]),
        (("--workdir", "/etc/passwd", "--", "true"), 2, ["refused"]),
    ]
    for words, code, expected in runs:
        before = len(lab.ledger())
        done = lab.aasm(*exec_options(lab, isolation), "--agent-id", "agent.7", *words)
        assert done.returncode == code, done.stderr
        records = lab.ledger()[before:]
        assert [record["event"] for record in records] == expected, words
        assert {record["agent_id"] for record in records} == {"agent.7"}
        assert len({record["run_id"] for record in records}) == 1
    assert lab.ledger()[0]["detail"]["value"] == f"exec sh, isolation {isolation}"
    assert [record["seq"] for record in lab.ledger()] == list(range(1, len(lab.ledger()) + 1))
    assert "exit 3" not in json.dumps(lab.ledger())  # arguments may hold secrets
