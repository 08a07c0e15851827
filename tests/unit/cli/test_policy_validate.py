# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy validate`: all faults at once, each with its line and a caret below it; text and JSON say the same."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest
from support.launch import Lab, User

from aasm.cli.policy_validate import BEFORE, BEHIND, Place, check, excerpt, places
from aasm.policy.reader import read_document

FAULTY = """\
filesystem:
  reed:
    allow: [a]
network:
  allowlist: [http://x, "*."]
resources: {max_pids: 0}
tools:
  sh: {requires_approval_if: "amount >"}
"""
VALID = "network: {allowlist: []}\nbudget: {daily_limit_usd: 2}\ntools: {sh: {allow: false}}\n"


@pytest.fixture
def user() -> User:
    """Whoever runs the tests: that makes no difference here."""
    return User("self", None, None)


def test_every_fault_has_its_line_and_a_caret_below_it(lab: Lab) -> None:
    lab.file(lab.workspace / "p.yaml", FAULTY)
    done = lab.aasm("policy", "validate", "p.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert [line.split(" ")[1] for line in lines[::3]] == [
        "p.yaml:2:3:", "p.yaml:5:15:", "p.yaml:5:25:", "p.yaml:6:23:", "p.yaml:8:30:",
    ]  # fmt: skip
    assert all(line.startswith("error: ") and "; " in line for line in lines[::3])
    assert [line[4:] for line in lines[1::3]] == [FAULTY.splitlines()[number - 1] for number in (2, 5, 5, 6, 8)]
    assert [line.index("^") - 4 + 1 for line in lines[2::3]] == [3, 15, 25, 23, 30]
    assert all(line.strip() == "^" for line in lines[2::3])


def test_all_files_are_judged_and_the_worst_decides(lab: Lab) -> None:
    good = lab.file(lab.workspace / "good.yaml", VALID)
    lab.file(lab.workspace / "bad.yaml", "a: [\n")
    done = lab.aasm("policy", "validate", "bad.yaml", "absent.yaml", str(good))
    assert done.returncode == 1
    assert done.stdout == (
        f"{good}: valid\n  statements that no launch of this release acts on:\n"
        '    budget.daily_limit_usd: 2\n    tools."sh".allow: false\n'
    )
    assert done.stderr.splitlines()[0].startswith("error: bad.yaml:1:4: ")
    assert done.stderr.splitlines()[-1].startswith("error: absent.yaml: the policy cannot be read: ")
    done = lab.aasm("policy", "validate", str(good))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_directory_stands_for_its_policies(lab: Lab) -> None:
    folder = lab.directory("policies")
    lab.file(folder / "b.json", "{}")
    lab.file(folder / "a.yaml", "x: 1\n")
    lab.file(folder / "notes.txt", "no policy")
    empty = lab.directory("empty")
    done = lab.aasm("policy", "validate", str(folder), str(empty), "")
    assert done.returncode == 1
    assert done.stdout.startswith(f"{folder}/b.json: valid\n  by itself it states nothing that a boundary could hold")
    heads = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [line.partition(": ")[2].partition(";")[0] for line in heads] == [
        f"{folder}/a.yaml:1:1: unknown key \"x\" in the policy",
        f"{empty}: the directory holds no policy",
        "FILE: no file is named",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("tools: {a: {allow: false}}", False), ("resources: {max_wall_clock_seconds: 5}", False),
        ("resources: {max_cpu_seconds: 5}", False), ("resources: {max_open_files: 5}", True),
        ("capabilities: {deny: [file_delete]}", False), ("capabilities: {deny: [agent_spawn]}", True),
        ("capabilities: {allow: [file_read, file_write, network_outbound, terminal_exec]}", False),
        ("budget: {window: 1d}", False), ("egress: {posture: not_required}", False), ("ipc: {unix: {allow: []}}", True),
    ],
)  # fmt: skip
def test_a_policy_that_no_boundary_could_hold_any_of_is_said_to_be_so(lab: Lab, text: str, held: bool) -> None:
    path = str(lab.file(lab.outside / "p.yaml", text + "\n"))
    said = "by itself it states nothing that a boundary could hold, so no launch inside one starts with it alone"
    assert (said not in lab.aasm("policy", "validate", path).stdout) is held
    done = lab.aasm("run", "exec", "--report", "never", "--isolation", "process", "--policy", path, "--", "true")
    assert (done.returncode == 0) is held, done.stderr


def test_a_call_that_no_boundary_lets_through_is_a_fault(lab: Lab) -> None:
    lab.file(lab.workspace / "p.yaml", "syscalls: {allow: [read, ptrace]}\n")
    done = lab.aasm("policy", "validate", "p.yaml")
    assert done.returncode == 1 and done.stderr.startswith("error: p.yaml:1:26: ")


