# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy` as a command: help, wrong command lines, what is imported, and output that cannot be written."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import List, Sequence

import pytest
from support.launch import ROOT, Lab, User

from aasm.cli import main

SUBCOMMANDS = ("validate", "show", "explain", "new", "diff", "schema")


@pytest.fixture
def user() -> User:
    """Whoever runs the tests: that makes no difference here."""
    return User("self", None, None)


def test_help_names_every_subcommand_and_each_has_its_own(lab: Lab) -> None:
    done = lab.aasm("policy", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in SUBCOMMANDS if f"aasm policy {name}" not in done.stdout] == []
    assert "aasm policy " in lab.aasm("--help").stdout
    for name in SUBCOMMANDS:
        done = lab.aasm("policy", name, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: aasm policy {name}") and "--help" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 120


@pytest.mark.parametrize(
    "words",
    [
        [], ["nothing"], ["--json"], ["validate"], ["validate", "--jso", "x"], ["validate", "--raw", "x"],
        ["show", "x"], ["show", "--pol", "x"], ["show", "--policy"], ["show", "--policy", ""],
        ["show", "--workdir", ""],
        ["show", "--workdir", "a", "--workdir", "b"], ["show", "--workdir", "/absent"], ["show", "--team-id", "a b"],
        ["show", "--raw", "x", "--json"], ["show", "--raw", "x", "--policy", "y"], ["show", "--raw", "x", "--raw", "y"],
        ["new"], ["new", "minimal"], ["new", "--template", "other"], ["new", "--template", "go", "--template", "go"],
        ["new", "--list", "--template", "go"], ["new", "--template", "go", "--workdir", "/absent"],
        ["new", "--template", "go", "--output", ""], ["new", "--template", "go", "--output", "absent/x"],
        ["diff"], ["diff", "a"], ["diff", "a", "b", "c"], ["diff", "", "b"], ["diff", "a", ""], ["schema", "x"],
        ["diff", "--workdir", "/absent", "a", "b"], ["schema", "--json"], ["validate", "\udcff\n", "--\udcff"],
    ],
    ids=ascii,
)  # fmt: skip
def test_a_wrong_command_line_is_one_line_and_2(words: List[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", *words]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1


def test_output_that_cannot_be_written_is_one_line_and_125(lab: Lab) -> None:
    policy = lab.file(lab.outside / "p.yaml", "network: {allowlist: []}\n")
    commands: Sequence[Sequence[str]] = (
        ("validate", str(policy)), ("show", "--policy", str(policy)), ("show", "--raw", str(policy)), ("schema",),
        ("new", "--list"), ("new", "--template", "go"), ("diff", str(policy), str(policy)), ("--help",),
    )  # fmt: skip
    for words in commands:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                lab.command("policy", *words), stdout=full, stderr=subprocess.PIPE, text=True, **lab.options()
            )
        assert done.returncode == 125, words
        assert done.stderr.startswith("error: standard output: ") and done.stderr.count("\n") == 1


def test_without_a_working_directory_there_is_one_line(lab: Lab) -> None:
    gone = lab.workspace / "gone"
    gone.mkdir()
    lab.own(gone)
    code = f"import os, sys; os.rmdir({str(gone)!r}); os.execv(sys.executable, sys.argv[1:])"
    for words in (("show", "--policy", "/p"), ("new", "--template", "go"), ("diff", "/a", "/b")):
        command = [sys.executable, "-c", code, *lab.command("policy", *words)]
        done = subprocess.run(command, capture_output=True, text=True, **{**lab.options(), "cwd": gone})
        assert done.returncode == 125 and done.stderr.startswith("error: the working directory is gone")
        gone.mkdir()
        lab.own(gone)


def test_each_subcommand_is_imported_only_when_it_runs() -> None:
    tree = ast.parse((ROOT / "aasm" / "cli" / "policy.py").read_text(encoding="utf-8"))
    at_top = {name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert not {f"policy_{name}" for name in SUBCOMMANDS} & at_top
    for name in ("validate", "show", "new", "diff", "schema"):
        loaded = modules(name)
        assert [module for module in loaded if module.startswith("aasm.cli.policy_")] == [f"aasm.cli.policy_{name}"]
        assert "aasm.run" not in loaded and "aasm.launcher" not in loaded


def modules(name: str) -> List[str]:
    """Return what is loaded once a subcommand has printed its help."""
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from aasm.cli import main
try:
    main(["policy", {name!r}, "--help"])
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.split()
