# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""tools/try_copy.py finds what is wrong with a copy. kernel/test_copies.py: it finds nothing where nothing is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import pytest
import try_copy
from project import ROOT
from support import copied

TOOL = str(ROOT / "tools" / "try_copy.py")
BARE = (sys.executable, "-I", "-S", "-B")


def tried(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*BARE, TOOL, *words], capture_output=True, text=True, check=False)


# How a copy is broken (a file of it, what is replaced in it and by what), and the step that finds it.
BROKEN: Dict[str, Tuple[str, str, str, str]] = {
    "a changed file": ("explain.py", "", "# x\n", "compares itself"),
    "no version": ("cli/__init__.py", 'say(f"aasm {__version__}")', "pass", "says its version"),
    "a traceback": ("cli/__init__.py", "raise UsageError(_what(args", "raise 1 / 0 or UsageError(_what(args",
                    "refuses what is no command"),
    "a digest that is made up": ("origin.py", 'return "sha256:" + sha256(', 'return "sha256:" + "0" * 64 or (',
                                 "has the digest that we compute"),
    "a verifier that believes all": ("receipt/verify.py", "self.seal == HOLDS and not self.defects", "True",
                                     "verifies a receipt"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BROKEN))
def test_the_first_step_that_is_wrong_is_named_with_what_was_said(tmp_path: Path, name: str) -> None:
    file, old, new, step = BROKEN[name]
    folder = copied.vendored(tmp_path, "acme", "verifier" if file in _OF_THE_VERIFIER else "all")
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")
    options: List[str] = ["--part", "verifier"] if file in _OF_THE_VERIFIER else []
    if step != "compares itself":  # whoever changes a copy on purpose changes its list too
        (folder / "MANIFEST.sha256").unlink()
        options.append("--unlisted")
    done = tried(*options, "--", *BARE, str(folder))
    assert (done.returncode, done.stderr) == (1, "")
    wrong = done.stdout.index("wrong: ")
    assert done.stdout[wrong:].startswith(f"wrong: {step}: ") and "steps are right" not in done.stdout, done.stdout


_OF_THE_VERIFIER = ("cli/__init__.py", "origin.py", "receipt/verify.py")


NO_RECEIPT = ["--part", "verifier", "--receipt", "/nonexistent", "--", "x"]


@pytest.mark.parametrize("words", [[], ["--"], ["--part", "half", "--", "x"], ["x"], NO_RECEIPT])
def test_a_wrong_command_line_is_one_line(words: List[str]) -> None:
    done = tried(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_a_command_that_cannot_be_started_or_is_another_is_wrong() -> None:
    for command in ("/nonexistent/aasm", "true", "false"):
        done = tried("--", command)
        assert done.returncode == 1 and done.stdout.startswith("wrong: says its version: "), done


def test_it_needs_nothing_of_the_tree(tmp_path: Path) -> None:
    alone = tmp_path / "try_copy.py"
    alone.write_bytes(Path(TOOL).read_bytes())
    sample = ROOT / "tests" / "golden" / "receipt" / "sample.execution-receipt.json"
    folder = copied.vendored(tmp_path, "acme", "verifier")
    command = [*BARE, str(alone), "--part", "verifier", "--receipt", str(sample), "--", *BARE, str(folder)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.endswith("all 7 steps are right\n"), done.stdout


def test_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tried("--", "true")
    assert list(tmp_path.iterdir()) == []


def test_the_order_by_hand_is_the_program_that_the_manual_shows() -> None:
    text = (ROOT / "docs" / "vendoring.md").read_text(encoding="utf-8")
    assert f"```python\n{try_copy.ORDER_BY_HAND}```\n" in text