def test_json_says_all_of_it_and_nothing_else_is_printed(lab: Lab) -> None:
    lab.file(lab.workspace / "p.yaml", FAULTY)
    lab.file(lab.workspace / "good.yaml", VALID)
    name = b"b\xff\n.yaml"
    (Path(os.fsdecode(os.fsencode(lab.workspace) + b"/" + name))).write_text("a: \tx\n")
    done = lab.aasm("policy", "validate", "--json", "p.yaml", "good.yaml", os.fsdecode(name), "absent")
    assert (done.returncode, done.stderr) == (1, "")
    made: Dict[str, Any] = json.loads(done.stdout)
    assert (made["schema"], made["valid"]) == ("aasm.policy.validation/1", False)
    first, good, odd, absent = made["files"]
    assert [(item["line"], item["column"]) for item in first["faults"]] == [(2, 3), (5, 15), (5, 25), (6, 23), (8, 30)]
    assert first["faults"][0]["what"].startswith('unknown key "reed"') and first["faults"][0]["text"] == "  reed:"
    assert good == {
        "file": "good.yaml", "valid": True, "faults": [], "sections": ["network", "tools"], "held": True,
        "unmapped": ["budget.daily_limit_usd: 2", 'tools."sh".allow: false'],
    }  # fmt: skip
    assert odd["file"] == "b\\xff\n.yaml" and odd["faults"][0]["text"] == "a: \\x09x"
    (fault,) = absent["faults"]
    assert (fault["line"], fault["column"], fault["text"]) == (None, None, None)
    lab.file(lab.workspace / "good.yaml", VALID)
    done = lab.aasm("policy", "validate", "--json", "good.yaml")
    assert done.returncode == 0 and json.loads(done.stdout)["valid"] is True


def test_nothing_in_a_file_or_its_name_can_end_a_line(lab: Lab) -> None:
    name = "p\n\x1b[2J\u202e.yaml"
    lab.file(lab.workspace / name, 'tools: {sh: {allow: false}, "a\\n\\x1b[2J": {allow: false}}\n')
    done = lab.aasm("policy", "validate", name)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 5
    lab.file(lab.workspace / name, "a: \x1b[2J\u202e\n")
    failed = lab.aasm("policy", "validate", name)
    assert failed.returncode == 1 and len(failed.stderr.splitlines()) == 3
    assert all(line.isprintable() for line in (done.stdout + failed.stderr).splitlines())


def test_a_slow_reader_loses_no_line(lab: Lab) -> None:
    """A pipe holds less than these lines, and nobody reads for longer than a launch would wait."""
    count = 900
    lab.file(lab.workspace / "p.yaml", "network:\n  allowlist:\n" + "    - http://x\n" * count)
    command = ["sh", "-c", '"$@" 2>&1 | (sleep 1.5; cat)', "sh", *lab.command("policy", "validate", "p.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, **lab.options())
    assert done.stdout.count("\n") == 3 * count


# --- the excerpt ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "column", "shown", "at"),
    [
        ("abc", 1, "abc", 0),
        ("abc", 4, "abc", 3),
        ("", 1, "", 0),
        ("a\tb\tc", 5, "a\\x09b\\x09c", 10),
        ("日本: x", 3, "日本: x", 4),
        ("u\u0308: x", 3, "u\u0308: x", 1),
        ("ä: x", 2, "ä: x", 1),
        ("\udcff\udcfe", 2, "\\xff\\xfe", 4),
        ("x" * 200, 201, "..." + "x" * BEFORE, BEFORE + 3),
        ("x" * 200, 1, "x" * BEHIND + "...", 0),
        ("a" * 100 + "b" + "c" * 100, 101, "..." + "a" * BEFORE + "b" + "c" * (BEHIND - 1) + "...", BEFORE + 3),
    ],
)
def test_a_line_is_shown_around_its_column(line: str, column: int, shown: str, at: int) -> None:
    text, caret = excerpt(Place(1, column, line))
    assert (text, caret) == ("    " + shown, "    " + " " * at + "^")


def test_every_fault_of_a_broken_document_points_into_it(tmp_path: Path) -> None:
    """Whatever is wrong by lot: a place that is named exists, and the caret stands below the character meant."""
    rng, pointed = random.Random("broken"), 0
    alphabet = "\n\n  :-[]{}\"'#,\t\\&*!|>%@ab0\x00\x1b\u2028\ufeffé日"
    for number in range(300):
        text = FAULTY
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(alphabet) + text[at + rng.randrange(3) :]
        path = tmp_path / f"{rng.choice(('p', 'a:1:2'))}{number}.yaml"
        path.write_text(text, encoding="utf-8")
        (found,) = check(str(path))
        for fault, place in zip(found.faults, places(found)):
            assert place is not None, fault
            lines: List[str] = text.split("\n")
            assert place.line == lines[place.number - 1]
            assert 1 <= place.column <= len(place.line) + 1
            pointed += 1
    assert pointed > 300


def test_the_end_of_a_document_is_a_place_too() -> None:
    for text in ("", "a:\n  b: |\n    c", "{", '{"a": [', "# nothing\n"):
        name = "p.json" if text[:1] == "{" else "p.yaml"
        with pytest.raises(Exception) as caught:
            read_document(text.encode(), name)
        number, column = map(int, caught.value.where.split(":")[1:])  # type: ignore[attr-defined]
        lines = text.split("\n")
        assert number <= len(lines) and column <= len(lines[number - 1]) + 1
