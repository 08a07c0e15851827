# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A policy that cannot be read or understood: 125, one error line that says where, nothing ran, a record of it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Callable, Union

import pytest
from support.launch import Lab
from support.outcome import ONCE, assert_refused, events, launch, one_error

ENVELOPE = "apiVersion: {}\nkind: {}\n"
GOOD = "filesystem:\n  read:\n    allow: ['${system}']\n"
Content = Union[str, bytes]


def write(text: Content) -> Callable[[Lab, Path], None]:
    """Return what makes the policy a file of this content."""

    def make(lab: Lab, path: Path) -> None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        lab.own(path)

    return make


def directory(lab: Lab, path: Path) -> None:
    path.mkdir()
    lab.own(path)


def beside_a_good_one(lab: Lab, path: Path) -> None:
    path.mkdir()
    lab.own(path)
    for name, text in (("1.yaml", GOOD), ("2.yaml", "filesytem: {}\n"), ("3.yaml", GOOD)):
        write(text)(lab, path / name)


def fifo(lab: Lab, path: Path) -> None:
    os.mkfifo(path)
    lab.own(path)


def loop(lab: Lab, path: Path) -> None:
    path.symlink_to(path)


def nothing(lab: Lab, path: Path) -> None:
    return


DEEP = "a: [" + "[" * 40 + "]" * 40 + "]\n"
ALLOW = "filesystem:\n  read:\n    allow:"

# What is said about a document in TOML, behind the number of its line; before Python 3.11 there is no reader for it.
TOML = "policy.toml:1:{}" if sys.version_info >= (3, 11) else "policy.toml: TOML needs Python 3.11; write it in YAML"

# What the policy is, its name, and what the line must say.
BAD: dict[str, tuple[Callable[[Lab, Path], None], str, str]] = {
    "missing": (nothing, "policy.yaml", "policy.yaml: the policy cannot be read: No such file or directory"),
    "an empty directory": (directory, "policy.yaml", "policy.yaml: the directory holds no policy"),
    "a bad policy in a directory": (beside_a_good_one, "policies", "policies/2.yaml:1:1: unknown key"),
    "a named pipe": (fifo, "policy.yaml", "policy.yaml: the policy is a named pipe"),
    "a loop of links": (loop, "policy.yaml", "policy.yaml: the policy cannot be read: Too many levels of symbolic"),
    "empty": (write(""), "policy.yaml", "policy.yaml:1:1: "),
    "not UTF-8": (write(b"a: \xff\n"), "policy.yaml", "policy.yaml:1:4: "),
    "a byte order mark": (write(b"\xef\xbb\xbf" + GOOD.encode()), "policy.yaml", "policy.yaml:1:1: "),
    "another encoding": (write(GOOD.encode("utf-16")), "policy.yaml", "policy.yaml:1:1: "),
    "NUL": (write(b"a\0b: 1\n"), "policy.yaml", "policy.yaml:1:2: "),
    "too large": (write("#" * ((1 << 20) + 1)), "policy.yaml", "policy.yaml: "),
    "too deep": (write(DEEP), "policy.yaml", "policy.yaml:1:"),
    "too deep in JSON": (write('{"a":' + "[" * 5000 + "]" * 5000 + "}"), "policy.json", "policy.json:1:"),
    "a duplicate key": (write(GOOD + GOOD), "policy.yaml", "policy.yaml:4:1: "),
    "a duplicate key in JSON": (write('{"scope":"a",\n "scope":"b"}'), "policy.json", "policy.json:2:2: "),
    "a duplicate key behind an escape": (write('"scope": a\n"\\x73cope": b\n'), "policy.yaml", "policy.yaml:2:1: "),
    "an unknown key": (write(GOOD + "filesytem: {}\n"), "policy.yaml", "policy.yaml:4:1: "),
    "an unknown key below": (write("filesystem:\n  reed:\n    allow: []\n"), "policy.yaml", "policy.yaml:2:3: "),
    "null where a list is due": (write(ALLOW + "\n"), "policy.yaml", "policy.yaml:3:"),
    "a text where a list is due": (write(ALLOW + " /usr\n"), "policy.yaml", "policy.yaml:3:12: "),
    "a number in a list": (write(ALLOW + " [1]\n"), "policy.yaml", "policy.yaml:3:13: "),
    "a relative path": (write(ALLOW + " [usr]\n"), "policy.yaml", 'policy.yaml:3:13: the path "usr" is relative'),
    "two dots": (write(ALLOW + " [/usr/../etc]\n"), "policy.yaml", 'policy.yaml:3:13: the path "/usr/../etc" '),
    "a home sign": (write(ALLOW + " [~/x]\n"), "policy.yaml", "policy.yaml:3:13: ~ is not replaced"),
    "an unknown placeholder": (write(ALLOW + ' ["${user}/x"]\n'), "policy.yaml", "policy.yaml:3:13: "),
    "a missing path": (write(ALLOW + " [/no/such/path]\n"), "policy.yaml", "policy.yaml:3:13: /no/such/path: No such"),
    "a doubtful word": (write("scope: yes\n"), "policy.yaml", "policy.yaml:1:8: "),
    "a tab": (write("filesystem:\n\tread: {}\n"), "policy.yaml", "policy.yaml:2:1: "),
    "an alias": (write("a: &x [1]\nb: *x\n"), "policy.yaml", "policy.yaml:1:4: "),
    "two documents": (write(GOOD + "---\n" + GOOD), "policy.yaml", "policy.yaml:4:1: "),
    "a list at the top": (write("- a\n"), "policy.yaml", "policy.yaml:1:1: "),
    "no JSON": (write("{"), "policy.json", "policy.json:1:1: the { is never closed"),
    "a number that is none": (write('{"scope": NaN}'), "policy.json", "policy.json:1:11: "),
    "TOML": (write("a = 1\n"), "policy.toml", TOML.format('1: unknown key "a" in the policy')),
    "no TOML": (write("a: 1\n"), "policy.toml", TOML.format("2: = is due")),
    "nothing to act on": (write("scope: global\n"), "policy.yaml", "states no rule that a launch can act on"),
    "a wrong version": (write(ENVELOPE.format("v9", "x") + "spec: {}\n"), "policy.yaml", "policy.yaml:1:13: "),
    "a floor call": (
        write("syscalls:\n  allow: [ptrace]\n"), "policy.yaml", 'policy.yaml:2:11: "ptrace" is refused in every'
    ),
    "an unknown call": (
        write("syscalls:\n  allow: [pread]\n"), "policy.yaml", 'policy.yaml:2:11: "pread" is no system call'
    ),
    "an unknown section": (write("budgets: {}\n"), "policy.yaml", "policy.yaml:1:1: unknown key"),
    "a negative budget": (write("budget: {daily_limit_usd: -1}\n"), "policy.yaml", "policy.yaml:1:27: budget."),
    "only what nothing acts on": (
        write("budget: {daily_limit_usd: 1}\n"), "policy.yaml", "states no rule that a launch can act on"
    ),
    "a capability for nobody": (
        write("credentials: {capabilities: {allow: [CAP_SYS_ADMIN]}}\n"),
        "policy.yaml",
        "policy.yaml:1:38: CAP_SYS_ADMIN cannot be allowed",
    ),
}


