# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What is generated: a difference is shown and written, --check writes nothing, and what is by hand on a page stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional

import generated
import pytest
from project import ROOT

PARTS = {"one": lambda: "made\n"}
OTHERS = ("gen_yaml_cases", "sbom")  # with mains of their own
GENERATORS = ("gen_syscalls", "golden", "gen_policy_docs", "gen_completions", "gen_audit_guide", *OTHERS)
MADE: Dict[str, Optional[str]] = {"a": "1\n2\n", "sub/b": "b\n", "gone": None}


def run(root: Path, *words: str) -> int:
    return generated.run("tools/gen.py", "Makes.", lambda tree: MADE, list(words), root)


def test_what_differs_is_shown_and_written_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"1\n\xff\n")
    (tmp_path / "gone").write_text("old\n")
    assert run(tmp_path) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-\\xff\n+2\n"
        "--- gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
        "--- /dev/null\n+++ sub/b\n@@ -0,0 +1 @@\n+b\n"
    )
    assert shown.err == "" and {path.name for path in tmp_path.rglob("*")} == {"a", "sub", "b"}
    assert (tmp_path / "a").read_text() == MADE["a"] and (tmp_path / "sub/b").read_text() == MADE["sub/b"]
    before = (tmp_path / "a").stat().st_mtime_ns
    assert run(tmp_path) == run(tmp_path, "--check") == 0 and capsys.readouterr().out == ""
    assert (tmp_path / "a").stat().st_mtime_ns == before


def test_a_check_names_what_differs_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("other\n")
    assert run(tmp_path, "--check") == 1
    shown = capsys.readouterr()
    assert shown.err == "error: a, sub/b: not what tools/gen.py makes; read the difference, then run it\n"
    assert shown.out.startswith("--- a\n") and [path.name for path in tmp_path.iterdir()] == ["a"]


def test_nothing_is_written_where_not_all_can_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def maker(root: Path) -> Dict[str, Optional[str]]:
        raise ValueError("no such table")

    assert generated.run("tools/gen.py", "Makes.", maker, [], tmp_path) == 2
    assert capsys.readouterr().err == "error: no such table\n" and not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").write_text("a file where a directory should be")
    assert run(tmp_path) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}/sub") and (tmp_path / "a").exists()


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["--chekc"], 2), (["--check=x"], 2), (["word"], 2)])
def test_a_generator_has_a_help_and_takes_no_other_words(name: str, words: List[str], code: int) -> None:
    command = [sys.executable, "-I", "-B", str(ROOT / "tools" / f"{name}.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    if code == 0:
        assert f"python tools/{name}.py --" in done.stdout and done.stderr == ""
    else:
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<!-- made: one -->\nold\n<!-- made: end -->\nb\n", "<!-- made: one -->\n\nmade\n\n<!-- made: end -->\nb\n"),
        ('a\n.\\" made: one\n.\\" made: end\nb\n', 'a\n.\\" made: one\nmade\n.\\" made: end\nb\n'),
    ],
)  # fmt: skip
def test_only_what_is_between_the_marks_changes(before: str, after: str, tmp_path: Path) -> None:
    page = tmp_path / "page"
    for text in (before, after):
        page.write_text(text)
        assert generated.renewed(tmp_path, "page", PARTS) == after


@pytest.mark.parametrize(
    "text",
    ["", "<!-- made: other -->\n<!-- made: end -->\n", "<!-- made: one -->\n", "<!-- made: end -->\n",
     "<!-- made: one -->\n<!-- made: end -->\n" * 2],
)  # fmt: skip
def test_a_page_without_its_marks_is_no_page_that_agrees(text: str, tmp_path: Path) -> None:
    (tmp_path / "page").write_text(text)
    with pytest.raises(ValueError, match="page: parts one are expected"):
        generated.renewed(tmp_path, "page", PARTS)
