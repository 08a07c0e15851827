# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain`: its command line, its words, its exit codes. Answers are tested where they are made."""

from __future__ import annotations

import json
import subprocess
from typing import Any, List, Tuple

import pytest
from support.launch import Lab, User

pytestmark = pytest.mark.landlock

PLAIN = "filesystem: {read: {allow: ['${system}']}, write: {allow: []}}\n"


@pytest.fixture
def user() -> User:
    """Whoever runs the tests: that makes no difference here."""
    return User("self", None, None)


def explain(lab: Lab, text: str, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Ask about one document."""
    where = lab.file(lab.outside / "policy.yaml", text)
    return lab.aasm("policy", "explain", "--policy", str(where), *words, **more)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line of a command line that is wrong, or of a policy that nobody could go by."""
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1, done
    assert done.stderr.startswith("error: ")
    return done.stderr[len("error: ") : -1]


# --- the policy -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, says",
    [
        ("filesystem: {red: {}}\n", "policy.yaml:1:14: "),
        ("filesystem: {read: {allow: [relative]}}\n", "policy.yaml:1:29: "),
        ("scope: 'agent:other'\nfilesystem: {read: {allow: []}}\n", "no policy covers this run"),
        (
            "schedule: {active_hours: {start: '09:00', end: '17:00', timezone: UTC}}\n",
            "no rule that a launch can act on",
        ),
    ],
)
def test_a_policy_that_nobody_could_go_by_is_an_error(lab: Lab, text: str, says: str) -> None:
    for words in (("--read", "/usr"), ("--tool", "mail"), ("--program", "true"), ("--syscall", "read", "--json")):
        assert says in complaint(explain(lab, text, "--agent-id", "mine", *words))


def test_a_policy_that_is_missing_is_an_error(lab: Lab) -> None:
    done = lab.aasm("policy", "explain", "--policy", str(lab.outside / "none.yaml"), "--read", "/usr")
    assert "none.yaml" in complaint(done)


def test_a_valid_policy_by_which_no_launch_starts_is_an_answer(lab: Lab) -> None:
    done = explain(lab, "network: {allowlist: [example.org]}\n", "--read", "/usr")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("refused: read /usr\n  why: nothing would start: ")


def test_what_a_dry_run_warns_of_is_warned_of(lab: Lab) -> None:
    inner = lab.file(lab.outside / "inner.yaml", "scope: 'agent:other'\nfilesystem: {read: {allow: []}}\n")
    text = "filesystem: {read: {allow: ['${system}']}}\ncapabilities: {deny: [file_delete]}\n"
    outer = lab.file(lab.outside / "outer.yaml", text)
    outer.chmod(0o666)
    words = ("--policy", str(outer), "--policy", str(inner), "--agent-id", "mine")
    done = lab.aasm("policy", "explain", *words, "--read", "/usr")
    dry = lab.aasm("run", "exec", "--isolation", "process", "--dry-run", *words, "--", "true")
    assert done.returncode == 0 and done.stderr == dry.stderr
    for says in (
        "its scope is of another",
        "capabilities.deny: file_delete",
        "can be changed by another user",
        "does not restrict writing",
    ):
        assert says in done.stderr
    assert {line.split(": ")[0] for line in done.stderr.splitlines()} == {"warning"}


# --- the command line -------------------------------------------------------------------------------

OPTIONS = ("--read", "--write", "--exec", "--connect", "--unix", "--syscall", "--tool", "--program")


@pytest.mark.parametrize("option", OPTIONS)
def test_an_empty_value_is_said_to_be_empty(lab: Lab, option: str) -> None:
    assert complaint(explain(lab, PLAIN, option, "")).startswith(f"{option}: is empty")


def test_without_a_question_the_questions_are_named(lab: Lab) -> None:
    said = complaint(explain(lab, PLAIN))
    assert said.startswith("nothing is asked; ") and all(option in said for option in OPTIONS)
    assert complaint(explain(lab, PLAIN, "--read", "/usr", "--arguments", "{}")).startswith("--arguments: only a tool")