@ONCE
@pytest.mark.parametrize("turn", range(6))
def test_a_bad_policy_refuses_with_its_place_and_is_recorded(lab: Lab, turn: int) -> None:
    for name in list(BAD)[turn::6]:
        make, file, words = BAD[name]
        path = lab.directory(f"home/{name.replace(' ', '-')}") / file
        make(lab, path)
        command = ("run", "exec", "--isolation", "process", "--policy", str(path), "--", "touch", "ran")
        begun = time.monotonic()
        done = lab.aasm(*command)
        line = assert_refused(lab, done, words)
        assert time.monotonic() - begun < 20, name
        assert str(path) in line, name
        assert set(events(lab)) == {"refused"}
        assert path.name in str(lab.ledger()[-1]["detail"])
    assert list(lab.workspace.iterdir()) == []


def test_the_same_policy_made_good_launches(lab: Lab) -> None:
    """The control of the table above."""
    path = lab.file(lab.home / "policy.yaml", GOOD + f"  write:\n    allow: [{lab.workspace}]\n")
    command = ("run", "exec", "--isolation", "process", "--policy", str(path), "--", "touch", "ran")
    assert lab.aasm(*command).returncode == 0
    assert (lab.workspace / "ran").exists() and events(lab) == ["registered", "ended"]


def test_a_policy_that_may_not_be_read_is_refused(lab: Lab) -> None:
    """Root may read it, whatever its mode says: there is nothing to refuse."""
    path = lab.file(lab.home / "policy.yaml", GOOD, 0o000)
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "sh", "-c", "exit 4")
    if lab.user.uid is None and os.geteuid() == 0:
        assert done.returncode == 4, done.stderr
    else:
        assert_refused(lab, done, f"{path}: the policy cannot be read: Permission denied; make it readable")


@ONCE
def test_a_bad_policy_refuses_without_a_boundary_too(lab: Lab) -> None:
    """--isolation none is no way around a policy that nobody can read."""
    path = lab.file(lab.home / "policy.yaml", "filesystem: [\n")
    done = lab.aasm("run", "exec", "--policy", str(path), "--", "touch", "ran")
    assert_refused(lab, done, str(path))
    assert list(lab.workspace.iterdir()) == []


@ONCE
def test_a_boundary_with_nothing_to_hold_is_refused(lab: Lab) -> None:
    path = lab.file(lab.home / "policy.yaml", 'tools:\n  "*":\n    allow: true\n')
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "touch", "ran")
    assert_refused(lab, done, "NoRequirementsLowered", "--isolation none")


@ONCE
@pytest.mark.parametrize("isolation", ["process", "none"])
def test_no_policy_at_all_is_refused_and_nothing_is_taken_from_the_working_directory(lab: Lab, isolation: str) -> None:
    for name in ("policy.yaml", "aasm.yaml", ".aasm.yaml"):
        lab.file(lab.workspace / name, GOOD)
    done = lab.aasm("run", "exec", "--isolation", isolation, "--", "touch", "ran")
    assert_refused(lab, done, "no policy was found in", "name one with --policy; a launch can state one with --read")
    assert not (lab.workspace / "ran").exists()


@ONCE
def test_a_path_of_the_command_line_that_is_missing_is_refused(lab: Lab) -> None:
    done = launch(lab, "process", "touch", "ran", options=("--read", str(lab.home / "missing")))
    line = one_error(done)
    assert done.returncode == 125
    assert f"--read: {lab.home}/missing: No such file or directory; " in line
    assert events(lab) == ["refused"]