NO_DESTINATIONS = (
    "example.com", "example.com:0", ":443", "example.com:", "*:443", "*.a.example:1", "a:65536", "[::1]", "ä:1",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_DESTINATIONS)
def test_what_is_not_one_destination_is_told_how_one_is_written(lab: Lab, text: str) -> None:
    said = complaint(explain(lab, PLAIN, "--connect", text))
    assert said.endswith("; write HOST:PORT or [ADDRESS]:PORT, HOST in ASCII and PORT from 1 to 65535")


def test_an_address_is_printed_as_it_is_asked_for(lab: Lab) -> None:
    for text in ("[::1]:80", "127.0.0.1:80", "example.org:80"):
        assert explain(lab, PLAIN, "--connect", text).stdout.startswith(f"allowed: connect {text}\n")


# --- what is not known ------------------------------------------------------------------------------


def test_what_is_not_known_is_said_to_be_so_and_is_no_permission(lab: Lab) -> None:
    done = explain(lab, PLAIN, "--read", "/proc/self/exe")
    assert done.returncode == 1
    assert done.stdout == (
        "not known: read /proc/self/exe\n  why: it leads through /proc/self, which is another thing for each process\n"
    )
    told = json.loads(explain(lab, PLAIN, "--read", "/proc/self/exe", "--json").stdout)
    assert told["allowed"] is False and told["answers"][0]["why"].startswith("not known: ")


def test_bytes_that_are_no_utf_8_are_spelled_out_in_json(lab: Lab) -> None:
    done = explain(lab, PLAIN, "--read", "/no\udcff", "--json")
    assert json.loads(done.stdout)["answers"][0]["subject"] == "/no\\xff"


# --- tools ------------------------------------------------------------------------------------------

TOOLS = PLAIN + "tools: {mail: {requires_approval_if: amount > 100, limit_per_hour: 5}, rm: {allow: false}}\n"


def tool(lab: Lab, name: str, arguments: str) -> Tuple[int, List[str]]:
    done = explain(lab, TOOLS, "--tool", name, "--arguments", arguments)
    return done.returncode, done.stdout.splitlines()


def test_a_condition_that_holds_is_told_from_one_that_cannot_be_judged(lab: Lab) -> None:
    holds, lacks, fine = (tool(lab, "mail", text) for text in ('{"amount": 101}', "{}", '{"amount": 5}'))
    assert (holds[0], lacks[0], fine[0]) == (1, 1, 0)
    assert "somebody has to approve this call: its condition holds; " in holds[1][1]
    assert "its condition cannot be judged: a field is missing, or not of its kind; " in lacks[1][1]
    assert "the policy asks for no approval; " in fine[1][1]
    assert all(any('tools."mail".limit_per_hour: 5 at ' in line for line in told[1]) for told in (holds, lacks, fine))


def test_a_tool_that_a_capability_denies_is_refused(lab: Lab) -> None:
    done = explain(lab, TOOLS + "capabilities: {deny: ['mcp_tool:mail']}\n", "--tool", "mail")
    assert done.returncode == 1 and "  by:  capabilities.deny: mcp_tool:mail at " in done.stdout


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "this is no JSON: "),
        ("{", "this is no JSON: "),
        ("[1]", "this is no map"),
        ('{"amount": 1, "amount": 101}', 'the key "amount" stands twice in one map'),
        ('{"a": {"b": 1, "b": 1}}', 'the key "b" stands twice in one map'),
        ('{"a": NaN}', "this is no JSON: NaN is no number"),
        ('{"a": ' + "[" * 60000, "this is nested too deeply"),
    ],
)
def test_arguments_that_could_be_read_in_two_ways_or_in_none_are_no_arguments(lab: Lab, text: str, says: str) -> None:
    said = complaint(explain(lab, TOOLS, "--tool", "mail", "--arguments", text))
    assert said.startswith(f"--arguments: {says}") and "recursion" not in said
